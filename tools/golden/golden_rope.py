#!/usr/bin/env python3
"""golden_rope.py OUT.inc — frequencies and gains of stretched rotary positions, by transformers' own functions.

    python3 tools/golden/golden_rope.py tests/golden/rope_scaling.inc

Needs torch and transformers.  The functions of transformers.modeling_rope_utils are called as they are, with torch.float
and torch.float32 replaced by float64 while they run, so that what is compared is the formula and not its rounding.
dynamic and longrope have a length; the others are called without one.

transformers has no function for ntk with a fixed factor.  Its dynamic function with factor 1 has the base b (L / P)^(r/(r-2)) at
length L, which is ntk's b f^(r/(r-2)) at L = f P: that is what is called, and kept under the name of ntk.
"""
import json
import sys

import torch
import transformers
from transformers import LlamaConfig, modeling_rope_utils as rope

HEADS = 4


def configurations():
    """kind, base, head width, partial_rotary_factor, max_position_embeddings, further keys, length"""
    for base, width, partial, positions, factor in (
            (10000.0, 64, 1.0, 2048, 2.0), (10000.0, 64, 1.0, 512, 1.0), (500000.0, 128, 1.0, 8192, 4.0), (1e6, 32, 1.0, 4096, 8.0),
            (10000.0, 96, 0.5, 2048, 1.5), (150000.0, 80, 1.0, 1024, 32.0), (100.0, 16, 1.0, 128, 3.0), (10000.0, 64, 0.25, 2048, 16.0)):
        yield "linear", base, width, partial, positions, dict(factor=factor), None
    for base, width, partial, positions, factor in (
            (10000.0, 64, 1.0, 2048, 2.0), (10000.0, 64, 1.0, 512, 1.0), (500000.0, 128, 1.0, 8192, 4.0), (1e6, 32, 1.0, 4096, 8.0),
            (10000.0, 96, 0.5, 2048, 1.5), (150000.0, 80, 1.0, 1024, 32.0), (100.0, 16, 1.0, 128, 3.0), (10000.0, 64, 0.25, 2048, 6.25)):
        yield "ntk", base, width, partial, positions, dict(factor=factor), None
    for base, width, partial, positions, factor, length in (
            (10000.0, 64, 1.0, 2048, 2.0, 4096), (10000.0, 64, 1.0, 2048, 2.0, 100), (10000.0, 64, 1.0, 512, 4.0, 513),
            (500000.0, 128, 1.0, 8192, 8.0, 30000), (10000.0, 96, 0.5, 1024, 2.0, 8192), (1e6, 32, 1.0, 4096, 1.0, 5000),
            (100.0, 16, 1.0, 128, 3.0, 9999), (10000.0, 80, 0.25, 2048, 1.5, 2048)):
        yield "dynamic", base, width, partial, positions, dict(factor=factor), length
    for base, width, partial, original, extra in (
            (10000.0, 64, 1.0, 2048, dict(factor=4.0)), (10000.0, 128, 1.0, 1024, dict(factor=16.0, beta_fast=64.0, beta_slow=2.0)),
            (1e6, 128, 1.0, 32768, dict(factor=4.0, truncate=False)), (10000.0, 64, 1.0, 4096, dict(factor=40.0, mscale=1.0, mscale_all_dim=0.8)),
            (10000.0, 64, 0.5, 512, dict(factor=2.0, attention_factor=1.25)), (500000.0, 96, 1.0, 8192, dict(factor=1.0)),
            (10000.0, 32, 1.0, 1024, dict(factor=None)), (150000.0, 80, 1.0, 4096, dict(factor=32.0, truncate=False))):
        yield "yarn", base, width, partial, 131072, dict(original_max_position_embeddings=original, **extra), None
    for number, (base, width, partial, original, factor, length) in enumerate((
            (10000.0, 64, 1.0, 4096, None, None), (10000.0, 64, 1.0, 4096, None, 5000), (10000.0, 96, 1.0, 2048, 32.0, 2048),
            (10000.0, 96, 1.0, 2048, 32.0, 2049), (1e6, 128, 0.5, 8192, 4.0, 100000), (500000.0, 32, 1.0, 1024, 1.0, 4097),
            (10000.0, 64, 0.75, 512, None, 10), (100.0, 16, 1.0, 128, 8.0, 9000))):
        half = int(width * partial) // 2
        short = [1.0 + 0.05 * i for i in range(half)]
        long = [1.0 + 0.5 * i * (1 + number) for i in range(half)]
        extra = dict(short_factor=short, long_factor=long, original_max_position_embeddings=original)
        if factor:
            extra["factor"] = factor
        if number == 5:
            extra["attention_factor"] = 1.5
        yield "longrope", base, width, partial, 131072, extra, length
    for base, width, partial, low, high, factor, old in (
            (500000.0, 128, 1.0, 1.0, 4.0, 8.0, 8192), (500000.0, 64, 1.0, 1.0, 4.0, 32.0, 8192), (10000.0, 64, 1.0, 1.0, 4.0, 8.0, 2048),
            (10000.0, 96, 0.5, 2.0, 8.0, 4.0, 4096), (1e6, 32, 1.0, 1.0, 2.0, 2.0, 1024), (100.0, 16, 1.0, 1.0, 4.0, 8.0, 128),
            (500000.0, 80, 1.0, 0.5, 16.0, 64.0, 8192), (10000.0, 128, 1.0, 1.0, 4.0, 1.0, 512)):
        yield "llama3", base, width, partial, 131072, dict(factor=factor, low_freq_factor=low, high_freq_factor=high, original_max_position_embeddings=old), None


def answer(kind, base, width, partial, positions, extra, length):
    if kind == "ntk":
        length, kind, extra = round(extra["factor"] * positions), "dynamic", dict(factor=1.0)
    parameters = dict(rope_type=kind, rope_theta=base, partial_rotary_factor=partial, **extra)
    config = LlamaConfig(hidden_size=width * HEADS, num_attention_heads=HEADS, max_position_embeddings=positions, rope_parameters=parameters)
    single = torch.float, torch.float32
    torch.float = torch.float32 = torch.float64
    try:
        theta, gain = rope.ROPE_INIT_FUNCTIONS[kind](config, "cpu", **({} if length is None else {"seq_len": length}))
    finally:
        torch.float, torch.float32 = single
    return [float(t) for t in theta.double()], float(gain)


def main():
    out = ["/* Made by tools/golden/golden_rope.py with transformers %s.  {config.json, length, planes, gain, frequencies} */" % transformers.__version__]
    for kind, base, width, partial, positions, extra, length in configurations():
        theta, gain = answer(kind, base, width, partial, positions, extra, length)
        config = dict(hidden_size=width * HEADS, num_attention_heads=HEADS, max_position_embeddings=positions,
                      rope_scaling=dict(rope_type=kind, rope_theta=base, partial_rotary_factor=partial, **extra))
        text = json.dumps(config, separators=(",", ":")).replace('"', '\\"')
        out.append('{"%s", %d, %d, %.17g,\n {%s}},' % (text, length or 0, len(theta), gain, ", ".join("%.17g" % t for t in theta)))
    open(sys.argv[1], "w").write("\n".join(out) + "\n")


main()
