#!/usr/bin/env python3
"""Compares words by a dictionary with rjieba and python's jieba, and the tokens of RoFormerTokenizer with transformers 5's class as it
is when it is built from a vocabulary (its from_pretrained gives the word filter a path in the vocabulary's place).

    python tools/check_jieba.py --dump build/release/bench/bench_tokenize_dump --words build/release/dictionary/jieba.words --data DATA

Run it with transformers 5 and rjieba, or, for --rules python, with transformers 4.57 (ids against the slow class, which has no offsets);
the vocabulary is made from the texts' words.  Sets: files, scalars, random.  The last line says
how many texts were compared and how many differ; the exit status is 1 when any does.
"""
import argparse
import collections
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

import rjieba
import transformers

import check_tokenizer

SPECIALS = check_tokenizer.SPECIALS
FILES = ["zhwiki/zhwiki_AA_00-59.txt.gz", "niutrans-modern/modern_12books.txt.gz", "lcqmc/dev.txt", "lcqmc/test.txt", "afqmc", "cmnli", "ocnli",
         "paws-x-zh", "sts-b-zh", "sentiment-zh", "fewclue", "cail2019-scm", "enwiki", "wikitext-2", "tinyshakespeare"]


def texts_of(path):
    for folder, _, names in sorted(os.walk(path)) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]:
        for name in sorted(names):
            file = os.path.join(folder, name)
            if name.endswith((".zip", ".zst", ".parquet", ".tgz")):
                continue
            data = (gzip.open(file) if name.endswith(".gz") else open(file, "rb")).read()
            yield file, data.decode("utf-8", "replace").split("\n")


def make_vocab(data):
    """Characters, the words of some Chinese text, pieces of Latin words."""
    words, characters = collections.Counter(), collections.Counter()
    for _, lines in texts_of(os.path.join(data, FILES[0])):
        text = "\n".join(lines)[:8000000].lower()
        words.update(w for w in rjieba.cut(text, hmm=False) if not w.isspace())
        characters.update(c for c in text if not c.isspace())
    tokens = SPECIALS + [c for c, _ in characters.most_common(9000)] + [w for w, _ in words.most_common(40000) if len(w) > 1]
    tokens += [p + c for c in "abcdefghijklmnopqrstuvwxyz0123456789" for p in ("", "##")] + ["##ing", "##ed", "the", "un"]
    return list(dict.fromkeys(tokens))


class Jieba(check_tokenizer.Check):
    def place(self, folder, tokens, **settings):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8", newline="\n") as f:
            f.write("\n".join(tokens) + "\n")
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
            json.dump(dict(tokenizer_class="RoFormerTokenizer", roformer_rules=self.args.rules, **settings), f)
        if not os.path.lexists(os.path.join(folder, "dictionary.words")):
            os.symlink(os.path.abspath(self.args.words), os.path.join(folder, "dictionary.words"))
        if not self.rust:
            return folder, transformers.RoFormerTokenizer(os.path.join(folder, "vocab.txt"), **settings)
        return folder, transformers.RoFormerTokenizer(vocab={t: i for i, t in enumerate(tokens)}, **settings)

    def files(self, folder):
        place, theirs = self.place(folder + "/v", make_vocab(self.args.data))
        for name in FILES:
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
    parser.add_argument("sets", nargs="*")
    check = Jieba(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        for name in check.args.sets or ["files", "scalars", "random"]:
            getattr(check, name)(folder)
    print("transformers %s, rjieba: %d texts compared, %d differ" % (transformers.__version__, check.texts, check.differ))
    sys.exit(check.differ != 0)


if __name__ == "__main__":
    main()
