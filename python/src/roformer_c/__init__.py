"""RoFormer, BERT and other encoders on CPUs: a thin binding over the C library libroformer.

    from roformer_c import SentenceTransformer
    model = SentenceTransformer("roformer-small-en-sentences")
    vectors = model.encode(["A dog barks.", "Prices fell."])

docs/python.md of the project describes every class with examples.
"""
from __future__ import annotations

from . import rope
from ._abi import VERSION as __version__
from ._lib import get_num_threads, processor, set_dictionary, set_num_threads
from .cross import CrossEncoder
from .errors import (ArgumentError, BusyError, CanceledError, ClosedError, DataError, FileError, NumericError,
                     OutOfMemoryError, ProcessError, RoformerError, TextTypeError, UnsupportedError)
from .index import Index
from .pipelines import pipeline
from .rope import attention, attention_backward
from .scores import Score, bleu, chrf, ter
from .sentence import SentenceTransformer
from .tokenizer import Encoding, Encodings, Tokenizer

__all__ = [
    "ArgumentError", "BusyError", "CanceledError", "ClosedError", "CrossEncoder", "DataError", "Encoding", "Encodings",
    "FileError", "Index", "NumericError", "OutOfMemoryError", "ProcessError", "RoformerError", "Score",
    "SentenceTransformer", "TextTypeError", "Tokenizer", "UnsupportedError", "__version__", "attention",
    "attention_backward", "bleu", "chrf", "get_num_threads", "pipeline", "processor", "rope", "set_dictionary",
    "set_num_threads", "ter",
]
