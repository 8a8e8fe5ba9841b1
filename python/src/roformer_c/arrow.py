"""Vectors into a Parquet or Arrow file, block by block, through pyarrow (the extra "arrow")."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _folder, errors
from ._model import Floats
from ._pyarrow import fixed_size_list, pyarrow
from .sentence import positive

if TYPE_CHECKING:
    from .workers import Embedder

FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
Blocks = Iterable[Tuple[List[str], Optional[List[Any]], Floats]]


def _writer(kind: str, file: str, schema: Any) -> Any:
    if kind == "parquet":
        return pyarrow("encode_to", "pyarrow.parquet").ParquetWriter(file, schema)
    return pyarrow("encode_to").ipc.new_file(file, schema)


def write(path: _folder.PathLike, width: int, with_texts: bool, about: Dict[str, str], blocks: Callable[[], Blocks]) -> int:
    """Writes blocks of (texts, ids or None, vectors) as rows; returns their number. The file appears when it is whole."""
    _kind(os.fspath(path))
    pa = pyarrow("encode_to")

    def batches() -> Iterator[Any]:
        for columns in _columns(pa, width, with_texts, blocks()):
            yield pa.record_batch(list(columns.values()), names=list(columns))
    return _write_whole(pa, os.fspath(path), about, batches)


def embed_file(source: _folder.PathLike, path: _folder.PathLike, embedder: "Embedder", *, batch_size: int = 4096) -> int:
    """Reads a Parquet file and writes all its columns and the vectors of one as another file; returns the number of rows.
    Memory is that of `batch_size` rows and of one row group as it is stored, however long the file is.

    source      a Parquet file
    path        a Parquet file (.parquet) or an Arrow file (.arrow, .feather). It appears when it is whole; a file of that
                name is replaced
    embedder    says the model, and the names of the columns with the texts and for the vectors
    batch_size  rows that are read at once; it changes no bit

    Raises ImportError (no pyarrow), FileError, DataError (not a Parquet file), ArgumentError (no such column), and what
    `encode` raises.

    >>> from roformer_c import arrow, workers
    >>> embedder = workers.Embedder("roformer-small-en-sentences", column="title")                  # doctest: +SKIP
    >>> arrow.embed_file("titles.parquet", "vectors.parquet", embedder)                             # doctest: +SKIP
    """
    _kind(os.fspath(path))
    positive("batch_size", batch_size)
    pa, name = pyarrow("embed_file"), os.fspath(source)
    try:
        file = pyarrow("embed_file", "pyarrow.parquet").ParquetFile(name)
    except pa.ArrowException as e:
        raise errors.DataError("%s: expected a Parquet file: %s" % (name, e)) from e
    except OSError as e:
        raise errors.FileError("%s: expected a Parquet file: %s" % (name, e)) from e

    def batches() -> Iterator[Any]:
        read = file.iter_batches(batch_size) if file.metadata.num_rows else [pa.RecordBatch.from_pylist([], file.schema_arrow)]
        return embedder.batches(read)
    about = {"model": embedder.folder, "similarity": embedder.model.similarity_fn_name}
    with file:
        return _write_whole(pa, os.fspath(path), about, batches)


def _kind(name: str) -> str:
    kind = FORMATS.get(os.path.splitext(name)[1])
    if kind is None:
        raise errors.ArgumentError("path: expected a name that ends with one of %s, got %r" % (", ".join(FORMATS), name))
    return kind


def _write_whole(pa: Any, name: str, about: Dict[str, str], batches: Callable[[], Iterator[Any]]) -> int:
    """Writes batches of rows, at least one, all of the first one's schema; the file appears when it is whole."""
    writer, schema, rows = None, None, 0
    part = "%s.%d.part" % (name, os.getpid())
    try:
        open(part, "wb").close()
    except OSError as e:
        raise errors.FileError("%s: expected a folder that files can be written to: %s" % (name, e)) from e
    try:
        for batch in batches():
            if writer is None:
                schema = batch.schema.with_metadata({**(batch.schema.metadata or {}), **about})
                writer = _writer(_kind(name), part, schema)
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
            rows += batch.num_rows
        if writer is not None:
            writer.close()
            writer = None
        os.replace(part, name)
    except pa.ArrowException as e:
        raise errors.DataError("%s: %s" % (name, e)) from e
    except OSError as e:
        raise e if isinstance(e, errors.RoformerError) else errors.FileError("%s: %s" % (name, e)) from e
    finally:
        if writer is not None:
            writer.close()
        if os.path.exists(part):
            os.unlink(part)
    return rows


def _columns(pa: Any, width: int, with_texts: bool, blocks: Blocks) -> Iterator[Dict[str, Any]]:
    """The columns of each block, at least once."""
    first = True
    id_type = None
    for texts, ids, vectors in blocks:
        columns: Dict[str, Any] = {}
        if ids is not None:
            columns["id"] = pa.array(ids, type=id_type)
            id_type = columns["id"].type
        if with_texts:
            columns["text"] = pa.array(texts, type=pa.string())
        columns["embedding"] = fixed_size_list(pa, vectors, width, range(len(vectors)), len(vectors))
        yield columns
        first = False
    if first:
        empty = {"text": pa.array([], type=pa.string())} if with_texts else {}
        yield {**empty, "embedding": pa.array([], pa.list_(pa.float32(), width))}
