#!/usr/bin/env python3
"""Makes tests/golden/text/jieba/slow.jsonl: the texts of cases.jsonl, their tokens by the slow RoFormerTokenizer of transformers 4.57 with
words by the golden dictionary, cut by jieba-rs and by python's jieba, in lower case and as they are.  Needs jieba, rjieba, transformers 4.57.

    python tools/golden/golden_jieba_slow.py
"""
import json

import jieba
import transformers

from golden_jieba import ROOT, VOCAB, ours

SETTINGS = [{"do_lower_case": True}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False}]


class Words:
    def __init__(self, cut):
        self.cut = lambda text, hmm: list(cut(text, hmm))


def main():
    own = ours()
    python = jieba.Tokenizer(dictionary=str(ROOT / "dict.txt"))
    cutters = {"jieba-rs": Words(lambda text, hmm: own.cut(text, hmm=hmm)), "jieba": Words(lambda text, hmm: python.cut(text, HMM=hmm))}
    texts = [json.loads(line)["text"] for line in open(ROOT / "cases.jsonl", encoding="utf-8")]
    with open(ROOT / "slow.jsonl", "w", encoding="utf-8", newline="\n") as f:
        for settings in SETTINGS:
            for name, cutter in cutters.items():
                tokenizer = transformers.RoFormerTokenizer(str(ROOT / "vocab.txt"), **settings)
                tokenizer.jieba = cutter
                case = dict(settings, word_segmenter=name, ids=[tokenizer(text)["input_ids"] for text in texts])
                f.write(json.dumps(case, separators=(",", ":")) + "\n")
    print("transformers %s: %d texts, %d settings" % (transformers.__version__, len(texts), 2 * len(SETTINGS)))
    assert len(VOCAB) == len(tokenizer)


if __name__ == "__main__":
    main()
