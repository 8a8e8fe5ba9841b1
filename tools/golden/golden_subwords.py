#!/usr/bin/env python3
"""golden_subwords.py FOLDER: two small SentencePiece models, and the ids that Python's sentencepiece gives for texts.
golden_subwords.py --check PROGRAM MODEL_FOLDER TEXT...: ids and offsets of a program compared with it, line by line.

    pip install sentencepiece==0.2.3 protobuf sacrebleu==2.6.0 regex
    python3 tools/golden/golden_subwords.py tests/golden/subwords
    roformer vocab --type unigram --text corpus.txt -o model
    python3 tools/golden/golden_subwords.py --check build/release/roformer model enwiki.txt.gz zhwiki.txt.gz

Texts are of books in the public domain and made up."""
import gzip
import io
import os
import sys

import sentencepiece as spm

import golden

MORE = ["the rivers of the sea", "", " ", "  two  spaces ", "a\tb", "Ishmael Ishmael", "🙂🙂 ok", "▁", "a▁b", "x" * 40, "Großmutter thought of Meung."]


def spans(sp, text):
    """Ids with offsets in bytes."""
    return [[p.id, p.begin, p.end] for p in sp.encode(text, return_type="proto").pieces]


def characters(sp, text):
    """The same with offsets in characters; versions before 0.2.1 count so."""
    if not hasattr(sp, "_resolve_return_type"):
        return [[p.id, p.begin, p.end] for p in sp.encode(text, out_type="immutable_proto").pieces]
    at, k = {}, 0
    for i, c in enumerate(text):
        at[k] = i
        k += len(c.encode())
    at[k] = len(text)
    return [[i, at[x], at[y]] for i, x, y in spans(sp, text)]


def score(sp, ids):
    return sum(sp.get_score(i) for i in ids)


def tie(sp, model, text):
    """Two segmentations are equally likely (0 00 and 00 0): versions of SentencePiece differ in which they take."""
    if model == "bpe" or not text.strip():
        return False
    two = sp.nbest_encode(text, nbest_size=2)
    return len(two) == 2 and abs(score(sp, two[0]) - score(sp, two[1])) < 1e-4


def write(folder):
    from golden_bleu import CHINESE, ENGLISH, FRENCH, GERMAN, ODD
    lines = [x for x in ENGLISH + GERMAN + FRENCH + CHINESE for _ in range(3)]
    os.makedirs(folder, exist_ok=True)
    for name, options in (("unigram", {}), ("bpe", {}), ("bytes", {"byte_fallback": True})):
        model = io.BytesIO()
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type="bpe" if name == "bpe" else "unigram",
            vocab_size=300 if name != "bytes" else 520, normalization_rule_name="identity", character_coverage=0.99,
            hard_vocab_limit=False, minloglevel=2, **options)
        with open(os.path.join(folder, name + ".model"), "wb") as f:
            f.write(model.getvalue())
        sp = spm.SentencePieceProcessor(model_proto=model.getvalue())
        cases = [{"text": x, "pieces": spans(sp, x), "decoded": sp.decode(sp.encode(x))} for x in lines[::3] + ODD + MORE
                 if not tie(sp, name, x)]
        golden.write_json(os.path.join(folder, name + ".json"), {"sentencepiece": spm.__version__, "cases": cases}, ensure_ascii=False)


def read_lines(path):
    with (gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")) as f:
        for i, line in enumerate(f):
            if i >= int(os.environ.get("LINES", "50000")):
                break
            line = line.decode("utf-8", "replace").rstrip("\r\n")
            if "[" not in line and "\0" not in line:                   # no special tokens
                yield line


def check(program, folder, paths):
    sp = spm.SentencePieceProcessor(model_file=os.path.join(folder, "spiece.model"))
    bad = 0
    for path in paths:
        lines = list(read_lines(path))
        differ = ties = 0
        for x, y in zip(lines, golden.tokenized(program, folder, lines, "--no-special")):
            expected = characters(sp, x)
            if [[i, *o] for i, o in zip(y["ids"], y["offsets"])] != expected:
                if abs(score(sp, y["ids"]) - score(sp, [p[0] for p in expected])) < 1e-4:
                    ties += 1
                    continue
                differ += 1
                if differ < 3:
                    print(repr(x[:200]), expected[:20], y)
        print("%-40s %8d lines  %6d differ, %d more in ties" % (os.path.basename(path), len(lines), differ, ties))
        bad += differ
    return bad != 0


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(check(sys.argv[2], sys.argv[3], sys.argv[4:]))
    write(sys.argv[1])
