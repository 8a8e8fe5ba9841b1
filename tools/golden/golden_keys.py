#!/usr/bin/env python3
"""Makes tests/golden/keys.jsonl: what transformers computes if keys are added to a config.json of tests/golden, one line for each case:
the folder, the keys, and the mean of the hidden states of 24 ids, IDS.  Needs torch and transformers 5.

    python tools/golden/golden_keys.py"""
import json
import pathlib
import tempfile

import torch
from transformers import AutoModel

import golden

IDS = [7 * i % 27 + 4 for i in range(24)]
LINEAR = {"rope_type": "linear", "factor": 4.0}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "factor": 4.0}
NO_FACTOR = {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 16}
BOTH = {"full_attention": dict(YARN, rope_theta=500.0), "sliding_attention": dict(YARN, rope_theta=50.0)}


def kind(name, scaling):
    return {"rope_parameters": {name: dict(scaling, rope_theta=500.0)}}


OLD = {"type": "linear", "factor": 4.0}
CASES = [
    *(("llama/causal", keys) for keys in (
        {"rope_scaling": YARN}, {"rope_scaling": NO_FACTOR}, {"rope_scaling": LLAMA3, "original_max_position_embeddings": 64},
        {"rope_scaling": {k: v for k, v in LLAMA3.items() if "original" not in k}},
        {"scale_embedding": True, "use_logn_attn": True, "position_embedding_type": "absolute"},
        *({"hidden_act": a} for a in ("gelu_python", "gelu_fast", "gelu_accurate", "gelu_python_tanh")))),
    ("qwen3/causal", {"scale_embedding": True, "position_embedding_type": None}),
    *((f"{family}", keys) for family in ("gemma3/causal", "modernbert/masked") for keys in (
        {"rope_scaling": LINEAR}, {"rope_scaling": YARN}, kind("full_attention", LINEAR), kind("full_attention", OLD),
        kind("sliding_attention", OLD), kind("sliding_attention", LLAMA3), {"rope_parameters": BOTH})),
    ("gemma3/causal", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}),
    ("modernbert/masked", {"scale_embedding": True, "rotary_heads": 1, "position_embedding_type": "absolute"}),
    ("bert/masked", {"scale_embedding": True, "rope_scaling": LINEAR, "hidden_act": "gelu_fast"}),
    ("mpnet/masked", {"rope_scaling": LINEAR, "partial_rotary_factor": 0.5, "position_embedding_type": "absolute"}),
    ("gte/masked", {"rotary_heads": 1, "position_embedding_type": "rope"}),
    ("nomic_bert/masked", {"scale_embedding": True, "is_decoder": True}),
    ("esmc/masked", {"rotary_heads": 1, "scale_embedding": True}),
    ("esm/kept", {"rope_scaling": LINEAR, "hidden_act": "swiglu"}),
]


def answer(folder, keys):
    with tempfile.TemporaryDirectory() as temporary:
        to = pathlib.Path(temporary)
        (to / "model.safetensors").symlink_to(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        golden.write_config(to / "config.json", config | keys)
        model = AutoModel.from_pretrained(to, dtype=torch.float32).eval()
        with torch.no_grad():
            return model(torch.tensor([IDS])).last_hidden_state[0].mean(0).tolist()


def main():
    golden.quiet()
    lines = [json.dumps({"folder": f, "keys": k, "mean": answer(golden.GOLDEN / f, k)}) for f, k in CASES]
    golden.write_lines(golden.GOLDEN / "keys.jsonl", [golden.made_with(), *lines])


if __name__ == "__main__":
    main()
