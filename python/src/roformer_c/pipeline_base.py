"""What the pipelines share: the model, its tokenizer and labels, and the forms in which texts are given."""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

from . import _abi as abi
from . import _texts, errors
from ._model import Model
from .tokenizer import Encodings, Tokenizer

HEADS = {"RF_HEAD_TOKEN": (abi.RF_HEAD_TOKEN,), "RF_HEAD_SPAN": (abi.RF_HEAD_SPAN,),
         "RF_HEAD_SEQUENCE": (abi.RF_HEAD_SEQUENCE, abi.RF_HEAD_POOLED)}


class Pipeline:
    """A model for a task. Any thread may call it at any time; after a fork, a child makes its own."""

    task = ""

    def __init__(self, model: Model) -> None:
        self.model = model
        tokenizer = self.tokenizer
        self.special = tokenizer.special_ids()
        self.wordpiece = tokenizer.is_wordpiece()           # tokens that continue a word begin with ##
        self.labels: List[str] = model.labels()

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.model.folder)

    def __reduce__(self) -> Any:
        return type(self), (self.model,)

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

    def encodings(self, texts: List[Any], pairs: Optional[List[Any]] = None, limit: Optional[int] = None,
                  special: bool = True) -> Encodings:
        """The tokens of texts or pairs, truncated to `limit` tokens, by default those that the head reads."""
        most = self.model.reading_length() if limit is None else limit
        return self.tokenizer._encode(texts, pairs, special, most or None)
