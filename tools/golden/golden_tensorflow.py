#!/usr/bin/env python3
"""Makes tests/golden/tensorflow/: the weights of models that are in tests/golden already, written by TensorFlow's own writer under the
names that the authors of RoFormer, BERT and NEZHA published (spec of the names: bert4keras and Google's BERT), with the variables of an
optimizer.  The tests open both folders and expect the same tensors and the same answers.

    python3 -m venv tf && tf/bin/pip install tensorflow-cpu
    tf/bin/python tools/golden/golden_tensorflow.py"""
import json
import pathlib
import re
import shutil
import struct

import numpy as np
import tensorflow as tf

GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden"
BERT_KEYS = ("attention_probs_dropout_prob", "hidden_act", "hidden_dropout_prob", "hidden_size", "initializer_range", "intermediate_size",
             "max_position_embeddings", "num_attention_heads", "attention_key_size", "num_hidden_layers", "type_vocab_size", "vocab_size")
# As in Google's Chinese BERT, whose file the authors kept.
BESIDE = {"directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3,
          "pooler_size_per_head": 128, "pooler_type": "first_token_transform"}
MODELS = {"chinese_roformer-char_L-2_H-32_A-4": "models/plain", "projected": "models/projected", "roformer_v2": "roformer_v2/masked", "bert": "bert/masked",
          "chinese_roformer-gpt-char_L-2_H-24_A-2": "gpt", "chinese_roformer-sim-char_L-2_H-24_A-2": "sim", "nezha": "relative/nezha_model", "gau_alpha": "gau_alpha/masked"}


def read(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    for name, entry in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = (8 + n + x for x in entry["data_offsets"])
            yield name, np.frombuffer(data[begin:end], np.float32).reshape(entry["shape"])


def variable(name, value):
    """The published name of a tensor, and its value there; None: TensorFlow's checkpoints do not have it."""
    if name.startswith("cls."):
        name = name.replace("cls.predictions.bias", "cls.predictions.output_bias")
        if name.startswith("cls.predictions.decoder"):
            return None
    elif name.startswith("gau_alpha.encoder."):
        name = name.replace("gau_alpha.", "GAU_alpha.").replace("scaleoffset.weight", "scaleoffset.gamma")
    else:
        name = re.sub("^(roformer|bert|gau_alpha)\\.", "bert.", name)
    name = re.sub("encoder\\.layer\\.(\\d+)", r"encoder.layer_\1", name).replace("embeddings_project", "encoder.embedding_hidden_mapping_in")
    if re.search("(embed_positions|position_ids)", name):
        return None
    if "LayerNorm" in name:
        name = name.replace(".weight", ".gamma").replace(".bias", ".beta")
    elif "_embeddings.weight" in name:
        name = name.replace(".weight", "")
    elif name.endswith(".weight"):
        name, value = name.replace(".weight", ".kernel"), value.T
    return name.replace(".", "/"), np.ascontiguousarray(value)


def save(prefix, values):
    names = sorted(values)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tf.constant(values[n]) for n in names])


def write(folder, values, shards):
    """In one shard, or in two that TensorFlow has merged."""
    prefix = folder / "bert_model.ckpt"
    if shards == 1:
        return save(prefix, values)
    names = sorted(values)
    parts = [folder / "part0", folder / "part1"]
    for k, part in enumerate(parts):
        save(part, {n: values[n] for n in names[k::2]})
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[str(p) for p in parts], destination_prefix=str(prefix))
    return None


def main():
    root = GOLDEN / "tensorflow"
    shutil.rmtree(root, ignore_errors=True)
    for name, source in MODELS.items():
        folder = root / name
        folder.mkdir(parents=True)
        tensors = dict(v for v in (variable(*t) for t in read(GOLDEN / source / "model.safetensors")) if v)
        state = {"global_step": np.array(7, np.int64)}
        if name == "bert" or "roformer-char" in name:
            hidden = tensors["bert/embeddings/LayerNorm/gamma"].size
            state.update({"bert/pooler/dense/kernel": np.eye(hidden, dtype=np.float32), "bert/pooler/dense/bias": np.ones(hidden, np.float32)})
            state.update({"bert/encoder/layer_0/output/dense/bias/adam_m": np.zeros(hidden, np.float32),
                          "bert/encoder/layer_0/output/dense/bias/adam_v": np.zeros(hidden, np.float32)})
        if name == "bert":
            state.update({"cls/seq_relationship/output_weights": np.zeros((2, hidden), np.float32),
                          "cls/seq_relationship/output_bias": np.zeros(2, np.float32)})
        write(folder, {**tensors, **state}, 2 if name == "projected" else 1)
        config = json.loads((GOLDEN / source / "config.json").read_text())
        own = {k: config[k] for k in BERT_KEYS if k in config}
        own.update(BESIDE)
        if name == "projected":                     # a name that is nobody's: the folder says what it is
            own["architectures"] = ["RoFormerForMaskedLM"]
        if name == "gau_alpha":                     # of BERT's file that the authors kept; a unit has one head
            own["num_attention_heads"] = 12
        if name == "nezha":
            own.update(use_relative_position=True, max_relative_position=config["max_relative_position"])
        (folder / "bert_config.json").write_text(json.dumps(own, indent=2) + "\n")
        vocabulary = GOLDEN / source / "vocab.txt"
        if vocabulary.exists():
            shutil.copy(vocabulary, folder)


if __name__ == "__main__":
    main()
