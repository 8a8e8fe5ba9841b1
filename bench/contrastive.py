#!/usr/bin/env python3
"""A contrastive step of RoFormer-base's shape: seconds, fraction of the multiply-add peak, memory compared with the prediction.

    bench/contrastive.py TEXT [--batch 256] [--steps 2] [--bf16] [--peer PYTHON]      # PYTHON: with sentence-transformers and torch

Weights are random (12 x 768, the vocabulary of the shipped model); the pairs are consecutive lines of TEXT.  A step is
roformer finetune --task embed, AdamW with it; operations are three times the encoder's (bench/embed.py), and for attention
12 T^2 C a layer.  The first two steps are not counted, because they touch all memory for the first time.  The peer is SentenceTransformer's model of the same folder with
MultipleNegativesRankingLoss and torch's AdamW, its texts padded to the longest of the batch, on as many threads.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import opening
from embed import operations, peak
from program import ROOT

WARM = 2

PEER = """
import sys, time, torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.base.modules import Transformer
folder, file, batch, steps, threads, bf16 = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
torch.set_num_threads(threads)
model = SentenceTransformer(modules=[Transformer(folder, max_seq_length=128), Pooling(768, "mean")], device="cpu")
loss, rule = MultipleNegativesRankingLoss(model), torch.optim.AdamW(model.parameters(), 1e-5)
model.train()
rows = [line.rstrip("\\n").split("\\t") for line in open(file, encoding="utf-8")][1:]
for i in range(steps + 2):                              # WARM
    part = rows[i * batch:(i + 1) * batch]
    begin = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=bool(bf16)):
        value = loss([model.preprocess([r[k] for r in part]) for k in range(2)], None)
    value.backward()
    rule.step()
    rule.zero_grad()
    print(time.perf_counter() - begin, flush=True)
"""


def make(folder, model):
    """Base's shape with random weights and the tokenizer of `model`."""
    opening.V = opening.CONFIG["vocab_size"] = sum(1 for _ in open(os.path.join(model, "vocab.txt"), encoding="utf-8"))
    opening.make(opening.pathlib.Path(folder))
    for name in ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(os.path.join(model, name), folder)


def pairs(text, n, file):
    with open(text, encoding="utf-8") as f:
        lines = [" ".join(line.split()) for line in f if line.strip()]
    with open(file, "w", encoding="utf-8") as f:
        print("text\tpair", file=f)
        for i in range(n):
            print(lines[2 * i % len(lines)], lines[(2 * i + 1) % len(lines)], sep="\t", file=f)


def ours(o, folder, file):
    out = os.path.join(os.path.dirname(folder), "run")
    p = subprocess.Popen([o.roformer, "finetune", "--task", "embed", "--model", folder, "--train", file, "-o", out, "--max_steps",
                          str(o.steps + WARM), "--per_device_train_batch_size", str(o.batch), "--save_strategy", "no", "--learning_rate", "1e-5",
                          "--logging_steps", "1", "--threads", str(o.threads), *(["--bf16"] if o.bf16 else [])],
                         stderr=subprocess.PIPE, text=True)
    words = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    if status:
        raise SystemExit(words)
    with open(os.path.join(out, "metrics.jsonl")) as f:
        steps = [r for r in map(json.loads, f) if "loss" in r and "step" in r]
    seconds = [b["seconds"] - a["seconds"] for a, b in zip(steps, steps[1:])][WARM - 1:]
    said = re.search(r"needs ([0-9.]+ [MG]B)", words)
    return seconds, usage.ru_maxrss / 1e3 * 1.024, said.group(1) if said else "?"


def peer(o, folder, file):
    out = subprocess.run([o.peer, "-c", PEER, folder, file, *map(str, (o.batch, o.steps, o.threads, int(o.bf16)))], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [float(x) for x in out.split()][WARM:]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("text")
    p.add_argument("--roformer", default=os.path.join(ROOT, "build", "release", "roformer"))
    p.add_argument("--vocabulary", default=os.path.join(ROOT, "models", "roformer-small-en"))
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--peer")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        o.model, file, texts = os.path.join(work, "base"), os.path.join(work, "pairs.tsv"), os.path.join(work, "texts")
        make(o.model, o.vocabulary)
        n = o.batch * (o.steps + WARM)
        pairs(o.text, n, file)
        with open(file, encoding="utf-8") as f, open(texts, "w", encoding="utf-8") as to:
            to.writelines(line.replace("\t", "\n") for line in list(f)[1:])
        flops, tokens = operations(o, texts)
        dtype = "bf16" if o.bf16 else "f32"
        before = peak(o, dtype)
        seconds, megabytes, said = ours(o, o.model, file)
        mean = (before + peak(o, dtype)) / 2
        each = sum(seconds) / len(seconds)
        print(f"{o.batch} pairs, {tokens / n:.1f} tokens a pair, {dtype}, {o.threads} threads: {each:.2f} s a step "
              f"({', '.join(f'{s:.2f}' for s in seconds)}), {100 * 3 * flops / (o.steps + WARM) / each / mean:.1f} % of the peak "
              f"({mean / 1e9:.0f} GFLOP/s), memory {megabytes:.0f} MB, said beforehand {said}", flush=True)
        if o.peer:
            begin = time.perf_counter()
            theirs = peer(o, o.model, file)
            print(f"sentence-transformers: {sum(theirs) / len(theirs):.2f} s a step ({', '.join(f'{s:.2f}' for s in theirs)}), "
                  f"{sum(theirs) / len(theirs) / each:.2f} x; {time.perf_counter() - begin:.0f} s with its start", flush=True)


if __name__ == "__main__":
    main()
