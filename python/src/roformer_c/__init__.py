"""RoFormer, BERT and other encoders on CPUs: a thin binding over the C library libroformer.

    from roformer_c import SentenceTransformer
    model = SentenceTransformer("roformer-small-en-sentences")
    vectors = model.encode(["A dog barks.", "Prices fell."])

docs/python.md of the project describes every class with examples.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from ._abi import VERSION as __version__

if TYPE_CHECKING:
    from . import rope, util
    from ._lib import get_num_threads, processor, set_dictionary, set_num_threads
    from .cross import CrossEncoder
    from .dictionary import compile_dictionary
    from .errors import (ArgumentError, BusyError, CanceledError, ClosedError, DataError, FileError, NumericError,
                         OutOfMemoryError, ProcessError, RoformerError, TextTypeError, UnsupportedError)
    from .index import Index
    from .linear import linear_attention, linear_attention_backward
    from .pipelines import pipeline
    from .rope import attention, attention_backward
    from .scores import Score, bleu, chrf, ter
    from .sentence import SentenceTransformer
    from .tokenizer import Encoding, Encodings, Tokenizer
    from .training import Progress, TrainingResult, finetune, pretrain, train_translation
    from .util import SimilarityFunction, quantize_embeddings

__all__ = [
    "ArgumentError", "BusyError", "CanceledError", "ClosedError", "CrossEncoder", "DataError", "Encoding", "Encodings",
    "FileError", "Index", "NumericError", "OutOfMemoryError", "ProcessError", "Progress", "RoformerError", "Score",
    "SentenceTransformer", "SimilarityFunction", "TextTypeError", "Tokenizer", "TrainingResult", "UnsupportedError", "__version__",
    "attention", "attention_backward", "bleu", "chrf", "compile_dictionary", "finetune", "get_num_threads",
    "linear_attention",
    "linear_attention_backward", "pipeline", "pretrain", "processor", "quantize_embeddings", "rope", "set_dictionary",
    "set_num_threads", "ter", "train_translation", "util",
]

# Modules are imported when a name of theirs is used first: who computes vectors does not wait for the rest.
_MODULES = {
    "_lib": ("get_num_threads", "processor", "set_dictionary", "set_num_threads"),
    "cross": ("CrossEncoder",),
    "dictionary": ("compile_dictionary",),
    "errors": ("ArgumentError", "BusyError", "CanceledError", "ClosedError", "DataError", "FileError", "NumericError",
               "OutOfMemoryError", "ProcessError", "RoformerError", "TextTypeError", "UnsupportedError"),
    "index": ("Index",),
    "linear": ("linear_attention", "linear_attention_backward"),
    "pipelines": ("pipeline",),
    "rope": ("attention", "attention_backward"),
    "scores": ("Score", "bleu", "chrf", "ter"),
    "sentence": ("SentenceTransformer",),
    "tokenizer": ("Encoding", "Encodings", "Tokenizer"),
    "training": ("Progress", "TrainingResult", "finetune", "pretrain", "train_translation"),
    "util": ("SimilarityFunction", "quantize_embeddings"),
}


def __getattr__(name: str) -> Any:
    import importlib
    if name in ("rope", "util"):
        return importlib.import_module("." + name, __name__)
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module("." + module, __name__), name)
            return value
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
