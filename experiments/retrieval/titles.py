#!/usr/bin/env python3
"""titles.py HELD-OUT [-m MODEL] [-n 10000] [--max-length 128] [--program ROFORMER] [--bf16]

Which article has this title?  Of the first N articles of HELD-OUT (WikiExtractor's; experiments/shipped-model/texts.sh
makes one of 10,000 that no model has seen) each title is a query for all articles: complete ones, and articles without
any word of their own title.  BM25 for comparison, on the same complete texts; the model reads --max-length tokens of each.

Prints recall at 1 and 10, MRR at 10 and nDCG at 10, as in sentence-transformers' InformationRetrievalEvaluator.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from bm25 import BM25

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sentence-model"))
from pairs import articles, without_title  # noqa: E402

TOP = 10


def by_model(given, titles, texts):
    """For each title, the numbers of the TOP most similar texts."""
    common = ["-q", "--dtype", "bf16" if given.bf16 else "f32"] + (["-m", given.model] if given.model else [])
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        subprocess.run([given.program, "index", *common, "--max-length", str(given.max_length), "-o", index],
                       input="".join(t + "\n" for t in texts).encode(), check=True)
        found = subprocess.run([given.program, "search", *common, "--json", "--top-k", str(TOP), index],
                               input="".join(t + "\n" for t in titles).encode(), check=True, stdout=subprocess.PIPE)
    hits = [[] for _ in titles]
    for line in found.stdout.splitlines():
        hit = json.loads(line)
        hits[hit["query"] - 1].append(hit["line"] - 1)
    return hits


def by_words(titles, texts):
    ranker = BM25(texts)
    return [[i for i, _ in ranker.search(t, TOP)] for t in titles]


def scores(hits):
    """The only relevant text of a title is its own article."""
    ranks = [h.index(i) if i in h else None for i, h in enumerate(hits)]
    there = [r for r in ranks if r is not None]
    n = len(hits)
    return (sum(r == 0 for r in there) / n, len(there) / n, sum(1 / (r + 1) for r in there) / n,
            sum(1 / math.log2(r + 2) for r in there) / n)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("held_out")
    parser.add_argument("-m", "--model")
    parser.add_argument("-n", type=int, default=10000)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--program", default=os.path.join("build", "release", "roformer"))
    parser.add_argument("--bf16", action="store_true")
    given = parser.parse_args()
    titles, whole, without = [], [], []
    for title, paragraphs in articles(given.held_out):
        text = " ".join(" ".join(paragraphs).split())
        rest = without_title(title, text)
        if len(titles) < given.n and rest and title.strip():
            titles.append(" ".join(title.split()))
            whole.append(text)
            without.append(rest)
    if not titles:
        sys.exit("titles.py: %s: no article with a title and a text" % given.held_out)
    print("%d articles; %-28s %9s %9s %9s %9s" % (len(titles), "", "recall@1", "recall@10", "MRR@10", "nDCG@10"))
    for name, texts in (("whole articles", whole), ("without the title's words", without)):
        model, lexical = scores(by_model(given, titles, texts)), scores(by_words(titles, texts))
        for who, s in (("model", model), ("BM25", lexical)):
            print("%-27s %-12s %9.4f %9.4f %9.4f %9.4f" % ((name, who) + s))
        print("%-27s %-12s recall@10 %.2f x BM25" % (name, "", model[1] / lexical[1] if lexical[1] else math.inf))


if __name__ == "__main__":
    main()
