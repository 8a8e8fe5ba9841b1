"""SentenceTransformer: sentence vectors, with the names, defaults and results of sentence-transformers."""
from __future__ import annotations

import collections
import ctypes
import itertools
from typing import Any, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _texts, errors
from ._lib import Error, byref, check, lib, struct
from ._model import Floats, Job, Model, Source, floats, integers
from ._progress import Progress

AHEAD = 2                   # blocks that are submitted before the result of the first is taken
PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def one_of(name: str, value: Any, choices: Tuple[Any, ...]) -> Any:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise errors.ArgumentError("%s: expected one of %s, got %r" % (name, ", ".join(map(repr, choices)), value))
    return value


def positive(name: str, value: Any) -> int:
    """The value, if it is an integer above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise errors.ArgumentError("%s: expected an integer above 0, got %r" % (name, value))
    return int(value)


def flag(name: str, value: Any) -> bool:
    """The value as a bool, if it is one."""
    if not isinstance(value, (bool, np.bool_)):
        raise errors.ArgumentError("%s: expected True or False, got %r" % (name, value))
    return bool(value)


def only_cpu(device: Any) -> None:
    """Raises for a device other than the processor."""
    if device is not None and str(device) not in ("cpu", "-1"):             # -1: the processor in transformers
        raise errors.ArgumentError("device: expected None or 'cpu', the only device here, got %r" % (device,))


class SentenceTransformer:
    """Computes sentence vectors with a model folder, as sentence-transformers' class of this name does.

    model_name_or_path   a model folder; the name of a model of the package roformer-c-models; or a name in the local
                         cache of Hugging Face. Nothing is downloaded. Or the files of a folder in memory by name,
                         {"config.json": b"...", "1_Pooling/config.json": ...}, which must not change afterwards
    device               None or "cpu"
    prompts              texts to put before sentences, by name; added to those of the folder
    default_prompt_name  the prompt that `encode` uses without another; None: as the folder says
    similarity_fn_name   "cosine", "dot", "euclidean" or "manhattan"; None: as the folder says
    cache_folder         where cached models are; None: Hugging Face's folder
    truncate_dim         keep this many numbers of a vector; None: as the folder says
    revision             of a cached model; None: "main"
    dtype                type of the matrices: "float32", "bfloat16" or "int8"
    threads              that one call computes with; None: those of `set_num_threads`

    Any thread may call any method at any time. The vector of a text has the same bits whatever else is in the call,
    and however many threads compute. After a fork, a child opens the model again.

    Raises FileError (no such model), DataError and UnsupportedError (files that are malformed or of another kind),
    ArgumentError and OutOfMemoryError.

    >>> from roformer_c import SentenceTransformer
    >>> model = SentenceTransformer("roformer-small-en-sentences")
    >>> vectors = model.encode(["A dog barks.", "A hound howls.", "Prices fell."])
    >>> vectors.shape
    (3, 256)
    >>> similarity = model.similarity(vectors, vectors)
    >>> bool(similarity[0, 1] > similarity[0, 2])
    True
    """

    def __init__(self, model_name_or_path: Source, *, device: Optional[str] = None,
                 prompts: Optional[Mapping[str, str]] = None, default_prompt_name: Optional[str] = None,
                 similarity_fn_name: Optional[str] = None, cache_folder: Optional[_folder.PathLike] = None,
                 truncate_dim: Optional[int] = None, revision: Optional[str] = None, dtype: str = "float32",
                 threads: Optional[int] = None) -> None:
        only_cpu(device)
        self._model = Model(model_name_or_path, dtype, threads, cache_folder, revision)
        said = self._model.sentence()
        self.prompts: Dict[str, str] = {**said.prompts, **dict(prompts or {})}
        self.default_prompt_name = default_prompt_name if default_prompt_name is not None else said.default_prompt_name
        if self.default_prompt_name is not None and self.default_prompt_name not in self.prompts:
            raise errors.ArgumentError("default_prompt_name: expected one of %s, got %r"
                                       % (sorted(self.prompts), self.default_prompt_name))
        self._max_length, self._pooling, self._normalize = said.max_length, said.pooling, said.normalize
        self._width = said.width
        self._truncate_dim: Optional[int] = None
        self._similarity = one_of("similarity_fn_name", similarity_fn_name or said.similarity, SIMILARITIES)
        self.truncate_dim = truncate_dim if truncate_dim is not None else said.truncate_dim

    def __repr__(self) -> str:
        return "SentenceTransformer(%r, max_seq_length=%d, dimension=%d)" % (
            self._model.folder, self._max_length, self.get_sentence_embedding_dimension())

    def __getstate__(self) -> Dict[str, Any]:
        return dict(self.__dict__)

    def __enter__(self) -> "SentenceTransformer":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the model and frees its memory. Garbage collection does so as well."""
        self._model.close()

    # ---- settings ----------------------------------------------------------------------------------------------------

    @property
    def device(self) -> str:
        """Always "cpu"."""
        return "cpu"

    @property
    def max_seq_length(self) -> int:
        """Tokens that a text is truncated to, including [CLS] and [SEP]. It can be set."""
        return self._max_length

    @max_seq_length.setter
    def max_seq_length(self, value: int) -> None:
        self._max_length = positive("max_seq_length", value)

    def get_max_seq_length(self) -> int:
        """As `max_seq_length`."""
        return self._max_length

    @property
    def truncate_dim(self) -> Optional[int]:
        """Numbers of a vector that are kept; None: all."""
        return self._truncate_dim

    @truncate_dim.setter
    def truncate_dim(self, value: Optional[int]) -> None:
        self._truncate_dim = None if value is None else positive("truncate_dim", value)

    @property
    def similarity_fn_name(self) -> str:
        """The function of `similarity`. It can be set."""
        return str(self._similarity)

    @similarity_fn_name.setter
    def similarity_fn_name(self, value: str) -> None:
        self._similarity = one_of("similarity_fn_name", value, SIMILARITIES)

    def get_sentence_embedding_dimension(self) -> int:
        """Numbers in a vector that `encode` returns."""
        return min(self._width, self._truncate_dim or self._width)

    get_embedding_dimension = get_sentence_embedding_dimension

    def _prompt(self, prompt_name: Optional[str], prompt: Optional[str]) -> bytes:
        if prompt is not None and prompt_name is not None:
            raise errors.ArgumentError("prompt, prompt_name: expected one of them, got both; leave one out")
        if prompt is None:
            name = prompt_name if prompt_name is not None else self.default_prompt_name
            if name is None:
                return b""
            if name not in self.prompts:
                raise errors.ArgumentError("prompt_name: expected one of %s, got %r" % (sorted(self.prompts), name))
            prompt = self.prompts[name]
        return _texts.without_nul(prompt, "prompt")

    def _options(self, prompt: bytes, normalize: bool, truncate_dim: Optional[int], tokens: bool) -> Any:
        o = abi.rf_embed_options()
        lib.rf_embed_options_init(byref(o), ctypes.sizeof(o))
        o.prompt = prompt
        o.max_length = self._max_length
        normalize = flag("normalize_embeddings", normalize)
        o.normalize = 0 if tokens else 1 if normalize else -1
        o.dimensions = 0
        cut = truncate_dim if truncate_dim is not None else self._truncate_dim
        if cut is not None and positive("truncate_dim", cut) < self._width and not tokens:
            o.dimensions = cut
            o.cut_last = 0 if normalize else 1        # the folder normalizes before the cut, `encode` after it
        return o

    # ---- vectors -----------------------------------------------------------------------------------------------------

    def encode(self, sentences: _texts.Texts, prompt_name: Optional[str] = None, prompt: Optional[str] = None,
               batch_size: int = 32, show_progress_bar: Optional[bool] = None,
               output_value: str = "sentence_embedding", precision: str = "float32", convert_to_numpy: bool = True,
               convert_to_tensor: bool = False, device: Optional[str] = None, normalize_embeddings: bool = False,
               truncate_dim: Optional[int] = None) -> Any:
        """Computes the vectors of texts.

        sentences             a text; or a list, tuple, NumPy array or iterator of texts
        prompt_name, prompt   a prompt by its name or its text, put before every text; None: the default prompt
        batch_size            texts of an iterator are taken 64 batch_size at a time, which bounds the memory for texts.
                              It does not change the bits of a vector
        show_progress_bar     write a progress bar to standard error
        output_value          "sentence_embedding", or "token_embeddings" for the vectors of all tokens
        precision             "float32"; "int8", "uint8" (scaled by the range of each column of the result), "binary",
                              "ubinary" (one bit a number, packed)
        normalize_embeddings  True: vectors of length 1; False: as the folder says. Vectors of tokens are not normalized
        truncate_dim          keep this many numbers; None: the attribute `truncate_dim`

        Returns float32 [n, D] for n texts, [D] for one text; with token_embeddings a list of [tokens, D], or one. No
        texts give [0, D]. convert_to_numpy must be True, convert_to_tensor False, device None or "cpu".

        Raises TextTypeError (something that is not a str), DataError (a lone surrogate) and ArgumentError. After an
        exception, also KeyboardInterrupt, the model is usable.

        >>> import numpy, roformer_c
        >>> model = roformer_c.SentenceTransformer("roformer-small-en-sentences")
        >>> one = model.encode("A dog barks.")
        >>> many = model.encode(text for text in ("Prices fell.", "A dog barks."))
        >>> numpy.array_equal(many[1], one)
        True
        """
        if convert_to_tensor or not convert_to_numpy:
            raise errors.ArgumentError("convert_to_numpy, convert_to_tensor: expected True and False, since results are "
                                       "NumPy arrays, got %r and %r" % (convert_to_numpy, convert_to_tensor))
        only_cpu(device)
        one_of("output_value", output_value, ("sentence_embedding", "token_embeddings"))
        one_of("precision", precision, PRECISIONS)
        size = 64 * positive("batch_size", batch_size)
        tokens = output_value == "token_embeddings"
        if tokens and precision != "float32":
            raise errors.ArgumentError("precision: expected 'float32' with token_embeddings, got %r" % precision)
        prompt_text = self._prompt(prompt_name, prompt)
        options = self._options(prompt_text, normalize_embeddings, truncate_dim, tokens)
        one = _texts.is_one(sentences)
        texts: Any = [sentences] if one else _texts.listed(sentences, "sentences")
        if tokens:
            vectors = [v for block in self._token_blocks(texts, size, options) for v in block]
            return vectors[0] if one else vectors
        if one:
            block = _texts.Block(texts, "sentences")
            found = self._model.embed_few(block, options)
            return _quantized(self._model.embed(block, byref(options)).result() if found is None else found, precision)[0]
        return _quantized(self._joined(texts, size, options, bool(show_progress_bar)), precision)

    def encode_query(self, sentences: _texts.Texts, prompt_name: Optional[str] = None, prompt: Optional[str] = None,
                     **arguments: Any) -> Any:
        """`encode` with the prompt named "query", if the folder has it and no other is given."""
        if prompt is None and prompt_name is None and "query" in self.prompts:
            prompt_name = "query"
        return self.encode(sentences, prompt_name, prompt, **arguments)

    def encode_document(self, sentences: _texts.Texts, prompt_name: Optional[str] = None, prompt: Optional[str] = None,
                        **arguments: Any) -> Any:
        """`encode` with the first prompt of "document", "passage" and "corpus" that the folder has, if none is given."""
        if prompt is None and prompt_name is None:
            prompt_name = next((n for n in ("document", "passage", "corpus") if n in self.prompts), None)
        return self.encode(sentences, prompt_name, prompt, **arguments)

    def encode_stream(self, sentences: Iterable[str], prompt_name: Optional[str] = None, prompt: Optional[str] = None,
                      batch_size: int = 32, normalize_embeddings: bool = False,
                      truncate_dim: Optional[int] = None) -> Iterator[Floats]:
        """Yields the vectors of an iterator's texts, in blocks [at most 64 batch_size, D], in bounded memory.

        >>> import roformer_c
        >>> model = roformer_c.SentenceTransformer("roformer-small-en-sentences")
        >>> [block.shape for block in model.encode_stream(("a %d" % i for i in range(100)), batch_size=1)]
        [(64, 256), (36, 256)]
        """
        options = self._options(self._prompt(prompt_name, prompt), normalize_embeddings, truncate_dim, False)
        texts = [sentences] if _texts.is_one(sentences) else _texts.listed(sentences, "sentences")
        return self._blocks(texts, 64 * positive("batch_size", batch_size), options)

    def encode_to(self, path: _folder.PathLike, sentences: _texts.Texts, *, ids: Optional[Iterable[Any]] = None,
                  texts: bool = True, prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
                  normalize_embeddings: bool = False, truncate_dim: Optional[int] = None) -> int:
        """Writes the vectors of texts to a file with the columns "id" (if given), "text" and "embedding" (a list of D
        float32), in bounded memory; returns the number of rows. Needs pyarrow: pip install "roformer-c[arrow]".

        path      a Parquet file (.parquet) or an Arrow file (.arrow, .feather). It appears when it is whole; a file of that
                  name is replaced
        ids       an iterable of numbers or texts, one for each text
        texts     False: leave the column "text" out
        others    as for `encode`

        Raises ImportError (no pyarrow), ArgumentError (too few or too many ids), FileError, and what `encode` raises.
        """
        from . import arrow
        options = self._options(self._prompt(prompt_name, prompt), normalize_embeddings, truncate_dim, False)
        size, width = 64 * positive("batch_size", batch_size), int(options.dimensions) or self._width
        given = [sentences] if _texts.is_one(sentences) else _texts.listed(sentences, "sentences")
        about = {"model": self._model.folder, "similarity": str(self._similarity)}
        return arrow.write(path, width, texts, about, lambda: self._rows(given, ids, size, options))

    def _rows(self, texts: Iterable[Any], ids: Optional[Iterable[Any]], size: int,
              options: Any) -> Iterator[Tuple[List[str], Optional[List[Any]], Floats]]:
        """Blocks of texts with their ids and vectors."""
        taken: Deque[List[str]] = collections.deque()

        def remembered() -> Iterator[str]:
            for block in _texts.blocks(texts, size):
                taken.append(block)
                yield from block
        names = None if ids is None else iter(ids)
        rows = 0
        for vectors in self._blocks(remembered(), size, options):
            block = taken.popleft()
            found = None if names is None else list(itertools.islice(names, len(block)))
            rows += len(block)
            if found is not None and len(found) != len(block):
                raise errors.ArgumentError("ids: expected one for each text, got %d for %d texts or more"
                                           % (rows - len(block) + len(found), rows))
            yield block, found, vectors
        if names is not None and next(names, self) is not self:
            raise errors.ArgumentError("ids: expected one for each of %d texts, got more" % rows)

    def _blocks(self, texts: Iterable[Any], size: int, options: Any) -> Iterator[Floats]:
        jobs: Deque[Job] = collections.deque()
        first = 0
        try:
            for block in _texts.blocks(texts, size):
                jobs.append(self._model.embed(_texts.Block(block, "sentences", first), byref(options)))
                first += len(block)
                if len(jobs) > AHEAD:
                    yield jobs.popleft().result()
            while jobs:
                yield jobs.popleft().result()
        finally:
            for job in jobs:
                job.close()

    def _joined(self, texts: Iterable[Any], size: int, options: Any, shown: bool) -> Floats:
        total = _texts.count(texts)
        width = int(options.dimensions) or self._width
        progress = Progress(total, shown)
        try:
            if total is None:
                parts: List[Floats] = []
                for part in self._blocks(texts, size, options):
                    parts.append(part)
                    progress.add(len(part))
                return np.concatenate(parts) if parts else np.zeros((0, width), np.float32)
            out = np.empty((total, width), np.float32)
            at = 0
            for part in self._blocks(texts, size, options):
                out[at:at + len(part)] = part
                at += len(part)
                progress.add(len(part))
            return out[:at]
        finally:
            progress.close()

    def _token_blocks(self, texts: Iterable[Any], size: int, options: Any) -> Iterator[List[Floats]]:
        first = 0
        for block in _texts.blocks(texts, size):
            packed = _texts.Block(block, "sentences", first)
            first += len(block)
            yield self._model.call(lambda p, packed=packed: token_vectors(p, packed, options))  # type: ignore[misc]

    # ---- similarity and tokens ---------------------------------------------------------------------------------------

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Floats:
        """The similarity of all vectors of the first array [n, D] with all of the second [m, D], by similarity_fn_name:
        [n, m]. "euclidean" and "manhattan" are negative distances."""
        return similarity(_matrix(embeddings1, "embeddings1"), _matrix(embeddings2, "embeddings2"), self._similarity)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Floats:
        """The similarity of each vector of the first array [n, D] with that of the second [n, D]: [n]."""
        a, b = _matrix(embeddings1, "embeddings1"), _matrix(embeddings2, "embeddings2")
        if a.shape != b.shape:
            raise errors.ArgumentError("embeddings2: expected the shape of embeddings1, %r, got %r" % (a.shape, b.shape))
        out = [similarity(a[i:i + 1], b[i:i + 1], self._similarity)[0, 0] for i in range(len(a))]
        return np.array(out, np.float32)

    def tokenize(self, texts: _texts.Texts) -> Dict[str, NDArray[np.int64]]:
        """Tokens of texts as a model reads them: input_ids, token_type_ids and attention_mask, [n, longest], padded."""
        one = _texts.is_one(texts)
        given: Any = [texts] if one else _texts.listed(texts, "texts")
        e = self._model.encode(list(given), limit=self._max_length)
        n = len(e.start) - 1
        sizes = np.diff(e.start)
        width = int(sizes.max()) if n else 0
        mask = (np.arange(width) < sizes[:, None]).astype(np.int64)
        ids = np.full((n, width), self.tokenizer.special_ids().get("pad_token", 0), np.int64)
        types = np.zeros((n, width), np.int64)
        ids[mask == 1] = e.ids
        types[mask == 1] = e.types
        return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}

    @property
    def tokenizer(self) -> Any:
        """The model's `Tokenizer`."""
        from .tokenizer import Tokenizer
        return Tokenizer._of_model(self._model)


def token_vectors(pipeline: int, texts: _texts.Block, options: Any) -> List[Floats]:
    """rf_embed_tokens: the vectors [tokens, D] of each text."""
    why, vectors, row = Error(), ctypes.c_void_p(), ctypes.c_void_p()
    status = lib.rf_embed_tokens(pipeline, texts.pointers, texts.sizes, texts.n, byref(options), byref(vectors),
                                 byref(row), None, byref(why))
    check(status, why)
    config = struct(abi.rf_config, lib.rf_model_config(lib.rf_pipeline_model(pipeline)))
    width = int(options.dimensions) or int(config.hidden_size)
    start = integers(row.value, texts.n + 1, np.int64)
    every = floats(vectors.value, int(start[-1]), width)
    return [every[start[i]:start[i + 1]] for i in range(texts.n)]


def _matrix(x: Any, name: str) -> Floats:
    a = np.asarray(x)
    if a.ndim == 1 and a.size and a.dtype.kind in "fiu":
        a = a[None, :]
    if a.ndim != 2 or a.dtype.kind not in "fiu":
        raise errors.ArgumentError("%s: expected numbers of one or two dimensions, got %s with %d"
                                   % (name, a.dtype, a.ndim))
    return np.ascontiguousarray(a, np.float32)


def similarity(a: Floats, b: Floats, name: str) -> Floats:
    """Similarities [n, m] of the rows of a [n, D] and b [m, D]."""
    if a.shape[1] != b.shape[1]:
        raise errors.ArgumentError("embeddings2: expected vectors of %d numbers, got %d" % (a.shape[1], b.shape[1]))
    if name == "cosine":
        a, b = (x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (a, b))
    if name in ("cosine", "dot"):
        return np.asarray(a @ b.T, np.float32)
    order = 2 if name == "euclidean" else 1
    return np.stack([-np.linalg.norm(b - x, ord=order, axis=1) for x in a]).astype(np.float32) if len(a) else \
        np.zeros((0, len(b)), np.float32)


def _quantized(vectors: Floats, precision: str) -> Any:
    """As quantize_embeddings of sentence-transformers."""
    if precision == "float32":
        return vectors
    if precision in ("binary", "ubinary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if not len(vectors):
        return vectors.astype(precision)
    if len(vectors) < 2:
        raise errors.ArgumentError("precision: expected two texts or more for %r, whose scale is the range of each column, "
                                   "got one" % precision)
    low = vectors.min(axis=0)
    steps = (vectors.max(axis=0) - low) / np.float32(255)
    codes = np.clip(np.floor((vectors - low) / np.where(steps == 0, np.float32(1), steps)), 0, 255)
    return codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8)
