#!/usr/bin/env python3
"""Time of softmax and of linear attention at equal size: 65,536 bytes, in texts of 256 to 65,536, through two models of run.sh.

    experiments/linear/times.py WORK [--program ROFORMER] [--results DIR] [--longest N]

The models are linear_eq19-1 and softmax_rotary-1, of one size.  Measured is the processor's time of `roformer score` on one thread, less
that of a text of 16 bytes; RESULTS/times.txt has microseconds a byte of both, head and reading included, and their ratio,
times.svg draws them."""
import argparse
import os
import subprocess

from picture import draw

ALL, SHORTEST = 65536, 256


def seconds(program, folder, lines):
    p = subprocess.Popen([program, "score", "-m", folder, "--max_length", str(ALL + 8), "--threads", "1"], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
    p.stdin.write("".join(line + "\n" for line in lines).encode())
    p.stdin.close()
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        raise SystemExit(f"times.py: {program} score -m {folder} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("work"), p.add_argument("--program", default="build/release/roformer"), p.add_argument("--results", default="results/linear")
    p.add_argument("--longest", type=int, default=ALL)
    o = p.parse_args()
    with open(os.path.join(o.work, "test.txt"), "rb") as f:
        text = " ".join(f.read(4 * ALL).decode("ascii", "ignore").split())[:ALL]
    os.makedirs(o.results, exist_ok=True)
    path = os.path.join(o.results, "times.txt")
    folders = {name: os.path.join(o.work, row) for name, row in (("softmax", "softmax_rotary-1"), ("linear", "linear_eq19-1"))}
    start = {name: min(seconds(o.program, folder, [text[:16]]) for _ in range(3)) for name, folder in folders.items()}
    with open(path + ".unfinished", "w") as out:
        print(f"{ALL:,} bytes in texts of a length, processor's microseconds a byte, one thread\n", file=out)
        print(f"{'length':>7}{'softmax':>11}{'linear':>11}{'ratio':>9}", file=out)
        T, found = SHORTEST, {name: [] for name in folders}
        while T <= o.longest:
            lines = [text[i:i + T] for i in range(0, ALL, T)]
            each = {name: 1e6 * (seconds(o.program, folder, lines) - start[name]) / ALL for name, folder in folders.items()}
            print(f"{T:7}{each['softmax']:11.2f}{each['linear']:11.2f}{each['softmax'] / each['linear']:8.2f}x", file=out, flush=True)
            for name, x in each.items():
                found[name].append((T, x))
            T *= 2
    os.replace(path + ".unfinished", path)
    draw(path[:-4], "bytes of a text", "microseconds a byte", list(found.items()), "set logscale x 2; set logscale y 10")
    print(path)


main()
