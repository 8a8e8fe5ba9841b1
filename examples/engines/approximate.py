"""approximate.py [FOLDER] — approximate search by others in our vectors: recall@10 of FAISS's IVF-PQ and of HNSW (usearch)
against exact search. Texts are the lines of the project's pages; every tenth is a query, the others are searched."""
import os
import pathlib
import sys
import tempfile

import faiss
import numpy as np
from usearch.index import Index as Hnsw

from roformer_c import Index, SentenceTransformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
K = 10

model = SentenceTransformer((sys.argv[1:] + [str(ROOT / "models" / "roformer-small-en-sentences")])[0], threads=2)
lines = dict.fromkeys(line.strip() for page in sorted((ROOT / "docs").glob("**/*.md"))
                      for line in page.read_text(encoding="utf-8").split("\n") if len(line.split()) > 5)
vectors = model.encode(list(lines), normalize_embeddings=True)
is_query = np.arange(len(vectors)) % 10 == 0
queries, rows = vectors[is_query], vectors[~is_query]
width = rows.shape[1]

with tempfile.TemporaryDirectory() as work:
    exact = Index.build(os.path.join(work, "exact.index"), rows)
    _, wanted = exact.search(queries, K)


def recall(found: np.ndarray) -> float:
    """The mean fraction of the K nearest vectors that were found."""
    return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(found.tolist(), wanted.tolist())]))


flat = faiss.IndexFlatIP(width)
flat.add(rows)

faiss.omp_set_num_threads(1)
lists = max(int(np.sqrt(len(rows))) // 2, 1)
ivfpq = faiss.IndexIVFPQ(faiss.IndexFlatIP(width), width, lists, width // 4, 8, faiss.METRIC_INNER_PRODUCT)
ivfpq.train(rows)
ivfpq.add(rows)
ivfpq.nprobe = max(lists // 4, 1)

hnsw = Hnsw(ndim=width, metric="ip", dtype="f32", connectivity=32, expansion_add=200, expansion_search=200)
hnsw.add(np.arange(len(rows)), rows, threads=1)

print("%d vectors of %d numbers, %d queries, %d cells" % (len(rows), width, len(queries), lists))
results = {"FAISS exact (the same vectors)": (flat.search(queries, K)[1], 0.99),
           "FAISS IVF-PQ, a quarter of the cells, %d bytes a vector" % (width // 4): (ivfpq.search(queries, K)[1], 0.6),
           "HNSW, f32": (hnsw.search(queries, K, threads=1).keys, 0.95)}
for name, (found, least) in results.items():
    print("recall@%d %.3f  %s" % (K, recall(found), name))
    if recall(found) < least:
        sys.exit("%s: expected recall@%d of %g or more" % (name, K, least))
