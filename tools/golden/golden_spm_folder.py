#!/usr/bin/env python3
"""golden_spm_folder.py MODEL FILE: ids that transformers' XLMRobertaTokenizer gives for texts, from a SentencePiece model without tokenizer.json.

    pip install transformers==5.24.0 sentencepiece
    python3 tools/golden/golden_spm_folder.py tests/golden/subwords/unigram.model tests/golden/subwords/xlm_roberta.json"""
import json
import os
import shutil
import sys
import tempfile

from transformers import AutoTokenizer

TEXTS = ["the old man and the sea", "  two  blanks ", "a <mask> b", "<s>x</s>", "", "café ﬁne ½", "你好", "UPPER\tand\nlines", "[MASK]"]

model, out = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(model, os.path.join(folder, "sentencepiece.bpe.model"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "XLMRobertaTokenizer"}, f)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "xlm-roberta", "transformers_version": "5.24.0"}, f)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with open(out, "w") as f:
        json.dump([{"text": text, "ids": tokenizer(text)["input_ids"]} for text in TEXTS], f, ensure_ascii=True, indent=1)
        f.write("\n")
