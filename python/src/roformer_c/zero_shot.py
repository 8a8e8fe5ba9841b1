"""zero-shot-classification, with the results of transformers' pipeline."""
from __future__ import annotations

import ctypes
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _abi as abi
from . import _texts, errors
from ._lib import Error, byref, check, lib
from ._lib import rows as rows_of
from ._model import Model
from .pipeline_base import Padding, Pipeline, call, idle


class ZeroShotClassificationPipeline(Pipeline):
    """Labels that the call names, by a model of natural language inference: whether a text entails "This example is LABEL.".

    A text gives {"sequence", "labels", "scores"}, the most likely label first; a list of texts gives a list.
    """

    task = "zero-shot-classification"

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__(model, **options)
        if self.labels and not any(name.lower().startswith("entail") for name in self.labels):
            warnings.warn("zero-shot-classification: expected a model with a label \"entailment\", got labels %s; its last "
                          "output counts as entailment" % ", ".join(self.labels[:8]), stacklevel=3)

    @call
    def __call__(self, sequences: Any, candidate_labels: Union[str, Sequence[str]], *,
                 hypothesis_template: str = "This example is {}.", multi_label: bool = False, padding: Padding = None,
                 batch_size: Optional[int] = None, num_workers: Optional[int] = None) -> Any:
        """sequences             a text or texts; of one that is too long with a hypothesis, the end is left out
        candidate_labels      labels, or a text of labels separated by commas
        hypothesis_template   with {} in the place of the label
        multi_label           True: each label by itself, entailment against contradiction; otherwise the scores of all
                              labels sum up to 1
        """
        self.need_head("zero-shot-classification", "RF_HEAD_SEQUENCE")
        idle(batch_size, num_workers, padding)
        labels = _labels(candidate_labels)
        if hypothesis_template.format(labels[0]) == hypothesis_template:
            raise errors.ArgumentError("hypothesis_template: expected a text with {} in the place of the label, got %r"
                                       % hypothesis_template)
        hypotheses = _texts.Block([hypothesis_template.format(x) for x in labels], "candidate_labels")
        texts = [sequences] if isinstance(sequences, str) else list(_texts.listed(sequences, "sequences"))
        out: List[Dict[str, Any]] = []
        for block in _texts.blocks(texts, max(1, 4096 // len(labels))):
            packed = _texts.Block(block, "sequences", len(out))
            rows = self.model.call(lambda p, packed=packed: _choose(p, packed, hypotheses, multi_label))  # type: ignore[misc]
            out += [{"sequence": t, "labels": [labels[k] for k, _ in row], "scores": [score for _, score in row]}
                    for t, row in zip(block, rows)]
        return out[0] if isinstance(sequences, str) else out


def _choose(pipeline: int, texts: _texts.Block, hypotheses: _texts.Block, multi_label: bool) -> List[List[Tuple[int, float]]]:
    """Of each text, the places of the labels and their scores, the best first."""
    o, why, found = abi.rf_zero_shot_options(), Error(), ctypes.c_void_p()
    lib.rf_zero_shot_options_init(byref(o), ctypes.sizeof(o))
    o.hypothesis_template, o.multi_label = b"{}", int(bool(multi_label))
    check(lib.rf_zero_shot(pipeline, texts.pointers, texts.sizes, texts.n, hypotheses.pointers, hypotheses.sizes,
                           hypotheses.n, byref(o), byref(found), None, byref(why)), why)
    n = hypotheses.n
    row = rows_of(abi.rf_zero_shot_label, found.value, texts.n * n)
    return [[(int(row[i * n + k].label), float(row[i * n + k].score)) for k in range(n)] for i in range(texts.n)]


def _labels(given: Union[str, Sequence[str]]) -> List[str]:
    labels = [x.strip() for x in given.split(",") if x.strip()] if isinstance(given, str) else list(given)
    if not labels or not all(isinstance(x, str) for x in labels):
        raise errors.ArgumentError("candidate_labels: expected texts, got %r" % (given,))
    return labels
