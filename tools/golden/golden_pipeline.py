#!/usr/bin/env python3
"""Writes tests/golden/pipeline/cases.json: ids and offsets of `tokenizers` for each normalizer and pre-tokenizer, alone
and in combinations, on texts that are difficult for them.

    python tools/golden/golden_pipeline.py [--random N SEED OUT]

The model is a BPE without merges whose vocabulary contains the words of the texts as pieces (ignore_merges), so that
an id shows where a word ends.  With --random, N random pipelines are written to OUT instead.

Needs: tokenizers 0.23.
"""
import json
import random
import sys

import tokenizers
from tokenizers import Tokenizer

TEXTS = [
    "", " ", "   ", "Hello, world!", "  two  blanks  ", "a\r\nb\n\nc\t d", "It's 2024: 3.5 % of 12 birds don't",
    "caf\u00e9 cafe\u0301 \u00c5 A\u030a \ufb01 \u2460 \u00bd", "\u0130stanbul STRASSE stra\u00dfe \u03a3\u03a3",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002abc\u3042\u30ab\u30fc\u30ca",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0e44\u0e17\u0e22",
    "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627 \u0663\u0664",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "a\u00a0b\u2003c\u200bd\ufeffe\u3000f", "x\u0000y\u0001z\u007f\ufffd\u0085q", "\u2581under \u2581 \u2581\u2581",
    "foo_bar-baz--qux", "<a href='x'>?!</a> ((()))", "\uac00\u1100\u1161\u11a8 \ud55c\uae00", "\u0301 start",
    "\u0344\u0308\u0301 \u1e9b\u0323 \ufdfa", "x86 and \u00bd of \u0663\u0664 \u2167 \u00b2", "``quoted'' ...  --",
    "UPPER lower MiXeD 1a2b3c", "  \n", "\u05e9\u05c1\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947",
    "\U00020000\u3400\uf900 \U0001d400 \u2126 \u212b", "aaaa bbbb aaab", "tab\there", "\u0103\u0323 \u00ea\u0303",
]


def seq(kind, *parts):
    return {"type": "Sequence", "normalizers" if kind == "n" else "pretokenizers": list(parts)}


def bert(clean, han, strip, lower):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": han, "strip_accents": strip,
            "lowercase": lower}


def replace(kind, pattern, content):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def split(kind, pattern, behavior, invert=False):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def level(prefix, regex):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def metaspace(scheme, cut, stands="\u2581"):
    return {"type": "Metaspace", "replacement": stands, "prepend_scheme": scheme, "split": cut}


BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
QWEN2 = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
         "\\s+(?!\\S)|\\s+")
REGEXES = ["\\s+", "\\d", "\\w+|[^\\w\\s]+", "a*", "(?<=a)b|b(?=b)", "^", "$", "[[:punct:]]", "\\p{Han}+", "(?i)ss|ab",
           "\\b", " {2,}", "[^\\S\\n]+", "\\X", "(?m:^.)", "", QWEN2, "\\p{L}\\p{M}*", "[a-z&&[^aeiou]]+", "\\h+"]
# a match of nothing at the beginning of a text leaves tokenizers with a character without a place, at which later steps
# fail there
SAFE = [r for r in REGEXES if r not in ("^", "a*", "$", "\\b", "", "(?m:^.)")]
TEXT_PATTERNS = [" ", "a", "''", "--", "\u3002", "ab", "."]

NORMALIZERS = (
    [{"type": t} for t in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")]
    + [bert(c, h, s, low) for c in (True, False) for h in (True, False) for s in (True, False, None)
       for low in (True, False)]
    + [{"type": "Strip", "strip_left": a, "strip_right": b} for a in (True, False) for b in (True, False)]
    + [replace("String", t, c) for t in TEXT_PATTERNS for c in ("", "_", "\u2581\u2581")]
    + [replace("Regex", r, c) for r in SAFE for c in ("", " ", "<\u00e9>")]
    + [{"type": "Prepend", "prepend": p} for p in ("\u2581", "ab ")])
PRE_TOKENIZERS = (
    [{"type": t} for t in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")]
    + [level(p, r) for p in (True, False) for r in (True, False)]
    + [{"type": "CharDelimiterSplit", "delimiter": d} for d in ("a", " ", "\u4e16")]
    + [metaspace(s, c, r) for s in ("always", "first", "never") for c in (True, False) for r in ("\u2581", "_", "a")]
    + [{"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "str_rep": "\u2581"}]
    + [{"type": "Punctuation", "behavior": b} for b in BEHAVIORS] + [{"type": "Punctuation"}]
    + [{"type": "Digits", "individual_digits": d} for d in (True, False)]
    + [{"type": "FixedLength", "length": n} for n in (1, 3, 5)]
    + [split("String", t, b, i) for t in TEXT_PATTERNS for b in BEHAVIORS for i in (False, True)]
    + [split("Regex", r, b, i) for r in REGEXES for b in BEHAVIORS for i in (False, True)])
WHOLE = [
    (None, seq("p", {"type": "Digits", "individual_digits": True}, level(False, True))),
    (None, seq("p", split("Regex", QWEN2, "Isolated"), level(False, False))),
    (None, seq("p", split("Regex", "\\p{N}{1,3}|[^\\p{N}]+", "Removed", True), level(False, True))),
    (None, seq("p", {"type": "WhitespaceSplit"}, metaspace("always", True))),
    (None, seq("p", level(True, False), {"type": "Digits", "individual_digits": True})),
    (seq("n", {"type": "Prepend", "prepend": "\u2581"}, replace("String", " ", "\u2581")), None),
    (seq("n", {"type": "NFC"}, replace("Regex", "\\s+", " "), {"type": "Lowercase"}), level(False, True)),
    (seq("n", {"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}), {"type": "BertPreTokenizer"}),
    (seq("n", seq("n", {"type": "NFKC"}), bert(False, False, False, False)),
     seq("p", seq("p", {"type": "Whitespace"}), {"type": "Punctuation"})),
    ({"type": "Strip", "strip_left": True, "strip_right": False}, metaspace("first", True)),
    (replace("Regex", "^", "\u2581"), {"type": "Whitespace"}),
]


# characters of Unicode 15 and 16, which Oniguruma 6.9.8 does not know
NEWER = ["\u1c89\u1c8a \ua7cb\ua7da x", "\U00010d40\U00010d41\U00010d4a\U00010d50\U00010d70 1", "\U00031350\u4e16\U0002ebf0 \U0001fae8!\U0001fae9",
         "\U00016d40a\U0001e5d0\U0001ccf0\U0001ccf1 \U00011f50", "a\u0363b\u0897 \u31ef\u2ffc", "\U000105c0\U00011380 \U0001e4d0\U0001e4f0"]
KNOWN = ["\\p{L}+", "\\p{N}", "\\w+", "\\W", "\\p{Lu}", "\\p{Han}+", "[[:alpha:]]+", "[^\\s\\p{L}\\p{N}]+", "\\p{S}", "[\U0001fae8-\U0001fae9]", "\\x{1FAE8}", QWEN2]


def parse(normalizer, pre_tokenizer, vocab, added=()):
    return Tokenizer.from_str(json.dumps(spec(normalizer, pre_tokenizer, vocab, added)))


def spec(normalizer, pre_tokenizer, vocab, added=()):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added),
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                      "vocab": vocab, "merges": []}}


ALPHABET = tokenizers.pre_tokenizers.ByteLevel.alphabet()


def case(normalizer, pre_tokenizer, texts):
    """None if tokenizers fails."""
    words = {"<unk>"} | (set(ALPHABET) if "ByteLevel" in json.dumps([normalizer, pre_tokenizer]) else set())
    probe = parse(normalizer, pre_tokenizer, {"<unk>": 0})
    for text in texts:
        words |= set(text)
        s = probe.normalizer.normalize_str(text) if probe.normalizer else text
        words |= set(s)
        words |= {w for w, _ in probe.pre_tokenizer.pre_tokenize_str(s)} if probe.pre_tokenizer else {s}
    words = {w for w in words if w and "\0" not in w}      # jansson has no such keys
    vocab = {w: i for i, w in enumerate(sorted(words, key=lambda w: (w != "<unk>", w)))}
    t = parse(normalizer, pre_tokenizer, vocab)
    out = []
    for text in texts:
        e = t.encode(text)
        out.append({"text": text, "ids": e.ids, "offsets": [x for o in e.offsets for x in o]})
    return {"tokenizer": spec(normalizer, pre_tokenizer, vocab), "results": out}


def fill(chance, kind, parts):
    n = chance.choice([0, 1, 1, 2, 2, 3, 4])
    some = [chance.choice(parts) for _ in range(n)]
    return None if not n else some[0] if n == 1 else seq(kind, *some)


def main():
    cases = []
    if sys.argv[1:2] == ["--random"]:
        count, chance, path = int(sys.argv[2]), random.Random(int(sys.argv[3])), sys.argv[4]
        characters = sorted(set("".join(TEXTS)))
        while len(cases) < count:
            texts = [chance.choice(TEXTS) for _ in range(4)]
            texts += ["".join(chance.choice(characters) for _ in range(chance.randrange(30))) for _ in range(8)]
            normalizer, pre = fill(chance, "n", NORMALIZERS), fill(chance, "p", PRE_TOKENIZERS)
            try:
                cases.append(case(normalizer, pre, texts))
            except BaseException as e:                     # a panic of Rust
                if isinstance(e, KeyboardInterrupt):
                    raise
    else:
        path = "tests/golden/pipeline/cases.json"
        chance = random.Random(1)
        for n in NORMALIZERS:
            cases.append(case(n, None, chance.sample(TEXTS, 8)))
        for p in PRE_TOKENIZERS:
            cases.append(case(None, p, chance.sample(TEXTS, 5)))
        cases += [case(n, p, TEXTS) for n, p in WHOLE]
        cases += [case(None, split("Regex", r, "Isolated"), NEWER) for r in KNOWN]
        cases += [case(replace("Regex", r, "_"), None, NEWER) for r in KNOWN]
    with open(path, "w") as f:
        f.write('{"made by": "tools/golden/golden_pipeline.py, tokenizers %s", "cases": [\n' % tokenizers.__version__)
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]}\n")
    print(len(cases), "cases")


main()
