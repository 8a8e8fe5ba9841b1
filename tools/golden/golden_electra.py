#!/usr/bin/env python3
"""Makes tests/golden/electra: tiny ELECTRAs with random weights and every head, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_electra.py                    # rewrites tests/golden/electra
    python tools/golden/golden_electra.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (ElectraConfig, ElectraForCausalLM, ElectraForMaskedLM, ElectraForMultipleChoice, ElectraForPreTraining,
                          ElectraForQuestionAnswering, ElectraForSequenceClassification, ElectraForTokenClassification)

import golden
from golden_bert import NAMES, SMALL, check

NARROW = dict(SMALL, embedding_size=16)
WIDE = dict(SMALL, embedding_size=24)
MODELS = {
    "masked": (ElectraForMaskedLM, dict(NARROW, hidden_act="relu")),
    "untied": (ElectraForMaskedLM, dict(WIDE, tie_word_embeddings=False, layer_norm_eps=1e-5, type_vocab_size=3)),
    "causal": (ElectraForCausalLM, dict(NARROW, is_decoder=True)),
}
HEADS = {
    "detect": (ElectraForPreTraining, dict(NARROW, hidden_act="gelu_new"), [9, 1, 4]),
    "sequence": (ElectraForSequenceClassification, dict(NARROW, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3, hidden_act="relu"), [7, 2, 12]),
    "token": (ElectraForTokenClassification, dict(WIDE, num_labels=5), [6, 1, 9]),
    "span": (ElectraForQuestionAnswering, WIDE, [8, 5]),
    "choice": (ElectraForMultipleChoice, NARROW, [9, 3, 4, 7]),
    "choice_last": (ElectraForMultipleChoice, dict(WIDE, summary_type="last", summary_use_proj=False, summary_activation="tanh"), [6, 6, 6, 6]),
    "choice_mean": (ElectraForMultipleChoice, dict(NARROW, summary_type="mean", summary_activation="relu"), [5, 5]),
}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(golden.GOLDEN / "electra", ElectraConfig, MODELS, HEADS)


if __name__ == "__main__":
    main()
