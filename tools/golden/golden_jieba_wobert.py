#!/usr/bin/env python3
"""Makes tests/golden/text/jieba/wobert.jsonl: the texts of cases.jsonl and some of its own, their tokens as WoBertTokenizer has them
(JunnYu/WoBERT_pytorch, of which the package index has no archive: what it changes of the slow BertTokenizer of transformers 4.57 is here),
with words by python's jieba over the golden dictionary.  Needs jieba, rjieba and transformers 4.57.

    python tools/golden/golden_jieba_wobert.py
"""
import json

import jieba
import transformers
from transformers.models.bert.tokenization_bert import BasicTokenizer

from golden_jieba_bert4keras import MORE
from golden_jieba_slow import ROOT, SETTINGS


class Told(BasicTokenizer):
    """Spaces around words of the vocabulary, and around the Chinese characters of the others."""
    def _tokenize_chinese_chars(self, text):
        parts = []
        for word in self.cut(text):
            if word in self.vocab:
                parts += [" ", word, " "]
            else:
                parts += [f" {c} " if self._is_chinese_char(ord(c)) else c for c in word]
        return "".join(parts)


def tokenizer(cutter, **settings):
    made = transformers.BertTokenizer(str(ROOT / "vocab.txt"), **settings)
    basic = Told(do_lower_case=settings["do_lower_case"], strip_accents=settings.get("strip_accents"))
    basic.vocab, basic.cut = made.vocab, lambda text: cutter.cut(text, HMM=False)
    made.basic_tokenizer = basic
    return made


def main():
    python = jieba.Tokenizer(dictionary=str(ROOT / "dict.txt"))
    texts = [json.loads(line)["text"] for line in open(ROOT / "cases.jsonl", encoding="utf-8")]
    with open(ROOT / "wobert.jsonl", "w", encoding="utf-8", newline="\n") as f:
        for settings in SETTINGS:
            make = tokenizer(python, **settings)
            for text in texts + MORE:
                f.write(json.dumps(dict(settings, text=text, ids=make(text)["input_ids"]), separators=(",", ":")) + "\n")
    print("transformers %s: %d texts, %d settings" % (transformers.__version__, len(texts + MORE), len(SETTINGS)))


if __name__ == "__main__":
    main()
