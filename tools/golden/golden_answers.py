#!/usr/bin/env python3
"""golden_answers.py — SQuAD's scores of 1,000 random pairs of answers with accents, dashes, other scripts and spaces.

    python3 tools/golden/golden_answers.py > tests/golden/train/answers.txt     # transformers 4.57

A pair is a pure function of its number, drawn as in tests/task/test_metrics_answers.c; a line is exact match and F1."""
from transformers.data.metrics import squad_metrics as squad

CASES = 1000
MASK = (1 << 64) - 1
WORDS = ["the", "a", "an", "The", "A", "cat", "Cat", "cat's", "dog", "sat,", "on", "42", "4.2", "--", "", "\u00c9cole", "\u00e9cole", "U.S.",
         "theatre", "\u2013the\u2013", "stra\u00dfe", "\u0130x", "\u6771\u4eac", "x\u00a0y", "an.", "(a)"]


def draw(kind, case, i):
    x = ((kind << 48) + (case << 24) + i + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def sentence(kind, c):
    return " ".join(WORDS[draw(kind, c, i + 1) % len(WORDS)] for i in range(draw(kind, c, 0) % 7))


for c in range(CASES):
    gold = sentence(11, c)
    guess = gold.upper() if c % 5 == 0 else sentence(12, c)
    print("%d %.15g" % (squad.compute_exact(gold, guess), squad.compute_f1(gold, guess)))
