"""Exceptions. All are RoformerError, and each is also the exception of Python that one expects for its cause."""
from __future__ import annotations


class RoformerError(Exception):
    """Base of all exceptions of this package. `str(e)` is one sentence: where, what, expected, got, what to do."""


class ArgumentError(RoformerError, ValueError):
    """An argument has a value that is not possible, or that this package does not have."""


class TextTypeError(RoformerError, TypeError):
    """Something other than a string was given as a text."""


class DataError(RoformerError, ValueError):
    """A file or a text does not hold what it must."""


class UnsupportedError(RoformerError, ValueError):
    """The file, model or setting is well-formed, but of a kind that is not supported."""


class NumericError(RoformerError, ValueError):
    """A number is not finite."""


class FileError(RoformerError, OSError):
    """The operating system refused to read or write, or there is no such file."""


class OutOfMemoryError(RoformerError, MemoryError):
    """There is not enough memory for this call. The object is usable afterwards."""


class BusyError(RoformerError, OSError):
    """Another process holds the file, or too many calls are waiting."""


class CanceledError(RoformerError):
    """The call was ended before it had a result."""


class ProcessError(RoformerError, RuntimeError):
    """The object belongs to another process: it was opened before a fork."""


class ClosedError(RoformerError, ValueError):
    """The object was closed."""
