#!/usr/bin/env python3
"""Makes tests/golden/xlnet: tiny XLNets with random weights and every head, saved by transformers, and what transformers computes with them.
Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_xlnet.py                    # rewrites tests/golden/xlnet
    python tools/golden/golden_xlnet.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import shutil
import sys

import torch
from transformers import (AutoTokenizer, XLNetConfig, XLNetForMultipleChoice, XLNetForQuestionAnsweringSimple, XLNetForSequenceClassification,
                          XLNetForTokenClassification, XLNetLMHeadModel)

import golden
from golden_bert import NAMES, check

SMALL = dict(vocab_size=61, d_model=24, n_layer=2, n_head=2, d_inner=40, type_vocab_size=3)
MODELS = {
    "masked": (XLNetLMHeadModel, SMALL),
    "untied": (XLNetLMHeadModel, dict(SMALL, tie_word_embeddings=False, clamp_len=20, ff_activation="relu", layer_norm_eps=1e-5)),
}
HEADS = {
    "sequence": (XLNetForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification"), [7, 7, 7]),
    "token": (XLNetForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (XLNetForQuestionAnsweringSimple, SMALL, [8, 5]),
    "choice": (XLNetForMultipleChoice, dict(SMALL, summary_type="first"), [9, 3, 4, 7]),
    # without the summary's matrix, and with heads of an odd width
    "summary": (XLNetForSequenceClassification, dict(SMALL, d_model=14, summary_type="cls_index", summary_use_proj=False, summary_activation="relu",
                num_labels=4), [7, 7, 7]),
}


def saved(name, folder, model):
    """Weights of a size that makes a difference, whatever their names and shapes are."""
    generator = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for key, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(1 + 0.2 * noise if key.endswith("norm.weight") else 0.2 * noise if p.ndim == 1 else 0.4 * noise if "emb" in key
                    else 0.4 * noise if p.ndim == 2 and key.endswith("bias") else noise / p.shape[0 if p.ndim == 3 else 1] ** 0.5)
        model.tie_weights()
    golden.save(model, folder)


TEXTS = ["the old man and the sea", "a small house runs", "the <mask> house", "hello, we are fine."]


def whole(folder):
    """A folder with spiece.model alone, whose settings ask for the types that the models were trained with; logits of pairs."""
    folder.mkdir()
    config = dict(SMALL, vocab_size=76, num_labels=1)
    model, pairs = (kind(XLNetConfig(**config)).eval() for kind in (XLNetLMHeadModel, XLNetForSequenceClassification))
    saved("whole", folder, model)
    saved("pairs", folder / "pairs", pairs)
    for to in (folder, folder / "pairs"):
        shutil.copy(golden.GOLDEN / "subwords" / "xlnet.model", to / "spiece.model")
        golden.write_json(to / "tokenizer_config.json", {"do_lower_case": False, "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]})
        (to / "model.safetensors").chmod(0o644)
    model.config.output_hidden_states = True
    golden.write_masked(folder, model, TEXTS)
    words = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        scores = [pairs(**words(t, TEXTS[0], return_tensors="pt")).logits[0, 0].item() for t in TEXTS]
        one = words(TEXTS[0], return_tensors="pt")
        total = 0.0
        for i in range(one["input_ids"].shape[1] - 2):                     # the pseudo-log-likelihood; the last two are <sep> and <cls>
            ids = one["input_ids"].clone()
            ids[0, i] = words.mask_token_id
            total += model(input_ids=ids, token_type_ids=one["token_type_ids"]).logits[0, i].log_softmax(-1)[one["input_ids"][0, i]].item()
    golden.write_lines(folder / "pairs" / "scores.txt", [f'"score": {s:.9g}' for s in scores])
    golden.write_lines(folder / "logprob.txt", [f'"score": {total:.9g}'])


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(golden.GOLDEN / "xlnet", XLNetConfig, MODELS, HEADS, (1, 3, 90), saved)
    whole(golden.GOLDEN / "xlnet" / "whole")


if __name__ == "__main__":
    main()
