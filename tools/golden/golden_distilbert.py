#!/usr/bin/env python3
"""Makes tests/golden/distilbert: tiny DistilBERTs with random weights and every head, saved by transformers, and what transformers
computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and
golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_distilbert.py                    # rewrites tests/golden/distilbert
    python tools/golden/golden_distilbert.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

import torch
from transformers import (DistilBertConfig, DistilBertForMaskedLM, DistilBertForMultipleChoice, DistilBertForQuestionAnswering,
                          DistilBertForSequenceClassification, DistilBertForTokenClassification, DistilBertTokenizer)

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "distilbert"
SMALL = dict(vocab_size=61, dim=24, n_layers=2, n_heads=2, hidden_dim=40, max_position_embeddings=40)
MODELS = {
    "masked": (DistilBertForMaskedLM, dict(SMALL, activation="relu")),
    "untied": (DistilBertForMaskedLM, dict(SMALL, tie_word_embeddings=False, sinusoidal_pos_embds=True)),
}
HEADS = {
    "sequence": (DistilBertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", seq_classif_dropout=0.3), [7, 2, 12]),
    "token": (DistilBertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (DistilBertForQuestionAnswering, SMALL, [8, 5]),
    "choice": (DistilBertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}
WORDS = ["the", "river", "runs", "to", "sea", "a", "small", "house", "hello", "world", "##s", "##ed", "?", ".", "un", "##able"]
TEXTS = ["the river runs to the sea", "a small house?", "Unable houses.", "Hello [MASK] world"]


def whole(folder):
    """A folder as msmarco-distilbert has it: with a tokenizer and modules.json; its vectors, and scores of pairs of another one."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    words = DistilBertTokenizer(vocab={t: i for i, t in enumerate(tokens)}, model_max_length=24)
    generator = golden.seeded(99)
    model = golden.randomize(DistilBertForMaskedLM(DistilBertConfig(**dict(SMALL, vocab_size=len(words)))).eval(), generator)
    golden.save(model, folder)
    words.save_pretrained(folder)
    model.config.output_hidden_states = True
    golden.write_masked(folder, model, TEXTS)
    pairs = golden.randomize(DistilBertForSequenceClassification(DistilBertConfig(**dict(SMALL, vocab_size=len(words), num_labels=1))).eval(), generator)
    golden.save(pairs, folder / "pairs")
    with torch.no_grad():
        scores = [pairs(**words(t, TEXTS[0], return_tensors="pt")).logits[0, 0].item() for t in TEXTS]
    golden.write_lines(folder / "pairs" / "scores.txt", [f'"score": {s:.9g}' for s in scores])


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, DistilBertConfig, MODELS, HEADS)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
