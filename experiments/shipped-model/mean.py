#!/usr/bin/env python3
"""mean.py OUT MODEL=WEIGHT...: creates a model whose weights are the mean of several models, each of which was trained from the previous one.

Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization" (UAI 2018): where the rate has risen
and fallen several times, the ends lie around a point that is better than each of them.  WEIGHTs have the sum 1.
The models have the same tensors, all in bf16; sums are in double, then the nearest bf16.
"""
import array
import json
import os
import shutil
import struct
import sys


def read(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        size = f.read(8)
        return size + f.read(struct.unpack("<Q", size)[0]), array.array("H", f.read())


def bits(values, kind, other):
    """Reinterprets the bytes as another type."""
    out = array.array(other)
    out.frombytes(array.array(kind, values).tobytes())
    return out


def main(out, weighted):
    weighted = [(folder, float(weight)) for folder, weight in (part.rsplit("=", 1) for part in weighted)]
    if abs(sum(weight for _, weight in weighted) - 1) > 1e-9:
        sys.exit("mean.py: the weights must have the sum 1")
    first, mean = None, None
    for folder, weight in weighted:
        header, values = read(folder)
        if first is None:
            first, mean = header, [0.0] * len(values)
            tensors = json.loads(header[8:])
            if any(t["dtype"] != "BF16" for name, t in tensors.items() if name != "__metadata__"):
                sys.exit(f"mean.py: {folder}: not all tensors are bf16; train with --save_type bf16")
        elif header != first:
            sys.exit(f"mean.py: {folder}: its tensors are not those of {weighted[0][0]}")
        mean = [m + weight * v for m, v in zip(mean, bits((v << 16 for v in values), "I", "f"))]
    rounded = array.array("H", ((v + 0x7FFF + (v >> 16 & 1)) >> 16 for v in bits(mean, "f", "I")))

    if os.path.exists(out):
        sys.exit(f"mean.py: {out} is there already")
    part = out.rstrip("/") + ".part"                    # OUT is there when it is complete
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    for name in ("config.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(os.path.join(weighted[0][0], name), part)
    with open(os.path.join(part, "model.safetensors"), "wb") as f:
        f.write(first + rounded.tobytes())
    os.rename(part, out)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
