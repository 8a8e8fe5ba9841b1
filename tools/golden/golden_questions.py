#!/usr/bin/env python3
"""golden_questions.py — windows of long contexts and scores of answers, by transformers 4.57.

    python3 tools/golden/golden_questions.py > tests/golden/train/questions.jsonl

The first line holds the vocabulary and the scores of all answers "said" (squad_evaluate); each other line a question with its
windows: ids and types of the fast BertTokenizer with stride doc_stride, labels as in transformers' run_qa.py."""
import json
import os
import random
import tempfile

from transformers import BertTokenizerFast
from transformers.data.metrics.squad_metrics import squad_evaluate

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "cat", "dog", "river", "##s", "##side", "walk", "##ing", "##ed", ",", ".",
         "a", "who", "what", "where", "?", "caf", "##e", "stone", "42", "\u6771", "\u4eac"]
WORDS = ["the", "old", "cat", "cats", "dogs", "riverside", "walking", "walked,", "a", "caf\u00e9", "stones.", "42", "\u6771\u4eac", "zebra", "The", "Old"]
ASKED = ["who", "what", "where", "the", "cats", "walking", "?"]


class Example:
    def __init__(self, name, answers):
        self.qas_id = name
        self.answers = answers


def words_of(r, choices, n):
    """Text, and where each word of it begins and ends."""
    text, places = "", []
    for _ in range(n):
        text += " " * (1 + (r.random() < 0.1)) if text else ""
        begin = len(text)
        text += r.choice(choices)
        places.append((begin, len(text)))
    return text, places


def some_words(r, places):
    i = r.randrange(len(places))
    return places[i][0], places[min(len(places) - 1, i + r.randrange(4))][1]


def holds(offsets, sequences, begin, end):
    context = [o for o, s in zip(offsets, sequences) if s == 1]
    return context[0][0] <= begin and context[-1][1] >= end


def labels_of(offsets, sequences, begin, end):
    """As in run_qa.py, except that an answer in the last piece of a window begins there (not at the [SEP] after it)."""
    first = sequences.index(1)
    last = context_end = len(sequences) - 1 - sequences[::-1].index(1)
    if begin == end or not holds(offsets, sequences, begin, end):
        return [0, 0]
    while first <= context_end and offsets[first][0] <= begin:
        first += 1
    while offsets[last][1] >= end:
        last -= 1
    return [first - 1, last + 1]


def main():
    r = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(VOCAB) + "\n")
        tokenizer = BertTokenizerFast(os.path.join(folder, "vocab.txt"))
    lines, examples, said = [], [], {}
    for i in range(120):
        question, _ = words_of(r, ASKED, 1 + r.randrange(4))
        context, places = words_of(r, WORDS, 1 + r.randrange(60))
        answers = [some_words(r, places) for _ in range(0 if r.random() < 0.2 else 1 + r.randrange(3))]
        guess = answers[-1] if answers and r.random() < 0.3 else (0, 0) if r.random() < 0.2 else some_words(r, places)
        length = 24 + r.randrange(24)
        room = length - len(tokenizer(question)["input_ids"]) - 1
        stride = r.randrange(room // 2 + 1)
        e = tokenizer(question, context, truncation="only_second", max_length=length, stride=stride, return_overflowing_tokens=True,
                      return_offsets_mapping=True)
        if not any(holds(e["offset_mapping"][k], e.sequence_ids(k), *guess) for k in range(len(e["input_ids"]))):
            guess = (0, 0)                                              # no window could say it
        begin, end = answers[0] if answers else (0, 0)
        windows = []
        for k in range(len(e["input_ids"])):
            label = [0, 0] if not answers else labels_of(e["offset_mapping"][k], e.sequence_ids(k), begin, end)
            windows.append({"ids": e["input_ids"][k], "types": e["token_type_ids"][k], "label": label})
        gold = {"text": [context[b:x] for b, x in answers], "answer_start": [b for b, _ in answers]}
        lines.append({"question": question, "context": context, "answers": gold, "said": list(guess), "max_length": length, "doc_stride": stride,
                      "windows": windows})
        examples.append(Example(i, [{"text": context[b:x]} for b, x in answers]))
        said[i] = context[guess[0]:guess[1]]
    score = squad_evaluate(examples, said)
    print(json.dumps({"vocab": VOCAB, "exact_match": score["exact"] / 100, "f1": score["f1"] / 100}))
    for line in lines:
        print(json.dumps(line))


main()
