#!/usr/bin/env python3
"""copies.py HELD-OUT TEXT... > copies.jsonl: documents in which a sentence comes twice, the second time changed a little.

  HELD-OUT  a JSON line for each document that is evaluated on: articles with a paragraph of theirs are left out
  TEXT      articles that may be trained on (texts.sh)

A small model that has read some dozen million tokens does not look for a word where it stood before: a masked word is
not copied from the sentence before it, and two sentences are not compared, which every task on pairs of texts is about.
In these documents that is what lowers the loss.  The same bytes each time.
"""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sentence-model"))
from pairs import articles, split  # noqa: E402

DOCUMENTS = 60000


def changed(sentence, draw):
    """Without up to a quarter of its words, in half of the cases beginning in its middle."""
    rate = draw.choice((0, 0.1, 0.25))
    words = [w for w in sentence.split() if draw.random() >= rate]
    if draw.random() < 0.5 and len(words) > 4:
        at = draw.randrange(1, len(words))
        words = words[at:] + words[:at]
    return " ".join(words)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        held_out = {p.strip() for line in f for p in json.loads(line)["text"].split("\n")}
    draw = random.Random(5)
    found = []
    for path in sys.argv[2:]:
        for _, body in articles(path):
            if not held_out.isdisjoint(body):
                continue
            for paragraph in draw.sample(body, min(4, len(body))):
                some = split(paragraph)
                if len(some) > 1:
                    found.append(draw.sample(some, 2))
    draw.shuffle(found)
    for a, between in found[:DOCUMENTS]:
        two = [a, changed(a, draw)]
        draw.shuffle(two)
        if draw.random() < 0.4:
            two.insert(1, between)
        print(json.dumps({"text": " ".join(two)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
