"""CrossEncoder: scores of pairs of texts, with the names, defaults and results of sentence-transformers."""
from __future__ import annotations

import collections
from typing import (Any, Callable, Deque, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple,
                    TypedDict, Union, overload)

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _settings, _texts, errors, modules, tensors
from ._model import Floats, Job, Model, Source, whole
from ._progress import Progress
from .sentence import known_prompt, only_cpu, positive

AHEAD = 8           # jobs that are submitted before the result of the first is taken
Activation = Callable[[Any], Any]
Pairs = Union[Iterable[Tuple[str, str]], Iterable[Sequence[str]], NDArray[Any]]


class _Ranked(TypedDict):
    corpus_id: int
    score: float


class Ranked(_Ranked, total=False):
    """A row of `rank`; "text" with return_documents."""
    text: str


class CrossEncoder:
    """Scores pairs of texts with a model that reads both at once, as sentence-transformers' class of this name does.

    model_name_or_path, device, cache_folder, revision, dtype, threads, and what changes nothing   as for
                   SentenceTransformer
    num_labels     None, or the number that the model has
    max_length     None, or the number of tokens that the model reads
    activation_fn  what `predict` applies to the outputs: a function of an array or a module of PyTorch; None: as the
                   folder says
    prompts, default_prompt_name   texts to put before the first text of a pair, by name, and the one that is used
                   without another; added to those of the folder

    Any thread may call any method at any time. After a fork, a child opens the model again.
    """

    def __init__(self, model_name_or_path: Source, *, device: Optional[str] = None,
                 cache_folder: Optional[_folder.PathLike] = None, revision: Optional[str] = None,
                 dtype: str = "float32", threads: Optional[int] = None, num_labels: Optional[int] = None,
                 max_length: Optional[int] = None, activation_fn: Optional[Activation] = None,
                 prompts: Optional[Mapping[str, str]] = None, default_prompt_name: Optional[str] = None,
                 **others: Any) -> None:
        only_cpu(device)
        self._model = Model(model_name_or_path, _settings.dtype_of(dtype, others), threads, cache_folder, revision)
        self.activation_fn = activation_fn
        self.labels = self._model.labels()
        if self._model.task not in (abi.RF_HEAD_SEQUENCE, abi.RF_HEAD_POOLED):
            raise errors.UnsupportedError("model %s: expected a fine-tuned head for pairs of texts, got none; fine-tune the "
                                          "model first" % self._model.folder)
        said, default = modules.cross_prompts(self._model.source)
        self.prompts: Dict[str, Optional[str]] = {**said, **dict(prompts or {})}
        self.default_prompt_name = default_prompt_name if default_prompt_name is not None else default
        if default_prompt_name is not None:
            known_prompt("default_prompt_name", default_prompt_name, self.prompts)
        self._placed = said.get(default) if default is not None and self._model.places_pairs() else None
        for name, given, own in (("num_labels", num_labels, self.num_labels), ("max_length", max_length, self.max_length)):
            if given is not None and given != own:
                raise errors.ArgumentError("%s: expected None or %r, as the model has, got %r" % (name, own, given))

    def __repr__(self) -> str:
        return "CrossEncoder(%r, num_labels=%d)" % (self._model.folder, self.num_labels)

    def __enter__(self) -> "CrossEncoder":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the model and frees its memory. Garbage collection does so as well."""
        self._model.close()

    @property
    def max_length(self) -> Optional[int]:
        """Tokens of a pair that the model reads; it cannot be set."""
        return self._model.reading_length()

    @property
    def num_labels(self) -> int:
        """Outputs of the model: 1 for a reranker."""
        return self._model.num_labels

    def eval(self) -> "CrossEncoder":
        """The model itself: nothing here is for training only."""
        return self

    def to(self, device: Any) -> "CrossEncoder":
        """The model itself; raises for a device other than the processor."""
        only_cpu(device)
        return self

    def _prompt(self, prompt_name: Optional[str], prompt: Optional[str]) -> bytes:
        """The prompt that is put before first texts; raises for another one than a chat template places."""
        if prompt is None:
            name = prompt_name if prompt_name is not None else self.default_prompt_name
            if prompt_name is not None:
                known_prompt("prompt_name", prompt_name, self.prompts)
            prompt = None if name is None else self.prompts.get(name)
        if self._model.places_pairs():
            if (prompt or None) != (self._placed or None):
                raise errors.UnsupportedError("prompt: expected %r, which the folder's chat template places, got %r; set "
                                              "default_prompt_name of the folder" % (self._placed, prompt))
            return b""
        return _texts.without_nul(prompt or "", "prompt")

    @overload
    def predict(self, inputs: Tuple[str, str],  # type: ignore[overload-overlap]
                prompt_name: Optional[str] = ..., prompt: Optional[str] = ..., batch_size: int = ...,
                show_progress_bar: Optional[bool] = ..., activation_fn: Optional[Activation] = ...,
                apply_softmax: Optional[bool] = ..., convert_to_numpy: Literal[True] = ...,
                convert_to_tensor: Literal[False] = ..., device: Any = ...) -> Union[np.float32, Floats]: ...

    @overload
    def predict(self, inputs: Pairs, prompt_name: Optional[str] = ..., prompt: Optional[str] = ...,
                batch_size: int = ..., show_progress_bar: Optional[bool] = ..., activation_fn: Optional[Activation] = ...,
                apply_softmax: Optional[bool] = ..., convert_to_numpy: Literal[True] = ...,
                convert_to_tensor: Literal[False] = ..., device: Any = ...) -> Floats: ...

    @overload
    def predict(self, inputs: Any = ..., *others: Any, **more: Any) -> Any: ...

    @whole
    def predict(self, inputs: Any = None, prompt_name: Optional[str] = None, prompt: Optional[str] = None,
                batch_size: int = 32,
                show_progress_bar: Optional[bool] = None, activation_fn: Optional[Activation] = None,
                apply_softmax: Optional[bool] = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, *, sentences: Any = None) -> Any:
        """Scores pairs of texts.

        inputs           a pair of texts, or a list, array or iterator of pairs; `sentences` is its older name
        prompt_name, prompt   a prompt by its name or its text, put before the first text of each pair; None: the
                         default prompt. A chat template places the folder's default prompt only (UnsupportedError)
        batch_size       pairs that are computed together
        activation_fn    what is applied to the outputs instead, as for the class
        apply_softmax    True: softmax over the outputs of a model with several

        Returns float32 [n]: the model's output after the folder's activation function, else the sigmoid; or, for a
        model with several outputs, [n, num_labels] logits or probabilities. One pair gives a number, or [num_labels].
        convert_to_tensor gives a tensor of PyTorch, and convert_to_numpy=False a list of them.
        """
        sentences = _texts.given(inputs, sentences)
        before = self._prompt(prompt_name, prompt)
        only_cpu(device)
        size = positive("batch_size", batch_size)
        one = _is_pair(sentences)
        pairs = [sentences] if one else sentences
        if isinstance(pairs, (str, bytes)) or not hasattr(pairs, "__iter__") or _texts.without_rows(pairs):
            raise errors.TextTypeError("sentences: expected pairs of texts, got %s" % type(pairs).__name__)
        progress = Progress(_texts.count(pairs), bool(show_progress_bar), "pairs")
        parts: List[Floats] = []
        try:
            apply = activation_fn or self.activation_fn
            rows = self._scores(pairs, before, size, apply is not None) if self.num_labels == 1 else self._logits(
                pairs, before, size)
            for part in rows:
                part = part if apply is None else tensors.applied(apply, part)
                parts.append(softmax_rows(part) if apply_softmax and self.num_labels > 1 else part)
                progress.add(len(part))
        finally:
            progress.close()
        empty = np.zeros(0 if self.num_labels == 1 else (0, self.num_labels), np.float32)
        scores = np.concatenate(parts) if parts else empty
        return tensors.converted(scores[0] if one else scores, convert_to_numpy, convert_to_tensor)

    def _scores(self, pairs: Any, prompt: bytes, size: int, raw: bool) -> Iterator[Floats]:
        """Neighboring pairs with the same first text are one job, up to `size`."""
        jobs: Deque[Job] = collections.deque()
        first = 0
        try:
            for block in _texts.blocks(pairs, size):
                for query, texts, at in _by_query(block, first):
                    where = "sentences: pair %d" % at
                    jobs.append(self._model.cross(_texts.encode_one(query, where),
                                                  _texts.Block(texts, "sentences: second texts", at), raw,
                                                  None if self._model.places_pairs() else prompt))
                    if len(jobs) > AHEAD:
                        yield jobs.popleft().result()[:, 0]
                first += len(block)
            while jobs:
                yield jobs.popleft().result()[:, 0]
        finally:
            for job in jobs:
                job.close()

    def _logits(self, pairs: Any, prompt: bytes, size: int) -> Iterator[Floats]:
        for block in _texts.blocks(pairs, size):
            a, b = _texts.pairs_of(block, "sentences")
            if prompt:
                a = [prompt.decode() + _texts.plain(text) for text in a]
            yield self._model.logits(self._model.encode(a, b, limit=self.max_length or 0))

    def rank(self, query: str, documents: Sequence[str], top_k: Optional[int] = None, return_documents: bool = False,
             prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
             show_progress_bar: Optional[bool] = None, activation_fn: Optional[Activation] = None,
             device: Any = None) -> List[Ranked]:
        """Sorts documents by their score with a query: [{"corpus_id", "score"[, "text"]}], the best first. Equal scores
        are sorted by the model's outputs, of which a sigmoid leaves no difference above 12 or so.

        top_k    so many of the best; None: all
        others   as for `predict`
        """
        if self.num_labels != 1:
            raise errors.ArgumentError("rank: expected a model with one output, got %d; use predict" % self.num_labels)
        if top_k is not None:
            positive("top_k", top_k)
        texts = list(_texts.listed(documents, "documents"))
        pairs = [(query, d) for d in texts]
        scores = self.predict(pairs, prompt_name, prompt, batch_size, show_progress_bar, activation_fn, device=device)
        equal = len(np.unique(scores)) < len(scores)
        outputs = np.concatenate(list(self._scores(pairs, self._prompt(prompt_name, prompt), batch_size,
                                                           True))) if equal else scores
        order = np.lexsort((-outputs, -scores))[:top_k]
        out: List[Ranked] = []
        for i in order:
            row: Ranked = {"corpus_id": int(i), "score": float(scores[i])}
            if return_documents:
                row["text"] = texts[i]
            out.append(row)
        return out


def softmax_rows(z: NDArray[Any]) -> Floats:
    """Softmax over the last axis, in double."""
    e = np.exp(z.astype(np.float64) - z.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float32)


def _is_pair(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.ndim == 1 and x.size == 2 and isinstance(x[0], str)
    return isinstance(x, (list, tuple)) and len(x) > 0 and not isinstance(x[0], (list, tuple, np.ndarray))


def _by_query(block: Sequence[Any], first: int) -> Iterator[Tuple[Any, List[Any], int]]:
    a, b = _texts.pairs_of(block, "sentences")
    i = 0
    while i < len(a):
        j = i + 1
        while j < len(a) and a[j] == a[i]:
            j += 1
        yield a[i], b[i:j], first + i
        i = j
