#!/usr/bin/env python3
"""evaluate.py [--dev] DATA ROFORMER MODEL...: Spearman's correlation of cosines with the scores of STS-B and SICK.

  MODEL  a folder, or FILE.jsonl, texts of training: then no model, but cosines of bags of words weighted by their idf in
         that file, which is the baseline
  --dev  on the rows that are used for decisions: STS-B dev and SICK's training set
"""
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from evaluated import rows_of

SETS = (("STS-B dev", "glue/STS-B", "dev.tsv"), ("STS-B test", "glue/STS-B", "sts-test.tsv"),
        ("SICK test", "sick", "SICK_test_annotated.txt"))
DEV = (SETS[0], ("SICK train", "sick", "SICK_train.txt"))


def ranks(x):
    """Ranks from 1; equal numbers get the mean of their ranks."""
    order = sorted(range(len(x)), key=x.__getitem__)
    rank, i = [0.0] * len(x), 0
    while i < len(x):
        j = i
        while j < len(x) and x[order[j]] == x[order[i]]:
            j += 1
        for k in range(i, j):
            rank[order[k]] = (i + j + 1) / 2
        i = j
    return rank


def spearman(x, y):
    x, y = ranks(x), ranks(y)
    mean = (len(x) + 1) / 2
    xy = sum((a - mean) * (b - mean) for a, b in zip(x, y))
    return xy / (sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y)) ** 0.5


def cosines(program, model, rows):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("first", "second")]
        for side, path in enumerate(paths):
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(" ".join(row[side].split()) + "\n" for row in rows)
        printed = subprocess.run([program, "similarity", "-q", "-m", model, "--json", "--pairs", *paths], check=True,
                                 stdout=subprocess.PIPE).stdout
    return [float(line) for line in printed.split()]


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def cosines_of_words(path, rows):
    """cos(a, b) = sum over words in both of idf^2 / (|a| |b|),  idf = ln(N / (1 + how many texts have the word))."""
    count, n = collections.Counter(), 0
    with open(path, encoding="utf-8") as f:
        for line in f:
            count.update(words(json.loads(line)["text"]))
            n += 1

    def square(some):
        return sum(math.log(n / (1 + count[w])) ** 2 for w in some)

    pairs = [(words(a), words(b)) for a, b, _ in rows]
    return [square(a & b) / math.sqrt((square(a) or 1) * (square(b) or 1)) for a, b in pairs]


def main():
    given = [arg for arg in sys.argv[1:] if arg != "--dev"]
    if len(given) < 3:
        sys.exit(__doc__)
    data, program = given[:2]
    for model in given[2:]:
        for name, folder, file in DEV if "--dev" in sys.argv else SETS:
            rows = list(rows_of(data, folder, file))
            found = cosines_of_words(model, rows) if model.endswith(".jsonl") else cosines(program, model, rows)
            print("%s  %-10s %5d pairs, Spearman %.4f" %
                  (model, name, len(rows), spearman(found, [r[2] for r in rows])), flush=True)


if __name__ == "__main__":
    main()
