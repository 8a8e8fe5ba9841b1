#!/usr/bin/env python3
"""Compares our tokenizer with Hugging Face's, token for token.

    python tools/check/tokenizer.py --dump build/release/bench/bench_tokenize_dump --data DATA --rules rust [SET ...]

Run it with transformers 5 for --rules rust (ids and offsets against `BertTokenizer`), with transformers 4.57 for
--rules python (ids against the slow `BertTokenizer`).  Sets:

    corpora   enwiki, one file of enwiki-2015, wikitext-2, glue, and zhwiki with the Chinese vocabulary
    scalars   every Unicode scalar: alone, between letters, among combining marks, doubled; five settings; with a
              vocabulary that holds every scalar, so that [UNK] cannot hide a difference
    random    random strings of awkward characters, special tokens among them; five settings
    pairs     pairs under every small limit
    decode    random ids, all four combinations of skipping and tidying (rust only)
    folders   what we save loads in transformers with the same ids, and the other way round

The last line says how many texts were compared and how many differ; the exit status is 1 when any does.
"""
import argparse
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np
import transformers
from transformers import BertTokenizer

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# name, our options, Hugging Face's
SETTINGS = [
    ("uncased", [], {}),
    ("cased", ["--cased"], dict(do_lower_case=False)),
    ("cased, accents stripped", ["--cased", "--strip"], dict(do_lower_case=False, strip_accents=True)),
    ("uncased, accents kept", ["--keep"], dict(strip_accents=False)),
    ("Han joined", ["--joined"], dict(tokenize_chinese_chars=False)),
]


class Check:
    def __init__(self, args):
        self.args = args
        self.rust = args.rules == "rust"
        self.texts = self.differ = 0

    # ---- the two sides ------------------------------------------------------------------------------------------

    def ours(self, place, options, records, command="encode"):
        data = b"".join(struct.pack("<I", len(r)) + r for r in records)
        rules = [] if self.rust else ["--python"]
        out = subprocess.run([self.args.dump, command, place] + options + rules, input=data, stdout=subprocess.PIPE, check=True)
        return out.stdout

    @staticmethod
    def answers(out, n):
        words, at = np.frombuffer(out, dtype="<u4"), 0
        for _ in range(n):
            count = int(words[at])
            yield words[at + 2:at + 2 + 4 * count].reshape(count, 4)
            at += 2 + 4 * count
        assert at == len(words)

    def theirs(self, tokenizer, texts):
        """[(ids, offsets in characters or None)]"""
        if self.rust:
            return [(e.ids, e.offsets) for e in tokenizer._tokenizer.encode_batch(texts)]
        cls, sep = [tokenizer.cls_token_id], [tokenizer.sep_token_id]      # encode() does this, at twice the price
        return [(cls + tokenizer.convert_tokens_to_ids(tokenizer.tokenize(t)) + sep, None) for t in texts]

    def compare(self, what, place, options, tokenizer, texts):
        got = self.answers(self.ours(place, options, [t.encode() for t in texts]), len(texts))
        bad = 0
        for text, rows, (ids, offsets) in zip(texts, got, self.theirs(tokenizer, texts)):
            same = rows[:, 0].tolist() == ids
            if same and offsets is not None:
                if not text.isascii():
                    byte = np.zeros(len(text) + 1, dtype=np.int64)
                    np.cumsum([len(c.encode()) for c in text], out=byte[1:])
                    offsets = byte[np.array(offsets)]
                same = np.array_equal(rows[:, 1:3], np.array(offsets).reshape(len(ids), 2))
            if not same:
                bad += 1
                if bad <= 3:
                    print("  %s: %r\n    ours   %s\n    theirs %s" % (what, text[:120], rows[:, :3].tolist()[:40], (
                        list(zip(ids, np.array(offsets).tolist())) if offsets is not None else ids)[:40]))
        self.texts += len(texts)
        self.differ += bad
        print("%-44s %9d texts %6d differ" % (what, len(texts), bad), flush=True)

    # ---- the sets --------------------------------------------------------------------------------------------------

    def corpora(self):
        def lines(path):
            if path.endswith(".gz"):
                data = gzip.open(path).read()
            elif path.endswith(".zst"):
                data = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True).stdout
            else:
                data = open(path, "rb").read()
            return data[:self.args.most].decode("utf-8", "replace").split("\n")

        english = os.path.join(self.args.data, "vocab", "bert-base-uncased-vocab.txt")
        chinese = os.path.join(self.args.data, "vocab", "bert-base-chinese-vocab.txt")
        files = [(english, "enwiki/enwiki_AA_00-49.txt.gz"), (english, "enwiki-2015/enwiki_AA.txt.zst"),
                 (english, "wikitext-2/wiki.test.raw"), (english, "wikitext-2/wiki.valid.raw"),
                 (chinese, "zhwiki/zhwiki_AA_00-59.txt.gz")]
        for folder, _, names in sorted(os.walk(os.path.join(self.args.data, "glue"))):
            files += [(english, os.path.relpath(os.path.join(folder, n), self.args.data)) for n in sorted(names)]
        for vocab, name in files:
            if not name.startswith(self.args.files):
                continue
            tokenizer = BertTokenizer(vocab)
            all_lines = lines(os.path.join(self.args.data, name))
            for i in range(0, len(all_lines), 200000):
                self.compare("%s [%d]" % (name, i), vocab, [], tokenizer, all_lines[i:i + 200000])

    def every_scalar(self, folder):
        path = os.path.join(folder, "every.txt")
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.write("\n".join(SPECIALS) + "\n")
            for c in range(0x110000):
                if c not in (10, 13) and not 0xD800 <= c < 0xE000:
                    f.write("%c\n##%c\n" % (c, c))
        return path

    def scalars(self):
        every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        with tempfile.TemporaryDirectory() as folder:
            vocab = self.every_scalar(folder)
            for name, ours, theirs in SETTINGS:
                tokenizer = BertTokenizer(vocab, **theirs)
                if name in ("uncased", "cased"):
                    self.compare("every scalar alone, " + name, vocab, ours, tokenizer, every)
                    self.compare("every scalar between letters, " + name, vocab, ours, tokenizer,
                                 ["a%sb" % c for c in every])
                forms = ["a%sb %s a\u0301%s\u0316b %s\u0301 E\u0316\u0301%s %s%s" % ((c,) * 7) for c in every]
                self.compare("every scalar among marks, " + name, vocab, ours, tokenizer,
                             ["".join(forms[i:i + 8]) for i in range(0, len(forms), 8)])

    def random_texts(self, n, seed):
        r = random.Random(seed)
        marks = [chr(c) for c in (0x300, 0x301, 0x308, 0x316, 0x323, 0x327, 0x334, 0x345, 0x338, 0x5B0, 0x64B, 0x3099, 0x93C,
                                  0x94D, 0x1D165, 0x1D16D, 0xF71, 0xF72, 0xF74, 0x1DFA, 0x898, 0x302E, 0x16FF0)]
        pieces = (list("abcxyzABCXYZ0123456789") + list(" \t\n\r!?,.'\"-[]#<>=~^`$") + marks
                  + list("éÉñÅåßẞİıΣσςΟΔΩÀàÇçǅǆĳﬁﬀ½²ªº") + list("漢字仮名ひらカナ한국어각힣가\u1100\u1161\u11A8") +
                  list("العربيةعֱไทยกำहिन्दीবাংলা") + list("，。！？、《》“”‘’—…·「」") +
                  list("\u200b\u200c\u200d\ufeff\u00ad\u2060\u00a0\u3000\u2028\u2029\u0085\x00\x01\x7f\x1f\ufffd\ue000\U000f0000") +
                  list("😀👩🏽💻\ufe0f🇩🇪") + [chr(c) for c in (0x378, 0x2B81E, 0x2B820, 0x2B920, 0x2CEAF, 0x2CEB0, 0xF900,
                                                              0xFA6A, 0x2F800, 0x2FA1F, 0x1C89, 0x10D50, 0x11938, 0x1734,
                                                              0x340, 0x344, 0x958, 0xFB1D, 0x212A, 0x212B, 0x2126, 0x37E)]
                  + SPECIALS + ["[mask]", "[MASK", "MASK]", "[MA\u200bSK]", "the", "un", "##ing", "ing", "  "])
        for _ in range(n):
            k = r.choice((1, 2, 3, 5, 8, 13, 30, 120))
            pool = r.sample(pieces, r.choice((2, 4, 10, 40)))
            text = "".join(r.choice(pool) for _ in range(k))
            if r.random() < 0.3:
                text += "".join(chr(r.choice((r.randrange(0x20, 0x3000), r.randrange(0x10000, 0x30000), r.randrange(0xE000, 0x10000))))
                                for _ in range(r.randrange(12)))
            if r.random() < 0.02:
                text += r.choice(("a", "é", "漢", "\u0301", "가")) * r.choice((99, 100, 101, 500, 5000))
            yield text

    def random(self):
        with tempfile.TemporaryDirectory() as folder:
            vocab = self.every_scalar(folder)
            for seed, (name, ours, theirs) in enumerate(SETTINGS):
                texts = list(self.random_texts(self.args.count, seed))
                self.compare("random, " + name, vocab, ours, BertTokenizer(vocab, **theirs), texts)
        english = os.path.join(self.args.data, "vocab", "bert-base-uncased-vocab.txt")
        self.compare("random, English vocabulary", english, [], BertTokenizer(english), list(self.random_texts(self.args.count, 99)))

    def pairs(self):
        english = os.path.join(self.args.data, "vocab", "bert-base-uncased-vocab.txt")
        tokenizer = BertTokenizer(english)
        r = random.Random(5)
        words = ["a", "the", "unaffable", "é", "!", "漢字", "[MASK]", "transformers", ""]
        for limit in range(2, 20):
            for pair in (False, True):
                if limit < 2 + pair or (limit == 2 and not self.rust):
                    continue                          # transformers 4.57 does not cut a text down to nothing, it lets it be
                texts = [(" ".join(r.choices(words, k=r.randrange(9))), " ".join(r.choices(words, k=r.randrange(9))))
                         for _ in range(200)]
                records = [x.encode() for t in texts for x in (t if pair else t[:1])]
                got = self.answers(self.ours(english, ["--limit", str(limit)] + ["--pairs"] * pair, records), len(texts))
                bad = 0
                for (a, b), rows in zip(texts, got):
                    # in lists: outside of them transformers 5 takes an empty second text for none
                    e = tokenizer(*(([a], [b]) if pair else ([a],)), truncation="longest_first", max_length=limit)
                    want = list(zip(e["input_ids"][0], e["token_type_ids"][0]))
                    if want != [(int(x[0]), int(x[3]) & 255) for x in rows]:
                        bad += 1
                        if bad < 3:
                            print("  limit %d: %r" % (limit, (a, b)), rows.tolist(), want)
                self.texts += len(texts)
                self.differ += bad
        print("pairs and limits: %d differ in all so far" % self.differ)

    def decode(self):
        if not self.rust:
            return
        english = os.path.join(self.args.data, "vocab", "bert-base-uncased-vocab.txt")
        tokenizer = BertTokenizer(english)
        r = random.Random(6)
        some = tokenizer.convert_tokens_to_ids([".", "?", "!", ",", "'", "n", "##'", "s", "m", "ve", "re", "do", "not", "t", "[MASK]",
                                                "[CLS]", "[SEP]", "[PAD]", "##s", "it", "##ing", "don", "'"])
        lists = [[r.choice(some) if r.random() < 0.7 else r.randrange(-2, 30600) for _ in range(r.randrange(14))]
                 for _ in range(self.args.count // 10)]
        for skip in (False, True):
            for tidy in (False, True):
                out = self.ours(english, ["--skip"] * skip + ["--tidy"] * tidy,
                                [struct.pack("<%di" % len(x), *x) for x in lists], "decode")
                at = bad = 0
                for ids in lists:
                    n = struct.unpack_from("<I", out, at)[0]
                    got = out[at + 4:at + 4 + n].decode()
                    at += 4 + n
                    # negative ids overflow in Hugging Face's; ours are outside the vocabulary and left out
                    want = tokenizer.decode([i for i in ids if i >= 0], skip_special_tokens=skip, clean_up_tokenization_spaces=tidy)
                    if got != want:
                        bad += 1
                        if bad <= 3:
                            print("  decode: %r\n    ours   %r\n    theirs %r" % (ids, got, want))
                self.texts += len(lists)
                self.differ += bad
                print("decode, skip %d, tidy %d: %d texts, %d differ" % (skip, tidy, len(lists), bad))

    def folders(self):
        """Ours -> theirs -> ours, for some settings; AutoTokenizer must find the class as well."""
        english = os.path.join(self.args.data, "vocab", "bert-base-uncased-vocab.txt")
        texts = list(self.random_texts(2000, 7))
        for name, ours, theirs in SETTINGS:
            with tempfile.TemporaryDirectory() as folder:
                rules = [] if self.rust else ["--python"]
                subprocess.run([self.args.dump, "save", english, folder] + ours + rules, check=True)
                with open(os.path.join(folder, "config.json"), "w") as f:
                    json.dump({"model_type": "roformer"}, f)
                if self.rust:
                    tokenizer = BertTokenizer.from_pretrained(folder)
                    auto = transformers.AutoTokenizer.from_pretrained(folder)
                else:
                    tokenizer = BertTokenizer.from_pretrained(folder)
                    auto = transformers.AutoTokenizer.from_pretrained(folder, use_fast=False)
                assert type(auto).__name__ == "BertTokenizer", type(auto)
                self.compare("saved by us, " + name, folder, [], tokenizer, texts)
                self.compare("saved by us, AutoTokenizer, " + name, folder, [], auto, texts[:200])
            with tempfile.TemporaryDirectory() as folder:
                tokenizer = BertTokenizer(english, **theirs)
                tokenizer.save_pretrained(folder)
                if not self.rust:                     # transformers does not know our key; the folder says the rules
                    path = os.path.join(folder, "tokenizer_config.json")
                    config = json.load(open(path))
                    config["roformer_rules"] = "python"
                    json.dump(config, open(path, "w"))
                self.compare("saved by transformers (%s), %s" % (", ".join(sorted(os.listdir(folder)))[:60], name), folder, [],
                             tokenizer, texts)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dump", default="build/release/bench/bench_tokenize_dump")
    p.add_argument("--data", default=os.environ.get("ROFORMER_DATA", "../shared/data"))
    p.add_argument("--rules", choices=("rust", "python"), default="rust")
    p.add_argument("--count", type=int, default=40000, help="random texts for each setting")
    p.add_argument("--most", type=int, default=1 << 40, help="bytes of each corpus")
    p.add_argument("--files", default="", help="of the corpora only those whose name begins so, for example glue/")
    p.add_argument("sets", nargs="*", default=["corpora", "scalars", "random", "pairs", "decode", "folders"])
    args = p.parse_args()
    print("transformers %s, rules %s" % (transformers.__version__, args.rules))
    check = Check(args)
    for name in args.sets:
        getattr(check, name)()
    print("%d texts, %d differ" % (check.texts, check.differ))
    return 1 if check.differ else 0


if __name__ == "__main__":
    sys.exit(main())
