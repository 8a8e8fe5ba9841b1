#!/usr/bin/env python3
"""mean.py FIRST SECOND SHARE OUT: a model whose weights are (1 - SHARE) FIRST + SHARE SECOND (Wortsman et al. 2022).

Both are folders of one run's phases, kept in f32; OUT is FIRST with other weights.
"""
import array
import json
import os
import shutil
import sys


def opened(folder):
    """The header of model.safetensors, as bytes, and its numbers."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header, numbers = f.read(size), array.array("f")
        numbers.frombytes(f.read())
    if any(t["dtype"] != "F32" for name, t in json.loads(header).items() if name != "__metadata__"):
        sys.exit("%s: has weights that are not kept in f32" % folder)
    return header, numbers


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    first, second, share, out = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
    (header, a), (other, b) = opened(first), opened(second)
    if header != other:
        sys.exit("%s, %s: their tensors are not the same" % (first, second))
    mean = array.array("f", ((1 - share) * x + share * y for x, y in zip(a, b)))
    shutil.copytree(first, out, ignore=shutil.ignore_patterns("checkpoint-*", "*.jsonl", "all_results.json", ".*",
                                                              "README.md", "checksums.json"))
    with open(os.path.join(out, "model.safetensors"), "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header + mean.tobytes())


if __name__ == "__main__":
    main()
