#!/usr/bin/env python3
"""golden_pipelines.py FOLDER: tokenizer.json files with every kind of model, post-processor, decoder and flag of added tokens, and what Hugging
Face's tokenizers makes of lines.

    pip install tokenizers==0.23.3
    python3 tools/golden/golden_pipelines.py tests/golden/pipelines

Pipelines are drawn as in tools/check/random_pipelines.py, until each component occurs twice."""
import collections
import json
import os
import random
import sys

import tokenizers
from tokenizers import Tokenizer

import golden

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "check"))
import random_pipelines as pipelines

ONLY = ("BPE,WordPiece,Unigram,WordLevel,WhitespaceSplit,BertProcessing,RobertaProcessing,TemplateProcessing,post_processor:ByteLevel,decoder:WordPiece,"
        "decoder:ByteLevel,decoder:Metaspace,BPEDecoder,CTC,Fuse,ByteFallback,decoder:Strip,NFC,Lowercase").split(",")


def case(t, text, pair, plain):
    e = t.encode(text, pair, add_special_tokens=not plain)
    try:
        back = [t.decode(e.ids, skip_special_tokens=skip) for skip in (True, False)]
    except BaseException:
        back = []
    return {"text": text, "pair": pair, "plain": plain, "tokens": pipelines.in_bytes(text, pair, e), "decoded": back}


def main(folder):
    r, count, files = random.Random(11), collections.Counter(), []
    for _ in range(2000):
        lines = [pipelines.line(r)[:60] for _ in range(24)]
        file = pipelines.draw(r, ONLY, lines)
        new = [x for x in pipelines.names(file) if count[x] < 2]
        if not new or len(file["model"]["vocab"]) > 420 or (file["pre_tokenizer"] or {}).get("type") == "Sequence":
            continue
        try:
            t = Tokenizer.from_str(json.dumps(file))
            cases = [case(t, x, lines[i - 1] if i % 3 == 1 else None, i % 5 == 2) for i, x in enumerate(lines)]
        except BaseException:
            continue
        count.update(pipelines.names(file))
        files.append({"file": file, "cases": cases})
    os.makedirs(folder, exist_ok=True)
    golden.write_json(os.path.join(folder, "pipelines.json"), {"tokenizers": tokenizers.__version__, "files": files}, ensure_ascii=False)
    print(len(files), "pipelines:", dict(count))


if __name__ == "__main__":
    main(sys.argv[1])
