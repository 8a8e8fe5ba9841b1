#!/usr/bin/env python3
"""Makes tests/golden/subwords/t5.model, the pieces of unigram.model in T5's order with a user-defined one, and t5.jsonl: ids that
transformers' T5Tokenizer gives for texts from it, under several settings.

    pip install transformers==5.24.0 sentencepiece
    python tools/golden/golden_t5_text.py
"""
import json
import pathlib
import shutil
import tempfile

from sentencepiece import sentencepiece_model_pb2
from transformers import AutoTokenizer

import golden

FOLDER = golden.GOLDEN / "subwords"
TEXTS = ["the old man and the sea", "  two  blanks ", "a <extra_id_0> b<extra_id_2>", "a</s>b <pad>", "", "café ﬁne ½", "你好", "UPPER\tand\nlines",
         "translate English to German: the sea", "<unk> <user> x<user>y", "<extra_id_99> <foo>"]
CLASS = {"tokenizer_class": "T5Tokenizer"}
CASES = [
    ({"model_type": "t5"}, {}),
    ({"model_type": "mt5"}, {}),
    ({"model_type": "t5"}, {**CLASS, "extra_ids": 0, "legacy": False}),
    ({"model_type": "t5"}, {"tokenizer_class": "T5TokenizerFast", "extra_ids": 3, "legacy": True,
                            "additional_special_tokens": ["<extra_id_0>", "<extra_id_1>", "<extra_id_2>"]}),
    ({"model_type": "t5"}, {**CLASS, "extra_ids": 0, "additional_special_tokens": ["<foo>"]}),
    ({"model_type": "t5"}, {**CLASS, "unk_token": "<none>"}),
]


def model():
    m = sentencepiece_model_pb2.ModelProto.FromString((FOLDER / "unigram.model").read_bytes())
    pieces = [(p.piece, p.score) for p in m.pieces if p.type == 1]
    del m.pieces[:]
    for name, score, kind in [("<pad>", 0, 3), ("</s>", 0, 3), ("<unk>", 0, 2), ("<user>", 0, 4), *((*p, 1) for p in pieces)]:
        m.pieces.add(piece=name, score=score, type=kind)
    return m.SerializeToString()


def main():
    (FOLDER / "t5.model").write_bytes(model())
    rows = []
    for config, settings in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(FOLDER / "t5.model", folder / "spiece.model")
            (folder / "config.json").write_text(json.dumps({**config, "transformers_version": "5.24.0"}))
            (folder / "tokenizer_config.json").write_text(json.dumps(settings))
            t = AutoTokenizer.from_pretrained(folder)
            ids = [t(text)["input_ids"] for text in TEXTS]
            rows.append(json.dumps({"config": config, "settings": settings, "texts": TEXTS, "ids": ids,
                                    "decoded": [t.decode(i, skip_special_tokens=True) for i in ids]}))
    golden.write_lines(FOLDER / "t5.jsonl", rows)


if __name__ == "__main__":
    main()
