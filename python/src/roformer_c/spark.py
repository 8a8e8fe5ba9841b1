"""Vectors in Spark 3.4 and later: a DataFrame with a new column, through mapInArrow."""
from __future__ import annotations

import importlib
from typing import Any, Iterable, Iterator

from . import _folder
from ._pyarrow import pyarrow
from .workers import Embedder


def embed(frame: Any, folder: _folder.PathLike, *, threads: int = 1, **options: Any) -> Any:
    """The DataFrame with the column "embedding" (array<float>) after its others.

    frame    a DataFrame of Spark with a column of strings, "text" or column=
    folder   the model folder, at this path on every executor
    threads  that one Python worker computes with; give each task as many cores: spark.task.cpus
    options  as of `workers.Embedder`: column, output, dtype, prompt_name, prompt, normalize_embeddings, truncate_dim

    Each Python worker opens the model once and keeps it (spark.python.worker.reuse, on by default). Spark computes a
    task again whose worker has died. spark.sql.execution.arrow.maxRecordsPerBatch bounds the rows of a batch.
    """
    types = importlib.import_module("pyspark.sql.types")
    embedder = Embedder(folder, threads=threads, **options)
    embedder.new_column(frame.columns)
    vector = types.StructField(embedder.output, types.ArrayType(types.FloatType(), False), True)
    return frame.mapInArrow(Rows(embedder), types.StructType([*frame.schema.fields, vector]))


class Rows:
    """The function for mapInArrow: Spark has no lists of a fixed size, so vectors are list<float32>."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        pa = pyarrow("spark")
        for batch in self.embedder.batches(batches):
            at = batch.schema.get_field_index(self.embedder.output)
            lists = batch.column(at).cast(pa.list_(pa.field("element", pa.float32(), nullable=False)))
            columns = [*batch.columns[:at], lists]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema.set(at, pa.field(self.embedder.output, lists.type)))
