#!/usr/bin/env python3
"""Vectors of a million lines: minutes, tokens per line, fraction of the multiply-add peak, memory.  Python 3.9 and a build.

    bench/embed.py TEXT [--lines 100000] [--dtype f32 bf16] [--model models/roformer-small-en] [--threads 2]

TEXT's lines are repeated when it has fewer.  The time is that of the whole command minus its start.  Operations are those of
`roformer bench forward`, L (2 T (4 C^2 + 2 C F) + 4 T^2 C) for a line of T tokens; the peak is what that command's loop of
multiply-adds reached right before and right after, in the type of --dtype.  Minutes of 10^6 lines are those of --lines, scaled.
Memory is that of a tenth of the lines, and of all.
"""
import argparse
import json
import os
import tempfile

from program import ROOT, lines_of, run


def operations(o, file):
    """Operations for all lines, and the number of tokens that the model reads."""
    with open(os.path.join(o.model, "config.json")) as f:
        c = json.load(f)
    L, C, F = c["num_hidden_layers"], c["hidden_size"], c["intermediate_size"]
    with open(file, "rb") as lines:
        _, _, out = run([o.roformer, "tokenize", "-m", o.model, "--json"], lines)
    lengths = [min(len(json.loads(line)["ids"]), c["max_position_embeddings"]) for line in out.splitlines()]
    return sum(L * (2 * T * (4 * C * C + 2 * C * F) + 4 * T * T * C) for T in lengths), sum(lengths)


def peak(o, dtype):
    _, _, out = run([o.roformer, "bench", "forward", "-m", o.model, "--dtype", dtype, "--shape", "64x32", "--seconds", "2",
                     "--threads", str(o.threads), "--json"])
    row = json.loads(out)["rows"][0]
    return 1e9 * row["gflops"] / row["share_of_fma_peak"]


def embed(o, dtype, file):
    seconds, megabytes, _ = run([o.roformer, "embed", "-q", "-m", o.model, "--dtype", dtype, "--threads", str(o.threads),
                                 "--format", "f32", "-o", file + ".f32", file])
    return seconds, megabytes


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text")
    p.add_argument("--roformer", default=os.path.join(ROOT, "build", "release", "roformer"))
    p.add_argument("--model", default=os.path.join(ROOT, "models", "roformer-small-en"))
    p.add_argument("--lines", type=int, default=100000)
    p.add_argument("--dtype", nargs="+", default=["f32", "bf16"])
    p.add_argument("--threads", type=int, default=2)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("none", "tenth", "all")]
        for file, n in zip(files, (1, o.lines // 10, o.lines)):
            with open(file, "wb") as f:
                f.writelines(lines_of(o.text, n))
        flops, tokens = operations(o, files[2])
        print(f"{o.lines} lines of {tokens / o.lines:.2f} tokens, {flops / o.lines / 1e6:.1f} million operations a line, "
              f"{o.threads} threads", flush=True)
        for dtype in o.dtype:
            before = peak(o, dtype)
            idle = embed(o, dtype, files[0])[0]
            tenth = embed(o, dtype, files[1])[1]
            seconds, megabytes = embed(o, dtype, files[2])
            mean = (before + peak(o, dtype)) / 2
            print(f"{dtype:5} {o.lines / (seconds - idle):7.0f} lines/s, 10^6 lines in "
                  f"{1e6 / o.lines * (seconds - idle) / 60:5.2f} min, {100 * flops / (seconds - idle) / mean:5.1f} % of the peak "
                  f"({mean / 1e9:.0f} GFLOP/s), memory {tenth:.0f} MB for a tenth of the lines, {megabytes:.0f} for all", flush=True)


if __name__ == "__main__":
    main()
