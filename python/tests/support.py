"""What the tests share: where models lie, small model folders, and the program to compare with."""
from __future__ import annotations

import atexit
import functools
import json
import os
import pathlib
import shutil
import string
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SENTENCES = str(ROOT / "models" / "roformer-small-en-sentences")
MASKED = str(ROOT / "models" / "roformer-small-en")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = list(string.ascii_lowercase)


def program() -> str:
    """The program `roformer`, or skips: ROFORMER_PROGRAM names it, else it is that of build/release."""
    path = os.environ.get("ROFORMER_PROGRAM") or str(ROOT / "build" / "release" / "roformer")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no program roformer")
    return path


def lines(n: int) -> "list[str]":
    """Real sentences: those of the project's pages."""
    out: "list[str]" = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if len(line.split()) > 5 and not line.startswith("|"):
                out.append(line.strip())
    return out[:n]


_made = tempfile.TemporaryDirectory()
atexit.register(_made.cleanup)


@functools.lru_cache(maxsize=None)
def folder(name: str, **more: object) -> str:
    """A folder of tests/golden with a vocabulary of letters and parts of words, and keys of config.json changed."""
    to = os.path.join(_made.name, "%d" % len(os.listdir(_made.name)))
    os.mkdir(to)
    source = GOLDEN / name
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config.update(more)
    shutil.copy(source / "model.safetensors", to)
    pathlib.Path(to, "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = SPECIAL + LETTERS + ["##" + c for c in LETTERS] + [".", ",", "?", "the"]
    size = config["vocab_size"]
    pathlib.Path(to, "vocab.txt").write_text("\n".join((words + ["w%d" % i for i in range(size)])[:size]) + "\n",
                                             encoding="utf-8")
    pathlib.Path(to, "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}), encoding="utf-8")
    return to


def _write_tensors(path: pathlib.Path, tensors: "dict[str, object]") -> None:
    """A safetensors file of float32 arrays."""
    header, data = {}, b""
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@functools.lru_cache(maxsize=None)
def sentence_folder(base: str = SENTENCES, dense: "tuple[int, ...]" = (), prompts: "tuple[tuple[str, str], ...]" = (),
                    hidden: int = 256) -> str:
    """A folder of sentence-transformers: the model, means, Dense modules of these widths with the tangent, prompts."""
    import numpy as np
    to = pathlib.Path(_made.name, "%d" % len(os.listdir(_made.name)))
    shutil.copytree(base, to)
    kind = "sentence_transformers.models."
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind + "Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": kind + "Pooling"}]
    random, width = np.random.default_rng(1), hidden
    for i, out in enumerate(dense, 2):
        part = to / ("%d_Dense" % i)
        part.mkdir()
        (part / "config.json").write_text(json.dumps({"in_features": width, "out_features": out, "bias": True,
                                                      "activation_function": "torch.nn.modules.activation.Tanh"}))
        _write_tensors(part / "model.safetensors", {
            "linear.weight": random.normal(0, width ** -0.5, (out, width)).astype(np.float32),
            "linear.bias": random.normal(0, 0.1, out).astype(np.float32)})
        modules.append({"idx": i, "name": str(i), "path": part.name, "type": kind + "Dense"})
        width = out
    (to / "modules.json").write_text(json.dumps(modules))
    (to / "1_Pooling").mkdir(exist_ok=True)
    (to / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": hidden,
                                                              "pooling_mode_mean_tokens": True}))
    if prompts:
        (to / "config_sentence_transformers.json").write_text(json.dumps({"prompts": dict(prompts)}))
    return str(to)
