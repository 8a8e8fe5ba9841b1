#!/usr/bin/env python3
"""pairs.py DATA TEXT > train.jsonl: texts with similar meanings, for `roformer finetune --task embed`.

  DATA  folder with ende/, glue/, multi30k/, and sick/, which is read only to exclude its sentences
  TEXT  folder with the articles that may be trained on: 2015-AA.txt, -AB, -AC, recent.txt
        (experiments/shipped-model/texts.sh)

    pivot       English sentences of one German sentence in tatoeba            questions   QQP's that ask the same,
    entailment  RTE: text and what follows from it                                         and of one that does not
    answers     QNLI: a question and the sentence that answers it              words       a sentence, words left out
    titles      an article's title and how it begins, some without the title's words
    mentions    a name and the paragraph that it stands in
    neighbors   two consecutive sentences, two paragraphs of one article

What a row of STS-B, SICK or MRPC has as a sentence is in none of them (check_pairs.py says so of any file).  Nine
tenths of QQP and QNLI are taken, by a hash; the rest is for evaluation (pairs.py DATA TEXT --rest).  The same bytes
each time.
"""
import collections
import gzip
import hashlib
import html
import json
import os
import random
import re
import subprocess
import sys

from evaluated import normal, sentences_of

TITLES, NAMELESS, MENTIONS, NEIGHBORS, PARAGRAPHS, CAPTIONS, SPOKEN = 32000, 8000, 32000, 14000, 4000, 16000, 8000
TEXTS = ("recent.txt", "2015-AA.txt", "2015-AB.txt", "2015-AC.txt")


def opened(path):
    """Lines of a file, compressed or not."""
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    else:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as f:
            text = f.read()
    return text.split("\n")[:-1]


def rows(path, header):
    return [line.split("\t") for line in opened(path)[header:]]


def held(key):
    return hashlib.sha256(key.encode()).digest()[0] < 26


def pivot(data):
    folder = os.path.join(data, "ende", "tatoeba")
    same = collections.defaultdict(dict)
    for german, english in zip(*(opened(os.path.join(folder, "train.%s.zst" % which)) for which in ("de", "en"))):
        same[german.lower()][english] = True
    for english in same.values():
        english = list(english)
        for i in range(len(english)):
            for j in range(i + 1, min(i + 4, len(english))):
                yield english[i], english[j], []


def questions(data, rest):
    """Each pair with a question that was labeled as different, if there is one."""
    other = collections.defaultdict(list)
    positive = []
    for row in rows(os.path.join(data, "glue", "QQP", "new_dev.tsv.gz"), 0):
        if len(row) != 6 or held(row[3]) != rest:
            continue
        if row[5] == "1":
            positive.append((row[3], row[4]))
        else:
            other[row[3]].append(row[4])
            other[row[4]].append(row[3])
            if rest:
                continue
    for a, b in positive:
        yield a, b, (other[a] + other[b])[:1]


def entailment(data):
    for name, header in (("train.tsv", 1), ("val.tsv", 0)):
        for row in rows(os.path.join(data, "glue", "RTE", name), header):
            if row[3] == "entailment":
                yield row[1], row[2], []


def answers(data, rest):
    for row in rows(os.path.join(data, "glue", "QNLI", "dev.tsv"), 1):
        if row[3] == "entailment" and held(row[2]) == rest:
            yield row[1], row[2], []


def without_words(text, draw):
    """Removes a quarter of the words, and swaps two adjacent ones."""
    words = text.split()
    kept = [w for w in words if draw.random() > 0.25] or words[:1]
    if len(kept) > 3:
        i = draw.randrange(len(kept) - 1)
        kept[i], kept[i + 1] = kept[i + 1], kept[i]
    return " ".join(kept)


def words(data, draw):
    captions = opened(os.path.join(data, "multi30k", "train.en.gz"))
    spoken = opened(os.path.join(data, "ende", "tatoeba", "train.en.zst"))
    for s in draw.sample(captions, CAPTIONS) + draw.sample(sorted({s for s in spoken if len(s) > 40}), SPOKEN):
        yield s, without_words(s, draw), []


def articles(path):
    """(title, paragraphs) of WikiExtractor's articles."""
    title, paragraphs = None, []
    with open(path, encoding="utf-8", errors="replace", newline="\n") as f:
        for line in f:
            line = line.strip()
            if line.startswith("<doc "):
                title, paragraphs = html.unescape(re.search(r'title="([^"]*)"', line).group(1)), []
            elif line == "</doc>":
                if paragraphs:
                    yield title, paragraphs
            elif len(line) > 80:
                paragraphs.append(html.unescape(re.sub(r"<[^>]*>", "", line)))


def without_title(title, text):
    """The text without any word of the title."""
    gone = set(re.findall(r"\w+", title.lower()))
    return " ".join(w for w in text.split() if not gone & set(re.findall(r"\w+", w.lower())))


def cut(text, size):
    return text if len(text) <= size else text[:size].rsplit(" ", 1)[0]


def split(paragraph):
    return [s for s in re.split(r"(?<=[a-z)\"][.!?]) (?=[A-Z\"])", paragraph) if 30 <= len(s) <= 180]


def mention(paragraph, draw):
    """A name of two to four capitalized words, not at the paragraph's beginning; None: there is none."""
    names = re.findall(r"(?<=[a-z,] )[A-Z]\w+(?: (?:of |the )?[A-Z]\w+){1,3}", paragraph)
    return draw.choice(names) if names else None


def of_articles(text, draw):
    titles, nameless, mentions, near, paragraphs = [], [], [], [], []
    for path in TEXTS:
        for title, body in articles(os.path.join(text, path)):
            start = " ".join(body)[:1200]
            titles.append((title, cut(start, draw.randint(150, 550)), []))
            nameless.append((title, cut(without_title(title, start), 200), []))
            for p in draw.sample(body, min(2, len(body))):
                s = split(p)
                if len(s) > 1:
                    i = draw.randrange(len(s) - 1)
                    near.append((s[i], s[i + 1], []))
                p = cut(p, 500)
                name = mention(p, draw)
                if name:
                    mentions.append((name, p, []))
            if len(body) > 1:
                i = draw.randrange(len(body) - 1)
                paragraphs.append((cut(body[i], 160), cut(body[i + 1], 160), []))
    for found, n in ((titles, TITLES), (nameless, NAMELESS), (mentions, MENTIONS), (near, NEIGHBORS),
                     (paragraphs, PARAGRAPHS)):
        yield from draw.sample(found, min(n, len(found)))


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--rest"]):
        sys.exit(__doc__)
    data, text = sys.argv[1:3]
    rest = len(sys.argv) == 4
    draw = random.Random(1)
    never = sentences_of(data)
    if rest:
        sources = [("questions", 1, questions(data, True)), ("answers", 1, answers(data, True))]
    else:
        sources = [("pivot", 2, pivot(data)), ("questions", 2, questions(data, False)),
                   ("entailment", 2, entailment(data)), ("answers", 2, answers(data, False)),
                   ("words", 1, words(data, draw)), ("articles", 1, of_articles(text, draw))]
    found = []
    for name, times, pairs in sources:
        n = left = 0
        for a, b, negatives in pairs:
            a, b = a.strip(), b.strip()
            if not normal(a) or not normal(b) or normal(a) == normal(b):
                continue
            if any(normal(s) in never for s in [a, b] + negatives):
                left += 1
                continue
            line = {"text": a, "pair": b}
            if negatives:
                line["negative"] = negatives[0]
            found += [line] * times
            n += 1
        print("%-11s %7d pairs, %d times; %d left out: a sentence is evaluated on" % (name, n, times, left),
              file=sys.stderr)
    draw.shuffle(found)
    for line in found:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
