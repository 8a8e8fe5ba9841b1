#!/usr/bin/env python3
"""This tokenizer and Hugging Face's Rust one, alternating over the same lines, one thread each: processor seconds, medians.

    python tools/speed_tokenizer.py build/release/bench/bench_tokenizer VOCAB TEXT [MEGABYTES [ROUNDS]]
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

from transformers import BertTokenizer  # noqa: E402


def main():
    program, vocab, path = sys.argv[1:4]
    size = int(float(sys.argv[4]) * 1e6) if len(sys.argv) > 4 else 8000000
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    data = open(path, "rb").read(size)
    data = data[:data.rindex(b"\n") + 1]
    lines = data.decode().split("\n")[:-1]
    tokenizer = BertTokenizer(vocab)._tokenizer
    ours, theirs = [], []
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        for _ in range(rounds):
            out = subprocess.run([program, vocab, f.name, "1"], stdout=subprocess.PIPE, check=True).stdout.decode()
            ours.append(float(re.search(r"([0-9.]+) MB/s", out).group(1)))
            start = time.process_time()
            tokenizer.encode_batch(lines)
            theirs.append(1e-6 * len(data) / (time.process_time() - start))
    a, b = statistics.median(ours), statistics.median(theirs)
    print("ours %.1f MB/s (%.1f to %.1f), Hugging Face %.2f MB/s (%.2f to %.2f): %.1f times" %
          (a, min(ours), max(ours), b, min(theirs), max(theirs), a / b))


if __name__ == "__main__":
    main()
