"""Embedder: what a worker of Spark, Ray, Dask, DuckDB or Polars needs to compute vectors, as one picklable object."""
from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, Dict, Iterable, Iterator, List, NoReturn, Optional, Tuple

from . import _folder, errors
from ._pyarrow import fixed_size_list, pyarrow
from .sentence import SentenceTransformer

ARGUMENTS = ("prompt_name", "prompt", "normalize_embeddings", "truncate_dim")
Files = Tuple[Tuple[str, str], ...]                 # (path inside the folder, digest of the content), by path
Stamp = Tuple[int, int, int]                        # size, time of the last change, inode: a file replaced has another
Stamps = Tuple[Tuple[str, Stamp], ...]              # (path inside the folder, its stamp), by path

# The models of this process, which stay open until it ends, with the stamps of the files that they were read from.
_opened: Dict[Any, Tuple[Stamps, SentenceTransformer]] = {}
_digests: Dict[str, Tuple[Stamp, str]] = {}         # by absolute path
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()                        # a thread of the parent may have held the other one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def stamps(folder: _folder.PathLike) -> Stamps:
    """The files of a model folder with their stamps; hidden files are left out. FileError if a folder in it cannot be read."""
    found: List[Tuple[str, Stamp]] = []
    for base, folders, names in os.walk(folder, onerror=_unreadable, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (os.path.join(base, name) for name in names if not name.startswith(".")):
            if os.path.isfile(path):
                found.append((os.path.relpath(path, folder).replace(os.sep, "/"), _stamp(path)))
    return tuple(sorted(found))


def _stamp(path: str) -> Stamp:
    try:
        about = os.stat(path)
    except OSError as e:
        _unreadable(e)
    return about.st_size, about.st_mtime_ns, about.st_ino


def _unreadable(e: OSError) -> NoReturn:
    raise errors.FileError("%s: expected a file or folder that can be read: %s" % (e.filename, e)) from e


def fingerprint(folder: _folder.PathLike) -> Files:
    """The files of `stamps` with the BLAKE2b of their content. Reads the files whose stamps differ from the last time."""
    return tuple((name, _digest(os.path.join(_folder.absolute(os.fspath(folder)), name), stamp)) for name, stamp in stamps(folder))


def _digest(path: str, stamp: Stamp) -> str:
    known = _digests.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    state = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                state.update(block)
    except OSError as e:
        _unreadable(e)
    _digests[path] = (stamp, state.hexdigest())
    return state.hexdigest()


def same_files(folder: str, expected: Files) -> None:
    """Raises DataError with the name of the first file that is not as where the Embedder was made."""
    here, there = dict(fingerprint(folder)), dict(expected)
    for name in sorted({**here, **there}):
        if here.get(name) != there.get(name):
            raise errors.DataError("%s: file %s: expected the content that the driver has (%s), got %s; copy the driver's "
                                   "model folder to every machine" % (folder, name, there.get(name, "no such file"),
                                                                      here.get(name, "no such file")))


class Embedder:
    """Computes the vectors of a column of texts. It is made on the driver and pickled to workers, where the model is
    opened once per process and stays open.

    folder     a model folder or name, as of SentenceTransformer; a folder must be at the same path on every machine
    column     the column with the texts, of strings; NULL in it gives NULL
    output     the name of the new column
    threads    that one call computes with, in each process; None: those of `set_num_threads`. It changes no bit
    dtype      as of SentenceTransformer
    arguments  of `encode`: prompt_name, prompt, normalize_embeddings, truncate_dim

    It notes a digest of every file of the folder when it is made. A process that opens the model compares them, and
    raises DataError with the file's name if one differs: vectors of two models are never mixed in silence.

    Raises what SentenceTransformer and `encode` raise, on the driver. Any thread may call any method.
    """

    def __init__(self, folder: _folder.PathLike, *, column: str = "text", output: str = "embedding",
                 threads: Optional[int] = None, dtype: str = "float32", **arguments: Any) -> None:
        for name in arguments:
            if name not in ARGUMENTS:
                raise errors.ArgumentError("%s: expected one of %s, got an unknown argument" % (name, ", ".join(ARGUMENTS)))
        if column == output:
            raise errors.ArgumentError("output: expected another name than that of the texts, got %r" % (output,))
        self.folder = _folder.absolute(_folder.find(folder))
        self.column, self.output, self.threads, self.dtype, self.arguments = column, output, threads, dtype, arguments
        self._files = fingerprint(self.folder)      # now: engines pickle it when the work starts, perhaps much later
        self._held: Optional[Tuple[int, SentenceTransformer]] = None            # the process, and its model
        self.width = int(self.model.encode([], **arguments).shape[1])           # checks the arguments, too

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_held": None}     # a model belongs to its process

    @property
    def model(self) -> SentenceTransformer:
        """The model of this process; the first call opens it, or finds it if another Embedder has opened the same files."""
        held = self._held
        if held is None or held[0] != os.getpid():
            with _lock:
                held = self._held = (os.getpid(), self._open())
        return held[1]

    def _open(self) -> SentenceTransformer:
        key, now = (os.getpid(), self.folder, self.dtype, self.threads), stamps(self.folder)
        same_files(self.folder, self._files)
        if key not in _opened or _opened[key][0] != now:
            _opened[key] = (now, SentenceTransformer(self.folder, dtype=self.dtype, threads=self.threads))
            if stamps(self.folder) != now:
                del _opened[key]
                raise errors.DataError("%s: expected files that stay as they are, got a change while the model was opened; "
                                       "run it again" % self.folder)
        return _opened[key][1]

    def vectors(self, texts: Any) -> Any:
        """The vectors of an Arrow array of strings as an array of FixedSizeList<float32>[width] with its NULLs."""
        pa = pyarrow("Embedder")
        listed = self._checked(pa, texts).to_pylist()
        present = [i for i, text in enumerate(listed) if text is not None]
        found = self.model.encode([listed[i] for i in present], **self.arguments)
        return fixed_size_list(pa, found, self.width, present, len(listed))

    def _checked(self, pa: Any, texts: Any) -> Any:
        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        view = getattr(pa.types, "is_string_view", lambda kind: False)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or view(kind) or pa.types.is_null(kind)):
            raise errors.TextTypeError("column %s: expected strings, got %s; cast the column first" % (self.column, texts.type))
        return texts

    def new_column(self, names: Iterable[str]) -> None:
        """Raises ArgumentError unless `column` is one of the names, once, and `output` is none."""
        names = list(names)
        if names.count(self.column) != 1:
            raise errors.ArgumentError("column: expected one of %s, got %r, the name of %d columns; give the name of one as "
                                       "column=" % (", ".join(map(str, names)), self.column, names.count(self.column)))
        if self.output in names:
            raise errors.ArgumentError("output: expected the name of no column, got %r; give another output=" % (self.output,))

    def add(self, batch: Any) -> Any:
        """A RecordBatch or Table of Arrow with the column `output` after all others."""
        pa = pyarrow("Embedder")
        self.new_column(batch.schema.names)
        column = self.vectors(batch.column(batch.schema.get_field_index(self.column)))
        schema = batch.schema.append(pa.field(self.output, column.type))
        return type(batch).from_arrays([*batch.columns, column], schema=schema)

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """`add` of each batch."""
        return map(self.add, batches)

    def frame(self, frame: Any) -> Any:
        """A DataFrame of pandas with the column `output` of Arrow's type, after all others."""
        import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]
        pa = pyarrow("Embedder")
        self.new_column(frame.columns)
        texts = frame[self.column]
        if not len(texts):
            column = pa.array([], pa.list_(pa.float32(), self.width))
        else:
            try:
                column = self.vectors(pa.array(texts, from_pandas=True))
            except pa.ArrowException as e:
                raise errors.TextTypeError("column %s: expected strings: %s" % (self.column, e)) from e
        return frame.assign(**{self.output: pd.Series(pd.arrays.ArrowExtensionArray(column), index=frame.index)})
