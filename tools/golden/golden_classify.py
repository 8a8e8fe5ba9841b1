#!/usr/bin/env python3
"""Makes tests/golden/classify: tiny BERTs with a head for texts, and what transformers' text-classification pipeline and
sentence-transformers' CrossEncoder return for a pair of texts.  Needs torch, transformers 5 and sentence-transformers 6.

    python tools/golden/golden_classify.py         # rewrites tests/golden/classify

models/NAME   what save_pretrained wrote, with vocab.txt
cases.txt     after a comment, a case a line, fields between tabs: its name; the model; members that its config.json
              has in addition to the model's own; config_sentence_transformers.json, next to modules.json, or -; the pipeline's scores in the order of
              the labels; CrossEncoder's
long.txt      a pair of texts, and CrossEncoder's score where model_max_length of the tokenizer is 8
"""
import json
import os
import pathlib
import shutil
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import golden  # noqa: E402

ROOT = golden.GOLDEN / "classify"
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the old city of a river house king small".split()
PAIR = ("the old city", "a small river")
LONG = ("the king of the old city", "a small house of the old king of the river city")
ACTIVATION = "torch.nn.modules.%s"
IDENTITY, SIGMOID = ACTIVATION % "linear.Identity", ACTIVATION % "activation.Sigmoid"
REGRESSION, MULTI, SINGLE = ({"problem_type": f"{p}"} for p in
                             ("regression", "multi_label_classification", "single_label_classification"))

MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]
SCORES = {"transformer_task": "sequence-classification", "module_output_name": "scores",
          "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}

# name, model, members of config.json, config_sentence_transformers.json
CASES = [
    ("one", "one", {}, None),
    ("one-regression", "one", REGRESSION, None),
    ("one-multi", "one", MULTI, None),
    ("one-null", "one", {"problem_type": None}, None),
    ("one-function", "one", {"function_to_apply": "none"}, None),
    ("one-saved", "one", {}, {"model_type": "CrossEncoder", "activation_fn": SIGMOID, "prompts": {}, "default_prompt_name": None}),
    ("one-saved-identity", "one", {}, {"model_type": "CrossEncoder", "activation_fn": IDENTITY}),
    ("one-saved-nothing", "one", {}, {"model_type": "CrossEncoder"}),
    ("one-regression-saved-nothing", "one", REGRESSION, {"model_type": "CrossEncoder"}),
    ("one-key-identity", "one", {"sentence_transformers": {"activation_fn": IDENTITY, "version": "4.1.0"}}, None),
    ("one-key-sigmoid", "one", {"sentence_transformers": {"activation_fn": SIGMOID}}, None),
    ("one-old-key", "one", {"sbert_ce_default_activation_function": IDENTITY}, None),
    ("one-untrusted", "one", {"sentence_transformers": {"activation_fn": "own.Function"}}, None),
    ("one-saved-over-key", "one", {"sentence_transformers": {"activation_fn": IDENTITY}},
     {"model_type": "CrossEncoder", "activation_fn": SIGMOID}),
    ("one-saved-untrusted", "one", {"sentence_transformers": {"activation_fn": IDENTITY}},
     {"model_type": "CrossEncoder", "activation_fn": "own.Function"}),
    ("three", "three", {}, None),
    ("three-single", "three", SINGLE, None),
    ("three-multi", "three", MULTI, None),
    ("three-regression", "three", REGRESSION, None),
    ("three-old-key", "three", {"sbert_ce_default_activation_function": IDENTITY}, None),
    ("three-key-sigmoid", "three", {"sentence_transformers": {"activation_fn": SIGMOID}}, None),
    ("three-saved-tanh", "three", {}, {"model_type": "CrossEncoder", "activation_fn": ACTIVATION % "activation.Tanh"}),
]


def main():
    golden.quiet()
    golden.fresh(ROOT)
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, pipeline
    for seed, (name, outputs) in enumerate((("one", 1), ("three", 3)), 1):
        generator = golden.seeded(seed)
        config = BertConfig(vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                            intermediate_size=16, max_position_embeddings=16, num_labels=outputs)
        model = golden.randomize(BertForSequenceClassification(config).eval(), generator, gain=1.3, attention=1.3)
        folder = ROOT / "models" / name
        model.save_pretrained(folder)
        (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        tokenizer = BertTokenizer(str(folder / "vocab.txt"))
        tokenizer.save_pretrained(folder)
        (folder / "tokenizer.json").unlink()
    lines = [golden.made_with(packages=("transformers", "sentence-transformers", "torch"))]
    for name, model, members, saved in CASES:
        with tempfile.TemporaryDirectory() as work:
            folder = pathlib.Path(work) / "m"
            shutil.copytree(ROOT / "models" / model, folder)
            config = json.loads((folder / "config.json").read_text()) | members
            (folder / "config.json").write_text(json.dumps(config))
            if saved:
                (folder / "modules.json").write_text(json.dumps(MODULES))
                (folder / "sentence_bert_config.json").write_text(json.dumps(SCORES))
                (folder / "config_sentence_transformers.json").write_text(json.dumps(saved))
            said = pipeline("text-classification", model=str(folder), tokenizer=str(folder))(
                {"text": PAIR[0], "text_pair": PAIR[1]}, top_k=None)
            scores = {one["label"]: one["score"] for one in said}
            other = CrossEncoder(str(folder)).predict([PAIR])[0]
        numbers = [" ".join(f"{x:.7g}" for x in row) for row in
                   ([scores[k] for k in sorted(scores)], other.tolist() if other.ndim else [other.item()])]
        lines.append("\t".join([name, model, json.dumps(members)[1:-1] or "-", json.dumps(saved) if saved else "-", *numbers]))
    (ROOT / "cases.txt").write_text("\n".join(lines) + "\n")
    with tempfile.TemporaryDirectory() as work:                 # longer than the tokenizer's limit
        folder = pathlib.Path(work) / "m"
        shutil.copytree(ROOT / "models" / "one", folder)
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 8}))
        for name, value in (("modules", MODULES), ("sentence_bert_config", SCORES),
                            ("config_sentence_transformers", {"model_type": "CrossEncoder"})):
            (folder / f"{name}.json").write_text(json.dumps(value))
        score = CrossEncoder(str(folder)).predict([LONG])[0].item()
        (ROOT / "long.txt").write_text("\t".join([*LONG, f"{score:.7g}"]) + "\n")


if __name__ == "__main__":
    main()
