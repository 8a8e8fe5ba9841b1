"""Linear attention on NumPy arrays, forward and backward, by the kernels of the library."""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np

from . import _abi as abi
from . import errors
from ._lib import Error, byref, check, context, interruptible, lib
from .rope import Array, Table, floats_of, positions_of
from .sentence import one_of

MAPS = ("favor", "elu", "shen", "relu", "exp", "squared_relu")
PROJECTED = ("favor", "relu")


class _Work:
    """rf_attention_work, freed at the end of a with statement."""

    def __init__(self) -> None:
        out, why = ctypes.c_void_p(), Error()
        self.context = context()
        check(lib.rf_attention_work_new(self.context.address, byref(out), byref(why)), why)
        self.address = out.value

    def __enter__(self) -> "_Work":
        return self

    def __exit__(self, *unused: Any) -> None:
        lib.rf_attention_work_free(self.address)


class _Problem:
    """The operands of a call as the library takes them: sequences one after the other, one head."""

    def __init__(self, q: Any, k: Any, v: Any, feature_map: str, causal: bool, random: Any, epsilon: Optional[float],
                 rotate_features: bool, positions: Any, base: float, layout: str) -> None:
        a, b, c = floats_of(q, "q", 2), floats_of(k, "k", 2), floats_of(v, "v", 2)
        if a.shape != b.shape or a.shape != c.shape or not a.shape[-1]:
            raise errors.ArgumentError("q, k, v: expected three arrays of one shape [..., T, D], got %r, %r and %r"
                                       % (a.shape, b.shape, c.shape))
        self.map = one_of("feature_map", feature_map, MAPS)
        self.random = self._random(random, a.shape[-1])
        self.shape, (self.T, self.D) = a.shape, a.shape[-2:]
        self.B = a.size // max(self.T * self.D, 1)
        self.qkv = np.ascontiguousarray(np.concatenate([x.reshape(-1, self.D) for x in (a, b, c)], axis=1))
        self.start = np.arange(self.B + 1, dtype=np.int32) * np.int32(self.T)
        self.row = np.tile(np.arange(self.T, dtype=np.int32), self.B)
        self.causal, self.epsilon, self.rotate = int(causal), -1.0 if epsilon is None else float(epsilon), rotate_features
        self.positions, self.base, self.layout = positions_of(positions, self.T), base, layout
        if not rotate_features and positions is not None:
            raise errors.ArgumentError("positions: expected None without rotate_features, got an array; rotate q and k with "
                                       "rope.rotate instead")

    def _random(self, random: Any, D: int) -> Optional[Array]:
        if self.map not in PROJECTED:
            if random is not None:
                raise errors.ArgumentError("random: expected None for the map %s, got an array" % self.map)
            return None
        if random is None:
            raise errors.ArgumentError("random: expected the random features [features, D] of the map %s, got None" % self.map)
        w = floats_of(random, "random", 2)
        if w.ndim != 2 or w.shape[1] != D or not w.shape[0]:
            raise errors.ArgumentError("random: expected shape (features, %d), got %r" % (D, w.shape))
        return w

    def run(self, weight: Optional[Array]) -> Array:
        """The result [N, D]; with `weight`, d result, the gradient of qkv [N, 3D]."""
        N, grad = self.B * self.T, np.zeros_like(self.qkv)
        if not N:
            return np.zeros((0, self.D), np.float32) if weight is None else grad
        features = self.D if self.random is None else self.random.shape[0]
        with _Work() as work, Table(features, self.base, self.layout, self.positions, self.rotate) as rope:
            spec = abi.rf_linear_attention_spec()
            spec.heads, spec.B, spec.start, spec.causal = 1, self.B, self.start.ctypes.data, self.causal
            spec.rope, spec.row = rope.address, self.row.ctypes.data if self.rotate else None
            spec.rotate_features = int(self.rotate)
            spec.feature_map, spec.features, spec.epsilon = self.map.encode(), features, self.epsilon
            spec.random = None if self.random is None else self.random.ctypes.data
            qkv, C, out, why = self.qkv.ctypes.data, self.D, ctypes.c_void_p(), Error()
            if weight is None:
                check(lib.rf_attend_linear(work.address, byref(spec), qkv, N, C, byref(out), byref(why)), why)
                flat = np.frombuffer(memoryview((ctypes.c_float * (N * C)).from_address(out.value or 0)), np.float32)
                return flat.reshape(N, C).copy()
            check(lib.rf_attend_linear_back(work.address, byref(spec), qkv, N, C, weight.ctypes.data, grad.ctypes.data,
                                            byref(why)), why)
            return grad


@interruptible
def linear_attention(q: Any, k: Any, v: Any, *, feature_map: str = "elu", causal: bool = False, random: Any = None,
                     epsilon: Optional[float] = None, rotate_features: bool = False, positions: Any = None,
                     base: float = 10000.0, layout: str = "pairs") -> Array:
    """sum_n phi(q_m) psi(k_n) v_n / sum_n phi(q_m) psi(k_n) for float32 arrays q, k and v [..., T, D], in time linear in T.

    feature_map      "elu", "shen", "exp", "squared_relu"; "favor" and "relu" with random features
    causal           True: n runs up to m
    random           [features, D], the random features of "favor" and "relu"
    epsilon          added to the features of "favor", "relu" and "squared_relu"; None: 1e-4, 1e-3 and 0
    rotate_features  True: the features in the numerator are rotated by their positions (RoFormer, Eq. 19)
    positions, base, layout    of that rotation, as for rope.rotate

    >>> import numpy
    >>> from roformer_c import linear_attention
    >>> x = numpy.eye(3, dtype=numpy.float32)
    >>> linear_attention(x, x, x, causal=True).round(2).tolist()
    [[1.0, 0.0, 0.0], [0.44999998807907104, 0.550000011920929, 0.0], [0.3100000023841858, 0.3100000023841858, 0.3799999952316284]]
    """
    p = _Problem(q, k, v, feature_map, causal, random, epsilon, rotate_features, positions, base, layout)
    return p.run(None).reshape(p.shape)


@interruptible
def linear_attention_backward(d_out: Any, q: Any, k: Any, v: Any, *, feature_map: str = "elu", causal: bool = False,
                              random: Any = None, epsilon: Optional[float] = None, rotate_features: bool = False,
                              positions: Any = None, base: float = 10000.0,
                              layout: str = "pairs") -> Tuple[Array, Array, Array]:
    """The gradients of q, k and v from that of the result of `linear_attention` with the same arguments."""
    p = _Problem(q, k, v, feature_map, causal, random, epsilon, rotate_features, positions, base, layout)
    d = floats_of(d_out, "d_out", 2)
    if d.shape != p.shape:
        raise errors.ArgumentError("d_out: expected shape %r, got %r" % (p.shape, d.shape))
    dq, dk, dv = np.split(p.run(d), 3, axis=1)
    return dq.reshape(p.shape), dk.reshape(p.shape), dv.reshape(p.shape)
