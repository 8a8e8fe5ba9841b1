#!/usr/bin/env python3
"""The cost of opening a model of RoFormer-base's size: seconds with files in the page cache, and the peak of the resident set.

    bench/opening.py BUILD [ROUNDS]             # bench/opening.py build/release 5; with PyTorch also pytorch_model.bin, with
                                                # TensorFlow bert_model.ckpt

Creates the folder with random numbers, converts it to bf16 and int8 (roformer convert), and opens every folder in every type, alternately.
It prints medians of elapsed and of processor time, the peak, and its limit: 1.25 times the weights of that type (parameters
times 4, 2 or 1 bytes) and 60 MB."""
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

V, C, F, LAYERS = 50000, 768, 3072, 12
CONFIG = {"model_type": "roformer", "architectures": ["RoFormerForMaskedLM"], "vocab_size": V, "embedding_size": C, "hidden_size": C,
          "num_hidden_layers": LAYERS, "num_attention_heads": 12, "intermediate_size": F, "max_position_embeddings": 1536}


def shapes():
    def linear(name, n, k):
        yield f"{name}.weight", [n, k]
        yield f"{name}.bias", [n]

    def norm(name):
        yield f"{name}.LayerNorm.weight", [C]
        yield f"{name}.LayerNorm.bias", [C]

    yield "roformer.embeddings.word_embeddings.weight", [V, C]
    yield "roformer.embeddings.token_type_embeddings.weight", [2, C]
    yield from norm("roformer.embeddings")
    for i in range(LAYERS):
        at = f"roformer.encoder.layer.{i}"
        for name in "query", "key", "value":
            yield from linear(f"{at}.attention.self.{name}", C, C)
        yield from linear(f"{at}.attention.output.dense", C, C)
        yield from norm(f"{at}.attention.output")
        yield from linear(f"{at}.intermediate.dense", F, C)
        yield from linear(f"{at}.output.dense", C, F)
        yield from norm(f"{at}.output")
    yield from linear("cls.predictions.transform.dense", C, C)
    yield from norm("cls.predictions.transform")
    yield "cls.predictions.bias", [V]


def make(folder):
    draw = random.Random(1)
    block = struct.pack("<65521f", *(draw.gauss(0, 0.02) for _ in range(65521)))
    header, at = {}, 0
    for name, shape in shapes():
        count = 1
        for n in shape:
            count *= n
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for left in range(at, 0, -len(block)):
            out.write(block[:left])
    return at // 4


def save_as_torch(root):
    """The same weights saved with torch.save, in the zip format (bin) and in the older one (old); nothing without PyTorch."""
    try:
        import torch
        from safetensors.torch import load_file
    except ImportError:
        return []
    weights = load_file(root / "f32" / "model.safetensors")
    for kind in "bin", "old":
        (root / kind).mkdir()
        (root / kind / "config.json").write_text(json.dumps(CONFIG))
        torch.save(weights, root / kind / "pytorch_model.bin", _use_new_zipfile_serialization=kind == "bin")
    return ["bin", "old"]


def save_as_tensorflow(root):
    """The same weights as a checkpoint of TensorFlow: ckpt; nothing without TensorFlow."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "golden"))
    try:
        import golden_tensorflow as golden
    except ImportError:
        return []
    folder = root / "ckpt"
    folder.mkdir()
    (folder / "bert_config.json").write_text(json.dumps({k: CONFIG[k] for k in (*golden.BERT_KEYS, "architectures") if k in CONFIG}))
    named = (golden.variable(*tensor) for tensor in golden.read(root / "f32" / "model.safetensors"))
    golden.write(folder, dict(v for v in named if v), 1)
    return ["ckpt"]


def main():
    build = pathlib.Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    program, bench = build / "roformer", build / "bench" / "bench_opening"
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{processor}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; medians of {rounds} rounds")
    with tempfile.TemporaryDirectory() as work:
        root = pathlib.Path(work)
        parameters = make(root / "f32")
        for kind in "bf16", "int8":
            subprocess.run([program, "convert", "-q", root / "f32", root / kind, "--dtype", kind], check=True, stdout=subprocess.DEVNULL)
        print(f"{parameters / 1e6:.1f} million parameters")
        print("folder  opened as  threads  seconds  processor  peak MB  may be")
        more, rows = save_as_torch(root) + save_as_tensorflow(root), {}
        for _ in range(rounds):
            for kind in ["f32", *more, "bf16", "int8"]:
                subprocess.run([bench, root / kind, "bf16", "1"], check=True, stdout=subprocess.DEVNULL)   # the file to be read is near
                for dtype in "f32", "bf16", "int8":
                    for threads in "1", "2":
                        line = subprocess.run([bench, root / kind, dtype, threads], check=True, stdout=subprocess.PIPE, text=True).stdout
                        rows.setdefault((kind, dtype, threads), []).append([float(x) for x in line.split()])
        for (kind, dtype, threads), values in rows.items():
            seconds, busy, _, peak = (statistics.median(column) for column in zip(*values))
            limit = 1.25 * parameters * {"f32": 4, "bf16": 2, "int8": 1}[dtype] / 1e6 + 60
            print(f"{kind:7} {dtype:9} {threads:>8} {seconds:8.2f} {busy:10.2f} {peak:8.0f} {limit:7.0f}{'' if peak <= limit else '  above'}")


if __name__ == "__main__":
    main()
