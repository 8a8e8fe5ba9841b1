#!/usr/bin/env python3
"""A text of a million bytes through a causal model with linear attention: every byte's log-probability, and how much memory that took.

    bench/million.py build/release/roformer [--threads N] [TOKENS...]            # 10,000 and 1,000,000

The model has 6 layers of 512 and 8 heads, tokens are bytes, weights are random except for one step of training: time and memory do not depend on them.  The text is made here, the same every time.  Printed are, for each length, the peak of the resident set, its difference to
that of the first length, and the time: a run may be stopped and continued, its processors' time does not count that."""
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

CONFIG = """{"model_type": "roformer", "vocab_size": 261, "embedding_size": 512, "hidden_size": 512, "num_hidden_layers": 6,
 "num_attention_heads": 8, "intermediate_size": 2048, "max_position_embeddings": 1048576, "is_decoder": true,
 "attention_type": "linear", "feature_seed": 1}"""


def text(n):
    draw, words = random.Random(1), []
    vocabulary = ["".join(draw.choice("etaoinshrdlu") for _ in range(draw.randint(2, 9))) for _ in range(5000)]
    while n > 0:
        words.append(draw.choice(vocabulary))
        n -= len(words[-1]) + 1
    return " ".join(words)


def run(*command, **more):
    """Standard output, peak of the resident set in KB, wall-clock and processor seconds."""
    begin = time.time()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, **more)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"million.py: {' '.join(command[:2])} ended with {os.waitstatus_to_exitcode(status)}")
    return out, usage.ru_maxrss, time.time() - begin, usage.ru_utime + usage.ru_stime


def main():
    program, rest = os.path.abspath(sys.argv[1]), sys.argv[2:]
    threads = "0"
    if rest[:1] == ["--threads"]:
        threads, rest = rest[1], rest[2:]
    lengths = [int(n) for n in rest] or [10000, 1000000]
    whole, first = text(max(lengths)), None
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("config.json", "w") as f:
            f.write(CONFIG)
        with open("corpus.txt", "w") as f:
            f.write(whole[:20000] + "\n")
        run(program, "vocab", "-q", "--type", "bytes", "-o", "model")
        run(program, "pretrain", "-q", "--text", "corpus.txt", "--model", "model", "--config", "config.json", "--max_steps", "1",
            "--tokens_per_batch", "64", "--max_length", "64", "--save_steps", "0", "--eval_steps", "0")
        for n in lengths:
            with open("text", "w") as f:
                f.write(whole[:n] + "\n")
            with open("text") as f:
                out, peak, seconds, work = run(program, "score", "-m", "model", "--max_length", "1048576", "--threads", threads, stdin=f)
            logprob, tokens, _, _ = out.decode().split("\t", 3)
            first = first or peak
            print(f"{int(tokens):9,} tokens  log-probability {float(logprob):14.2f}  peak {peak / 1024:7.1f} MB ({(peak - first) / 1024:+.1f})"
                  f"  {seconds:8.1f} s, {work:8.1f} of processors  {int(tokens) / seconds:7.0f} tokens/s", flush=True)


main()
