#!/usr/bin/env python3
"""Compares the speed of this tokenizer and of Hugging Face's Rust one, alternating over the same lines, one thread each: processor seconds, medians.
Both compute ids and offsets. "first" is the first pass over the text, "again" a later one, with warm caches.

    python tools/speed_tokenizer.py build/release/bench/bench_tokenizer VOCAB|FOLDER TEXT [MEGABYTES [ROUNDS]]

VOCAB is a vocabulary of BERT, FOLDER a folder with a tokenizer.json.
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



def theirs_of(place):
    if os.path.isdir(place):
        from tokenizers import Tokenizer
        return Tokenizer.from_file(os.path.join(place, "tokenizer.json"))
    from transformers import BertTokenizer
    return BertTokenizer(place)._tokenizer


def main():
    program, vocab, path = sys.argv[1:4]
    size = int(float(sys.argv[4]) * 1e6) if len(sys.argv) > 4 else 8000000
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    data = open(path, "rb").read(size)
    data = data[:data.rindex(b"\n") + 1]
    lines = data.decode().split("\n")[:-1]
    tokenizer = theirs_of(vocab)
    ours, theirs, again = [], [], []
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        for _ in range(rounds):
            out = subprocess.run([program, vocab, f.name, "2"], stdout=subprocess.PIPE, check=True).stdout.decode()
            first, second = re.findall(r"([0-9.]+) MB/s", out)
            ours.append(float(first))
            again.append(float(second))
            start = time.process_time()
            tokenizer.encode_batch(lines)
            theirs.append(1e-6 * len(data) / (time.process_time() - start))
    a, c, b = statistics.median(ours), statistics.median(again), statistics.median(theirs[1:])
    print("ours: first %.1f MB/s, again %.1f (%.1f to %.1f); Hugging Face: first %.2f, again %.2f (%.2f to %.2f); first %.1f times, again %.1f times" %
          (a, c, min(again), max(again), theirs[0], b, min(theirs[1:]), max(theirs[1:]), a / theirs[0], c / b))


if __name__ == "__main__":
    main()
