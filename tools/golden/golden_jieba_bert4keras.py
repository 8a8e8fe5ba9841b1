#!/usr/bin/env python3
"""Makes tests/golden/text/jieba/bert4keras.jsonl: the texts of cases.jsonl and some of its own, their tokens by bert4keras' Tokenizer with words
by python's jieba over the golden dictionary, in lower case and as they are.  Needs jieba, numpy and the sources of bert4keras (an
archive of the package index, unpacked; TensorFlow is not asked for: what would import it is replaced by nothing).

    python tools/golden/golden_jieba_bert4keras.py bert4keras-0.11.5
    python tools/golden/golden_jieba_bert4keras.py bert4keras-0.11.5 --dump DUMP --words WORDS    compares every scalar
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import types

import jieba

from golden_jieba import ROOT

MORE = ["Éclair 今天天气 ÀÉ北京大学", "ΟΔΟΣ ΣΑΣ. Σ ΑΣ\u0301 ΣΣ", "\ue000今天\u0378天气\U000f0000b", "今\u0301天天气", "İstanbul Ｔ恤 T恤", "a\u200bb\u2028c\u0085d\x1fe",
        "ἄ\u0345\u0301 ǆ Ǆ", "[unused1] [MASK", "한국어 各", "x" * 200 + " " + "x" * 201]


class Anything:
    def __getattr__(self, name):
        return Anything()

    def __call__(self, *args, **named):
        return Anything()


def load(folder):
    """bert4keras.tokenizers without Keras, and without six, of which it asks two constants."""
    backend, six = types.ModuleType("bert4keras.backend"), types.ModuleType("six")
    backend.K = backend.keras = backend.tf = Anything()
    six.PY2, six.PY3, six.string_types = False, True, (str,)
    sys.modules.setdefault("six", six)
    sys.modules["bert4keras.backend"] = backend
    sys.path.insert(0, folder)
    import bert4keras.tokenizers
    return bert4keras.tokenizers.Tokenizer


def tokenizer(make, cutter, lower):
    return make(str(ROOT / "vocab.txt"), do_lower_case=lower, pre_tokenize=lambda text: cutter.lcut(text, HMM=False))


def compare(args, make, cutter):
    every = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    texts = every + ["今天%s天气a%sb1" % (c, c) for c in every]
    differ = 0
    for lower in (True, False):
        theirs = tokenizer(make, cutter, lower)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.abspath(args.words), os.path.join(folder, "dictionary.words"))
            os.symlink(ROOT / "vocab.txt", os.path.join(folder, "vocab.txt"))
            with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
                json.dump(dict(tokenizer_class="RoFormerTokenizer", roformer_rules="bert4keras", do_lower_case=lower), f)
            data = b"".join(struct.pack("<I", len(t.encode())) + t.encode() for t in texts)
            out = subprocess.run([args.dump, "encode", folder, "--python"], input=data, stdout=subprocess.PIPE, check=True).stdout
        words, at = struct.unpack("<%dI" % (len(out) // 4), out), 0
        for text in texts:
            ids = list(words[at + 2:at + 2 + 4 * words[at]:4])
            at += 2 + 4 * words[at]
            if ids != theirs.encode(text)[0]:
                differ += 1
                if differ < 10:
                    print(ascii(text), ids, theirs.encode(text)[0])
    print("%d texts compared, %d differ" % (2 * len(texts), differ))
    sys.exit(differ != 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--dump")
    parser.add_argument("--words", help="the golden dictionary, compiled (roformer dictionary)")
    args = parser.parse_args()
    make = load(args.folder)
    cutter = jieba.Tokenizer(dictionary=str(ROOT / "dict.txt"))
    if args.dump:
        compare(args, make, cutter)
    texts = [json.loads(line)["text"] for line in open(ROOT / "cases.jsonl", encoding="utf-8")] + MORE
    texts = [t for t in texts if not any(s in t for s in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))]
    with open(ROOT / "bert4keras.jsonl", "w", encoding="utf-8", newline="\n") as f:
        for lower in (True, False):
            own = tokenizer(make, cutter, lower)
            for text in texts:
                f.write(json.dumps(dict(do_lower_case=lower, text=text, ids=own.encode(text)[0]), separators=(",", ":")) + "\n")
    print("%d texts, 2 settings" % len(texts))


if __name__ == "__main__":
    main()
