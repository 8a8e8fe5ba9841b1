#!/usr/bin/env python3
"""golden_optimizers.py — updates and step sizes as other programs compute them, for tests/golden/train.

optimizers.txt   torch's AdamW and SGD, transformers' Adafactor, torch's averaged model, in float64; LAMB (You et al. 2020,
                 Algorithm 2) and Lion (Chen et al. 2023, Algorithm 2) from their printed formulas, which neither has
schedules.txt    transformers' schedules of step t and T + 1 steps, torch's OneCycleLR

Usage: golden_optimizers.py   (writes both)
"""
import numpy as np
import torch
from transformers import optimization as hf

import golden

rng = np.random.default_rng(4)
STEPS = 6
SHAPES = [(5, 3), (7,)]  # one that decays, one that does not


def numbers(x):
    return golden.numbers(np.concatenate([np.ravel(t) for t in x]).tolist(), "{!r}")


def draw(scale):
    """Numbers that are f32 exactly."""
    return [(scale * rng.standard_normal(s)).astype(np.float32).astype(np.float64) for s in SHAPES]


def torch_rule(make, ema=0.0):
    def run(p, grads, o):
        params = [torch.nn.Parameter(torch.tensor(x)) for x in p]
        groups = [{"params": [params[0]], "weight_decay": o["decay"]}, {"params": [params[1]], "weight_decay": 0.0}]
        opt = make(groups, o)
        module = torch.nn.ParameterList(params)
        mean = torch.optim.swa_utils.AveragedModel(module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(ema)) if ema else None
        for g in grads:
            for x, d in zip(params, g):
                x.grad = torch.tensor(d)
            opt.step()
            if mean is not None:
                mean.update_parameters(module)
            yield [x.detach().numpy().copy() for x in (mean.module if mean is not None else params)]
    return run


def adamw(groups, o):
    return torch.optim.AdamW(groups, lr=o["rate"], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])


def sgd(groups, o):
    return torch.optim.SGD(groups, lr=o["rate"], momentum=o["momentum"], nesterov=bool(o["nesterov"]))


def adafactor(groups, o):
    return hf.Adafactor(groups, lr=None if o["relative_step"] else o["rate"], clip_threshold=o["clip_threshold"],
                        decay_rate=o["decay_rate"], beta1=o["beta1"] or None, scale_parameter=bool(o["scale_parameter"]),
                        relative_step=bool(o["relative_step"]), warmup_init=bool(o["warmup_init"]))


def lamb(p, grads, o):
    p, b1, b2 = [x.copy() for x in p], o["beta1"], o["beta2"]
    m, v = [np.zeros_like(x) for x in p], [np.zeros_like(x) for x in p]
    for t, g in enumerate(grads, 1):
        for i in range(2):
            m[i] = b1 * m[i] + (1 - b1) * g[i]
            v[i] = b2 * v[i] + (1 - b2) * g[i] ** 2
            c1, c2 = (1 - b1**t, 1 - b2**t) if o["bias_correction"] else (1, 1)
            u = (m[i] / c1) / (np.sqrt(v[i] / c2) + o["epsilon"]) + (o["decay"] if i == 0 else 0) * p[i]
            ratio = np.linalg.norm(p[i]) / np.linalg.norm(u) if i == 0 else 1
            p[i] = p[i] - o["rate"] * ratio * u
        yield [x.copy() for x in p]


def lion(p, grads, o):
    p, m, b1, b2 = [x.copy() for x in p], [np.zeros_like(x) for x in p], o["beta1"], o["beta2"]
    for g in grads:
        for i in range(2):
            c = b1 * m[i] + (1 - b1) * g[i]
            p[i] = p[i] - o["rate"] * (np.sign(c) + (o["decay"] if i == 0 else 0) * p[i])
            m[i] = b2 * m[i] + (1 - b2) * g[i]
        yield [x.copy() for x in p]


KEYS = ["rate", "beta1", "beta2", "epsilon", "decay", "bias_correction", "momentum", "nesterov", "clip_threshold", "decay_rate",
        "scale_parameter", "relative_step", "warmup_init", "ema_decay"]
USUAL = dict(rate=1e-2, beta1=0.9, beta2=0.99, epsilon=1e-8, decay=0.1, bias_correction=1, momentum=0.9, nesterov=0,
             clip_threshold=1.0, decay_rate=-0.8, scale_parameter=0, relative_step=0, warmup_init=0, ema_decay=0.0)
CASES = [
    ("adamw", "adamw", torch_rule(adamw), {}),
    ("adamw_plain", "adamw", torch_rule(adamw), dict(decay=0, beta1=0.5, beta2=0.75, epsilon=1e-3)),
    ("adamw_mean", "adamw", torch_rule(adamw, 0.75), dict(ema_decay=0.75)),
    ("lamb", "lamb", lamb, {}),
    ("lamb_uncorrected", "lamb", lamb, dict(bias_correction=0, epsilon=1e-6)),
    ("adafactor", "adafactor", torch_rule(adafactor), dict(beta1=0)),
    ("adafactor_momentum", "adafactor", torch_rule(adafactor), dict(beta1=0.9, decay=0)),
    ("adafactor_scaled", "adafactor", torch_rule(adafactor), dict(beta1=0, scale_parameter=1, clip_threshold=0.5, decay_rate=-0.5)),
    ("adafactor_relative", "adafactor", torch_rule(adafactor), dict(beta1=0, scale_parameter=1, relative_step=1)),
    ("adafactor_warm", "adafactor", torch_rule(adafactor), dict(beta1=0.5, scale_parameter=1, relative_step=1, warmup_init=1)),
    ("lion", "lion", lion, {}),
    ("lion_mean", "lion", lion, dict(beta1=0.95, beta2=0.98, decay=0, rate=1e-3)),
    ("sgd", "sgd", torch_rule(sgd), dict(momentum=0)),
    ("sgd_momentum", "sgd", torch_rule(sgd), {}),
    ("sgd_nesterov", "sgd", torch_rule(sgd), dict(nesterov=1)),
]


def optimizers():
    lines = [golden.made_with("float64"), f"# case <name> <optim> {' '.join(KEYS)}; values; for each of {STEPS} updates: gradients, values behind it",
             f"# {SHAPES[0][0]} x {SHAPES[0][1]} numbers that decay, {SHAPES[1][0]} that do not; with ema_decay the mean stands for the values"]
    for name, optim, run, changes in CASES:
        o = {**USUAL, **changes}
        p, grads = draw(0.1), [draw(10.0 ** rng.uniform(-3, 1)) for _ in range(STEPS)]
        lines += [f"case {name} {optim} " + " ".join(repr(float(o[k])) for k in KEYS), numbers(p)]
        for g, behind in zip(grads, run(p, grads, o)):
            lines += [numbers(g), numbers(behind)]
    golden.write_lines(golden.GOLDEN / "train" / "optimizers.txt", lines + ["end"])


PEAK = 0.002


def rates(make, steps):
    """Step sizes of `steps` calls, from torch's own stepping."""
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    schedule, got = make(opt), []
    for _ in range(steps):
        got.append(opt.param_groups[0]["lr"])
        opt.step()
        schedule.step()
    return got


def schedules():
    lines = [golden.made_with("float64"), f"# case <name> T w cycles lr_end power, then the step sizes of updates 1 .. T with peak {PEAK}"]
    for T, w in [(20, 4), (20, 0), (7, 7), (1, 0), (50, 1)]:
        n = T + 1
        table = {
            "linear": lambda o: hf.get_linear_schedule_with_warmup(o, w, n),
            "cosine": lambda o: hf.get_cosine_schedule_with_warmup(o, w, n),
            "constant": lambda o: hf.get_constant_schedule(o),
            "constant_with_warmup": lambda o: hf.get_constant_schedule_with_warmup(o, w),
            "cosine_with_restarts": lambda o: hf.get_cosine_with_hard_restarts_schedule_with_warmup(o, w, n, num_cycles=3),
            "cosine_with_min_lr": lambda o: hf.get_cosine_with_min_lr_schedule_with_warmup(o, w, n, min_lr_rate=0.1),
            "polynomial": lambda o: hf.get_polynomial_decay_schedule_with_warmup(o, w, n, lr_end=1e-4, power=2.0),
            "inverse_sqrt": lambda o: hf.get_inverse_sqrt_schedule(o, w),
        }
        for name, make in table.items():
            lines += [f"case {name} {T} {w} 3 0.0001 2", numbers([rates(make, n)[1:]])]
        if w != 1 and w < T and T > 1:  # torch divides by zero elsewhere
            cycle = lambda o: torch.optim.lr_scheduler.OneCycleLR(o, PEAK, total_steps=T, pct_start=w / T, cycle_momentum=False)
            lines += [f"case one_cycle {T} {w} 3 0.0001 2", numbers([rates_within(cycle, T)])]
    golden.write_lines(golden.GOLDEN / "train" / "schedules.txt", lines + ["end"])


def rates_within(make, steps):
    """As rates, but the schedule is not stepped past its end."""
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    schedule, got = make(opt), []
    for i in range(steps):
        got.append(opt.param_groups[0]["lr"])
        opt.step()
        if i + 1 < steps:
            schedule.step()
    return got


optimizers()
schedules()
