"""Training: `pretrain`, `finetune` and `train_translation`, with the options of the command line. A run leaves the same folder as the command."""
from __future__ import annotations

import ctypes
import difflib
import os
import threading
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Union

from . import _abi as abi
from . import _folder, errors
from ._lib import WAIT, Error, byref, check, context, error_of, lib, rows, struct

PathLike = _folder.PathLike
Paths = Union[PathLike, Sequence[PathLike]]
_GIVEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_NUMBERS: Dict[int, Any] = {abi.RF_OPTION_INT: ctypes.c_int64, abi.RF_OPTION_REAL: ctypes.c_double,
                            abi.RF_OPTION_SEED: ctypes.c_uint64, abi.RF_OPTION_BYTES: ctypes.c_size_t}
_TEXTS = (abi.RF_OPTION_TEXT, abi.RF_OPTION_FILE, abi.RF_OPTION_FOLDER)


class Progress(NamedTuple):
    """What a callback is given.

    event     "step" after each update; "eval"; "save", with the checkpoint's folder in `note`; "note", with a sentence;
              "data" while text is read; "best" for each run with the best of several learning rates
    metric    the name of the metric in eval_accuracy
    eval_...  of the last evaluation; NaN before the first
    """
    event: str
    step: int
    max_steps: int
    epoch: float
    loss: float
    grad_norm: float
    learning_rate: float
    tokens: int
    tokens_per_second: float
    seconds: float
    eta_seconds: float
    eval_loss: float
    eval_accuracy: float
    metric: str
    note: str


class TrainingResult(NamedTuple):
    """How a run ended.

    folder      the checkpoint that was saved last; at the end of training, the folder of the trained model
    stopped     True: the run ended before its last step; go on with resume="latest"
    scores      of the final model on `dev` (finetune); with k_fold, means and "<name>_std"; empty if there is no `dev`
    """
    folder: str
    stopped: bool
    scores: Dict[str, float]


Callback = Callable[[Progress], Optional[str]]
_ANSWERS = {None: abi.RF_TRAIN_GO, "save": abi.RF_TRAIN_SAVE, "stop": abi.RF_TRAIN_STOP}


class _Row(NamedTuple):
    """A row of the library's table of options, and where its struct of options begins."""
    name: str
    option: Any
    base: int

    def words(self) -> List[str]:
        return self.option.choices.decode().split("|") if self.option.choices else []


class _Options:
    """A struct of options, set by names. What it points at is kept as long as it."""

    def __init__(self, call: int) -> None:
        self.raw = abi.rf_finetune_options() if call == abi.RF_OPTION_FINETUNE else abi.rf_train_options()
        self.train = self.raw.t if call == abi.RF_OPTION_FINETUNE else self.raw
        self.call = call
        self.keep: List[Any] = []
        self.given: Set[str] = set()
        if call == abi.RF_OPTION_FINETUNE:
            lib.rf_finetune_options_init(byref(self.raw), ctypes.sizeof(self.raw))
        elif call == abi.RF_OPTION_TRANSLATION:
            lib.rf_translation_options_init(byref(self.raw), ctypes.sizeof(self.raw))
        else:
            lib.rf_train_options_init(byref(self.raw), ctypes.sizeof(self.raw))
        self.rows: Dict[str, _Row] = {}
        if call == abi.RF_OPTION_FINETUNE:
            self._table(lib.rf_finetune_option, ctypes.addressof(self.raw))
        self._table(lib.rf_train_option, ctypes.addressof(self.train))
        self._chosen = _GIVEN(lambda user, name: int(name is not None and name.decode() in self.given))
        self.train.given = ctypes.cast(self._chosen, ctypes.c_void_p).value

    def _table(self, row_of: Callable[[int], Any], base: int) -> None:
        i, address = 0, row_of(0)
        while address:
            option = struct(abi.rf_option, address)
            if option.calls & self.call:
                row = _Row(option.name.decode(), option, base)
                for name in (option.name, option.alias):
                    if name:
                        self.rows.setdefault(name.decode(), row)
            i += 1
            address = row_of(i)

    def set(self, name: str, value: Any) -> None:
        row = self.rows.get(name)
        if row is None:
            near = difflib.get_close_matches(name, self.rows, 3)
            raise errors.ArgumentError("%s: expected an option of the command%s, got an unknown one" % (
                name, " (perhaps %s)" % ", ".join(near) if near else ""))
        if row.name in self.given:
            raise errors.ArgumentError("%s: expected one value, got another under its other name" % name)
        self._write(row, name, value)
        self.given.add(row.name)
        if row.option.json:
            self.given.add(row.option.json.decode())

    def _write(self, row: _Row, name: str, value: Any) -> None:
        kind, at, words = row.option.kind, row.base + row.option.at, row.words()
        if kind in _NUMBERS:
            _NUMBERS[kind].from_address(at).value = _number(name, value, kind == abi.RF_OPTION_REAL, _NUMBERS[kind])
        elif words:
            if not isinstance(value, str) or value not in words:
                raise errors.ArgumentError("%s: expected one of %s, got %r" % (name, ", ".join(words), value))
            ctypes.c_int.from_address(at).value = words.index(value)
        elif kind == abi.RF_OPTION_FLAG:
            if not isinstance(value, bool):
                raise errors.ArgumentError("%s: expected True or False, got %r" % (name, value))
            ctypes.c_int.from_address(at).value = int(value)
        elif kind in _TEXTS:
            ctypes.c_char_p.from_address(at).value = self._path(name, value)
        else:
            paths = [value] if isinstance(value, (str, os.PathLike)) else list(value)
            self._list(ctypes.c_char_p, [self._path(name, p) for p in paths], at)
            ctypes.c_int.from_address(row.base + row.option.count).value = len(paths)

    def _path(self, name: str, value: Any) -> bytes:
        if not isinstance(value, (str, os.PathLike)):
            raise errors.ArgumentError("%s: expected a text or a path, got %r" % (name, value))
        out = _folder.encoded(value, name, "a text")
        self.keep.append(out)
        return out

    def _list(self, kind: Any, values: List[Any], at: int) -> None:
        array = (kind * max(len(values), 1))(*values)
        self.keep.append(array)
        ctypes.c_void_p.from_address(at).value = ctypes.addressof(array)

    def mix(self, weights: Mapping[PathLike, float]) -> None:
        """Token caches and the fraction of tokens to draw from each, as --mix FILE:WEIGHT."""
        if not isinstance(weights, Mapping) or not weights:
            raise errors.ArgumentError("mix: expected a dict of token caches and their weights, got %r" % (weights,))
        self.set("data", list(weights))
        at = ctypes.addressof(self.train) + abi.rf_train_options.data_weight.offset
        self._list(ctypes.c_double, [_number("mix", w, True, ctypes.c_double) for w in weights.values()], at)


def _number(name: str, value: Any, real: bool, kind: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float) if real else int):
        raise errors.ArgumentError("%s: expected %s, got %r" % (name, "a number" if real else "an integer", value))
    if not real and kind(value).value != value:
        raise errors.ArgumentError("%s: expected an integer of %d bits, got %r" % (name, 8 * ctypes.sizeof(kind), value))
    return value


class _Run:
    """A run: its reports, and what ends it."""

    def __init__(self, callback: Optional[Callback]) -> None:
        if callback is not None and not callable(callback):
            raise errors.ArgumentError("callback: expected a function, got %r" % (callback,))
        self.callback, self.saved, self.interrupted = callback, "", False
        self.raised: Optional[BaseException] = None
        self.report = abi.rf_train_report(self._report)

    def _report(self, user: Any, progress: int) -> int:
        try:
            p = struct(abi.rf_train_progress, progress)
            event, note = p.event.decode(), (p.note or b"").decode("utf-8", "replace")
            if event == "save":
                self.saved = note
            if self.interrupted or self.raised is not None:
                return int(abi.RF_TRAIN_STOP)
            if self.callback is None or event == "batch":
                return int(abi.RF_TRAIN_GO)
            answer = self.callback(Progress(
                event, p.step, p.max_steps, p.epoch, p.loss, p.grad_norm, p.learning_rate, p.tokens, p.tokens_per_second,
                p.seconds, p.eta_seconds, p.eval_loss, p.eval_accuracy, (p.metric or b"").decode(), note))
            if answer not in _ANSWERS:
                raise errors.ArgumentError("callback: expected None, 'save' or 'stop' as its result, got %r" % (answer,))
            return int(_ANSWERS[answer])
        except BaseException as e:  # noqa: B902: it is raised again in the thread that called
            self.raised = e
            return int(abi.RF_TRAIN_STOP)

    def __call__(self, call: Callable[[Any, Any], int]) -> bool:
        """Runs call(report, why) in a thread of its own, so that this one can take Ctrl-C. Returns whether it stopped early."""
        why, status, ended = Error(), [int(abi.RF_OK)], threading.Event()

        def work() -> None:
            try:
                status[0] = call(self.report, byref(why))
            except BaseException as e:  # noqa: B902
                self.raised = e
            ended.set()
        thread = threading.Thread(target=work, name="roformer_c training", daemon=True)
        thread.start()
        try:
            while not ended.wait(WAIT):                   # join() takes an interrupted thread for one that has ended
                pass
        except BaseException:
            self.interrupted = True
            while not ended.wait(WAIT):                   # a checkpoint is saved first
                pass
            raise
        if self.raised is not None:
            raise self.raised
        if status[0] == abi.RF_ESTOPPED:
            return True
        check(status[0], why)
        return False


def _trained(name: str, folder: PathLike) -> str:
    """A model to begin with."""
    try:
        return _folder.find(folder)
    except errors.RoformerError as e:
        raise type(e)("%s: %s" % (name, e)) from None


def pretrain(text: Optional[Paths] = None, *, model: Optional[PathLike] = None, output_dir: Optional[PathLike] = None,
             resume: Optional[PathLike] = None, callback: Optional[Callback] = None, threads: Optional[int] = None,
             mix: Optional[Mapping[PathLike, float]] = None, **options: Any) -> TrainingResult:
    """Trains a masked or causal language model on text, as `roformer pretrain` does, into the same folder.

    text        files: .txt, .jsonl or WikiExtractor output, also as .gz or .zst
    model       a folder with a tokenizer; its weights, if there are any, are trained further, unless config=FILE says
                what a new model is like
    output_dir  the new folder; None: `model`, if it has no weights yet
    resume      "latest" or a checkpoint: goes on with the options of that run, except those that are given
    callback    called with a Progress for each event in the thread that trains. Returns None; "save": a checkpoint is
                saved after this step; "stop": it is saved, and the run ends. An exception, and Ctrl-C, end the run in the
                same way and are raised
    mix         token caches with the fraction of tokens to draw from each
    options     those of docs/options.md by name; others are errors

    ArgumentError, DataError, FileError, BusyError (another run holds output_dir), NumericError (the loss diverged)
    """
    o = _Options(abi.RF_OPTION_PRETRAIN)
    named = {"text": text, "output_dir": output_dir, "resume": resume}
    for name, value in {**{n: v for n, v in named.items() if v is not None}, **options}.items():
        o.set(name, value)
    if mix is not None:
        o.mix(mix)
    if model is not None:
        o.set("model", _trained("model", model))
    if not {"resume", "text", "data"} & o.given:
        raise errors.ArgumentError("pretrain: expected text, data or mix, got none")
    if not {"resume", "model"} & o.given:
        raise errors.ArgumentError("pretrain: expected model, a folder with a tokenizer, got none")
    ctx, run = context(threads), _Run(callback)
    stopped = run(lambda report, why: int(lib.rf_pretrain(ctx.address, byref(o.raw), report, None, why)))
    return TrainingResult(run.saved, stopped, {})


def finetune(train: Optional[PathLike] = None, *, dev: Optional[PathLike] = None, task: Optional[str] = None,
             model: Optional[PathLike] = None, output_dir: Optional[PathLike] = None, resume: Optional[PathLike] = None,
             callback: Optional[Callback] = None, threads: Optional[int] = None, **options: Any) -> TrainingResult:
    """Trains a model on labeled examples, as `roformer finetune` does, into the same folder.

    train, dev  files of examples, or folders that hold train.* and dev.*; dev None: the one next to train, if it exists
    task        "cls" (the default), "reg", "multilabel", "tag", "qa", "choice", "sim", "embed", "cross", or "glue/NAME"
    model       the model to begin with; None: a shipped model
    output_dir, resume, callback, options, exceptions    as for `pretrain`

    Returns the scores of the final model on dev, for example {"loss": 0.4, "accuracy": 0.86}.
    """
    o = _Options(abi.RF_OPTION_FINETUNE)
    named = {"train": train, "dev": dev, "task": task, "output_dir": output_dir, "resume": resume}
    for name, value in {**{n: v for n, v in named.items() if v is not None}, **options}.items():
        o.set(name, value)
    if not {"resume", "train"} & o.given:
        raise errors.ArgumentError("finetune: expected train, a file of examples, got none")
    if not {"resume", "output_dir"} & o.given:
        raise errors.ArgumentError("finetune: expected output_dir, a folder for the new model, got none")
    several = o.raw.k_fold > 1 or bool(o.raw.learning_rates)
    if model is not None or resume is None or several:
        shipped = "roformer-small-en-sentences" if task == "embed" else "roformer-small-en"
        o.set("model", _trained("model", model if model is not None else shipped))
    ctx, run, scores = context(threads), _Run(callback), abi.rf_metric_values()
    stopped = run(lambda report, why: int(lib.rf_finetune(ctx.address, byref(o.raw), report, None, byref(scores), why)))
    found = {} if stopped else {s.name.decode(): float(s.value) for s in scores.metric[:scores.n]}
    return TrainingResult(run.saved, stopped, found)


def train_translation(source: Optional[Paths] = None, target: Optional[Paths] = None, *,
                      output_dir: Optional[PathLike] = None, model: Optional[PathLike] = None,
                      resume: Optional[PathLike] = None, callback: Optional[Callback] = None,
                      threads: Optional[int] = None, **options: Any) -> TrainingResult:
    """Trains a translation model on parallel text, as `roformer train-translation` does, into the same folder.

    source, target  files; line n of a target file is the translation of line n of its source file
    model           a translation model to begin with, or a folder with subwords and config.json; None: subwords are
                    learned from the texts, which needs a library with SentencePiece (that of the Debian package)
    output_dir, resume, callback, options, exceptions    as for `pretrain`
    """
    o = _Options(abi.RF_OPTION_TRANSLATION)
    named = {"source": source, "target": target, "output_dir": output_dir, "resume": resume}
    for name, value in {**{n: v for n, v in named.items() if v is not None}, **options}.items():
        o.set(name, value)
    if model is not None:
        o.set("model", _trained("model", model))
    if "resume" not in o.given and not {"source", "target", "output_dir"} <= o.given:
        raise errors.ArgumentError("train_translation: expected source, target and output_dir, got only %s"
                                   % (", ".join(sorted({"source", "target", "output_dir"} & o.given)) or "none of them"))
    ctx, run = context(threads), _Run(callback)
    stopped = run(lambda report, why: int(lib.rf_train_translation(ctx.address, byref(o.raw), report, None, why)))
    return TrainingResult(run.saved, stopped, {})
