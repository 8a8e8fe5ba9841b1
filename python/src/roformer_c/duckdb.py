"""Vectors in DuckDB: a function of SQL from VARCHAR to FLOAT[D]."""
from __future__ import annotations

from typing import Any

from . import _folder
from .workers import Embedder


def register(connection: Any, folder: _folder.PathLike, name: str = "embed", **options: Any) -> None:
    """Registers NAME(VARCHAR) -> FLOAT[D] with the connection; NULL gives NULL.

    options  as of `workers.Embedder`: threads, dtype, prompt_name, prompt, normalize_embeddings, truncate_dim

    DuckDB calls it with up to 2048 rows at once.

    >>> import duckdb, roformer_c.duckdb                                                            # doctest: +SKIP
    >>> roformer_c.duckdb.register(duckdb, "roformer-small-en-sentences")                           # doctest: +SKIP
    >>> duckdb.sql("SELECT embed('A dog barks.')")                                                  # doctest: +SKIP
    """
    embedder = Embedder(folder, **options)
    connection.create_function(name, embedder.vectors, ["VARCHAR"], "FLOAT[%d]" % embedder.width, type="arrow",
                               null_handling="special")
