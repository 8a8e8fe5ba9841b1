#!/usr/bin/env python3
"""golden_sentences.py OUT - vectors of folders by sentence-transformers, for tests/golden/sentences.

texts.txt         a text a line
models/NAME       a model with random weights, as transformers' save_pretrained writes it, without tokenizer.json
cases/CASE        the files other than a model's weights: files that are added to models/NAME or replace its own
  model           NAME
  vectors.txt     SentenceTransformer(folder).encode of the texts, a row each
  similarity.txt  SentenceTransformer(folder).similarity of these vectors
  function        similarity_fn_name, where it is not cosine

Made with sentence-transformers 6.2, transformers 5.24, torch 2.15 (CPU).
"""
import json
import logging
import os
import pathlib
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.base.modules import Dense, Normalize, Transformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling  # noqa: E402
from transformers import BertConfig, BertModel, BertTokenizer, RoFormerConfig, RoFormerModel, RoFormerTokenizer  # noqa: E402

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] the old city of river house king a new lives in big ##s ##ed . , ! e u "
         "query : c i t y").split()
TEXTS = ["the old city of the river", "Houses!", "the zebra's house", "é Ü city",
         "a king lives in the house of a new big city , the old king of the river house lives in the big new house"]
MODULES = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]


def modules(n):
    return [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(MODULES[:n])]


def write_models(out):
    torch.manual_seed(38)
    vocab = out.parent / "vocab.txt"
    vocab.write_text("\n".join(WORDS) + "\n")
    shape = dict(vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
                 max_position_embeddings=16)
    for name, model, tokenizer in (("bert", BertModel(BertConfig(**shape)), BertTokenizer),
                                   ("roformer", RoFormerModel(RoFormerConfig(**shape)), RoFormerTokenizer)):
        with torch.no_grad():
            for key, p in model.named_parameters():
                if "embed_positions" not in key:            # the table of sines
                    p.add_(torch.randn_like(p) * 0.3)
        model.save_pretrained(out / name)
        tokenizer(str(vocab)).save_pretrained(out / name)
        (out / name / "tokenizer.json").unlink()
        shutil.copy(vocab, out / name)
    vocab.unlink()


def randomized(*rest):
    """Modules with random weights."""
    with torch.no_grad():
        for module in rest:
            for p in module.parameters():
                p.add_(torch.randn_like(p) * 0.3)
    return rest


def saved(out, model, case, pooling="mean", unit=False, limit=None, include_prompt=True, rest=(), **more):
    """The files that SentenceTransformer.save_pretrained writes."""
    st = SentenceTransformer(modules=[Transformer(str(out / "models" / model), max_seq_length=limit), Pooling(8, pooling, include_prompt),
                                      *rest, *([Normalize()] if unit else [])], device="cpu", **more)
    to = out / "cases" / case
    with tempfile.TemporaryDirectory() as folder:
        st.save_pretrained(folder, create_model_card=False)
        own = json.loads((out / "models" / model / "tokenizer_config.json").read_text())
        for file in sorted((*pathlib.Path(folder).rglob("*.json"), *pathlib.Path(folder).glob("*_*/*.safetensors"))):
            inner = file.relative_to(folder)
            if str(inner) in ("config.json", "tokenizer.json"):
                continue
            if str(inner) == "tokenizer_config.json" and json.loads(file.read_text()) == own:
                continue
            (to / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to / inner)
    (to / "model").write_text(model + "\n")


def by_hand(out, model, case, files):
    to = out / "cases" / case
    for name, value in files.items():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        if name == "tokenizer_config.json":
            value = json.loads((out / "models" / model / name).read_text()) | value
        (to / name).write_text(json.dumps(value, indent=2) + "\n")
    to.mkdir(parents=True, exist_ok=True)
    (to / "model").write_text(model + "\n")


def measure(out, case):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(out / "models" / (case / "model").read_text().strip(), folder, dirs_exist_ok=True)
        shutil.copytree(case, folder, dirs_exist_ok=True)
        st = SentenceTransformer(folder, device="cpu")
        v = st.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
        s = st.similarity(v, v)
        function = st.similarity_fn_name
    for name, rows in (("vectors.txt", v), ("similarity.txt", s)):
        (case / name).write_text("".join(" ".join(f"{x:.7g}" for x in row) + "\n" for row in rows.tolist()))
    if function != "cosine":
        (case / "function").write_text(function + "\n")


def main():
    logging.disable(logging.WARNING)
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    write_models(out / "models")
    prompts = {"query": "query : ", "none": ""}
    for model in ("bert", "roformer"):
        by_hand(out, model, f"{model}-plain", {})
        by_hand(out, model, f"{model}-plain-limit", {"tokenizer_config.json": {"model_max_length": 9}})
        by_hand(out, model, f"{model}-plain-beyond", {"tokenizer_config.json": {"model_max_length": 512}})
        saved(out, model, f"{model}-saved")
        saved(out, model, f"{model}-saved-limit", limit=7)
        saved(out, model, f"{model}-cls-unit", pooling="cls", unit=True, prompts=prompts, default_prompt_name="query")
    saved(out, "bert", "max-cut", pooling="max", truncate_dim=5)
    saved(out, "bert", "sqrt-unit", pooling="mean_sqrt_len_tokens", unit=True)
    saved(out, "bert", "weighted", pooling="weightedmean")
    saved(out, "bert", "unit-cut", unit=True, truncate_dim=5)
    for function in ("dot", "euclidean", "manhattan"):
        saved(out, "bert", function, similarity_fn_name=function)
    saved(out, "bert", "unit-dot", unit=True, similarity_fn_name="dot")
    saved(out, "bert", "two", pooling=("max", "cls"), unit=True)
    saved(out, "bert", "six", pooling=("lasttoken", "weightedmean", "mean_sqrt_len_tokens", "mean", "max", "cls"), truncate_dim=45)
    asked = dict(prompts=prompts, default_prompt_name="query")
    saved(out, "bert", "prompt-two", pooling=("mean", "lasttoken", "cls"), include_prompt=False, **asked)
    saved(out, "bert", "prompt-weighted", pooling=("weightedmean", "mean_sqrt_len_tokens", "max"), include_prompt=False, unit=True, **asked)
    saved(out, "bert", "prompt-long", include_prompt=False, limit=4, prompts={"long": "the old city of the river"}, default_prompt_name="long")
    torch.manual_seed(59)
    saved(out, "bert", "dense-two", pooling=("cls", "mean"), rest=randomized(Dense(16, 5), Dropout(0.5)), unit=True)
    saved(out, "bert", "dense-residual", rest=randomized(Dense(8, 8, activation_function=torch.nn.ReLU(), use_residual=True),
                                                         Dense(8, 3, bias=False, activation_function=torch.nn.Identity(), use_residual=True)))
    torch.manual_seed(60)
    functions = "Sigmoid ELU CELU LeakyReLU Mish Softplus ReLU6 Hardtanh Softsign SELU Hardswish".split()
    for i in range(3):
        rest = randomized(*(Dense(8, 8, activation_function=getattr(torch.nn, name)()) for name in functions[4 * i:4 * i + 4]))
        saved(out, "bert", f"functions-{i}", rest=rest)
    saved(out, "bert", "layer-norm", rest=randomized(LayerNorm(8)), unit=True)
    saved(out, "bert", "modules", pooling=("mean", "max"), truncate_dim=4,
          rest=randomized(Normalize(), Dense(16, 6, activation_function=torch.nn.GELU()), LayerNorm(6), Normalize(), LayerNorm(6)))
    pooling = {"word_embedding_dimension": 8, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}
    older = {"modules.json": modules(2), "1_Pooling/config.json": pooling}
    by_hand(out, "bert", "older", older | {"sentence_bert_config.json": {"max_seq_length": 6, "do_lower_case": False}})
    by_hand(out, "bert", "older-name", older | {"sentence_distilbert_config.json": {"max_seq_length": 5}})
    by_hand(out, "bert", "older-none", older)
    by_hand(out, "bert", "null", older | {"sentence_bert_config.json": {"max_seq_length": None},
                                          "tokenizer_config.json": {"model_max_length": 8}})
    by_hand(out, "bert", "args", older | {"sentence_bert_config.json": {"max_seq_length": 9,
                                                                        "tokenizer_args": {"model_max_length": 7}}})
    several = {"word_embedding_dimension": 8, "pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    by_hand(out, "bert", "older-several", older | {"1_Pooling/config.json": several})
    by_hand(out, "bert", "older-false", older | {"1_Pooling/config.json": {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": False}})
    for case in sorted((out / "cases").iterdir()):
        measure(out, case)


if __name__ == "__main__":
    main()
