"""Texts from Python to the library: UTF-8, with sizes, and clear errors for what is not a text."""
from __future__ import annotations

import ctypes
import itertools
from typing import Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import errors

Texts = Union[str, Iterable[str]]


def bad_text(text: Any, where: str) -> errors.RoformerError:
    """The exception for something that is not a text that UTF-8 can hold."""
    if not isinstance(text, str):
        advice = "; decode it first, for example with .decode()" if isinstance(text, (bytes, bytearray)) else ""
        return errors.TextTypeError("%s: expected str, got %s%s" % (where, type(text).__name__, advice))
    for i, c in enumerate(text):
        if 0xD800 <= ord(c) <= 0xDFFF:
            return errors.DataError("%s: expected a text that UTF-8 can hold, got the lone surrogate U+%04X at character "
                                    "%d; read the file with errors=\"strict\"" % (where, ord(c), i))
    return errors.DataError("%s: expected a text that UTF-8 can hold" % where)


def encode_one(text: Any, where: str) -> bytes:
    """A text as UTF-8."""
    try:
        return str.encode(text)
    except (TypeError, UnicodeEncodeError):
        raise bad_text(text, where) from None


def without_nul(text: Any, where: str) -> bytes:
    """A text as UTF-8 for a function of the library that ends its texts with NUL."""
    out = encode_one(text, where)
    if b"\0" in out:
        raise errors.ArgumentError("%s: expected a text without U+0000, got %r" % (where, text))
    return out


class Block:
    """Texts as arrays of pointers and sizes. The arrays are valid as long as the block."""

    __slots__ = ("n", "pointers", "sizes", "_keep")

    def __init__(self, texts: Sequence[str], where: str = "texts", first: int = 0) -> None:
        try:
            encoded = [str.encode(t) for t in texts]
        except (TypeError, UnicodeEncodeError):
            encoded = [encode_one(plain(t), "%s: text %d" % (where, first + i)) for i, t in enumerate(texts)]
        n = self.n = len(encoded)
        self._keep = encoded
        self.pointers = (ctypes.c_char_p * n)(*encoded)
        self.sizes = (ctypes.c_size_t * n)(*map(len, encoded))


def given(inputs: Any, sentences: Any) -> Any:
    """The argument `inputs`, which sentence-transformers below 6 called `sentences`."""
    if (inputs is None) == (sentences is None):
        raise errors.TextTypeError("inputs: expected texts, got %s" % ("NoneType" if inputs is None else "sentences as well"))
    return sentences if inputs is None else inputs


def plain(text: Any) -> Any:
    """The str of a scalar of pyarrow; anything else as it is."""
    return text.as_py() if hasattr(text, "as_py") else text


def is_one(texts: Any) -> bool:
    """Whether this is a single text."""
    return isinstance(texts, str) or hasattr(texts, "as_py") and isinstance(texts.as_py(), str)


def without_rows(texts: Any) -> bool:
    """Whether iteration does not give rows in order: it gives the keys of a mapping, the columns of a data frame (pandas,
    polars, pyarrow), the members of a set in any order."""
    return isinstance(texts, (Mapping, set, frozenset)) or hasattr(texts, "columns")


def listed(texts: Any, where: str) -> Iterable[Any]:
    """An iterable of texts; raises for what is not one."""
    if isinstance(texts, np.ndarray):
        if texts.ndim != 1:
            raise errors.ArgumentError("%s: expected an array of one dimension, got %d" % (where, texts.ndim))
        if texts.dtype.kind not in "UOT" and texts.size:            # T: StringDType of NumPy 2
            raise errors.TextTypeError("%s: expected an array of strings, got one of %s" % (where, texts.dtype))
        return texts.tolist()  # type: ignore[no-any-return]
    if isinstance(texts, (bytes, bytearray)) or not hasattr(texts, "__iter__") or without_rows(texts):
        advice = ""
        if hasattr(texts, "columns"):
            advice = "; give one column of it"
        elif isinstance(texts, (set, frozenset)):
            advice = ", which has no order; give a list"
        raise errors.TextTypeError("%s: expected str or an iterable of str, got %s%s"
                                   % (where, type(texts).__name__, advice))
    if hasattr(texts, "to_pylist"):                                 # an array of pyarrow
        return texts.to_pylist()  # type: ignore[no-any-return]
    return texts  # type: ignore[no-any-return]


CHARACTERS = 1 << 20        # of a block: tokenizing it takes about 0.1 seconds, during which Ctrl-C waits


def _lengths(block: List[Any]) -> List[int]:
    """The characters of texts or pairs; 0 for anything else."""
    try:
        if isinstance(block[0], str):
            return list(map(len, block))
        return [sum(map(len, pair)) for pair in block]
    except TypeError:
        return [len(x) if isinstance(x, str) else 0 for x in block]


def blocks(texts: Iterable[Any], size: int) -> Iterator[List[Any]]:
    """Lists of at most `size` texts and of CHARACTERS, or of one longer text, in order; the texts of an iterator are taken
    as they are needed."""
    it = iter(texts)
    while True:
        block = list(itertools.islice(it, size))
        if not block:
            return
        lengths = _lengths(block)
        if sum(lengths) <= CHARACTERS:
            yield block
            continue
        begin = total = 0
        for i, length in enumerate(lengths):
            if i > begin and total + length > CHARACTERS:
                yield block[begin:i]
                begin, total = i, 0
            total += length
        yield block[begin:]


def count(texts: Any) -> Optional[int]:
    """How many texts there are, if that is known without taking them."""
    try:
        return len(texts)
    except TypeError:
        return None


def pairs_of(pairs: Any, where: str) -> Tuple[List[Any], List[Any]]:
    """Two lists from a list of pairs."""
    first: List[Any] = []
    second: List[Any] = []
    for i, p in enumerate(pairs):
        if isinstance(p, np.ndarray):
            p = p.tolist()
        if not isinstance(p, (list, tuple)) or len(p) != 2:
            raise errors.ArgumentError("%s: pair %d: expected two texts, got %r" % (where, i, p))
        first.append(p[0])
        second.append(p[1])
    return first, second
