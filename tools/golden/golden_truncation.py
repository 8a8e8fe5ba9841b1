#!/usr/bin/env python3
"""golden_truncation.py FILE: how transformers truncates texts and pairs with truncation_side in tokenizer_config.json, and with the truncation and
padding of a tokenizer.json.

    pip install transformers==5.24.0
    python3 tools/golden/golden_truncation.py tests/golden/text/truncation.json

Ids without `padding` are the same with every padding of the file: it adds nothing unless a call asks for it, and then only what the attention
mask hides."""
import json
import os
import sys
import tempfile

import transformers
from transformers import AutoTokenizer

import golden

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list("abcdefghij")
TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
TEXTS = [("a b c d e f g h", None), ("a b", None), ("a b c d e f g h", "i j"), ("a b", "c d e f g h i j"), ("a b c d e", "f g h i j"), ("", "a b c d e f g h"), ("", None)]


def whole(truncation, padding, model):
    file = {"version": "1.0", "truncation": truncation, "padding": padding, "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "added_tokens": [{"id": i, "content": x, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, x in enumerate(VOCAB[:5])],
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {x: i for i, x in enumerate(VOCAB)}}}
    if model == "WordLevel":
        file["model"] = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": file["model"]["vocab"]}
    return file


def case(kind, model, side, direction, padding):
    truncation = direction and {"direction": direction, "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    padding = padding and {"strategy": padding, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    file, settings = whole(truncation, padding, model), dict(TOKENS, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    if kind:
        settings["tokenizer_class"] = kind
    if side:
        settings["truncation_side"] = side
    with tempfile.TemporaryDirectory() as folder:
        for name, x in (("tokenizer.json", file), ("tokenizer_config.json", settings), ("config.json", {"model_type": "bert"})):
            golden.write_json(os.path.join(folder, name), x)
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(VOCAB) + "\n")
        t = AutoTokenizer.from_pretrained(folder)
        ids = [{"text": a, "pair": b, "limit": n, "ids": t(a, b, truncation=n > 0, max_length=n or None)["input_ids"]} for a, b in TEXTS for n in (0, 5, 8)]
    return {"tokenizer": file, "settings": settings, "cases": ids}


def main(path):
    sets = [case(kind, model, side, direction, padding) for kind, model in (("PreTrainedTokenizerFast", "WordPiece"), ("PreTrainedTokenizerFast", "WordLevel"), ("BertTokenizer", "WordPiece"))
            for side in (None, "left", "right") for direction, padding in ((None, None), ("Left", {"Fixed": 9}), ("Right", "BatchLongest"))]
    golden.write_json(path, {"transformers": transformers.__version__, "sets": sets})


if __name__ == "__main__":
    main(sys.argv[1])
