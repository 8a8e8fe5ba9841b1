#!/usr/bin/env python3
"""Makes tests/golden/esmc: tiny ESM Cambrians with random weights, saved by transformers, and what transformers computes with them.  Needs
torch and transformers 5.24; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_esmc.py            # rewrites tests/golden/esmc
    python tools/golden/golden_esmc.py --check FOLDER...  # transformers loads folders that roformer wrote"""
import json
import sys

import torch
import transformers

import golden
from golden_bert import NAMES, check

ROOT = golden.GOLDEN / "esmc"
# Three layers: what they add is divided by sqrt(3 / 36).
SMALL = dict(vocab_size=64, hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=40, max_position_embeddings=64)
LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")
MODELS = {
    "masked": ("ForMaskedLM", SMALL, None),
    "one_layer": ("ForMaskedLM", dict(SMALL, num_hidden_layers=1, num_attention_heads=3, rope_parameters=dict(rope_type="default", rope_theta=500.0)), None),
    "sequence": ("ForSequenceClassification", dict(SMALL, **LABELS), [7, 2, 12]),
    "token": ("ForTokenClassification", dict(SMALL, num_labels=5), [6, 1, 9]),
}
PROTEINS = ["MKTV", "LSERTIDPKQNF", "MK JJLV*A|MKT", "mkTV"]


def model_of(end, config, seed):
    model = getattr(transformers, "Esmc" + end)(transformers.EsmcConfig(**config)).eval()
    generator = golden.seeded(seed)
    golden.randomize(model, generator, sharp=lambda name: "q_norm" in name or "k_norm" in name)
    return model, generator


def answers(model, words, text):
    """The five likeliest of the tokens that have a name, and their probabilities among all."""
    x = words(text, return_tensors="pt")
    with torch.no_grad():
        p = model(**x).logits[0, x["input_ids"][0].tolist().index(words.mask_token_id)].softmax(-1)
    best = p[:len(words)].topk(5)
    return [dict(score=s, token=i, token_str=words.decode([i])) for s, i in zip(best.values.tolist(), best.indices.tolist())]


def score(model, words, ids, mutation):
    """log p(new) - log p(old) of a residue, the residue being masked."""
    place = int(mutation[1:-1])
    masked = ids.clone()
    masked[0, place] = words.mask_token_id
    with torch.no_grad():
        p = model(masked).logits[0, place].log_softmax(-1)
    return float(p[words.convert_tokens_to_ids(mutation[-1])] - p[words.convert_tokens_to_ids(mutation[0])])


def whole(folder):
    """A folder with the tokenizer: ids, means of vectors, answers to masks."""
    model, _ = model_of("ForMaskedLM", SMALL, 99)
    words = transformers.EsmcTokenizer()
    golden.save(model, folder)
    words.save_pretrained(folder)
    rows = []
    for text in PROTEINS:
        x = words(text, return_tensors="pt")
        with torch.no_grad():
            h = model.esmc(**x).last_hidden_state[0]
        rows.append(dict(text=text, ids=x["input_ids"][0].tolist(), vector=h.mean(0).tolist(), residues=h[1:-1].mean(0).tolist()))
    golden.write_lines(folder / "vectors.jsonl", [json.dumps(row) for row in rows])
    golden.write_lines(folder / "fill_mask.jsonl", [json.dumps(answers(model, words, t)) for t in ("MK<mask>LV", "<mask>KTVA")])
    residues = words(PROTEINS[1], return_tensors="pt")["input_ids"]
    scores = [(v, sum(score(model, words, residues, m) for m in v.split(":"))) for v in ("L1A", "S2V:F12K", "F12L")]
    golden.write_lines(folder / "variants.tsv", [f"{v}\t{s:.6f}" for v, s in scores])


def main():
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    torch.set_num_threads(1)
    golden.fresh(ROOT)
    for seed, (name, (end, config, lengths)) in enumerate(MODELS.items(), 1):
        model, generator = model_of(end, config, seed)
        golden.save(model, ROOT / name)
        golden.write_answers(ROOT / name, model, lengths, generator, seed)
    whole(ROOT / "whole")


if __name__ == "__main__":
    main()
