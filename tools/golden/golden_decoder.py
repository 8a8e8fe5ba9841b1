#!/usr/bin/env python3
"""golden_decoder.py FOLDER: what Hugging Face's tokenizers decodes ids to, with the tokenizer.json of FOLDER (golden_fast.py) and decoders of its own.

    pip install tokenizers==0.23.3
    python3 tools/golden/golden_decoder.py tests/golden/fast

Ids are random, so that bytes that are not UTF-8, special tokens inside a text and blanks at its ends occur."""
import json
import os
import random
import sys

import tokenizers
from tokenizers import Tokenizer

import golden

META = "▁"
DECODERS = {
    "null": None,
    "byte_level": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "metaspace": {"type": "Metaspace", "replacement": META, "prepend_scheme": "always", "split": True},
    "metaspace_never": {"type": "Metaspace", "replacement": META, "prepend_scheme": "never", "split": True},
    "metaspace_old": {"type": "Metaspace", "replacement": META, "add_prefix_space": True},
    "metaspace_e": {"type": "Metaspace", "replacement": "e", "prepend_scheme": "first", "split": False},
    "gemma": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": META}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    "llama": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": META}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                               {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "strip": {"type": "Strip", "content": META, "start": 2, "stop": 0},
    "strip_end": {"type": "Strip", "content": "e", "start": 0, "stop": 1},
    "wordpiece": {"type": "WordPiece", "prefix": META, "cleanup": True},
    "wordpiece_plain": {"type": "WordPiece", "prefix": "##", "cleanup": False},
    "bpe": {"type": "BPEDecoder", "suffix": "e"},
    "ctc": {"type": "CTC", "pad_token": "a", "word_delimiter_token": META, "cleanup": True},
    "ctc_plain": {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": META, "cleanup": False},
    "nested": {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [{"type": "Fuse"}]}, {"type": "Replace", "pattern": {"String": META}, "content": "-"}]},
    "fallback": {"type": "ByteFallback"},
    "replace": {"type": "Replace", "pattern": {"String": "th"}, "content": "é" + META},
    "regex": {"type": "Replace", "pattern": {"Regex": "[aeiou]+|^\\s"}, "content": "-"},
    "regex_empty": {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "."},
    "regex_ends": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"Regex": "(?<=t)h|\\b|$"}, "content": "|"}]},
    "string_empty": {"type": "Replace", "pattern": {"String": ""}, "content": "'"},
    "fuse": {"type": "Fuse"},
    "nothing": {"type": "Sequence", "decoders": []},
}
FILES = ["llama", "xlmr", "bpe", "t5"]


def cases(t, r):
    """Half of the ids are of bytes where the model has them."""
    n = t.get_vocab_size()
    some = [i for i in (t.token_to_id("<0x%02X>" % i) for i in range(256)) if i is not None]
    out = []
    for _ in range(24):
        ids = [r.choice(some) if some and r.random() < 0.5 else r.randrange(n) for _ in range(r.randrange(0, 12))]
        if some and r.random() < 0.5:
            ids += [t.token_to_id("<0x%02X>" % b) for b in r.choice(["é", "漢", "🙂"]).encode()]
        out.append({"ids": ids, "all": t.decode(ids, skip_special_tokens=False), "text": t.decode(ids)})
    return out


def main(folder):
    r = random.Random(7)
    sets = []
    for file in FILES:
        with open(os.path.join(folder, file + ".tokenizer.json"), encoding="utf-8") as f:
            whole = json.load(f)
        for name, decoder in DECODERS.items():
            t = Tokenizer.from_str(json.dumps(dict(whole, decoder=decoder)))
            sets.append({"file": file, "name": name, "decoder": decoder, "cases": cases(t, r)})
    golden.write_json(os.path.join(folder, "decoders.json"), {"tokenizers": tokenizers.__version__, "sets": sets}, ensure_ascii=False)


if __name__ == "__main__":
    main(sys.argv[1])
