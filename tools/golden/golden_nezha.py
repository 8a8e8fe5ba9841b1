#!/usr/bin/env python3
"""Makes tests/golden/nezha: tiny NEZHAs with random weights and every head, saved by transformers, and what transformers computes with
them.  Needs torch and transformers 4.57, the last with these classes.  The formats are those of golden_models.py and golden_heads.py,
which tests/golden/README.md describes.

    python tools/golden/golden_nezha.py            # rewrites tests/golden/nezha
"""
import sys

try:
    from transformers.models.deprecated.nezha import (NezhaConfig, NezhaForMaskedLM, NezhaForMultipleChoice, NezhaForQuestionAnswering,
                                                      NezhaForSequenceClassification, NezhaForTokenClassification)
except ImportError:
    sys.exit("golden_nezha.py: transformers 5 has no NEZHA; use an environment of its own: pip install torch transformers==4.57.6")

import golden

ROOT = golden.GOLDEN / "nezha"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, max_position_embeddings=48,
             max_relative_position=9, hidden_act="gelu")

# name: (class, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": (NezhaForMaskedLM, SMALL, None),
    "relu": (NezhaForMaskedLM, dict(SMALL, hidden_act="relu", num_attention_heads=3, max_relative_position=64, layer_norm_eps=1e-5,
                                    type_vocab_size=3), None),
    "sequence": (NezhaForSequenceClassification, dict(SMALL, num_labels=3), [7, 2, 12]),
    "token": (NezhaForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (NezhaForQuestionAnswering, SMALL, [8, 5]),
    "choice": (NezhaForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def main():
    golden.quiet()
    golden.fresh(ROOT)
    for seed, (name, (kind, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        generator = golden.seeded(seed)
        model = golden.randomize(kind(NezhaConfig(**config)).eval(), generator)
        golden.save(model, folder, safe_serialization=True)
        golden.write_answers(folder, model, lengths, generator, seed)


if __name__ == "__main__":
    main()
