#!/usr/bin/env python3
"""golden_bleu.py FOLDER [PROGRAM]: scores of sacreBLEU 2.6 for synthetic translations.

    pip install sacrebleu==2.6.0 regex
    python3 tools/golden/golden_bleu.py tests/golden/bleu
    python3 tools/golden/golden_bleu.py /tmp/x build/release/roformer      also: larger corpora, compared with the program

Sentences are of books in the public domain (Austen, Melville, Carroll, Grimm, Laozi, Dumas) and made up; systems are these
with words left out, moved, replaced, put twice."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata

import regex
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

import golden

assert sacrebleu.__version__ == "2.6.0", sacrebleu.__version__

ENGLISH = """Call me Ishmael.
Some years ago - never mind how long precisely - having little or no money in my purse, I thought I would sail about a little.
It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife.
Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do.
"But I don't want to go among mad people," Alice remarked.
"Oh, you can't help that," said the Cat: "we're all mad here."
The quick brown fox costs $1,234.50 (or 1.234,50 EUR), i.e. 3-4 times more & twice "as" much!
In 1984, the U.S. well-known mother-in-law's e-mail was 100% re-read at 5:30 p.m.
There is no fish on the 2nd floor; the end.""".split("\n")
GERMAN = """Es war einmal eine kleine süße Dirne, die hatte jedermann lieb.
Großmutter, was hast du für große Ohren!
Daß ich dich besser hören kann.
Vor einem großen Walde wohnte ein armer Holzhacker mit seiner Frau und seinen zwei Kindern.
Die Straßenbahn-Haltestelle kostet 1.000,50 €; das 3-fache ÜBERALL.""".split("\n")
CHINESE = """道可道，非常道。名可名，非常名。
无名天地之始；有名万物之母。
故常无欲，以观其妙；常有欲，以观其徼。
上善若水 (Laozi, chapter 8)，水善利万物而不争。
千里之行，始於足下 100% OK。""".split("\n")
FRENCH = """Le premier lundi du mois d'avril 1625, le bourg de Meung semblait être dans une révolution entière.
« Tous pour un, un pour tous », c’est notre devise, n’est-ce pas ?
ΟΔΥΣΣΕΥΣ ΣΟΦΟΣ. ΑΣ Σ ΙΣΤΑΝΒΟΥΛ İSTANBUL ǅ Ⅷ""".split("\n")
ODD = ["", " ", "\u00a0", "a\u00a0b \u2003c\u3000d", "x\u001cy\u001dz\u001e\u001f", "tab\there  two", "\u200b zero\u200bwidth \ufeff", "e\u0301 é ﬁ ﬂ",
       "٣٫١٤ ١٬٠٠٠ १२३.४५६, ½ ² ① Ⅷ 一二三.四", "—em—dash… “quotes” ‘single’ ‹angle› ¿qué? ¡oh!", "😀😃👍🏽👨‍👩‍👧 flags 🇩🇪", "𝒜𝓁𝒾𝒸ℯ 𠀀𪛖 \U0002f800",
       "€5 £6 ¥7 ₿8 + − × ÷ = < > ^ ` ~ | ¬ © ® ° ±", "&quot;quoted&quot; &amp;lt; &lt;b&gt; &apos; <skipped> a<skipped>b", "1,000.5 .5 5. ,5 5, 1.a a.1 1-2 a-1 1-a -1 --",
       "...,,, ... . , .. ,. 1.2.3,4", "don't 'tis rock'n'roll ''", "(hi) !? a! !a -- - a- -a ''a'' .", "a", ".", "!", "ＡＢＣ１２３，．！？ ﾊﾝｶｸ 전각 ꜀ ︐︰﹏", "\u2001\u2010x\u2fa1 ☃❤✂⺀⿰㆐㍿", "ǅungla ŒUVRE ẞ ΆΣ Σ. ΑΣ' ΑΣ'Β",
       "Ünï‿cödé\u0085next\u2028line", "a b c d e f g h i j k l m n o p", "the the the the the the the", "q " * 60, "word"]
WORDS = "the a of to and in is was he for on with as his that at by sea whale ship captain old white man said good time long , . ! ; :".split()


def noise(r, text, level):
    words = text.split(" ")
    for _ in range(int(level * (len(words) + 2))):
        k, i = r.randrange(7), r.randrange(len(words) + 1)
        if k == 0 and words:
            del words[min(i, len(words) - 1)]
        elif k == 1:
            words.insert(i, r.choice(WORDS))
        elif k == 2 and words:
            words[min(i, len(words) - 1)] = r.choice(WORDS)
        elif k == 3 and len(words) > 3:
            n, to = r.randrange(1, 5), r.randrange(len(words))
            block, rest = words[i:i + n], words[:i] + words[i + n:]
            words = rest[:to] + block + rest[to:]
        elif k == 4 and words:
            j = min(i, len(words) - 1)
            words[j] = r.choice([str.upper, str.lower, str.title, lambda w: w + ",", lambda w: w[:-1]])(words[j])
        elif k == 5 and words:
            words.insert(i, words[min(i, len(words) - 1)])
    return " ".join(words)


def corpus(r, lines, references, level):
    lines = [x.rstrip() for x in lines]
    refs = [[noise(r, x, 0 if k == 0 else 0.3).rstrip() for x in lines] for k in range(references)]
    return [noise(r, x, level).rstrip() for x in lines], refs


def corpora(r):
    out = []
    for name, lines in (("en", ENGLISH), ("de", GERMAN), ("zh", CHINESE), ("fr", FRENCH), ("odd", ODD)):
        for references, level in ((1, 0.15), (2, 0.4), (4, 0.9)):
            out.append((f"{name}-{references}",) + corpus(r, lines, references, level))
    out.append(("same", ENGLISH, [ENGLISH]))
    out.append(("nothing", ["", "", ""], [["a b", "", "c"]]))
    out.append(("no-reference", ["a b", "", "c d e f g"], [["", "", ""]]))
    out.append(("short", ["a", "b c", "d"], [["a", "b d", "e f"]]))
    moved = [r.sample(WORDS * 3, k) for k in (5, 12, 30, 60, 90)]
    out.append(("moved", [" ".join(m) for m in moved], [[" ".join(m[len(m) // 2:] + m[:len(m) // 2]) for m in moved]]))
    out.append(("uneven", ["a b c " * 40, "x", "s t"], [["b c", "x y z " * 60, "t " * 120]]))
    return out


TOKENIZERS = ["13a", "intl", "zh", "char", "none"]


def bleu_options():
    for tok in TOKENIZERS:
        for lc in (False, True):
            yield dict(tokenize=tok, lowercase=lc)
    for smooth, value in (("floor", None), ("floor", 0.5), ("add-k", None), ("add-k", 2.0), ("none", None)):
        yield dict(smooth_method=smooth, smooth_value=value)
    yield dict(effective_order=True)
    yield dict(max_ngram_order=2)


def chrf_options():
    yield dict()
    yield dict(word_order=2)
    yield dict(lowercase=True)
    yield dict(char_order=4, word_order=1, beta=3)


def ter_options():
    yield dict()
    yield dict(case_sensitive=True)


def entry(metric, o, name, system, refs):
    m = {"BLEU": BLEU, "CHRF": CHRF, "TER": TER}[metric](**o)
    if metric == "BLEU":
        m._force = True
    s = m.corpus_score(system, refs)
    e = {"corpus": name, "metric": metric, "score": s.score, "signature": str(m.get_signature()), **o}
    if metric == "BLEU":
        e.update(precisions=s.precisions, bp=s.bp, sys_len=s.sys_len, ref_len=s.ref_len)
    b = dict(o)
    if metric == "BLEU":
        b["effective_order"] = True
    one = {"BLEU": BLEU, "CHRF": CHRF, "TER": TER}[metric](**b)
    e["segments"] = [round(one.sentence_score(h, list(r)).score, 6) for h, *r in zip(system, *refs)]
    return e


def all_entries(names):
    for name, system, refs in names:
        for metric, options in (("BLEU", bleu_options), ("CHRF", chrf_options), ("TER", ter_options)):
            for o in options():
                yield entry(metric, o, name, system, refs)


def tests(r, names):
    """Intervals and p-values."""
    out = []
    by = {n[0]: n for n in names}
    for name in ("en-1", "de-2", "odd-4"):
        _, system, refs = by[name]
        system, refs = system * 5, [x * 5 for x in refs]
        other = [noise(r, x, 0.1).rstrip() for x in system]
        for metric, make in (("BLEU", BLEU), ("CHRF", CHRF), ("CHRF++", lambda: CHRF(word_order=2)), ("TER", TER)):
            m = make()
            s = m.corpus_score(system, refs, n_bootstrap=1000)
            e = {"corpus": name, "metric": metric, "times": 5, "other": other, "mean": s._mean, "ci": s._ci}
            for kind in ("ar", "bs"):
                _, scores = PairedTest([("base", system), ("other", other)], {"m": make()}, refs, test_type=kind,
                                       n_samples=1000)()
                result = [v for k, v in scores.items() if k != "System"][0][1]
                e[kind] = {"score": result.score, "p": result.p_value, "mean": result.mean, "ci": result.ci}
            out.append(e)
    return out


def compounds(text):
    return re.sub(r"([^ \t\n\r\f\v])-([^ \t\n\r\f\v])", r"\1 ##AT##-##AT## \2", text)


def groups():
    """Ranges of code points by the first letter of their category; a small letter where Python's Unicode has none yet."""
    out, begin, last = [], 0, None
    for c in range(0x110001):
        g = None
        if c < 0x110000 and not 0xD800 <= c < 0xE000:
            g = next((k for k in "NPS" if PATTERN[k].match(chr(c))), None)
            if g and unicodedata.category(chr(c)) == "Cn":
                g = g.lower()
        if g != last:
            if last:
                out.append([begin, c - 1, last])
            begin, last = c, g
    return out


PATTERN = {k: regex.compile(rf"\p{{{k}}}") for k in "NPS"}


def write(folder, name, value):
    golden.write_json(os.path.join(folder, name), value, ensure_ascii=False, default=float)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    r = random.Random(5)
    names = corpora(r)
    tokenized = []
    for name, system, refs in names:
        if not name.startswith(("en", "de", "odd")):
            continue
        s = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(
            [compounds(x) for x in system], [[compounds(x) for x in k] for k in refs])
        tokenized.append({"corpus": name, "score": s.score, "sys_len": s.sys_len, "ref_len": s.ref_len})
    write(folder, "scores.json", {
        "version": sacrebleu.__version__,
        "corpora": {n: {"system": s, "references": k} for n, s, k in names},
        "cases": list(all_entries(names)), "tokenized": tokenized})
    write(folder, "tests.json", {"cases": tests(r, names)})
    write(folder, "groups.json", {"ranges": groups()})
    if len(sys.argv) > 2:
        compare(sys.argv[2], r)


def run(program, args):
    p = subprocess.run([program, "bleu", "--json", "--width", "6", *args], capture_output=True, text=True, check=True)
    return [json.loads(x) for x in p.stdout.splitlines()]


def compare(program, r):
    """Corpora that are not kept: every score to 1e-5."""
    pool, bad, n = ENGLISH + GERMAN + CHINESE + FRENCH + ODD, 0, 0
    for k in range(60):
        count = r.randrange(1, 4)
        system, refs = corpus(r, [r.choice(pool) for _ in range(r.randrange(1, 200))], count, r.random())
        if not any(system):
            continue
        with tempfile.TemporaryDirectory() as t:
            files = []
            for i, x in enumerate([system, *refs]):
                files.append(os.path.join(t, str(i)))
                with open(files[-1], "w", encoding="utf-8", newline="\n") as f:
                    f.write("".join(y + "\n" for y in x))
            for args, m in [(["--metrics", "chrf"], CHRF()), (["--metrics", "chrf++", "--lowercase"], CHRF(word_order=2, lowercase=True)),
                            (["--metrics", "ter"], TER())] + [
                               (["--tokenize", tok, *(["--lowercase"] if lc else [])], BLEU(tokenize=tok, lowercase=lc, force=True))
                               for tok in TOKENIZERS for lc in (False, True)]:
                expected = m.corpus_score(system, refs).score
                got = run(program, [*args, *files[1:], "-i", files[0]])[0]["score"]
                n += 1
                if abs(expected - got) > 1e-5:
                    bad += 1
                    print(f"case {k} {args}: {got}, sacreBLEU {expected}")
    print(f"{n} scores compared, {bad} differ")


if __name__ == "__main__":
    main()
