#!/usr/bin/env python3
"""evaluate.py DATA ROFORMER MODEL...: Spearman's correlation of cosines with the scores of STS-B and SICK."""
import os
import subprocess
import sys
import tempfile

from evaluated import rows_of

SETS = (("STS-B dev", "glue/STS-B", "dev.tsv"), ("STS-B test", "glue/STS-B", "sts-test.tsv"),
        ("SICK test", "sick", "SICK_test_annotated.txt"))


def ranks(x):
    """From 1; equal numbers have the mean of their ranks."""
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


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    data, program = sys.argv[1:3]
    for model in sys.argv[3:]:
        for name, folder, file in SETS:
            rows = list(rows_of(data, folder, file))
            print("%s  %-10s %5d pairs, Spearman %.4f" %
                  (model, name, len(rows), spearman(cosines(program, model, rows), [r[2] for r in rows])), flush=True)


if __name__ == "__main__":
    main()
