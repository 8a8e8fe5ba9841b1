"""Tensors of PyTorch, for those who have it: the package computes with NumPy and imports PyTorch only when asked for."""
from __future__ import annotations

import importlib
import sys
from typing import Any, Callable

import numpy as np

from . import errors


def torch(what: str) -> Any:
    """The module torch, or UnsupportedError."""
    try:
        return importlib.import_module("torch")
    except ImportError as e:
        raise errors.UnsupportedError("%s: expected the package torch, got: %s; pip install torch, or take the NumPy array"
                                      % (what, e)) from e


def is_tensor(x: Any) -> bool:
    """Whether this is a tensor; without importing PyTorch, which whoever has a tensor has done."""
    module = sys.modules.get("torch")
    return module is not None and isinstance(x, getattr(module, "Tensor", ()))


def array(x: Any) -> Any:
    """A tensor, or a list of tensors, as an array; anything else as it is."""
    if is_tensor(x):
        return x.detach().cpu().float().numpy()
    if isinstance(x, (list, tuple)) and len(x) and is_tensor(x[0]):
        return np.stack([array(row) for row in x])
    return x


def like(x: Any, *inputs: Any) -> Any:
    """An array as a tensor, if one of the inputs is a tensor or a list of tensors."""
    found = any(is_tensor(i) or isinstance(i, (list, tuple)) and len(i) and is_tensor(i[0]) for i in inputs)
    return converted(x, False, True) if found else x


def converted(x: Any, to_numpy: bool, to_tensor: bool) -> Any:
    """Results as sentence-transformers gives them: an array; a tensor; without either, a list of tensors, one for a row.
    Lists and dicts of arrays are converted within."""
    if to_numpy and not to_tensor:
        return x
    if isinstance(x, list):
        return [converted(row, False, True) for row in x]
    if isinstance(x, dict):
        return {name: converted(value, False, True) for name, value in x.items()}
    tensor = torch("convert_to_tensor").as_tensor(np.asarray(x))
    return tensor if to_tensor or not tensor.ndim else list(tensor)


def applied(function: Callable[[Any], Any], x: Any) -> Any:
    """function(x), a module of PyTorch or a function of arrays."""
    module = sys.modules.get("torch")
    if module is not None and isinstance(function, module.nn.Module):
        with module.no_grad():
            return function(module.from_numpy(np.ascontiguousarray(x))).numpy()
    return np.asarray(array(function(x)), np.float32)
