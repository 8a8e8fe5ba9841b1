"""question-answering, with the results of transformers' pipeline."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import errors
from ._model import Encoded
from .pipeline_base import Padding, Pipeline, call, idle
from .sentence import positive
from .tokenizer import Encodings

MASKED = -10000.0           # the logit of a token that cannot be part of an answer


class Window(NamedTuple):
    """Tokens [CLS] question [SEP] part of the context [SEP]; the part is tokens [first, last) of the context."""
    ids: List[int]
    types: List[int]
    at: int                     # where the part begins in ids
    first: int
    last: int


class QuestionAnsweringPipeline(Pipeline):
    """The part of a context that answers a question.

    Gives {"score", "start", "end", "answer"} with characters of the context; with top_k above 1 a list of different
    answers, each with its best score; for lists of questions and contexts a list.
    """

    task = "question-answering"

    @call
    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, top_k: int = 1,
                 doc_stride: Optional[int] = None, max_answer_len: int = 15, max_seq_len: Optional[int] = None,
                 handle_impossible_answer: bool = False, align_to_words: bool = True, padding: Padding = None,
                 batch_size: Optional[int] = None, num_workers: Optional[int] = None) -> Any:
        """inputs {"question", "context"} or a list of them; or `question` and `context`, each a text or both lists.

        doc_stride                tokens that neighboring windows of a long context share; None: 128
        max_answer_len            tokens of an answer
        max_seq_len               tokens of a window; None: 384, or what the model reads if that is less
        handle_impossible_answer  True: "" may be the answer
        align_to_words            True: an answer begins and ends with whole words
        """
        self.need_head("question-answering", "RF_HEAD_SPAN")
        idle(batch_size, num_workers, padding)
        positive("top_k", top_k)
        positive("max_answer_len", max_answer_len)
        if inputs is not None and (question is not None or context is not None):
            raise errors.ArgumentError("inputs, question, context: expected inputs, or question and context, got both")
        rows, one = _rows(inputs, question, context)
        limit = self._limit(max_seq_len)
        stride = min(limit // 2, 128) if doc_stride is None else positive("doc_stride", doc_stride)
        out = []
        for q, c in rows:
            found = self._answers(q, c, limit, stride, top_k, max_answer_len, handle_impossible_answer, align_to_words)
            out.append(found[0] if len(found) == 1 else found)
        return out[0] if one else out

    def _limit(self, given: Optional[int]) -> int:
        most = self.model.reading_length() or self.model.max_positions
        if given is None:
            return min(384, most)
        if positive("max_seq_len", given) > most:
            raise errors.ArgumentError("max_seq_len: expected at most %d, which the model reads, got %d" % (most, given))
        return given

    def _windows(self, question: str, context: str, limit: int, stride: int) -> Tuple[List[Window], Encodings]:
        c = self.encodings([context], limit=0, special=False)
        ids, n = c[0].ids, len(c[0])
        frame = self.encodings([question], [""], limit=0)
        head, special = frame[0], frame[0].special_tokens_mask
        tail = 1 if special and special[-1] else 0          # the tokens after the context
        before, types = head.ids[:len(head) - tail], head.type_ids
        rest = limit - len(head)
        if rest <= stride:
            raise errors.ArgumentError("max_seq_len, doc_stride: expected more than %d tokens beside the question, which "
                                       "doc_stride needs, got %d" % (stride, max(rest, 0)))
        second = types[-1] if tail else (0 if not types else max(types))
        out, first = [], 0
        while True:
            last = min(first + rest, n)
            part = ids[first:last]
            out.append(Window(before + part + head.ids[len(head) - tail:],
                              types[:len(before)] + [second] * (len(part) + tail), len(before), first, last))
            if last == n:
                return out, c
            first += rest - stride

    def _answers(self, question: str, context: str, limit: int, stride: int, top_k: int, longest: int,
                 impossible: bool, align: bool) -> List[Dict[str, Any]]:
        windows, c = self._windows(question, context, limit, stride)
        begin, end = c.characters()
        start = np.cumsum([0] + [len(w.ids) for w in windows]).astype(np.int64)
        ids = np.concatenate([np.array(w.ids, np.int32) for w in windows])
        types = np.concatenate([np.array(w.types, np.int32) for w in windows])
        none = np.zeros(0, np.uint32)
        z = self.model.logits(Encoded(start, ids, types, none, none, np.zeros(0, np.uint8)))
        found: List[Dict[str, Any]] = []
        null = 1.0
        for k, w in enumerate(windows):
            s, e = _probabilities(z[start[k]:start[k + 1]], w)
            null = min(null, float(s[0] * e[0]))
            s[0] = e[0] = 0
            for i, j, score in _spans(s, e, w, 2 * top_k + 10 if align and top_k > 1 else top_k, longest):
                a, b = i - w.at + w.first, j - w.at + w.first
                if align:
                    a, b = self._whole_words(c, context, a, b)
                found.append({"score": score, "start": int(begin[a]), "end": int(end[b]),
                              "answer": context[begin[a]:end[b]]})
        if impossible:
            found.append({"score": null, "start": 0, "end": 0, "answer": ""})
        best: Dict[str, Dict[str, Any]] = {}            # each answer once; transformers 4.57 adds the scores of equal ones up
        for x in sorted(found, key=lambda x: -x["score"]):
            best.setdefault(x["answer"].lower(), x)
        return list(best.values())[:top_k]

    def _whole_words(self, c: Encodings, context: str, a: int, b: int) -> Tuple[int, int]:
        begin, end = c.characters()
        ids = c.encoded.ids

        def continues(t: int) -> bool:
            if self.wordpiece:
                return c.tokenizer.continues(int(ids[t]))
            return bool(begin[t] == end[t - 1]) and not context[begin[t]:begin[t] + 1].isspace()
        while a > 0 and continues(a):
            a -= 1
        while b + 1 < len(ids) and continues(b + 1):
            b += 1
        return a, b


def _rows(inputs: Any, question: Any, context: Any) -> Tuple[List[Tuple[Any, Any]], bool]:
    if inputs is not None:
        one = isinstance(inputs, dict)
        rows = [inputs] if one else list(inputs)
        for i, r in enumerate(rows):
            if not isinstance(r, dict) or set(r) != {"question", "context"}:
                raise errors.ArgumentError("inputs: row %d: expected {\"question\", \"context\"}, got %r" % (i, r))
        return [(r["question"], r["context"]) for r in rows], one
    if question is None or context is None:
        raise errors.ArgumentError("question, context: expected both, got only %s" %
                                   ("neither" if question is context is None else "one"))
    if isinstance(question, str) and isinstance(context, str):
        return [(question, context)], True
    questions = [question] if isinstance(question, str) else list(question)
    contexts = [context] * len(questions) if isinstance(context, str) else list(context)
    if len(questions) != len(contexts):
        raise errors.ArgumentError("question, context: expected as many questions as contexts, got %d and %d"
                                   % (len(questions), len(contexts)))
    return list(zip(questions, contexts)), False


def _probabilities(z: NDArray[Any], w: Window) -> Tuple[NDArray[Any], NDArray[Any]]:
    """Softmax of the start and end logits over [CLS] and the tokens of the context."""
    may = np.zeros(len(z), bool)
    may[w.at:w.at + w.last - w.first] = True
    may[0] = True
    masked = np.where(may[:, None], z.astype(np.float64), MASKED)
    p = np.exp(masked - masked.max(axis=0))
    p /= p.sum(axis=0)
    return p[:, 0].copy(), p[:, 1].copy()


def _spans(s: NDArray[Any], e: NDArray[Any], w: Window, top_k: int, longest: int) -> List[Tuple[int, int, float]]:
    """The most probable spans of at most `longest` tokens of the context."""
    a, b = w.at, w.at + w.last - w.first
    if a == b:
        return []
    p = np.tril(np.triu(np.outer(s[a:b], e[a:b])), longest - 1)
    flat = p.ravel()
    k = min(top_k, flat.size)
    order = np.argsort(-flat, kind="stable")[:k]
    spans = [(a + int(i) // (b - a), a + int(i) % (b - a), float(flat[i])) for i in order]
    return [x for x in spans if 0 <= x[1] - x[0] < longest]
