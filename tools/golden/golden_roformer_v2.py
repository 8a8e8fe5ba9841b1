#!/usr/bin/env python3
"""Makes tests/golden/roformer_v2: tiny RoFormerV2s with random weights and every head, and what PyPI's roformer 0.4.3 (junnyu), its
authors' port to PyTorch, computes with them.  transformers' own RoFormer classes load these folders and compute something else.
The package needs an older transformers than 5; it ran here with

    pip install torch==2.15.0 transformers==4.30.2 "tokenizers<0.14" rjieba safetensors && pip install --no-deps roformer==0.4.3
    python tools/golden/golden_roformer_v2.py            # writes tests/golden/roformer_v2 anew

The formats are those of golden_models.py and golden_heads.py, which tests/golden/README.md describes.
"""
import pathlib
import shutil

import torch
from roformer import (RoFormerConfig, RoFormerForMaskedLM, RoFormerForMultipleChoice, RoFormerForQuestionAnswering,
                      RoFormerForSequenceClassification, RoFormerForTokenClassification)

import golden_bert

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "roformer_v2"
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


def make(kind, config, generator):
    """Weights that matter: attention is neither flat nor one-hot, the heads' biases are not zero."""
    model = kind(RoFormerConfig(**config)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue
            assert ".encoder." not in name or not name.endswith("bias") and "LayerNorm" not in name, name
            noise = torch.randn(p.shape, generator=generator)
            if name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name:
                p.copy_(0.4 * noise)
            else:
                p.copy_((1.5 if ".query." in name or ".key." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def main():
    torch.set_num_threads(1)
    shutil.rmtree(ROOT, ignore_errors=True)
    for seed, (name, (kind, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = make(kind, config, generator)
        model.save_pretrained(folder, safe_serialization=True)
        (folder / "generation_config.json").unlink(missing_ok=True)
        worst = golden_bert.write_head(folder, model, lengths, generator, seed) if lengths else \
            golden_bert.write_masked(folder, golden_bert.Masked(model), generator, seed)
        for file in folder.iterdir():
            file.chmod(0o644)
        print(f"{name:10} {sum(f.stat().st_size for f in folder.iterdir()):8} bytes, float32 against float64 {worst:.1e}")


if __name__ == "__main__":
    main()
