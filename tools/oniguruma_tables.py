#!/usr/bin/env python3
"""Code points that Oniguruma 6.9.8 (Unicode 14) and the Oniguruma in `tokenizers` (a later Unicode) see differently.

    python3 tools/oniguruma_tables.py > src/text/pipeline/newer.inc
    python3 tools/oniguruma_tables.py --check build/release/libroformer.so > results/published/code-points.txt

The table gives each of them a stand-in: a character of the same length in UTF-8 for which both versions agree on every property below, and which
has in both the properties that the code point has in `tokenizers`.  src/text/pipeline/regex.c searches the text with stand-ins.  Where no
character has all properties, scripts are given up, the last ones first.  --check compares, through the library, every property and some
patterns for all code points, and lists what still differs.

Needs: tokenizers 0.23, libonig.so.5 of Oniguruma 6.9.8."""
import ctypes
import datetime
import json
import os
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, pre_tokenizers

SCALARS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
CHUNKS = [SCALARS[i:i + 65536] for i in range(0, len(SCALARS), 65536)]
CATEGORIES = ["\\p{%s}" % x for x in "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split(" ")]
GROUPS = ["\\p{%s}" % x for x in "LMNPSZC"] + ["\\w", "\\s", "\\d", "\\h", "[[:alpha:]]", "[[:alnum:]]", "[[:punct:]]", "[[:graph:]]", "[[:print:]]", "[[:cntrl:]]",
                                              "\\p{Emoji}", "\\p{Emoji_Presentation}", "\\p{Extended_Pictographic}"]
SCRIPTS = ["\\p{%s}" % x for x in "Han Hiragana Katakana Hangul Latin Cyrillic Arabic Greek Hebrew Common Inherited Thai Devanagari Bengali Tamil Telugu Kannada Malayalam "
                                  "Gujarati Gurmukhi Sinhala Lao Khmer Myanmar Tibetan Georgian Armenian Ethiopic Bopomofo Mongolian Balinese".split(" ")]
PROPERTIES = CATEGORIES + GROUPS + SCRIPTS
PATTERNS = ["(?i:[a-z])", "(?i:s|k)", "(?i:ss)", "[^\\s\\p{L}\\p{N}]", "[^\\r\\n\\p{L}\\p{N}]?\\p{L}", "[\\p{L}\\p{M}]", "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]", "\\P{L}", "\\p{^N}", "\\W",
            "[[:^punct:]]", "[\\w&&[^\\d]]", "[^[:alpha:]]", "(?i:\\p{Lu})"]
CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
KNOWN = [                                                          # those of src/text/subword/byte_level.c, between words of one letter
    CONTRACTIONS + "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"] + [
    "(?i:" + CONTRACTIONS + ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" + x + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+" for x in ("", "{1,3}")]

onig = ctypes.CDLL("libonig.so.5")
SYNTAX = ctypes.c_void_p.in_dll(onig, "OnigDefaultSyntax")
UTF8 = ctypes.addressof(ctypes.c_char.in_dll(onig, "OnigEncodingUTF8"))


class Region(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_int), ("num_regs", ctypes.c_int), ("beg", ctypes.POINTER(ctypes.c_int)), ("end", ctypes.POINTER(ctypes.c_int))]


onig.onig_region_new.restype = ctypes.POINTER(Region)


def places(chunk):
    at, out = 0, {}
    for i, c in enumerate(chunk):
        out[at] = i
        at += len(chr(c).encode())
    out[at] = len(chunk)
    return out


PLACES = [places(x) for x in CHUNKS]


def debian(pattern):
    """The code points that a character class of Oniguruma matches; [:punct:] as in src/text/pipeline/regex.c."""
    text, regex, found = pattern.replace("[[:punct:]]", "[\\p{P}\\p{S}]").encode() + b"+", ctypes.c_void_p(), set()
    start = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value
    code = onig.onig_new(ctypes.byref(regex), ctypes.c_void_p(start), ctypes.c_void_p(start + len(text)), 0, ctypes.c_void_p(UTF8), SYNTAX, None)
    assert code == 0, (pattern, code)
    region = onig.onig_region_new()
    for chunk, place in zip(CHUNKS, PLACES):
        data = "".join(map(chr, chunk)).encode()
        begin = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
        at, end = begin, begin + len(data)
        while at < end and onig.onig_search(regex, ctypes.c_void_p(begin), ctypes.c_void_p(end), ctypes.c_void_p(at), ctypes.c_void_p(end), region, 0) >= 0:
            found.update(chunk[place[region[0].beg[0]]:place[region[0].end[0]]])
            at = begin + region[0].end[0]
    return found


def library(pattern):
    """The same in tokenizers."""
    t, found = pre_tokenizers.Split(Regex(pattern + "+"), "removed"), set(SCALARS)
    for chunk in CHUNKS:
        for _, (a, b) in t.pre_tokenize_str("".join(map(chr, chunk))):
            found.difference_update(chunk[a:b])
    return found


def ranges(codes):
    out = []
    for c in sorted(codes):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def stand_ins():
    """For each code point that differs, its stand-in."""
    differ, mask = set(), dict.fromkeys(SCALARS, 0)
    for i, p in enumerate(PROPERTIES):
        ours, theirs = debian(p), library(p)
        differ |= ours ^ theirs
        for c in theirs:
            mask[c] |= 1 << i
    size = lambda c: len(chr(c).encode())
    out = {}
    for scripts in range(len(SCRIPTS), -1, -1):                     # with all scripts, then with fewer
        keep = (1 << (len(CATEGORIES) + len(GROUPS) + scripts)) - 1
        first = {}
        for c in SCALARS:
            if c not in differ and c > 0x7F:
                first.setdefault((size(c), mask[c] & keep), c)
        for c in differ:
            if c not in out and (size(c), mask[c] & keep) in first:
                out[c] = first[size(c), mask[c] & keep]
    return differ, out


def table():
    differ, out = stand_ins()
    rows = []
    for c in sorted(out):
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == out[c]:
            rows[-1][1] = c
        else:
            rows.append([c, c, out[c]])
    left = ranges(differ - set(out))
    print("/* newer.inc — written by tools/oniguruma_tables.py from tokenizers %s: code points first to last, which Oniguruma" % tokenizers.__version__)
    print(" * 6.9.8 does not know or knows otherwise, and a character that it knows with the properties that they have now; without\n * one: %s. */"
          % (", ".join("U+%04X to U+%04X" % tuple(x) for x in left) or "none"))
    print("static const struct { uint32_t first, last, as; } newer[] = {")
    for i in range(0, len(rows), 3):
        print("    " + " ".join("{0x%04X, 0x%04X, 0x%04X}," % tuple(x) for x in rows[i:i + 3]))
    print("};")


def words(pattern, chunk, theirs, lib, ours):
    """The code points of a chunk that a pattern without gaps splits otherwise, after a letter, a digit, a full stop and an apostrophe."""
    text = "".join("a%s 1%s .%s '%s\n" % ((chr(c),) * 4) for c in chunk)
    place, at = {}, 0
    for i, c in enumerate(text):
        place[at] = i
        at += len(c.encode())
    place[at] = len(text)
    both = {tuple(x) for x in theirs.encode(text).offsets} ^ {(place[a], place[b]) for _, _, a, b in lib.encode(ours, text, None, True)}
    return {chunk[a // 12] for a, _ in both}


def check(path):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "check"))
    import random_pipelines as pipelines
    lib, bad = pipelines.Library(os.path.abspath(path)), 0
    print("oniguruma_tables.py --check; tokenizers %s, %s" % (tokenizers.__version__, datetime.date.today()))
    print("code points that the library and tokenizers see differently in regular expressions, of %d" % len(SCALARS))
    for pattern in PROPERTIES + PATTERNS + KNOWN:
        file = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None, "decoder": None, "added_tokens": [],
                "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated" if pattern in KNOWN else "Removed", "invert": False},
                "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}}
        theirs, ours, differ = Tokenizer.from_str(json.dumps(file)), lib.open(file), set()
        for chunk, place in zip(CHUNKS, PLACES):
            if pattern in KNOWN:
                differ |= words(pattern, chunk, theirs, lib, ours)
                continue
            text, kept = "".join(map(chr, chunk)), [set(), set()]
            for a, b in theirs.encode(text).offsets:
                kept[0].update(chunk[a:b])
            for _, _, a, b in lib.encode(ours, text, None, True):
                kept[1].update(chunk[place[a]:place[b]])
            differ |= kept[0] ^ kept[1]
        bad += len(differ)
        print("%-48s %6d %s" % (pattern, len(differ), " ".join("%04X-%04X" % tuple(x) for x in ranges(differ))))
    return bad > 0


if __name__ == "__main__":
    sys.exit(check(sys.argv[2]) if len(sys.argv) == 3 and sys.argv[1] == "--check" else table())
