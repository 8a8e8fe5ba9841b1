#!/usr/bin/env python3
"""Makes tests/golden/heads: tiny RoFormers with the heads that fine-tuning uses, saved by transformers, and the logits
that transformers computes with them.  Needs torch and transformers 5; the tests need neither.  The format is described in
tests/golden/README.md.

    python tools/golden/golden_heads.py            # writes tests/golden/heads anew
"""
import datetime
import pathlib
import shutil

import torch
import transformers
from transformers import (RoFormerConfig, RoFormerForMultipleChoice, RoFormerForQuestionAnswering,
                          RoFormerForSequenceClassification, RoFormerForTokenClassification)

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "heads"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
             max_position_embeddings=40)
NAMES = {0: "no", 1: "perhaps", 2: "yes"}

# name: (class, configuration, lengths of the padded batch)
MODELS = {
    "sequence": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="gelu", id2label=NAMES,
                 label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification"), [7, 2, 12]),
    "two_labels": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="relu"), [5, 9]),
    "regression": (RoFormerForSequenceClassification, dict(SMALL, hidden_act="tanh", num_labels=1, problem_type="regression"), [3, 8]),
    "token": (RoFormerForTokenClassification, dict(SMALL, hidden_act="gelu", num_labels=5, embedding_size=16), [6, 1, 9]),
    "span": (RoFormerForQuestionAnswering, dict(SMALL, hidden_act="gelu_new"), [8, 5]),
    "choice": (RoFormerForMultipleChoice, dict(SMALL, hidden_act="gelu"), [6, 6, 6, 6]),
    "choice_first": (RoFormerForMultipleChoice, dict(SMALL, hidden_act="gelu", summary_type="first"), [9, 3, 4, 7]),
}


def make(kind, config, generator):
    """Weights that matter: biases and norms are not zero and one."""
    model = kind(RoFormerConfig(**config)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed_positions" in name:
                continue
            noise = torch.randn(p.shape, generator=generator)
            if name.endswith("LayerNorm.weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name and p.dim() == 2 and "project" not in name:
                p.copy_(0.4 * noise)
            else:
                p.copy_(1.3 * noise / p.shape[1] ** 0.5)
    return model


def answer(model, ids, mask, types):
    """Logits [rows, K] in the order in which a batch without padding has them."""
    if isinstance(model, RoFormerForMultipleChoice):
        two = lambda x: x.reshape(-1, 2, x.shape[1])                     # two candidates for each question
        return model(input_ids=two(ids), attention_mask=two(mask), token_type_ids=two(types)).logits.reshape(-1, 1)
    out = model(input_ids=ids, attention_mask=mask, token_type_ids=types)
    if isinstance(model, RoFormerForQuestionAnswering):
        return torch.stack([out.start_logits, out.end_logits], -1)[mask == 1]
    if isinstance(model, RoFormerForTokenClassification):
        return out.logits[mask == 1]
    return out.logits


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    shutil.rmtree(ROOT, ignore_errors=True)
    for seed, (name, (kind, config, lengths)) in enumerate(MODELS.items(), 1):
        folder = ROOT / name
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = make(kind, config, generator)
        model.save_pretrained(folder)
        B, L = len(lengths), max(lengths)
        ids = torch.randint(0, SMALL["vocab_size"], (B, L), generator=generator)
        types = torch.randint(0, 2, (B, L), generator=generator)
        mask = torch.tensor([[int(t < n) for t in range(L)] for n in lengths])
        ids, types = ids * mask, types * mask
        with torch.no_grad():
            got = answer(model, ids, mask, types)
            exact = answer(model.double(), ids, mask, types)
        worst = float((got - exact).abs().max())
        assert worst < 3e-5, (name, worst)           # its own rounding leaves room in a tolerance of 1e-4
        with open(folder / "golden.txt", "w") as out:
            print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, "
                  f"{datetime.date.today()}, seed {seed}, float32 on the CPU", file=out)
            print("lengths", B, *lengths, file=out)
            print("ids", *ids[mask == 1].tolist(), file=out)
            print("types", *types[mask == 1].tolist(), file=out)
            print("logits", *got.shape, *(f"{v:.9g}" for v in got.flatten().tolist()), file=out)
        for file in folder.iterdir():
            file.chmod(0o644)
        print(f"{name:14} {sum(f.stat().st_size for f in folder.iterdir()):8} bytes, float32 against float64 {worst:.1e}")


if __name__ == "__main__":
    main()
