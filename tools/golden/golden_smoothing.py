#!/usr/bin/env python3
"""golden_smoothing.py — cross-entropy with smoothed labels as torch and transformers compute it, for
tests/golden/train/smoothing.txt.

rows    losses of a head's logits, with and without weights of classes
vocab   of logits x table^T + bias, as for masked and for next tokens

All are torch.nn.functional.cross_entropy(label_smoothing=, weight=), summed, in float64, with gradients by autograd:
only this function has weights of classes, and transformers' LabelSmoother (what its Trainer trains with) sums in float32.  Where
there are no weights the two must agree.

Usage: golden_smoothing.py   (writes tests/golden/train/smoothing.txt)
"""
import torch
from transformers.trainer_pt_utils import LabelSmoother

import golden

torch.manual_seed(11)


def draw(*shape):
    """Numbers that are f32 exactly, with a gradient."""
    return (torch.randn(shape) * 1.5).double().requires_grad_()


def smoother(epsilon, z, label):
    n = int((label != -100).sum())
    return LabelSmoother(epsilon=epsilon)({"logits": z}, label) * n


def smoothed(epsilon, z, label, weight=None):
    loss = torch.nn.functional.cross_entropy(z, label, weight=weight, label_smoothing=epsilon, reduction="none").sum()
    if weight is None:
        assert torch.allclose(smoother(epsilon, z, label), loss, rtol=1e-6, atol=0)
        ours, theirs = (torch.autograd.grad(f(epsilon, z, label), z, retain_graph=True)[0] for f in (plain, smoother))
        assert torch.allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    return loss


def plain(epsilon, z, label):
    return torch.nn.functional.cross_entropy(z, label, label_smoothing=epsilon, reduction="sum")


def numbers(x):
    return golden.numbers(x.detach().reshape(-1).tolist(), "{!r}")


lines = [golden.made_with("float64"),
         "# rows n K factor weighted; labels (-1: left out); class weights; logits; loss; gradient",
         "# vocab n K V factor; labels; x [n,K]; table [V,K]; bias [V]; loss; gradients of x, table, bias"]
for n, K, epsilon, weighted in [(9, 3, 0.1, 0), (9, 3, 0.1, 1), (5, 2, 0.5, 0),
                                (4, 7, 0.3, 1), (3, 4, 1.0, 0), (3, 4, 0.0, 1)]:
    z, label = draw(n, K), torch.randint(0, K, (n,))
    label[1] = -100
    weight = (torch.rand(K) + 0.25).float().double() if weighted else torch.ones(K).double()
    loss = smoothed(epsilon, z, label, weight if weighted else None)
    loss.backward()
    lines += [f"rows {n} {K} {epsilon} {weighted}", " ".join(str(max(int(v), -1)) for v in label), numbers(weight),
              numbers(z),
              numbers(loss), numbers(z.grad)]
for n, K, V, epsilon in [(9, 8, 23, 0.1), (150, 4, 37, 0.1), (4, 6, 90, 0.4)]:
    x, table, bias, label = draw(n, K), draw(V, K), draw(V), torch.randint(0, V, (n,))
    loss = smoothed(epsilon, x @ table.T + bias, label)
    loss.backward()
    lines += [f"vocab {n} {K} {V} {epsilon}", " ".join(str(int(v)) for v in label), numbers(x),
              numbers(table), numbers(bias),
              numbers(loss), numbers(x.grad), numbers(table.grad), numbers(bias.grad)]
golden.write_lines(golden.GOLDEN / "train" / "smoothing.txt", lines + ["end"])
