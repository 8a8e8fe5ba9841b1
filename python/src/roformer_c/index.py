"""Index: exact search for the nearest vectors, in a folder that the program `roformer search` reads as well."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Iterable, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _texts, errors
from ._lib import Error, byref, check, context, error_of, free_with, lib, rows, struct
from .sentence import positive

ROWS = 4096             # vectors that are written at a time


def matrix(x: Any, name: str, width: Optional[int] = None) -> NDArray[np.float32]:
    """Vectors [n, D] as contiguous float32. Other types of numbers are converted."""
    try:
        a = np.asarray(x)
    except ValueError as e:
        raise errors.ArgumentError("%s: expected vectors of one length, got: %s" % (name, e)) from None
    if a.dtype.kind not in "fiu" or a.ndim not in (1, 2):
        raise errors.ArgumentError("%s: expected numbers [n, D] or [D], got %s of %d dimensions" % (name, a.dtype, a.ndim))
    if a.ndim == 1:
        a = a[None, :]
    if width is not None and a.shape[1] != width:
        raise errors.ArgumentError("%s: expected vectors of %d numbers, got %d" % (name, width, a.shape[1]))
    return np.ascontiguousarray(a, np.float32)


class Index:
    """Vectors of texts in a folder, and exact search by the cosine.

    Any thread may search at any time; searches of one object run one after the other.

    >>> import numpy, roformer_c, tempfile, os
    >>> folder = os.path.join(tempfile.mkdtemp(), "words.index")
    >>> index = roformer_c.Index.build(folder, numpy.eye(3), texts=["x", "y", "z"])
    >>> scores, ids = index.search(numpy.array([[0, 2, 1]]), 2)
    >>> ids.tolist(), [index.text(i) for i in ids[0]]
    ([[1, 2]], ['y', 'z'])
    """

    def __init__(self, folder: _folder.PathLike, *, threads: Optional[int] = None) -> None:
        """Opens an index. Raises FileError, DataError (not an index, damaged), UnsupportedError (another version)."""
        self.folder, self._threads = os.fspath(folder), threads
        self._context, self._process, self._lock = context(threads), os.getpid(), threading.Lock()
        out, why = ctypes.c_void_p(), Error()
        check(lib.rf_index_open(self._context.address, _folder.encoded(self.folder, "folder"), byref(out), byref(why)), why)
        self._address: Optional[int] = out.value
        self._close = free_with(self, lib.rf_index_close, out.value, self._context)
        made = struct(abi.rf_index_options, lib.rf_index_made_with(out.value))
        self.dimensions = int(made.dimensions)
        self.model_name: Optional[str] = made.model_name.decode() if made.model_name else None

    @classmethod
    def open(cls, folder: _folder.PathLike, *, threads: Optional[int] = None) -> "Index":
        """As Index(folder)."""
        return cls(folder, threads=threads)

    @classmethod
    def build(cls, folder: _folder.PathLike, vectors: Any, texts: Optional[Iterable[str]] = None, *,
              model_name: Optional[str] = None, threads: Optional[int] = None) -> "Index":
        """Writes an index of vectors [n, D] and opens it.

        folder    must not exist, or be empty; it is complete or does not exist
        vectors   an array [n, D], or an iterator of arrays [m, D] (SentenceTransformer.encode_stream), which is taken in
                  bounded memory. They are normalized to length 1; none may be 0 or infinite (NumericError)
        texts     n texts without line feeds (default: the numbers "0", "1", ...). A blank text is never found
        """
        parts = vectors if not isinstance(vectors, (np.ndarray, list, tuple)) else [vectors]
        ctx = context(threads)
        writer: Optional[int] = None
        width: Optional[int] = None                     # of the first vectors, and so of all
        if isinstance(texts, str):
            raise errors.TextTypeError("texts: expected an iterable of str, got str; put it in a list")
        rest = iter(_texts.listed(texts, "texts")) if texts is not None else None
        n = 0
        try:
            for part in parts:
                given = matrix(part, "vectors", width)
                if writer is None and given.size:
                    own = int(given.shape[1])
                    width, writer = own, _create(ctx, folder, own, model_name)
                for i in range(0, len(given), ROWS):
                    block = given[i:i + ROWS]
                    names = [str(n + k) for k in range(len(block))] if rest is None else _take(rest, len(block), n)
                    _add(writer, block, names, n)
                    n += len(block)
            if writer is None:
                raise errors.ArgumentError("vectors: expected one or more, got none")
            if rest is not None and next(rest, None) is not None:
                raise errors.ArgumentError("texts: expected %d, as many as vectors, got more" % n)
        except BaseException:
            lib.rf_index_discard(writer)
            raise
        why = Error()
        check(lib.rf_index_finish(writer, byref(why)), why)
        return cls(folder, threads=threads)

    def __len__(self) -> int:
        with self._lock:
            return int(lib.rf_index_count(self._open()))

    def __repr__(self) -> str:
        return "Index(%r, %d vectors of %d numbers)" % (self.folder, len(self), self.dimensions)

    def __reduce__(self) -> Any:
        return _reopen, (_folder.absolute(self.folder), self._threads)

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files. Garbage collection does so as well."""
        with self._lock:
            self._address = None
            self._close()

    def _open(self) -> int:
        if os.getpid() != self._process:
            raise errors.ProcessError("index %s: expected the process that opened it, %d, got its child %d; open the index "
                                      "in the child" % (self.folder, self._process, os.getpid()))
        if self._address is None:
            raise errors.ClosedError("index %s: expected an open index, got a closed one; open it again" % self.folder)
        return self._address

    def text(self, row: int) -> str:
        """The text with this number, from 0."""
        n = len(self)
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not 0 <= row < n:
            raise errors.ArgumentError("row: expected 0 to %d, got %r" % (n - 1, row))
        size = ctypes.c_size_t()
        with self._lock:                                # the text lies in the files, which `close` unmaps
            at = lib.rf_index_text(self._open(), int(row), byref(size))
            text = ctypes.string_at(at, size.value)
        return text.decode("utf-8", "replace")

    def search(self, queries: Any, k: int = 10) -> Tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The k vectors with the largest cosine for each query [n, D] or [D]: scores and rows, [n, k].

        Where the index has fewer than k, the rows are -1 and the scores -inf, as in faiss. Queries of length 0 are
        refused (NumericError)."""
        k = positive("k", k)
        q = matrix(queries, "queries", self.dimensions)
        length = np.linalg.norm(q, axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):             # the library names the query that is not finite
            q = np.divide(q, length, out=q.copy(), where=length > 0)
        scores = np.full((len(q), k), -np.inf, np.float32)
        ids = np.full((len(q), k), -1, np.int64)
        hit, hits, why = ctypes.c_void_p(), ctypes.c_int64(), Error()
        for i in range(len(q)):
            with self._lock:
                status = lib.rf_index_search(self._open(), q[i].ctypes.data, k, byref(hit), byref(hits), byref(why))
                if status:
                    error = error_of(status, why)
                    raise type(error)("queries: query %d: %s" % (i, error))
                found = rows(abi.rf_hit, hit.value, hits.value)
                for j in range(hits.value):
                    scores[i, j], ids[i, j] = found[j].score, found[j].row
        return scores, ids


def _create(ctx: Any, folder: _folder.PathLike, width: int, model_name: Optional[str]) -> int:
    o, why, out = abi.rf_index_options(), Error(), ctypes.c_void_p()
    lib.rf_index_options_init(byref(o), ctypes.sizeof(o))
    o.dimensions = width
    if not os.fspath(folder):
        raise errors.ArgumentError("folder: expected the name of a new folder, got %r" % (folder,))
    if model_name is not None:
        o.model_name = _texts.without_nul(model_name, "model_name")
    check(lib.rf_index_create(ctx.address, _folder.encoded(folder, "folder"), byref(o), byref(out), byref(why)), why)
    return out.value or 0


def _take(rest: Any, n: int, first: int) -> List[str]:
    names: List[str] = []
    for t in rest:
        names.append(t)
        if len(names) == n:
            return names
    raise errors.ArgumentError("texts: expected as many as vectors, got only %d" % (first + len(names)))


def _add(writer: Optional[int], vectors: NDArray[np.float32], names: Sequence[str], first: int) -> None:
    texts, bad, why = _texts.Block(names, "texts", first), ctypes.c_int64(-1), Error()
    status = lib.rf_index_add(writer, vectors.ctypes.data, texts.pointers, texts.sizes, len(vectors), byref(bad), byref(why))
    if status:
        error = error_of(status, why)
        raise type(error)("vectors, texts: number %d: %s" % (first + bad.value, error) if bad.value >= 0 else str(error))


def _reopen(folder: str, threads: Optional[int]) -> Index:
    return Index(folder, threads=threads)
