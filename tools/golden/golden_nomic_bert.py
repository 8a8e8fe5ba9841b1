#!/usr/bin/env python3
"""Makes tests/golden/nomic_bert: tiny NomicBERTs with random weights and every head that transformers has, saved by transformers, and what
transformers computes with them.  Needs torch and transformers 5.24; the tests need neither.  The formats are those of golden_models.py
and golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_nomic_bert.py                    # rewrites tests/golden/nomic_bert
    python tools/golden/golden_nomic_bert.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import json
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import (NomicBertConfig, NomicBertForMaskedLM, NomicBertForSequenceClassification, NomicBertForTokenClassification)

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "nomic_bert"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, max_position_embeddings=40)

# name: (class, configuration, what is done to the folder)
MODELS = {
    "masked": (NomicBertForMaskedLM, SMALL, None),
    "old_names": (NomicBertForMaskedLM, dict(SMALL, hidden_act="gelu"), "old"),
    "dynamic": (NomicBertForMaskedLM, dict(SMALL, max_position_embeddings=16, layer_norm_eps=1e-5, type_vocab_size=1,
                rope_parameters=dict(rope_type="dynamic", factor=2.0, rope_theta=500.0)), None),
}
HEADS = {
    "sequence": (NomicBertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3), [7, 2, 12]),
    "token": (NomicBertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
}


def without_biases(model):
    """The published code has no biases in this head."""
    with torch.no_grad():
        model.cls.predictions.transform.dense.bias.zero_()
        model.cls.predictions.bias.zero_()


def as_published(folder):
    """The keys and the prefix of the code that the model was published with."""
    file = folder / "model.safetensors"
    old = {k.replace("nomic_bert.", "bert."): v for k, v in load_file(file).items()
           if k not in ("cls.predictions.bias", "cls.predictions.transform.dense.bias")}
    save_file(old, file, metadata={"format": "pt"})
    golden.write_config(folder / "config.json", {
        "activation_function": "geglu", "architectures": ["NomicBertForPreTraining"], "attn_pdrop": 0.0, "causal": False,
        "dense_seq_output": True, "embd_pdrop": 0.0, "fused_bias_fc": True, "initializer_range": 0.02, "layer_norm_epsilon": 1e-12,
        "max_trained_positions": 16, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "model_type": "nomic_bert", "n_embd": 24, "n_head": 2,
        "n_inner": 40, "n_layer": 2, "n_positions": 40, "pad_vocab_size_multiple": 64, "parallel_block": False, "prenorm": False,
        "qkv_proj_bias": False, "resid_pdrop": 0.0, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
        "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "scale_attn_weights": True, "type_vocab_size": 2,
        "use_flash_attn": True, "use_rms_norm": False, "vocab_size": 61})


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.fresh(ROOT)
    rows = list(MODELS.items()) + list(HEADS.items())
    for seed, (name, (kind, config, how)) in enumerate(rows, 1):
        folder = ROOT / name
        generator = golden.seeded(seed)
        model = golden.randomize(kind(NomicBertConfig(**config)).eval(), generator, sharp=lambda name: "q_proj" in name or "k_proj" in name)
        if how == "old":
            without_biases(model)
        golden.save(model, folder)
        if how == "old":
            as_published(folder)
        worst = golden.write_head(folder, model, how, generator, seed) if isinstance(how, list) else \
            golden.write_cases(folder, model, (1, 3, 40), (5, 1, 12), generator, seed)
        golden.finish(folder, worst)


if __name__ == "__main__":
    main()
