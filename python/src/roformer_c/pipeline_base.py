"""What the pipelines share: the model, its tokenizer and labels, and the forms in which texts are given."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, TypeVar, Union, cast

from . import _abi as abi
from . import _texts, errors, modules
from ._model import Model, whole
from .tokenizer import Encodings, Tokenizer

HEADS = {"RF_HEAD_TOKEN": (abi.RF_HEAD_TOKEN,), "RF_HEAD_SPAN": (abi.RF_HEAD_SPAN,),
         "RF_HEAD_SEQUENCE": (abi.RF_HEAD_SEQUENCE, abi.RF_HEAD_POOLED)}
# What transformers' tokenizers take as truncation and padding.
CUTS = (None, True, False, "longest_first", "only_first", "only_second", "do_not_truncate")
PADS = (None, True, False, "longest", "max_length", "do_not_pad")
Truncation = Union[None, bool, str]
Padding = Union[None, bool, str]
F = TypeVar("F", bound=Callable[..., Any])


def call(method: F) -> F:
    """The call of a pipeline: what was given to `pipeline` are defaults, and `close` in another thread waits for its end."""
    inner = whole(method)

    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **given: Any) -> Any:
        return inner(self, *arguments, **{**self.options, **given})
    return cast(F, run)


def idle(batch_size: Optional[int], num_workers: Optional[int], padding: Padding) -> None:
    """Checks what does not change a result: one call computes with all threads, and texts are not padded."""
    for name, value, least in (("batch_size", batch_size, 1), ("num_workers", num_workers, 0)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise errors.ArgumentError("%s: expected None or an integer from %d on, got %r" % (name, least, value))
    if padding not in PADS:
        raise errors.ArgumentError("padding: expected one of %s, got %r" % (", ".join(map(repr, PADS)), padding))


class Pipeline:
    """A model for a task. Any thread may call it at any time; after a fork, a child makes its own.

    options    arguments of calls, for all calls that do not give them
    """

    task = ""

    def __init__(self, model: Model, **options: Any) -> None:
        self.model = model
        known = inspect.signature(type(self).__call__).parameters
        if not any(p.kind == p.VAR_KEYWORD for p in known.values()):
            for name in set(options) - {p.name for p in known.values() if p.kind == p.KEYWORD_ONLY}:
                raise TypeError("pipeline %s: got an unexpected keyword argument %r" % (self.task, name))
        self.options = options
        tokenizer = self.tokenizer
        self.special = tokenizer.special_ids()
        self.wordpiece = tokenizer.is_wordpiece()           # tokens that continue a word begin with ##
        self.labels: List[str] = model.labels()

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.model.folder)

    def __reduce__(self) -> Any:
        return again, (type(self), self.model, self.options)

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the model and frees its memory. Garbage collection does so as well."""
        self.model.close()

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return Tokenizer._of_model(self.model)

    def texts(self, inputs: Any) -> Tuple[Any, bool]:
        """The texts, and whether a single one was given."""
        if _texts.is_one(inputs):
            return [inputs], True
        return _texts.listed(inputs, "inputs"), False

    def need_head(self, task: str, head: str) -> None:
        """Raises unless the model was fine-tuned for the task."""
        if self.model.task not in HEADS[head] or not self.labels and head != "RF_HEAD_SPAN":
            raise errors.UnsupportedError("model %s: expected a head for %s, got %s; fine-tune the model for this task"
                                          % (self.model.folder, task, self.model.architecture))

    def limit(self, truncation: Truncation, max_length: Optional[int], most: int) -> Optional[int]:
        """Tokens that texts are truncated to, from these arguments of transformers' tokenizers; 0: they are not; None: both
        arguments are None.

        most    the length without max_length; 0: there is none
        """
        if truncation not in CUTS:
            raise errors.ArgumentError("truncation: expected one of %s, got %r"
                                       % (", ".join(map(repr, CUTS)), truncation))
        if max_length is not None and (isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1):
            raise errors.ArgumentError("max_length: expected None or an integer above 0, got %r" % (max_length,))
        if truncation in (False, "do_not_truncate"):
            return 0
        if truncation is None:
            return max_length
        return max_length if max_length is not None else most

    def named_limit(self, name: str, given: Optional[Mapping[str, Any]], truncation: Truncation = None) -> int:
        """The limit by the arguments of the tokenizer in a dict, which is the argument `name`; 0: texts are not cut."""
        kwargs: Dict[str, Any] = dict(given or {})
        if truncation is not None and "truncation" in kwargs:
            raise errors.ArgumentError("truncation: expected once, got it in %s as well" % name)
        truncation = kwargs.pop("truncation", truncation)
        max_length, padding = kwargs.pop("max_length", None), kwargs.pop("padding", None)
        if kwargs:
            raise errors.ArgumentError("%s: expected truncation, max_length or padding, got %r" % (name, next(iter(kwargs))))
        idle(None, None, padding)
        if padding == "max_length":
            raise errors.UnsupportedError("padding: expected no padding tokens, got 'max_length'; texts are not padded here")
        return self.limit(truncation, max_length, self.text_length()) or 0

    def text_length(self) -> int:
        """Tokens of the longest text: the tokenizer's model_max_length, at most the model's positions; 0: no limit."""
        said = (modules.setting(self.model.source, "tokenizer_config.json") or {}).get("model_max_length")
        limits = [int(n) for n in (said, self.model.max_positions) if isinstance(n, (int, float)) and 0 < n < 1 << 31]
        return min(limits) if limits else 0

    def encodings(self, texts: List[Any], pairs: Optional[List[Any]] = None, limit: Optional[int] = None,
                  special: bool = True) -> Encodings:
        """The tokens of texts or pairs, truncated to `limit` tokens, by default those that the head reads."""
        most = self.model.reading_length() if limit is None else limit
        return self.tokenizer._encode(texts, pairs, special, most or None)


def again(kind: Any, model: Model, options: Dict[str, Any]) -> Pipeline:
    """A pipeline out of a pickle."""
    return kind(model, **options)  # type: ignore[no-any-return]
