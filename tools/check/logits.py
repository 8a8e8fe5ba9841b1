#!/usr/bin/env python3
"""Loads a model folder in transformers, insists that every key matches, and prints logits as JSON.

    logits.py FOLDER --ids 2,17,5,3 [--ids 2,4,3] [--types 0,0,1,1] [--rows 1,2] [--top 5]

Each --ids is one text, computed by itself.  The class is the one that config.json names; a folder with BERT's pooled head,
which transformers has no RoFormer class for, is computed from its encoder.  Prints {"class": ..., "labels": [...], "missing":
[], "unexpected": [], "texts": [{"ids": [...], "logits": [[...]]}]}; with --top K, `logits` gives way to "top": [[[id, logit],
...]] for each row.  Exits with 1 when a key is missing or not expected (embed_positions apart, which both sides compute), or
when a logit is not finite.
"""
import argparse
import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file


def numbers(text):
    return [int(x) for x in text.split(",")]


def load(folder):
    """The class that config.json names, its report on keys, and a function from (ids, types) to rows of logits."""
    name = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
    if name == "RoFormerPooledForSequenceClassification":
        model, info = transformers.RoFormerModel.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
        w = load_file(pathlib.Path(folder) / "model.safetensors")
        own = ("roformer.pooler.dense.weight", "roformer.pooler.dense.bias", "classifier.weight", "classifier.bias")
        info["unexpected_keys"] = [k for k in info["unexpected_keys"] if "roformer." + k not in own and k not in own]

        def logits(ids, types):
            first = model(input_ids=ids, token_type_ids=types).last_hidden_state[:, 0]
            return torch.tanh(first @ w[own[0]].T + w[own[1]]) @ w[own[2]].T + w[own[3]]
        return name, model.eval(), info, logits

    model, info = getattr(transformers, name).from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    model.eval()

    def logits(ids, types):
        if name.endswith("MultipleChoice"):
            return model(input_ids=ids[None], token_type_ids=types[None]).logits.T
        out = model(input_ids=ids, token_type_ids=types)
        if name.endswith("QuestionAnswering"):
            return torch.stack([out.start_logits[0], out.end_logits[0]], -1)
        return out.logits[0] if out.logits.dim() == 3 else out.logits
    return name, model, info, logits


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--ids", type=numbers, action="append", default=[])
    p.add_argument("--types", type=numbers, action="append", default=[])
    p.add_argument("--rows", type=numbers, help="only these tokens; default: all")
    p.add_argument("--top", type=int, default=0)
    a = p.parse_args()

    name, model, info, compute = load(a.folder)
    missing = sorted(k for k in info["missing_keys"] if "embed_positions" not in k)
    unexpected = sorted(k for k in info["unexpected_keys"] if "embed_positions" not in k)
    mismatched = sorted(str(k) for k in info["mismatched_keys"])
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    result = {"class": name, "labels": labels, "missing": missing, "unexpected": unexpected, "mismatched": mismatched, "texts": []}
    fine = not (missing or unexpected or mismatched)

    for i, ids in enumerate(a.ids):
        types = a.types[i] if i < len(a.types) else [0] * len(ids)
        with torch.no_grad():
            logits = compute(torch.tensor([ids]), torch.tensor([types]))
        rows = a.rows if a.rows is not None else range(len(logits))
        fine = fine and all(math.isfinite(v) for v in logits.flatten().tolist())
        text = {"ids": ids}
        if a.top:
            best = [torch.topk(logits[t], a.top) for t in rows]
            text["top"] = [[[i, v] for i, v in zip(b.indices.tolist(), b.values.tolist())] for b in best]
        else:
            text["logits"] = [logits[t].tolist() for t in rows]
        result["texts"].append(text)

    print(json.dumps(result))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
