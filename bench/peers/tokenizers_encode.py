"""Hugging Face tokenizers (Rust): BERT's WordPiece with offsets, line by line in one thread, or in batches (argument).

A case names the text and the vocabulary: {"bench": "tokenize", "text": FILE, "vocab": FILE}."""
import sys
how = sys.argv[1] if len(sys.argv) > 1 else "lines"
import os
if how == "lines":
    os.environ["THREADS"] = "1"
from peer import *
import tokenizers

def tokenize(case):
    with open(case["text"], encoding="utf8") as f:
        lines = [line for line in f.read().split("\n") if line.strip()]
    size = sum(len(line.encode()) for line in lines)
    rust = tokenizers.BertWordPieceTokenizer(case["vocab"], lowercase=case.get("lowercase", True))
    tokens = sum(len(e.ids) for e in rust.encode_batch(lines))
    run = (lambda: [rust.encode(line) for line in lines]) if how == "lines" else (lambda: rust.encode_batch(lines))
    median, best = timed(run, case.get("seconds", 3))
    return row(case, median, best, 0, tokens, size)

serve(f"tokenizers {how}", tokenizers.__version__, tokenize=tokenize)
