#!/usr/bin/env python3
"""Writes src/text/unicode/unicode_tables.inc: the classes of every Unicode scalar in the two BERT normalizers.

    python tools/unicode_tables.py > src/text/unicode/unicode_tables.inc

Two oracles classify all 1,112,064 scalars:

    rust     the `tokenizers` package (BertNormalizer and BertPreTokenizer): `BertTokenizer` of transformers 5
    python   this interpreter's unicodedata, used as the slow `BertTokenizer` of transformers 4.57 uses it

Categories (dropped, space, Han, punctuation, nonspacing mark) are written in full, as ranges, so that they do not depend
on the installed utf8proc.  Mappings (canonical decomposition, combining class, lower case) are utf8proc's wherever the
oracle agrees with utf8proc 2.8.0, the bit MAPS says where; the Unicode stability policy keeps those as they are in later
versions.  The few lower-case pairs that utf8proc 2.8.0 lacks are listed.

Needs: Python 3.11 (Unicode 14), tokenizers 0.23, libutf8proc.so.2 of utf8proc 2.8.0 (Unicode 15).
"""
import ctypes
import sys
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers

DROP, SPACE, HAN, PUNCT, MARK, MAPS = 1, 2, 4, 8, 16, 32
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
DOTTED_I = 0x130                                       # the one scalar whose lower case is two; handled in code

u8 = ctypes.CDLL("libutf8proc.so.2")
u8.utf8proc_version.restype = ctypes.c_char_p
u8.utf8proc_unicode_version.restype = ctypes.c_char_p
u8.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16)


class Utf8proc:
    """The mappings of utf8proc itself."""
    buffer = (ctypes.c_int32 * 32)()
    last = ctypes.c_int(0)

    @classmethod
    def decompose(cls, c):
        n = u8.utf8proc_decompose_char(c, cls.buffer, 32, 1 << 4, ctypes.byref(cls.last))
        return tuple(cls.buffer[:n])

    @staticmethod
    def ccc(c):
        return u8.utf8proc_get_property(c)[1]

    @staticmethod
    def lower(c):
        return (u8.utf8proc_tolower(c),)

    @staticmethod
    def assigned(c):
        return u8.utf8proc_category(c) != 0


# One mark of every combining class, for an oracle that only reorders; old marks, which every oracle knows.
MARKS = {}
for c in SCALARS:
    k = unicodedata.ucd_3_2_0.combining(chr(c))
    if k and not unicodedata.decomposition(chr(c)):
        MARKS.setdefault(k, c)


class Rust:
    nfd = normalizers.NFD()
    lowercase = normalizers.Lowercase()
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    clean = normalizers.BertNormalizer(**{**bert, "clean_text": True})
    han = normalizers.BertNormalizer(**{**bert, "handle_chinese_chars": True})
    strip = normalizers.BertNormalizer(**{**bert, "strip_accents": True})
    words = pre_tokenizers.BertPreTokenizer()

    def category(self, c):
        s = chr(c)
        cleaned = self.clean.normalize_str("a" + s + "b")
        assert cleaned in ("ab", "a b", "a" + s + "b"), hex(c)
        f = DROP if cleaned == "ab" else SPACE if cleaned == "a b" else 0
        if self.han.normalize_str(s) != s:
            f |= HAN
        if len(self.words.pre_tokenize_str("a" + s + "b")) == 3:
            f |= PUNCT
        if self.strip.normalize_str(s) == "" and self.nfd.normalize_str(s) == s:
            f |= MARK
        return f

    def decompose(self, c):
        return tuple(map(ord, self.nfd.normalize_str(chr(c))))

    def lower(self, c):
        return tuple(map(ord, self.lowercase.normalize_str(chr(c))))

    def stripped(self, c):
        return tuple(map(ord, self.strip.normalize_str(chr(c))))

    def has_ccc(self, c, k):
        """Whether NFD moves c among marks as combining class k does."""
        s = chr(c)
        for j, m in MARKS.items():
            m = chr(m)
            if k == 0 and j not in (1, 240):
                continue
            before = self.nfd.normalize_str("a" + m + s) == "a" + s + m
            after = self.nfd.normalize_str("a" + s + m) == "a" + m + s
            if s != m and (before != (0 < k < j) or after != (0 < j < k)):
                return False
        return True


class Python:
    def category(self, c):
        s = chr(c)
        cat = unicodedata.category(s)
        f = 0
        if s in "\t\n\r " or cat == "Zs":
            f |= SPACE
        elif c in (0, 0xFFFD) or cat[0] == "C":
            f |= DROP
        elif s.isspace():                              # U+2028, U+2029: str.split() splits there
            f |= SPACE
        if (0x4E00 <= c <= 0x9FFF or 0x3400 <= c <= 0x4DBF or 0x20000 <= c <= 0x2A6DF or 0x2A700 <= c <= 0x2B73F
                or 0x2B740 <= c <= 0x2B81F or 0x2B820 <= c <= 0x2CEAF or 0xF900 <= c <= 0xFAFF
                or 0x2F800 <= c <= 0x2FA1F):
            f |= HAN
        if 33 <= c <= 47 or 58 <= c <= 64 or 91 <= c <= 96 or 123 <= c <= 126 or cat[0] == "P":
            f |= PUNCT
        if cat == "Mn":
            f |= MARK
        return f

    def decompose(self, c):
        return tuple(map(ord, unicodedata.normalize("NFD", chr(c))))

    def lower(self, c):
        return tuple(map(ord, chr(c).lower()))

    def stripped(self, c):
        return tuple(x for x in self.decompose(c) if unicodedata.category(chr(x)) != "Mn")

    def has_ccc(self, c, k):
        return unicodedata.combining(chr(c)) == k


def table(oracle):
    """(ranges, pairs): [(first scalar, flags)], [(scalar, lower case)]."""
    flags, maps, pairs = {}, {}, []
    for c in SCALARS:
        flags[c] = oracle.category(c)
        same = (c,)
        d, k, low = Utf8proc.decompose(c), Utf8proc.ccc(c), Utf8proc.lower(c)
        plain = d == same and k == 0 and low == same                     # utf8proc leaves it alone
        want_low = oracle.lower(c)
        agrees = (oracle.decompose(c) == d and (d != same or oracle.has_ccc(c, k))    # the parts have classes of their own
                  and (want_low == low or c == DOTTED_I))
        if flags[c] & DROP:
            flags[c], maps[c] = DROP, None                               # nothing else is asked about it
        elif agrees:
            # None: either value of the bit gives the same; a scalar without a name may get one, so no mapping there
            maps[c] = (None if Utf8proc.assigned(c) else False) if plain else True
        else:
            if oracle.decompose(c) != same or not oracle.has_ccc(c, 0) or len(want_low) != 1:
                sys.exit("U+%04X: the oracle's mapping cannot be said in this table" % c)
            maps[c] = False
            if want_low != same:
                pairs.append((c, want_low[0]))
    ranges, bit, last = [], False, None
    # Bits without effect get the value of the previous range, so that it continues.
    for c in SCALARS:
        if maps[c] is not None:
            bit = maps[c]
        f = flags[c] | (MAPS if bit else 0)
        if f != last:
            ranges.append((c, f))
            last = f
    for c in SCALARS:                                                     # marks go one by one, also out of others
        d = oracle.decompose(c)
        assert oracle.stripped(c) == tuple(x for x in d if not flags[x] & MARK), hex(c)
    return ranges, pairs


def show(name, items, per_line):
    print("static const uint32_t %s[] = {" % name)
    for i in range(0, len(items), per_line):
        print("    " + " ".join("0x%08X," % x for x in items[i:i + per_line]))
    print("};")


def main():
    print("/* unicode_tables.inc — written by tools/unicode_tables.py from tokenizers %s, Unicode %s of Python and"
          % (tokenizers.__version__, unicodedata.unidata_version))
    print(" * utf8proc %s (Unicode %s).  A range is its first scalar times 256 plus its flags, up to the next range;"
          % (u8.utf8proc_version().decode(), u8.utf8proc_unicode_version().decode()))
    print(" * a pair is a scalar and its lower case where utf8proc has none.                                              */")
    for name, oracle in (("rust", Rust()), ("python", Python())):
        ranges, pairs = table(oracle)
        show(name + "_ranges", [c << 8 | f for c, f in ranges], 11)
        show(name + "_lower", [x for pair in pairs for x in pair] or [0xFFFFFFFF, 0], 10)
        print("%s: %d ranges, %d pairs" % (name, len(ranges), len(pairs)), file=sys.stderr)


if __name__ == "__main__":
    main()
