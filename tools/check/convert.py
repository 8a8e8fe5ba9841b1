#!/usr/bin/env python3
"""convert.py PROGRAM FOLDER... - fine-tuned folders before and after `roformer convert`, as transformers reads them.

Each FOLDER (tests/cli/folders/convert_tasks.sh makes one of every task) is converted, both are opened by transformers 5's class of its
architecture, and must name the same outputs and give the same numbers for the same ids; of a class of ours AutoModel is asked.
"""
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

program = sys.argv[1]
bad = 0
for folder in map(pathlib.Path, sys.argv[2:]):
    with tempfile.TemporaryDirectory() as temporary:
        other = pathlib.Path(temporary) / "converted"
        subprocess.run([program, "convert", folder, other], check=True, stdout=subprocess.DEVNULL)
        out, states = [], []
        for f in (folder, other):
            config = transformers.AutoConfig.from_pretrained(f)
            model = getattr(transformers, config.architectures[0], transformers.AutoModel).from_pretrained(f).eval()
            ids = torch.arange(5, 17).reshape(2, 6)
            ids = ids[None] if "MultipleChoice" in type(model).__name__ else ids
            with torch.no_grad():
                answer = model(input_ids=ids)
            out.append([x for x in answer.to_tuple() if isinstance(x, torch.Tensor)])
            states.append((type(model).__name__, config.id2label, config.problem_type, getattr(config, "task_labels", None)))
    same = states[0] == states[1] and all(torch.equal(a, b) for a, b in zip(*out))
    print(folder.name, *states[1], "the same" if same else "NOT THE SAME: %s" % (states[0],))
    bad += not same
sys.exit(bad)
