#!/usr/bin/env python3
"""index.py ROFORMER MODEL TEXT [QUERY...] - an index of the lines of TEXT, read by NumPy and by FAISS.

`roformer index` writes it to a temporary folder.  Codes, scales and offsets are opened by numpy.load, vectors by
faiss.read_index; codes are compared with the vectors, lines with TEXT, and the ten lines that IndexFlatIP finds for
each query (without one: every hundredth line) with those of `roformer search`: the same lines, scores apart by rounding.
"""
import json
import subprocess
import sys
import tempfile
import unicodedata

import faiss
import numpy as np

program, model, path = sys.argv[1:4]
with open(path, encoding="utf-8") as f:
    lines = f.read().split("\n")[:-1]
queries = sys.argv[4:] or lines[::100]


def run(*arguments, text=""):
    return subprocess.run([program, *arguments], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def found_by_program(index):
    hits = [[] for _ in queries]
    for line in run("search", "-q", "-m", model, "--json", index, text="".join(q + "\n" for q in queries)).splitlines():
        hit = json.loads(line)
        hits[hit["query"] - 1].append((hit["line"] - 1, hit["score"], hit["text"]))
    return hits


with tempfile.TemporaryDirectory() as folder:
    index = folder + "/index"
    run("index", "-q", "-m", model, "-o", index, path)
    codes, scales = np.load(index + "/codes.npy", mmap_mode="r"), np.load(index + "/scales.npy")
    offsets = np.load(index + "/offsets.npy")
    flat = faiss.read_index(index + "/vectors.faiss")
    with open(index + "/lines.txt", "rb") as f:
        kept = f.read()
    program_hits = found_by_program(index)
    vectors = flat.reconstruct_n(0, flat.ntotal)
    numpy_vectors = np.fromfile(index + "/vectors.faiss", "<f4", offset=45).reshape(vectors.shape)

assert codes.dtype == np.int8 and codes.shape == vectors.shape == (len(lines), flat.d), codes.shape
assert (numpy_vectors == vectors).all()
assert [kept[a:b - 1].decode() for a, b in zip(offsets, offsets[1:])] == lines
there = scales[:, 1] >= 0
assert [any(unicodedata.category(c)[0] not in "CZ" for c in line) for line in lines] == list(there)
lost = np.linalg.norm(vectors.astype("f8") - codes * scales[:, :1].astype("f8"), axis=1)
assert (lost <= np.abs(scales[:, 1])).all()
assert np.allclose(np.linalg.norm(vectors[there].astype("f8"), axis=1), 1, atol=1e-6)

embedded = run("embed", "-q", "-m", model, "--normalize", "--format", "f32", text="".join(q + "\n" for q in queries))
score, row = flat.search(np.frombuffer(embedded, "<f4").reshape(len(queries), flat.d).copy(), 10)
most = 0.0
for i, hits in enumerate(program_hits):
    for k, (line, cosine, text) in enumerate(hits):
        assert text == lines[line]
        most = max(most, abs(cosine - score[i][k]))
        assert line == row[i][k] or abs(cosine - score[i][k]) < 1e-6, (i, k, line, row[i][k])
print(f"{len(lines)} lines, {len(queries)} queries: NumPy and FAISS {faiss.__version__} read the index; "
      f"scores of FAISS at most {most:.2g} apart")
sys.exit(int(most > 1e-5))
