#!/usr/bin/env python3
"""golden_cli.py MAKE_MODEL - what transformers answers on the tiny model of the program's tests, as tests/golden/cli.

Needs transformers 5 and torch; the tests themselves need neither.  MAKE_MODEL is build/release/tests/make_model.
"""
import json
import subprocess
import sys
import tempfile

from transformers import BertTokenizer, RoFormerForMaskedLM, pipeline

import golden

LINES = [
    "The capital of France is Paris, an old town.",
    "été ÉTÉ e\u0301te\u0301 東京 naïve Straße İstanbul",
    "",
    "   spaces\tand\u00a0more \u3000 ",
    "[MASK] of the [SEP] city [CLS][PAD] [mask]",
    "don't un-believ-ably!!! (red) 'blue' ... 1234567890",
    "\U0001f600 the \u200b city\u0000 of \ufeff paris \u2028 old",
    "a" * 101 + " river",
    "water" + "\u0301" * 50 + " sky",
]
MASKS = [
    "The capital of France is [MASK].",
    "[MASK] is a city in England.",
    "The river was [MASK] and [MASK].",
    "[MASK][MASK] [MASK]",
    "un[MASK]ed water, the old [MASK] of London!",
    "the [PAD] sky is [MASK] 東京 été [SEP] 'blue'",
]


def main():
    out = golden.GOLDEN / "cli"
    folder = tempfile.mkdtemp()
    subprocess.run([sys.argv[1], folder], check=True)
    tokenizer = BertTokenizer.from_pretrained(folder)
    model = RoFormerForMaskedLM.from_pretrained(folder).eval()
    fill = pipeline("fill-mask", model=model, tokenizer=tokenizer, device="cpu")

    def tokens(line, special):
        e = tokenizer(line, add_special_tokens=special, return_offsets_mapping=True)
        ids = e["input_ids"]
        row = {"ids": ids, "tokens": tokenizer.convert_ids_to_tokens(ids), "offsets": e["offset_mapping"]}
        return json.dumps(row, ensure_ascii=False, separators=(",", ":"))

    golden.write_lines(out / "lines.txt", LINES)
    golden.write_lines(out / "masks.txt", MASKS)
    golden.write_lines(out / "tokenize.jsonl", [tokens(line, True) for line in LINES])
    golden.write_lines(out / "tokenize_no_special.jsonl", [tokens(line, False) for line in LINES])
    golden.write_lines(out / "fill_mask.jsonl", [json.dumps(fill(line), ensure_ascii=False) for line in MASKS])
    targets = ["paris", "london", "blue"]
    golden.write_lines(out / "fill_mask_targets.jsonl", [json.dumps(fill(line, targets=targets, top_k=2), ensure_ascii=False) for line in MASKS])
    golden.write_lines(out / "README", ["Made by tools/golden/golden_cli.py with transformers %s." % golden.version("transformers")])


main()
