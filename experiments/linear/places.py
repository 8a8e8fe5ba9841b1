#!/usr/bin/env python3
"""Loss by position: models of run.sh predict each byte of texts that are far longer than those in training from all bytes before it.

    experiments/linear/places.py WORK LENGTH [ROW...] [--texts N] [--program ROFORMER] [--results DIR] [--threads N]

WORK is run.sh's; rows are its folders (linear_eq19-1, ...), all that are complete unless some are named.  Texts are pieces of LENGTH bytes
of WORK/test.txt, articles one after the other, without marks of titles; at most N (4).  RESULTS/places.txt has for
each row bits per byte by position, in ranges that double, places.svg draws them; with a length of 1,000,000 it is million.txt and
million.svg, of one text, in ranges of 100,000 bytes, with the peak memory of each row, relative to a text of 10,000 bytes.
A row with learned positions is evaluated up to its last position."""
import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from picture import draw


def texts_of(work, length, most):
    with open(os.path.join(work, "test.txt"), "rb") as f:
        plain = re.sub(rb"</?doc[^>]*>", b" ", f.read())
    plain = re.sub(rb"\s+", b" ", plain).decode("utf-8", "replace").encode()
    pieces = [plain[i:i + length] for i in range(0, len(plain) - length + 1, length)][:most]
    return [p.decode("utf-8", "ignore") for p in pieces]


def ranges_of(length):
    if length >= 1000000:
        return [(i, min(i + 100000, length)) for i in range(0, length, 100000)]
    ends = [256]
    while ends[-1] < length:
        ends.append(min(2 * ends[-1], length))
    return list(zip([0] + ends[:-1], ends))


def bits(program, folder, text, length, threads):
    """Bits of each byte after the first, and the peak of the resident set in KB."""
    command = [program, "score", "-m", folder, "--json", "--max_length", str(max(length + 8, 16))] + (["--threads", threads] if threads else [])
    with tempfile.TemporaryFile() as given:
        given.write((text + "\n").encode())
        given.seek(0)
        p = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE)
        out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"places.py: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return [-x / math.log(2) for x in json.loads(out)["logprobs"]], usage.ru_maxrss


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("work"), p.add_argument("length", type=int), p.add_argument("row", nargs="*")
    p.add_argument("--texts", type=int, default=4)
    p.add_argument("--program", default="build/release/roformer")
    p.add_argument("--results", default="results/linear"), p.add_argument("--threads")
    o = p.parse_args()
    rows = o.row or sorted(os.path.basename(os.path.dirname(f)) for f in glob.glob(os.path.join(o.work, "*-[0-9]*", "model.safetensors")))
    texts, ranges = texts_of(o.work, o.length, o.texts), ranges_of(o.length)
    if not texts or not rows:
        sys.exit(f"places.py: {o.work}: " + ("no complete model" if texts else f"test.txt has no {o.length} bytes"))
    os.makedirs(o.results, exist_ok=True)
    million = o.length >= 1000000
    path, drawn = os.path.join(o.results, "million" if million else "places"), []
    with open(path + ".unfinished", "w") as f:
        print(f"Bits per byte by place, {len(texts)} text(s) of {o.length:,} bytes\n", file=f)
        print(f"{'':20}" + "".join(f"{'-' + format(end, ','):>11}" for _, end in ranges) + ("    peak of memory" if million else ""), file=f)
        for row in rows:
            folder = os.path.join(o.work, row)
            with open(os.path.join(folder, "config.json")) as c:
                config = json.load(c)
            learned = config.get("position_embedding_type") == "absolute"
            reach = min(o.length, config["max_position_embeddings"] - 8) if learned else o.length
            read = [bits(o.program, folder, t.encode()[:reach].decode("utf-8", "ignore"), reach, o.threads) for t in texts]
            cells = [[x for one, _ in read for x in one[begin:end]] for begin, end in ranges]
            means = [sum(c) / len(c) if c else None for c in cells]
            peak = max(kilobytes for _, kilobytes in read)
            short = bits(o.program, folder, texts[0].encode()[:10000].decode("utf-8", "ignore"), 10000, o.threads)[1] if million else 0
            memory = f"  {peak / 1024:7.1f} MB ({(peak - short) / 1024:+.1f})" if million else ""
            print(f"{row:20}" + "".join(f"{'-':>11}" if m is None else f"{m:11.4f}" for m in means) + memory, file=f, flush=True)
            drawn.append((row, [(end, mean) for (_, end), mean in zip(ranges, means) if mean is not None]))
    os.replace(path + ".unfinished", path + ".txt")
    draw(path, "byte of the text, each range at its end", "bits per byte", drawn, "set xtics 200000" if million else "set logscale x 2")
    print(path + ".txt", path + ".svg")


main()
