#!/usr/bin/env python3
"""Makes tests/golden/camembert: tiny CamemBERTs with random weights and every head, saved by transformers, and what transformers computes
with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_camembert.py                    # rewrites tests/golden/camembert
    python tools/golden/golden_camembert.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (CamembertConfig, CamembertForCausalLM, CamembertForMaskedLM, CamembertForMultipleChoice,
                          CamembertForQuestionAnswering, CamembertForSequenceClassification, CamembertForTokenClassification)

import golden
from golden_bert import NAMES, check
from golden_xlm_roberta import SMALL

MODELS = {
    "masked": (CamembertForMaskedLM, dict(SMALL, hidden_act="relu")),
    "causal": (CamembertForCausalLM, dict(SMALL, is_decoder=True)),
}
HEADS = {
    "sequence": (CamembertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3, hidden_act="relu"), [7, 2, 12]),
    "token": (CamembertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (CamembertForQuestionAnswering, SMALL, [8, 5]),
    "choice": (CamembertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    root = golden.GOLDEN / "camembert"
    golden.write_models(root, CamembertConfig, MODELS, HEADS)
    golden.write_whole(root / "whole", CamembertForMaskedLM, CamembertConfig(**SMALL), ("unigram.model", "sentencepiece.bpe.model"), {},
                       ["the old man and the sea", "two  blanks ", "caf\u00e9 UPPER", "the <mask> is a"])


if __name__ == "__main__":
    main()
