#!/usr/bin/env python3
"""bm25.py --check GOLDEN.json: BM25 (Robertson et al. 1994) with Lucene's idf, against scores of another program.

    score(q, d) = sum over words w of q:  idf_w  f / (f + k (1 - b + b |d| / mean |d|)),     f: how often w is in d
    idf_w       = ln(1 + (N - n_w + 1/2) / (n_w + 1/2)),                                     n_w: of how many of N texts
"""
import collections
import json
import math
import re
import sys

K, B = 1.2, 0.75


def words(text):
    return re.findall(r"\w+", text.lower())


class BM25:
    def __init__(self, texts, k=K, b=B):
        self.n = len(texts)
        split = [words(t) for t in texts]
        mean = sum(map(len, split)) / self.n
        count = collections.Counter(w for t in split for w in set(t))
        self.found = collections.defaultdict(list)              # of a word: texts, and what it adds to their scores
        for i, text in enumerate(split):
            for w, f in collections.Counter(text).items():
                idf = math.log(1 + (self.n - count[w] + 0.5) / (count[w] + 0.5))
                self.found[w].append((i, idf * f / (f + k * (1 - b + b * len(text) / mean))))

    def scores(self, query):
        """Scores of the texts that share a word with the query."""
        all = collections.defaultdict(float)
        for w in words(query):
            for i, s in self.found.get(w, ()):
                all[i] += s
        return all

    def search(self, query, top):
        """The best first; of texts with equal scores, the earlier one first."""
        return sorted(self.scores(query).items(), key=lambda hit: (-hit[1], hit[0]))[:top]


def check(path):
    with open(path, encoding="utf-8") as f:
        golden = json.load(f)
    ranker = BM25(golden["texts"], golden["k"], golden["b"])
    most = 0.0
    for query, expected in golden["scores"].items():
        got = ranker.scores(query)
        most = max([most] + [abs(got.get(i, 0.0) - s) for i, s in enumerate(expected)])
    print("bm25: %d queries, %d texts, at most %.2g from %s" %
          (len(golden["scores"]), len(golden["texts"]), most, golden["program"]))
    return int(most > golden["tolerance"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--check":
        sys.exit(__doc__)
    sys.exit(check(sys.argv[2]))
