"""Vectors into a Parquet or Arrow file, block by block, through pyarrow (the extra "arrow")."""
from __future__ import annotations

import importlib
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _folder, errors
from ._model import Floats

FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
Blocks = Iterable[Tuple[List[str], Optional[List[Any]], Floats]]


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError("encode_to: expected the package pyarrow, got none: pip install 'roformer-c[arrow]'") from e


def _writer(kind: str, file: str, schema: Any) -> Any:
    if kind == "parquet":
        return _pyarrow("pyarrow.parquet").ParquetWriter(file, schema)
    return _pyarrow("pyarrow").ipc.new_file(file, schema)


def write(path: _folder.PathLike, width: int, with_texts: bool, about: Dict[str, str], blocks: Callable[[], Blocks]) -> int:
    """Writes blocks of (texts, ids or None, vectors) as rows; returns their number. The file appears when it is whole."""
    name = os.fspath(path)
    kind = FORMATS.get(os.path.splitext(name)[1])
    if kind is None:
        raise errors.ArgumentError("path: expected a name that ends with one of %s, got %r" % (", ".join(FORMATS), name))
    pa = _pyarrow("pyarrow")
    writer, schema, rows = None, None, 0
    part = "%s.%d.part" % (name, os.getpid())
    try:
        open(part, "wb").close()
    except OSError as e:
        raise errors.FileError("%s: expected a folder that files can be written to: %s" % (name, e)) from e
    try:
        for columns in _columns(pa, width, with_texts, blocks()):
            if writer is None:
                schema = pa.schema([(n, c.type) for n, c in columns.items()], metadata=about)
                writer = _writer(kind, part, schema)
            batch = pa.record_batch(list(columns.values()), schema=schema)
            writer.write_batch(batch)
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
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), width)
        yield columns
        first = False
    if first:
        empty = {"text": pa.array([], type=pa.string())} if with_texts else {}
        yield {**empty, "embedding": pa.FixedSizeListArray.from_arrays(pa.array([], type=pa.float32()), width)}
