"""Similarities of vectors, and vectors in fewer bits."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import errors, tensors
from ._model import Floats


def matrix(x: Any, name: str) -> Floats:
    a = np.asarray(tensors.array(x))
    if a.ndim == 1 and a.size and a.dtype.kind in "fiu":
        a = a[None, :]
    if a.ndim != 2 or a.dtype.kind not in "fiu":
        raise errors.ArgumentError("%s: expected numbers of one or two dimensions, got %s with %d"
                                   % (name, a.dtype, a.ndim))
    return np.ascontiguousarray(a, np.float32)


def similarity(a: Floats, b: Floats, name: str) -> Floats:
    """Similarities [n, m] of the rows of a [n, D] and b [m, D]."""
    if a.shape[1] != b.shape[1]:
        raise errors.ArgumentError("embeddings2: expected vectors of %d numbers, got %d" % (a.shape[1], b.shape[1]))
    if name == "cosine":
        a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
    if name in ("cosine", "dot"):
        return np.asarray(a @ b.T, np.float32)
    order = 2 if name == "euclidean" else 1
    return np.stack([-np.linalg.norm(b - x, ord=order, axis=1) for x in a]).astype(np.float32) if len(a) else \
        np.zeros((0, len(b)), np.float32)


def quantized(vectors: Floats, precision: Any, ranges: Any = None) -> Any:
    """As quantize_embeddings of sentence-transformers; ranges: the least and largest number of each column."""
    if precision in (None, "float32"):
        return vectors
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if not len(vectors):
        return vectors.astype(precision)
    if ranges is None and len(vectors) < 2:
        raise errors.ArgumentError("precision: expected two texts or more for %r, whose scale is the range of each column, "
                                   "got one" % precision)
    low, high = (vectors.min(axis=0), vectors.max(axis=0)) if ranges is None else ranges
    steps = (high - low) / np.float32(255)
    codes = np.clip(np.floor((vectors - low) / np.where(steps == 0, np.float32(1), steps)), 0, 255)
    return codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8)
