#!/usr/bin/env python3
"""Makes tests/golden/ernie: tiny ERNIEs with random weights and every head, saved by transformers, and what transformers computes with
them, with and without vectors of task types.  Needs torch and transformers 5; the tests need neither.  The formats are those of
golden_models.py and golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_ernie.py                    # rewrites tests/golden/ernie
    python tools/golden/golden_ernie.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (ErnieConfig, ErnieForCausalLM, ErnieForMaskedLM, ErnieForMultipleChoice, ErnieForQuestionAnswering,
                          ErnieForSequenceClassification, ErnieForTokenClassification)

import golden
from golden_bert import NAMES, SMALL, check

TASKS = dict(SMALL, use_task_id=True)
MODELS = {
    "masked": (ErnieForMaskedLM, dict(TASKS, hidden_act="relu", type_vocab_size=4)),
    "plain": (ErnieForMaskedLM, SMALL),
    "causal": (ErnieForCausalLM, dict(TASKS, is_decoder=True, task_type_vocab_size=16)),
}
HEADS = {
    "sequence": (ErnieForSequenceClassification, dict(TASKS, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3), [7, 2, 12]),
    "token": (ErnieForTokenClassification, dict(TASKS, num_labels=5), [6, 1, 9]),
    "span": (ErnieForQuestionAnswering, TASKS, [8, 5]),
    "choice": (ErnieForMultipleChoice, TASKS, [9, 3, 4, 7]),
}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(golden.GOLDEN / "ernie", ErnieConfig, MODELS, HEADS)


if __name__ == "__main__":
    main()
