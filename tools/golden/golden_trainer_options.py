#!/usr/bin/env python3
"""golden_trainer_options.py — names of the options of transformers' Trainer, for tests/golden/cli/trainer_options.txt: each of them is an
option of pretrain and finetune, or is answered with what to do instead.

Usage: golden_trainer_options.py OLD   (the training_args.py of transformers 4, for names that tutorials still use)
"""
import ast
import dataclasses
import pathlib
import sys

import transformers

import golden

names = {f.name for f in dataclasses.fields(transformers.TrainingArguments)}
for node in ast.parse(pathlib.Path(sys.argv[1]).read_text()).body:
    if isinstance(node, ast.ClassDef) and node.name == "TrainingArguments":
        names |= {a.target.id for a in node.body if isinstance(a, ast.AnnAssign)}
names -= {"_n_gpu", "tpu_metrics_debug"}    # not options of a command line
golden.write_lines(golden.GOLDEN / "cli" / "trainer_options.txt", [f"# transformers {transformers.__version__} and 4.40.2", *sorted(names)])
