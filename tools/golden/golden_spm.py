#!/usr/bin/env python3
"""golden_spm.py FOLDER: small SentencePiece models with settings of all kinds, and the results of version 0.1.97 for texts: pieces and
their bytes, decoded texts, and samples by seed.

    pip install sentencepiece==0.1.97
    python3 tools/golden/golden_spm.py tests/golden/spm

Later versions take other ones of equally likely pieces, and other random numbers.  Texts are synthetic."""
import io
import os
import struct
import sys
import threading

import sentencepiece as spm

import golden

LINES = ["the rivers of the river rise", "the sea and the rivers of the sea", "a river rises in the sea of rivers", "Ab aB ab AB abab 12 34 1234",
         "there and there the rivers rest", "die Großmutter im Wald", "道可道,非常道", "some <sep> tokens <cls> there", "aaaa aaa aa a"] * 3
TEXTS = LINES[:9] + ["", " ", "  the  sea  ", "\tthe\nsea", "▁the▁▁sea", "the<sep>rivers <cls>", "<s> </s> <unk> [MASK] <pad>", "x y xy", "ab<sep>AB aba",
                     "Q q 漢字 🙂🙂 the", "aaaaaaaaa", "abababab", "ﬁne ＡＢ ①", "cafe\u0301 café", "a\u200bb\x01c", "rivers." * 5, "the\u00a0sea\u3000the", "quux <0x41> <0xFF>"]
RULES = "41 42\t58 59\n41\t61\nFB01\t66 69\n200B\t\nA0\t20\n3000\t20 20\n63 61 66 65\t63\n63 61 66 65 301\t43 41 46 C9\nFF21\t41 20\n"
BACK = "61\t41\n58\t78 78\n"
SETTINGS = {
    "users": dict(model_type="unigram", user_defined_symbols=["<sep>", "<cls>", "ab", "aba", "▁the", "aa"], control_symbols=["[MASK]", "x"], unk_surface="<?>"),
    "plain": dict(model_type="unigram", remove_extra_whitespaces=False, add_dummy_prefix=False),
    "unused": dict(model_type="bpe", user_defined_symbols=["<sep>", "12", "1234"]),
    "suffix": dict(model_type="bpe", byte_fallback=True, treat_whitespace_as_suffix=True, vocab_size=320),
    "word": dict(model_type="word", user_defined_symbols=["<sep>"], vocab_size=30),
    "char": dict(model_type="char", user_defined_symbols=["<sep>", "the", "th"], byte_fallback=True, vocab_size=310),
}


def varint(x):
    out = b""
    while x > 127:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def fields(data):
    """(number, wire type, its bytes, its content) of each field of a message."""
    at = 0

    def number():
        nonlocal at
        x = shift = 0
        while True:
            byte = data[at]
            at += 1
            x |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return x
    while at < len(data):
        begin, tag = at, number()
        if tag & 7 == 2:
            size = number()
            content = data[at:at + size]
            at += size
        elif tag & 7 == 0:
            content = number()
        else:
            at += 4 if tag & 7 == 5 else 8
            content = data[at - 4:at]
        yield tag >> 3, tag & 7, data[begin:at], content


def edit(model, unused):
    """Scores of halves, so that there are ties; every fourth normal piece of several characters unused."""
    out, k = b"", 0
    for number, _, whole, content in fields(model):
        if number != 1:
            out += whole
            continue
        piece, score, kind = b"", 0.0, 1
        for n, _, _, c in fields(content):
            if n == 1:
                piece = c
            elif n == 2:
                score = struct.unpack("<f", c)[0]
            elif n == 3:
                kind = c
        if kind == 1 and len(piece.decode()) > 1:
            k += 1
            kind = 5 if unused and k % 4 == 0 else 1
        body = b"\x0a" + varint(len(piece)) + piece + b"\x15" + struct.pack("<f", round(2 * score) / 2) + b"\x18" + varint(kind)
        out += b"\x0a" + varint(len(body)) + body
    return out


def spans(sp, text):
    at, k = [], 0
    for c in text:
        at.append(k)
        k += len(c.encode())
    at.append(k)
    return [[p.id, at[p.begin], at[p.end]] for p in sp.encode(text, out_type="immutable_proto").pieces]


def sample(sp, text, nbest, alpha, seed):
    """The generator of random numbers is the thread's, and is seeded when it first asks."""
    out = []

    def run():
        out.extend(sp.encode(text, enable_sampling=True, nbest_size=nbest, alpha=alpha))
    spm.set_random_generator_seed(seed)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    return [nbest, alpha, seed, out]


def main(folder):
    assert spm.__version__ == "0.1.97", spm.__version__
    os.makedirs(folder, exist_ok=True)
    for name, options in SETTINGS.items():
        with open("rules.tsv", "w") as f:
            f.write(RULES)
        with open("back.tsv", "w") as f:
            f.write(BACK)
        model = io.BytesIO()
        spm.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=model, hard_vocab_limit=False, minloglevel=2, num_threads=1,
                                       normalization_rule_tsv="rules.tsv", denormalization_rule_tsv="back.tsv" if name in ("users", "char") else "",
                                       **{"vocab_size": 90, **options})
        os.remove("rules.tsv")
        os.remove("back.tsv")
        model = edit(model.getvalue(), name in ("unused", "plain"))
        with open(os.path.join(folder, name + ".model"), "wb") as f:
            f.write(model)
        sp = spm.SentencePieceProcessor(model_proto=model)
        cases = []
        for i, x in enumerate(TEXTS):
            try:
                pieces = spans(sp, x)
            except RuntimeError:                                       # a control piece's character, which this version refuses
                continue
            case = {"text": x, "pieces": pieces, "decoded": sp.decode([p[0] for p in pieces])}
            if options["model_type"] == "unigram":
                case["samples"] = [sample(sp, x, nbest, alpha, i) for nbest, alpha in ((-1, 0.5), (4, 0.1), (64, 1.0))]
            if options["model_type"] == "bpe":
                case["samples"] = [sample(sp, x, -1, 0.3, i)]
            cases.append(case)
        golden.write_json(os.path.join(folder, name + ".json"), {"sentencepiece": spm.__version__, "cases": cases})
        print(name, len(model), len(cases), sp.get_piece_size())


if __name__ == "__main__":
    main(sys.argv[1])
