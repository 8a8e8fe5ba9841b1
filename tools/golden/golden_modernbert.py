#!/usr/bin/env python3
"""Makes tests/golden/modernbert: tiny ModernBERTs with random weights and every head, saved by transformers, and what transformers
computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and
golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_modernbert.py                    # rewrites tests/golden/modernbert
    python tools/golden/golden_modernbert.py --check FOLDER...  # transformers loads folders that roformer wrote

"published" has the keys of the models on the hub, two of which have no effect."""
import json
import sys

from transformers import (ModernBertConfig, ModernBertForMaskedLM, ModernBertForMultipleChoice, ModernBertForQuestionAnswering,
                          ModernBertForSequenceClassification, ModernBertForTokenClassification)

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "modernbert"
# Layers 0 and 3 see all tokens, 1 and 2 those of at most 4 positions away.
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=4, num_attention_heads=2, intermediate_size=40, pad_token_id=1, bos_token_id=2,
             eos_token_id=3, cls_token_id=2, sep_token_id=3, max_position_embeddings=64, local_attention=8)
LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")

MODELS = {
    "masked": (ModernBertForMaskedLM, dict(SMALL, norm_eps=1e-6)),
    "published": (ModernBertForMaskedLM, dict(SMALL, num_hidden_layers=3, local_attention=6, global_attn_every_n_layers=2,
                  global_rope_theta=20000.0, local_rope_theta=500.0)),
    "untied": (ModernBertForMaskedLM, dict(SMALL, num_hidden_layers=2, tie_word_embeddings=False, hidden_activation="silu")),
}
HEADS = {
    "sequence": (ModernBertForSequenceClassification, dict(SMALL, **LABELS, classifier_dropout=0.3), [7, 2, 12]),
    "mean": (ModernBertForSequenceClassification, dict(SMALL, **LABELS, classifier_pooling="mean"), [7, 2, 12]),
    "token": (ModernBertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (ModernBertForQuestionAnswering, SMALL, [8, 5]),
    "choice": (ModernBertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def as_published(folder):
    """Keys of transformers 4."""
    config = json.loads((folder / "config.json").read_text())
    bases = config.pop("rope_parameters")
    assert config.pop("layer_types") == ["full_attention", "sliding_attention", "full_attention"]
    config.update(global_attn_every_n_layers=2, global_rope_theta=bases["full_attention"]["rope_theta"], layer_norm_eps=1e-3,
                  local_rope_theta=bases["sliding_attention"]["rope_theta"], position_embedding_type="absolute", reference_compile=False)
    golden.write_config(folder / "config.json", config)


def whole(folder):
    """A folder with a tokenizer: tokens for masks, and means of the vectors of texts longer than the window."""
    import torch
    from transformers import PreTrainedTokenizerFast, pipeline
    words = PreTrainedTokenizerFast(
        tokenizer_file=str(golden.GOLDEN / "byte_level" / "modernbert.tokenizer.json"), cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", model_max_length=60)
    config = ModernBertConfig(**dict(SMALL, vocab_size=len(words), pad_token_id=words.pad_token_id))
    model = golden.randomize(ModernBertForMaskedLM(config).eval(), golden.seeded(99))
    golden.save(model, folder)
    words.save_pretrained(folder)
    (folder / "tokenizer.json").unlink()            # the test copies that of tests/golden/byte_level
    masked = ["Call me  [MASK]. Some years ago", "int i = [MASK];\n    return x"]
    answers = pipeline("fill-mask", model=model, tokenizer=words, top_k=5)
    golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(t), ensure_ascii=False) for t in masked])
    texts = ["Call me Ishmael.", "never mind how long precisely, it's 1851"]
    with torch.no_grad():
        hidden = [model.model(**{k: v for k, v in words(t, return_tensors="pt").items() if k != "token_type_ids"}).last_hidden_state[0] for t in texts]
    golden.write_lines(folder / "means.jsonl", [json.dumps({"vector": h.mean(0).tolist()}) for h in hidden])


def saved(name, folder, _):
    if name == "published":
        as_published(folder)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(ROOT, ModernBertConfig, MODELS, HEADS, saved=saved)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
