#!/usr/bin/env python3
"""Makes tests/golden/deberta_v2 and tests/golden/deberta: tiny DeBERTas of versions 2 and 3, and 1, with random weights and every head, saved by
transformers, and what transformers computes with them.  Needs torch, transformers 5 and sentencepiece; the tests need none.  The formats are those of
golden_models.py and golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_deberta.py                    # rewrites both folders
    python tools/golden/golden_deberta.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import contextlib
import json
import pathlib
import shutil
import sys
import tempfile

import sentencepiece
import torch
from transformers import (AutoTokenizer, DebertaConfig, DebertaForMaskedLM, DebertaForQuestionAnswering, DebertaForSequenceClassification,
                          DebertaForTokenClassification, DebertaV2Config, DebertaV2ForMaskedLM, DebertaV2ForMultipleChoice,
                          DebertaV2ForQuestionAnswering, DebertaV2ForSequenceClassification, DebertaV2ForTokenClassification)

import golden
from golden_bert import NAMES, check

WIDTHS = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)
LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")
# As the published version 3: offsets above 8 grow by a factor, up to 63, and texts of 160 tokens go beyond.
SMALL = dict(WIDTHS, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, position_buckets=16, share_att_key=True,
             norm_rel_ebd="layer_norm", max_position_embeddings=64, type_vocab_size=0)
# As the published version 1.
FIRST = dict(WIDTHS, relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False, max_relative_positions=50)

VERSION_2 = {
    "masked": (DebertaV2ForMaskedLM, SMALL),
    "c2p": (DebertaV2ForMaskedLM, dict(WIDTHS, relative_attention=True, pos_att_type=["c2p"], max_position_embeddings=160, type_vocab_size=2,
                                       embedding_size=16, tie_word_embeddings=False, hidden_act="relu")),
    "p2c": (DebertaV2ForMaskedLM, dict(SMALL, pos_att_type=["p2c"], share_att_key=False, legacy=False, layer_norm_eps=1e-5, max_relative_positions=20,
                                       position_buckets=-1)),
    "convolved": (DebertaV2ForMaskedLM, dict(SMALL, conv_kernel_size=3, conv_act="gelu", share_att_key=False)),
    "absolute": (DebertaV2ForMaskedLM, dict(WIDTHS, pos_att_type=["p2c", "c2p"], max_position_embeddings=160)),
}
HEADS_2 = {
    "sequence": (DebertaV2ForSequenceClassification, dict(SMALL, **LABELS, cls_dropout=0.2), [7, 2, 12]),
    "token": (DebertaV2ForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (DebertaV2ForQuestionAnswering, SMALL, [8, 5]),
    "choice": (DebertaV2ForMultipleChoice, dict(SMALL, pooler_hidden_act="tanh"), [9, 3, 4, 7]),
}
VERSION_1 = {
    "masked": (DebertaForMaskedLM, FIRST),
    "c2p": (DebertaForMaskedLM, dict(FIRST, pos_att_type="c2p", position_biased_input=True, max_position_embeddings=160, type_vocab_size=3, legacy=False)),
}
HEADS_1 = {
    "sequence": (DebertaForSequenceClassification, dict(FIRST, **LABELS, pooler_hidden_act="relu", pooler_dropout=0.1), [7, 2, 12]),
    "token": (DebertaForTokenClassification, dict(FIRST, num_labels=5), [6, 1, 9]),
    "span": (DebertaForQuestionAnswering, FIRST, [8, 5]),
}

TEXTS = ["the river runs to the sea", "a small house?", "the small [MASK] runs", "(well), it's a house!"]
WORDS = ["the river runs to the sea", "a small house by the sea", "it's well, he said (at sea)!", "small rivers run to small seas, and houses stay"]
RULES = {"ﬁ": "fi", "½": "1/2", "Ⅳ": "IV", "\u3000": " ", "\u00a0": " ", "\t": " ", "\n": " "}


def pieces(folder):
    """spm.model as DeBERTa's, with a charsmap of a few rules; and the settings as the authors have them."""
    with tempfile.TemporaryDirectory() as t, contextlib.chdir(t):           # the model has the names of these files
        pathlib.Path("rules.tsv").write_text("".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in k), " ".join("%X" % ord(c) for c in v))
                                                     for k, v in RULES.items()))
        pathlib.Path("text.txt").write_text("".join(w + "\n" for w in WORDS * 20))
        sentencepiece.SentencePieceTrainer.train(input="text.txt", model_prefix="m", vocab_size=37, pad_id=0, bos_id=1, eos_id=2, unk_id=3,
                                                 pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
                                                 normalization_rule_tsv="rules.tsv", minloglevel=2)
        shutil.copy("m.model", folder / "spm.model")
    golden.write_json(folder / "tokenizer_config.json", dict(do_lower_case=False, vocab_type="spm"))


def whole(folder):
    """A folder as the authors publish theirs: spm.model, no class of the tokenizer, the head's older name; answers for texts that both versions of
    the tokenizer read alike, and another head's scores of pairs."""
    folder.mkdir()
    pieces(folder)
    config = DebertaV2Config(**dict(SMALL, vocab_size=38, legacy=False))
    generator = golden.seeded(99)
    model = golden.randomize(DebertaV2ForMaskedLM(config).eval(), generator)
    kept = {f: (folder / f).read_bytes() for f in ("spm.model", "tokenizer_config.json")}
    golden.save(model, folder)
    saved = {k: v for k, v in json.loads((folder / "config.json").read_text()).items() if k not in ("legacy", "transformers_version", "dtype", "architectures")}
    golden.write_config(folder / "config.json", dict(saved, pos_att_type="p2c|c2p"))
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    model.config.output_hidden_states = True
    golden.write_masked(folder, model, TEXTS)
    words = AutoTokenizer.from_pretrained(folder)
    pairs = golden.randomize(DebertaV2ForSequenceClassification(DebertaV2Config(**dict(SMALL, vocab_size=38, num_labels=1))).eval(), generator)
    golden.save(pairs, folder / "pairs")
    with torch.no_grad():
        scores = [pairs(**words(t, TEXTS[0], return_tensors="pt")).logits[0, 0].item() for t in TEXTS]
    golden.write_lines(folder / "pairs" / "scores.txt", [f'"score": {s:.9g}' for s in scores])
    (folder / "pairs" / "model.safetensors").chmod(0o644)
    (folder / "model.safetensors").chmod(0o644)


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(golden.GOLDEN / "deberta_v2", DebertaV2Config, VERSION_2, HEADS_2, (1, 3, 160))
    whole(golden.GOLDEN / "deberta_v2" / "whole")
    golden.write_models(golden.GOLDEN / "deberta", DebertaConfig, VERSION_1, HEADS_1, (1, 3, 160))


if __name__ == "__main__":
    main()
