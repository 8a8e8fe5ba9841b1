#!/usr/bin/env python3
"""scm.py FILE [SEED] — the 500 triples of CAIL2019-SCM that its organizers give away (input.txt, .gz too), as `roformer evaluate
--dev` reads them.  They have no label: A is nearer to B than to C in each, and a coin of SEED (1) decides which of the two comes
first.  They share 227 texts, so that they are a test set only; who reads nothing and knows which text is usually B is right in
69 % of them."""
import gzip
import json
import random
import sys

path, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
coin = random.Random(seed)
with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
    for line in lines:
        case = json.loads(line)
        second = coin.randrange(2)
        choices = [case["C"], case["B"]] if second else [case["B"], case["C"]]
        print(json.dumps({"text": case["A"], "choices": choices, "label": second}, ensure_ascii=False))
