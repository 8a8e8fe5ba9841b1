"""Rotary position embedding and attention on NumPy arrays, by the kernels of the library."""
from __future__ import annotations

import ctypes
import json
import math
from typing import Any, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import errors
from ._lib import Context, Error, byref, check, context, interruptible, lib
from .sentence import one_of

Array = NDArray[np.float32]
LAYOUTS = {"pairs": abi.RF_ROPE_PAIRS, "halves": abi.RF_ROPE_HALVES}
SCALING = ("rope_type", "type", "factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim",
           "low_freq_factor", "high_freq_factor", "short_factor", "long_factor", "original_max_position_embeddings",
           "final_length", "truncate", "max_position_embeddings")


def floats_of(x: Any, name: str, dimensions: int) -> Array:
    a = np.asarray(x)
    if a.dtype != np.float32:
        raise errors.ArgumentError("%s: expected float32, got %s; convert it with .astype(numpy.float32)" % (name, a.dtype))
    if a.ndim < dimensions:
        raise errors.ArgumentError("%s: expected %d dimensions or more, got %d" % (name, dimensions, a.ndim))
    return np.ascontiguousarray(a)


def positions_of(positions: Any, n: int) -> NDArray[np.int32]:
    if positions is None:
        return np.arange(n, dtype=np.int32)
    a = np.asarray(positions)
    if a.dtype.kind not in "iu" or a.shape != (n,):
        raise errors.ArgumentError("positions: expected %d integers, got %s of shape %r" % (n, a.dtype, a.shape))
    if a.size and (a.min() < -(1 << 31) or a.max() >= 1 << 31):
        raise errors.ArgumentError("positions: expected 32-bit integers, got %d to %d" % (a.min(), a.max()))
    return np.ascontiguousarray(a, np.int32)


class Table:
    """A table of the library's rotations, one row for each position, freed at the end of a with statement.

    scaling    None, or the keys of rope_scaling: a config.json with them is read as that of a model
    length     tokens of the text, for scalings that depend on it
    used       False: there is no table
    """

    def __init__(self, rotary: int, base: float, layout: str, positions: NDArray[np.int32], used: bool = True,
                 scaling: Optional[Mapping[str, Any]] = None, length: int = 0) -> None:
        self.address: Optional[int] = None
        place = LAYOUTS[one_of("layout", layout, tuple(LAYOUTS))]
        out, why = ctypes.c_void_p(), Error()
        # What a config's lists need stays in its context, which is one for this table alone.
        self.context = context() if scaling is None else Context(1, None)
        if not used:
            return
        if scaling is None:
            spec = abi.rf_rope_spec(rotary, float(base), place)
            check(lib.rf_rope_at(self.context.address, byref(spec), positions.ctypes.data, len(positions), byref(out),
                                 byref(why)), why)
        else:
            config = _config(self.context, rotary, base, scaling)
            check(lib.rf_rope_scaled(self.context.address, byref(config), 0, length, place, positions.ctypes.data,
                                     len(positions), byref(out), byref(why)), why)
        self.address = out.value

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *unused: Any) -> None:
        lib.rf_rope_free(self.address)


def _config(ctx: Context, rotary: int, base: float, scaling: Mapping[str, Any]) -> Any:
    """The config of a model with heads of `rotary` columns and this rope_scaling."""
    if not isinstance(scaling, Mapping):
        raise errors.ArgumentError("scaling: expected a dict with the keys of rope_scaling, got %r" % (scaling,))
    unknown = [key for key in scaling if key not in SCALING]
    if unknown:
        raise errors.ArgumentError("scaling: expected the keys %s, got %r" % (", ".join(SCALING), unknown[0]))
    inner = {key: value for key, value in scaling.items() if key != "max_position_embeddings"}
    outer = {"hidden_size": rotary, "num_attention_heads": 1, "num_hidden_layers": 1, "rope_theta": float(base),
             "rope_scaling": inner}
    if "max_position_embeddings" in scaling:
        outer["max_position_embeddings"] = scaling["max_position_embeddings"]
    try:
        text = json.dumps(outer, allow_nan=False).encode()
    except (TypeError, ValueError) as e:
        raise errors.ArgumentError("scaling: expected numbers, texts and lists of numbers, got %r" % (dict(scaling),)) from e
    config, why = abi.rf_config(), Error()
    check(lib.rf_config_parse_sized(ctx.address, text, len(text), b"scaling", byref(config), ctypes.sizeof(config),
                                    byref(why)), why)
    return config


@interruptible
def rotate(x: Any, positions: Any = None, *, base: float = 10000.0, layout: str = "pairs", rotary: Optional[int] = None,
           inverse: bool = False, scaling: Optional[Mapping[str, Any]] = None, length: int = 0) -> Array:
    """Rotates x [..., T, D] by its positions: R(m) x for the row with position m.

    positions   [T] integers; None: 0, 1, ...
    base        of the frequencies base^(-2i/rotary)
    layout      "pairs": the planes are (x0, x1), (x2, x3), ... (RoFormer); "halves": (x0, x[rotary/2]), ... (GPT-NeoX)
    rotary      columns that are rotated, an even number; None: all
    inverse     True: rotate back. The gradient of x is the inverse rotation of the gradient of the result; with a gain
                (attention_factor), which is multiplied in both directions, this is the gradient, and not the inverse
    scaling     rope_scaling of a config.json, with its rope_type: "linear", "ntk", "dynamic", "yarn", "longrope" or
                "llama3". max_position_embeddings, which some of these need, is a key here
    length      tokens of the text, for "dynamic" and "longrope"; 0: no more than the trained length

    >>> import numpy
    >>> from roformer_c import rope
    >>> rope.rotate(numpy.array([[1, 0], [1, 0]], numpy.float32)).round(3).tolist()
    [[1.0, 0.0], [0.5400000214576721, 0.8410000205039978]]
    """
    a = floats_of(x, "x", 2)
    T, D = a.shape[-2:]
    row = positions_of(positions, T)
    out = np.empty_like(a)
    if not a.size:
        return out
    heads = a.size // (T * D)
    with Table(D if rotary is None else int(rotary), base, layout, row, True, scaling, int(length)) as table:
        why = Error()
        tokens = np.tile(np.arange(T, dtype=np.int32), heads)
        check(lib.rf_rope_rotate(table.context.address, table.address, out.ctypes.data, a.ctypes.data,
                                 tokens.ctypes.data, heads * T, 1, D, -1 if inverse else 1, byref(why)), why)
    return out


def _problem(q: Array, k: Array, v: Array, scale: Optional[float], causal: bool) -> Any:
    p = abi.rfk_attention()
    p.queries, p.keys, p.width = q.shape[-2], k.shape[-2], q.shape[-1]
    p.q_stride = p.k_stride = p.v_stride = p.out_stride = q.shape[-1]
    p.scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    if not isinstance(causal, (bool, np.bool_)):
        raise errors.ArgumentError("causal: expected True or False, got %r" % (causal,))
    p.causal = int(causal)
    return p


def _operands(q: Any, k: Any, v: Any) -> Tuple[Array, Array, Array]:
    a, b, c = floats_of(q, "q", 2), floats_of(k, "k", 2), floats_of(v, "v", 2)
    if b.shape != c.shape or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-1] or not a.shape[-1]:
        raise errors.ArgumentError("q, k, v: expected [..., N, D], [..., M, D] and [..., M, D], got %r, %r and %r"
                                   % (a.shape, b.shape, c.shape))
    return a, b, c


@interruptible
def attention(q: Any, k: Any, v: Any, *, causal: bool = False, scale: Optional[float] = None,
              with_lse: bool = False) -> Any:
    """softmax(scale q k^T) v for float32 arrays q [..., N, D], k and v [..., M, D], in memory linear in M.

    scale      None: 1 / sqrt(D)
    causal     True: query t attends to the keys up to t + M - N
    with_lse   True: also returns the log-sum-exp of the scores [..., N], which `attention_backward` takes
    """
    a, b, c = _operands(q, k, v)
    out, lse = np.zeros_like(a), np.zeros(a.shape[:-1], np.float32)
    ctx, p, why = context(), _problem(a, b, c, scale, causal), Error()
    for at in np.ndindex(a.shape[:-2]):
        p.q, p.k, p.v = a[at].ctypes.data, b[at].ctypes.data, c[at].ctypes.data
        p.out, p.lse = out[at].ctypes.data, lse[at].ctypes.data
        check(lib.rf_attend(ctx.address, abi.RF_F32, byref(p), None, byref(why)), why)
    return (out, lse) if with_lse else out


@interruptible
def attention_backward(d_out: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, *, causal: bool = False,
                       scale: Optional[float] = None) -> Tuple[Array, Array, Array]:
    """The gradients of q, k and v from that of the result of `attention`, its result and its log-sum-exp."""
    a, b, c = _operands(q, k, v)
    d, o, s = floats_of(d_out, "d_out", 2), floats_of(out, "out", 2), floats_of(lse, "lse", 1)
    if d.shape != a.shape or o.shape != a.shape or s.shape != a.shape[:-1]:
        raise errors.ArgumentError("d_out, out, lse: expected %r, %r and %r, got %r, %r and %r"
                                   % (a.shape, a.shape, a.shape[:-1], d.shape, o.shape, s.shape))
    da, db, dc = np.zeros_like(a), np.zeros_like(b), np.zeros_like(c)
    ctx, p, g, why = context(), _problem(a, b, c, scale, causal), abi.rfk_attention_grad(), Error()
    g.d_out_stride = g.dq_stride = g.dk_stride = g.dv_stride = a.shape[-1]
    for at in np.ndindex(a.shape[:-2]):
        p.q, p.k, p.v = a[at].ctypes.data, b[at].ctypes.data, c[at].ctypes.data
        p.out, p.lse = o[at].ctypes.data, s[at].ctypes.data
        g.d_out, g.dq, g.dk, g.dv = d[at].ctypes.data, da[at].ctypes.data, db[at].ctypes.data, dc[at].ctypes.data
        check(lib.rf_attend_back(ctx.address, abi.RF_F32, byref(p), byref(g), None, byref(why)), why)
    return da, db, dc
