#!/usr/bin/env python3
"""Makes tests/golden/roberta: tiny RoBERTas with random weights and every head, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_roberta.py                    # rewrites tests/golden/roberta
    python tools/golden/golden_roberta.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import json
import sys

import torch
from transformers import (RobertaConfig, RobertaForCausalLM, RobertaForMaskedLM, RobertaForMultipleChoice, RobertaForQuestionAnswering,
                          RobertaForSequenceClassification, RobertaForTokenClassification, RobertaTokenizer)

import golden
from golden_bert import NAMES, check
from golden_xlm_roberta import SMALL

ROOT = golden.GOLDEN / "roberta"
MODELS = {
    "masked": (RobertaForMaskedLM, dict(SMALL, hidden_act="relu")),
    "causal": (RobertaForCausalLM, dict(SMALL, is_decoder=True)),
}
HEADS = {
    "sequence": (RobertaForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3, hidden_act="relu"), [7, 2, 12]),
    "token": (RobertaForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (RobertaForQuestionAnswering, SMALL, [8, 5]),
    "choice": (RobertaForMultipleChoice, SMALL, [9, 3, 4, 7]),
}
TEXTS = ["the river runs to the sea", " a small  house?", "hello <mask> world", "Ünïcode 漢字 🙂", "it's 12345\n\nlines", "<s>x</s>"]


def whole(folder):
    """A folder with vocab.json and merges.txt: its ids and offsets under several settings, tokens for a mask, scores of pairs."""
    from transformers import pipeline
    folder.mkdir()
    bpe = json.loads((golden.GOLDEN / "byte_level" / "roberta.tokenizer.json").read_text())["model"]
    golden.write_json(folder / "vocab.json", dict(bpe["vocab"], **{"<mask>": len(bpe["vocab"])}), ensure_ascii=False)
    merges = [m if isinstance(m, str) else " ".join(m) for m in bpe["merges"]]
    golden.write_lines(folder / "merges.txt", ["#version: 0.2", *merges])
    lines = []
    for settings in ({}, {"add_prefix_space": True}, {"trim_offsets": False}, {"mask_token": {"content": "<mask>", "lstrip": True,
                     "rstrip": False, "normalized": False, "single_word": False, "__type": "AddedToken"}}):
        golden.write_json(folder / "tokenizer_config.json", dict(settings, tokenizer_class="RobertaTokenizer", model_max_length=100))
        words = RobertaTokenizer.from_pretrained(folder)
        for text in TEXTS:
            e = words(text, return_offsets_mapping=True)
            lines.append(json.dumps({"settings": settings, "text": text, "ids": e["input_ids"],
                                     "offsets": e["offset_mapping"]},
                                    separators=(",", ":")))
    golden.write_lines(folder / "ids.jsonl", lines)
    golden.write_json(folder / "tokenizer_config.json", dict(tokenizer_class="RobertaTokenizer", model_max_length=100))
    words = RobertaTokenizer.from_pretrained(folder)
    generator = golden.seeded(99)
    config = RobertaConfig(**dict(SMALL, vocab_size=len(words), num_labels=1, max_position_embeddings=102))
    for name, kind in (("masked", RobertaForMaskedLM), ("pairs", RobertaForSequenceClassification)):
        model = golden.randomize(kind(config).eval(), generator)
        golden.save(model, folder / name)
        if name == "masked":
            answers = pipeline("fill-mask", model=model, tokenizer=words, top_k=5)
            golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(t), ensure_ascii=False) for t in TEXTS if "<mask>" in t])
        else:
            with torch.no_grad():
                scores = [model(**words(t, TEXTS[0], return_tensors="pt")).logits[0, 0].item() for t in TEXTS[:3]]
            golden.write_lines(folder / "scores.txt", [f'"score": {s:.9g}' for s in scores])


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, RobertaConfig, MODELS, HEADS)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
