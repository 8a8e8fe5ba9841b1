#!/usr/bin/env python3
"""Makes tests/golden/cross/losses.txt: losses of lists of outputs and labels with their gradients, as those of CrossEncoder of
sentence-transformers 6 give them in double precision for one list at a time (infonce: torch's cross_entropy with shares as targets),
and tests/golden/cross/ranking.txt: map, mrr@10 and ndcg@10 of CrossEncoderRerankingEvaluator.

    python tools/golden/golden_lists.py      # torch, sentence-transformers 6, scikit-learn

losses.txt has four lines for each case: name, size and loss; outputs; labels; gradient.
ranking.txt has three lines for each list: size and scores; outputs; labels."""
import random
import sys

import torch
from sentence_transformers.cross_encoder import losses
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator

import golden


class Outputs:
    """In place of a model: the text of document i is i, and z[i] is its output."""

    num_labels, device = 1, torch.device("cpu")

    def __init__(self, z):
        self.z = z

    def preprocess(self, pairs, prompt=None, task=None):
        return {"i": torch.tensor([int(document) for _, document in pairs])}

    def __call__(self, tokens):
        return {"scores": self.z[tokens["i"]]}


def infonce(z, y):
    return torch.nn.functional.cross_entropy(z, y / y.sum())



def of_lists(make):
    return lambda z, y: make(Outputs(z))([["q"], [[str(i) for i in range(len(z))]]], [y])


def margin_mse(z, y):
    documents = [[str(i)] for i in range(len(z))]
    sys.modules[losses.MarginMSELoss.__module__].CrossEncoder = Outputs
    return losses.MarginMSELoss(Outputs(z))([["q"]] + documents, [y])


def listmle(z, y):
    order = torch.sort(y, descending=True, stable=True).indices
    return of_lists(losses.ListMLELoss)(z[order], y[order])


LOSSES = {"bce": torch.nn.BCEWithLogitsLoss(), "mse": torch.nn.MSELoss(), "margin_mse": margin_mse, "infonce": infonce,
          "listnet": of_lists(losses.ListNetLoss), "listmle": listmle, "ranknet": of_lists(losses.RankNetLoss),
          "lambda": of_lists(losses.LambdaLoss)}


def labels_of(name, kind, n, rng):
    if kind == 0 or name == "infonce":
        y = [1.0] + [0.0] * (n - 1)
        rng.shuffle(y)
        return y
    if kind == 1 or name == "bce":
        return [rng.choice([0.0, 0.25, 1.0]) for _ in range(n)]
    return [float(rng.randrange(0, 4)) for _ in range(n)] if kind == 2 else [rng.randrange(-64, 64) / 16 for _ in range(n)]


def row(numbers):
    return " ".join("%.17g" % float(x) for x in numbers)


def main():
    golden.quiet()
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = lambda self: self.double()
    rng, lines = random.Random(1), []
    for name, loss in LOSSES.items():
        for case in range(16):
            n = [2, 3, 5, 12][case // 4]
            y = labels_of(name, case % 4, n, rng)
            z = torch.tensor([rng.randrange(-512, 512) / 128 * (10 if case == 15 else 1) for _ in range(n)], requires_grad=True)
            value = loss(z, torch.tensor(y))
            if value.requires_grad:
                value.backward()
            lines += ["%s %d %.17g" % (name, n, value.item()), row(z.detach()), row(y), row(z.grad if z.grad is not None else [0] * n)]
    golden.write_lines(golden.GOLDEN / "cross" / "losses.txt", lines)

    evaluator, lines = CrossEncoderRerankingEvaluator([dict(query="q", positive=["0"], documents=["0", "1"])], at_k=10), []
    for case in range(24):
        n = [2, 4, 9, 30][case % 4]
        relevant = [int(rng.random() < 0.3) for _ in range(n)]
        relevant[rng.randrange(n)] = 1
        z = [rng.randrange(-20, 20) / 8 if case >= 20 else rng.randrange(-4096, 4096) / 1024 for _ in range(n)]
        mrr, ndcg, precision = evaluator.compute_metrics(relevant, torch.tensor(z).numpy())
        lines += ["%d %.17g %.17g %.17g" % (n, precision, mrr if len(set(z)) == n else -1, ndcg), row(z), row(relevant)]
    golden.write_lines(golden.GOLDEN / "cross" / "ranking.txt", lines)


if __name__ == "__main__":
    main()
