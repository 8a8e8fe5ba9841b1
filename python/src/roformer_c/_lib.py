"""The shared library: loaded once, its functions declared by _abi.py, its statuses turned into exceptions."""
from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Type, TypeVar, cast

from . import _abi as abi
from . import errors


FILES = {"win32": ("roformer.dll", "libroformer.dll"), "darwin": ("libroformer.dylib", "libroformer.4.dylib")}
OWN, SONAME = FILES.get(sys.platform, ("libroformer.so", "libroformer.so.4"))      # in a wheel; of a system's package
WAIT = 0.1          # seconds between looks at Python's signals: on Windows no lock hears Ctrl-C


def _load() -> Any:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native", OWN)
    if not os.path.exists(path):
        path = SONAME
    try:
        lib = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError("%s: expected the library of roformer-c, got: %s" % (path, e)) from e
    for name, (result, parameters) in abi.FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = parameters
    got = lib.rf_version().decode()
    if got != abi.VERSION:
        raise ImportError("%s: expected version %s, for which this package was built, got %s; install it again"
                          % (path, abi.VERSION, got))
    return lib


lib: Any = _load()
Error: Any = abi.rf_error
byref = ctypes.byref

KINDS: Dict[int, Type[errors.RoformerError]] = {
    abi.RF_EARG: errors.ArgumentError,
    abi.RF_ESHAPE: errors.ArgumentError,
    abi.RF_ERANGE: errors.DataError,
    abi.RF_EDATA: errors.DataError,
    abi.RF_EUNSUPPORTED: errors.UnsupportedError,
    abi.RF_EIO: errors.FileError,
    abi.RF_ENOMEM: errors.OutOfMemoryError,
    abi.RF_ENUMERIC: errors.NumericError,
    abi.RF_EBUSY: errors.BusyError,
    abi.RF_ESTOPPED: errors.CanceledError,
    abi.RF_ECANCELED: errors.CanceledError,
}


def error_of(status: int, why: Any) -> errors.RoformerError:
    """The exception for a status and the library's sentence."""
    text = why.text.decode("utf-8", "replace") if why is not None else ""
    return KINDS.get(status, errors.RoformerError)(text or lib.rf_status_text(status).decode())


def check(status: int, why: Any) -> None:
    """Raises unless the status is RF_OK."""
    if status:
        raise error_of(status, why)


def free_with(owner: Any, function: Any, address: Any, needs: Any = None) -> Any:
    """Calls function(address) when nothing refers to `owner` any more: in the process that made it, and not at the end of
    the interpreter, where daemon threads may still use it and the system frees all memory.

    needs    what must outlive the address: its context. `owner` alone does not keep it alive, since the garbage collector
             runs the finalizers of a cycle in any order
    """
    finalizer = weakref.finalize(owner, _free, function, address, os.getpid(), needs)
    finalizer.atexit = False
    return finalizer


def _free(function: Any, address: Any, process: int, needs: Any) -> None:
    if os.getpid() == process:
        function(address)


F = TypeVar("F", bound=Callable[..., Any])


def interruptible(function: F) -> F:
    """The function in a thread of its own, if the main thread calls it: there, Python runs no signal handler during a call
    of the library, so that Ctrl-C would wait. After an exception of a handler the thread computes to its end, unheard."""
    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return function(*arguments, **named)
        result: List[Any] = []
        raised: List[BaseException] = []
        ended = threading.Lock()

        def work() -> None:
            try:
                result.append(function(*arguments, **named))
            except BaseException as e:  # noqa: B902: it is raised again in the thread that called
                raised.append(e)
            finally:
                ended.release()
        ended.acquire()
        threading.Thread(target=work, name="roformer_c call", daemon=True).start()
        while not ended.acquire(timeout=WAIT):  # a signal handler may end it
            pass
        if raised:
            raise raised[0]
        return result[0]
    return cast(F, run)


def struct(kind: Any, address: Any) -> Any:
    """The struct of the library at an address."""
    return kind.from_address(address)


def rows(kind: Any, address: Any, n: int) -> Any:
    """n structs of the library at an address."""
    return (kind * n).from_address(address) if n else []


# ---- contexts: one for each number of threads, shared by the models of a process ------------------------------------

class Context:
    """A context of the library (allocator, workers). It lives as long as something refers to it."""

    def __init__(self, threads: int, dictionary: Optional[str]) -> None:
        options, why, out = abi.rf_ctx_options(), Error(), ctypes.c_void_p()
        lib.rf_ctx_options_init(byref(options), ctypes.sizeof(options))
        options.threads = threads
        options.dictionary = os.fsencode(dictionary) if dictionary else None
        check(lib.rf_ctx_new(byref(options), byref(out), byref(why)), why)
        self.address = out.value
        self.threads = int(lib.rf_ctx_threads(self.address))
        free_with(self, lib.rf_ctx_free, self.address)


_threads = 0
_dictionary: Optional[str] = None
_contexts: "weakref.WeakValueDictionary[Any, Context]" = weakref.WeakValueDictionary()
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _contexts.clear()


if sys.platform != "win32":                                     # which has no fork
    os.register_at_fork(after_in_child=_after_fork)


def set_num_threads(threads: int) -> None:
    """Sets the number of threads that models opened from now on compute with.

    0 means all processors that this process may run on, which is the default. Models that are open keep theirs. The
    number of threads does not change the bits of a result.

    >>> import roformer_c
    >>> roformer_c.set_num_threads(2)
    >>> roformer_c.get_num_threads()
    2
    >>> roformer_c.set_num_threads(0)
    """
    global _threads
    if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= abi.RF_MAX_THREADS:
        raise errors.ArgumentError("threads: expected 0 to %d, got %r" % (abi.RF_MAX_THREADS, threads))
    _threads = threads


def get_num_threads() -> int:
    """The number of threads that a model opened now would compute with."""
    return context().threads


def set_dictionary(path: Optional[str]) -> None:
    """Sets the compiled dictionary of Chinese words for tokenizers that need one and whose folder has none.

    path    a file that `roformer dictionary` or `compile_dictionary` wrote; None: that of the package
            roformer-c-models if it is installed, else none
    """
    global _dictionary
    if path is not None and not os.path.isfile(path):
        raise errors.FileError("%s: expected a compiled dictionary, got no file" % path)
    _dictionary = path


def context(threads: Optional[int] = None) -> Context:
    """The shared context of this many threads (None: those of set_num_threads). Whoever uses its address holds it."""
    from . import _folder
    n = _threads if threads is None else threads
    if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= abi.RF_MAX_THREADS:
        raise errors.ArgumentError("threads: expected 0 to %d, got %r" % (abi.RF_MAX_THREADS, n))
    dictionary = _dictionary or _folder.shipped_dictionary()
    key = (os.getpid(), n or int(lib.rf_processors()), dictionary)
    with _lock:
        found = _contexts.get(key)
        if found is None:
            found = _contexts[key] = Context(key[1], dictionary)
        return found


def processor() -> str:
    """The instruction set that the kernels use, for example "avx512"."""
    ctx = context()
    return str(lib.rf_ctx_isa(ctx.address).decode())
