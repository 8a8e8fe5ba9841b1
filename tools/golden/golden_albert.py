#!/usr/bin/env python3
"""Makes tests/golden/albert: tiny ALBERTs with random weights and every head, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_albert.py                    # rewrites tests/golden/albert
    python tools/golden/golden_albert.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (AlbertConfig, AlbertForMaskedLM, AlbertForMultipleChoice, AlbertForPreTraining, AlbertForQuestionAnswering,
                          AlbertForSequenceClassification, AlbertForTokenClassification)

import golden
from golden_bert import NAMES, Masked, check

ROOT = golden.GOLDEN / "albert"
# Two layers of one group.
SMALL = dict(vocab_size=61, embedding_size=16, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=40)
MODELS = {
    "masked": (AlbertForMaskedLM, dict(SMALL, hidden_act="relu")),
    "groups": (AlbertForMaskedLM, dict(SMALL, num_hidden_layers=5, num_hidden_groups=3)),
    "untied": (AlbertForMaskedLM, dict(SMALL, tie_word_embeddings=False, embedding_size=24, layer_norm_eps=1e-5, type_vocab_size=3)),
}
HEADS = {
    "sequence": (AlbertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout_prob=0.3), [7, 2, 12]),
    "token": (AlbertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (AlbertForQuestionAnswering, dict(SMALL, num_hidden_groups=2), [8, 5]),
    "choice": (AlbertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def pretraining(folder):
    """AlbertForPreTraining, whose answers are prediction_logits."""
    generator = golden.seeded(50)
    model = golden.randomize(AlbertForPreTraining(AlbertConfig(**SMALL)).eval(), generator)
    golden.save(model, folder)
    golden.write_answers(folder, Masked(model), None, generator, 50)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, AlbertConfig, MODELS, HEADS)
    pretraining(ROOT / "pretraining")
    golden.write_whole(ROOT / "whole", AlbertForMaskedLM, AlbertConfig(**SMALL), ("albert.model", "spiece.model"), dict(tokenizer_class="AlbertTokenizer"),
                       ["the old man and the sea", "Good (river), 1,000 houses!", "caf\u00e9 hello", "the river [MASK]"])


if __name__ == "__main__":
    main()
