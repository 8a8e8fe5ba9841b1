#!/usr/bin/env python3
"""tests/golden/train/scores.txt: metrics of random cases by scikit-learn, scipy, transformers' SQuAD metrics and seqeval.

    python3 tools/golden/golden_scores.py > tests/golden/train/scores.txt       # scikit-learn, scipy, seqeval, transformers 4.57 or 5

A case is a pure function of its number (splitmix64), drawn in the same order by tests/task/test_metrics.c, so the file
holds only results: for each of 1,000 cases, including degenerate ones and ties,
    accuracy  F1 macro  F1 binary (0 above two classes)  Matthews  F1 of cells  F1 of labels  Pearson  Spearman  exact  F1 of words
    mean absolute error  kappa with quadratic weights
one line for each of 1,000 lists of IOB2 tags: the F1 of entities; and for each of 1,000 others that of BIOES tags, whatever their order,
and that of well-formed BILOU tags, which seqeval reads only in its strict mode."""
import sys
import warnings

import numpy
import scipy.stats
from seqeval.metrics import f1_score as entity_f1
from seqeval.scheme import BILOU
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, matthews_corrcoef, mean_absolute_error

try:
    from transformers.data.metrics.squad_metrics import compute_exact, compute_f1
except ImportError:
    sys.exit("golden_scores.py: this transformers has no data.metrics.squad_metrics")

CASES = 1000
WORDS = ["the", "A", "an", "cat", "cat,", "Dog.", "dog", "x-y", "U.S.", "--", "theory", "7"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
MASK = (1 << 64) - 1


class Draw:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 33) % n


def classes(d):
    n, k, mode = 1 + d.below(60), 2 + d.below(4), d.below(6)
    label, guess = [], []
    for _ in range(n):
        a, b = d.below(k), d.below(k)
        label.append(1 if mode == 0 else a)
        guess.append(1 if mode == 1 else a if mode == 2 else b)
    return label, guess, k


def cells(d):
    n, k, often = 1 + d.below(20), 2 + d.below(3), 1 + d.below(4)
    draw = lambda: [[int(d.below(often + 1) == 0) for _ in range(k)] for _ in range(n)]
    return draw(), draw()


def numbers(d):
    n, mode = 2 + d.below(40), d.below(4)
    x, y = [], []
    for _ in range(n):
        a, b = d.below(1 << 20), d.below(1 << 20)
        x.append(3.0 if mode == 0 else a % 5 if mode == 1 else a / 1024)
        y.append(b % 3 if mode == 1 else b / 512 if mode == 2 else a / 4096 + b / 65536)
    return x, y


def words(d):
    return " ".join(WORDS[d.below(len(WORDS))] for _ in range(d.below(6)))


def tags(d):
    n, mode = 1 + d.below(12), d.below(4)
    label, guess = [], []
    for _ in range(n):
        a, b, c = d.below(5), d.below(5), d.below(3)
        label.append(TAGS[0 if mode == 0 else a])
        guess.append(TAGS[a if c else b])
    return label, guess


def schemes(d):
    """Two lists of tags in BIOES, any; the guess is often right."""
    names = ["O"] + [f"{kind}-{type_}" for type_ in ("PER", "LOC") for kind in "BIES"]
    n, right = 1 + d.below(14), 1 + d.below(4)
    label, guess = [], []
    for _ in range(n):
        a, b, c = d.below(9), d.below(9), d.below(right + 1)
        label.append(names[a])
        guess.append(names[a if c else b])
    return label, guess


def well_formed(d):
    """A list of BILOU tags that keeps the scheme's rules, as long as the other."""
    out = []
    for _ in range(6):
        size, type_ = d.below(4), ("PER", "LOC")[d.below(2)]
        if size == 0:
            out.append("O")
        elif size == 1:
            out.append("U-" + type_)
        else:
            out += ["B-" + type_] + ["I-" + type_] * (size - 2) + ["L-" + type_]
    out = out[:12] + ["O"] * (12 - len(out))
    if out[11][0] in "BI":                              # the cut went through an entity: it is left out
        begin = max(i for i in range(12) if out[i][0] == "B")
        out[begin:] = ["O"] * (12 - begin)
    return out


def main():
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    for case in range(CASES):
        d = Draw(case)
        label, guess, k = classes(d)
        many, many_guess = cells(d)
        x, y = numbers(d)
        a, b = words(d), words(d)
        row = [accuracy_score(label, guess), f1_score(label, guess, average="macro", zero_division=0),
               f1_score(label, guess, average="binary", pos_label=1, zero_division=0) if k == 2 and set(label + guess) <= {0, 1} else 0,
               matthews_corrcoef(label, guess), f1_score(many, many_guess, average="micro", zero_division=0),
               f1_score(many, many_guess, average="macro", zero_division=0), scipy.stats.pearsonr(x, y)[0],
               scipy.stats.spearmanr(x, y)[0], compute_exact(a, b), compute_f1(a, b),
               mean_absolute_error(label, guess), cohen_kappa_score(label, guess, labels=range(k), weights="quadratic")]
        print(*(f"{float(v):.17g}" for v in row))
    for case in range(CASES):
        label, guess = tags(Draw(1000000 + case))
        print(f"{float(entity_f1([label], [guess], zero_division=0)):.17g}")
    for case in range(CASES):
        d = Draw(2000000 + case)
        label, guess = schemes(d)
        strict = [well_formed(d), well_formed(d)]
        row = [entity_f1([label], [guess], zero_division=0),
               entity_f1([strict[0]], [strict[1]], zero_division=0, mode="strict", scheme=BILOU)]
        print(*(f"{float(v):.17g}" for v in row))


if __name__ == "__main__":
    main()
