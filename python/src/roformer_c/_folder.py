"""Which folder a model name means: a folder, a shipped model, or a snapshot in the local cache of Hugging Face."""
from __future__ import annotations

import functools
import importlib.util
import os
import sys
from typing import List, Optional, Union

from . import errors

PathLike = Union[str, "os.PathLike[str]"]


@functools.lru_cache(maxsize=None)
def shipped() -> Optional[str]:
    """The models of the package roformer-c-models, or those next to the program under the interpreter's prefix (Debian:
    roformer-models); None: neither is installed."""
    spec = importlib.util.find_spec("roformer_c_models")
    if spec is not None and spec.submodule_search_locations:
        return os.path.join(list(spec.submodule_search_locations)[0], "models")
    folder = os.path.join(sys.base_prefix, "share", "roformer", "models")
    return folder if os.path.isdir(folder) else None


def shipped_dictionary() -> Optional[str]:
    """The dictionary of Chinese words of roformer-c-models or next to the shipped models; None if it is not installed."""
    folder = shipped()
    for parent in (folder, os.path.dirname(folder)) if folder else ():
        path = os.path.join(parent, "jieba.words")
        if os.path.isfile(path):
            return path
    return None


def hub(cache_folder: Optional[PathLike] = None) -> str:
    """Where Hugging Face's libraries keep downloaded models."""
    if cache_folder is not None:
        return os.fspath(cache_folder)
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return named
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "huggingface")
    return os.path.join(home, "hub")


def _read(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return None


def _snapshot(cache: str, name: str, revision: str) -> Optional[str]:
    """The folder of a model in the cache: models--ORGANIZATION--NAME/snapshots/COMMIT."""
    root = os.path.join(cache, "models--" + name.replace("/", "--"))
    commit = _read(os.path.join(root, "refs", revision)) or revision
    folder = os.path.join(root, "snapshots", commit)
    return folder if os.path.isdir(folder) else None


def absolute(folder: str) -> str:
    """The folder for another process, which may have another working directory."""
    return os.path.abspath(folder) if os.path.exists(folder) else folder


def _is_name(text: str) -> bool:
    """Whether the text can be NAME or ORGANIZATION/NAME on the hub, and not only a path."""
    if os.sep != "/" and (os.sep in text or os.path.splitdrive(text)[0]):
        return False
    return text.count("/") <= 1 and all(part.strip(".") for part in text.split("/"))


def encoded(path: PathLike, where: str, what: str = "a path") -> bytes:
    """A path for the library, which takes the system's bytes, on Windows UTF-8 (as PEP 529). There a lone surrogate, which
    no text in UTF-8 has, gets three bytes, for which the library says that there is no such file."""
    try:
        out = os.fsencode(path)
    except UnicodeEncodeError as e:
        raise errors.ArgumentError("%s: expected %s that UTF-8 can hold, got %r" % (where, what, path)) from e
    if b"\0" in out:
        raise errors.ArgumentError("%s: expected %s without NUL, got %r" % (where, what, path))
    return out


def find(name: PathLike, cache_folder: Optional[PathLike] = None, revision: Optional[str] = None) -> str:
    """The folder that `name` means. Nothing is downloaded.

    FileError    there is no such folder, shipped model or cached model; the message says how to fetch it
    """
    if not isinstance(name, (str, os.PathLike)):
        raise errors.ArgumentError("model: expected the name of a folder or model, got %s" % type(name).__name__)
    text = os.fspath(name)
    if not isinstance(text, str) or not text or "\0" in text:
        raise errors.ArgumentError("model: expected the name of a folder or model, got %r" % (text,))
    if os.path.isdir(text) or text.startswith("memory:"):
        if revision is not None:
            raise errors.ArgumentError("revision: expected None for a folder, got %r" % (revision,))
        return text
    if os.path.exists(text):
        raise errors.FileError("%s: expected a model folder, got a file; give the folder that holds it" % text)
    models = shipped()
    if models and "/" not in text and _is_name(text) and os.path.isdir(os.path.join(models, text)):
        return os.path.join(models, text)
    cache = hub(cache_folder)
    names: List[str] = [text] if "/" in text else [text, "sentence-transformers/" + text]
    for candidate in names:
        found = _snapshot(cache, candidate, revision or "main")
        if found:
            return found
    if not _is_name(text):
        raise errors.FileError("%s: expected a model folder, got no such folder" % text)
    raise errors.FileError(
        "%s: expected a model folder or a model in %s, got neither; fetch it on a machine with a network: "
        "hf download %s" % (text, cache, names[-1]))
