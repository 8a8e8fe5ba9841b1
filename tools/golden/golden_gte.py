#!/usr/bin/env python3
"""Makes tests/golden/gte: tiny GTEs with random weights and every head, saved by transformers, and what transformers computes with
them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_gte.py                    # rewrites tests/golden/gte
    python tools/golden/golden_gte.py --check FOLDER...  # transformers loads folders that roformer wrote

"published" and "ntk" have the keys, names and prefix of the folders that were published first (model_type "new").  Their "ntk" is
computed by its printed formula here: theta_i = (b f)^(-2i/D) / f^(2/D), with transformers' own layers."""
import json
import sys

from safetensors.torch import load_file, save_file
from transformers import GteConfig, GteForMaskedLM, GteForSequenceClassification, GteForTokenClassification

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "gte"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40, pad_token_id=1,
             max_position_embeddings=64)
FACTOR, BASE = 8.0, 20000.0

MODELS = {
    "masked": (GteForMaskedLM, SMALL),
    "untyped": (GteForMaskedLM, dict(SMALL, type_vocab_size=0, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})),
    "published": (GteForMaskedLM, dict(SMALL, type_vocab_size=2, rope_parameters={"rope_type": "default", "rope_theta": 160000.0})),
    "ntk": (GteForMaskedLM, dict(SMALL, rope_parameters={"rope_type": "default", "rope_theta": BASE})),
    "linear": (GteForMaskedLM, dict(SMALL, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": BASE})),
}
HEADS = {
    "sequence": (GteForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3), [7, 2, 12]),
    "token": (GteForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
}


def as_published(folder, scaling):
    """Keys of the code that was published with the models, and "new." before tensors."""
    file = folder / "model.safetensors"
    old = {k.replace("gte.", "new."): v for k, v in load_file(file).items()}
    save_file(old, file, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    theta = config.pop("rope_parameters")["rope_theta"]
    config.update(model_type="new", architectures=["NewForMaskedLM"], rope_theta=theta, rope_scaling=scaling, position_embedding_type="rope",
                  layer_norm_type="layer_norm", logn_attention_clip1=False, logn_attention_scale=False, pack_qkv=True, unpad_inputs=False,
                  use_memory_efficient_attention=False)
    golden.write_config(folder / "config.json", config)


def stretch(model):
    """The frequencies of model_type "new" with rope_scaling ntk."""
    import torch
    rotary = model.gte.rotary_emb
    width = SMALL["hidden_size"] // SMALL["num_attention_heads"]
    i = torch.arange(0, width, 2, dtype=torch.float64)
    assert rotary.inv_freq.shape == i.shape
    rotary.inv_freq = ((BASE * FACTOR) ** (-i / width) / FACTOR ** (2 / width)).float()


def saved(name, folder, model):
    if name in ("published", "ntk"):
        as_published(folder, {"type": "ntk", "factor": FACTOR} if name == "ntk" else None)
    if name == "ntk":
        stretch(model)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, GteConfig, MODELS, HEADS, saved=saved)


if __name__ == "__main__":
    main()
