#!/usr/bin/env python3
"""Makes tests/golden/performer/attention.txt: what performer-pytorch's own attention computes, with its order of rotation
(queries and keys, before the map) and without, and the gradients of it.  The tests need none of this.  The format is
described in tests/golden/README.md.

    python tools/golden/golden_performer.py          # with performer-pytorch 1.1.4

Its causal FAVOR+ takes the maximum over all tokens, those to come included, which no causal model here does: that
case is left out.  The 1e-6 that it adds to the causal sum of keys, an argument of its own, is 0 here: no formula has it.
"""
import functools

import torch
from performer_pytorch.performer_pytorch import (FastAttention, FixedPositionalEmbedding, apply_rotary_pos_emb,
                                                 causal_linear_attention_noncuda)

import golden

PATH = golden.GOLDEN / "performer" / "attention.txt"
H, T, D, F = 2, 9, 4, 6
CASES = [(m, o, c) for m in ("favor", "relu", "shen") for o in ("none", "before") for c in (0, 1) if (m, c) != ("favor", 1)]


def line(name, x):
    return f"{name} {golden.numbers(x.detach().flatten().tolist())}"


def tokens(x):
    """[1, H, T, D] as rows of tokens"""
    return x[0].transpose(0, 1)


def case(name, order, causal):
    attention = FastAttention(D, F, causal=bool(causal), generalized_attention=name == "relu", no_projection=name == "shen").double()
    attention.projection_matrix.copy_(attention.projection_matrix.float().double())
    if causal:
        attention.causal_linear_fn = functools.partial(causal_linear_attention_noncuda, eps=0)
    q, k, v, weight = (torch.randn(1, H, T, D).double() for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    rotated = apply_rotary_pos_emb(q, k, FixedPositionalEmbedding(D, T).double()(q[0])) if order == "before" else (q, k)
    out = attention(*rotated, v)
    (out * weight).sum().backward()
    return [f"case {name} {order} {causal} {H} {T} {D} {F}", line("random", attention.projection_matrix)] + \
        [line(n, tokens(x)) for n, x in (("q", q), ("k", k), ("v", v), ("weight", weight), ("out", out), ("dq", q.grad),
                                         ("dk", k.grad), ("dv", v.grad))]


def main():
    torch.manual_seed(1)
    lines = [golden.made_with("seed 1", "float64 on the CPU", packages=("performer-pytorch", "torch"))]
    for c in CASES:
        lines += case(*c)
    PATH.parent.mkdir(parents=True, exist_ok=True)
    golden.write_lines(PATH, lines + ["end"])
    print(PATH, PATH.stat().st_size)


main()
