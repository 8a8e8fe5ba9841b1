#!/usr/bin/env python3
"""random_pipelines.py: random tokenizer.json files and lines, compared with Hugging Face's tokenizers: ids, types, offsets, decoded text.

    pip install tokenizers==0.23.3
    cmake --build build/release --target roformer-shared
    python3 tools/check/random_pipelines.py --seed 1 --pipelines 200 --lines 5000
    python3 tools/check/random_pipelines.py --only BPE,Metaspace,TemplateProcessing       # these components alone

A pipeline is drawn from the tables below (COMPONENTS), with a random vocabulary of pieces of the lines.  Where tokenizers raises an error
for a line, the library must report one, too.  A pipeline that the library refuses counts as a difference.  The first failing pipelines are
reduced to the parts and the line that still differ.  Where tokenizers panics, there is no answer to compare with; such lines are counted.  Exits with 1 on a difference."""
import argparse
import collections
import ctypes
import datetime
import json
import os
import random
import sys
import tempfile

import tokenizers
from tokenizers import Tokenizer

META = "▁"
WORDS = ("the dog sees 2024 cats don't stop it's 10:30 now naïve café ﬁne Ünïcödé ÅNGSTRÖM straße İstanbul ΣΊΣΥΦΟΣ σίσυφος Привет мир 你好 世界 "
         "東京 カタカナ ｶﾅ 한국어 हिन्दी नमस्ते العربية עברית ไทย 🙂 👩‍👩‍👧 e\u0301 a\u0308\u0323 \u200b x\u00ad -- ... !? <s> </s> [CLS] [MASK] <mask> <unk> "
         "▁ ## @@ </w> <0x41> \u3000 \u00a0 \t \r \x07 1,000.5 ½ ² ٣ _x a_b O'Neil we're I'LL  ' \"quoted\" (x) [y] 𝒳 ǅ").split(" ")


def line(r):
    words = [r.choice(WORDS) for _ in range(r.randrange(0, 12))]
    if r.random() < 0.2:
        words.append("".join(chr(r.choice([r.randrange(32, 127), r.randrange(160, 0x250), r.randrange(0x300, 0x370), r.randrange(0x3040, 0x30ff),
                                           r.randrange(0x4e00, 0x4f00), r.randrange(0x1f300, 0x1f600)])) for _ in range(r.randrange(1, 8))))
    return "".join(w + r.choice([" ", " ", " ", "", "  "]) for w in words)


# ---- components: name -> a function that draws one ------------------------------------------------------------------------------------------

NOTHING = ["(?=t)", "^", "$", "\\b", "a*", ""]                          # what matches without characters


def pattern(r):
    return r.choice([{"String": r.choice([" ", "a", "e\u0301", "--", META, "t"])}, {"Regex": r.choice([
        "\\s+", "[aeiou]", "\\d", " {2,}", "\\p{L}+", "'s|'t", "^\\s|\\s$", "(?<=\\w)t", "[^\\w\\s]", "(?i)ss"] + NOTHING)}])


BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
YES = [True, False]
NORMALIZERS = {
    "BertNormalizer": lambda r: {"clean_text": r.choice(YES), "handle_chinese_chars": r.choice(YES), "strip_accents": r.choice([None, True, False]), "lowercase": r.choice(YES)},
    "Strip": lambda r: {"strip_left": r.choice(YES), "strip_right": r.choice(YES)},
    "StripAccents": lambda r: {}, "NFC": lambda r: {}, "NFD": lambda r: {}, "NFKC": lambda r: {}, "NFKD": lambda r: {}, "Lowercase": lambda r: {}, "Nmt": lambda r: {},
    "Replace": lambda r: {"pattern": pattern(r), "content": r.choice(["", " ", META, "xy", "é"])},
    "Prepend": lambda r: {"prepend": r.choice([META, " ", "ab"])},
    "ByteLevel": lambda r: {},
}
PRE_TOKENIZERS = {
    "BertPreTokenizer": lambda r: {}, "Whitespace": lambda r: {}, "WhitespaceSplit": lambda r: {}, "UnicodeScripts": lambda r: {},
    "ByteLevel": lambda r: {"add_prefix_space": r.choice(YES), "trim_offsets": True, "use_regex": r.choice(YES)},
    "CharDelimiterSplit": lambda r: {"delimiter": r.choice(["a", " ", "-"])},
    "Metaspace": lambda r: {"replacement": r.choice([META, META, "_"]), "prepend_scheme": r.choice(["always", "first", "never"]), "split": r.choice(YES)},
    "Split": lambda r: {"pattern": pattern(r), "behavior": r.choice(BEHAVIORS), "invert": r.choice(YES)},
    "Punctuation": lambda r: {"behavior": r.choice(BEHAVIORS)},
    "Digits": lambda r: {"individual_digits": r.choice(YES)},
    "FixedLength": lambda r: {"length": r.randrange(1, 6)},
}
MODELS = ["WordPiece", "BPE", "Unigram", "WordLevel"]
POST_PROCESSORS = {
    "BertProcessing": lambda r: {"sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "RobertaProcessing": lambda r: {"sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": r.choice(YES), "add_prefix_space": r.choice(YES)},
    "ByteLevel": lambda r: {"add_prefix_space": r.choice(YES), "trim_offsets": r.choice(YES), "use_regex": True},
    "TemplateProcessing": lambda r: {"single": template(r, "A"), "pair": template(r, "AB"), "special_tokens": {
        x: {"id": x, "ids": ids, "tokens": [x] * len(ids)} for x, ids in (("[CLS]", [2]), ("[SEP]", [3]), ("[X]", [0, 1]))}},
}
DECODERS = {
    "WordPiece": lambda r: {"prefix": r.choice(["##", "@@", ""]), "cleanup": r.choice(YES)},
    "ByteLevel": lambda r: {"add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "Metaspace": lambda r: {"replacement": META, "prepend_scheme": r.choice(["always", "first", "never"]), "split": True},
    "BPEDecoder": lambda r: {"suffix": r.choice(["</w>", "t"])},
    "CTC": lambda r: {"pad_token": r.choice(["<pad>", "a"]), "word_delimiter_token": r.choice(["|", "t"]), "cleanup": r.choice(YES)},
    "Replace": lambda r: {"pattern": pattern(r), "content": r.choice(["", " ", "xy"])},
    "Fuse": lambda r: {}, "ByteFallback": lambda r: {},
    "Strip": lambda r: {"content": r.choice([" ", "t"]), "start": r.randrange(0, 3), "stop": 0},
}
PARTS = {"normalizer": (NORMALIZERS, "normalizers", 0.7), "pre_tokenizer": (PRE_TOKENIZERS, "pretokenizers", 0.8),
         "post_processor": (POST_PROCESSORS, "processors", 0.7), "decoder": (DECODERS, "decoders", 0.8)}


def template(r, texts):
    out = [{"Sequence": {"id": x, "type_id": r.randrange(0, 3)}} for x in texts]
    for _ in range(r.randrange(0, 4)):
        out.insert(r.randrange(0, len(out) + 1), {"SpecialToken": {"id": r.choice(["[CLS]", "[SEP]", "[X]"]), "type_id": r.randrange(0, 3)}})
    return out


def draw_part(r, part, only):
    table, key, share = PARTS[part]
    names = [x for x in table if not only or x in only or part + ":" + x in only]
    one = lambda: dict({"type": (name := r.choice(names))}, **table[name](r))
    if not names or r.random() > share:
        return None
    if part == "post_processor":                                    # a Sequence of ByteLevel and one that adds tokens
        first = one()
        if first["type"] == "TemplateProcessing" and "ByteLevel" in names and r.random() < 0.3:
            return {"type": "Sequence", key: [dict({"type": "ByteLevel"}, **table["ByteLevel"](r)), first]}
        return first
    if r.random() < 0.5:
        return one()
    return {"type": "Sequence", key: [one() for _ in range(r.randrange(0, 4))]}


# ---- vocabularies ---------------------------------------------------------------------------------------------------------------------------

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def pieces_of(r, file, lines):
    """The words that the model gets: those of the pipeline without it."""
    t = Tokenizer.from_str(json.dumps(dict(file, model={"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}, added_tokens=[], post_processor=None)))
    out = []
    for x in lines[:200]:
        try:
            x = t.normalizer.normalize_str(x) if t.normalizer else x
            out += [w for w, _ in t.pre_tokenizer.pre_tokenize_str(x)] if t.pre_tokenizer else [x]
        except BaseException:
            pass
    return [w for w in out if w]


def model(r, kind, words):
    vocab = {x: i for i, x in enumerate(SPECIALS)}
    add = lambda x: vocab.setdefault(x, len(vocab))
    letters = sorted({c for w in words for c in w})
    some = [c for c in letters if r.random() < 0.9]
    unk = r.choice(["[UNK]", "[UNK]", "[UNK]", "none"])
    if kind == "WordLevel":
        for w in sorted(set(words)):
            if r.random() < 0.5:
                add(w)
        return {"type": kind, "vocab": vocab, "unk_token": unk}
    cut = lambda: (lambda w, i: w[i:i + r.randrange(1, 6)])(*(lambda w: (w, r.randrange(0, len(w))))(r.choice(words))) if words else "a"
    prefix = r.choice(["##", "##", "@@", ""])
    if kind == "WordPiece":
        for x in some:
            add(x), add(prefix + x)
        for _ in range(300):
            add(r.choice(["", prefix]) + cut())
        return {"type": kind, "vocab": vocab, "unk_token": unk, "continuing_subword_prefix": prefix, "max_input_chars_per_word": r.choice([100, 5, 12])}
    if kind == "Unigram":
        for x in some:
            add(x)
        for _ in range(300):
            add(cut())
        fallback = r.random() < 0.3
        for b in range(256 if fallback else 0):
            if r.random() < 0.98:
                add("<0x%02X>" % b)
        return {"type": kind, "unk_id": r.choice([1, 1, 1, 0, None]), "byte_fallback": fallback,
                "vocab": [[x, 0.0 if i < 4 else r.choice([-3.0, -r.uniform(2, 12)])] for x, i in vocab.items()]}
    prefix, suffix = r.choice(["", "", "", "##"]), r.choice(["", "", "", "</w>"])
    fallback = not prefix and not suffix and r.random() < 0.3
    for x in some:
        for y in sorted({x, prefix + x, x + suffix, prefix + x + suffix}):
            if not (prefix or suffix) or r.random() < 0.9:
                add(y)
    for b in range(256 if fallback else 0):
        if r.random() < 0.99:
            add("<0x%02X>" % b)
    merges = []
    for _ in range(600):
        w = cut()
        if len(w) < 2:
            continue
        i = r.randrange(1, len(w))
        a, b = (r.choice(["", prefix]) + w[:i]), prefix + w[i:] + r.choice(["", suffix])
        if a in vocab and b in vocab:
            add(a + b[len(prefix):])
            merges.append([a, b])
    if r.random() < 0.3 and not any(" " in x for m in merges for x in m):
        merges = ["#version: 0.2"] * r.randrange(0, 2) + [" ".join(m) for m in merges]
    unk = r.choice(["[UNK]", None, "none"])
    return {"type": kind, "dropout": None, "unk_token": unk, "continuing_subword_prefix": prefix or r.choice([None, ""]), "end_of_word_suffix": suffix or None,
            "fuse_unk": r.choice(YES), "byte_fallback": fallback, "ignore_merges": r.choice(YES), "vocab": vocab, "merges": merges}


def added(r, words, only):
    out = [{"id": i, "content": x, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, x in enumerate(SPECIALS)]
    for _ in range(r.choice([0, 0, 1, 3])):
        x = r.choice(["<mask>", "[MASK]", "dog", "Café", "<s>", "stop", "世", "x y", META + "a", "10"])
        if x not in [o["content"] for o in out]:
            flags = {k: r.random() < 0.4 for k in ("single_word", "lstrip", "rstrip", "normalized", "special")}
            out.append(dict({"id": 5000 + len(out), "content": x}, **flags))
    return out


def without_accidents(file):
    """Text that Replace inserts at the beginning of a text, where its pattern matched nothing, has no place in tokenizers: the next step repeats
    it or panics.  Here the text is inserted, and nothing else happens."""
    x = file["normalizer"] or {}
    steps = x.get("normalizers", [x])
    for s in steps:
        if s.get("type") == "Replace" and s["pattern"].get("Regex") in NOTHING and (len(steps) > 1 or file["pre_tokenizer"]):
            s["content"] = ""


def draw(r, only, lines):
    file = {"version": "1.0", "truncation": None, "padding": None}
    for part in PARTS:
        file[part] = draw_part(r, part, only)
    without_accidents(file)
    words = pieces_of(r, file, lines) or ["a"]
    kind = r.choice([x for x in MODELS if not only or x in only] or MODELS)
    file["model"] = model(r, kind, words)
    if r.random() < 0.15:
        file["model"].pop("type")
    file["added_tokens"] = added(r, words, only)
    return file


def names(file):
    out = []
    for part in PARTS:
        x = file[part]
        out += [part + ":" + y["type"] for y in (x.get(PARTS[part][1], [x]) if x else [])] or [part + ":null"]
    kind = file["model"].get("type", "(no type)")
    return sorted(set(out + ["model:" + kind] + ["added:" + k for a in file["added_tokens"][4:] for k, v in a.items() if v is True]))


# ---- the library ----------------------------------------------------------------------------------------------------------------------------

class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 320)]


class Encoding(ctypes.Structure):
    _fields_ = [("ctx", ctypes.c_void_p), ("n", ctypes.c_size_t), ("capacity", ctypes.c_size_t), ("id", ctypes.POINTER(ctypes.c_int32)), ("type", ctypes.POINTER(ctypes.c_int32)),
                ("start", ctypes.POINTER(ctypes.c_uint32)), ("end", ctypes.POINTER(ctypes.c_uint32)), ("added", ctypes.POINTER(ctypes.c_uint8)), ("scratch", ctypes.c_void_p)]


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.rf_decode.restype = ctypes.c_void_p
        self.ctx, self.why = ctypes.c_void_p(), Error()
        assert not self.lib.rf_ctx_new(None, ctypes.byref(self.ctx), ctypes.byref(self.why)), self.why.text
        self.e = Encoding()
        self.lib.rf_encoding_init(ctypes.byref(self.e), self.ctx)

    def open(self, file):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
                json.dump(file, f)
            with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
                json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "token_type_ids"]}, f)
            t = ctypes.c_void_p()
            bad = self.lib.rf_tokenizer_open(self.ctx, folder.encode(), ctypes.byref(t), ctypes.byref(self.why))
        return None if bad else t

    def encode(self, t, text, pair, plain):
        x, y = text.encode(), pair.encode() if pair is not None else None
        if self.lib.rf_encode(t, x, ctypes.c_size_t(len(x)), y, ctypes.c_size_t(len(y or b"")), ctypes.c_size_t(0), int(plain), ctypes.byref(self.e), None, ctypes.byref(self.why)):
            return self.why.text.decode("utf-8", "replace")
        return [[self.e.id[i], self.e.type[i], self.e.start[i], self.e.end[i]] for i in range(self.e.n)]

    def decode(self, t, ids, skip):
        size = ctypes.c_size_t()
        p = self.lib.rf_decode(t, (ctypes.c_int32 * max(1, len(ids)))(*ids), ctypes.c_size_t(len(ids)), int(skip), 0, ctypes.byref(size))
        text = ctypes.string_at(p, size.value).decode("utf-8", "replace")
        self.lib.rf_text_free(t, ctypes.c_void_p(p))
        return text


class Panic(Exception):
    """tokenizers has no answer."""


def in_bytes(text, pair, e):
    at = []
    for x in (text, pair or ""):
        at.append([0])
        for c in x:
            at[-1].append(at[-1][-1] + len(c.encode()))
    return [[i, k, at[s or 0][o[0]], at[s or 0][o[1]]] if s is not None else [i, k, 0, 0] for i, k, o, s in zip(e.ids, e.type_ids, e.offsets, e.sequence_ids)]


def compare(lib, ours, theirs, text, pair, plain):
    """None, or what differs."""
    got = lib.encode(ours, text, pair, plain)
    try:
        e = theirs.encode(text, pair, add_special_tokens=not plain)
    except BaseException as why:
        if type(why).__name__ == "PanicException":
            raise Panic
        return None if isinstance(got, str) else ("no error", str(why)[:100], got)
    expected = in_bytes(text, pair, e)
    if got != expected:
        kind = "error" if isinstance(got, str) else "ids" if [g[0] for g in got] != e.ids else "types" if [g[1] for g in got] != e.type_ids else "offsets"
        return kind, expected, got
    for skip in (True, False):
        try:
            text = theirs.decode(e.ids, skip_special_tokens=skip)
        except BaseException:
            continue
        got = lib.decode(ours, e.ids, skip)
        if got != text:
            return "decoded", text, got
    return None


# ---- a smaller example ----------------------------------------------------------------------------------------------------------------------

def fails(lib, file, case):
    try:
        theirs = Tokenizer.from_str(json.dumps(file))
    except BaseException:
        return None
    ours = lib.open(file)
    if not ours:
        return ("refused", "", lib.why.text.decode("utf-8", "replace"))
    try:
        found = compare(lib, ours, theirs, *case)
    except Panic:
        found = None
    lib.lib.rf_tokenizer_free(ours)
    return found


def smaller(lib, file, case, kind):
    same = lambda f, c: (x := fails(lib, f, c)) is not None and x[0] == kind
    for part in PARTS:
        if file[part] is not None and same(dict(file, **{part: None}), case):
            file = dict(file, **{part: None})
        elif file[part] is not None and PARTS[part][1] in file[part]:
            key = PARTS[part][1]
            for x in list(file[part][key]):
                less = dict(file, **{part: dict(file[part], **{key: [y for y in file[part][key] if y is not x]})})
                if same(less, case):
                    file = less
    for x in file["added_tokens"][4:]:
        less = dict(file, added_tokens=[y for y in file["added_tokens"] if y is not x])
        if same(less, case):
            file = less
    text, pair, plain = case
    if pair is not None and same(file, (text, None, plain)):
        pair = None
    size = len(text) // 2
    while size:
        i = 0
        while i < len(text):
            if same(file, (text[:i] + text[i + size:], pair, plain)):
                text = text[:i] + text[i + size:]
            else:
                i += size
        size //= 2
    return file, (text, pair, plain)


def show(lib, file, case, kind):
    file, case = smaller(lib, file, case, kind)
    kind, expected, got = fails(lib, file, case) or (kind, "?", "?")
    brief = {k: v for k, v in file["model"].items() if k not in ("vocab", "merges")}
    print("\n%s: %s\n  text %r pair %r plain %r\n  tokenizers %s\n  here       %s" % (kind, json.dumps(dict({p: file[p] for p in PARTS}, model=brief, added=file["added_tokens"][4:]),
                                                                               ensure_ascii=False), *case, str(expected)[:400], str(got)[:400]))


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((x.split(":", 1)[1].strip() for x in f if x.startswith("model name")), "unknown processor")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")), help="default: the day")
    a.add_argument("--pipelines", type=int, default=40)
    a.add_argument("--lines", type=int, default=500)
    a.add_argument("--only", default="", help="components, separated by commas; post_processor:ByteLevel: only as that part")
    a.add_argument("--library", default="build/release/libroformer.so")
    a.add_argument("--show", type=int, default=5, help="failing pipelines to reduce and print")
    o = a.parse_args()
    only = [x for x in o.only.split(",") if x]
    print("%s; tokenizers %s, %s, %s" % (" ".join(["random_pipelines.py"] + sys.argv[1:]), tokenizers.__version__, datetime.date.today(), processor()), flush=True)
    lib, count, bad, kinds, shown = Library(os.path.abspath(o.library)), collections.Counter(), collections.Counter(), collections.Counter(), 0
    r = random.Random(o.seed)
    done = total = panics = 0
    while done < o.pipelines:
        lines = [line(r) for _ in range(o.lines)]
        file = draw(r, only, lines)
        try:
            theirs = Tokenizer.from_str(json.dumps(file))
        except BaseException:
            continue                                                # not a tokenizer: a regex or a merge that tokenizers refuses
        done += 1
        found, ours = None, lib.open(file)
        if not ours:
            found, case = ("refused",), ("", None, False)
        for i, text in enumerate(lines if ours else []):
            case = (text, lines[i - 1] if i % 4 == 1 else None, i % 5 == 2)
            total += 1
            try:
                if (found := compare(lib, ours, theirs, *case)):
                    break
            except Panic:
                panics += 1
        if ours:
            lib.lib.rf_tokenizer_free(ours)
        for x in names(file):
            count[x] += 1
            bad[x] += found is not None
        if found:
            kinds[found[0]] += 1
            shown += 1
            if shown <= o.show:
                show(lib, file, case, found[0])
    print("\n%-36s %9s %9s" % ("component", "pipelines", "differ"))
    for x in sorted(count):
        print("%-36s %9d %9d" % (x, count[x], bad[x]))
    print("seed %d: %d pipelines, %d lines, on %d of which tokenizers panics; %d pipelines differ %s" % (
        o.seed, done, total, panics, sum(kinds.values()), dict(kinds) or ""))
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
