"""A model and its engine (roformer/engine.h): jobs from any thread, interrupted by Ctrl-C, refused after a fork."""
from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

from . import _abi as abi
from . import _folder, _texts, errors
from ._lib import WAIT, Context, Error, byref, check, context, error_of, free_with, lib, rows, struct
from ._texts import Block

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Source = Union[_folder.PathLike, Mapping[str, Any]]       # a folder or name; or files by name, as bytes
Floats = NDArray[np.float32]
TYPES = {"float32": abi.RF_F32, "bfloat16": abi.RF_BF16, "int8": abi.RF_I8, "int8w": abi.RF_I8W}
FEW, FEW_BYTES = 8, 1000


def floats(address: Any, *shape: int) -> Floats:
    """A copy of the library's floats."""
    n = 1
    for d in shape:
        n *= d
    if not n:
        return np.zeros(shape, np.float32)
    memory = memoryview((ctypes.c_float * n).from_address(address))
    return np.frombuffer(memory, np.float32).reshape(shape).copy()


def integers(address: Any, n: int, dtype: Any) -> Any:
    """A copy of n of the library's integers."""
    kind = np.dtype(dtype)
    if not n:
        return np.zeros(0, kind)
    return np.frombuffer(memoryview((ctypes.c_char * (n * kind.itemsize)).from_address(address)), kind).copy()


class Job:
    """A job of the engine. Free it with `close`, also after an exception; `result` does so by itself."""

    __slots__ = ("engine", "process", "address", "keep")

    def __init__(self, engine: "_Engine", address: int, keep: Any = None) -> None:
        self.engine, self.process = engine, os.getpid()
        self.address: Optional[int] = address
        self.keep = keep

    def wait(self) -> None:
        """Until the job has ended. An exception of a signal handler, such as KeyboardInterrupt, cancels it."""
        why = Error()
        try:
            while True:
                status = lib.rf_engine_wait(self.address, WAIT, byref(why))
                if status != abi.RF_EBUSY:
                    break
                why.code = 0
        except BaseException:
            lib.rf_engine_cancel(self.address)
            lib.rf_engine_wait(self.address, -1.0, None)      # a canceled job ends within one operation of the model
            raise
        check(status, why)

    def result(self) -> Floats:
        """The numbers of the job, [n, columns], after which it is freed."""
        try:
            self.wait()
            n, columns = ctypes.c_int64(), ctypes.c_int64()
            address = lib.rf_engine_result(self.address, byref(n), byref(columns))
            return floats(address, n.value, columns.value)
        finally:
            self.close()

    def close(self) -> None:
        address, self.address = self.address, None
        if address is not None and os.getpid() == self.process and self.engine.is_open():
            lib.rf_engine_job_free(address)


class Sentence(NamedTuple):
    """What the folder says about sentence vectors."""
    prompts: "dict[str, str]"
    default_prompt_name: Optional[str]
    max_length: int                     # tokens of a text; 0: no limit
    truncate_dim: Optional[int]
    similarity: str
    pooling: int
    normalize: bool
    width: int                          # numbers of a text's vector, after the folder's Dense modules
    folder_length: int                  # max_seq_length as the folder has it; 0: it has none


class Encoded(NamedTuple):
    """Tokens of many texts, one text after the other; those of text i are [start[i], start[i + 1])."""
    start: NDArray[np.int64]
    ids: NDArray[np.int32]
    types: NDArray[np.int32]
    begin: NDArray[np.uint32]
    end: NDArray[np.uint32]
    added: NDArray[np.uint8]


def encode_texts(tokenizer: Any, ctx: Any, texts: Sequence[str], pairs: Optional[Sequence[str]], limit: int, flags: int,
                 where: str = "texts") -> Encoded:
    """The tokens of texts or pairs, block by block, so that Ctrl-C is heard between two blocks."""
    parts: List[Encoded] = []
    first = 0
    for block in _texts.blocks(texts if pairs is None else zip(texts, pairs), max(len(texts), 1)):
        a, b = (block, None) if pairs is None else zip(*block)
        second = None if b is None else Block(b, where + ": second texts", first)
        parts.append(_encode_block(tokenizer, ctx, Block(a, where, first), second, limit, flags, first))
        first += len(block)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _encode_block(tokenizer, ctx, Block([]), None, limit, flags, 0)
    before = np.cumsum([0] + [p.start[-1] for p in parts])
    start = np.concatenate([np.zeros(1, np.int64)] + [p.start[1:] + n for p, n in zip(parts, before)])
    return Encoded(start, *(np.concatenate(columns) for columns in list(zip(*parts))[1:]))


def _encode_block(tokenizer: Any, ctx: Any, texts: Block, pairs: Optional[Block], limit: int, flags: int,
                  first: int) -> Encoded:
    """rf_encode_texts, its results as arrays."""
    e, why, bad = abi.rf_encoding(), Error(), ctypes.c_int64(-1)
    start = np.zeros(texts.n + 1, np.int64)
    lib.rf_encoding_init(byref(e), ctx)
    try:
        status = lib.rf_encode_texts(tokenizer, texts.pointers, texts.sizes, pairs.pointers if pairs else None,
                                     pairs.sizes if pairs else None, texts.n, limit, flags, byref(e),
                                     start.ctypes.data, byref(bad), byref(why))
        if status:
            error = error_of(status, why)
            raise type(error)("text %d: %s" % (first + bad.value, error) if bad.value >= 0 else str(error))
        n = int(e.n)
        return Encoded(start, integers(e.id, n, np.int32), integers(e.type, n, np.int32),
                       integers(e.start, n, np.uint32), integers(e.end, n, np.uint32), integers(e.added, n, np.uint8))
    finally:
        lib.rf_encoding_clear(byref(e))


class _Memory:
    """rf_memory_folder: the files of a model folder in memory, for one context."""

    def __init__(self, ctx: Context, files: Mapping[str, Any]) -> None:
        n, out, why = len(files), ctypes.c_void_p(), Error()
        self.context = ctx
        self.keep: List[Any] = []                         # the library reads the caller's bytes
        array = (abi.rf_memory_file * max(n, 1))()
        for row, (name, data) in zip(array, files.items()):
            try:
                data = np.frombuffer(data, np.uint8)
            except (TypeError, ValueError, BufferError) as e:
                raise errors.ArgumentError("model: file %r: expected bytes, got %s"
                                           % (name, type(data).__name__)) from e
            row.name, row.data, row.size = _texts.encode_one(name, "model: name of a file"), data.ctypes.data, data.size
            self.keep.append(data)
        check(lib.rf_memory_folder_new(ctx.address, array, n, byref(out), byref(why)), why)
        self.path: str = lib.rf_memory_folder_path(out).decode()
        free_with(self, lib.rf_memory_folder_free, out.value, (ctx, self.keep))


class _Engine:
    """rf_engine, closed when the model and all of its jobs have let go of it."""

    __slots__ = ("address", "context", "lock", "memory", "_parts", "__weakref__")

    def __init__(self, ctx: Context, address: Optional[int], memory: Optional[_Memory]) -> None:
        self.context, self.address, self.lock, self.memory = ctx, address, threading.Lock(), memory
        self._parts: List[Optional[int]] = [address, None]
        free_with(self, _close_parts, self._parts, (ctx, memory))

    def is_open(self) -> bool:
        """False: the garbage collector closed the engine before it ended a generator of the same cycle."""
        return self._parts[0] is not None

    def pipeline(self) -> Optional[int]:
        """A pipeline on the engine's model for the thread that holds the lock."""
        if self._parts[1] is None:
            out, why = ctypes.c_void_p(), Error()
            check(lib.rf_pipeline_on(lib.rf_engine_model(self.address), byref(out), byref(why)), why)
            self._parts[1] = out.value
        return self._parts[1]


def _close_parts(parts: List[Optional[int]]) -> None:
    engine, pipeline = parts
    parts[:] = [None, None]
    lib.rf_pipeline_close(pipeline)
    lib.rf_engine_close(engine)


def typed_as(of: F) -> Callable[[Callable[..., Any]], F]:
    """Gives a function the types of another one with the same arguments, overloads included."""
    return lambda function: cast(F, function)


def whole(method: F) -> F:
    """A method of an object with a model, for whose end `close` in another thread waits."""
    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        model: Model = self._model if hasattr(self, "_model") else self.model
        if os.getpid() != model.process:
            return method(self, *arguments, **named)      # a child, which is refused
        model.begin()
        try:
            return method(self, *arguments, **named)
        finally:
            model.end()
    return cast(F, run)


class Model:
    """An open model folder. Any thread may call any method at any time.

    After a fork, a child must open the model again: calls raise ProcessError there. Pickling stores the folder and the
    settings, and opens it again.

    folder    a folder or name; or the files of a folder, {"config.json": b"...", ...}, which are read where they are
    """

    def __init__(self, folder: Source, dtype: str = "float32", threads: Optional[int] = None,
                 cache_folder: Optional[_folder.PathLike] = None, revision: Optional[str] = None) -> None:
        if dtype not in TYPES:
            raise errors.ArgumentError("dtype: expected one of %s, got %r" % (", ".join(TYPES), dtype))
        self.dtype, self.threads = dtype, threads
        self.context = context(threads)
        memory = _Memory(self.context, folder) if isinstance(folder, Mapping) else None
        self.folder = memory.path if memory else _folder.find(folder, cache_folder, revision)  # type: ignore[arg-type]
        self.source: Source = folder if memory else self.folder
        self.process = os.getpid()
        options, why, out = abi.rf_engine_options(), Error(), ctypes.c_void_p()
        lib.rf_engine_options_init(byref(options), ctypes.sizeof(options))
        options.type = TYPES[dtype]
        options.max_queue_tokens = 0                      # callers of this package wait for their results
        check(lib.rf_engine_open(self.context.address, os.fsencode(self.folder), byref(options), byref(out), byref(why)),
              why)
        self._engine: Optional[_Engine] = _Engine(self.context, out.value, memory)
        self._closed = False
        self._calls: List[int] = []                       # the threads of the calls that `whole` holds the model for
        self._ended = threading.Condition()
        model = lib.rf_engine_model(out.value)
        self._tokenizer = lib.rf_model_tokenizer(model)               # only used while the engine is held
        self.task = int(lib.rf_model_task(model))
        config = struct(abi.rf_config, lib.rf_model_config(model))
        self.num_labels, self.max_positions = int(config.num_labels), int(config.max_position_embeddings)
        self.architecture: str = config.architecture.decode()
        self.problem_type: str = config.problem_type.decode()

    def __reduce__(self) -> Any:
        source = _folder.absolute(self.source) if isinstance(self.source, str) else self.source
        return Model, (source, self.dtype, self.threads)

    @property
    def engine(self) -> _Engine:
        """The engine, in the process that opened it."""
        if os.getpid() != self.process:
            raise errors.ProcessError("model %s: expected the process that opened it, %d, got its child %d; open the "
                                      "model in the child" % (self.folder, self.process, os.getpid()))
        if self._engine is None:
            raise self._closed_error()
        return self._engine

    def _closed_error(self) -> errors.ClosedError:
        return errors.ClosedError("model %s: expected an open model, got a closed one; open it again" % self.folder)

    def close(self) -> None:
        """Closes the model, as soon as the calls that other threads have begun are over; calls from now on are refused."""
        if os.getpid() == self.process:
            with self._ended:
                self._closed = True
                own = threading.get_ident()
                while not self._ended.wait_for(lambda: all(thread == own for thread in self._calls), WAIT):
                    pass
        self._engine = None

    def begin(self) -> None:
        """A call begins, for whose end `close` in another thread waits. Raises if the model is closed."""
        own = threading.get_ident()
        with self._ended:
            if self._closed and own not in self._calls:
                raise self._closed_error()
            self._calls.append(own)

    def end(self) -> None:
        """The call is over."""
        with self._ended:
            self._calls.remove(threading.get_ident())
            self._ended.notify_all()

    def tokenizer(self) -> "tuple[_Engine, int]":
        """The address of the tokenizer, and what it belongs to."""
        return self.engine, self._tokenizer

    def labels(self) -> List[str]:
        """The names of the model's labels, in the order of its outputs; none without a fine-tuned head."""
        engine = self.engine
        address = lib.rf_engine_labels(engine.address)
        if not address:
            return []
        all_of_them = struct(abi.rf_labels, address)
        names = rows(ctypes.c_char_p, all_of_them.name, all_of_them.n)
        return [(names[i] or b"").decode() for i in range(all_of_them.n)]

    def reading_length(self) -> int:
        """Tokens that the fine-tuned head reads of a text or pair; 0: all."""
        def read(pipeline: int) -> int:
            reading = lib.rf_answerer_reading(lib.rf_pipeline_answerer(pipeline))
            return int(struct(abi.rf_reading, reading).max_length)
        return self.call(read)

    # ---- jobs --------------------------------------------------------------------------------------------------------

    def embed(self, texts: Block, options: Any) -> Job:
        """Submits texts for vectors [n, D]."""
        engine, job, why = self.engine, ctypes.c_void_p(), Error()
        status = lib.rf_engine_embed(engine.address, texts.pointers, texts.sizes, texts.n, options, None, byref(job),
                                     byref(why))
        if status:
            raise error_of(status, why)
        return Job(engine, job.value or 0)

    def embed_few(self, texts: Block, options: Any) -> Optional[Floats]:
        """The vectors of a few short texts, computed by this thread, which saves the way to the engine's thread and back.
        None: there are too many, since this cannot be interrupted, or another thread does this now."""
        engine = self.engine
        if texts.n > FEW or sum(texts.sizes) > FEW_BYTES or not engine.lock.acquire(blocking=False):
            return None
        try:
            vectors, why, pipeline = ctypes.c_void_p(), Error(), engine.pipeline()
            status = lib.rf_embed_texts(pipeline, texts.pointers, texts.sizes, texts.n, byref(options),
                                        byref(vectors), None, byref(why))
            if status:
                raise error_of(status, why)
            return floats(vectors.value, texts.n, int(options.dimensions) or int(lib.rf_pipeline_width(pipeline)))
        finally:
            engine.lock.release()

    def classify(self, texts: Block, pairs: Optional[Block]) -> Job:
        """Submits texts, or pairs, for the scores of their labels [n, labels]."""
        engine, job, why = self.engine, ctypes.c_void_p(), Error()
        check(lib.rf_engine_classify(engine.address, texts.pointers, texts.sizes, pairs.pointers if pairs else None,
                                     pairs.sizes if pairs else None, texts.n, None, byref(job), byref(why)), why)
        return Job(engine, job.value or 0)

    def places_pairs(self) -> bool:
        """Whether the folder's chat template makes one text of a pair."""
        return bool(lib.rf_tokenizer_places_pairs(self._tokenizer))

    def cross(self, query: bytes, texts: Block, raw: bool = False, prompt: Optional[bytes] = None) -> Job:
        """Submits a query and texts for scores [n, 1]; raw: the model's outputs, without the folder's function. prompt:
        put before the query; None: the folder's."""
        engine, job, why, o = self.engine, ctypes.c_void_p(), Error(), abi.rf_engine_job_options()
        lib.rf_engine_job_options_init(byref(o), ctypes.sizeof(o))
        o.prompt = prompt
        check(lib.rf_engine_cross(engine.address, query, len(query), texts.pointers, texts.sizes, texts.n, int(raw),
                                  byref(o), byref(job), byref(why)), why)
        return Job(engine, job.value or 0)

    def call(self, body: Callable[[int], T]) -> T:
        """Calls body(pipeline) in the engine's thread, alone, and returns its result or raises its exception.

        What the library returns there belongs to the pipeline: body copies what is to be kept."""
        done: List[T] = []
        raised: List[BaseException] = []

        def run(user: Any, pipeline: int, why: Any) -> int:
            try:
                done.append(body(pipeline))
                return int(abi.RF_OK)
            except BaseException as e:  # noqa: B902: it is raised again in the thread that called
                raised.append(e)
                return int(abi.RF_EARG)
        function = abi.rf_engine_function(run)
        engine, address, why = self.engine, ctypes.c_void_p(), Error()
        check(lib.rf_engine_call(engine.address, function, None, None, byref(address), byref(why)), why)
        job = Job(engine, address.value or 0, function)
        try:
            job.wait()
        except errors.RoformerError:
            if raised:
                raise raised[0] from None
            raise
        finally:
            job.close()
        return done[0]

    # ---- what the folder says ----------------------------------------------------------------------------------------

    def sentence(self) -> Sentence:
        """The folder's settings for sentence vectors. They are read again at each call."""
        def read(pipeline: int) -> Sentence:
            why, found, o = Error(), ctypes.c_void_p(), abi.rf_embed_options()
            check(lib.rf_pipeline_sentence(pipeline, byref(found), byref(why)), why)
            lib.rf_embed_options_init(byref(o), ctypes.sizeof(o))
            o.prompt = b""
            check(lib.rf_embed_resolve_sized(pipeline, byref(o), byref(o), ctypes.sizeof(o), byref(why)), why)
            prompts: "dict[str, str]" = {}
            default, similarity, cut, length = None, "cosine", None, 0
            if found.value:
                s = struct(abi.rf_sentence, found.value)
                row = rows(abi.rf_sentence_prompt, s.prompt, s.prompts)
                for i in range(s.prompts):
                    name = ctypes.string_at(row[i].name).decode()
                    prompts[name] = ctypes.string_at(row[i].text).decode()
                    default = name if i == s.default_prompt else default
                similarity = s.similarity.decode() or similarity
                cut, length = int(s.truncate_dim) or None, int(s.max_length)
            return Sentence(prompts, default, int(o.max_length), cut, similarity, int(o.pooling), bool(o.normalize),
                            int(lib.rf_pipeline_width(pipeline)), length)
        return self.call(read)

    # ---- tokens and logits -------------------------------------------------------------------------------------------

    def encode(self, texts: Sequence[str], pairs: Optional[Sequence[str]] = None, limit: int = 0,
               flags: int = 0) -> Encoded:
        """The tokens of texts or pairs, truncated to `limit` tokens (0: not)."""
        engine = self.engine
        return encode_texts(self._tokenizer, engine.context.address, texts, pairs, limit, flags)

    def batches(self, e: Encoded, tokens: int = 2048) -> List[Tuple[int, int]]:
        """Ranges of texts with at most so many tokens together, or of one text."""
        out: List[Tuple[int, int]] = []
        first = 0
        n = len(e.start) - 1
        for i in range(n):
            if i > first and e.start[i + 1] - e.start[first] > tokens:
                out.append((first, i))
                first = i
        if first < n:
            out.append((first, n))
        return out

    def logits(self, e: Encoded) -> Floats:
        """Logits of the fine-tuned head: [texts, K], or [tokens, K] for heads of tokens and spans."""
        out: List[Floats] = []
        for a, b in self.batches(e):
            out.append(self.call(lambda p, a=a, b=b: _logits(p, e, a, b)))  # type: ignore[misc]
        return np.concatenate(out) if out else np.zeros((0, self.num_labels), np.float32)


def _logits(pipeline: int, e: Encoded, a: int, b: int) -> Floats:
    why, z, rows = Error(), ctypes.c_void_p(), ctypes.c_int64()
    from_, to = int(e.start[a]), int(e.start[b])
    start = (e.start[a:b + 1] - from_).astype(np.int32)
    ids, types = np.ascontiguousarray(e.ids[from_:to]), np.ascontiguousarray(e.types[from_:to])
    batch = abi.rf_batch(to - from_, b - a, ids.ctypes.data, types.ctypes.data, None, start.ctypes.data)
    model = lib.rf_pipeline_model(pipeline)
    config = struct(abi.rf_config, lib.rf_model_config(model))
    task = lib.rf_model_task(model)
    K = 2 if task == abi.RF_HEAD_SPAN else 1 if task == abi.RF_HEAD_CHOICE else int(config.num_labels)
    check(lib.rf_session_logits(lib.rf_pipeline_session(pipeline), byref(batch), byref(z), byref(rows), byref(why)), why)
    return floats(z.value, rows.value, K)
