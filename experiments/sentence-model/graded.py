#!/usr/bin/env python3
"""graded.py PROGRAM MODEL DATA PAIRS TRANSLATED... > graded.jsonl: pairs of sentences and the cosine to learn.

  PROGRAM     roformer             DATA   folder with multi30k/ and ende/
  MODEL       m, the model so far  PAIRS  what pairs.py wrote: sentences beside the captions, and how rare stems are
  TRANSLATED  Multi30k's German captions in English, line by line, by a translator that this program trained (train.sh):
              the same with other words, as ParaNMT (Wieting and Gimpel 2018) has it

    t(a, b) = (cos m(a), m(b) + cos of the stems of a and b, weighted by idf^(3/4)) / 2

is what is known of any two texts, and taken as it is for

    near       a caption and another one, a sentence and another one, of the 10 nearest among 2,000

What was done to a caption says more than t:

    same       two of a caption, its translations, each with "is" before its "-ing"; tatoeba's English sentences of one
               German sentence                                                                     t + SAME (1 - t)
    less       one of them, and one without a phrase or some words                                 (t + LESS) / 2
    negated    one of them, and one that is denied                                                 min(t, NEGATED)
    exchanged  one of them, and one with a word or two for which other captions have another one
               between the same two neighbors                                                     (t + EXCHANGED) / 2

A translation with a word that fewer than three captions have is left out, and so is a pair with a sentence of STS-B, SICK
or MRPC.  It needs NumPy.  The same bytes each time.
"""
import collections
import json
import os
import random
import re
import sys

import numpy

from evaluated import normal, sentences_of
from lexical import of_length_1, stem, vectors, words
from pairs import opened, pivot

SAME, LESS, NEGATED, EXCHANGED = 0.6, 0.9, 0.74, (0.7, 0.5)
CAPTIONS, NEAR, PIVOTS = 16000, 8000, 4400
SMALL = set("""a an and are around as at be behind being by down for from front has have her his in into is it its near next of
off on other over that the their there this three through to two under up while who with""".split())


class Finite:
    """A man standing on a ladder: a man is standing on a ladder; where the text has no verb but "-ing" so far.

    Its verbs are what follows "man", "dog" and the like in the texts, with and without their "s".
    """
    ONE = "man woman boy girl person child kid baby lady guy dog player worker couple group crowd family team band"
    MORE = "men women boys girls people children kids babies ladies guys dogs players workers"

    def __init__(self, texts):
        one, more = "|".join(self.ONE.split()), "|".join(self.MORE.split())
        verb = re.compile(rf"\b(?:{one}) (\w+s)\b")
        self.verbs = {v for text in texts for v in verb.findall(text.lower())} | {"is", "are", "was", "were", "has", "have"}
        self.plural = {re.sub("(?<=ss|sh|ch)es$|s$", "", v) for v in self.verbs}
        self.begin = re.compile(
            rf"(?P<noun>(?:(?:a|an|the|one) (?:[\w-]+ ){{0,2}}?(?P<one>{one})|(?:[\w-]+ ){{0,3}}?(?:{more}))"
            rf"(?: of (?:[\w-]+ ){{0,2}}?(?:{more}))?(?P<two> and (?:(?:an?|two) )?(?:[\w-]+ )?(?:{one}|{more}))?"
            r"(?: (?:in|with)(?: (?!and\b)[\w-]+){1,4}?)?) (?!during|swing|string|\w*(?:thing|building))\w+ing\b", re.I)

    def __call__(self, text):
        found = self.begin.match(text)
        if not found:
            return text
        alone = found["one"] and not found["two"]
        if set(words(text)) & (self.verbs if alone else self.verbs | self.plural):
            return text
        return found["noun"] + (" is" if alone else " are") + text[found.end("noun"):]


def negated(text, draw):
    verb = re.search(r"\b(is|are)\b", text)
    if verb and draw.random() < 0.5:
        return text[:verb.end()] + " not" + text[verb.end():]
    for first, there in ((r"(A|An|One|The) ", "There is no "), (r"(Two|Three|Four|Some|Several) ", "There are no ")):
        found = re.match(first, text)
        if found and draw.random() < 0.5:
            return there + re.sub(r"\b(is|are) ", "", text[found.end():], count=1)
        if found:
            return "No " + text[found.end():]
    return None


def less(text, draw):
    some = text.split()
    begin = ("in", "on", "with", "at", "near", "while", "and", "by", "wearing")
    ends = [i for i in range(3, len(some)) if some[i] in begin]
    if ends and draw.random() < 0.6:
        return " ".join(some[:draw.choice(ends)])
    return " ".join(w for w in some if w.lower() in SMALL or draw.random() > 0.2)


class Exchange:
    """Groups words by their two neighbors."""
    def __init__(self, texts):
        self.between = collections.defaultdict(collections.Counter)
        for text in texts:
            some = self.split(text)
            for left, word, right in zip(["", *some], some, [*some[1:], ""]):
                if word.isalpha() and word not in SMALL:
                    self.between[left, right][word] += 1

    @staticmethod
    def split(text):
        return re.findall(r"[\w'-]+|[^\w\s]", text.lower())

    def __call__(self, text, n, draw):
        some = self.split(text)
        places = [i for i, w in enumerate(some) if w.isalpha() and w not in SMALL]
        draw.shuffle(places)
        for i in places:
            around = ["", *some, ""][i], ["", *some, ""][i + 2]
            others = [(w, k) for w, k in self.between[around].items() if w != some[i]]
            if others and n:
                some[i] = draw.choices([w for w, _ in others], [k for _, k in others])[0]
                n -= 1
        return None if n else re.sub(r" ([.,])", r"\1", " ".join(some))


def of_captions(data, translated, draw):
    """(kind, sentence, sentence)."""
    captions = [c.strip() for c in opened(os.path.join(data, "multi30k", "train.en.gz"))]
    count = collections.Counter(w for c in captions for w in set(words(c)))
    known = {w for w, n in count.items() if n >= 3}
    exchange, finite = Exchange(captions), Finite(captions)
    every = list(zip(captions, *(opened(path) for path in translated)))
    for forms in draw.sample(every, min(CAPTIONS, len(every))):
        own = set(words(forms[0])) | known
        forms = [f.strip().rstrip(".") for f in forms if f.strip() and set(words(f)) <= own]
        forms = list(dict.fromkeys(f for form in forms for f in (form, finite(form))))
        a, b = draw.choice(forms), draw.choice(forms)
        yield ("same", *draw.sample(forms, 2)) if len(forms) > 1 else ("near", a, b)
        kind = draw.choice(("less", "negated", "exchanged", "exchanged"))
        if draw.random() < 0.5:
            a = b
        if kind == "exchanged":
            n = draw.randrange(2)
            yield kind + str(n), a, exchange(b, n + 1, draw)
        else:
            yield kind, a, (less if kind == "less" else negated)(finite(b), draw)


def near(texts, x, draw):
    """Pairs of each text and one of the 10 most similar ones among 2,000 others."""
    for start in range(0, len(texts), 1000):
        among = draw.sample(range(len(texts)), min(2000, len(texts)))
        cosines = x[start:start + 1000] @ x[among].T
        for i, row in enumerate(cosines, start):
            yield "near", texts[i], texts[among[draw.choice(numpy.argsort(-row)[:10])]]


class Known:
    """t of pairs."""
    def __init__(self, program, model, texts, corpus):
        self.place = {t: i for i, t in enumerate(texts)}
        self.m = vectors(program, model, texts)
        self.stems = [{stem(w) for w in words(t)} for t in texts]
        count = collections.Counter(s for t in corpus for s in {stem(w) for w in words(t)})
        self.weight = {s: max(numpy.log(len(corpus) / (1 + count[s])), 0) ** 1.5 for some in self.stems for s in some}

    def __call__(self, a, b):
        a, b = self.place[a], self.place[b]
        both, first, second = (sum(self.weight[s] for s in sorted(some)) for some in
                               (self.stems[a] & self.stems[b], self.stems[a], self.stems[b]))
        return (self.m[a] @ self.m[b] + both / max((first * second) ** 0.5, 1e-9)) / 2


def grade(kind, t):
    if kind == "same":
        return t + SAME * (1 - t)
    if kind == "less":
        return (t + LESS) / 2
    if kind == "negated":
        return min(t, NEGATED)
    return (t + EXCHANGED[int(kind[-1])]) / 2 if kind.startswith("exchanged") else t


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    program, model, data, pairs = sys.argv[1:5]
    draw = random.Random(6)
    with open(pairs, encoding="utf-8", newline="\n") as f:
        lines = [json.loads(line) for line in f]
    corpus = sorted({" ".join(line[key].split()) for line in lines for key in ("text", "pair")})
    found = list(of_captions(data, sys.argv[5:], draw))
    same = list(pivot(data))
    found += [("same", a, b) for a, b, _ in draw.sample(same, min(PIVOTS, len(same)))]
    others = [t for t in corpus if 30 <= len(t) <= 200]
    captions = sorted({a for _, a, _ in found})
    for texts in (draw.sample(captions, min(NEAR, len(captions))), draw.sample(others, min(NEAR, len(others)))):
        found += near(texts, vectors(program, model, texts), draw)
    never = sentences_of(data)
    kept = [(kind, a, b) for kind, a, b in found
            if b and normal(a) != normal(b) and normal(a) not in never and normal(b) not in never]
    known = Known(program, model, sorted({t for _, a, b in kept for t in (a, b)}), corpus)
    draw.shuffle(kept)
    for kind, a, b in kept:
        score = round(float(grade(kind, known(a, b))), 4)
        print(json.dumps({"text": a, "pair": b, "score": score}, ensure_ascii=False))
    for kind, n in sorted(collections.Counter(kind for kind, _, _ in kept).items()):
        print("%-11s %7d pairs" % (kind, n), file=sys.stderr)


if __name__ == "__main__":
    main()
