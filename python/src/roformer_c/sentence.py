"""SentenceTransformer: sentence vectors, with the names, defaults and results of sentence-transformers."""
from __future__ import annotations

import collections
import contextlib
import ctypes
import itertools
import warnings
from typing import Any, Deque, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _settings, _texts, errors, modules, tensors
from ._lib import Error, byref, check, lib, struct
from ._model import Floats, Job, Model, Source, floats, integers, typed_as, whole
from ._progress import Progress
from .similarities import matrix, quantized, similarity

AHEAD = 2                   # blocks that are submitted before the result of the first is taken
PRECISIONS = (None, "float32", "int8", "uint8", "binary", "ubinary")
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
Vectors = Union[NDArray[Any], Sequence[float], Sequence[Sequence[float]]]       # as arrays; tensors give tensors


def one_of(name: str, value: Any, choices: Tuple[Any, ...]) -> Any:
    """The value, or that of an enum, if it is one of the choices."""
    value = getattr(value, "value", value)
    if value not in choices:
        raise errors.ArgumentError("%s: expected one of %s, got %r" % (name, ", ".join(map(repr, choices)), value))
    return value


def known_prompt(name: str, value: str, prompts: Mapping[str, Any]) -> None:
    """Raises if the prompts have no such name."""
    if value not in prompts:
        raise errors.ArgumentError("%s: expected one of %s, got %r" % (name, sorted(prompts), value))


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
    """Raises for a device other than the processor. A list of it, for which sentence-transformers starts processes, is
    the processor as well: one call computes with all threads."""
    devices = device if isinstance(device, (list, tuple)) else [device]
    if any(d is not None and str(d) not in ("cpu", "-1") for d in devices):         # -1: the processor in transformers
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
    dtype                type of the matrices: "float32", "bfloat16", "int8" or "int8w"; also model_kwargs={"dtype": ...}
    threads              that one call computes with; None: those of `set_num_threads`
    trust_remote_code, local_files_only, token, model_card_data, backend="torch", model_kwargs["attn_implementation"]
                         are taken and change nothing: nothing is downloaded, and code of a folder is never run

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
                 threads: Optional[int] = None, **others: Any) -> None:
        only_cpu(device)
        self._model = Model(model_name_or_path, _settings.dtype_of(dtype, others), threads, cache_folder, revision)
        said = self._model.sentence()
        if said.folder_length > said.max_length:
            warnings.warn("max_seq_length is %d, but the model has %d positions: texts are cut to %d tokens"
                          % (said.folder_length, said.max_length, said.max_length), stacklevel=2)
        self.prompts: Dict[str, str] = {"query": "", "document": "", **said.prompts, **dict(prompts or {})}
        self.default_prompt_name = default_prompt_name if default_prompt_name is not None else said.default_prompt_name
        if self.default_prompt_name is not None:
            known_prompt("default_prompt_name", self.default_prompt_name, self.prompts)
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
            warnings.warn("prompt, prompt_name: expected one of them, got both; prompt counts", stacklevel=3)
        if prompt is None:
            name = prompt_name if prompt_name is not None else self.default_prompt_name
            if name is None:
                return b""
            known_prompt("prompt_name", name, self.prompts)
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

    @overload
    def encode(self, inputs: _texts.Texts, prompt_name: Optional[str] = ..., prompt: Optional[str] = ...,
               batch_size: int = ..., show_progress_bar: Optional[bool] = ..., output_value: Literal["sentence_embedding"] = ...,
               precision: Optional[Literal["float32"]] = ..., convert_to_numpy: Literal[True] = ...,
               convert_to_tensor: Literal[False] = ..., device: Any = ..., normalize_embeddings: bool = ...,
               truncate_dim: Optional[int] = ..., pool: Any = ..., chunk_size: Optional[int] = ...) -> Floats: ...

    @overload                   # a str is an iterable of str, too
    def encode(self, inputs: str, prompt_name: Optional[str] = ...,  # type: ignore[overload-overlap]
               prompt: Optional[str] = ..., batch_size: int = ...,
               show_progress_bar: Optional[bool] = ..., *, output_value: Literal["token_embeddings"],
               convert_to_numpy: Literal[True] = ..., convert_to_tensor: Literal[False] = ..., device: Any = ...,
               normalize_embeddings: bool = ..., truncate_dim: Optional[int] = ...) -> Floats: ...

    @overload
    def encode(self, inputs: Iterable[str], prompt_name: Optional[str] = ..., prompt: Optional[str] = ..., batch_size: int = ...,
               show_progress_bar: Optional[bool] = ..., *, output_value: Literal["token_embeddings"],
               convert_to_numpy: Literal[True] = ..., convert_to_tensor: Literal[False] = ..., device: Any = ...,
               normalize_embeddings: bool = ..., truncate_dim: Optional[int] = ...) -> List[Floats]: ...

    @overload                   # a str is an iterable of str, too
    def encode(self, inputs: str, prompt_name: Optional[str] = ...,  # type: ignore[overload-overlap]
               prompt: Optional[str] = ..., batch_size: int = ...,
               show_progress_bar: Optional[bool] = ..., *, output_value: None,
               convert_to_numpy: Literal[True] = ..., convert_to_tensor: Literal[False] = ..., device: Any = ...,
               normalize_embeddings: bool = ..., truncate_dim: Optional[int] = ...) -> Dict[str, NDArray[Any]]: ...

    @overload
    def encode(self, inputs: Iterable[str], prompt_name: Optional[str] = ..., prompt: Optional[str] = ..., batch_size: int = ...,
               show_progress_bar: Optional[bool] = ..., *, output_value: None,
               convert_to_numpy: Literal[True] = ..., convert_to_tensor: Literal[False] = ..., device: Any = ...,
               normalize_embeddings: bool = ..., truncate_dim: Optional[int] = ...) -> List[Dict[str, NDArray[Any]]]: ...

    @overload
    def encode(self, inputs: _texts.Texts, *, precision: str, prompt_name: Optional[str] = ..., prompt: Optional[str] = ...,
           batch_size: int = ..., show_progress_bar: Optional[bool] = ..., normalize_embeddings: bool = ...,
           truncate_dim: Optional[int] = ...) -> NDArray[Any]: ...

    @overload
    def encode(self, inputs: Optional[_texts.Texts] = ..., *others: Any, **more: Any) -> Any: ...

    @whole
    def encode(self, inputs: Optional[_texts.Texts] = None, prompt_name: Optional[str] = None,
               prompt: Optional[str] = None, batch_size: int = 32, show_progress_bar: Optional[bool] = None,
               output_value: Optional[str] = "sentence_embedding", precision: Optional[str] = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool = False, truncate_dim: Optional[int] = None, pool: Any = None,
               chunk_size: Optional[int] = None, *, sentences: Optional[_texts.Texts] = None) -> Any:
        """Computes the vectors of texts.

        inputs                a text; or a list, tuple, array (NumPy, pandas, pyarrow) or iterator of texts; `sentences` is
                              its older name
        prompt_name, prompt   a prompt by its name or its text, put before every text; None: the default prompt
        batch_size            texts of an iterator are taken 64 batch_size at a time, which bounds the memory for texts.
                              It does not change the bits of a vector
        show_progress_bar     write a progress bar to standard error
        output_value          "sentence_embedding"; "token_embeddings" for the vectors of all tokens; None for a dict of
                              both and the tokens
        precision             "float32"; "int8", "uint8" (scaled by the range of each column of the result), "binary",
                              "ubinary" (one bit a number, packed)
        normalize_embeddings  True: vectors of length 1; False: as the folder says. Vectors of tokens are not normalized
        truncate_dim          keep this many numbers; None: the attribute `truncate_dim`
        convert_to_tensor     True: a tensor of PyTorch, if it is installed
        convert_to_numpy      False: a list of tensors
        pool, chunk_size      of start_multi_process_pool; they change nothing, as a call uses all threads

        Returns float32 [n, D] for n texts, [D] for one text; with token_embeddings a list of [tokens, D], or one. No
        texts give [0, D]. device is None or "cpu".

        Raises TextTypeError (something that is not a str), DataError (a lone surrogate) and ArgumentError. After an
        exception, also KeyboardInterrupt, the model is usable.

        >>> import numpy, roformer_c
        >>> model = roformer_c.SentenceTransformer("roformer-small-en-sentences")
        >>> one = model.encode("A dog barks.")
        >>> many = model.encode(text for text in ("Prices fell.", "A dog barks."))
        >>> numpy.array_equal(many[1], one)
        True
        """
        texts = _texts.given(inputs, sentences)
        only_cpu(device)
        one_of("output_value", output_value, (None, "sentence_embedding", "token_embeddings"))
        one_of("precision", precision, PRECISIONS)
        arguments = (texts, self._prompt(prompt_name, prompt), 64 * positive("batch_size", batch_size),
                     bool(show_progress_bar), precision, flag("normalize_embeddings", normalize_embeddings), truncate_dim)
        if output_value is None:
            found = self._features(*arguments)
        elif output_value == "token_embeddings":
            found = self._tokens(*arguments)
        else:
            found = self._vectors(*arguments)
        return tensors.converted(found, convert_to_numpy, convert_to_tensor)

    def _vectors(self, sentences: Any, prompt: bytes, size: int, shown: bool, precision: Optional[str], normalize: bool,
                 truncate_dim: Optional[int]) -> Any:
        options = self._options(prompt, normalize, truncate_dim, False)
        if not _texts.is_one(sentences):
            return quantized(self._joined(_texts.listed(sentences, "sentences"), size, options, shown), precision)
        block = _texts.Block([sentences], "sentences")
        found = self._model.embed_few(block, options)
        return quantized(self._model.embed(block, byref(options)).result() if found is None else found, precision)[0]

    def _tokens(self, sentences: Any, prompt: bytes, size: int, shown: bool, precision: Optional[str], normalize: bool,
                truncate_dim: Optional[int]) -> Any:
        if precision not in (None, "float32"):
            raise errors.ArgumentError("precision: expected 'float32' with token_embeddings, got %r" % precision)
        one = _texts.is_one(sentences)
        texts: Any = [sentences] if one else _texts.listed(sentences, "sentences")
        options = self._options(prompt, normalize, truncate_dim, True)
        vectors = [v for block in self._token_blocks(texts, size, options) for v in block]
        return vectors[0] if one else vectors

    def _features(self, sentences: Any, prompt: bytes, *others: Any) -> Any:
        """A dict for each text: its tokens, their vectors, and its vector, without padding."""
        if _texts.is_one(sentences):
            return self._features([_texts.plain(sentences)], prompt, *others)[0]
        texts = [_texts.plain(t) for t in _texts.listed(sentences, "sentences")]
        e = self._model.encode([prompt.decode() + t for t in texts], limit=self._max_length)
        vectors, tokens = self._vectors(texts, prompt, *others), self._tokens(texts, prompt, *others)
        parts = [slice(e.start[i], e.start[i + 1]) for i in range(len(texts))]
        return [{"input_ids": e.ids[p].astype(np.int64), "token_type_ids": e.types[p].astype(np.int64),
                 "attention_mask": np.ones(len(t), np.int64), "token_embeddings": t, "sentence_embedding": v}
                for p, t, v in zip(parts, tokens, vectors)]

    @overload
    def encode_query(self, inputs: _texts.Texts, prompt_name: Optional[str] = ..., prompt: Optional[str] = ...,
           batch_size: int = ..., show_progress_bar: Optional[bool] = ...,
           output_value: Literal["sentence_embedding"] = ..., precision: Optional[Literal["float32"]] = ...,
           convert_to_numpy: Literal[True] = ..., convert_to_tensor: Literal[False] = ..., device: Any = ...,
           normalize_embeddings: bool = ..., truncate_dim: Optional[int] = ..., pool: Any = ...,
           chunk_size: Optional[int] = ...) -> Floats: ...

    @overload
    def encode_query(self, inputs: _texts.Texts, *, precision: str, prompt_name: Optional[str] = ..., prompt: Optional[str] = ...,
           batch_size: int = ..., show_progress_bar: Optional[bool] = ..., normalize_embeddings: bool = ...,
           truncate_dim: Optional[int] = ...) -> NDArray[Any]: ...

    @overload
    def encode_query(self, inputs: Optional[_texts.Texts] = ..., *others: Any, **more: Any) -> Any: ...

    def encode_query(self, inputs: Optional[_texts.Texts] = None, prompt_name: Optional[str] = None,
                     prompt: Optional[str] = None, *others: Any, **arguments: Any) -> Any:
        """`encode` with the prompt named "query", if no other is given."""
        if prompt is None and prompt_name is None:
            prompt_name = "query"
        return self.encode(inputs, prompt_name, prompt, *others, **arguments)

    @typed_as(encode_query)
    def encode_document(self, inputs: Optional[_texts.Texts] = None, prompt_name: Optional[str] = None,
                        prompt: Optional[str] = None, *others: Any, **arguments: Any) -> Any:
        """`encode` with the first of the prompts "document", "passage" and "corpus" that is not empty, if none is given."""
        if prompt is None and prompt_name is None:
            prompt_name = next((n for n in ("document", "passage", "corpus") if self.prompts.get(n)), "document")
        return self.encode(inputs, prompt_name, prompt, *others, **arguments)

    # ---- what sentence-transformers has besides ----------------------------------------------------------------------

    @contextlib.contextmanager
    def truncate_embeddings(self, truncate_dim: Optional[int]) -> Iterator[None]:
        """Sets `truncate_dim` within a with statement."""
        before = self.truncate_dim
        self.truncate_dim = truncate_dim
        try:
            yield
        finally:
            self.truncate_dim = before

    truncate_sentence_embeddings = truncate_embeddings

    def start_multi_process_pool(self, target_devices: Optional[Sequence[str]] = None) -> Dict[str, Any]:
        """A pool for `encode`. It holds no processes: one call computes with all threads already."""
        only_cpu(target_devices)
        return {"input": None, "output": None, "processes": []}

    @staticmethod
    def stop_multi_process_pool(pool: Any) -> None:
        """Ends a pool, which holds nothing."""

    def encode_multi_process(self, inputs: Optional[_texts.Texts] = None, pool: Any = None,
                             prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
                             chunk_size: Optional[int] = None, show_progress_bar: Optional[bool] = None,
                             precision: Optional[str] = "float32", normalize_embeddings: bool = False,
                             truncate_dim: Optional[int] = None, **arguments: Any) -> Any:
        """`encode`."""
        return self.encode(inputs, prompt_name, prompt, batch_size, show_progress_bar,
                           precision=precision, normalize_embeddings=normalize_embeddings, truncate_dim=truncate_dim,
                           **arguments)

    def to(self, device: Any) -> "SentenceTransformer":
        """The model itself; raises for a device other than the processor."""
        only_cpu(device)
        return self

    def cpu(self) -> "SentenceTransformer":
        """The model itself."""
        return self

    def eval(self) -> "SentenceTransformer":
        """The model itself: nothing here is for training only."""
        return self

    def evaluate(self, evaluator: Any, output_path: Optional[str] = None) -> Any:
        """evaluator(model, output_path)."""
        return evaluator(self, output_path)

    def _modules(self) -> List[modules.Module]:
        return modules.read(self._model.source)

    def __len__(self) -> int:
        """How many modules the folder has."""
        return len(self._modules())

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, i: int) -> modules.Module:
        """A module of the folder, with its settings."""
        return self._modules()[i]

    def save_pretrained(self, path: _folder.PathLike, *unused: Any, **ignored: Any) -> None:
        """Copies the model's folder, with these prompts, similarity and max_seq_length. What else
        sentence-transformers' function takes is about model cards and changes nothing."""
        modules.save(self._model.source, path, self.prompts, self.default_prompt_name, self.similarity_fn_name,
                     self._max_length)

    save = save_pretrained

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

    @overload
    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Floats: ...

    @overload
    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any: ...

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarity of all vectors of the first array [n, D] with all of the second [m, D], by similarity_fn_name:
        [n, m]. "euclidean" and "manhattan" are negative distances. Tensors give a tensor."""
        found = similarity(matrix(embeddings1, "embeddings1"), matrix(embeddings2, "embeddings2"), self._similarity)
        return tensors.like(found, embeddings1, embeddings2)

    @overload
    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Floats: ...

    @overload
    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any: ...

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarity of each vector of the first array [n, D] with that of the second [n, D]: [n]."""
        a, b = matrix(embeddings1, "embeddings1"), matrix(embeddings2, "embeddings2")
        if a.shape != b.shape:
            raise errors.ArgumentError("embeddings2: expected the shape of embeddings1, %r, got %r" % (a.shape, b.shape))
        out = [similarity(a[i:i + 1], b[i:i + 1], self._similarity)[0, 0] for i in range(len(a))]
        return tensors.like(np.array(out, np.float32), embeddings1, embeddings2)

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
    own = lib.rf_pipeline_width(pipeline) if lib.rf_pipeline_late(pipeline) else config.hidden_size
    width = int(options.dimensions) or int(own)
    start = integers(row.value, texts.n + 1, np.int64)
    every = floats(vectors.value, int(start[-1]), width)
    return [every[start[i]:start[i + 1]] for i in range(texts.n)]
