#!/usr/bin/env python3
"""scored.py DATA > scored.jsonl: pairs with scores from 0 to 5, for the third phase of train.sh.

The training rows of STS-B, and those of SICK and its trial set, whose 1 to 5 become 0 to 5.  Left out are pairs that are
a row of STS-B's dev or test set or of SICK's test set, in whichever order.  The same bytes each time.
"""
import json
import random
import sys

from evaluated import normal, rows_of

TRAIN = (("glue/STS-B", "train.tsv", 0, 1), ("sick", "SICK_train.txt", 1, 1.25), ("sick", "SICK_trial.txt", 1, 1.25))
TEST = (("glue/STS-B", "dev.tsv"), ("glue/STS-B", "sts-test.tsv"), ("sick", "SICK_test_annotated.txt"))


def pair(a, b):
    return tuple(sorted((normal(a), normal(b))))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    data = sys.argv[1]
    test = {pair(a, b) for folder, name in TEST for a, b, _ in rows_of(data, folder, name)}
    lines, left = [], 0
    for folder, name, least, times in TRAIN:
        for a, b, score in rows_of(data, folder, name):
            if pair(a, b) in test:
                left += 1
            else:
                lines.append(json.dumps({"text": a, "pair": b, "score": (score - least) * times}, ensure_ascii=False))
    print("scored      %7d pairs; %d left out: evaluated on" % (len(lines), left), file=sys.stderr)
    random.Random(1).shuffle(lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
