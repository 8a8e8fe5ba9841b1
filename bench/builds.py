#!/usr/bin/env python3
"""Runs two builds of the program alternately: is the newer one as fast?  Needs nothing but Python 3.9.

    bench/builds.py OLD NEW [--rounds 10] [--seconds 1] [-- WHAT --shape 8x128 ...]

OLD and NEW are programs (build/release/roformer of two commits), arguments after `--` are passed to `roformer bench` (default: forward train
at the shapes of results/forward.txt and results/train.txt, one run a shape).  Each round runs both, in changing order; a row is the
median over rounds of NEW's share of the peak by OLD's (of OLD's time by NEW's where a row has no share), with a 95 % interval from
10,000 resamplings of the rounds: above 1, NEW is faster.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys

USUAL = [["forward", "--shape", "8x128"], ["forward", "--shape", "4x512"], ["forward", "--shape", "1x16"],
         ["forward", "--shape", "8x128", "--dtype", "bf16"], ["forward", "--shape", "4x512", "--dtype", "bf16"],
         ["train", "--shape", "8x128"], ["train", "--shape", "8x128", "--dtype", "bf16"]]


def measure(program, what, seconds):
    command = [program, "bench", *what, "--seconds", str(seconds), "--json", "--quiet"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {(r["bench"], r["what"], r["shape"]): (r.get("share_of_fma_peak") or 1 / r["ms"]) for r in json.loads(out)["rows"]}


def interval(ratios):
    draws = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(10000))
    return draws[250], draws[9749]


def compare(o, what):
    ratios, shares = {}, {}
    for n in range(o.rounds):
        order = (o.old, o.new) if n % 2 == 0 else (o.new, o.old)
        got = {p: measure(p, what, o.seconds) for p in order}
        for row in got[o.old]:
            a, b = got[o.old][row], got[o.new][row]
            ratios.setdefault(row, []).append(b / a)
            shares.setdefault(row, []).append((a, b))
    kind = what[what.index("--dtype") + 1] if "--dtype" in what else "f32"
    for row, r in ratios.items():
        low, high = interval(r)
        old, new = (statistics.median(s[i] for s in shares[row]) for i in (0, 1))
        of = f"{100 * old:5.1f} -> {100 * new:5.1f} %" if max(old, new) > 0.02 else ""
        print(f"{row[0]:10} {row[1]:14} {row[2]:10} {kind:5} {statistics.median(r):7.3f}  [{low:.3f}, {high:.3f}]  {of}", flush=True)


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1)
    o = parser.parse_args(arguments[:cut])
    random.seed(1)
    print(f"{'bench':10} {'what':14} {'shape':10} {'type':5} new/old   95 % interval   share of the peak, medians")
    for what in [arguments[cut + 1:]] if cut < len(arguments) else USUAL:
        compare(o, what)


if __name__ == "__main__":
    main()
