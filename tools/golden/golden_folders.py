#!/usr/bin/env python3
"""Writes tests/golden/text/folders.txt: contrived tokenizer folders, and the ids that transformers 5 gives for texts.

    python tools/golden/golden_folders.py          with transformers 5

Each folder is one combination of class, settings and parts of tokenizer.json.  Lines:

    #  where the file comes from
    D  number text                          the text of a file, in hexadecimal
    F  class settings parts                 a new folder, and how it came about
    W  name number                          a file of it
    I  ids ...                              of TEXTS[k] in order, [CLS] and [SEP] included where the class adds them;
    P  ids ...                              of TEXTS[0] and TEXTS[1] as a pair
    E                                       transformers refuses the folder

The texts are in the file: T lines, before the first folder.
"""
import itertools
import json
import os
import sys
import tempfile

from transformers import AutoTokenizer

import golden

OUT = golden.GOLDEN / "text" / "folders.txt"
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "A", "é", "e", "漢", "字", "<s>", "##é", "漢字", "##a", "b", "aaaa"]
OTHER = VOCAB[:5] + list(reversed(VOCAB[5:]))
TEXTS = ["a Ab é É 漢字 aaaa", "[MASK] b<x>e <s>", "", "abab aaaaa [CLS]"]
CLASSES = ["BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"]
SETTINGS = {
    "none": {},
    "cased": {"do_lower_case": False},
    "lower": {"do_lower_case": True},
    "strip": {"do_lower_case": False, "strip_accents": True},
    "whole": {"tokenize_chinese_chars": False},
    "named": {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"},
    "other": {"cls_token": "<s>", "unk_token": "e"},
    "added": {"added_tokens_decoder": {"18": {"content": "<x>", "lstrip": True, "normalized": False, "rstrip": False,
                                              "single_word": False, "special": True}}},
}
NORMAL = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def template(cls="[CLS]", cls_id=2):
    piece = lambda name, kind, t: {name: {"id": kind, "type_id": t}}
    one = [piece("SpecialToken", cls, 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)]
    return {"type": "TemplateProcessing", "single": one,
            "pair": one + [piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)],
            "special_tokens": {cls: {"id": cls, "ids": [cls_id], "tokens": [cls]},
                               "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}}


def fast(normal=(), post="template", vocab=VOCAB, longest=100, unk="[UNK]", added=True):
    posts = {"template": template(), "null": None, "first": template("<s>", VOCAB.index("<s>")),
             "bert": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}}
    tokens = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
               "special": True} for i, t in enumerate(VOCAB[:5])] if added else []
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": {**NORMAL, **dict(normal)}, "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": posts[post], "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": unk, "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": longest, "vocab": {t: i for i, t in enumerate(vocab)}}}


PARTS = {
    "usual": (fast(), False),
    "cased": (fast({"lowercase": False}), False),
    "strip": (fast({"lowercase": False, "strip_accents": True}), False),
    "whole": (fast({"handle_chinese_chars": False}), False),
    "bare": (fast(post="null"), False),
    "first": (fast(post="first"), False),
    "bert": (fast(post="bert"), False),
    "short": (fast(longest=3), False),
    "unk": (fast(unk="e"), False),
    "unadded": (fast(added=False), False),
    "both": (fast({"lowercase": False}), True),
    "disagree": (fast(vocab=OTHER), True),
    "lines": (None, True),
}


def folders():
    for name, (setting, part) in itertools.product(CLASSES, itertools.product(SETTINGS, PARTS)):
        if part == "lines" and not name.startswith("Bert"):
            continue
        files = {"tokenizer_config.json": json.dumps({"tokenizer_class": name, **SETTINGS[setting]})}
        whole, lines = PARTS[part]
        if whole:
            files["tokenizer.json"] = json.dumps(whole, ensure_ascii=False)
        if lines:
            files["vocab.txt"] = "\n".join(VOCAB) + "\n"
        yield "%s %s %s" % (name, setting, part), files
    for name in CLASSES[:3:2]:
        files = {"tokenizer_config.json": json.dumps({"tokenizer_class": name, "mask_token": "[MASK]", "cls_token": "[CLS]"}),
                 "special_tokens_map.json": json.dumps({"cls_token": "<s>", "mask_token": "e"}),
                 "tokenizer.json": json.dumps(fast(), ensure_ascii=False)}
        yield name + " map usual", files


def answers(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as f:
                f.write(text)
        try:
            t = AutoTokenizer.from_pretrained(folder)
        except Exception:
            return ["E"]
        out = ["I " + " ".join(map(str, t(text)["input_ids"])) for text in TEXTS]
        return out + ["P " + " ".join(map(str, t(TEXTS[0], TEXTS[1])["input_ids"]))]


def main():
    lines = [golden.written_by("golden_folders.py")]
    lines += ["T " + (text.encode().hex() or "-") for text in TEXTS]
    known = {}
    for name, files in folders():
        for text in files.values():
            if text not in known:
                known[text] = len(known)
                lines.append("D %d %s" % (known[text], text.encode().hex()))
        lines.append("F " + name)
        lines += ["W %s %d" % (file, known[text]) for file, text in files.items()]
        lines += answers(files)
    golden.write_lines(sys.argv[1] if len(sys.argv) > 1 else OUT, lines)


if __name__ == "__main__":
    main()
