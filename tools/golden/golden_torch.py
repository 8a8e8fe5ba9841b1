#!/usr/bin/env python3
"""Makes tests/golden/torch: weights of tests/golden/models as torch.save writes them, in both of its formats, and with what published
files have: names of TensorFlow's norms, a table of positions, a pooler without use, matrices that are transposed in place, tensors
that share their storage, half types, shards.  Needs torch; the tests need neither.

    python tools/golden/golden_torch.py
"""
import collections
import json

import torch
from safetensors.torch import load_file

import golden

ROOT = golden.GOLDEN / "torch"


def weights(name):
    all = collections.OrderedDict()
    for file in sorted((golden.GOLDEN / "models" / name).glob("*.safetensors")):
        all.update(load_file(file))
    return all


def published(state):
    """As junnyu/roformer_chinese_base has it: converted from TensorFlow, whose kernels are [in, out]."""
    old = collections.OrderedDict()
    for name, w in state.items():
        if ".layer." in name and w.dim() == 2:
            w = w.t().contiguous().t()
        old[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = w
    old["cls.predictions.decoder.weight"] = old["roformer.embeddings.word_embeddings.weight"]
    old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"]
    width = old["roformer.embeddings.word_embeddings.weight"].shape[1]
    old["roformer.pooler.dense.weight"] = torch.nn.Parameter(torch.eye(width))
    old["roformer.pooler.dense.bias"] = torch.zeros(width)
    old._metadata = {"": {"version": 1}}
    return old


def folder(name, model, **changes):
    to = golden.fresh(ROOT / name)
    config = json.loads((golden.GOLDEN / "models" / model / "config.json").read_text())
    config.update(changes)
    golden.write_config(to / "config.json", config)
    return to


def save(state, file, old):
    torch.save(state, file, _use_new_zipfile_serialization=not old)
    back = torch.load(file, weights_only=True)
    assert list(back) == list(state) and all(torch.equal(back[k], state[k]) for k in state)


def main():
    for name, old in ("zip", False), ("old", True):
        save(published(weights("plain")), folder(name, "plain", architectures=["RoFormerForPreTraining"]) / "pytorch_model.bin", old)
        save(weights("bf16"), folder(f"{name}_bf16", "bf16") / "pytorch_model.bin", old)
    save(weights("f16"), folder("zip_f16", "f16") / "pytorch_model.bin", False)
    to, state = folder("sharded", "sharded"), weights("sharded")
    names = list(state)
    shards = [names[i::3] for i in range(3)]
    index = {"metadata": {"total_size": sum(w.nbytes for w in state.values())}, "weight_map": {}}
    for i, part in enumerate(shards):
        file = f"pytorch_model-{i + 1:05}-of-00003.bin"
        save({k: state[k].clone() for k in part}, to / file, i == 1)
        index["weight_map"].update({k: file for k in part})
    golden.write_config(to / "pytorch_model.bin.index.json", index)
    golden.write_lines(ROOT / "README", [f"Made by tools/golden/golden_torch.py with torch {torch.__version__}."])


if __name__ == "__main__":
    main()
