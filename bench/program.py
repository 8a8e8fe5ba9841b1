#!/usr/bin/env python3
"""Waiting times and memory for a user of the program.  Needs nothing but Python 3.9 and a build.

    bench/program.py [TEXT] [--roformer build/release/roformer] [--model models/roformer-small-en] [--base DIR]

start      from the command to the first answer of fill-mask, the shipped model, and the Chinese one with its dictionary; 60 runs each
embed      TEXT's first 25,000, 50,000 and 100,000 lines (repeated when it has fewer): peak memory, and its speed compared with that
           of a session alone on batches of the same lengths, alternating
forward    4 x 512 tokens of the model in --base, a folder of RoFormer-base's shape (12 x 768): peak memory compared with the size of its
           weights; left out without --base
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def run(command, stdin=None):
    """Seconds, peak resident megabytes, and the first megabytes of a program's output."""
    with tempfile.TemporaryFile() as out:
        begin = time.perf_counter()
        p = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        seconds = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{' '.join(command)}: status {status}")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1e3 * 1.024, out.read(64 << 20)


def start(o, model, text, name):
    times = sorted(1e3 * run([o.roformer, "fill-mask", "-m", model, text])[0] for _ in range(60))
    print(f"start to first answer{name:5}least {times[0]:.1f} ms, median {statistics.median(times):.1f} ms, "
          f"95th percentile {times[int(0.95 * len(times))]:.1f} ms")


def lines_of(path, n):
    with open(path, "rb") as f:
        lines = [line for line in f if line.strip()]
    return [lines[i % len(lines)] for i in range(n)]


BATCH = 192         # tokens that embed is told to compute together, a thread


def batches(o, file):
    """The lengths of the texts of each batch, as embed forms them: windows of 4,096 lines, longest first."""
    with open(file, "rb") as lines:
        _, _, out = run([o.roformer, "tokenize", "-m", o.model, "--json"], lines)
    lengths = [min(len(json.loads(line)["ids"]), 512) for line in out.splitlines()]
    for at in range(0, len(lengths), 4096):
        batch = []
        for n in sorted(lengths[at:at + 4096], reverse=True):
            if batch and sum(batch) + n > BATCH:
                yield batch
                batch = []
            batch.append(n)
        yield batch


def embed(o, folder):
    command = [o.roformer, "embed", "-m", o.model, "--batch-tokens", str(BATCH), "-o", os.path.join(folder, "v.npy")]
    files = {}
    for n in (1000, 5000, 25000, 50000, 100000):
        files[n] = os.path.join(folder, f"{n}.txt")
        with open(files[n], "wb") as f:
            f.writelines(lines_of(o.text, n))
    for n in (25000, 50000, 100000):
        seconds, megabytes, _ = run([*command, files[n]])
        print(f"embed of {n:6} lines     peak memory {megabytes:.0f} MB, {n / seconds:.0f} lines/s")

    shapes = os.path.join(folder, "lengths")
    tokens = 0
    with open(shapes, "w") as f:
        for batch in batches(o, files[5000]):
            tokens += sum(batch)
            print(*batch, file=f)
    ratios = []
    for _ in range(o.rounds):
        idle = run([*command, os.devnull])[0]
        whole = run([*command, files[5000]])[0] - idle
        _, _, out = run([o.roformer, "bench", "forward", "-m", o.model, "--shape", "@" + shapes, "--seconds", "1", "--json"])
        ratios.append(tokens / whole / json.loads(out)["rows"][0]["tokens_per_second"])
    print(f"embed beside the session  {100 * statistics.median(ratios):.1f} % of its tokens a second "
          f"({', '.join(f'{100 * r:.0f}' for r in ratios)})")


def forward(o):
    weights = os.path.getsize(os.path.join(o.base, "model.safetensors")) / 1e6
    _, megabytes, _ = run([o.roformer, "bench", "forward", "-m", o.base, "--shape", "4x512", "--seconds", "0.5"])
    limit = 1.15 * weights + 60
    print(f"forward of 4 x 512        peak memory {megabytes:.0f} MB; weights {weights:.0f} MB, x 1.15 + 60 MB = {limit:.0f} MB")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text", nargs="?", help="without it only the start is timed")
    p.add_argument("--roformer", default=os.path.join(ROOT, "build", "release", "roformer"))
    p.add_argument("--model", default=os.path.join(ROOT, "models", "roformer-small-en"))
    p.add_argument("--base")
    p.add_argument("--rounds", type=int, default=5)
    o = p.parse_args()
    start(o, o.model, "The capital of France is [MASK].", "")
    start(o, os.path.join(ROOT, "models", "roformer-small-zh"), "他[MASK]于1950年，是一名作家。", ", zh")
    if not o.text:
        return
    with tempfile.TemporaryDirectory() as folder:
        embed(o, folder)
    if o.base:
        forward(o)


if __name__ == "__main__":
    main()
