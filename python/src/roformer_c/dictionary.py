"""The dictionary of Chinese words, compiled:  python3 -m roformer_c.dictionary FOLDER [DICT.TXT...]"""
from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import List, Optional, Sequence, Union

from . import _folder, errors
from ._lib import Error, byref, check, context, lib


def _of_jieba() -> str:
    """dict.txt of the Python package jieba, which is not imported."""
    spec = importlib.util.find_spec("jieba")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.path.isfile(os.path.join(folder, "dict.txt")):
            return os.path.join(folder, "dict.txt")
    raise errors.FileError("texts: expected the package jieba, got none; pip install jieba, or name its dict.txt")


def compile_dictionary(path: _folder.PathLike, texts: Union[None, _folder.PathLike, Sequence[_folder.PathLike]] = None,
                       name: str = "jieba") -> str:
    """Compiles words for tokenizers of Chinese text, as `roformer dictionary` does; returns the name of the file.

    path     the file to write; or a model folder, which gets it as dictionary.words
    texts    files with "word frequency [tag]" on each line; None: those of the Python package jieba
    name     of the dictionary in tokenizer_config.json

    Raises FileError and DataError (a malformed line).
    """
    given = [_of_jieba()] if texts is None else [texts] if isinstance(texts, (str, os.PathLike)) else list(texts)
    out = os.fspath(path)
    if os.path.isdir(out):
        out = os.path.join(out, "dictionary.words")
    names = [_folder.encoded(t, "texts") for t in given]
    array, why, ctx = (ctypes.c_char_p * len(names))(*names), Error(), context()
    to = _folder.encoded(out, "path")
    check(lib.rf_dictionary_compile(ctx.address, array, len(names), name.encode(), to, byref(why)), why)
    return out


def main(arguments: List[str]) -> Optional[str]:
    """The command; returns what is wrong."""
    if not arguments or arguments[0].startswith("-"):
        return __doc__
    try:
        print(compile_dictionary(arguments[0], arguments[1:] or None, "own" if arguments[1:] else "jieba"))
    except errors.RoformerError as e:
        return str(e)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
