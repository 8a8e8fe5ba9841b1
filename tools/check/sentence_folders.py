#!/usr/bin/env python3
"""sentence_folders.py PROGRAM [N [SEED]] — N random folders of sentence-transformers (60): tiny BERTs with random poolings, modules after
them, prompts, truncate_dim and similarity, as it saves them or as older versions did.  The vectors of `PROGRAM embed` and of the Python
package (if it can be imported), its dimension and its similarity equal those of sentence-transformers: to 2e-6 of the larger of 1 and the
value, similarities and normalized vectors, which enlarge roundings of small ones, to 1e-5.  A folder that is refused is a failure.

Needs sentence-transformers 6, transformers 5 and torch."""
import json
import logging
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import torch  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.base.modules import Dense, Normalize, Transformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling  # noqa: E402
from transformers import BertConfig, BertModel, BertTokenizer  # noqa: E402

try:
    import roformer_c
except ImportError:
    roformer_c = None

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] the old city of river house king a new lives in big ##s ##ed . , ! e u query : passage c i t y").split()
TEXTS = ["the old city of the river", "Houses!", "the zebra's house", "",
         "a king lives in the house of a new big city , the old king of the river house lives in the big new house"]
MODES = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
         "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken"}
FUNCTIONS = "Identity Tanh ReLU GELU SiLU Sigmoid Softplus ELU LeakyReLU Mish".split()
PROMPTS = [None, {"query": "query : ", "passage": "passage : "}, {"query": "the old ", "none": ""}, {"long": TEXTS[4]}]


def shaken(module, scale):
    with torch.no_grad():
        for p in module.parameters():
            p.add_(torch.randn_like(p) * scale)
    return module


def bert(rng, to):
    torch.manual_seed(rng.randrange(1 << 30))
    width = rng.choice([8, 12, 16])
    config = BertConfig(vocab_size=len(WORDS), hidden_size=width, num_hidden_layers=rng.choice([1, 2]), num_attention_heads=2, intermediate_size=16,
                        max_position_embeddings=24, hidden_act=rng.choice(["gelu", "relu", "gelu_new"]))
    shaken(BertModel(config), 0.3).save_pretrained(to)
    vocab = pathlib.Path(to, "vocab.txt")
    vocab.write_text("\n".join(WORDS) + "\n")
    BertTokenizer(str(vocab)).save_pretrained(to)
    return width


def after(rng, width):
    out = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        kind = rng.choice(["dense", "dense", "unit", "norm", "dropout"])
        if kind == "dense":
            to = rng.choice([3, 5, width])
            out.append(Dense(width, to, bias=rng.random() < .6, activation_function=getattr(torch.nn, rng.choice(FUNCTIONS))(), use_residual=rng.random() < .2))
            width = to
        else:
            out.append(Normalize() if kind == "unit" else LayerNorm(width) if kind == "norm" else Dropout(0.3))
    return [shaken(m, 0.2) for m in out] + [Normalize()] * (rng.random() < .5)


def as_older(folder, how):
    path = folder / "1_Pooling" / "config.json"
    old = {"word_embedding_dimension": 0, "include_prompt": json.loads(path.read_text()).get("include_prompt", True)}
    path.write_text(json.dumps({**old, **{"pooling_mode_" + v: k in how for k, v in MODES.items()}}))
    rows = json.loads((folder / "modules.json").read_text())
    for row in rows:
        row["type"] = "sentence_transformers.models." + row["type"].split(".")[-1]
    (folder / "modules.json").write_text(json.dumps(rows))
    c = json.loads((folder / "config.json").read_text())
    path.write_text(json.dumps({**json.loads(path.read_text()), "word_embedding_dimension": c["hidden_size"]}))


def build(rng, to):
    with tempfile.TemporaryDirectory() as base:
        width = bert(rng, base)
        how = tuple(rng.sample(list(MODES), rng.choice([1, 1, 1, 2, 3])))
        modules = [Transformer(base, max_seq_length=rng.choice([None, 6, 12, 24])), Pooling(width, how, rng.random() < .6)]
        prompts = rng.choice(PROMPTS)
        st = SentenceTransformer(modules=modules + after(rng, width * len(how)), device="cpu", prompts=prompts,
                                 default_prompt_name=rng.choice([None, *(prompts or {})]), truncate_dim=rng.choice([None, None, 2, 3, 1000]),
                                 similarity_fn_name=rng.choice([None, "cosine", "dot", "euclidean", "manhattan"]))
        st.save_pretrained(str(to), create_model_card=False)
    if rng.random() < .3:
        as_older(to, how)
    return [None, *(prompts or {})]


def off(ours, theirs):
    """The largest difference, against the larger of 1 and the value."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return float((abs(ours - theirs) / np.maximum(1, abs(theirs))).max()) if ours.shape == theirs.shape else float("inf")


def by_program(program, folder, name, lines):
    done = subprocess.run([program, "embed", "-q", "-m", str(folder), "--format", "jsonl", *([] if name is None else ["--prompt-name", name]), str(lines)],
                          capture_output=True, text=True)
    return [json.loads(x) for x in done.stdout.splitlines()] if not done.returncode else done.stderr.strip()


def compare(program, folder, name, lines):
    """What differs, in words."""
    st = SentenceTransformer(str(folder), device="cpu")
    right = st.encode(TEXTS, prompt_name=name, batch_size=1)
    if not np.isfinite(right).all():                # the maximum over no token
        return
    got = by_program(program, folder, name, lines)
    if isinstance(got, str):
        yield "refused: " + got
    elif off(got, right) > 2e-6:
        yield "embed: %g" % off(got, right)
    if roformer_c:
        try:
            m = roformer_c.SentenceTransformer(str(folder))
            v = m.encode(TEXTS, prompt_name=name)
            unit = [x.encode(TEXTS, prompt_name=name, normalize_embeddings=True, batch_size=1) for x in (m, st)]
        except roformer_c.RoformerError as e:
            yield "Python: refused: %s" % e
            return
        found = {"vectors": (off(v, right), 2e-6), "unit vectors": (off(*unit), 1e-5),
                 "similarity": (off(m.similarity(v, v), st.similarity(right, right)), 1e-5),
                 "dimension": (abs(m.get_sentence_embedding_dimension() - st.get_embedding_dimension()), 0)}
        yield from ("Python: %s: %g" % (what, x) for what, (x, most) in found.items() if x > most)


def main():
    logging.disable(logging.WARNING)
    program, n, seed = sys.argv[1], int((sys.argv[2:3] or [60])[0]), int((sys.argv[3:4] or [1])[0])
    failures = 0
    for i in range(n):
        with tempfile.TemporaryDirectory() as work:
            folder, lines = pathlib.Path(work, "m"), pathlib.Path(work, "lines")
            lines.write_text("\n".join(TEXTS) + "\n")
            for name in build(random.Random(1000 * seed + i), folder):
                for what in compare(program, folder, name, lines):
                    failures += 1
                    print("folder %d of seed %d, prompt %s: %s" % (i, seed, name, what.replace(work, "")))
    print("sentence_folders: %d folders, %d failures%s" % (n, failures, "" if roformer_c else "; without the Python package"))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
