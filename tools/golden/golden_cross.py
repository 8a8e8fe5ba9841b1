#!/usr/bin/env python3
"""Makes tests/golden/cross/ranks.jsonl: what CrossEncoder.rank of sentence-transformers 6 gives for tiny rerankers that are there already
(tests/golden/xlm_roberta/whole/pairs, tests/golden/mpnet/whole/pairs, tests/golden/deberta_v2/whole/pairs), by the activation that config.json names, and with a default
prompt in the files that sentence-transformers 6 saves.  Needs torch, transformers 5 and sentence-transformers 6; the test (tests/cli/use/cross.sh) needs none of them.

    python tools/golden/golden_cross.py"""
import json
import pathlib
import shutil
import tempfile

from sentence_transformers import CrossEncoder

import golden

QUERY = "the river runs"
TEXTS = ["to the sea", "a small house?", "hello world", "the river runs to the sea and to the sea, to the sea", "the river runs"]
ACTIVATIONS = {"none": {}, "identity": {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
               "sigmoid": {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
               "prompt": {}, "older": {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}}


TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
SAVED = {"modules.json": [{"idx": 0, "name": "0", "path": "", "type": TRANSFORMER}],
         "sentence_bert_config.json": {"transformer_task": "sequence-classification", "module_output_name": "scores",
                                       "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}},
         "config_sentence_transformers.json": {"model_type": "CrossEncoder", "prompts": {"near": "hello world, "}, "default_prompt_name": "near",
                                               "activation_fn": "torch.nn.modules.linear.Identity"}}


FILES = {"mpnet": ("tokenizer.json", "tokenizer_config.json"), "deberta_v2": ("spm.model", "tokenizer_config.json")}


def folder(family, activation, to):
    """A copy with its tokenizer, which says how long pairs are, and the activation."""
    source = golden.GOLDEN / family / "whole"
    shutil.copytree(source / "pairs", to)
    (to / "scores.txt").unlink(missing_ok=True)
    if family in FILES:
        for name in FILES[family]:
            shutil.copy(source / name, to)
    else:
        shutil.copy(golden.GOLDEN / "fast" / "xlmr.tokenizer.json", to / "tokenizer.json")
    config = json.loads((to / "config.json").read_text())
    config.update(ACTIVATIONS[activation])
    (to / "config.json").write_text(json.dumps(config))
    for name, value in SAVED.items() if activation == "prompt" else ():
        (to / name).write_text(json.dumps(value))


def main():
    golden.quiet()
    root = golden.GOLDEN / "cross"
    lines = []
    with tempfile.TemporaryDirectory() as there:
        for family in ("xlm_roberta", "mpnet", "deberta_v2"):
            for activation in ACTIVATIONS:
                to = pathlib.Path(there) / f"{family}-{activation}"
                folder(family, activation, to)
                for row in CrossEncoder(str(to), device="cpu").rank(QUERY, TEXTS, return_documents=True):
                    lines.append(json.dumps(dict(model=family, activation=activation, line=row["corpus_id"] + 1, score=float(row["score"]),
                                                 text=row["text"])))
    golden.write_lines(root / "ranks.jsonl", lines)


if __name__ == "__main__":
    main()
