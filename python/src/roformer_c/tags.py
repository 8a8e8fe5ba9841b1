"""token-classification, with the results of transformers' pipeline."""
from __future__ import annotations

import functools
from typing import Any, Dict, Iterable, List, Optional, Sequence, overload

import numpy as np

from . import _texts, errors
from ._lib import lib
from ._model import Floats
from .cross import softmax_rows
from .pipeline_base import Pipeline, call, idle
from .sentence import one_of
from .tokenizer import Encodings

STRATEGIES = ("none", "simple", "first", "average", "max")
Entity = Dict[str, Any]


class TokenClassificationPipeline(Pipeline):
    """Labels of tokens, or of the groups of tokens that have one label.

    A text gives a list of {"entity", "score", "index", "word", "start", "end"}; with an aggregation_strategy of
    {"entity_group", "score", "word", "start", "end"}. start and end are characters. A list of texts gives a list of
    lists.
    """

    task = "token-classification"

    @overload
    def __call__(self, inputs: str, *, aggregation_strategy: str = ...,  # type: ignore[overload-overlap]
                 ignore_labels: Sequence[str] = ..., batch_size: Optional[int] = ...,
                 num_workers: Optional[int] = ...) -> List[Entity]: ...

    @overload
    def __call__(self, inputs: Iterable[str], *, aggregation_strategy: str = ..., ignore_labels: Sequence[str] = ...,
                 batch_size: Optional[int] = ..., num_workers: Optional[int] = ...) -> List[List[Entity]]: ...

    @call
    def __call__(self, inputs: Any, *, aggregation_strategy: str = "none", ignore_labels: Sequence[str] = ("O",),
                 batch_size: Optional[int] = None, num_workers: Optional[int] = None) -> Any:
        """aggregation_strategy "none", "simple", "first", "average" or "max"; labels in ignore_labels are left out. Texts
        are cut to what the model reads."""
        idle(batch_size, num_workers, None)
        one_of("aggregation_strategy", aggregation_strategy, STRATEGIES)
        self.need_head("token-classification", "RF_HEAD_TOKEN")
        texts, one = self.texts(inputs)
        out: List[List[Entity]] = []
        for block in _texts.blocks(texts, 64):
            e = self.encodings(block)
            z = softmax_rows(self.model.logits(e.encoded))
            out += [self._entities(e, z, i, block[i], aggregation_strategy, ignore_labels) for i in range(len(block))]
        return out[0] if one else out

    def _entities(self, e: Encodings, scores: Floats, i: int, text: str, strategy: str,
                  ignored: Sequence[str]) -> List[Entity]:
        begin, end = e.characters()
        a, b = int(e.encoded.start[i]), int(e.encoded.start[i + 1])
        tokens: List[Entity] = []
        for t in range(a, b):
            if e.encoded.added[t]:
                continue
            word, ref = self.tokenizer.id_to_token(int(e.encoded.ids[t])) or "", text[begin[t]:end[t]]
            if self.wordpiece:
                subword = len(word) != len(ref)
            else:
                subword = bool(begin[t] > 0) and " " not in text[begin[t] - 1:begin[t] + 1]
            if int(e.encoded.ids[t]) == self.special.get("unk_token"):
                word, subword = ref, False
            tokens.append({"word": word, "scores": scores[t], "start": int(begin[t]), "end": int(end[t]),
                           "index": t - a, "is_subword": subword})
        found = self._labeled(tokens) if strategy in ("none", "simple") else self._words(tokens, strategy)
        if strategy != "none":
            found = self._groups(found)
        return [x for x in found if x.get("entity") not in ignored and x.get("entity_group") not in ignored]

    @functools.cached_property
    def byte_level(self) -> bool:
        """Whether characters of a token stand for bytes, as in GPT-2 and RoBERTa."""
        space = None if self.wordpiece else self.tokenizer.token_to_id("\u0120")
        return space is not None and self.tokenizer.decode([space], False, False) == " "

    def _labeled(self, tokens: List[Entity]) -> List[Entity]:
        out = []
        for t in tokens:
            k = int(t["scores"].argmax())
            out.append({"entity": self.labels[k], "score": t["scores"][k], "index": t["index"], "word": t["word"],
                        "start": t["start"], "end": t["end"]})
        return out

    def _words(self, tokens: List[Entity], strategy: str) -> List[Entity]:
        words: List[List[Entity]] = []
        for t in tokens:
            if words and t["is_subword"]:
                words[-1].append(t)
            else:
                words.append([t])
        return [self._word(w, strategy) for w in words]

    def _word(self, tokens: List[Entity], strategy: str) -> Entity:
        if strategy == "first":
            scores = tokens[0]["scores"]
        elif strategy == "max":
            scores = max(tokens, key=lambda t: t["scores"].max())["scores"]
        else:
            scores = np.nanmean(np.stack([t["scores"] for t in tokens]), axis=0)
        k = int(scores.argmax())
        return {"entity": self.labels[k], "score": scores[k], "word": self.joined([t["word"] for t in tokens]),
                "start": tokens[0]["start"], "end": tokens[-1]["end"]}

    def _groups(self, entities: List[Entity]) -> List[Entity]:
        groups: List[List[Entity]] = []
        for x in entities:
            begins, tag = _tag(x["entity"])
            if groups and not begins and _tag(groups[-1][-1]["entity"])[1] == tag:
                groups[-1].append(x)
            else:
                groups.append([x])
        return [{"entity_group": g[0]["entity"].split("-", 1)[-1], "score": np.mean([x["score"] for x in g]),
                 "word": self.joined([x["word"] for x in g]), "start": g[0]["start"], "end": g[-1]["end"]}
                for g in groups]

    def joined(self, words: List[str]) -> str:
        """Tokens, or words of several tokens, as text."""
        if self.byte_level:
            return _text_of_bytes("".join(words))
        if not self.wordpiece:
            return "".join(words).replace("\u2581", " ").strip()
        return "".join(_cleaned(w if i == 0 else w[2:] if w.startswith("##") else " " + w) for i, w in enumerate(words))


def _bytes_of_characters() -> Dict[str, int]:
    """Which byte a character of byte-level BPE stands for: itself if it is printable in Latin-1, else one from 256 on."""
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b]
    others = [b for b in range(256) if b not in printable]
    return {**{chr(b): b for b in printable}, **{chr(256 + i): b for i, b in enumerate(others)}}


BYTES = _bytes_of_characters()


def _text_of_bytes(text: str) -> str:
    return b"".join(bytes([BYTES[c]]) if c in BYTES else c.encode() for c in text).decode("utf-8", "replace")


def _cleaned(text: str) -> str:
    """What the WordPiece decoder of tokenizers replaces."""
    for a, b in ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
                 (" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")):
        text = text.replace(a, b)
    return text


def _tag(entity: str) -> "tuple[bool, str]":
    """Whether a label begins an entity (B-TYPE), and its type."""
    return entity.startswith("B-"), entity[2:] if entity[:2] in ("B-", "I-") else entity
