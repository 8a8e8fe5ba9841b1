#!/usr/bin/env python3
"""sentence.py ROFORMER FOLDER TEXT [DIFFERENCE] - vectors of a folder, by the program and by sentence-transformers.

Every line of TEXT is embedded by `roformer embed -m FOLDER` and by SentenceTransformer(FOLDER).encode; prints the largest
difference of a number of a vector, as a share of the vector's length, and fails above DIFFERENCE (1e-5).
"""
import subprocess
import sys

import numpy as np
from sentence_transformers import SentenceTransformer

program, folder, path = sys.argv[1:4]
most = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-5
with open(path, encoding="utf-8") as f:
    lines = f.read().splitlines()
made = subprocess.run([program, "embed", "-q", "-m", folder, "--format", "f32", path], stdout=subprocess.PIPE, check=True)
theirs = SentenceTransformer(folder, device="cpu").encode(lines, batch_size=32)
ours = np.frombuffer(made.stdout, dtype="<f4").reshape(theirs.shape)
away = np.abs(ours - theirs).max(axis=1) / np.linalg.norm(theirs, axis=1)
print(f"{len(lines)} lines, vectors of {theirs.shape[1]}: at most {away.max():.3g} of a vector's length apart")
sys.exit(int(away.max() > most))
