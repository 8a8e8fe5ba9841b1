#!/usr/bin/env python3
"""golden_late.py - token vectors and MaxSim scores of late-interaction models by PyLate, for tests/golden/late.

queries.txt, documents.txt   a text a line
CASE/                        a folder as pylate.models.ColBERT saves it (its card apart), or, for `stanford`, one with the
                             files of Stanford's ColBERT
  queries.jsonl              ColBERT(folder).encode(queries, is_query=True, prompt_name="query" if there is one): for
                             each text the rows of its tokens
  documents.jsonl            the same of the documents
  scores.txt                 pylate.scores.colbert_scores: a row for each query, a column for each document

Made with pylate 1.6, sentence-transformers 5.3, transformers 5.3, torch 2.15 (CPU).
"""
import json
import os
import pathlib
import shutil
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from golden import GOLDEN, fresh, write_lines  # noqa: E402
from pylate import models, scores  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import BertConfig, BertModel, BertTokenizer, ModernBertConfig, ModernBertModel  # noqa: E402

WORDS = ("[PAD] [UNK] [CLS] [SEP] [MASK] [unused0] [unused1] the old city of river house king a new lives in big ##s "
         "##ed . , ! ? ; e u c i t y").split()
QUERIES = ["the old city of the river", "Houses!", "a king", "  zebra , the house ", "",
           "a king lives in the house of a new big city , the old king of the river house lives in the big new house"]
DOCUMENTS = [*QUERIES, "the river , the house ; the city .", "!", "[MASK] of the city"]


def random(model, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() < 2 else 0.5))
            if "norm" in name.lower() and name.endswith("weight"):
                p.add_(1)
    return model


def base(folder, seed, modern=False):
    """A folder of transformers with random weights."""
    shape = dict(vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=16,
                 max_position_embeddings=64)
    model = ModernBertModel(ModernBertConfig(**shape, local_attention=8, pad_token_id=0, cls_token_id=2, bos_token_id=2,
                                             sep_token_id=3, eos_token_id=3)) if modern else BertModel(BertConfig(**shape))
    random(model, seed).save_pretrained(folder)
    vocab = pathlib.Path(folder) / "vocab.txt"
    write_lines(vocab, WORDS)
    BertTokenizer(str(vocab)).save_pretrained(folder)


def pylate(to, seed, modern=False, rest=(), **settings):
    with tempfile.TemporaryDirectory() as folder:
        base(folder, seed, modern)
        model = models.ColBERT(folder, device="cpu", **{"embedding_size": 4, **settings})
        for dense in rest:
            model.append(random(dense, seed + 1))
        random(model, seed + 2)
        model.save(str(to), create_model_card=False)


def stanford(to, seed):
    base(to, seed)
    weights = load_file(to / "model.safetensors")
    torch.manual_seed(seed + 1)
    save_file({**{"bert." + name: x for name, x in weights.items()}, "linear.weight": torch.randn(4, 8) * 0.4},
              to / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((to / "config.json").read_text()) | {"architectures": ["HF_ColBERT"]}
    (to / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (to / "artifact.metadata").write_text(json.dumps(
        {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 10, "doc_maxlen": 14,
         "attend_to_mask_tokens": False, "dim": 4, "similarity": "cosine", "mask_punctuation": True}, indent=2) + "\n")


def measure(folder):
    model = models.ColBERT(str(folder), device="cpu")
    sides = [model.encode(texts, is_query=role == "query", batch_size=3, show_progress_bar=False,
                          prompt_name=role if role in model.prompts else None)
             for texts, role in ((QUERIES, "query"), (DOCUMENTS, "document"))]
    for name, side in zip(("queries", "documents"), sides):
        write_lines(folder / f"{name}.jsonl", [json.dumps([[float(f"{x:.7g}") for x in row] for row in text.tolist()])
                                               for text in side])
    write_lines(folder / "scores.txt", [" ".join(f"{scores.colbert_scores(q[None], d[None]).item():.7g}" for d in sides[1])
                                        for q in sides[0]])


def main():
    out = fresh(GOLDEN / "late")
    write_lines(out / "queries.txt", QUERIES)
    write_lines(out / "documents.txt", DOCUMENTS)
    pylate(out / "plain", 1, query_length=12, document_length=14)
    pylate(out / "attend", 2, query_length=9, document_length=10, attend_to_expansion_tokens=True)
    pylate(out / "short", 3, query_length=8, document_length=60, do_query_expansion=False, query_prefix="",
           document_prefix="[unused1]", skiplist_words=["the", "."])
    pylate(out / "modern", 4, modern=True, query_length=24, document_length=30)
    pylate(out / "dense", 5, query_length=12, document_length=14, prompts={"query": "old: ", "web": "the "}, rest=[
        models.Dense(4, 6, bias=True, activation_function=torch.nn.Tanh(), use_residual=True)])
    (out / "stanford").mkdir()
    stanford(out / "stanford", 6)
    for folder in sorted(f for f in out.iterdir() if f.is_dir()):
        measure(folder)
        for unused in ("README.md", "vocab.txt"):
            (folder / unused).unlink(missing_ok=True)
        for file in folder.rglob("*"):
            if file.is_file():
                file.chmod(0o644)


if __name__ == "__main__":
    main()
