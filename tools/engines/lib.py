"""What the tests of engines share: texts with ids and NULLs, the vectors of one process, and how a worker is killed."""
from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import time

import numpy as np
import pyarrow as pa

from roformer_c import SentenceTransformer

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "models" / "roformer-small-en-sentences")
WORK = pathlib.Path(os.environ["WORK"])                 # an empty folder of this run


def table(n: int = 300) -> pa.Table:
    """Real sentences with ids that are not their order; every 17th is NULL, one is empty."""
    texts: "list[str | None]" = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for line in page.read_text(encoding="utf-8").split("\n"):
            if len(line.split()) > 5 and not line.startswith("|"):
                texts.append(line.strip())
    assert len(texts) >= n, len(texts)
    texts = [None if i % 17 == 5 else text for i, text in enumerate(texts[:n])]
    texts[3] = ""
    return pa.table({"id": pa.array([7919 * i % 100003 for i in range(n)], pa.int64()), "text": pa.array(texts, pa.string())})


def expected(rows: pa.Table, **arguments: object) -> "dict[int, np.ndarray | None]":
    """The vectors of one call in one process, by id."""
    model = SentenceTransformer(MODEL)
    return {row["id"]: None if row["text"] is None else model.encode(row["text"], **arguments) for row in rows.to_pylist()}


def compare(ids: "list[int]", vectors: "list[object]", wanted: "dict[int, np.ndarray | None]") -> None:
    """Raises unless each id is there once with the same bits, or with NULL."""
    assert sorted(ids) == sorted(wanted), "ids: expected %d, each once, got %d" % (len(wanted), len(ids))
    for name, vector in zip(ids, vectors):
        if wanted[name] is None:
            assert vector is None, "id %d: expected NULL, got a vector" % name
        else:
            assert vector is not None, "id %d: expected a vector, got NULL" % name
            assert np.array_equal(np.asarray(vector, np.float32), wanted[name]), "id %d: other bits" % name


def compare_table(found: pa.Table, wanted: "dict[int, np.ndarray | None]", fixed: bool = True) -> None:
    kind = found.schema.field("embedding").type
    assert pa.types.is_fixed_size_list(kind) == fixed, "embedding: type %s" % kind
    compare(found["id"].to_pylist(), found["embedding"].to_pylist(), wanted)


def die_once(batch: object = None, chance: float = 0.5) -> object:
    """Kills this process with SIGKILL at a random call, once in a run; the marker in WORK tells the test that it happened."""
    if random.SystemRandom().random() < chance:
        try:
            os.close(os.open(str(WORK / "killed"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return batch
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return batch


def was_killed() -> bool:
    return (WORK / "killed").exists()


def copy_model(name: str) -> str:
    to = WORK / name
    shutil.copytree(MODEL, to)
    return str(to)


def refused(call: "object", *parts: str) -> None:
    """Raises unless the call raises something whose text has all parts."""
    try:
        call()  # type: ignore[operator]
    except Exception as e:
        chain, text = e, ""
        while chain is not None:
            text, chain = text + str(chain), chain.__cause__ or chain.__context__
        missing = [part for part in parts if part not in text]
        assert not missing, "expected %r in the message, got: %s" % (missing, text[-2000:])
        return
    raise AssertionError("expected an error with %r, got none" % (parts,))
