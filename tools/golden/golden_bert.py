#!/usr/bin/env python3
"""Makes tests/golden/bert: tiny BERTs with random weights and every head, saved by transformers, and what transformers computes with
them.  Needs torch and transformers 5; the tests need neither.  The formats are those of golden_models.py and golden_heads.py, which
tests/golden/README.md describes.

    python tools/golden/golden_bert.py                    # writes tests/golden/bert anew
    python tools/golden/golden_bert.py --check FOLDER...  # transformers loads folders that roformer wrote: no key missing or unexpected
"""
import datetime
import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (BertConfig, BertForMaskedLM, BertForMultipleChoice, BertForPreTraining, BertForQuestionAnswering,
                          BertForSequenceClassification, BertForTokenClassification, BertLMHeadModel)

import golden_models

ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "bert"
SMALL = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40,
             max_position_embeddings=40, hidden_act="gelu")
NAMES = {0: "no", 1: "perhaps", 2: "yes"}

# name: (class, configuration, what is done to the folder)
MODELS = {
    "masked": (BertForMaskedLM, SMALL, None),
    "old_names": (BertForPreTraining, dict(SMALL, hidden_act="relu", type_vocab_size=3), "old"),   # gamma, beta, no model_type
    "untied": (BertForMaskedLM, dict(SMALL, hidden_act="gelu_new", tie_word_embeddings=False, layer_norm_eps=1e-5), None),
    "causal": (BertLMHeadModel, dict(SMALL, is_decoder=True), None),
}
HEADS = {
    "sequence": (BertForSequenceClassification, dict(SMALL, id2label=NAMES, label2id={v: k for k, v in NAMES.items()},
                 problem_type="single_label_classification", classifier_dropout=0.3), [7, 2, 12]),
    "token": (BertForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (BertForQuestionAnswering, SMALL, [8, 5]),
    "choice": (BertForMultipleChoice, SMALL, [9, 3, 4, 7]),
}


def make(kind, config, generator):
    """Weights that matter: attention is neither flat nor one-hot, biases and norms are not zero and one."""
    model = kind(BertConfig(**config)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            if name.endswith("LayerNorm.weight"):
                p.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                p.copy_(0.2 * noise)
            elif "embeddings" in name and p.dim() == 2:
                p.copy_(0.4 * noise)
            else:
                p.copy_((1.5 if ".query." in name or ".key." in name else 1.0) * noise / p.shape[1] ** 0.5)
        model.tie_weights()
    return model


class Masked(torch.nn.Module):
    """BertForPreTraining's answer under the names of the others'."""
    def __init__(self, model):
        super().__init__()
        self.model, self.config = model, model.config

    def forward(self, **call):
        out = self.model(**call)
        return transformers.modeling_outputs.MaskedLMOutput(logits=getattr(out, "prediction_logits", getattr(out, "logits", None)),
                                                            loss=getattr(out, "loss", None), hidden_states=out.hidden_states)


def as_in_2018(folder):
    """Names of norms as TensorFlow had them, and a config.json without model_type."""
    file = folder / "model.safetensors"
    old = {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
           for k, v in load_file(file).items()}
    save_file(old, file, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    del config["model_type"]
    config["position_embedding_type"] = "absolute"
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def head_answer(model, ids, mask, types):
    """Logits [rows, K] in the order in which a batch without padding has them."""
    kind = type(model).__name__
    if kind.endswith("MultipleChoice"):
        two = lambda x: x.reshape(-1, 2, x.shape[1])
        return model(input_ids=two(ids), attention_mask=two(mask), token_type_ids=two(types)).logits.reshape(-1, 1)
    out = model(input_ids=ids, attention_mask=mask, token_type_ids=types)
    if kind.endswith("QuestionAnswering"):
        return torch.stack([out.start_logits, out.end_logits], -1)[mask == 1]
    if kind.endswith("TokenClassification"):
        return out.logits[mask == 1]
    return out.logits


def first_line(out, seed):
    print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, "
          f"{datetime.date.today()}, seed {seed}, float32 on the CPU", file=out)


def write_head(folder, model, lengths, generator, seed):
    B, L = len(lengths), max(lengths)
    ids = torch.randint(0, SMALL["vocab_size"], (B, L), generator=generator)
    types = torch.randint(0, 2, (B, L), generator=generator)
    mask = torch.tensor([[int(t < n) for t in range(L)] for n in lengths])
    ids, types = ids * mask, types * mask
    with torch.no_grad():
        got = head_answer(model, ids, mask, types)
        exact = head_answer(model.double(), ids, mask, types)
    worst = float((got - exact).abs().max())
    assert worst < 3e-5, (folder, worst)             # its own rounding leaves room in a tolerance of 1e-4
    with open(folder / "golden.txt", "w") as out:
        first_line(out, seed)
        print("lengths", B, *lengths, file=out)
        print("ids", *ids[mask == 1].tolist(), file=out)
        print("types", *types[mask == 1].tolist(), file=out)
        print("logits", *got.shape, *(f"{v:.9g}" for v in got.flatten().tolist()), file=out)
    return worst


def write_masked(folder, model, generator, seed):
    with open(folder / "golden.txt", "w") as out:
        first_line(out, seed)
        worst = [golden_models.case(out, f"length-{n}", model, [n], generator, n <= 3) for n in (1, 3, 40)]
        worst.append(golden_models.case(out, "padded", model, [5, 1, 12], generator, True))
        print("end", file=out)
    return max(worst)


def check(folders):
    for folder in folders:
        name = json.loads((pathlib.Path(folder) / "config.json").read_text())["architectures"][0]
        _, said = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
        assert not any(said[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), (folder, said)
        print(f"{folder}: {name} loads")


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    shutil.rmtree(ROOT, ignore_errors=True)
    rows = [(n, k, c, how) for n, (k, c, how) in MODELS.items()] + [(n, k, c, lengths) for n, (k, c, lengths) in HEADS.items()]
    for seed, (name, kind, config, how) in enumerate(rows, 1):
        folder = ROOT / name
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = make(kind, config, generator)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        if how == "old":
            as_in_2018(folder)
        worst = write_head(folder, model, how, generator, seed) if isinstance(how, list) else \
            write_masked(folder, Masked(model), generator, seed)
        for file in folder.iterdir():
            file.chmod(0o644)
        print(f"{name:10} {sum(f.stat().st_size for f in folder.iterdir()):8} bytes, float32 against float64 {worst:.1e}")


if __name__ == "__main__":
    main()
