#!/usr/bin/env python3
"""golden_adafactor.py — transformers' Adafactor, in float64, on matrices of the shapes of a feed-forward layer, for
tests/golden/train/adafactor.txt: wide, tall, square, each larger than what one thread updates at once; rows and columns
of very different sizes, so that factors of rows taken for those of columns, or sums over a part of a matrix,
show at once.

Values and gradients are numbers that a test can make again: u = (x >> 8) / 2^24 - 1/2 of
x -> 1664525 x + 1013904223 mod 2^32, in the order of storage, with x = 1 before the first;
gradients are u 2^-(row mod 14) 2^-(7 column mod 11).  Values begin at 0.

Usage: golden_adafactor.py   (writes tests/golden/train/adafactor.txt)
"""
import numpy as np
import torch
from transformers.optimization import Adafactor

import golden

UPDATES, SAMPLES, STRIDE = 4, 64, 52711


def draw(n):
    x, u = draw.x, np.empty(n)
    for i in range(n):
        x = (1664525 * x + 1013904223) % 2**32
        u[i] = (x >> 8) / 2**24 - 0.5
    draw.x = x
    return u


lines = [golden.made_with("float64"),
         f"# case <rows> <columns> <beta1>; behind each of {UPDATES} updates the norm of all values, then "
         f"values number i {STRIDE} mod n, i < {SAMPLES}"]
for rows, columns, beta1 in [(1024, 256, 0.0), (256, 1024, 0.0), (300, 700, 0.9), (256, 256, 0.0)]:
    draw.x = 1
    size = 2.0 ** -(np.arange(rows) % 14)[:, None] * 2.0 ** -(7 * np.arange(columns) % 11)[None, :]
    p = torch.nn.Parameter(torch.zeros(rows, columns, dtype=torch.float64))
    rule = Adafactor([p], lr=1e-2, clip_threshold=1.0, decay_rate=-0.8, beta1=beta1 or None,
                     scale_parameter=False, relative_step=False)
    lines.append(f"case {rows} {columns} {beta1}")
    for _ in range(UPDATES):
        p.grad = torch.tensor(draw(rows * columns).reshape(rows, columns) * size)
        rule.step()
        flat = p.detach().numpy().ravel()
        sampled = flat[np.arange(SAMPLES) * STRIDE % flat.size]
        lines.append(" ".join(repr(float(v)) for v in [np.linalg.norm(flat), *sampled]))
golden.write_lines(golden.GOLDEN / "train" / "adafactor.txt", lines + ["end"])
