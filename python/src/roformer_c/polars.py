"""Vectors in Polars: an expression of type Array(Float32, D)."""
from __future__ import annotations

import importlib
from typing import Any

from . import _folder
from .workers import Embedder


def embedding(column: str, folder: _folder.PathLike, **options: Any) -> Any:
    """The expression of the vectors of a column of strings; null gives null. Name it with `.alias`.

    options  as of `workers.Embedder`: threads, dtype, prompt_name, prompt, normalize_embeddings, truncate_dim

    >>> import polars, roformer_c.polars                                                            # doctest: +SKIP
    >>> e = roformer_c.polars.embedding("text", "roformer-small-en-sentences")                      # doctest: +SKIP
    >>> polars.DataFrame({"text": ["A dog barks."]}).with_columns(e.alias("embedding"))             # doctest: +SKIP
    """
    pl = importlib.import_module("polars")
    embedder = Embedder(folder, column=column, **options)

    def vectors(series: Any) -> Any:
        return pl.from_arrow(embedder.vectors(series.to_arrow()))
    return pl.col(column).map_batches(vectors, return_dtype=pl.Array(pl.Float32, embedder.width), is_elementwise=True)
