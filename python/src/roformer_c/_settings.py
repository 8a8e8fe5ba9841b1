"""Arguments of sentence-transformers' classes that change nothing here, and those that cannot be had."""
from __future__ import annotations

from typing import Any, Dict

from . import errors

# Nothing is downloaded, and code of a folder is never run: these have no effect on a model that opens.
IDLE = ("trust_remote_code", "local_files_only", "token", "use_auth_token", "model_card_data")


def dtype_of(dtype: Any, others: Dict[str, Any]) -> str:
    """The type of the matrices, from `dtype` or model_kwargs; raises for an argument in `others` that would change more."""
    given = dict(others)
    kwargs = dict(given.pop("model_kwargs", None) or {})
    for name in IDLE:
        given.pop(name, None)
    backend = given.pop("backend", "torch")
    if backend != "torch":
        raise errors.UnsupportedError("backend: expected 'torch', whose results are the same, got %r" % (backend,))
    for name in ("processor_kwargs", "tokenizer_kwargs", "config_kwargs", "modules", "prompts", "default_prompt_name"):
        value = given.pop(name, None)
        if value:
            raise errors.UnsupportedError("%s: expected none, got %r: settings are those of the folder" % (name, value))
    if given:
        raise TypeError("got an unexpected keyword argument %r" % next(iter(given)))
    kwargs.pop("attn_implementation", None)                         # another way to the same numbers
    said = [kwargs.pop(name) for name in ("dtype", "torch_dtype") if name in kwargs]
    if kwargs:
        raise errors.UnsupportedError("model_kwargs: expected dtype or attn_implementation, got %r" % next(iter(kwargs)))
    name = str(said[0] if said and said[0] is not None else dtype).replace("torch.", "")
    return dtype if name == "auto" else name
