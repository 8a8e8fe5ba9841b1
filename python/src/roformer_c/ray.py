"""Vectors in Ray Data: a Dataset with a new column, through map_batches and a pool of actors."""
from __future__ import annotations

from typing import Any

from . import _folder
from .workers import Embedder


class Actor:
    """The class for map_batches(batch_format="pyarrow"): an actor opens the model when it starts."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.embedder.model                 # a folder that differs from the driver's ends the actor here

    def __call__(self, table: Any) -> Any:
        return self.embedder.add(table)


def embed(dataset: Any, folder: _folder.PathLike, *, actors: int = 1, threads: int = 1, batch_size: int = 4096,
          **options: Any) -> Any:
    """The Dataset with the column "embedding" (FixedSizeList<float32>[D]) after its others.

    dataset     a Dataset of Ray with a column of strings, "text" or column=
    folder      the model folder, at this path on every node
    actors      processes with a model each
    threads     that one actor computes with, and the CPUs that Ray reserves for it
    batch_size  rows in a call; it changes no bit
    options     as of `workers.Embedder`: column, output, dtype, prompt_name, prompt, normalize_embeddings, truncate_dim

    Ray starts an actor again that has died, and computes its batches again.
    """
    embedder = Embedder(folder, threads=threads, **options)
    return dataset.map_batches(Actor, fn_constructor_args=(embedder,), batch_format="pyarrow", batch_size=batch_size,
                               concurrency=actors, num_cpus=threads)
