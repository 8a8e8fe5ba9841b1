"""Tokenizer: text to ids and back, with the names of Hugging Face's tokenizers."""
from __future__ import annotations

import ctypes
import operator
import os
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _texts, errors
from ._lib import Error, byref, check, context, free_with, interruptible, lib
from ._model import Encoded, encode_texts

LONG = 100000               # ids whose text takes so long that Ctrl-C should not wait for it


class Encoding:
    """The tokens of a text or a pair: `ids`, `type_ids`, `tokens`, `offsets`, `special_tokens_mask`, as in tokenizers."""

    __slots__ = ("_batch", "_i", "_a", "_b")

    def __init__(self, batch: "Encodings", i: int) -> None:
        self._batch, self._i = batch, i
        self._a, self._b = int(batch.encoded.start[i]), int(batch.encoded.start[i + 1])

    def __len__(self) -> int:
        return self._b - self._a

    def __repr__(self) -> str:
        return "Encoding(num_tokens=%d)" % len(self)

    @property
    def ids(self) -> List[int]:
        """The tokens' ids."""
        return self._batch.encoded.ids[self._a:self._b].tolist()  # type: ignore[no-any-return]

    @property
    def type_ids(self) -> List[int]:
        """0 for the first text, 1 for the second."""
        return self._batch.encoded.types[self._a:self._b].tolist()  # type: ignore[no-any-return]

    @property
    def tokens(self) -> List[str]:
        """The tokens as in the vocabulary."""
        return [self._batch.tokenizer.id_to_token(i) or "" for i in self.ids]

    @property
    def offsets(self) -> List[Tuple[int, int]]:
        """For each token the characters [begin, end) of its text; (0, 0) for added tokens."""
        begin, end = self._batch.characters()
        return list(zip(begin[self._a:self._b].tolist(), end[self._a:self._b].tolist()))

    @property
    def special_tokens_mask(self) -> List[int]:
        """1 for tokens that were added ([CLS], [SEP])."""
        return self._batch.encoded.added[self._a:self._b].tolist()  # type: ignore[no-any-return]

    @property
    def attention_mask(self) -> List[int]:
        """1 for each token: there is no padding."""
        return [1] * len(self)


class Encodings(Sequence[Encoding]):
    """Encodings of many texts. `encoded` has the tokens of all as arrays; `characters()` their offsets."""

    def __init__(self, tokenizer: "Tokenizer", texts: List[str], pairs: Optional[List[str]], encoded: Encoded) -> None:
        self.tokenizer, self.encoded = tokenizer, encoded
        self._texts, self._pairs = texts, pairs
        self._characters: Optional[Tuple[NDArray[np.int64], NDArray[np.int64]]] = None

    def __len__(self) -> int:
        return len(self.encoded.start) - 1

    @overload
    def __getitem__(self, i: int) -> Encoding: ...

    @overload
    def __getitem__(self, i: slice) -> List[Encoding]: ...

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [Encoding(self, k) for k in range(*i.indices(len(self)))]
        n = len(self)
        if not -n <= i < n:
            raise IndexError(i)
        return Encoding(self, i % n)

    def __iter__(self) -> Iterator[Encoding]:
        return (Encoding(self, i) for i in range(len(self)))

    def characters(self) -> Tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Begin and end of every token in characters of its text."""
        if self._characters is None:
            e = self.encoded
            begin, end = e.begin.astype(np.int64), e.end.astype(np.int64)
            first = self._texts if self._pairs is not None else None
            _to_characters(begin, end, e, self._texts, 0, first)
            if self._pairs is not None:
                _to_characters(begin, end, e, self._pairs, 1, first)
            self._characters = begin, end
        return self._characters


def _rows_of(e: Encoded, a: int, b: int, kind: int, first: Optional[str]) -> NDArray[np.int64]:
    """Which tokens of a to b are those of the first text (kind 0), or of the second; `first`: the first text of a pair."""
    rows: NDArray[np.int64] = np.nonzero(e.added[a:b] == 0)[0]
    types = e.types[a:b][rows]
    if first is None or types.any():
        own: NDArray[np.int64] = rows[types == kind]
        return own
    # All types are 0, as RoBERTa has them: the second text is behind added tokens, or where bytes begin again.
    again = np.nonzero(np.diff(rows) > 1)[0]
    if not len(again):
        again = np.nonzero(np.diff(e.begin[a:b][rows].astype(np.int64)) < 0)[0]
    cut = 0 if not first.strip() else int(again[0]) + 1 if len(again) else len(rows)
    return rows[:cut] if kind == 0 else rows[cut:]


def _to_characters(begin: NDArray[np.int64], end: NDArray[np.int64], e: Encoded, texts: List[str], kind: int,
                   first: Optional[List[str]]) -> None:
    """Replaces bytes by characters, in the tokens of the texts that are not ASCII."""
    for i, text in enumerate(texts):
        if text.isascii():
            continue
        a, b = int(e.start[i]), int(e.start[i + 1])
        data = np.frombuffer(text.encode(), np.uint8)
        before = np.zeros(len(data) + 1, np.int64)          # characters that begin before a byte
        np.cumsum((data & 0xC0) != 0x80, out=before[1:])
        rows = _rows_of(e, a, b, kind, first[i] if first is not None else None) + a
        start, last = begin[rows], end[rows]
        full = last > start
        # A token may begin or end within a character (bytes of byte-level BPE), which then counts whole.
        begin[rows] = np.where(full, before[np.minimum(start + 1, len(data))] - 1, before[start])
        end[rows] = np.where(full, before[last], before[start])


class Tokenizer:
    """The tokenizer of a model folder.

    >>> from roformer_c import Tokenizer
    >>> t = Tokenizer.from_folder("roformer-small-en-sentences")
    >>> e = t.encode("A dog barks.")
    >>> e.tokens
    ['[CLS]', 'a', 'dog', 'bar', '##ks', '.', '[SEP]']
    >>> e.offsets[2]
    (2, 5)
    >>> t.decode(e.ids)
    'a dog barks.'
    """

    def __init__(self) -> None:
        raise errors.ArgumentError("Tokenizer: expected Tokenizer.from_folder(FOLDER)")

    @classmethod
    def from_folder(cls, folder: _folder.PathLike, *, cache_folder: Optional[_folder.PathLike] = None,
                    revision: Optional[str] = None, threads: Optional[int] = None) -> "Tokenizer":
        """Opens the tokenizer of a model folder; names as for SentenceTransformer.

        Raises FileError, DataError (a malformed file) and UnsupportedError (another type of tokenizer)."""
        t = cls.__new__(cls)
        t.folder = _folder.find(folder, cache_folder, revision)
        t._threads, t._context, t._owner = threads, context(threads), None
        out, why = ctypes.c_void_p(), Error()
        check(lib.rf_tokenizer_open(t._context.address, os.fsencode(t.folder), byref(out), byref(why)), why)
        t._address = out.value
        free_with(t, lib.rf_tokenizer_free, out.value, t._context)
        return t

    @classmethod
    def _of_model(cls, model: Any) -> "Tokenizer":
        t = cls.__new__(cls)
        t.folder, t._threads, t._context = model.folder, model.threads, model.context
        t._owner, t._address = model.tokenizer()
        return t

    folder: str
    _threads: Optional[int]
    _context: Any
    _owner: Any
    _address: Optional[int]

    def __reduce__(self) -> Any:
        return _reopen, (_folder.absolute(self.folder), self._threads)

    def __repr__(self) -> str:
        return "Tokenizer(%r, vocab_size=%d)" % (self.folder, self.get_vocab_size())

    def encode(self, sequence: str, pair: Optional[str] = None, add_special_tokens: bool = True,
               max_length: Optional[int] = None) -> Encoding:
        """The tokens of a text or a pair. max_length truncates to so many tokens (None: not)."""
        return self._encode([sequence], None if pair is None else [pair], add_special_tokens, max_length)[0]

    def encode_batch(self, input: Iterable[Union[str, Tuple[str, str]]], add_special_tokens: bool = True,
                     max_length: Optional[int] = None) -> Encodings:
        """The tokens of texts, or of pairs, by all threads of the context."""
        if isinstance(input, str):
            raise errors.TextTypeError("input: expected an iterable of texts, got str; use encode for one text")
        texts: List[Any] = list(_texts.listed(input, "input"))
        if texts and isinstance(texts[0], (tuple, list)):
            first, second = _texts.pairs_of(texts, "input")
            return self._encode(first, second, add_special_tokens, max_length)
        return self._encode(texts, None, add_special_tokens, max_length)

    def _encode(self, texts: List[Any], pairs: Optional[List[Any]], special: bool, limit: Optional[int]) -> Encodings:
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise errors.ArgumentError("max_length: expected None or an integer above 0, got %r" % (limit,))
        e = encode_texts(self._address, self._context.address, texts, pairs, limit or 0,
                         0 if special else abi.RF_ENCODE_PLAIN, "input")
        return Encodings(self, texts, pairs, e)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True, clean_up: bool = True) -> str:
        """The text of ids. As in tokenizers, ids above the vocabulary are skipped, and negative ones are an error."""
        try:
            given = np.asarray(list(ids))
        except (TypeError, ValueError) as e:
            raise errors.ArgumentError("ids: expected integers, got %r" % (ids,)) from e
        if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 1 << 31)):
            raise errors.ArgumentError("ids: expected integers from 0 to 2^31 - 1, got %r" % (ids,))
        array = np.ascontiguousarray(given, np.int32)
        decode = self._decode if len(array) < LONG else interruptible(self._decode)
        return decode(array, skip_special_tokens, clean_up)

    def _decode(self, array: NDArray[np.int32], skip_special_tokens: bool, clean_up: bool) -> str:
        size = ctypes.c_size_t()
        text = lib.rf_decode(self._address, array.ctypes.data, len(array), int(skip_special_tokens), int(clean_up), byref(size))
        if not text:
            raise errors.OutOfMemoryError("decode: out of memory: the text of %d tokens" % len(array))
        return self.take(text, size.value)

    def take(self, text: int, size: int) -> str:
        """A text of the library, which is freed."""
        try:
            return ctypes.string_at(text, size).decode("utf-8", "replace")
        finally:
            lib.rf_text_free(self._address, text)

    def continues(self, id: int) -> bool:
        """Whether a token continues a word ("##ing")."""
        return bool(lib.rf_tokenizer_continues(self._address, id))

    def is_wordpiece(self) -> bool:
        """Whether this is a WordPiece tokenizer."""
        return bool(lib.rf_tokenizer_options_of(self._address))

    def token_to_id(self, token: str) -> Optional[int]:
        """The id of a token; None: it is not in the vocabulary."""
        text = _texts.encode_one(token, "token")
        i = -1 if b"\0" in text else lib.rf_tokenizer_id(self._address, text)
        return None if i < 0 else int(i)

    def id_to_token(self, id: int) -> Optional[str]:
        """The token of an id; None: there is none."""
        try:
            id = operator.index(id)
        except TypeError:
            raise errors.ArgumentError("id: expected an integer, got %r" % (id,)) from None
        if not 0 <= id < 1 << 31:
            return None
        token = lib.rf_tokenizer_token(self._address, id)
        return None if token is None else str(token.decode("utf-8", "replace"))

    def get_vocab_size(self) -> int:
        """Ids of the vocabulary."""
        return int(lib.rf_tokenizer_size(self._address))

    def special_ids(self) -> "dict[str, int]":
        """The ids of [UNK], [CLS], [SEP], [PAD] and [MASK] by their names in tokenizer_config.json; those there are."""
        rows = (("unk_token", lib.rf_tokenizer_unk), ("cls_token", lib.rf_tokenizer_cls),
                ("sep_token", lib.rf_tokenizer_sep), ("pad_token", lib.rf_tokenizer_pad),
                ("mask_token", lib.rf_tokenizer_mask))
        found = {name: int(function(self._address)) for name, function in rows}
        return {name: i for name, i in found.items() if i >= 0}


def _reopen(folder: str, threads: Optional[int]) -> Tokenizer:
    return Tokenizer.from_folder(folder, threads=threads)
