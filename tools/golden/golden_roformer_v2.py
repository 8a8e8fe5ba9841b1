#!/usr/bin/env python3
"""Makes tests/golden/roformer_v2: tiny RoFormerV2s with random weights and every head, and what PyPI's roformer 0.4.3 (junnyu), its
authors' port to PyTorch, computes with them.  transformers' own RoFormer classes load these folders and compute something else.
The package needs an older transformers than 5; it ran here with

    pip install torch==2.15.0 transformers==4.30.2 "tokenizers<0.14" rjieba safetensors && pip install --no-deps roformer==0.4.3
    python tools/golden/golden_roformer_v2.py            # rewrites tests/golden/roformer_v2

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
from roformer import (RoFormerConfig, RoFormerForMaskedLM, RoFormerForMultipleChoice, RoFormerForQuestionAnswering,
                      RoFormerForSequenceClassification, RoFormerForTokenClassification)

import golden
import golden_bert

ROOT = golden.GOLDEN / "roformer_v2"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, hidden_act="relu",
             max_position_embeddings=64, norm_type="rms_norm", use_bias=False)

# name: (class, configuration, lengths of a batch, or None for hidden states and scores of single and padded texts)
MODELS = {
    "masked": (RoFormerForMaskedLM, SMALL, None),
    "gelu": (RoFormerForMaskedLM, dict(SMALL, hidden_act="gelu", rotary_value=True, layer_norm_eps=1e-5, type_vocab_size=3), None),
    "sequence": (RoFormerForSequenceClassification, dict(SMALL, num_labels=3), [7, 2, 12]),
    "token": (RoFormerForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (RoFormerForQuestionAnswering, SMALL, [8, 5]),
    "choice": (RoFormerForMultipleChoice, SMALL, [6, 6, 6, 6]),
}


def main():
    golden.quiet()
    golden.fresh(ROOT)
    for seed, (name, (kind, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        generator = golden.seeded(seed)
        model = kind(RoFormerConfig(**config)).eval()
        assert not any(".encoder." in n and (n.endswith("bias") or "LayerNorm" in n) for n, _ in model.named_parameters())
        golden.randomize(model, generator)
        golden.save(model, folder, safe_serialization=True)
        worst = golden.write_head(folder, model, lengths, generator, seed) if lengths else \
            golden.write_cases(folder, golden_bert.Masked(model), (1, 3, 40), (5, 1, 12), generator, seed)
        golden.finish(folder, worst)


if __name__ == "__main__":
    main()
