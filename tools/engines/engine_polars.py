"""Polars: an expression on a DataFrame and on a LazyFrame with both engines, null, to Parquet, and bad input."""
import lib
import polars as pl
import pyarrow.parquet
from roformer_c import polars as engine

rows = lib.table()
wanted = lib.expected(rows)
frame = pl.from_arrow(rows)
vectors = engine.embedding("text", lib.MODEL, threads=1).alias("embedding")
assert frame.with_columns(vectors).schema["embedding"] == pl.Array(pl.Float32, 256)
lib.compare_table(frame.with_columns(vectors).to_arrow(), wanted)
assert frame.lazy().with_columns(vectors).collect_schema()["embedding"] == pl.Array(pl.Float32, 256)
for how in ("in-memory", "streaming"):
    lib.compare_table(frame.lazy().with_columns(vectors).collect(engine=how).to_arrow(), wanted)
frame.with_columns(vectors).write_parquet(lib.WORK / "polars.parquet")
found = pyarrow.parquet.read_table(lib.WORK / "polars.parquet")
lib.compare(found["id"].to_pylist(), found["embedding"].to_pylist(), wanted)
assert frame.filter(pl.col("text").is_null()).with_columns(vectors)["embedding"].null_count() == rows["text"].null_count
assert frame.clear().with_columns(vectors).schema["embedding"] == pl.Array(pl.Float32, 256)
lib.refused(lambda: frame.with_columns(engine.embedding("id", lib.MODEL)), "column id: expected strings, got int64")
