#!/usr/bin/env python3
"""Makes tests/golden/bert: tiny BERTs with random weights and every head, saved by transformers, and what transformers computes with
them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_bert.py                    # rewrites tests/golden/bert
    python tools/golden/golden_bert.py --check FOLDER...  # transformers loads folders that roformer wrote: no key missing or unexpected
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForMaskedLM, BertForMultipleChoice, BertForPreTraining, BertForQuestionAnswering,
                          BertForSequenceClassification, BertForTokenClassification, BertLMHeadModel)

import golden

ROOT = golden.GOLDEN / "bert"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=40, hidden_act="gelu")
NAMES = {0: "no", 1: "perhaps", 2: "yes"}

# name: (class, configuration, what is done to the folder)
MODELS = {
    "masked": (BertForMaskedLM, SMALL, None),
    "old_names": (BertForPreTraining, dict(SMALL, hidden_act="relu", type_vocab_size=3), "old"),   # gamma, beta, no model_type
    "untied": (BertForMaskedLM, dict(SMALL, hidden_act="gelu_new", tie_word_embeddings=False, layer_norm_eps=1e-5), None),
    "causal": (BertLMHeadModel, dict(SMALL, is_decoder=True), None),
}
HEADS = {
    "sequence": (BertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3), [7, 2, 12]),
    "token": (BertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (BertForQuestionAnswering, SMALL, [8, 5]),
    "choice": (BertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


class Masked(torch.nn.Module):
    """BertForPreTraining's answer under the names of the others'."""
    def __init__(self, model):
        super().__init__()
        self.model, self.config = model, model.config

    def forward(self, **call):
        out = self.model(**call)
        return transformers.modeling_outputs.MaskedLMOutput(logits=getattr(out, "prediction_logits", getattr(out, "logits", None)),
                                                            loss=getattr(out, "loss", None), hidden_states=out.hidden_states)


def as_in_2018(folder):
    """Names of norms as TensorFlow had them, and a config.json without model_type."""
    file = folder / "model.safetensors"
    old = {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
           for k, v in load_file(file).items()}
    save_file(old, file, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"]
    config["position_embedding_type"] = "absolute"
    golden.write_config(folder / "config.json", config)


def check(folders):
    for folder in folders:
        name = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
        _, said = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
        assert not any(said[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), (folder, said)
        print(f"{folder}: {name} loads")


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.fresh(ROOT)
    rows = [(n, k, c, how) for n, (k, c, how) in MODELS.items()] + [(n, k, c, lengths) for n, (k, c, lengths) in HEADS.items()]
    for seed, (name, kind, config, how) in enumerate(rows, 1):
        folder = ROOT / name
        generator = golden.seeded(seed)
        model = golden.randomize(kind(BertConfig(**config)).eval(), generator)
        golden.save(model, folder)
        if how == "old":
            as_in_2018(folder)
        worst = golden.write_head(folder, model, how, generator, seed) if isinstance(how, list) else \
            golden.write_cases(folder, Masked(model), (1, 3, 40), (5, 1, 12), generator, seed)
        golden.finish(folder, worst)


if __name__ == "__main__":
    main()
