"""pandas and pyarrow: Embedder on a DataFrame with both kinds of strings; a Parquet file to another in bounded memory."""
import os
import pickle

import lib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from roformer_c import SentenceTransformer, arrow, workers

rows = lib.table()
wanted = lib.expected(rows)
embedder = workers.Embedder(lib.MODEL)
for frame in (rows.to_pandas(), rows.to_pandas(types_mapper=pd.ArrowDtype)):
    found = embedder.frame(frame)
    assert list(found.columns) == ["id", "text", "embedding"] and len(frame.columns) == 2
    lib.compare_table(pa.Table.from_pandas(found), wanted)
frame = rows.to_pandas().dropna()
plain = SentenceTransformer(lib.MODEL).encode(frame["text"])
lib.compare(list(frame["id"]), list(plain), {i: v for i, v in wanted.items() if v is not None})
lib.refused(lambda: embedder.frame(pd.DataFrame({"text": [1, 2]})), "column text: expected strings, got int64")
lib.refused(lambda: embedder.frame(pd.DataFrame({"text": ["a", b"b"]})), "column text: expected strings")
lib.refused(lambda: embedder.frame(pd.DataFrame({"body": ["a"]})), "column: expected one of body, got 'text'")
lib.refused(lambda: embedder.frame(pd.DataFrame({"text": ["a"], "embedding": [1]})), "give another output=")
twice = pa.RecordBatch.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
lib.refused(lambda: embedder.add(twice), "got 'text', the name of 2 columns")

# One model per process for the same files, also through pickle; another one after the folder was replaced.
mine = lib.copy_model("mine")
first = workers.Embedder(mine)
assert pickle.loads(pickle.dumps(first)).model is first.model is workers.Embedder(mine, column="other").model
with open(mine + "/vocab.txt", "a", encoding="utf-8") as file:
    file.write("another\n")
second = workers.Embedder(mine)
assert second.model is not first.model and workers.Embedder(mine).model is second.model
assert pickle.loads(pickle.dumps(second)).model is second.model
lib.refused(lambda: pickle.loads(pickle.dumps(first)).model, "mine: file vocab.txt: expected the content that the driver has")
lib.refused(lambda: workers.fingerprint(mine + "/no"), "mine/no: expected a file or folder that can be read")

source, to = str(lib.WORK / "in.parquet"), str(lib.WORK / "out.parquet")
pq.write_table(rows, source, row_group_size=64)
assert arrow.embed_file(source, to, embedder, batch_size=50) == len(rows)
lib.compare_table(pq.read_table(to), wanted)
assert pq.read_schema(to).metadata[b"similarity"] == b"cosine"
before = open(to, "rb").read()
pq.write_table(pa.table({"text": pa.array([1])}), source)
lib.refused(lambda: arrow.embed_file(source, to, embedder), "column text: expected strings, got int64")
open(source, "w").write("not one")
lib.refused(lambda: arrow.embed_file(source, to, embedder), "in.parquet: expected a Parquet file")
lib.refused(lambda: arrow.embed_file(source + ".no", to, embedder), "in.parquet.no: expected a Parquet file")
lib.refused(lambda: arrow.embed_file(source, to + ".csv", embedder), "path: expected a name that ends with")
pq.write_table(rows.slice(0, 0), source)
assert open(to, "rb").read() == before and sorted(os.listdir(lib.WORK)) == ["in.parquet", "mine", "out.parquet"]
assert arrow.embed_file(source, to, embedder) == 0
assert pq.read_schema(to).field("embedding").type.list_size == 256
assert np.array_equal(wanted[rows["id"][3].as_py()], embedder.model.encode(""))
