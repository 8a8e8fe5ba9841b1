#!/usr/bin/env python3
"""Makes tests/golden/text/jieba: a small dictionary of our own, texts of its words and of what is awkward, their words by python's
jieba and by rjieba (jieba-rs) with that dictionary, and their tokens by transformers' RoFormerTokenizer with it.  Needs jieba, rjieba and
transformers 5; the tests need none of them.

    python tools/golden/golden_jieba.py
"""
import json
import random

import jieba
import rjieba
import transformers
from tokenizers.pre_tokenizers import PreTokenizer
from transformers.models.roformer.tokenization_utils import JiebaPreTokenizer

import golden

ROOT = golden.GOLDEN / "text" / "jieba"
WORDS = """今天 900 t
天气 800 n
今天天气 20
天 500
气 90
非常 700 d
好 1000
北京 600 ns
北京大学 300
大学 650
大学生 200
学生 640
生活 333
活动 70
生活动 3
中心 111
心 12
在 2000
的 9000
研究 450
研究生 120
生命 410
命 15
起源 60
我们 800
我 1500
T恤 25
C++ 12
GPT-4 8
3.14 5
B超 9
北京 610
臺灣 77
臺 5
灣 4
鿋鿌 6
㐀㐁 7
豈豈 7
𠮷野 9
ab 14
a 4
&c 2
很 888
长长 30
长 70
长长长 2
""".strip().split("\n")
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCAB = SPECIALS + ["今", "天", "气", "非常", "好", "北京", "北京大学", "学生", "大", "学", "生", "活", "动", "中", "心", "研究", "命", "我", "我们", "的",
                    "在", "t", "恤", "t恤", "c", "##+", "+", "##c", "a", "##b", "b", "##a", "3", ".", "##1", "1", "4", "-", "gpt", "##t", "，", "。",
                    "臺灣", "鿋", "𠮷", "野", "e", "##e", "长长", "长", "&", "#", "##x", "x", "今天天气", "豈", "㐀", "很", "é", "i", "##̇", "σ"]
TEXTS = ["今天天气非常好。", "北京大学生活动中心在北京", "研究生命的起源，我们在研究生活", "[MASK]天气很好[SEP]我", "T恤 C++ GPT-4 3.14 B超 ab&c a#b%c_d",
         "臺灣 鿋鿌 㐀㐁 豈豈 𠮷野家", "Hello\r\nWORLD\r\n\r今天\u3000天气\u00a0。", "e\u0301今\u0301天 É İ Σ ß Ａｂ１", "今\u200b天\x00天\ufffd气",
         "a" * 101 + "今天", "长" * 13, "", " ", "\n", "ab" * 60, "①②㈱㌔ｶﾞ 😀👩🏽‍💻", "100%的100.5+3-2", "한국어 ひらがな カタカナ العربية",
         "\u1c89今\ua7cb天\ua7cc\U00010570气"]


def ours():
    own = rjieba.Jieba.empty()
    for line in WORDS:
        word, frequency = line.split(" ")[:2]
        own.add_word(word, int(frequency), "n")
    return own


def texts():
    r = random.Random(11)
    words = [line.split(" ")[0] for line in WORDS]
    other = list("aZ9+#&._%- \t，。！é\u0301\u200d今气的鿖鿿㐀豈𠮷长") + ["\r\n", "[MASK]", "ab", "GPT"]
    yield from TEXTS
    for _ in range(400):
        yield "".join(r.choice(words if r.random() < 0.6 else other) for _ in range(r.choice((2, 5, 9, 20))))


def main():
    golden.write_lines(ROOT / "dict.txt", WORDS)
    golden.write_lines(ROOT / "vocab.txt", VOCAB)
    golden.write_lines(ROOT / "tokenizer_config.json", ['{"tokenizer_class": "RoFormerTokenizer", "do_lower_case": true}'])
    python = jieba.Tokenizer(dictionary=str(ROOT / "dict.txt"))
    rust, vocab = ours(), {token: i for i, token in enumerate(VOCAB)}
    tokenizer = transformers.RoFormerTokenizer(vocab=vocab)
    words = JiebaPreTokenizer(vocab)
    words.jieba = rust
    tokenizer._tokenizer.pre_tokenizer = PreTokenizer.custom(words)
    with open(ROOT / "cases.jsonl", "w", encoding="utf-8", newline="\n") as f:
        for text in texts():
            byte = [len(text[:i].encode()) for i in range(len(text) + 1)]
            e = tokenizer._tokenizer.encode(text)
            case = {"text": text, "python": list(python.cut(text, HMM=False)), "rust": rust.cut(text, hmm=False), "ids": e.ids,
                    "offsets": [[byte[a], byte[b]] for a, b in e.offsets]}
            f.write(json.dumps(case, ensure_ascii=True) + "\n")
    golden.write_lines(ROOT / "README", [f"Made by tools/golden/golden_jieba.py: transformers {transformers.__version__}, "
                                         f"jieba {jieba.__version__}, rjieba 0.2.2."])


if __name__ == "__main__":
    main()
