#!/usr/bin/env python3
"""deeper.py MODEL OUT: creates a model with twice the layers for further training: layer i of MODEL becomes layers i and n + i.

Gong et al., "Efficient Training of BERT by Progressively Stacking" (ICML 2019): attention of neighboring layers looks
alike, so that a trained stack, put on top of itself, is a better beginning than random weights.
"""
import json
import os
import re
import shutil
import struct
import sys

LAYER = re.compile(r"(.*\.layer\.)(\d+)(\..*)")


def main(model, out):
    if os.path.exists(out):
        sys.exit(f"deeper.py: {out} is there already")
    part = out.rstrip("/") + ".part"                    # OUT is there when it is complete
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    with open(os.path.join(model, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    layers = config["num_hidden_layers"]
    config["num_hidden_layers"] = 2 * layers
    with open(os.path.join(part, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
        f.write("\n")
    for name in ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(os.path.join(model, name), part)

    with open(os.path.join(model, "model.safetensors"), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    tensors = {}
    for name, tensor in header.items():
        found = LAYER.fullmatch(name)
        if name != "__metadata__":
            tensors[name] = tensor
        if found:
            tensors[found[1] + str(int(found[2]) + layers) + found[3]] = tensor
    at, new, parts = 0, {"__metadata__": header.get("__metadata__", {})}, []
    for name in sorted(tensors):
        begin, end = tensors[name]["data_offsets"]
        new[name] = {**tensors[name], "data_offsets": [at, at + end - begin]}
        at += end - begin
        parts.append(data[begin:end])
    text = json.dumps(new).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(part, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
    os.rename(part, out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
