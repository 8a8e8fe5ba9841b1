#!/usr/bin/env python3
"""golden_labeled.py DATA — rows, labels and a checksum of the texts of real labeled files, read without this program.

    python3 tools/golden/golden_labeled.py ../shared/data > tests/golden/train/labeled.txt

A line: file, task, columns (text,pair,label or -), rows, bad rows, CRC-32 of "text TAB pair TAB label LF" of all rows, label=rows ...
Columns are those of the data's own description, numbered from 1; between tabs a quote is a letter like any other."""
import collections
import gzip
import json
import os
import sys
import zlib

# file, task of the program, columns given to it, columns here (text, pair, label), lines of header
TABLES = [
    ("glue/CoLA/train.tsv", "glue/cola", "-", (4, 0, 2), 0),
    ("glue/CoLA/val.tsv", "glue/cola", "-", (4, 0, 2), 0),
    ("glue/CoLA/dev.tsv", "glue/cola", "-", (4, 0, 2), 0),
    ("glue/RTE/train.tsv", "glue/rte", "-", (2, 3, 4), 1),
    ("glue/RTE/val.tsv", "glue/rte", "-", (2, 3, 4), 0),
    ("glue/RTE/dev.tsv", "glue/rte", "-", (2, 3, 4), 1),
    ("glue/WNLI/train.tsv", "glue/wnli", "-", (2, 3, 4), 1),
    ("glue/WNLI/val.tsv", "glue/wnli", "-", (2, 3, 4), 0),
    ("glue/WNLI/dev.tsv", "glue/wnli", "-", (2, 3, 4), 1),
    ("glue/SST-2/train.tsv.gz", "glue/sst2", "-", (1, 0, 2), 1),
    ("glue/SST-2/dev.tsv", "glue/sst2", "-", (1, 0, 2), 1),
    ("glue/SST-2/test-labeled.tsv", "glue/sst2", "-", (1, 0, 2), 1),
    ("glue/MRPC/train.tsv", "glue/mrpc", "-", (4, 5, 1), 1),
    ("glue/MRPC/dev.tsv", "glue/mrpc", "-", (4, 5, 1), 1),
    ("glue/MRPC/msr_paraphrase_test.txt", "glue/mrpc", "-", (4, 5, 1), 1),
    ("glue/STS-B/train.tsv", "glue/stsb", "-", (8, 9, 10), 1),
    ("glue/STS-B/dev.tsv", "glue/stsb", "-", (8, 9, 10), 1),
    ("glue/STS-B/sts-test.tsv", "glue/stsb", "-", (6, 7, 5), 0),
    ("glue/QQP/new_dev.tsv.gz", "glue/qqp", "-", (4, 5, 6), 0),
    ("glue/QNLI/dev.tsv", "glue/qnli", "-", (2, 3, 4), 1),
    ("sick/SICK_train.txt", "cls", "sentence_A,sentence_B,entailment_judgment", (2, 3, 5), 1),
    ("sick/SICK_test_annotated.txt", "reg", "sentence_A,sentence_B,relatedness_score", (2, 3, 4), 1),
    ("afqmc/train.txt.gz", "cls", "1,2,3", (1, 2, 3), 0),
    ("sentiment-zh/sentiment.valid.data", "cls", "1,-,2", (1, 0, 2), 0),
    ("cmnli/dev.txt", "cls", "1,2,3", (1, 2, 3), 0),
    ("paws-x-zh/dev_2k.tsv", "cls", "-", (2, 3, 4), 1),
]
LINES = [
    ("ocnli/dev.json", "cls", "-", ("sentence1", "sentence2", "label")),
    ("fewclue/tnews/train_few_all.json", "cls", "-", ("sentence", None, "label")),
    ("fewclue/iflytek/train_few_all.json.gz", "cls", "-", ("sentence", None, "label")),
]


def lines(path):
    data = open(path, "rb").read()
    text = (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8")
    text = text[1:] if text.startswith("\ufeff") else text
    return [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]


def say(name, task, columns, rows, bad):
    crc = 0
    count = collections.Counter(label for _, _, label in rows)
    for row in rows:
        crc = zlib.crc32(("%s\t%s\t%s\n" % row).encode(), crc)
    classes = " ".join("%s=%d" % (label, count[label]) for label in sorted(count)) if len(count) <= 200 and task not in ("reg", "glue/stsb") else ""
    print(("%s %s %s %d %d %08x %s" % (name, task, columns, len(rows), bad, crc, classes)).rstrip())


def main():
    data = sys.argv[1]
    print("# Python %d.%d: file, task, columns, rows, bad rows, CRC-32, label=rows ..." % sys.version_info[:2])
    for name, task, columns, at, header in TABLES:
        rows, bad = [], 0
        for line in [line for line in lines(os.path.join(data, name)) if line][header:]:
            field = [""] + line.split("\t")
            if len(field) <= max(at):
                bad += 1
            else:
                rows.append((field[at[0]], field[at[1]] if at[1] else "", field[at[2]]))
        say(name, task, columns, rows, bad)
    for name, task, columns, at in LINES:
        objects = [json.loads(line) for line in lines(os.path.join(data, name)) if line.strip()]
        say(name, task, columns, [(o[at[0]], o[at[1]] if at[1] else "", str(o[at[2]])) for o in objects], 0)


main()
