#!/usr/bin/env python3
"""golden_embed.py OUT - values of sentence-transformers' losses and evaluators, and its folders, for tests/golden/embed.

losses.txt    vectors, scores, the value of a loss class and its gradient (torch's autograd, in double)
teacher.txt   vectors, those of a teacher, the value of MSELoss or of EmbedDistillLoss's cosine, and the gradient
scores.txt    vectors and what EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator and, of scores above 0.5,
              BinaryClassificationEvaluator return for them
folders/      modules.json and what it names, as save_pretrained writes them

Made with sentence-transformers 6.2, torch 2.15 (CPU).
"""
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.evaluation import (
    BinaryClassificationEvaluator,
    EmbeddingSimilarityEvaluator,
    InformationRetrievalEvaluator,
)
from sentence_transformers.util import cos_sim


class Given(torch.nn.Module):
    """A model whose vectors are given."""

    width = 0

    def get_embedding_dimension(self):
        return self.width

    def forward(self, features):
        return features


def rows(x):
    return "\n".join(" ".join(f"{v:.9g}" for v in row) for row in np.asarray(x))


def loss_case(out, name, make, texts, n, C, seed, scores=False, options="", dims=None):
    """texts: how many for each example.  Rows of z: text after text of example after example."""
    g = np.random.default_rng(seed)
    z = torch.tensor(g.standard_normal((n * texts, C)).astype(np.float32).astype(np.float64), requires_grad=True)
    score = torch.tensor((g.integers(0, 6, n) / 5).astype(np.float32).astype(np.float64)) if scores else None
    model = Given()
    loss = make(model)
    if dims:
        Given.width = C
        loss = losses.MatryoshkaLoss(model, loss, dims)
    columns = [{"sentence_embedding": z[k::texts]} for k in range(texts)]
    value = loss(columns, score)
    value.backward()
    out.write(f"{name} {n} {texts} {C} {int(scores)} {options or '-'} {','.join(map(str, dims)) if dims else '-'}\n")
    out.write(rows(z.detach()) + "\n")
    if scores:
        out.write(rows(score[None]) + "\n")
    out.write(f"{value.item():.15g}\n{rows(z.grad)}\n")


def write_losses(path):
    with open(path, "w") as out:
        mnr = losses.MultipleNegativesRankingLoss
        loss_case(out, "infonce", lambda m: mnr(m), 2, 5, 6, 1)
        loss_case(out, "infonce", lambda m: mnr(m, scale=7), 3, 4, 5, 2, options="similarity_scale=7")
        loss_case(out, "infonce", lambda m: mnr(m), 4, 3, 8, 3)
        loss_case(out, "infonce", lambda m: mnr(m), 3, 4, 8, 4, dims=[8, 4, 2])
        loss_case(out, "cosent", lambda m: losses.CoSENTLoss(m), 2, 7, 6, 5, scores=True)
        loss_case(out, "cosent", lambda m: losses.CoSENTLoss(m, scale=3), 2, 6, 4, 6, scores=True, options="similarity_scale=3")
        loss_case(out, "cosent", lambda m: losses.CoSENTLoss(m), 2, 6, 6, 7, scores=True, dims=[6, 3])
        loss_case(out, "cosine", lambda m: losses.CosineSimilarityLoss(m), 2, 5, 6, 8, scores=True)
        loss_case(out, "triplet", lambda m: losses.TripletLoss(m), 3, 5, 6, 9)
        loss_case(out, "triplet", lambda m: losses.TripletLoss(m, triplet_margin=0.5), 3, 6, 5, 10, options="margin=0.5")


def teacher_case(out, name, make, texts, n, C, seed, unit=False):
    """Several texts of an example share one vector of the teacher.  unit: after Normalize."""
    g = np.random.default_rng(seed)
    z = torch.tensor(g.standard_normal((n * texts, C)).astype(np.float32).astype(np.float64), requires_grad=True)
    y = torch.tensor(g.standard_normal((n, C)).astype(np.float32).astype(np.float64))
    u = torch.nn.functional.normalize(z, dim=1) if unit else z
    value = make(Given())([{"sentence_embedding": u[k::texts]} for k in range(texts)], y)
    value.backward()
    out.write(f"{name} {n} {texts} {C} {int(unit)}\n{rows(z.detach())}\n{rows(y)}\n{value.item():.15g}\n{rows(z.grad)}\n")


def write_teacher(path):
    with open(path, "w") as out:
        cosine = lambda m: losses.EmbedDistillLoss(m, distance_metric="cosine")  # noqa: E731
        teacher_case(out, "mse", losses.MSELoss, 1, 6, 8, 11)
        teacher_case(out, "mse", losses.MSELoss, 2, 4, 6, 12)
        teacher_case(out, "mse", losses.MSELoss, 2, 5, 7, 13, unit=True)
        teacher_case(out, "cosine", cosine, 1, 5, 6, 14)
        teacher_case(out, "cosine", cosine, 2, 4, 8, 15)


class Table:
    """A model that looks vectors up: text i is the number of a row."""

    similarity_fn_name = "cosine"
    similarity = staticmethod(cos_sim)

    def __init__(self, z):
        self.z = z
        self.model_card_data = type("card", (), {"set_evaluation_metrics": lambda *a, **k: None})()

    def encode(self, texts, **_):
        return self.z[[int(t) for t in texts]]

    encode_query = encode_document = encode


def write_scores(path):
    with open(path, "w") as out:
        for seed, n, C in ((1, 12, 4), (2, 40, 6)):
            g = np.random.default_rng(seed)
            z = g.standard_normal((2 * n, C)).astype(np.float32)
            z[1::2] += z[::2] * g.random((n, 1)).astype(np.float32) * 2
            score = (g.integers(0, 11, n) / 10).astype(np.float32)
            text, pair = [str(2 * i) for i in range(n)], [str(2 * i + 1) for i in range(n)]
            sts = EmbeddingSimilarityEvaluator(text, pair, score.tolist(), main_similarity="cosine", write_csv=False)
            s = sts(Table(z))
            ir = InformationRetrievalEvaluator({t: t for t in text}, {p: p for p in pair},
                                               {t: {p} for t, p in zip(text, pair)}, accuracy_at_k=[1],
                                               precision_recall_at_k=[1, 10], mrr_at_k=[10], ndcg_at_k=[10],
                                               map_at_k=[10], write_csv=False, main_score_function="cosine")
            r = ir(Table(z))
            out.write(f"{n} {C}\n{rows(z)}\n{rows(score[None])}\n")
            values = [s["pearson_cosine"], s["spearman_cosine"], r["cosine_recall@1"], r["cosine_recall@10"],
                      r["cosine_mrr@10"], r["cosine_ndcg@10"]]
            yes = BinaryClassificationEvaluator(text, pair, [int(s > 0.5) for s in score], write_csv=False,
                                                similarity_fn_names=["cosine"])
            y = yes(Table(z))
            values += [y[f"cosine_{k}"] for k in ("ap", "accuracy", "accuracy_threshold", "precision", "recall", "f1",
                                                  "f1_threshold")]
            out.write(" ".join(f"{v:.15g}" for v in values) + "\n")


def write_folders(out, model):
    """Folders in its own format with pooling, normalization and prompts."""
    from sentence_transformers.sentence_transformer.modules import Pooling
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    shutil.rmtree(out, ignore_errors=True)
    cases = {"mean": ("mean", []), "cls-unit": ("cls", [Normalize()]), "max": ("max", []),
             "two": (("cls", "mean"), []), "last": ("lasttoken", []), "dense": ("mean", [Dense(32, 8)])}
    for name, (how, more) in cases.items():
        transformer = Transformer(model, max_seq_length=48)
        st = SentenceTransformer(modules=[transformer, Pooling(32, how), *more], device="cpu",
                                 prompts={"query": "question : ", "passage": ""},
                                 default_prompt_name="query" if name == "max" else None)
        with tempfile.TemporaryDirectory() as folder:
            st.save_pretrained(folder, create_model_card=False)
            for file in pathlib.Path(folder).rglob("*.json"):
                inner = file.relative_to(folder)
                keep = inner.name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json")
                if keep or len(inner.parts) > 1:
                    to = pathlib.Path(out) / name / inner
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, to)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_losses(folder / "losses.txt")
    write_teacher(folder / "teacher.txt")
    write_scores(folder / "scores.txt")
    if len(sys.argv) > 2:
        write_folders(folder / "folders", sys.argv[2])
