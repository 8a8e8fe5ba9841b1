"""Vectors in Dask: a DataFrame with a new column, through map_partitions."""
from __future__ import annotations

from typing import Any

from . import _folder
from .workers import Embedder


def embed(frame: Any, folder: _folder.PathLike, *, threads: int = 1, **options: Any) -> Any:
    """The DataFrame with the column "embedding" (Arrow's FixedSizeList<float32>[D]) after its others.

    frame    a DataFrame of Dask with a column of strings, "text" or column=
    folder   the model folder, at this path on every machine
    threads  that one call computes with; Dask runs as many calls at once as a worker has threads
    options  as of `workers.Embedder`: column, output, dtype, prompt_name, prompt, normalize_embeddings, truncate_dim

    Each process opens the model once.
    """
    embedder = Embedder(folder, threads=threads, **options)
    return frame.map_partitions(embedder.frame, meta=embedder.frame(frame._meta))
