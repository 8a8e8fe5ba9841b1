#!/usr/bin/env python3
"""Makes tests/golden/hdf5/: the weights of models that are in tests/golden already as tf_model.h5, in the layout of transformers 4's
TFPreTrainedModel.save_pretrained (Keras' groups: one for each layer, with the variables' names as paths).  The tests expect the same
tensors.  `wide` has more layers than a leaf of a group's tree holds, and numbers in half precision; what is in `refused` is
HDF5 that transformers does not write.

    python3 -m venv h5 && h5/bin/pip install h5py
    h5/bin/python tools/golden/golden_hdf5.py"""
import json
import pathlib
import re
import shutil
import struct

import h5py
import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden"
MODELS = {"roformer": ("models/plain", "tf_ro_former_for_masked_lm", "roformer"), "bert": ("bert/masked", "tf_bert_for_masked_lm", "bert"),
          "sequence": ("heads/sequence", "tf_ro_former_for_sequence_classification", "roformer")}


def read(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    for name, entry in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = (8 + n + x for x in entry["data_offsets"])
            yield name, np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])


def variable(name, value, prefix):
    """The layer, its variable's name below the model's scope, and the value; None: TensorFlow's models do not have it."""
    if name.startswith("cls.predictions.decoder") or name.endswith("position_ids"):
        return None
    layer = prefix if name.startswith(prefix + ".") else "mlm___cls" if name.startswith("cls.") else name.split(".")[0]
    name = re.sub(r"^cls\.", "mlm___cls.", name)
    last = name.split(".")[-1]
    if "LayerNorm" in name:
        name = name[:-len(last)] + {"weight": "gamma", "bias": "beta"}[last]
    elif "token_type_embeddings" in name or "position" in name:
        name = name.replace(".weight", ".embeddings")
    elif last == "weight" and "word_embeddings" not in name:
        name, value = name[:-len(last)] + "kernel", value.T
    path = re.sub(r"/layer/(\d+)/", r"/layer_._\1/", name.replace(".", "/"))
    return layer, path + ":0", np.ascontiguousarray(value)


def write(path, scope, variables, attributes=True):
    with h5py.File(path, "w") as f:
        f.attrs["layer_names"] = [n.encode() for n in dict.fromkeys(v[0] for v in variables)]
        f.attrs["backend"], f.attrs["keras_version"] = b"tensorflow", b"2.10.0"
        for layer in dict.fromkeys(v[0] for v in variables):
            group = f.create_group(layer)
            own = [(f"{scope}/{name}", value) for to, name, value in variables
                   if to == layer or (layer == "mlm___cls" and "/embeddings/" in name)]     # TensorFlow repeats them
            if attributes:
                group.attrs["weight_names"] = [n.encode() for n, _ in own]
            for name, value in own:
                group.create_dataset(name, value.shape, dtype=value.dtype)[...] = value


def main():
    root = GOLDEN / "hdf5"
    shutil.rmtree(root, ignore_errors=True)
    for name, (source, scope, prefix) in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True)
        write(folder / "tf_model.h5", scope,
              [v for v in (variable(*t, prefix) for t in read(GOLDEN / source / "model.safetensors")) if v])
        shutil.copy(GOLDEN / source / "config.json", folder)
    (root / "wide").mkdir()
    write(root / "wide" / "tf_model.h5", "scope", [("roformer", f"a/b_._{i}/kernel:0", (i + np.arange(6).reshape(2, 3) / 8).astype(np.float16))
                                                   for i in range(40)], attributes=False)
    refused(root / "refused")


def refused(root):
    root.mkdir()
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with h5py.File(root / "latest.h5", "w", libver="latest") as f:
        f["a/b/c/kernel:0"] = x
    with h5py.File(root / "chunks.h5", "w") as f:
        f.create_dataset("a/b/c/kernel:0", data=x, chunks=(3, 2))
    with h5py.File(root / "compressed.h5", "w") as f:
        f.create_dataset("a/b/c/kernel:0", data=x, chunks=(3, 2), compression="gzip")
    with h5py.File(root / "link.h5", "w") as f:
        f["a/b/c/kernel:0"] = x
        f["a/b/d"] = h5py.SoftLink("/a/b/c")
    with h5py.File(root / "unwritten.h5", "w") as f:
        f.create_dataset("a/b/c/kernel:0", (3, 4), dtype=np.float32)
    with h5py.File(root / "empty.h5", "w") as f:
        f.create_group("a")
    with h5py.File(root / "twice.h5", "w") as f:
        f["a/b/c/kernel:0"], f["d/b/c/kernel:0"] = x, x + 1
    with h5py.File(root / "types.h5", "w") as f:                    # tensors that are listed and cannot be read as weights
        for name, kind in (("big", ">f4"), ("double", "<f8"), ("whole", "<i8"), ("text", "S4")):
            f[f"a/b/{name}"] = np.zeros(3, dtype=kind)


if __name__ == "__main__":
    main()
