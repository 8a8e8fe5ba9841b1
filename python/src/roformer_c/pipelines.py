"""pipeline(TASK, MODEL): masked tokens, labels, vectors of tokens, with the results of transformers' pipelines."""
from __future__ import annotations

import ctypes
import warnings
from typing import (Any, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Type, TypedDict, Union,
                    overload)

import numpy as np

from . import _abi as abi
from . import _folder, _texts, errors, tensors
from ._lib import Error, byref, check, lib
from ._lib import rows as rows_of
from ._model import Floats, Model, Source
from .answers import QuestionAnsweringPipeline
from .cross import softmax_rows
from .generation import TextGenerationPipeline, TranslationPipeline, has_task
from .pipeline_base import Padding, Pipeline, Truncation, again, call, idle
from .sentence import one_of, positive, token_vectors
from .tags import TokenClassificationPipeline
from .tokenizer import Tokenizer
from .zero_shot import ZeroShotClassificationPipeline


class Filled(TypedDict):
    """A token for a mask."""
    score: float
    token: int
    token_str: str
    sequence: str


class Label(TypedDict):
    """A label of a text."""
    label: str
    score: float


Pair = Dict[str, str]                                   # {"text", "text_pair"}


class FillMaskPipeline(Pipeline):
    """The most likely tokens for the masks of texts.

    A text with one mask gives a list of {"score", "token", "token_str", "sequence"}, the most likely first; with
    several masks a list of such lists. A list of texts gives a list.

    >>> import roformer_c
    >>> fill = roformer_c.pipeline("fill-mask", "roformer-small-en")
    >>> fill("She won the gold [MASK] at the Olympic Games.", top_k=1)[0]["token_str"]
    'medal'
    """

    task = "fill-mask"

    @call
    def __call__(self, inputs: Any, *, top_k: int = 5, targets: Union[None, str, Sequence[str]] = None,
                 tokenizer_kwargs: Optional[Mapping[str, Any]] = None, batch_size: Optional[int] = None,
                 num_workers: Optional[int] = None) -> Union[List[Filled], List[List[Filled]], List[Any]]:
        """top_k tokens for each mask; targets: tokens of the vocabulary to choose from (None: all), or texts, which stand
        for their first token; tokenizer_kwargs: truncation, max_length and padding."""
        positive("top_k", top_k)
        idle(batch_size, num_workers, None)
        limit = self.named_limit("tokenizer_kwargs", tokenizer_kwargs)
        ids = self._targets(targets)
        top_k = min(top_k, len(ids) if ids is not None else self.tokenizer.get_vocab_size())
        texts, one = self.texts(inputs)
        out: List[Any] = []
        for block in _texts.blocks(texts, 256):
            packed = _texts.Block(block, "inputs", len(out))
            out += self.model.call(lambda p, packed=packed: self._fill(p, packed, top_k, ids, limit))  # type: ignore[misc]
        return out[0] if one or (isinstance(inputs, list) and len(inputs) == 1) else out

    def _targets(self, targets: Union[None, str, Sequence[str]]) -> Any:
        if targets is None:
            return None
        names = [targets] if isinstance(targets, str) else list(targets)
        found = list(filter(lambda i: i is not None, map(self._target, names)))
        if not found:
            raise errors.ArgumentError("targets: expected tokens of the vocabulary, got %s" % (names or "none"))
        return np.unique(np.array(found, np.int32))

    def _target(self, name: str) -> Optional[int]:
        """The id of a token; of another text, with a warning, that of its first token; None: it has none."""
        own = self.tokenizer.token_to_id(name)
        if own is not None:
            return own
        pieces = self.tokenizer.encode(name, add_special_tokens=False)
        got = "the first token of its text, %s, is used" % pieces.tokens[0] if pieces.ids else "it is ignored"
        warnings.warn("targets: expected a token of the vocabulary, got %r; %s" % (name, got), stacklevel=6)
        return pieces.ids[0] if pieces.ids else None

    def _fill(self, pipeline: int, texts: _texts.Block, top_k: int, ids: Any, limit: int) -> List[Any]:
        o, why, mask, masks = abi.rf_fill_options(), Error(), ctypes.c_void_p(), ctypes.c_int64()
        lib.rf_fill_options_init(byref(o), ctypes.sizeof(o))
        o.top_k, o.max_length = top_k, limit
        if ids is not None:
            o.target, o.targets = ids.ctypes.data, len(ids)
        check(lib.rf_fill_mask(pipeline, texts.pointers, texts.sizes, texts.n, byref(o), byref(mask), byref(masks), None,
                               byref(why)), why)
        rows: List[List[Any]] = [[] for _ in range(texts.n)]
        tokenizer = self.tokenizer
        found = rows_of(abi.rf_mask, mask.value, masks.value)
        for i in range(masks.value):
            m = found[i]
            word = rows_of(abi.rf_mask_word, m.word, m.words)
            rows[m.text].append([self._word(pipeline, tokenizer, m, word[k].id, word[k].score) for k in range(m.words)])
        return [r[0] if len(r) == 1 else r for r in rows]

    def _word(self, pipeline: int, tokenizer: Tokenizer, mask: Any, token: int, score: float) -> Dict[str, Any]:
        size = ctypes.c_size_t()
        text = lib.rf_fill_sequence(pipeline, byref(mask), token, byref(size))
        if not text:
            raise errors.OutOfMemoryError("fill-mask: out of memory: a text")
        sequence = tokenizer.take(text, size.value)
        return {"score": float(score), "token": int(token),
                "token_str": tokenizer.decode([token], skip_special_tokens=False), "sequence": sequence}


class TextClassificationPipeline(Pipeline):
    """Labels of texts or pairs of texts, by a fine-tuned model.

    A text gives [{"label", "score"}], the most likely; {"text", "text_pair"} gives {"label", "score"}; with top_k a
    list of so many (None: of all), the most likely first. A list or tuple gives a list; a pair in it may be a tuple.
    """

    task = "text-classification"

    def __init__(self, model: Model, *, top_k: Union[None, int, str] = "", **options: Any) -> None:
        super().__init__(model, **options)
        self.top_k = top_k

    def __reduce__(self) -> Any:
        return again, (type(self), self.model, {"top_k": self.top_k, **self.options})

    @overload
    def __call__(self, inputs: Pair, *, function_to_apply: Optional[str] = ...,  # type: ignore[overload-overlap]
                 truncation: Truncation = ..., max_length: Optional[int] = ..., padding: Padding = ...,
                 batch_size: Optional[int] = ..., num_workers: Optional[int] = ...) -> Label: ...

    @overload
    def __call__(self, inputs: Union[str, Iterable[Union[str, Pair, Tuple[str, str]]]], *, function_to_apply: Optional[str] = ...,
                 truncation: Truncation = ..., max_length: Optional[int] = ..., padding: Padding = ...,
                 batch_size: Optional[int] = ..., num_workers: Optional[int] = ...) -> List[Label]: ...

    @overload
    def __call__(self, inputs: Union[str, Pair], *, top_k: Optional[int],  # type: ignore[overload-overlap]
                 function_to_apply: Optional[str] = ...,
                 truncation: Truncation = ..., max_length: Optional[int] = ..., padding: Padding = ...,
                 batch_size: Optional[int] = ..., num_workers: Optional[int] = ...) -> List[Label]: ...

    @overload
    def __call__(self, inputs: Iterable[Union[str, Pair, Tuple[str, str]]], *, top_k: Optional[int],
                 function_to_apply: Optional[str] = ..., truncation: Truncation = ..., max_length: Optional[int] = ...,
                 padding: Padding = ..., batch_size: Optional[int] = ...,
                 num_workers: Optional[int] = ...) -> List[List[Label]]: ...

    @call
    def __call__(self, inputs: Any, *, top_k: Union[None, int, str] = "", function_to_apply: Optional[str] = None,
                 truncation: Truncation = None, max_length: Optional[int] = None, padding: Padding = None,
                 batch_size: Optional[int] = None, num_workers: Optional[int] = None) -> Any:
        """function_to_apply     None: as the folder says; "softmax", "sigmoid" or "none" (the model's outputs)
        truncation, max_length   as transformers' tokenizers take them; None: to the tokens that the model reads
        padding, batch_size, num_workers    change nothing
        """
        self.need_head("text-classification", "RF_HEAD_SEQUENCE")
        idle(batch_size, num_workers, padding)
        limit = self.limit(truncation, max_length, self.model.reading_length())
        legacy, top_k = top_k == "", self.top_k if top_k == "" else top_k
        function_to_apply = function_to_apply.lower() if isinstance(function_to_apply, str) else function_to_apply
        one_of("function_to_apply", function_to_apply, (None, "softmax", "sigmoid", "none"))
        if top_k not in ("", None):
            positive("top_k", top_k)
        single = isinstance(inputs, (str, dict))
        rows = [inputs] if single else list(_texts.listed(inputs, "inputs"))
        rows = [_pair(r) for r in rows]
        for i, r in enumerate(rows):
            if isinstance(r, dict) and (not set(r) <= {"text", "text_pair"} or "text" not in r):
                raise errors.ArgumentError("inputs: row %d: expected text, or {\"text\", \"text_pair\"}, got %r" % (i, r))
        texts = [r["text"] if isinstance(r, dict) else r for r in rows]
        pairs = [r.get("text_pair") if isinstance(r, dict) else None for r in rows]
        out: List[Any] = [None] * len(rows)
        for second in (False, True):
            at = [i for i in range(len(rows)) if (pairs[i] is not None) == second]
            for part in _texts.blocks(at, 32):
                if second and truncation in ("only_first", "only_second"):
                    raise errors.UnsupportedError("truncation: expected 'longest_first' for pairs, got %r" % truncation)
                scores = self._scores([texts[i] for i in part], [pairs[i] for i in part] if second else None,
                                      function_to_apply, limit)
                for i, s in zip(part, scores):
                    out[i] = self._row(s, top_k)
        if not single:
            return out
        return [out[0]] if isinstance(inputs, str) and legacy else out[0]

    def _scores(self, texts: List[Any], pairs: Optional[List[Any]], function: Optional[str], limit: Optional[int]) -> Any:
        second = _texts.Block(pairs, "inputs: text_pair") if pairs is not None else None
        if function is None and limit in (None, self.model.reading_length()):
            return self.model.classify(_texts.Block(texts, "inputs"), second).result()
        z = self.model.logits(self.encodings(texts, pairs, limit).encoded)
        function = function or self._function(z.shape[1])
        if function == "none":
            return z
        return softmax_rows(z) if function == "softmax" else 1 / (1 + np.exp(-z))

    def _function(self, outputs: int) -> str:
        """What the folder says of the outputs, as transformers reads it."""
        if outputs != len(self.labels):
            raise errors.UnsupportedError("truncation, max_length: expected none with a model of %d labels by %d outputs"
                                          % (len(self.labels), outputs))
        if self.model.problem_type == "regression":
            return "none"
        return "sigmoid" if outputs == 1 or self.model.problem_type == "multi_label_classification" else "softmax"

    def _row(self, scores: Any, top_k: Any) -> Any:
        if top_k == "":
            k = int(scores.argmax())
            return {"label": self.labels[k], "score": float(scores[k])}
        order = np.argsort(-scores, kind="stable")[:top_k]
        return [{"label": self.labels[int(k)], "score": float(scores[k])} for k in order]


def _pair(row: Any) -> Any:
    """A pair that is a tuple of two texts, or a list of one such list, as a dict."""
    if isinstance(row, list) and len(row) == 1 and isinstance(row[0], list):
        row = tuple(row[0])
    return {"text": row[0], "text_pair": row[1]} if isinstance(row, tuple) and len(row) == 2 else row


class FeatureExtractionPipeline(Pipeline):
    """The vectors of all tokens of texts, of the last layer: nested lists [1, tokens, D] for a text, a list for several.
    With return_tensors="np" arrays."""

    task = "feature-extraction"

    @overload
    def __call__(self, inputs: str, *, return_tensors: Literal["np"], truncation: Truncation = ...,
                 tokenize_kwargs: Optional[Mapping[str, Any]] = ..., batch_size: Optional[int] = ...,
                 num_workers: Optional[int] = ...) -> Floats: ...

    @overload
    def __call__(self, inputs: str, *, return_tensors: Optional[Literal[False]] = ..., truncation: Truncation = ...,
                 tokenize_kwargs: Optional[Mapping[str, Any]] = ..., batch_size: Optional[int] = ...,
                 num_workers: Optional[int] = ...) -> List[List[List[float]]]: ...

    @overload
    def __call__(self, inputs: Any, *, return_tensors: Union[None, bool, str] = ..., truncation: Truncation = ...,
                 tokenize_kwargs: Optional[Mapping[str, Any]] = ..., batch_size: Optional[int] = ...,
                 num_workers: Optional[int] = ...) -> Any: ...

    @call
    def __call__(self, inputs: Any, *, return_tensors: Union[None, bool, str] = None, truncation: Truncation = None,
                 tokenize_kwargs: Optional[Mapping[str, Any]] = None, batch_size: Optional[int] = None,
                 num_workers: Optional[int] = None) -> Any:
        """return_tensors      None: lists; True or "pt": tensors of PyTorch; "np": arrays
        truncation             True: texts are cut to what the model reads; None: a longer text is an error
        tokenize_kwargs        truncation, max_length and padding
        """
        one_of("return_tensors", return_tensors, (None, False, True, "pt", "np"))
        idle(batch_size, num_workers, None)
        texts, one = self.texts(inputs)
        o = abi.rf_embed_options()
        lib.rf_embed_options_init(byref(o), ctypes.sizeof(o))
        o.normalize, o.dimensions, o.prompt = 0, 0, b""
        o.max_length = self.named_limit("tokenize_kwargs", tokenize_kwargs, truncation)
        out: List[Any] = []
        for block in _texts.blocks(texts, 64):
            packed = _texts.Block(block, "inputs", len(out))
            out += self.model.call(lambda p, packed=packed: token_vectors(p, packed, o))  # type: ignore[misc]
        arrays = [v[None] for v in out]
        shaped = arrays if return_tensors else [a.tolist() for a in arrays]
        return tensors.converted(shaped[0] if one else shaped, return_tensors not in (True, "pt"), False)


PIPELINES: Dict[str, Type[Pipeline]] = {c.task: c for c in (
    FillMaskPipeline, TextClassificationPipeline, TokenClassificationPipeline, QuestionAnsweringPipeline,
    FeatureExtractionPipeline, TranslationPipeline, TextGenerationPipeline, ZeroShotClassificationPipeline)}
PIPELINES["sentiment-analysis"], PIPELINES["ner"] = TextClassificationPipeline, TokenClassificationPipeline


@overload
def pipeline(task: Literal["fill-mask"], model: Union[Source, Model], **options: Any) -> FillMaskPipeline: ...


@overload
def pipeline(task: Literal["text-classification", "sentiment-analysis"], model: Union[Source, Model], **options: Any) -> TextClassificationPipeline: ...


@overload
def pipeline(task: Literal["token-classification", "ner"], model: Union[Source, Model], **options: Any) -> TokenClassificationPipeline: ...


@overload
def pipeline(task: Literal["question-answering"], model: Union[Source, Model], **options: Any) -> QuestionAnsweringPipeline: ...


@overload
def pipeline(task: Literal["zero-shot-classification"], model: Union[Source, Model], **options: Any) -> ZeroShotClassificationPipeline: ...


@overload
def pipeline(task: Literal["feature-extraction"], model: Union[Source, Model], **options: Any) -> FeatureExtractionPipeline: ...


@overload
def pipeline(task: Literal["translation"], model: Union[Source, Model], **options: Any) -> TranslationPipeline: ...


@overload
def pipeline(task: Literal["text-generation"], model: Union[Source, Model], **options: Any) -> TextGenerationPipeline: ...


@overload
def pipeline(task: str, model: Union[Source, Model], **options: Any) -> Any: ...


def pipeline(task: str, model: Union[Source, Model], *, device: Optional[str] = None,
             cache_folder: Optional[_folder.PathLike] = None, revision: Optional[str] = None, dtype: str = "float32",
             threads: Optional[int] = None, **options: Any) -> Any:
    """A pipeline for a task, whose results have the form of transformers' pipelines.

    task    "fill-mask", "text-classification", "token-classification", "question-answering", "feature-extraction",
            "translation", "text-generation", "zero-shot-classification"
    model   a model folder or name, or files in memory; others as for SentenceTransformer
    options arguments of calls, for all calls: pipeline("text-classification", model, truncation=True, top_k=None)

    >>> import roformer_c
    >>> features = roformer_c.pipeline("feature-extraction", "roformer-small-en-sentences")
    >>> features("A dog barks.", return_tensors="np").shape
    (1, 7, 256)
    """
    from .sentence import only_cpu
    only_cpu(device)
    named = ""
    if isinstance(task, str) and task not in PIPELINES and task.startswith("translation_") and "_to_" in task:
        task, named = "translation", task
    one_of("task", task, tuple(PIPELINES))
    opened = model if isinstance(model, Model) else Model(model, dtype, threads, cache_folder, revision)
    if named and has_task(opened, named):  # its prefix and settings, as in transformers 4
        options.setdefault("task", named)
    return PIPELINES[task](opened, **options)
