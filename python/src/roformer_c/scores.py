"""bleu, chrf, ter: scores of translations, with the results of sacrebleu 2.6."""
from __future__ import annotations

import ctypes
from typing import Any, List, Sequence

import numpy as np

from . import _abi as abi
from . import _texts, errors
from ._lib import Error, byref, check, context, interruptible, lib
from .sentence import one_of

TOKENIZERS = {"13a": abi.RF_MT_13A, "intl": abi.RF_MT_INTL, "zh": abi.RF_MT_ZH, "char": abi.RF_MT_CHAR,
              "none": abi.RF_MT_NONE}
SMOOTHING = {"exp": abi.RF_MT_EXP, "floor": abi.RF_MT_FLOOR, "add-k": abi.RF_MT_ADD_K, "none": abi.RF_MT_UNSMOOTHED}


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 1 << 31:
        raise errors.ArgumentError("%s: expected an integer from 0 on, got %r" % (name, value))
    return int(value)


class Score:
    """A score in percent: `score`; `name`; `signature`, without which scores cannot be compared; `format()`.

    BLEU also has `precisions`, `bp`, `sys_len` and `ref_len`; TER `num_edits` and `ref_length`."""

    def __init__(self, name: str, signature: str, raw: Any, orders: int) -> None:
        self.name, self.signature, self.score = name, signature, float(raw.score)
        self.precisions: List[float] = [float(x) for x in raw.precision[:orders]] if name.endswith("BLEU") else []
        self.bp, self.sys_len, self.ref_len = float(raw.brevity), int(raw.length), int(raw.reference)
        self.num_edits, self.ref_length = float(raw.edits), float(raw.reference)

    def format(self, width: int = 2) -> str:
        """sacrebleu's line: "BLEU = 42.00 60.0/45.0/38.0/31.0 (BP = 1.000 ratio = 1.020 hyp_len = 51 ref_len = 50)"."""
        head = "%s = %.*f" % (self.name, width, self.score)
        if not self.precisions:
            return head
        return "%s %s (BP = %.3f ratio = %.3f hyp_len = %d ref_len = %d)" % (
            head, "/".join("%.1f" % p for p in self.precisions), self.bp, self.sys_len / max(self.ref_len, 1),
            self.sys_len, self.ref_len)

    def __repr__(self) -> str:
        return self.format()


@interruptible
def _score(options: Any, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    if isinstance(hypotheses, str) or isinstance(references, str) or any(isinstance(r, str) for r in references):
        raise errors.ArgumentError("hypotheses, references: expected a list of texts and a list of lists of texts, as in "
                                   "sacrebleu, got a text")
    system = _texts.Block(list(_texts.listed(hypotheses, "hypotheses")), "hypotheses")
    sets = [_texts.Block(list(_texts.listed(r, "references %d" % i)), "references %d" % i)
            for i, r in enumerate(_texts.listed(references, "references"))]
    for i, r in enumerate(sets):
        if r.n != system.n:
            raise errors.ArgumentError("references %d: expected %d texts, as many as hypotheses, got %d" % (i, system.n, r.n))
    rows = (abi.rf_mt_texts * max(len(sets), 1))()
    for row, block in zip(rows, sets):
        row.text, row.bytes = ctypes.addressof(block.pointers), ctypes.addressof(block.sizes)
    own = abi.rf_mt_texts(ctypes.addressof(system.pointers), ctypes.addressof(system.sizes))
    ctx, out, why, raw = context(), ctypes.c_void_p(), Error(), abi.rf_mt_score()
    check(lib.rf_mt_evaluate(ctx.address, byref(options), byref(own), rows, len(sets), system.n, byref(out),
                             byref(why)), why)
    try:
        lib.rf_mt_corpus(out.value, byref(raw))
        text = ctypes.create_string_buffer(512)
        lib.rf_mt_signature(out.value, b"", text, 512)
        return Score(lib.rf_mt_name(out.value).decode(), text.value.decode(), raw, int(options.max_order))
    finally:
        lib.rf_mt_free(out.value)


def _options(metric: int) -> Any:
    o = abi.rf_mt_options()
    lib.rf_mt_options_init(byref(o), ctypes.sizeof(o))
    o.metric = metric
    return o


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False,
         tokenize: str = "13a", smooth_method: str = "exp", smooth_value: float = -1.0, max_order: int = 4,
         effective_order: bool = False) -> Score:
    """BLEU of a corpus, as sacrebleu.corpus_bleu: references[r][i] is reference r of hypotheses[i].

    >>> import roformer_c
    >>> roformer_c.bleu(["the cat sat on the mat"], [["the cat sat on a mat"]]).format()
    'BLEU = 53.73 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)'
    """
    o = _options(abi.RF_MT_BLEU)
    o.tokenizer = TOKENIZERS[one_of("tokenize", tokenize, tuple(TOKENIZERS))]
    o.smooth = SMOOTHING[one_of("smooth_method", smooth_method, tuple(SMOOTHING))]
    o.smooth_value, o.max_order = float(smooth_value), _whole("max_order", max_order)
    o.lowercase, o.effective_order = int(lowercase), int(effective_order)
    return _score(o, hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, char_order: int = 6, word_order: int = 0,
         beta: int = 2, lowercase: bool = False) -> Score:
    """chrF of a corpus (word_order 2: chrF++), as sacrebleu.corpus_chrf."""
    o = _options(abi.RF_MT_CHRF)
    o.char_order, o.word_order = _whole("char_order", char_order), _whole("word_order", word_order)
    o.beta, o.lowercase = _whole("beta", beta), int(lowercase)
    return _score(o, hypotheses, references)


def ter(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, case_sensitive: bool = False) -> Score:
    """TER of a corpus, as sacrebleu.corpus_ter."""
    o = _options(abi.RF_MT_TER)
    o.lowercase = int(not case_sensitive)
    return _score(o, hypotheses, references)
