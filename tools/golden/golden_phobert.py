#!/usr/bin/env python3
"""Makes tests/golden/phobert: vocab.txt and bpe.codes in PhoBERT's format, learned from a few lines, and ids that transformers' class
PhobertTokenizer gives, in its versions 4.57 and 5 (run once with each: the second run compares).  The tests need none of this.

    python tools/golden/golden_phobert.py                  # rewrites tests/golden/phobert, or compares if another version wrote it
    python tools/golden/golden_phobert.py --check PROGRAM  # a program and transformers on random texts
"""
import collections
import json
import random
import sys

from transformers import PhobertTokenizer

import golden

ROOT = golden.GOLDEN / "phobert"
LINES = ["Chúng_tôi là những nghiên_cứu_viên .", "Hà_Nội là thủ_đô của Việt_Nam , thành_phố đẹp nhất .", "tôi đi học , tôi yêu tiếng Việt",
         "những người nghiên_cứu ở Hà_Nội học tiếng Việt mỗi ngày", "the quick brown fox , the lazy dog and the river",
         "Việt_Nam có nhiều sông và núi ; sông dài nhất là sông Mê_Kông"]
TEXTS = LINES + ["", " ", "x", "tôi", "tôi là 漢字 🙂 tôi", "word\nword\n\nword  word\t\ttab", "a\u00a0b\u3000c\u2028d\x1ce\x85f", "<mask> sông <s> </s><pad> <unk>x",
                 "nghiên@@ cứu", "@@", "sông@@", "Nghiên_cứu_viên NGHIÊN", "tôi </w> là", "z" * 70, "tôi<mask>là", "nút\n"]
PAIRS = [(TEXTS[0], TEXTS[1]), ("sông", ""), ("", "núi")]


def learn(count):
    """subword-nmt's algorithm: merges with counts, and the pieces of the lines with theirs."""
    words = collections.Counter(w for line in LINES for w in line.split())
    cut = {w: list(w[:-1]) + [w[-1] + "</w>"] for w in words}
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for w, n in words.items():
            for pair in zip(cut[w], cut[w][1:]):
                pairs[pair] += n
        (a, b), n = max(pairs.items(), key=lambda x: (x[1], x[0]))
        merges.append((a, b, n))
        for w, parts in cut.items():
            i = 0
            while i + 1 < len(parts):
                if (parts[i], parts[i + 1]) == (a, b):
                    parts[i:i + 2] = [a + b]
                i += 1
    pieces = collections.Counter()
    for w, n in words.items():
        for part in cut[w]:
            pieces[part[:-4] if part.endswith("</w>") else part + "@@"] += n
    return merges, pieces


def write():
    merges, pieces = learn(90)
    golden.fresh(ROOT)
    # The rarest pieces are not in the vocabulary, as in the published one.
    golden.write_lines(ROOT / "vocab.txt", ["%s %d" % x for x in pieces.most_common(len(pieces) - 9)])
    golden.write_lines(ROOT / "bpe.codes", ["%s %s %d" % x for x in merges])
    golden.write_json(ROOT / "tokenizer_config.json", dict(tokenizer_class="PhobertTokenizer"))


def answers(tokenizer):
    rows = [dict(text=t, ids=tokenizer(t)["input_ids"], tokens=tokenizer.tokenize(t)) for t in TEXTS]
    return rows + [dict(text=a, pair=b, ids=tokenizer(a, b)["input_ids"]) for a, b in PAIRS]


def check(program):
    rows = random.Random(7)
    alphabet = sorted(set("".join(LINES))) + ["\t", "\u00a0", "漢", "@", "<mask>", "</s>", "  ", "</w>"]
    texts = ["".join(rows.choices(alphabet, k=rows.randrange(40))) for _ in range(3000)] + \
            [" ".join(rows.choices(" ".join(LINES).split(), k=rows.randrange(1, 12))) for _ in range(1000)]
    texts = [t for t in texts if t.split("\n") == [t] and "\r" not in t]
    tokenizer = PhobertTokenizer.from_pretrained(str(ROOT))
    mine = golden.tokenized(program, str(ROOT), texts)
    differing = [t for t, row in zip(texts, mine) if row["ids"] != tokenizer(t)["input_ids"]]
    print("%d of %d texts differ" % (len(differing), len(texts)), differing[:3])
    return bool(differing)


def main():
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2])
    file = ROOT / "cases.jsonl"
    old = file.read_text().split("\n")[:-1] if file.exists() else []
    mine = golden.version("transformers")
    if old and mine not in old[0]:
        lines = [json.dumps(row) for row in answers(PhobertTokenizer.from_pretrained(str(ROOT)))]
        assert lines == old[1:], [x for x in zip(lines, old[1:]) if x[0] != x[1]][:3]
        print("transformers %s gives the same" % mine)
        return 0
    write()
    rows = answers(PhobertTokenizer.from_pretrained(str(ROOT)))
    golden.write_lines(file, [golden.made_with(packages=("transformers",)), *(json.dumps(row) for row in rows)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
