#!/usr/bin/env python3
"""noise.py DATA TEXT PAIRS > train.jsonl: two broken copies of a sentence, for the second phase of train.sh.

  DATA   folder with glue/, multi30k/ and sick/; sentences of STS-B, SICK and MRPC are left out
  TEXT   folder with the articles that may be trained on: 2015-AA.txt, 2015-AB.txt, recent.txt
  PAIRS  what pairs.py wrote, of which some are taken again

A copy has lost two fifths of its words, and half of the copies begin in their middle.  Copies of one sentence are to be
near to each other and far from those of others, for which a model has to keep what each word says: texts with the same
words are similar, which pairs of questions and answers, or of neighbouring sentences, do not teach for words that are
not among theirs.  The same bytes each time.
"""
import json
import os
import random
import sys

from evaluated import normal, sentences_of
from pairs import articles, opened, split

SENTENCES, CAPTIONS, PAIRS = 60000, 7500, 30000


def broken(text, draw):
    words = text.split()
    kept = [w for w in words if draw.random() > 0.4] or words[:1]
    if draw.random() < 0.5 and len(kept) > 4:
        i = draw.randrange(1, len(kept))
        kept = kept[i:] + kept[:i]
    return " ".join(kept)


def sentences(text, draw):
    """One of each of three paragraphs of every article, in an order that is drawn."""
    found = []
    for name in ("2015-AA.txt", "2015-AB.txt", "recent.txt"):
        for _, body in articles(os.path.join(text, name)):
            for paragraph in draw.sample(body, min(3, len(body))):
                some = split(paragraph)
                if some:
                    found.append(draw.choice(some))
    draw.shuffle(found)
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data, text, pairs = sys.argv[1:]
    draw = random.Random(3)
    never = sentences_of(data)
    taken = sentences(text, draw)[:SENTENCES]
    taken += draw.sample(opened(os.path.join(data, "multi30k", "train.en.gz")), CAPTIONS)
    lines = [json.dumps({"text": broken(s, draw), "pair": broken(s, draw)}, ensure_ascii=False)
             for s in taken if normal(s) not in never]
    print("noise       %7d sentences; %d left out: evaluated on" % (len(lines), len(taken) - len(lines)),
          file=sys.stderr)
    lines += draw.sample(opened(pairs), PAIRS)
    draw.shuffle(lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
