#!/usr/bin/env python3
"""Makes tests/golden/heads: tiny RoFormers with the heads that fine-tuning uses, saved by transformers, and the logits
that transformers computes with them.  Needs torch and transformers 5; the tests need neither.  The format is described in
tests/golden/README.md.

    python tools/golden/golden_heads.py            # rewrites tests/golden/heads
    python tools/golden/golden_heads.py detect     # one folder of it
"""
import sys

from transformers import (RoFormerConfig, RoFormerForMultipleChoice, RoFormerForQuestionAnswering,
                          RoFormerForSequenceClassification, RoFormerForTokenClassification, RoFormerModel, RoFormerPreTrainedModel)
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.models.electra.modeling_electra import ElectraDiscriminatorPredictions

import golden

ROOT = golden.GOLDEN / "heads"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
             max_position_embeddings=40)
NAMES = {0: "no", 1: "perhaps", 2: "yes"}

class RoFormerForReplacedTokenDetection(RoFormerPreTrainedModel):
    """ELECTRA's discriminator: transformers has the encoder and the head, and no class with both."""
    def __init__(self, config):
        super().__init__(config)
        self.roformer = RoFormerModel(config)
        self.discriminator_predictions = ElectraDiscriminatorPredictions(config)
        self.post_init()

    def forward(self, **call):
        return TokenClassifierOutput(logits=self.discriminator_predictions(self.roformer(**call)[0])[..., None])


# name: (class, configuration, lengths of the padded batch)
MODELS = {
    "sequence": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="gelu", id2label=NAMES,
                 label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification"), [7, 2, 12]),
    "two_labels": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="relu"), [5, 9]),
    "regression": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="tanh", num_labels=1, problem_type="regression"), [3, 8]),
    "token": (RoFormerForTokenClassification, dict(SMALL, hidden_act="gelu", num_labels=5, embedding_size=16), [6, 1, 9]),
    "span": (RoFormerForQuestionAnswering, dict(SMALL, hidden_act="gelu_new"), [8, 5]),
    "choice": (RoFormerForMultipleChoice, dict(SMALL, hidden_act="gelu"), [6, 6, 6, 6]),
    "choice_first": (RoFormerForMultipleChoice, dict(SMALL, hidden_act="gelu", summary_type="first"), [9, 3, 4, 7]),
    "detect": (RoFormerForReplacedTokenDetection, dict(SMALL, hidden_act="gelu", embedding_size=16, rotary_value=True), [9, 1, 4]),
}


def main():
    golden.quiet()
    golden.fresh(ROOT / sys.argv[1] if sys.argv[1:] else ROOT)
    for seed, (name, (kind, config, lengths)) in enumerate(MODELS.items(), 1):
        if sys.argv[1:] not in ([], [name]):
            continue
        generator = golden.seeded(seed)
        model = golden.randomize(kind(RoFormerConfig(**config)).eval(), generator, gain=1.3, attention=1.3)
        golden.save(model, ROOT / name)
        golden.finish(ROOT / name, golden.write_head(ROOT / name, model, lengths, generator, seed))


if __name__ == "__main__":
    main()
