#!/usr/bin/env python3
"""golden_pipelines.py FOLDER: tokenizer.json files with every kind of model, post-processor, decoder and flag of added tokens, and what Hugging
Face's tokenizers makes of lines.

    pip install tokenizers==0.23.3
    python3 tools/golden/golden_pipelines.py tests/golden/pipelines

Pipelines are drawn as in tools/check/random_pipelines.py, until each component occurs twice; those of `rare` show what random ones rarely do."""
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


def rare():
    """Files and lines."""
    whole = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, "added_tokens": []}
    trim = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    letters = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1, "t": 2, "xyt": 3, "axyt": 4}}
    stop = {"id": 9, "content": "stop", "single_word": False, "lstrip": True, "rstrip": True, "normalized": True, "special": False}
    replace = lambda pattern, to: {"type": "Replace", "pattern": pattern, "content": to}
    # the blanks that an added token absorbs are those of the normalized text, in which trim_offsets counts them
    for normalizer in ({"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": True, "strip_accents": False, "lowercase": True},
                       replace({"String": pipelines.META}, " "), replace({"Regex": " {2,}"}, " ")):
        yield dict(whole, normalizer=normalizer, post_processor=trim, model=letters, added_tokens=[stop]), [
            "stop世", "世stop世a", "stop▁", "a▁▁stop▁▁a", "stop  ", "  stop   stop", "a stop a", " stop"]
    # blanks that a token absorbed may belong to the next one
    for x in ({"content": " stop"}, {"content": "[M]", "normalized": True}):
        for lstrip in (False, True):
            yield dict(whole, normalizer={"type": "Prepend", "prepend": " "}, model=letters, added_tokens=[dict(stop, **dict({"normalized": False, "lstrip": lstrip}, **x))]), [
                " stop stop  stop", "a stop  stop a", "[M] [M]  [M] a", "stop stop "]
    # scores of 15 digits, whose sums decide between two segmentations
    yield dict(whole, model={"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [
        ["[UNK]", 0.0], [" ", -3.0], ["!", -9.62740767820605], ["?", -3.0], ["..", -3.0], [".", -5.188402463294327]]}), [" !?...", "!?...", " !...", "..."]
    # a match of nothing
    for pattern in ("^", "$", "(?=t)", "a*", "", "\\b"):
        yield dict(whole, normalizer=replace({"Regex": pattern}, "xy"), model=letters), ["t", "at", "ta", "a", "", "tt", "a t"]


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
    for file, lines in rare():
        t = Tokenizer.from_str(json.dumps(file))
        files.append({"file": file, "cases": [case(t, x, None, False) for x in lines]})
    os.makedirs(folder, exist_ok=True)
    golden.write_json(os.path.join(folder, "pipelines.json"), {"tokenizers": tokenizers.__version__, "files": files}, ensure_ascii=False)
    print(len(files), "pipelines:", dict(count))


if __name__ == "__main__":
    main(sys.argv[1])
