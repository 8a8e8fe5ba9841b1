#!/usr/bin/env python3
"""Makes tests/golden/mpnet: tiny MPNets with random weights and every head, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_mpnet.py                    # rewrites tests/golden/mpnet
    python tools/golden/golden_mpnet.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import json
import sys

import torch
from transformers import (MPNetConfig, MPNetForMaskedLM, MPNetForMultipleChoice, MPNetForQuestionAnswering,
                          MPNetForSequenceClassification, MPNetForTokenClassification, MPNetTokenizer)

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "mpnet"
# 160 positions after the padding token 1: offsets reach beyond 128, the distance from which all share the last bucket.
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=162, layer_norm_eps=1e-12)

# name: (class, configuration).  The head's activation is GELU whatever hidden_act says.
MODELS = {
    "masked": (MPNetForMaskedLM, dict(SMALL, hidden_act="relu")),
    "untied": (MPNetForMaskedLM, dict(SMALL, tie_word_embeddings=False, layer_norm_eps=1e-5)),
}
HEADS = {
    "sequence": (MPNetForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification"), [7, 2, 12]),
    "token": (MPNetForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (MPNetForQuestionAnswering, SMALL, [8, 5]),
    "choice": (MPNetForMultipleChoice, SMALL, [9, 3, 4, 7]),
}
WORDS = ["the", "river", "runs", "to", "sea", "a", "small", "house", "hello", "world", "##s", "##ed", "?", ".", "un", "##able"]
TEXTS = ["the river runs to the sea", "a small house?", "Hello <mask> world", "zebra houses"]


def tokenizer():
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", *WORDS, "<mask>"]
    return MPNetTokenizer(vocab={t: i for i, t in enumerate(tokens)}, model_max_length=24)


def whole(folder):
    """A folder with a tokenizer: its ids, tokens for a mask, mean vectors of texts, and another one's scores of pairs of texts."""
    from transformers import pipeline
    words = tokenizer()
    config = MPNetConfig(**dict(SMALL, vocab_size=len(words)))
    generator = golden.seeded(99)
    model = golden.randomize(MPNetForMaskedLM(config).eval(), generator)
    golden.save(model, folder)
    words.save_pretrained(folder)
    golden.write_lines(folder / "ids.jsonl", [json.dumps(dict(ids=e["input_ids"], offsets=e["offset_mapping"]), separators=(",", ":"))
                                              for e in (words(t, return_offsets_mapping=True) for t in TEXTS)])
    answers = pipeline("fill-mask", model=model, tokenizer=words, top_k=5)
    golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(t)) for t in TEXTS if "<mask>" in t])
    encoder = model.mpnet
    with torch.no_grad():
        vectors = [encoder(**words(t, return_tensors="pt")).last_hidden_state[0].mean(0).tolist() for t in TEXTS]
    golden.write_lines(folder / "vectors.jsonl", [json.dumps({"vector": v}) for v in vectors])
    pairs = golden.randomize(MPNetForSequenceClassification(MPNetConfig(**dict(SMALL, vocab_size=len(words), num_labels=1))).eval(), generator)
    golden.save(pairs, folder / "pairs")
    with torch.no_grad():
        scores = [pairs(**words(t, TEXTS[0], return_tensors="pt")).logits[0, 0].item() for t in TEXTS]
    golden.write_lines(folder / "pairs" / "scores.txt", [f'"score": {s:.9g}' for s in scores])


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, MPNetConfig, MODELS, HEADS, (1, 3, 160))
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
