#!/usr/bin/env python3
"""Compares the speed of Chinese tokenization: ids by this program and by transformers' RoFormerTokenizer, words only by rjieba, alternating over the same lines, one
thread each: processor seconds, medians.  Needs transformers 5 and rjieba.

    python tools/speed_jieba.py build/release/bench/bench_tokenizer FOLDER TEXT [MEGABYTES [ROUNDS]]

FOLDER has vocab.txt, tokenizer_config.json and dictionary.words of jieba's own dictionary.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import rjieba  # noqa: E402
from transformers import RoFormerTokenizer  # noqa: E402


def main():
    program, folder, path = sys.argv[1:4]
    size = int(float(sys.argv[4]) * 1e6) if len(sys.argv) > 4 else 8000000
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    data = open(path, "rb").read(size)
    data = data[:data.rindex(b"\n") + 1]
    lines = data.decode().split("\n")[:-1]
    tokens = open(os.path.join(folder, "vocab.txt"), encoding="utf-8").read().split("\n")[:-1]
    theirs = RoFormerTokenizer(vocab={token: i for i, token in enumerate(tokens)})._tokenizer
    rjieba.cut("今天", hmm=False)
    few = lines[:max(1, len(lines) // 20)]
    few_bytes = sum(len(line.encode()) + 1 for line in few)
    speed = {"ours": [], "rjieba, words alone": [], "transformers": []}
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        for _ in range(rounds):
            out = subprocess.run([program, folder, f.name, "1"], stdout=subprocess.PIPE, check=True).stdout.decode()
            speed["ours"].append(float(re.search(r"([0-9.]+) MB/s", out).group(1)))
            start = time.process_time()
            for line in lines:
                rjieba.cut(line, hmm=False)
            speed["rjieba, words alone"].append(1e-6 * len(data) / (time.process_time() - start))
            start = time.process_time()
            for line in few:
                theirs.encode(line)
            speed["transformers"].append(1e-6 * few_bytes / (time.process_time() - start))
    ours = statistics.median(speed["ours"])
    for name, all in speed.items():
        middle = statistics.median(all)
        print("%-20s %7.2f MB/s (%.2f to %.2f)  %6.1f times" % (name, middle, min(all), max(all), ours / middle))


if __name__ == "__main__":
    main()
