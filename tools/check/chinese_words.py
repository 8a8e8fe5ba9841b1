#!/usr/bin/env python3
"""Compares words by a dictionary with rjieba and python's jieba, and the tokens of RoFormerTokenizer with transformers 5's class as it
is when it is built from a vocabulary (its from_pretrained gives the word filter a path in the vocabulary's place).

    python tools/check/chinese_words.py --dump build/release/bench/bench_tokenize_dump --words build/release/dictionary/jieba.words --data DATA

Run it with transformers 5 and rjieba, or, for --rules python, with transformers 4.57 (ids against the slow class, which has no offsets);
the vocabulary is made from the texts' words.  --segmenter jieba: words as python's jieba cuts them (with --rules python).  Sets: chinese and
english (every file of the data, German ones left out), scalars, random (twice --count texts with three settings).  The last line says how
many texts were compared and how many differ; the exit status is 1 when any does.
"""
import argparse
import collections
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import rjieba
import transformers

import tokenizer as check_tokenizer

SPECIALS = check_tokenizer.SPECIALS
CHINESE = ["zhwiki", "niutrans-modern", "lcqmc", "afqmc", "cmnli", "ocnli", "paws-x-zh", "sts-b-zh", "sentiment-zh", "fewclue",
           "cail2019-scm"]
ENGLISH = ["enwiki", "wikitext-2", "tinyshakespeare", "glue", "sick", "multi30k", "wmt-ende-10k", "ende", "enwiki-2015"]
GERMAN = re.compile(r"\.de(\.gz|\.zst)?$|/tgt-")
UNREADABLE = re.compile(r"\.(zip|parquet|tgz|tar)$")


def read(file):
    if file.endswith(".zst"):
        return subprocess.run(["zstd", "-dc", file], stdout=subprocess.PIPE, check=True).stdout
    return (gzip.open(file) if file.endswith(".gz") else open(file, "rb")).read()


def texts_of(path):
    for folder, _, names in sorted(os.walk(path)):
        for file in (os.path.join(folder, name) for name in sorted(names)):
            if UNREADABLE.search(file):
                print("left out: %s" % file, flush=True)
            elif not GERMAN.search(file):
                yield file, read(file).decode("utf-8", "replace").split("\n")


def make_vocab(data):
    """Characters, the words of some Chinese text, pieces of Latin words."""
    words, characters = collections.Counter(), collections.Counter()
    for _, lines in texts_of(os.path.join(data, CHINESE[0])):
        text = "\n".join(lines)[:8000000].lower()
        words.update(w for w in rjieba.cut(text, hmm=False) if not w.isspace())
        characters.update(c for c in text if not c.isspace())
    tokens = SPECIALS + [c for c, _ in characters.most_common(9000)] + [w for w, _ in words.most_common(40000) if len(w) > 1]
    tokens += [p + c for c in "abcdefghijklmnopqrstuvwxyz0123456789" for p in ("", "##")] + ["##ing", "##ed", "the", "un"]
    return list(dict.fromkeys(tokens))


class PythonJieba:
    """In rjieba's place."""

    def __init__(self):
        import jieba
        self.own = jieba.Tokenizer()

    def cut(self, text, hmm):
        return self.own.lcut(text, HMM=hmm)


class Jieba(check_tokenizer.Check):
    def place(self, folder, tokens, **settings):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8", newline="\n") as f:
            f.write("\n".join(tokens) + "\n")
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
            json.dump(dict(tokenizer_class="RoFormerTokenizer", roformer_rules=self.args.rules,
                           word_segmenter=self.args.segmenter, **settings), f)
        if not os.path.lexists(os.path.join(folder, "dictionary.words")):
            os.symlink(os.path.abspath(self.args.words), os.path.join(folder, "dictionary.words"))
        if not self.rust:
            tokenizer = transformers.RoFormerTokenizer(os.path.join(folder, "vocab.txt"), **settings)
            if self.args.segmenter == "jieba":
                tokenizer.jieba = PythonJieba()
            return folder, tokenizer
        return folder, transformers.RoFormerTokenizer(vocab={t: i for i, t in enumerate(tokens)}, **settings)

    def chinese(self, folder):
        self.files(folder, CHINESE)

    def english(self, folder):
        self.files(folder, ENGLISH)

    def files(self, folder, names):
        place, theirs = self.place(folder + "/v", make_vocab(self.args.data))
        for name in names:
            for file, lines in texts_of(os.path.join(self.args.data, name)):
                lines = lines[:self.args.most]
                for i in range(0, len(lines), 100000):
                    self.compare(os.path.relpath(file, self.args.data)[-40:], place, [], theirs, lines[i:i + 100000])

    def every(self):
        return SPECIALS + [p + chr(c) for c in range(0x21, 0x110000) if not 0xD800 <= c < 0xE000 and not chr(c).isspace() for p in ("", "##")]

    def scalars(self, folder):
        place, theirs = self.place(folder + "/e", self.every())
        every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        self.compare("every scalar alone", place, [], theirs, every)
        self.compare("every scalar between words", place, [], theirs, ["今天%s天气a%sb1" % (c, c) for c in every])

    def random(self, folder):
        words = [w for w in make_vocab(self.args.data) if len(w) > 1]
        texts = list(self.random_texts(self.args.count, 7))
        r = random.Random(3)
        for _ in range(self.args.count):
            k = r.choice((1, 3, 8, 30, 100))
            texts.append("".join(r.choice((r.choice(words), chr(r.randrange(0x4E00, 0xA000)), r.choice("aZ9+#&._%- \r\n，。T"))) for _ in range(k)))
        for settings in ({}, dict(do_lower_case=False), dict(strip_accents=False)):
            place, theirs = self.place(folder + "/r", make_vocab(self.args.data), **settings)
            self.compare("random, %s" % settings, place, [], theirs, texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--words", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--most", type=int, default=10 ** 9, help="lines of a file")
    parser.add_argument("--rules", choices=("rust", "python"), default="rust")
    parser.add_argument("--segmenter", choices=("jieba-rs", "jieba"), default="jieba-rs")
    parser.add_argument("sets", nargs="*")
    check = Jieba(parser.parse_args())
    if check.rust and check.args.segmenter == "jieba":
        parser.error("--segmenter jieba: --rules python was expected, since transformers 5's class has jieba-rs inside")
    with tempfile.TemporaryDirectory() as folder:
        for name in check.args.sets or ["chinese", "english", "scalars", "random"]:
            getattr(check, name)(folder)
    print("transformers %s, %s: %d texts compared, %d differ" % (transformers.__version__, check.args.segmenter, check.texts, check.differ))
    sys.exit(check.differ != 0)


if __name__ == "__main__":
    main()
