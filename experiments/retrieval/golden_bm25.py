#!/usr/bin/env python3
"""golden_bm25.py > golden.json: scores of bm25s (pip install bm25s), with which bm25.py is compared; bm25s computes in f32."""
import json
import sys

import bm25s

from bm25 import B, K, words

TEXTS = ["The river flows through the valley to the sea.", "A river, a river and another river: the Danube.",
         "The football club signed a new player.", "The club played in the valley league; the club won.",
         "Sea", "It rains in the valley, and rain fills the river that flows by the old football ground to the sea."]
QUERIES = ["river", "the river and the sea", "football club", "valley valley club", "nothing of it", "zebra"]

ranker = bm25s.BM25(method="lucene", k1=K, b=B)
ranker.index([words(t) for t in TEXTS], show_progress=False)
scores = {}
for query in QUERIES:
    known = [w for w in words(query) if w in ranker.vocab_dict]
    scores[query] = [float(s) for s in ranker.get_scores(known)] if known else [0.0] * len(TEXTS)
json.dump({"program": "bm25s " + bm25s.__version__ + ", method lucene", "k": K, "b": B, "tolerance": 2e-6,
           "texts": TEXTS, "scores": scores}, sys.stdout, indent=1)
print()
