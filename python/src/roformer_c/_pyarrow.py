"""pyarrow (the extra "arrow"), imported when it is needed, and vectors in its types."""
from __future__ import annotations

import importlib
from typing import Any, Sequence

import numpy as np

from ._model import Floats


def pyarrow(who: str, module: str = "pyarrow") -> Any:
    """The module, or ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError("%s: expected the package pyarrow, got none: pip install 'roformer-c[arrow]'" % who) from e


def fixed_size_list(pa: Any, vectors: Floats, width: int, present: Sequence[int], n: int) -> Any:
    """An array of n FixedSizeList<float32>[width]: vectors at the rows `present`, NULL at the others."""
    if len(present) == n:
        return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), width)
    rows, null = np.zeros((n, width), np.float32), np.ones(n, bool)
    rows[present], null[present] = vectors, False
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), width, mask=pa.array(null))
