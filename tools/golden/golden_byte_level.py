#!/usr/bin/env python3
"""golden_byte_level.py FOLDER: small tokenizer.json of byte-level BPE, and the ids and offsets that Hugging Face's tokenizers gives for texts.
golden_byte_level.py --big FOLDER TEXT: folders with tokenizers of 8,000 pieces learned from TEXT.
golden_byte_level.py --check PROGRAM FOLDER... [--text FILE...] [--random N]: compares ids and offsets of a program with those of
tokenizers: for each Unicode scalar, N random texts, and the lines of files.
golden_byte_level.py --check-learned PROGRAM TEXT [--size N]: compares symbols and merges that `vocab --type bytelevel` learns with BpeTrainer's.
golden_byte_level.py --learned FOLDER: learned.json alone.

    pip install tokenizers==0.23.3
    python3 tools/golden/golden_byte_level.py tests/golden/byte_level
    python3 tools/golden/golden_byte_level.py --big big corpus.txt
    python3 tools/golden/golden_byte_level.py --check build/release/roformer big/* --text corpus.txt --random 1000000

By kind: gpt2 (its own regex, no frame), modernbert (NFC, added tokens of blanks, [MASK] with lstrip), roberta (a blank before each text, offsets
without blanks), qwen and llama3 (a Split each; the latter with ignore_merges)."""
import argparse
import json
import os
import random
import subprocess
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import golden

MODERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LINES = ["Call me Ishmael. Some years ago, never mind how long precisely, it's 1851 and I don't care.",
         "Die Würde des Menschen ist unantastbar; wir'll see, they've 12345 Schiffe.", "道可道，非常道。名可名，非常名。",
         "for (int i = 0; i < 10; i++) {\n    if (x[i] != '\\n')\n\t\treturn  x->y;\n}\n\n"]
ODD = ["", " ", "  ", "   ", "a  b", "a     b", " [MASK] x", "hello  [MASK].", "it's 12345", "IT'S We'Ll 'ſ 'S", "e\u0301 é e\u0323\u0308x\u0344", "\n\n x", "a\u00a0b", "x \u3000 y\r\n\r\n z",
       "<s>a</s> [MASK][CLS]b", "  |||IP_ADDRESS||| 3.14", "가나 \u1100\u1161\u11a8", "👨‍👩‍👧 🇩🇪", "\u0085\u2028a\u200b", "½ ² Ⅷ ١٢٣٤", "'", "''s", " 's", "a'", "\t\tx\t", "!!\n\n??\r", "\x00\x1f", "=\u0338"]
POOL = ["a", "b", "E", "th", "the", " the", " ", "  ", "    ", "\t", "\n", "\r\n", "\u00a0", "\u0301", "\u0323", "\u0300", "Å", "\u212b", "é", "ü", "ß", "漢", "字", "🙂", "👨‍👩‍👧", "\u200b", "\u0085",
        "\x07", "\u2028", "\u3000", "\ufeff", "한", "\u1112", "\u1161", "\u11ab", "क", "्", "ก", "א", "İ", "Σ", "ſ", "-", "--", "=", "\u0338", "0", "1,000", "42", "½", ".", "'", "'s", "'LL", "'re", "``",
        "[MASK]", "|||IP_ADDRESS|||", "\u0344", "\ufdfa", "𝒜", "_", "(", "{", "#", "http://", "\u0f73", "\u0f71"]


def build(kind, lines, size):
    roberta, modern = kind == "roberta", kind in ("qwen", "llama3")
    t = Tokenizer(models.BPE(unk_token="[UNK]" if kind == "modernbert" else None, ignore_merges=kind == "llama3"))
    t.normalizer = normalizers.NFC() if kind in ("modernbert", "qwen") else None
    level = pre_tokenizers.ByteLevel(add_prefix_space=roberta, use_regex=not modern)
    if modern:
        split = pre_tokenizers.Split(Regex(MODERN % ("{1,3}" if kind == "llama3" else "")), "isolated")
        level = pre_tokenizers.Sequence([split, level])
    t.pre_tokenizer = level
    t.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"] if roberta else ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=special, show_progress=False))
    t.add_special_tokens([AddedToken("<mask>" if roberta else "[MASK]", lstrip=True, normalized=False)])
    if kind == "modernbert":
        t.add_tokens([AddedToken(" " * n, normalized=True) for n in (2, 4)] + [AddedToken("|||IP_ADDRESS|||", normalized=True)])
    if kind == "roberta":
        t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    elif kind in ("modernbert", "llama3"):
        end = " [SEP]" if kind == "modernbert" else ""
        pair = "[CLS] $A [SEP] $B [SEP]" if end else "[CLS] $A [CLS] $B:1"
        template = processors.TemplateProcessing(single="[CLS] $A" + end, pair=pair, special_tokens=[(x, t.token_to_id(x)) for x in ("[CLS]", "[SEP]")])
        t.post_processor = template if end else processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    else:
        t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


KINDS = ("gpt2", "modernbert", "roberta", "qwen", "llama3")


def byte_offsets(text, e):
    """Of characters, as bytes."""
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode("utf-8")))
    return [[at[a], at[b]] for a, b in e.offsets]


def case(t, text):
    e = t.encode(text)
    return {"text": text, "ids": e.ids, "offsets": byte_offsets(text, e), "decoded": t.decode(e.ids)}


def usable(text, kind):
    """The program itself adds the special tokens of BERT that a tokenizer lacks."""
    return kind == "modernbert" or not any(x in text for x in ("[CLS]", "[MASK]", "<mask>", "[SEP]", "[PAD]", "[UNK]"))


def write_all(folder):
    os.makedirs(folder, exist_ok=True)
    texts = LINES + ODD + drawn(60)
    for kind in KINDS:
        t = build(kind, LINES * 3, 330)
        golden.write_json(os.path.join(folder, kind + ".tokenizer.json"), json.loads(t.to_str()), ensure_ascii=False)
        cases = [case(t, x) for x in texts if usable(x, kind)]
        golden.write_json(os.path.join(folder, kind + ".json"), {"tokenizers": tokenizers.__version__, "cases": cases}, ensure_ascii=False)
    write_learned(folder)


NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def learn(lines, size):
    """What `roformer vocab --type bytelevel` learns, by BpeTrainer."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    names = [AddedToken(x, lstrip=x == "[MASK]", normalized=False, special=True) for x in NAMES]
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                                     special_tokens=names, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[(x, t.token_to_id(x)) for x in ("[CLS]", "[SEP]")])
    return t


def write_learned(folder):
    """Texts, the symbols and merges that are learned from them, and ids with these."""
    lines = LINES + ["aaaa aaaaaaa aa aaa", "banana bananas bandana", "ababab abab ab", "x" * 40] + drawn(300)
    size = 700
    t = learn(lines, size)
    model = json.loads(t.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = list(dict.fromkeys(m if isinstance(m, str) else " ".join(m) for m in model["merges"]))      # each pair once
    texts = [x for x in LINES + ODD + drawn(60)]
    golden.write_json(os.path.join(folder, "learned.json"), {"tokenizers": tokenizers.__version__, "size": size, "lines": lines, "tokens": tokens,
                      "merges": merges, "cases": [case(t, x) for x in texts]}, ensure_ascii=False)


def check_learned(program, text, size):
    """Learns from the lines of a file with both, and compares symbols and merges."""
    import tempfile
    with open(text, encoding="utf-8", errors="replace") as f:
        lines = [x.strip() for x in f if x.strip()][:100000]
    with tempfile.TemporaryDirectory() as at:
        with open(at + "/lines.jsonl", "w", encoding="utf-8") as f:
            f.writelines(json.dumps({"text": x}) + "\n" for x in lines)
        subprocess.run([program, "vocab", "-q", "--type", "bytelevel", "--size", str(size), "--text", at + "/lines.jsonl", "-o", at + "/own"], check=True)
        with open(at + "/own/tokenizer.json", encoding="utf-8") as f:
            own = json.load(f)["model"]
    model = json.loads(learn(lines, size).to_str())["model"]
    theirs = list(dict.fromkeys(tuple(m) for m in model["merges"]))
    same = own["vocab"] == model["vocab"] and [tuple(m) for m in own["merges"]] == theirs
    print("%s: %d lines, %d symbols, %d merges: %s" % (text, len(lines), len(own["vocab"]), len(theirs), "equal" if same else "DIFFERENT"))
    return not same


def big(folder, text):
    with open(text, encoding="utf-8", errors="replace") as f:
        lines = f.readlines()[:40000]
    for kind in KINDS:
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        golden.write_json(os.path.join(folder, kind, "tokenizer.json"), json.loads(build(kind, lines, 8000).to_str()), ensure_ascii=False)


def drawn(n):
    r = random.Random(5)
    return ["".join(r.choice(POOL) for _ in range(r.randrange(1, 12))) for _ in range(n)]


def scalars():
    """Each one by itself, after a letter, a digit, an apostrophe and a mark, and before a letter."""
    all = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000 and c not in (10, 13)]
    return ["a%s1%sb'%s !%s  %sx" % (c, c, c, c, c) for c in all]


def check(program, folders, files, count):
    """The program reads one text per line, so texts with a line end are only in the committed sample."""
    lines = [x.replace("\n", " ").replace("\r", " ") for x in drawn(count)] + scalars()
    for name in files or []:
        with open(name, encoding="utf-8", errors="replace") as f:
            lines += [x.rstrip("\r\n").replace("\r", " ") for x in f][:50000]
    bad = 0
    for folder in folders:
        t = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        kind = os.path.basename(os.path.normpath(folder))
        texts = [x for x in lines if usable(x, kind)]
        differ = 0
        for at in range(0, len(texts), 50000):
            some = texts[at:at + 50000]
            for x, y, e in zip(some, golden.tokenized(program, folder, some), t.encode_batch(some)):
                got = [tuple(o) for o in y["offsets"]]
                if y["ids"] != e.ids or got != e.offsets:
                    differ += 1
                    if differ < 6:
                        print(ascii(x[:100]), e.tokens[:30], y["tokens"][:30], [(i, a, b) for i, (a, b) in enumerate(zip(e.offsets, got)) if a != b][:5])
        print("%-40s %8d texts  %6d differ" % (folder, len(texts), differ), flush=True)
        bad += differ
    return bad != 0


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--big", action="store_true")
    p.add_argument("--check")
    p.add_argument("--check-learned")
    p.add_argument("--learned", action="store_true")
    p.add_argument("--size", type=int, default=8000)
    p.add_argument("--text", nargs="*")
    p.add_argument("--random", type=int, default=20000)
    p.add_argument("paths", nargs="+")
    a = p.parse_args()
    if a.check:
        sys.exit(check(a.check, a.paths, a.text, a.random))
    if a.check_learned:
        sys.exit(any([check_learned(a.check_learned, path, a.size) for path in a.paths]))
    if a.learned:
        write_learned(a.paths[0])
    elif a.big:
        big(*a.paths)
    else:
        write_all(a.paths[0])
