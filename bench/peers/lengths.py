"""Prints the lengths in tokens of 256 real sentences, eight batches of 32, in the order that lengths.txt has them: half
QNLI pairs, half SST-2 sentences of GLUE's development sets, by the uncased BERT vocabulary, shuffled with seed 0.

    python lengths.py GLUE_FOLDER bert-base-uncased-vocab.txt > lengths.txt"""
import os
import random
import sys
from tokenizers import BertWordPieceTokenizer

glue, vocabulary = sys.argv[1:]
rust = BertWordPieceTokenizer(vocabulary, lowercase=True)

def rows(name):
    with open(os.path.join(glue, name, "dev.tsv"), encoding="utf8") as f:
        return [line.rstrip("\n").split("\t") for line in f][1:129]

lengths = [len(rust.encode(c[1], c[2]).ids) for c in rows("QNLI")] + [len(rust.encode(c[0]).ids) for c in rows("SST-2")]
random.Random(0).shuffle(lengths)
for i in range(0, 256, 32):
    print(*lengths[i:i + 32])
