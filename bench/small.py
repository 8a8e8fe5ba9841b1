#!/usr/bin/env python3
"""A small encoder as people meet it: the first vector of a new process, many lines, memory, page faults.  Python 3.9 and a build.

    bench/small.py MODEL TEXT [--roformer NEW] [--old OLD] [--lines 10000] [--rounds 5] [--dtype f32 bf16 int8 int8w]

MODEL is a folder such as all-MiniLM-L6-v2; `roformer convert` makes the one in int8.  --old: a program of another commit; the two take
turns.

first     `embed` of one line, one thread, files in the page cache: medians of elapsed and of processor time, peak memory
many      `embed` of TEXT's lines (repeated when it has fewer) with one and two threads: the least time; how busy the processors are and
          how much of it is the system's; page faults; the same of a fifth of the lines, so that the difference shows what a line costs
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

from program import ROOT, lines_of


def run(command):
    """Seconds, those of the processor for the program and for the system, megabytes, page faults."""
    begin = time.perf_counter()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return time.perf_counter() - begin, use.ru_utime, use.ru_stime, use.ru_maxrss / 1e3 * 1.024, use.ru_minflt


def embed(program, model, dtype, threads, file):
    return [program, "embed", "-q", "-m", model, "--dtype", dtype, "-t", str(threads), "-o", "/dev/null", "-f", "jsonl", file]


def first(o, folders, line):
    print("first vector of a process, one thread")
    for name, model, dtype in folders:
        rows = {p: [] for p in o.programs}
        for n in range(4 * o.rounds):
            for p in list(o.programs)[::1 if n % 2 else -1]:
                rows[p].append(run(embed(p, model, dtype, 1, line)))
        for p in o.programs:
            seconds, user, system, megabytes, faults = (statistics.median(x) for x in zip(*rows[p]))
            print(f"{name:12} {dtype:5} {o.programs[p]:4} {1e3 * seconds:6.1f} ms, processor {1e3 * (user + system):6.1f} ms, "
                  f"{megabytes:5.1f} MB, {faults:.0f} page faults", flush=True)


def many(o, folders, files):
    print(f"{o.lines} lines; faults: those of {o.lines} lines less those of {o.lines // 5}")
    for name, model, dtype in folders:
        for threads in o.threads:
            rows, fewer = {p: [] for p in o.programs}, {}
            for n in range(o.rounds):
                for p in list(o.programs)[::1 if n % 2 else -1]:
                    rows[p].append(run(embed(p, model, dtype, threads, files[0])))
            for p in o.programs:
                fewer[p] = run(embed(p, model, dtype, threads, files[1]))[4]
                seconds, user, system, megabytes, faults = min(rows[p])
                print(f"{name:12} {dtype:5} {o.programs[p]:4} {threads} thread{'s' * (threads > 1):1} {seconds:6.2f} s, "
                      f"{100 * (user + system) / seconds / threads:5.1f} % busy, system {100 * system / (user + system):4.1f} %, "
                      f"{megabytes:5.1f} MB, {faults - fewer[p]:6.0f} faults", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("text")
    p.add_argument("--roformer", default=os.path.join(ROOT, "build", "release", "roformer"))
    p.add_argument("--old")
    p.add_argument("--lines", type=int, default=10000)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    p.add_argument("--dtype", nargs="+", default=["f32", "bf16", "int8", "int8w"])
    o = p.parse_args()
    o.programs = {o.old: "old", o.roformer: "new"} if o.old else {o.roformer: ""}
    with tempfile.TemporaryDirectory() as work:
        files = [os.path.join(work, n) for n in ("all", "fifth", "one")]
        for file, n in zip(files, (o.lines, o.lines // 5, 1)):
            with open(file, "wb") as f:
                f.writelines(lines_of(o.text, n))
        small = os.path.join(work, "int8")
        subprocess.run([o.roformer, "convert", "-q", "--dtype", "int8", o.model, small], check=True, stdout=subprocess.DEVNULL)
        folders = [("folder", o.model, d) for d in o.dtype]
        first(o, folders + [("int8 folder", small, "int8")], files[2])
        many(o, folders, files)


if __name__ == "__main__":
    main()
