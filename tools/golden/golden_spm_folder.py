#!/usr/bin/env python3
"""golden_spm_folder.py MODEL CLASS FILE: ids that a class of transformers gives for texts and pairs, from a SentencePiece model without
tokenizer.json, under several settings.

    pip install transformers==5.24.0 sentencepiece
    python3 tools/golden/golden_spm_folder.py tests/golden/subwords/unigram.model XLMRobertaTokenizer tests/golden/subwords/xlm_roberta.json
    python3 tools/golden/golden_spm_folder.py tests/golden/subwords/unigram.model CamembertTokenizer tests/golden/subwords/camembert.json
    python3 tools/golden/golden_spm_folder.py tests/golden/subwords/albert.model AlbertTokenizer tests/golden/subwords/albert.json
    python3 tools/golden/golden_spm_folder.py tests/golden/subwords/xlnet.model XLNetTokenizer tests/golden/subwords/xlnet.json
    python3 tools/golden/golden_spm_folder.py tests/golden/deberta_v2/whole/spm.model DebertaV2Tokenizer tests/golden/subwords/deberta_new.json
    pip install transformers==4.57.6        # whose tokenizer normalizes with the model's charsmap
    python3 tools/golden/golden_spm_folder.py tests/golden/deberta_v2/whole/spm.model DebertaV2Tokenizer tests/golden/subwords/deberta_old.json

    python3 tools/golden/golden_spm_folder.py --train     # albert.model and xlnet.model, with the special pieces of those models"""
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

TEXTS = ["the old man and the sea", "  two  blanks ", "a <mask> b", "<s>x</s>", "", "café ﬁne ½", "你好", "UPPER\tand\nlines", "[MASK]",
         "a  [MASK] b", "``naïve'' (x) 1,000", "the [SEP] sea <pad> man"]
CLASSES = {"XLMRobertaTokenizer": ("xlm-roberta", "sentencepiece.bpe.model", [{}]),
           "CamembertTokenizer": ("camembert", "sentencepiece.bpe.model", [{}, {"mask_token": "<mask>"}, {"add_prefix_space": False}]),
           "AlbertTokenizer": ("albert", "spiece.model", [{}, {"do_lower_case": False}, {"keep_accents": True}, {"mask_token": {
               "content": "[MASK]", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False, "__type": "AddedToken"}}]),
           "XLNetTokenizer": ("xlnet", "spiece.model", [{}, {"do_lower_case": True}, {"keep_accents": True}]),
           "DebertaV2Tokenizer": ("deberta-v2", "spm.model", [{}])}
MORE = {"DebertaV2Tokenizer": ["the river [MASK] to the sea", "(well), it's #1!", "[UNK] [unk] [CLS]", " a\u3000b\u00a0c ", "Ⅳ ﬁsh e\u0301"]}
OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "subwords"


# ids of special pieces, and pieces that are matched in the text
MODELS = {"albert": (dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, pad_piece="<pad>", unk_piece="<unk>"), ["[CLS]", "[SEP]"], ["[MASK]", "(", ")", '"', "-"]),
          "xlnet": (dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1), ["<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"], [".", "(", ")", '"', "-"])}


def train():
    """Special pieces, and those of a few words, lowercased without accents."""
    import sentencepiece
    for name, (ids, control, own) in MODELS.items():
        pick = random.Random(1)
        words = "the old man and sea a small house river runs to hello world cafe good bad fine naive numbers are is it he she they we you in on at".split()
        ends = ["", "", "", "s", ",", ".", "!", "ed", "ing"]
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text.txt"
            text.write_text("".join(" ".join(pick.choice(words) + pick.choice(ends) for _ in range(pick.randint(3, 12))) + " 1,000 3.14 x y z\n" for _ in range(2000)))
            sentencepiece.SentencePieceTrainer.train(
                input=str(text), model_prefix=str(pathlib.Path(folder) / "m"), vocab_size=120, model_type="unigram", control_symbols=control,
                user_defined_symbols=own, normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2, num_threads=1, **ids)
            shutil.copy(pathlib.Path(folder) / "m.model", OUT / (name + ".model"))


def rows(model, name):
    from transformers import AutoTokenizer
    kind, file, all_settings = CLASSES[name]
    for settings in all_settings:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(model, os.path.join(folder, file))
            with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
                json.dump({"tokenizer_class": name, **settings}, f)
            with open(os.path.join(folder, "config.json"), "w") as f:
                json.dump({"model_type": kind, "transformers_version": "5.24.0"}, f)
            tokenizer = AutoTokenizer.from_pretrained(folder)
            for text in TEXTS + MORE.get(name, []):
                yield {"settings": json.dumps(settings), "text": text, "ids": tokenizer(text)["input_ids"],
                       "pair": tokenizer("the sea", text or "a")["input_ids"]}


def main():
    if sys.argv[1:] == ["--train"]:
        return train()
    model, name, out = sys.argv[1:]
    with open(out, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(row) for row in rows(model, name)) + "\n]\n")


if __name__ == "__main__":
    main()
