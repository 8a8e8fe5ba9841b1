#!/usr/bin/env python3
"""Compares the texts of chat templates with those of transformers' apply_chat_template, for many random lists of messages.

    templates.py TEST [-n TIMES] FILE...    TEST: build/release/tests/text_test_template; FILE: chat_template.jinja,
                                            tokenizer_config.json or another JSON file with chat_template; without
                                            one: the templates of tools/golden/golden_templates.py

Needs transformers 5 and jinja2. What differs is printed by TEST, with its template."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "golden"))
import golden_templates as golden  # noqa: E402


def templates_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".jinja"):
        return [text]
    found = json.loads(text).get("chat_template") or []
    return [found] if isinstance(found, str) else [x["template"] for x in found]


parser = argparse.ArgumentParser()
parser.add_argument("test")
parser.add_argument("-n", type=int, default=200)
parser.add_argument("file", nargs="*")
options = parser.parse_intermixed_args()
templates = [t for path in options.file for t in templates_of(path)] or list(golden.TEMPLATES.values())
with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as f:
    for x in golden.rows(templates, options.n, 7):
        f.write(json.dumps(x, ensure_ascii=False) + "\n")
    f.flush()
    code = subprocess.run([options.test, f.name], check=False).returncode
sys.exit(code)
