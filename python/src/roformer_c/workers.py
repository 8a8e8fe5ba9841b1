"""Embedder: what a worker of Spark, Ray, Dask, DuckDB or Polars needs to compute vectors, as one picklable object."""
from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _folder, errors
from ._pyarrow import fixed_size_list, pyarrow
from .sentence import SentenceTransformer

ARGUMENTS = ("prompt_name", "prompt", "normalize_embeddings", "truncate_dim")
Files = Tuple[Tuple[str, str], ...]                 # (path inside the folder, digest of the content), by path

_opened: Dict[Any, SentenceTransformer] = {}        # the models of this process, which stay open until it ends
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()                        # a thread of the parent may have held the other one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def fingerprint(folder: _folder.PathLike) -> Files:
    """The files of a model folder with the BLAKE2b of their content; hidden files are left out. Reads the whole folder."""
    found: List[Tuple[str, str]] = []
    for base, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(base, name)
            if not name.startswith(".") and os.path.isfile(path):
                found.append((os.path.relpath(path, folder).replace(os.sep, "/"), _digest(path)))
    return tuple(sorted(found))


def _digest(path: str) -> str:
    state = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                state.update(block)
    except OSError as e:
        raise errors.FileError("%s: expected a file that can be read: %s" % (path, e)) from e
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
        self.width = int(self.model.encode([], **arguments).shape[1])           # checks the arguments, too

    @property
    def model(self) -> SentenceTransformer:
        """The model of this process; the first call opens it."""
        key = (os.getpid(), self.folder, self.dtype, self.threads, self._files)
        with _lock:
            if key not in _opened:
                same_files(self.folder, self._files)
                _opened[key] = SentenceTransformer(self.folder, dtype=self.dtype, threads=self.threads)
            return _opened[key]

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
        """Raises ArgumentError unless `column` is one of the names and `output` is none."""
        names = list(names)
        if self.column not in names:
            raise errors.ArgumentError("column: expected one of %s, got %r" % (", ".join(map(str, names)), self.column))
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
