#!/usr/bin/env python3
"""Writes tests/golden/text: a small vocabulary, and the ids that Hugging Face's tokenizers give for unusual texts.

    python tools/golden/golden_text.py rust      with transformers 5:    vocab.txt, rust.txt, rust_scalars.txt
    python tools/golden/golden_text.py python    with transformers 4.57: python.txt, python_scalars.txt
    ("cases" or "scalars" after that: only the one or the other)

A line of rust.txt and python.txt starts with a letter:

    #  where the file comes from
    S  lowercase strip_accents han_split          the settings from here on (strip_accents -1: as lowercase)
    T  limit flags text [pair]                    flags as in tokenizer.h; texts in hexadecimal, "-" for an empty one
    I  id,start,end,type ...                      what it must give; start and end in bytes, 0,0 where Hugging Face says
                                                  nothing (python rules, added tokens)
    D  skip tidy text id ...                      ids and the text they decode to

*_scalars.txt: for settings (as above) a line of CRC-32 values, one for each 4096 scalars: of the ids (little-endian
uint32, [CLS] and [SEP] included) of the texts "a%sb" and "%s a\\u0301%s\\u0316b" for each of them in order, with the
vocabulary of tools/check/tokenizer.py that holds every scalar.
"""
import random
import sys
import tempfile
import zlib

import numpy as np
from transformers import BertTokenizer

import golden

sys.path.insert(0, str(golden.TOP / "tools" / "check"))
from tokenizer import SPECIALS, Check  # noqa: E402

FOLDER = golden.GOLDEN / "text"
SETTINGS = [(1, -1, 1), (0, -1, 1), (0, 1, 1), (1, 0, 1), (1, -1, 0)]
NO_SPECIALS, PLAIN = 4, 1

WORDS = """the of and to in a is was for on as with by he at from his an were are which this be position rotary embed ding
attention transform er un aff able ing ed ly s es token ize ization word piece re pre new old first last one two three
do not don t ca n it ve m ll cafe naive uber strasse istanbul οδοσ οδος москва 東京 北京""".split()


def vocabulary():
    tokens = list(SPECIALS) + ["[unused%d]" % i for i in range(3)]
    single = [chr(c) for c in range(0x21, 0x7F)] + [chr(c) for c in range(0xA1, 0x180)]
    single += [chr(c) for c in range(0x3B1, 0x3CA)] + [chr(c) for c in range(0x430, 0x450)]
    for text in awkward():
        single += [c for c in text if not c.isspace() and ord(c) > 0x20]
    for c in dict.fromkeys(single):
        tokens += [c, "##" + c]
    for w in WORDS:
        tokens += [w, "##" + w]
    out = list(dict.fromkeys(tokens))
    return out + ["the", "##ing"]                       # of equal lines the last one counts


def awkward():
    """Texts with unusual characters, spaces, marks and special tokens, which have gone wrong in some tokenizer."""
    yield from ["", " ", "   \t\n\r ", "a", "The unaffable attention of rotary position embedding.", "don't do not, I've it's!",
                "café naïve Über Straße ﬁne ﬂag ½ ² ª", "CAFE\u0301 e\u0301\u0316\u0323 \u0301 \u0301\u0301\u0301a a\u0345\u0301\u0334",
                "İstanbul ıI İ ΟΔΟΣ ὈΔΟΣ. οδος Σ ΑΣ Ω Ω K Å", "ẞ ß ǅ Ǆ ǆ ŉ ΐ", "각힣 한국어 \u1100\u1161\u11a8 \uac00\u11a8",
                "東京都は北京の漢字\u3400\u4dbf\u9fff\U00020000\U0002a6df\U0002a700\U0002b73f\U0002b740\U0002b81f\U0002b820\U0002b91f",
                "\U0002b920\U0002ceaf\U0002ceb0\U0002ebe0\U00030000\uf900\ufa6a\ufaff\U0002f800\U0002fa1f。，！？「」、・…—《》",
                "ひらがなカタカナが\u304b\u3099 ﾊﾝｶｸ ㈱ ①", "👩🏽\u200d💻 🇩🇪 ☺\ufe0f 👨\u200d👩\u200d👧", "العربية عَرَبِيّ لا", "ภาษาไทย กำ นํ้า",
                "हिन्दी क़ ड़ বাংলা தமிழ்", "a\u200bb\u200cc\u200dd\ufeffe\u00adf\u2060g", "a\u00a0b\u3000c\u2003d\u2028e\u2029f\u0085g\u000bh\u000ci\x1cj",
                "a\x00b\x01c\x7fd\x9fe\ufffdf", "a\ue000b\U000f0000c\U0010fffdd", "a\u0378b\U0002fa20c\uffffd\U0001ffffe",
                "\u0898a\u1734b\U00011938c\u1dfad\U00016ff0e", "Ᲊ Ა \U00010d50 Ꭰ ꮿ Ɤ", "x" * 99 + " " + "x" * 100 + " " + "x" * 101,
                "é" * 100 + " " + "e\u0301" * 101, "x" * 1000, "[MASK]", " [MASK] ", "a[MASK]b", "[mask] [Mask] [ MASK ] [MASK", "[CLS][SEP][PAD][UNK][MASK]",
                "[MA\u200bSK] [MASK\u0301] é[MASK]\u0301", "[[MASK]]", "the [MASK] of[MASK]and [UNK]the", "[unused1] [UNUSED1]",
                "##ing ing ##", "a.b,c;d:e!f?g(h)i[j]k{l}m<n>o=p+q-r*s/t\\u|v^w~x`y@z#0$1%2&3\"4'5_6", "‘’“”–—…·•‰€™℠№",
                "\u0301\u0301", "\u0316\u0301\u0334a", "<\u0338 =\u0338 >\u0338", "\u0340\u0344\u0374\u037e\u0387\u2126\u212b", "q\u0307\u0323 q\u0323\u0307 \u1e69 s\u0323\u0307",
                "\U0001d15f\U0001d1c0 \ufb1d\ufb2a", "a\u0f73\u0f71b ཷ", "naïve\u0308", "1234567890 3.14 1,000", "http://www.example.org/~x?y=z&w#v",
                "transformerization", "word\u00adpiece", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "\ufeffthe", "the\r\nof\rand\nto"]


def hexadecimal(text):
    return text.encode().hex() or "-"


def row(text, pair, ids, offsets, types):
    out = []
    byte = [np.cumsum([0] + [len(c.encode()) for c in t]) for t in (text, pair or "")]
    for i, (k, type_) in enumerate(zip(ids, types)):
        start, end = (byte[type_][x] for x in offsets[i]) if offsets else (0, 0)
        out.append("%d,%d,%d,%d" % (k, start, end, type_))
    return "I " + " ".join(out)


def tokenizer_for(vocab, setting):
    lower, strip, han = setting
    return BertTokenizer(vocab, do_lower_case=bool(lower), strip_accents=None if strip < 0 else bool(strip),
                         tokenize_chinese_chars=bool(han))


def encode(tokenizer, rust, text, pair, limit, flags):
    many = dict(truncation="longest_first", max_length=limit) if limit else {}
    if rust:
        e = tokenizer([text], None if pair is None else [pair], add_special_tokens=not flags & PLAIN,
                      split_special_tokens=bool(flags & NO_SPECIALS), return_offsets_mapping=True, **many)
        return e["input_ids"][0], e["offset_mapping"][0], e["token_type_ids"][0]
    e = tokenizer(text, pair, add_special_tokens=not flags & PLAIN, **many)
    return e["input_ids"], None, e["token_type_ids"]


def cases(rust, vocab):
    check = Check.__new__(Check)
    r = random.Random(3)
    for number, setting in enumerate(SETTINGS):
        yield "S %d %d %d" % setting
        tokenizer = tokenizer_for(vocab, setting)
        texts = list(awkward()) + [t for t in check.random_texts(60, 100 + number) if len(t) < 200]
        todo = [(t, None, 0, 0) for t in texts]
        if rust:                                        # the slow tokenizer keeps "[MASK]" between spaces even then
            todo += [(t, None, 0, NO_SPECIALS) for t in awkward() if "[" in t]
        todo += [(t, None, 0, PLAIN) for t in list(awkward())[:6]]
        if number == 0:
            short = ["", "a", "the of", "rotary position [MASK]", "é ! a b c", "un un un un un un un"]
            for limit in range(2, 14):
                todo += [(t, None, limit, 0) for t in short if rust or limit > 2]
                if limit > 2:
                    todo += [(a, b, limit, 0) for a in short for b in short]
            todo += [(r.choice(texts), r.choice(texts), 0, 0) for _ in range(40)]
        for text, pair, limit, flags in todo:
            ids, offsets, types = encode(tokenizer, rust, text, pair, limit, flags)
            yield "T %d %d %s%s" % (limit, flags, hexadecimal(text), "" if pair is None else " " + hexadecimal(pair))
            yield row(text, pair, ids, offsets, types)
    if not rust:
        return
    tokenizer = tokenizer_for(vocab, SETTINGS[0])
    yield "S %d %d %d" % SETTINGS[0]
    some = tokenizer.convert_tokens_to_ids(list(".?!,'nsm") + ["##'", "##s", "ve", "re", "do", "not", "don", "t", "the", "##ing", "é"] + SPECIALS)
    for _ in range(150):
        ids = [r.choice(some) if r.random() < 0.8 else r.randrange(len(tokenizer) + 20) for _ in range(r.randrange(12))]
        for skip in (0, 1):
            for tidy in (0, 1):
                text = tokenizer.decode(ids, skip_special_tokens=bool(skip), clean_up_tokenization_spaces=bool(tidy))
                yield "D %d %d %s %s" % (skip, tidy, hexadecimal(text), " ".join(map(str, ids)))


def scalars(rust):
    every = [chr(c) if not 0xD800 <= c < 0xE000 else "" for c in range(0x110000)]
    with tempfile.TemporaryDirectory() as folder:
        vocab = Check.every_scalar(None, folder)
        for setting in (SETTINGS[0], SETTINGS[3]):
            tokenizer = tokenizer_for(vocab, setting)
            crcs = []
            for start in range(0, 0x110000, 4096):
                texts = []
                for s in filter(None, every[start:start + 4096]):
                    texts += ["a%sb" % s, "%s a\u0301%s\u0316b" % (s, s)]
                if rust:
                    lists = [e.ids for e in tokenizer._tokenizer.encode_batch(texts)]
                else:
                    lists = [tokenizer.encode(t) for t in texts]
                flat = np.array([i for ids in lists for i in ids], dtype="<u4")
                crcs.append("%08x" % zlib.crc32(flat.tobytes()))
            yield "S %d %d %d" % setting
            yield " ".join(crcs)


def main():
    rules = sys.argv[1]
    rust = rules == "rust"
    vocab = str(FOLDER / "vocab.txt")
    if rust:
        golden.write_lines(vocab, vocabulary())
    parts = {"cases": (rules + ".txt", cases(rust, vocab)), "scalars": (rules + "_scalars.txt", scalars(rust))}
    for part in sys.argv[2:] or parts:
        name, lines = parts[part]
        golden.write_lines(FOLDER / name, [golden.written_by("golden_text.py " + rules), *lines])


if __name__ == "__main__":
    main()
