"""pipelines.py FILE.parquet|LINES [--model FOLDER] [--engine NAME]... [--threads T] [--processes P] [--rows N] — tokens per
second and core of the Python package alone and inside engines, on the same texts with all vectors compared. Each engine
runs twice; the second time is reported, when models are open where the engine keeps its processes. LINES is a file of one
text per line. Run it on an idle machine, with the library that is measured (`roformer_c` on PYTHONPATH)."""
from __future__ import annotations

import argparse
import importlib
import sys
import time
from typing import Any, Callable, Dict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from roformer_c import SentenceTransformer, Tokenizer


def alone(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    model = SentenceTransformer(a.model, threads=a.threads * a.processes)
    return lambda: rows.append_column("embedding", pa.FixedSizeListArray.from_arrays(
        pa.array(model.encode(rows["text"].to_pylist()).reshape(-1)), model.get_sentence_embedding_dimension()))


def duckdb(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    con = importlib.import_module("duckdb").connect()
    importlib.import_module("roformer_c.duckdb").register(con, a.model, threads=a.threads * a.processes)
    con.register("texts", rows)
    return lambda: con.sql("SELECT *, embed(text) AS embedding FROM texts").to_arrow_table()


def polars(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    pl = importlib.import_module("polars")
    vectors = importlib.import_module("roformer_c.polars").embedding("text", a.model, threads=a.threads * a.processes)
    return lambda: pl.from_arrow(rows).with_columns(vectors.alias("embedding")).to_arrow()


def dask(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    """Dask starts its processes again for each call, so this has their start and the opening of the model."""
    dd = importlib.import_module("dask.dataframe")
    frame = dd.from_pandas(rows.to_pandas(), npartitions=4 * a.processes)
    found = importlib.import_module("roformer_c.dask").embed(frame, a.model, threads=a.threads)
    return lambda: pa.Table.from_pandas(found.compute(scheduler="processes", num_workers=a.processes))


def ray(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    """Ray Data starts its actors again for each call, so this has their start and the opening of the model."""
    ray = importlib.import_module("ray")
    if not ray.is_initialized():
        ray.init(num_cpus=a.threads * a.processes + 1, include_dashboard=False, log_to_driver=False)
    texts = ray.data.from_arrow(rows).repartition(4 * a.processes)
    found = importlib.import_module("roformer_c.ray").embed(texts, a.model, actors=a.processes, threads=a.threads)
    return lambda: pa.concat_tables(ray.get(found.to_arrow_refs()))


def spark(rows: pa.Table, a: argparse.Namespace) -> Callable[[], pa.Table]:
    sql = importlib.import_module("pyspark.sql")
    session = sql.SparkSession.builder.master("local[%d]" % a.processes).config("spark.ui.enabled", "false").getOrCreate()
    texts = session.createDataFrame(rows.to_pandas()).repartition(4 * a.processes)
    found = importlib.import_module("roformer_c.spark").embed(texts, a.model, threads=a.threads)
    return lambda: found.toArrow()


ENGINES: Dict[str, Callable[[pa.Table, argparse.Namespace], Callable[[], pa.Table]]] = {
    "alone": alone, "duckdb": duckdb, "polars": polars, "dask": dask, "ray": ray, "spark": spark}


def by_id(found: pa.Table) -> Any:
    found = found.sort_by("id")
    column = found["embedding"].combine_chunks()
    return np.asarray(column.flatten(), np.float32).reshape(len(column), -1)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("file")
    p.add_argument("--model", default="roformer-small-en-sentences")
    p.add_argument("--engine", action="append", choices=list(ENGINES))
    p.add_argument("--threads", type=int, default=1, help="threads of a process")
    p.add_argument("--processes", type=int, default=1, help="processes; engines of one process use as many threads more")
    p.add_argument("--rows", type=int, default=None, help="the first rows only")
    a = p.parse_args()
    if a.file.endswith(".parquet"):
        texts = pq.read_table(a.file, columns=["text"])["text"].drop_null().to_pylist()
    else:
        with open(a.file, encoding="utf-8") as file:
            texts = [line.rstrip("\n") for line in file]
    texts = texts[:a.rows]
    rows = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    model = SentenceTransformer(a.model)
    tokenizer, limit, wanted = Tokenizer.from_folder(a.model), model.max_seq_length, model.encode(texts)
    tokens = sum(min(len(e.ids), limit) for e in tokenizer.encode_batch(texts))
    print("%d texts, %d tokens, %d processes of %d threads" % (len(texts), tokens, a.processes, a.threads))
    for name in a.engine or list(ENGINES):
        call = ENGINES[name](rows, a)
        call()
        start = time.perf_counter()
        found = call()
        seconds = time.perf_counter() - start
        if not np.array_equal(by_id(found), wanted):
            sys.exit("%s: expected the vectors of one process, got others" % name)
        print("%-8s %9.0f tokens/s per core" % (name, tokens / seconds / (a.threads * a.processes)), flush=True)


if __name__ == "__main__":
    main()
