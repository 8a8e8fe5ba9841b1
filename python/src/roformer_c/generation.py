"""text-generation and translation, with the results of transformers' pipelines; text as it is generated."""
from __future__ import annotations

import ctypes
import queue
import threading
from typing import Any, Dict, Iterable, Iterator, List, Optional, overload

import numpy as np

from . import _abi as abi
from . import _texts, errors
from ._lib import WAIT, Error, byref, check, error_of, lib, struct
from ._model import Model
from .pipeline_base import Pipeline, call, idle

# transformers' names of options: the members of rf_generate_options.
INTEGERS = ("max_new_tokens", "top_k", "no_repeat_ngram_size", "num_return_sequences", "num_beams", "max_length",
            "min_new_tokens", "min_length", "batch_size")
REALS = ("temperature", "top_p", "repetition_penalty", "min_p", "typical_p", "length_penalty")
SEARCHES = {False: abi.RF_STOP_HEURISTIC, True: abi.RF_STOP_EARLY, "never": abi.RF_STOP_NEVER}


class Options:
    """rf_generate_options from keywords; the values of the folder for those that are not given."""

    def __init__(self, pipeline: int, given: Dict[str, Any], translation: bool, task: Optional[str] = None) -> None:
        self.raw = abi.rf_generate_options()
        self._keep: List[Any] = []
        self.source_prefix: Optional[bytes] = None
        why = Error()
        if task is not None:
            text = ctypes.create_string_buffer(256)
            check(lib.rf_translate_task_sized(lib.rf_pipeline_model(pipeline), _texts.without_nul(task, "task"), byref(self.raw),
                                              ctypes.sizeof(self.raw), text, len(text), byref(why)), why)
            self.source_prefix = text.value
        elif translation:
            lib.rf_translate_init(lib.rf_pipeline_model(pipeline), byref(self.raw), ctypes.sizeof(self.raw))
        else:
            status = lib.rf_generate_defaults_of_sized(pipeline, byref(self.raw), ctypes.sizeof(self.raw), byref(why))
            check(status, why)
        for name, value in given.items():
            self._set(name, value)
        if "max_new_tokens" in given and "max_length" not in given:
            self.raw.max_length = 0                     # the folder's, over which the given one counts
        if given.get("do_sample") and "num_beams" not in given:
            self.raw.num_beams = 1

    def _set(self, name: str, value: Any) -> None:
        o = self.raw
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if name in INTEGERS and number and int(value) == value:
            setattr(o, name, int(value))
        elif name in REALS and number:
            setattr(o, name, float(value))
        elif name == "do_sample" and isinstance(value, bool):
            o.do_sample = int(value)
        elif name == "seed" and number and int(value) == value and 0 <= value < 1 << 64:
            o.seed = int(value)
        elif name == "early_stopping" and isinstance(value, (bool, str)) and value in SEARCHES:
            o.early_stopping = SEARCHES[value]
        elif name == "stop_strings" and isinstance(value, (str, list, tuple)):
            texts = [value] if isinstance(value, str) else list(value)
            rows = [_texts.without_nul(t, "stop_strings") for t in texts]
            array = (ctypes.c_char_p * len(rows))(*rows)
            self._keep += [rows, array]
            o.stop_string, o.stop_strings = ctypes.addressof(array), len(rows)
        elif name in INTEGERS + REALS + ("do_sample", "seed", "early_stopping", "stop_strings"):
            raise errors.ArgumentError("%s: expected %s, got %r" % (name, _kind(name), value))
        else:
            raise errors.ArgumentError("%s: expected one of %s, got an unknown option" % (
                name, ", ".join(INTEGERS + REALS + ("do_sample", "seed", "early_stopping", "stop_strings"))))


def _kind(name: str) -> str:
    kinds = {"do_sample": "True or False", "seed": "an integer of 64 bits", "stop_strings": "texts",
             "early_stopping": "True, False or 'never'"}
    return kinds.get(name, "an integer" if name in INTEGERS else "a number")


def _own(why: Any) -> Optional[errors.RoformerError]:
    """The exception for an `const rf_error *` of a callback."""
    if not why:
        return None
    e = struct(abi.rf_error, why)
    return error_of(e.code, e)


class TextGenerationPipeline(Pipeline):
    """Continues prompts with a causal model.

    A prompt gives [{"generated_text"}], with num_return_sequences several; a list of prompts gives a list of lists.
    Options have the names of transformers' generate: max_new_tokens, do_sample, temperature, top_k, top_p, min_p,
    typical_p, repetition_penalty, no_repeat_ngram_size, num_beams, length_penalty, early_stopping,
    num_return_sequences, max_length, min_new_tokens, min_length, stop_strings, batch_size; and seed. Others are errors. Those that are not given
    are the folder's.
    """

    task = "text-generation"

    @overload
    def __call__(self, inputs: str, *, return_full_text: bool = ...,  # pyright: ignore[reportOverlappingOverload]
                 **options: Any) -> List[Dict[str, str]]: ...

    @overload
    def __call__(self, inputs: Iterable[str], *, return_full_text: bool = ..., **options: Any) -> List[List[Dict[str, str]]]: ...

    @call
    def __call__(self, inputs: Any, *, return_full_text: bool = True, **options: Any) -> Any:
        """return_full_text: True: the prompt comes first; False: only the new text."""
        idle(None, options.pop("num_workers", None), options.pop("padding", None))
        texts, one = self.texts(inputs)
        prompts = list(texts)
        packed = _texts.Block(prompts, "inputs")
        rows = self.model.call(lambda p: self._generate(p, packed, Options(p, options, False)))
        out = [[{"generated_text": (prompt if return_full_text else "") + text} for text in row]
               for prompt, row in zip(prompts, rows)]
        return out[0] if one else out

    def _generate(self, pipeline: int, prompts: _texts.Block, options: Options) -> List[List[str]]:
        each = max(int(options.raw.num_return_sequences), 1)
        found: List[List[str]] = [[""] * each for _ in range(prompts.n)]
        failed: List[errors.RoformerError] = []

        def done(user: Any, text: int, generation: Any, why: Any) -> int:
            error = _own(why)
            if error:
                failed.append(type(error)("inputs: text %d: %s" % (text // each, error)))
                return 1
            g = struct(abi.rf_generation, generation)
            found[text // each][text % each] = ctypes.string_at(g.text, g.bytes).decode("utf-8", "replace")
            return 0
        callback, why = abi.rf_texts_done(done), Error()
        status = lib.rf_generate_texts(pipeline, prompts.pointers, prompts.sizes, _occurrences(prompts, each), prompts.n,
                                       byref(options.raw), None, callback, None, byref(why))
        if failed:
            raise failed[0]
        check(status, why)
        return found

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        """Yields the new text piece by piece, as it is generated. Closing the iterator ends the generation."""
        text = _texts.encode_one(prompt, "prompt")
        return _stream(self, text, options)


def _occurrences(prompts: _texts.Block, each: int) -> Any:
    """Equal prompts of a call get different samples, as in the program: the number of each, `each` samples apart."""
    seen: Dict[Optional[bytes], int] = {}
    numbers = []
    for prompt in prompts.pointers:
        numbers.append(seen.get(prompt, 0))
        seen[prompt] = numbers[-1] + each
    return (ctypes.c_uint64 * prompts.n)(*numbers)


def _stream(pipeline: TextGenerationPipeline, prompt: bytes, options: Dict[str, Any]) -> Iterator[str]:
    pieces: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    stopped = threading.Event()

    def sink(user: Any, text: Any, size: int) -> int:
        if size:
            pieces.put(ctypes.string_at(text, size))
        return int(stopped.is_set())

    def run(p: int) -> None:
        o, why, callback = Options(p, options, False), Error(), abi.rf_text_sink(sink)
        check(lib.rf_generate(p, prompt, len(prompt), byref(o.raw), callback, None, None, byref(why)), why)

    def work() -> None:
        try:
            pipeline.model.call(run)
            pieces.put(None)
        except BaseException as e:  # noqa: B902: it is raised again in the thread that reads
            pieces.put(e)
    thread = threading.Thread(target=work, name="roformer_c stream", daemon=True)
    thread.start()
    rest = b""
    try:
        while True:
            try:
                piece = pieces.get(timeout=WAIT)
            except queue.Empty:
                continue
            if piece is None:
                break
            if isinstance(piece, BaseException):
                raise piece
            rest += piece
            text, rest = _whole(rest)
            if text:
                yield text
        if rest:
            yield rest.decode("utf-8", "replace")
    finally:
        stopped.set()
        thread.join()


def _whole(data: bytes) -> "tuple[str, bytes]":
    """The characters that are complete, and the bytes of one that is not."""
    for cut in range(min(3, len(data)) + 1):
        try:
            return data[:len(data) - cut].decode(), data[len(data) - cut:]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""


def has_task(model: Model, task: str) -> bool:
    """Whether task_specific_params of config.json has it."""
    def known(pipeline: int) -> bool:
        try:
            Options(pipeline, {}, True, task)
        except errors.UnsupportedError:
            return False
        return True
    return bool(model.call(known))


class TranslationPipeline(Pipeline):
    """Translates texts with an encoder-decoder model.

    A text gives [{"translation_text"}], with num_return_sequences several; a list of texts gives a list of them in
    order (with num_return_sequences: of lists). Options as for text-generation; those that are not given are the
    folder's. With long_source="split", a text longer than the model reads is translated in parts. src_lang and
    tgt_lang name the languages for M2M-100, NLLB and mBART, such as "eng_Latn"; without them, they are the folder's.
    source_prefix is put before each text; `task`, such as "summarization", takes it and other settings from
    task_specific_params of config.json, which T5's folders have.
    """

    task = "translation"

    @overload
    def __call__(self, inputs: str, *, prefix: Optional[str] = ..., source_prefix: Optional[str] = ...,
                 task: Optional[str] = ..., long_source: str = ..., src_lang: Optional[str] = ...,
                 tgt_lang: Optional[str] = ..., **options: Any) -> List[Dict[str, str]]: ...

    @overload
    def __call__(self, inputs: Iterable[str], *, prefix: Optional[str] = ..., source_prefix: Optional[str] = ...,
                 task: Optional[str] = ..., long_source: str = ..., src_lang: Optional[str] = ...,
                 tgt_lang: Optional[str] = ..., num_return_sequences: int, **options: Any) -> List[Any]: ...

    @overload
    def __call__(self, inputs: Iterable[str], *, prefix: Optional[str] = ..., source_prefix: Optional[str] = ...,
                 task: Optional[str] = ..., long_source: str = ..., src_lang: Optional[str] = ...,
                 tgt_lang: Optional[str] = ..., **options: Any) -> List[Dict[str, str]]: ...

    @call
    def __call__(self, inputs: Any, *, prefix: Optional[str] = None, source_prefix: Optional[str] = None,
                 task: Optional[str] = None, long_source: str = "refuse", src_lang: Optional[str] = None,
                 tgt_lang: Optional[str] = None, **options: Any) -> Any:
        if long_source not in ("refuse", "split"):
            raise errors.ArgumentError("long_source: expected 'refuse' or 'split', got %r" % (long_source,))
        idle(None, options.pop("num_workers", None), options.pop("padding", None))
        texts, one = self.texts(inputs)
        named = {"prefix": prefix, "source_prefix": source_prefix, "source_lang": src_lang, "target_lang": tgt_lang}
        out: List[Any] = []
        for block in _texts.blocks(texts, 1024):
            packed, first = _texts.Block(block, "inputs", len(out)), len(out)
            out += self.model.call(
                lambda p, packed=packed, first=first: self._translate(  # type: ignore[misc]
                    p, packed, first, task, named, long_source, options))
        several = "num_return_sequences" in options and options["num_return_sequences"] > 1
        if one:
            return out[0]
        return out if several else [row[0] for row in out]

    def _translate(self, pipeline: int, texts: _texts.Block, first: int, task: Optional[str],
                   named: Dict[str, Optional[str]], long_source: str, given: Dict[str, Any]) -> List[List[Dict[str, str]]]:
        generate, o = Options(pipeline, given, True, task), abi.rf_translate_options()
        lib.rf_translate_options_init(byref(o), ctypes.sizeof(o))
        o.generate = ctypes.addressof(generate.raw)
        o.long_source = abi.RF_LONG_SPLIT if long_source == "split" else abi.RF_LONG_REFUSE
        o.source_prefix = generate.source_prefix
        for name, text in named.items():
            if text is not None:
                setattr(o, name, _texts.without_nul(text, name))
        found: List[List[Dict[str, str]]] = [[] for _ in range(texts.n)]
        failed: List[errors.RoformerError] = []

        def done(user: Any, text: int, translation: Any, why: Any) -> int:
            error = _own(why)
            if error:
                failed.append(type(error)("inputs: text %d: %s" % (first + text, error)))
                return 1
            t = struct(abi.rf_text_translation, translation)
            found[text].append({"translation_text": ctypes.string_at(t.text, t.bytes).decode("utf-8", "replace")})
            return 0
        callback, why = abi.rf_translate_texts_done(done), Error()
        status = lib.rf_translate_texts(pipeline, texts.pointers, texts.sizes, texts.n, byref(o), callback, None, byref(why))
        if failed:
            raise failed[0]
        check(status, why)
        return found
