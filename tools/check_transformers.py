#!/usr/bin/env python3
"""Loads a model folder in transformers, insists that every key matches, and prints logits as JSON.

    check_transformers.py FOLDER --ids 2,17,5,3 [--ids 2,4,3] [--types 0,0,1,1] [--rows 1,2] [--top 5]

Each --ids is one text, computed by itself.  Prints {"missing": [], "unexpected": [], "texts": [{"ids": [...],
"logits": [[...]]}]}; with --top K, `logits` gives way to "top": [[[id, logit], ...]] for each row.  Exits with 1 when a key is
missing or not expected (embed_positions apart, which both sides compute), or when a logit is not finite.
"""
import argparse
import json
import math
import sys

import torch
from transformers import RoFormerForMaskedLM


def numbers(text):
    return [int(x) for x in text.split(",")]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--ids", type=numbers, action="append", default=[])
    p.add_argument("--types", type=numbers, action="append", default=[])
    p.add_argument("--rows", type=numbers, help="only these tokens; default: all")
    p.add_argument("--top", type=int, default=0)
    a = p.parse_args()

    model, info = RoFormerForMaskedLM.from_pretrained(a.folder, output_loading_info=True, dtype=torch.float32)
    model.eval()
    missing = sorted(k for k in info["missing_keys"] if "embed_positions" not in k)
    unexpected = sorted(k for k in info["unexpected_keys"] if "embed_positions" not in k)
    mismatched = sorted(str(k) for k in info["mismatched_keys"])
    result = {"missing": missing, "unexpected": unexpected, "mismatched": mismatched, "texts": []}
    fine = not (missing or unexpected or mismatched)

    for i, ids in enumerate(a.ids):
        types = a.types[i] if i < len(a.types) else [0] * len(ids)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]
        rows = a.rows if a.rows is not None else range(len(ids))
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
