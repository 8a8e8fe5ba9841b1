#!/usr/bin/env python3
"""Writes src/text/pipeline/classes.inc: the classes of every Unicode scalar in the components of `tokenizers`.

    python tools/pipeline_tables.py > src/text/pipeline/classes.inc

The components that are written in Rust have tables of their own, of several versions of Unicode.  They are asked for
each scalar:

    WORD        Whitespace: the \\w of Rust's crate regex
    NUMERIC     Digits: char::is_numeric
    MARK        StripAccents: is_combining_mark of unicode-normalization-alignments
    PUNCT       Punctuation: the categories P of unicode_categories, and ASCII's punctuation
    NEWER       NFKD: the version of utf8proc below decomposes it or gives it a combining class, tokenizers does not
    scripts     UnicodeScripts: runs of scalars that it does not split

Needs: tokenizers 0.23, libutf8proc.so.2 of utf8proc 2.8.0 (Unicode 15).
"""
import ctypes

import tokenizers
from tokenizers import normalizers, pre_tokenizers

WORD, NUMERIC, MARK, PUNCT, NEWER = 1, 2, 4, 8, 32
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
WIDTH = 9


def words(component, text):
    return [w for w, _ in component.pre_tokenize_str(text)]


u8 = ctypes.CDLL("libutf8proc.so.2")
u8.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16)


def newer(c, nfkd=normalizers.NFKD(), nfd=normalizers.NFD(), buffer=(ctypes.c_int32 * 32)(), last=ctypes.c_int(0)):
    for form, options in ((nfd, 1 << 4), (nfkd, 1 << 4 | 1 << 2)):
        n = u8.utf8proc_decompose_char(c, buffer, 32, options, ctypes.byref(last))
        own, other = form.normalize_str(chr(c)), "".join(map(chr, buffer[:n]))
        if own != other:
            assert own == chr(c), hex(c)
            return True
    k = u8.utf8proc_get_property(c)[1]
    if not k or nfd.normalize_str(chr(c)) != chr(c):
        return False
    # with a mark of another class, one of the two orders is not canonical
    other = "\u0315" if k < 232 else "\u0316"
    return nfd.normalize_str("a" + chr(c) + other) == "a" + chr(c) + other and \
        nfd.normalize_str("a" + other + chr(c)) == "a" + other + chr(c)


def flags_of(c, whitespace=pre_tokenizers.Whitespace(), digits=pre_tokenizers.Digits(individual_digits=True),
             punctuation=pre_tokenizers.Punctuation(), strip=normalizers.StripAccents()):
    s = chr(c)
    f = 0
    if words(whitespace, "a" + s) == ["a" + s]:
        f |= WORD
    if len(words(digits, "a" + s)) == 2:
        f |= NUMERIC
    if strip.normalize_str("a" + s) == "a":
        f |= MARK
    if len(words(punctuation, "a" + s)) == 2:
        f |= PUNCT
    if newer(c):
        f |= NEWER
    return f


def scripts(component=pre_tokenizers.UnicodeScripts()):
    """Script 0 is Any, which splits nowhere."""
    def joined(a, b):
        return len(words(component, a + b)) == 1

    def any_(c):
        return joined("a", c) and joined("\u044f", c)
    names, last, table = [], None, []
    for c in SCALARS:
        s = chr(c)
        if last and joined(last, s) and not any_(s):
            k = names.index(last) + 1
        elif any_(s):
            k = 0
        else:
            k = next((i + 1 for i, n in enumerate(names) if joined(n, s)), None)
            if k is None:
                names.append(s)
                k = len(names)
            last = names[k - 1]
        table.append(k)
    return table


def rows(values):
    """The first scalar of each range times 256, plus its value; surrogates belong to the range before them."""
    last, out = None, []
    for c, v in zip(SCALARS, values):
        if v != last:
            out.append("0x%08X" % (c << 8 | v))
        last = v
    return out


def write(name, values):
    out = rows(values)
    print(f"static const uint32_t {name}[] = {{")
    for i in range(0, len(out), WIDTH):
        print("    " + ", ".join(out[i:i + WIDTH]) + ",")
    print("};")


def main():
    print(f"""/* classes.inc — written by tools/pipeline_tables.py from tokenizers {tokenizers.__version__}.  A range is its first scalar
 * times 256 plus its classes (classes.h) or the number of its script, up to the next range. */""")
    write("class_ranges", [flags_of(c) for c in SCALARS])
    write("script_ranges", scripts())


main()
