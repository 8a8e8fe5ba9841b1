#!/usr/bin/env python3
"""Makes tests/golden/bart, mbart, m2m_100 and pegasus: tiny encoder-decoder models with random weights, transformers' logits of every token of some
pairs, gradients, and the output of generate, as golden_marian.py and golden_translate.py do for Marian.

    pip install torch==2.15.0 transformers==5.24.0 safetensors
    python tools/golden/golden_pairs.py                    # rewrites the four folders
    python tools/golden/golden_pairs.py --check FOLDER     # loads what roformer wrote and compares it with FOLDER's golden.txt

tests/golden/README.md describes the format.
"""
import json
import pathlib
import sys

import torch
import transformers

import golden
import golden_marian as marian
import golden_translate as translate

SMALL = dict(marian.SMALL, d_model=16, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=48, activation_function="gelu",
             bos_token_id=1, forced_eos_token_id=None)
SIDES = dict(SMALL, encoder_layers=3, decoder_layers=1, decoder_attention_heads=4, encoder_ffn_dim=20, activation_function="relu",
             scale_embedding=False)
UNTIED = dict(SIDES, tie_word_embeddings=False, encoder_layers=1)
CLASSES = {"bart": "Bart", "mbart": "MBart", "m2m_100": "M2M100", "pegasus": "Pegasus"}
MODELS = {"bart": {"shared": SMALL, "sides": SIDES, "untied": UNTIED}, "mbart": {"shared": SMALL, "sides": SIDES},
          "m2m_100": {"shared": SMALL, "untied": UNTIED}, "pegasus": {"shared": SMALL, "sides": SIDES}}


def class_of(family):
    return getattr(transformers, CLASSES[family] + "ForConditionalGeneration")


def computed(family):
    """Tensors of files that are no parameters here."""
    return ("embed_positions",) if family == "pegasus" else ()


def make(family, config, generator):
    """Weights that matter: attention is neither flat nor one-hot, no bias is zero."""
    settings = getattr(transformers, CLASSES[family] + "Config")(**config)
    model = class_of(family)(settings).eval()
    biases = [(n, b) for n, b in model.named_buffers() if "final_logits_bias" in n]
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + biases:
            noise = torch.randn(p.shape, generator=generator)
            if any(c in name for c in computed(family)):
                continue
            if name.endswith("weight") and ("layer_norm" in name or "layernorm" in name):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "shared" in name or "embed_tokens" in name:
                p.copy_((0.3 if config["scale_embedding"] else 0.8) * noise)
            elif "embed_positions" in name:
                p.copy_(0.5 * noise)
            else:
                p.copy_((1.5 if ".q_proj." in name or ".k_proj." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


def main():
    golden.quiet()
    if len(sys.argv) > 2 and sys.argv[1] == "--check":
        family = json.loads((pathlib.Path(sys.argv[2]) / "config.json").read_text())["model_type"]
        return marian.check(sys.argv[2], class_of(family))
    for family, models in MODELS.items():
        golden.fresh(golden.GOLDEN / family)
        for seed, (name, config) in enumerate(models.items(), 1):
            folder = golden.GOLDEN / family / name
            generator = golden.seeded(seed)
            model = make(family, config, generator)
            golden.save(model, folder, safe_serialization=True)
            worst = marian.write(folder, model, generator)
            marian.training(folder, cls=class_of(family), computed=computed(family))
            again = class_of(family).from_pretrained(folder, attn_implementation="eager").eval()
            translate.write(folder, again, torch.Generator().manual_seed(40 + seed))
            golden.finish(folder, worst)


if __name__ == "__main__":
    main()
