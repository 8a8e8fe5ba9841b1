#!/usr/bin/env python3
"""ModernBERT's local layers at several lengths: time per token of one local layer, from models of base's widths that differ only in their number of
local layers (1 global layer and 1 or 5 local ones), in turns.  At the longest length it must be within 15 % of that at the shortest.

    nice -n -5 bench/local_attention.py build/release/roformer [--dtype f32 bf16] [--lengths 1024 8192] [--rounds 3] [--seconds 1]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

FEW, MANY = 2, 6


def median_ms(program, config, dtype, length, seconds):
    out = subprocess.run([program, "bench", "-q", "forward", "--config", str(config), "--dtype", dtype, "--seconds", str(seconds),
                          "--shape", "1x%d" % length, "--json"], stdout=subprocess.PIPE, check=True).stdout
    rows = json.loads(out)
    return next(r["ms"] for r in rows["rows"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--dtype", nargs="+", default=["f32", "bf16"])
    p.add_argument("--lengths", nargs="+", type=int, default=[1024, 8192])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=1)
    a = p.parse_args()
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    version = subprocess.run([a.program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    print("# %s, %s; base's widths, window 128, random weights; microseconds per token of a local layer, median of %d rounds (all)" % (version, cpu, a.rounds))
    with tempfile.TemporaryDirectory() as folder:
        config = {}
        for layers in (FEW, MANY):
            config[layers] = pathlib.Path(folder) / ("%d.json" % layers)
            config[layers].write_text(json.dumps({"model_type": "modernbert", "pad_token_id": 0, "vocab_size": 30528, "num_hidden_layers": layers,
                                                  "global_attn_every_n_layers": 64}))
        for dtype in a.dtype:
            each = {n: [] for n in a.lengths}
            for _ in range(a.rounds):
                for n in a.lengths:
                    few, many = (median_ms(a.program, config[k], dtype, n, a.seconds) for k in (FEW, MANY))
                    each[n].append(1e3 * (many - few) / (MANY - FEW) / n)
            for n in a.lengths:
                print("%-5s %6d tokens   %7.2f us   (%s)" % (dtype, n, statistics.median(each[n]), ", ".join("%.2f" % x for x in each[n])))
            ratios = [b / f for f, b in zip(each[a.lengths[0]], each[a.lengths[-1]])]
            print("%-5s %d / %d: %.3f times" % (dtype, a.lengths[-1], a.lengths[0], statistics.median(ratios)), flush=True)


if __name__ == "__main__":
    main()
