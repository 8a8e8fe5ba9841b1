#!/usr/bin/env python3
"""Writes tests/golden/text/added.txt: tokenizer folders with added tokens in every place that transformers 5 reads, and the ids it gives.

    python tools/golden/golden_added.py [FILE]     with transformers 5

The format is that of tools/golden/golden_folders.py, which also asks transformers."""
import json

import golden_folders as g

OUT = g.OUT.with_name("added.txt")
g.TEXTS = ["a <x> Ab <X> é", "<y><x>b aa<É>aa", "a <s> b [MASK] e", "a <xy> A<X>漢字<x> <é> aNEW wordb new word"]


def token(content, **more):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True, **more}


def added(*tokens):
    """tokenizer.json with added tokens after its vocabulary."""
    whole = g.fast()
    whole["added_tokens"] += [{"id": len(g.VOCAB) + i, **t} for i, t in enumerate(tokens)]
    return whole


PLAIN = {"normalized": True, "special": False}
X, Y = len(g.VOCAB), len(g.VOCAB) + 1
PLACES = {                                            # settings, special_tokens_map.json, added_tokens.json
    "none": ({}, None, None),
    "legacy": ({}, None, {"<x>": X, "<y>": Y}),
    "legacy special": ({"additional_special_tokens": ["<y>"]}, None, {"<x>": X, "<y>": Y}),
    "legacy map": ({}, {"additional_special_tokens": ["<x>"], "bos_token": "<y>"}, {"<x>": X, "<y>": Y}),
    "additional": ({"additional_special_tokens": ["<x>", "<y>"]}, None, None),
    "additional objects": ({"additional_special_tokens": [{"__type": "AddedToken", **token("<x>", lstrip=True, rstrip=True)}, "<y>"]}, None, None),
    "additional map": ({}, {"additional_special_tokens": ["<x>", "<y>"]}, None),
    "additional map objects": ({}, {"additional_special_tokens": [{k: v for k, v in token("<x>", rstrip=True).items() if k != "special"}]}, None),
    "extra list": ({"extra_special_tokens": ["<x>", "<y>"]}, None, None),
    "extra object": ({"extra_special_tokens": {"a_token": "<x>", "b_token": "<y>"}}, None, None),
    "extra map": ({}, {"extra_special_tokens": ["<x>", "<y>"]}, None),
    "extra both": ({"extra_special_tokens": ["<x>"]}, {"extra_special_tokens": ["<y>", "<x>"]}, None),
    "extra beside additional": ({"extra_special_tokens": ["<y>"], "additional_special_tokens": ["<x>"]}, None, None),
    "extra known": ({"extra_special_tokens": ["<s>", "aaaa", "<x>"]}, None, None),
    "by name": ({"model_specific_special_tokens": {"a": "<x>", "b_token": "<y>"}}, None, None),
    "by name and extra": ({"model_specific_special_tokens": {"a_token": "<y>"}, "extra_special_tokens": ["<x>"]}, None, None),
    "named": ({"bos_token": "<x>", "eos_token": "<y>"}, None, None),
    "named map": ({"bos_token": "<y>"}, {"bos_token": "<x>", "eos_token": "<s>"}, None),
    "named own": ({"image_token": "<x>", "bos_token": "<y>"}, None, None),
    "named objects": ({}, {"mask_token": {"content": "[MASK]", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}}, None),
    "named first": ({"cls_token": "<x>"}, None, None),
    "decoder": ({"added_tokens_decoder": {str(X): token("<x>", **PLAIN), str(Y): token("<y>")}}, None, {"<z>": X}),
    "decoder and extra": ({"added_tokens_decoder": {str(X): token("<x>", **PLAIN)}, "extra_special_tokens": ["<y>"]}, {"bos_token": "<s>"}, None),
    "decoder accents": ({"added_tokens_decoder": {str(X): token("<É>", **PLAIN), str(Y): token("NEW Word", **PLAIN)}}, None, None),
    "decoder han": ({"added_tokens_decoder": {str(X): token("字<", **PLAIN), str(Y): token("wor", **PLAIN)}}, None, None),
    "decoder cased": ({"do_lower_case": False, "added_tokens_decoder": {str(X): token("<É>", **PLAIN), str(Y): token("<x>", **PLAIN)}}, None, None),
    "decoder strips": ({"added_tokens_decoder": {str(X): token("<x>", lstrip=True, rstrip=True, **PLAIN)}}, None, None),
    "legacy far": ({}, None, {"<x>": X + 70, "a": X + 71, "<y>": X + 60}),
    "decoder far": ({"added_tokens_decoder": {str(X + 70): token("<x>"), str(X + 71): token("a"), str(X + 60): token("<y>")}}, None, None),
    "extra empty": ({"extra_special_tokens": {}, "additional_special_tokens": ["<x>", "<y>"]}, None, None),
    "extra empty list": ({"extra_special_tokens": [], "additional_special_tokens": ["<x>", "<y>"]}, None, None),
    "extra empty and map": ({"extra_special_tokens": []}, {"additional_special_tokens": ["<y>", "<x>"]}, None),
    "extra empty object and map": ({"extra_special_tokens": {}}, {"additional_special_tokens": ["<y>", "<x>"]}, None),
    "extra and map": ({"extra_special_tokens": ["<y>"]}, {"additional_special_tokens": ["<x>"]}, None),
    "extra object and additional": ({"extra_special_tokens": {"k": "<y>"}, "additional_special_tokens": ["<x>"]}, None, None),
    "additional and map": ({"additional_special_tokens": ["<y>"]}, {"additional_special_tokens": ["<x>"]}, None),
    "extra and object of map": ({"extra_special_tokens": ["<y>"]}, {"extra_special_tokens": {"k": "<x>"}}, None),
}
PARTS = {"lines": None, "usual": g.fast(), "plain": added(token("<x>", **PLAIN), token("<y>", **PLAIN)),
         "special": added(token("<x>"), token("<y>"))}


def folders():
    for name in ("BertTokenizer", "PreTrainedTokenizerFast"):
        for place, (settings, map, legacy) in PLACES.items():
            for part, whole in PARTS.items():
                if whole is None and not name.startswith("Bert"):
                    continue
                if part in ("plain", "special") and name.startswith("Pre") and place in ("decoder accents", "decoder han", "decoder cased"):
                    continue                             # two tokens of one id: refused by name
                if place.endswith(" far") and (part in ("plain", "special") or name.startswith("Pre")):
                    continue                             # a token of two ids; refused by name
                files = {"tokenizer_config.json": json.dumps({"tokenizer_class": name, **settings}, ensure_ascii=False)}
                files["tokenizer.json" if whole else "vocab.txt"] = json.dumps(whole, ensure_ascii=False) if whole else "\n".join(g.VOCAB) + "\n"
                if map is not None:
                    files["special_tokens_map.json"] = json.dumps(map)
                if legacy is not None:
                    files["added_tokens.json"] = json.dumps(legacy)
                yield "%s %s %s" % (name, place, part), files


if __name__ == "__main__":
    g.OUT = OUT
    g.folders = folders
    g.main()
