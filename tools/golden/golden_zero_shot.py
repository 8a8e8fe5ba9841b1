#!/usr/bin/env python3
"""Makes tests/golden/zero_shot: tiny models of five families with a head for texts, and what transformers' zero-shot-classification
pipeline returns for texts and labels.  Needs torch and transformers 5.

    python tools/golden/golden_zero_shot.py         # rewrites tests/golden/zero_shot

models/NAME   what save_pretrained wrote, with vocab.txt, or vocab.json and merges.txt; modernbert's tokenizer.json is byte_level/modernbert.tokenizer.json,
              deberta's spm.model that of deberta_v2/whole, and bart's files are roberta's
cases.jsonl   a case a line: the model, the labels of its outputs, members of tokenizer_config.json, the call, and the answer
"""
import json
import os
import pathlib
import shutil
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import golden  # noqa: E402

ROOT = golden.GOLDEN / "zero_shot"
BYTE_LEVEL = golden.GOLDEN / "byte_level"
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the old city of a river house king small this example is about text . ,".split()
SMALL = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)

TEXT, OTHER, LONG = "the old city of a river", "a small house, the king", "the king of the old city, " * 8 + "a river"
LABELS = ["river", "old city", "king, a small king", "house"]
ABOUT = "this text is about {}, the {{old}} one."
NLI = ["contradiction", "neutral", "entailment"]
FIRST = ["Entailment", "neutral", "contradiction"]
MIDDLE = ["no", "ENTAILS", "entailment"]
NONE = ["LABEL_0", "LABEL_1", "LABEL_2"]

# labels of the outputs, members of tokenizer_config.json, the text, arguments of the call
CASES = [
    (NLI, {}, TEXT, {"candidate_labels": LABELS}),
    (NLI, {}, TEXT, {"candidate_labels": LABELS, "multi_label": True}),
    (NLI, {}, TEXT, {"candidate_labels": LABELS[2:3]}),
    (NLI, {}, TEXT, {"candidate_labels": " river,old city ,, house,", "hypothesis_template": ABOUT}),
    (NLI, {}, OTHER, {"candidate_labels": LABELS[:2], "hypothesis_template": "{0} is the {0}"}),
    (NLI, {}, OTHER, {"candidate_labels": LABELS[:3], "hypothesis_template": "{!s}{{}}"}),
    (NLI, {}, OTHER, {"candidate_labels": LABELS[:2], "hypothesis_template": "a {0!s:s} of {0:}"}),
    (NLI, {}, OTHER, {"candidate_labels": ["house", "{}", "house"], "hypothesis_template": "the {}"}),
    (FIRST, {}, TEXT, {"candidate_labels": LABELS, "multi_label": True}),
    (FIRST, {}, OTHER, {"candidate_labels": LABELS}),
    (MIDDLE, {}, OTHER, {"candidate_labels": LABELS, "multi_label": True}),
    (NONE, {}, TEXT, {"candidate_labels": LABELS}),
    (NONE, {}, TEXT, {"candidate_labels": LABELS, "multi_label": True}),
    (NLI, {}, LONG, {"candidate_labels": LABELS}),
    (NLI, {"model_max_length": 20}, LONG, {"candidate_labels": LABELS}),
    (NLI, {"model_max_length": 20, "truncation_side": "left"}, LONG, {"candidate_labels": LABELS, "multi_label": True}),
    (NLI, {"model_max_length": 16}, TEXT, {"candidate_labels": LABELS, "hypothesis_template": ABOUT}),   # nothing is cut where the text is too short
    (NLI, {"model_max_length": 1e30}, TEXT, {"candidate_labels": LABELS}),
]
FEWER = [([*names], {}, text, {"candidate_labels": LABELS, "multi_label": several})
         for names in (("entailment", "not_entailment"), ("LABEL_0", "LABEL_1"), ("a number",)) for text in (TEXT, OTHER) for several in (False, True)]


WHOLE = golden.GOLDEN / "deberta_v2" / "whole"
OTHERS = {"modernbert": [(BYTE_LEVEL / "modernbert.tokenizer.json", "tokenizer.json")], "deberta": [(WHOLE / "spm.model", "spm.model")],
          "bart": [(ROOT / "models" / "roberta" / name, name) for name in ("vocab.json", "merges.txt")]}


def borrow(name, folder):
    """The tokenizer's files that the golden folder does not have."""
    for file, own in OTHERS.get(name, []):
        shutil.copy(file, folder / own)


def bigger():
    """DeBERTa and BART, whose tokenizers AutoTokenizer reads from files that other golden folders have."""
    from transformers import (AutoTokenizer, BartConfig, BartForSequenceClassification, DebertaV2Config, DebertaV2ForSequenceClassification)
    deberta = dict(SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, position_buckets=16, share_att_key=True,
                   norm_rel_ebd="layer_norm", max_position_embeddings=64, type_vocab_size=0, num_labels=3)
    bart = dict(d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
                decoder_ffn_dim=16, max_position_embeddings=150, num_labels=3)
    for seed, (name, config, kind, keys, settings) in enumerate((
            ("deberta", DebertaV2Config, DebertaV2ForSequenceClassification, deberta, dict(tokenizer_class="DebertaV2Tokenizer", model_max_length=90)),
            ("bart", BartConfig, BartForSequenceClassification, bart, dict(tokenizer_class="BartTokenizer", model_max_length=150))), 6):
        folder = golden.fresh(ROOT / "models" / name)
        golden.write_json(folder / "tokenizer_config.json", settings)
        borrow(name, folder)
        words = AutoTokenizer.from_pretrained(folder)
        model = golden.randomize(kind(config(**keys, vocab_size=len(words))).eval(), golden.seeded(seed), gain=1.3, attention=1.3)
        with tempfile.TemporaryDirectory() as work:
            model.save_pretrained(work)
            for file in ("config.json", "model.safetensors"):
                shutil.copy(pathlib.Path(work) / file, folder / file)
        for _, own in OTHERS[name]:
            (folder / own).unlink()
        for file in folder.iterdir():
            file.chmod(0o644)


def models():
    from transformers import (BertConfig, BertForSequenceClassification, BertTokenizer, ModernBertConfig, ModernBertForSequenceClassification,
                              PreTrainedTokenizerFast, RobertaConfig, RobertaForSequenceClassification, RobertaTokenizer)
    bpe = json.loads((BYTE_LEVEL / "roberta.tokenizer.json").read_text())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in bpe["merges"]]
    for seed, (name, config, kind) in enumerate((("bert", BertConfig, BertForSequenceClassification),
                                                 ("bert_two", BertConfig, BertForSequenceClassification),
                                                 ("bert_one", BertConfig, BertForSequenceClassification),
                                                 ("roberta", RobertaConfig, RobertaForSequenceClassification),
                                                 ("modernbert", ModernBertConfig, ModernBertForSequenceClassification)), 1):
        folder = golden.fresh(ROOT / "models" / name)
        if name.startswith("bert"):
            golden.write_lines(folder / "vocab.txt", WORDS)
            words = BertTokenizer(str(folder / "vocab.txt"), model_max_length=40)
        elif name == "roberta":
            golden.write_json(folder / "vocab.json", dict(bpe["vocab"], **{"<mask>": len(bpe["vocab"])}), ensure_ascii=False)
            golden.write_lines(folder / "merges.txt", ["#version: 0.2", *merges])
            golden.write_json(folder / "tokenizer_config.json", dict(tokenizer_class="RobertaTokenizer", model_max_length=150))
            words = RobertaTokenizer.from_pretrained(folder)
        else:
            words = PreTrainedTokenizerFast(tokenizer_file=str(BYTE_LEVEL / "modernbert.tokenizer.json"), cls_token="[CLS]", sep_token="[SEP]",
                                            pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", model_max_length=100)
        special = {} if name != "modernbert" else dict(pad_token_id=words.pad_token_id, cls_token_id=words.cls_token_id, sep_token_id=words.sep_token_id,
                                                       bos_token_id=words.cls_token_id, eos_token_id=words.sep_token_id, local_attention=16)
        sizes = dict(SMALL, vocab_size=len(words), num_labels={"bert_two": 2, "bert_one": 1}.get(name, 3),
                     max_position_embeddings={"roberta": 152, "modernbert": 100}.get(name, 40))
        model = golden.randomize(kind(config(**sizes, **special)).eval(), golden.seeded(seed), gain=1.3, attention=1.3)
        golden.save(model, folder.with_suffix(".model"))
        for file in folder.with_suffix(".model").iterdir():
            shutil.move(file, folder / file.name)
        folder.with_suffix(".model").rmdir()
        if name != "roberta":
            words.save_pretrained(folder)
            (folder / "tokenizer.json").unlink()
        for file in folder.iterdir():
            file.chmod(0o644)


def answer(name, labels, settings, text, call):
    from transformers import AutoTokenizer, pipeline
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "m"
        shutil.copytree(ROOT / "models" / name, folder)
        borrow(name, folder)
        for file, more in (("config.json", dict(id2label=dict(enumerate(labels)), label2id={v: k for k, v in enumerate(labels)})),
                           ("tokenizer_config.json", settings)):
            (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | more))
        choose = pipeline("zero-shot-classification", str(folder), tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu")
        return choose(text, **call)


def main():
    golden.quiet()
    golden.fresh(ROOT)
    models()
    bigger()
    rows = []
    for name in ("bert", "bert_two", "bert_one", "roberta", "modernbert", "deberta", "bart"):
        for labels, settings, text, call in CASES + FEWER:
            if len(labels) != {"bert_two": 2, "bert_one": 1}.get(name, 3):
                continue
            try:
                found = answer(name, labels, settings, text, call)
            except (IndexError, RuntimeError) as e:               # more tokens than positions
                print(f"{name} {settings} {call}: {str(e)[:100]}")
                found = None
            rows.append({"model": name, "labels": labels, "settings": settings, "text": text, "call": call,
                         "answer": found and {k: found[k] for k in ("labels", "scores")}})
    golden.write_lines(ROOT / "cases.jsonl", map(json.dumps, rows))


if __name__ == "__main__":
    main()
