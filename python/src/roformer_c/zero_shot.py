"""zero-shot-classification, with the results of transformers' pipeline."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from . import _texts, errors
from .cross import softmax_rows
from .pipeline_base import Padding, Pipeline, call, idle


class ZeroShotClassificationPipeline(Pipeline):
    """Labels that the call names, by a model of natural language inference: whether a text entails "This example is LABEL.".

    A text gives {"sequence", "labels", "scores"}, the most likely label first; a list of texts gives a list.
    """

    task = "zero-shot-classification"

    @call
    def __call__(self, sequences: Any, candidate_labels: Union[str, Sequence[str]], *,
                 hypothesis_template: str = "This example is {}.", multi_label: bool = False, padding: Padding = None,
                 batch_size: Optional[int] = None, num_workers: Optional[int] = None) -> Any:
        """candidate_labels      labels, or a text of labels separated by commas
        hypothesis_template   with {} in the place of the label
        multi_label           True: each label by itself, entailment against contradiction; otherwise the scores of all
                              labels sum up to 1
        """
        self.need_head("zero-shot-classification", "RF_HEAD_SEQUENCE")
        idle(batch_size, num_workers, padding)
        entailment = self._entailment()
        labels = _labels(candidate_labels)
        hypotheses = [hypothesis_template.format(x) for x in labels]
        if hypothesis_template.format(labels[0]) == hypothesis_template:
            raise errors.ArgumentError("hypothesis_template: expected a text with {} in the place of the label, got %r"
                                       % hypothesis_template)
        self._need_room(hypotheses)
        texts = [sequences] if isinstance(sequences, str) else list(_texts.listed(sequences, "sequences"))
        pairs = [(t, h) for t in texts for h in hypotheses]
        z = np.concatenate([self.model.logits(self.encodings([t for t, _ in part], [h for _, h in part]).encoded)
                            for part in _texts.blocks(pairs, 32)]) if pairs else np.zeros((0, len(self.labels)))
        out = [self._row(t, labels, z[i * len(labels):(i + 1) * len(labels)], entailment, multi_label)
               for i, t in enumerate(texts)]
        return out[0] if isinstance(sequences, str) else out

    def _entailment(self) -> int:
        found = [i for i, name in enumerate(self.labels) if name.lower().startswith("entail")]
        if not found or len(self.labels) < 2:
            raise errors.UnsupportedError("zero-shot-classification: expected a model of natural language inference with a "
                                          "label \"entailment\", got labels %s" % ", ".join(self.labels[:8]))
        return found[0]

    def _need_room(self, hypotheses: List[str]) -> None:
        """Texts are truncated, not hypotheses: each takes at most half of the tokens, so that the text is the longer one."""
        most = self.model.reading_length() // 2
        for h, tokens in zip(hypotheses, self.encodings(hypotheses, limit=0)):
            if most and len(tokens) > most:
                raise errors.ArgumentError("candidate_labels: expected hypotheses of at most %d tokens, got %d: %r"
                                           % (most, len(tokens), h))

    def _row(self, text: str, labels: List[str], z: Any, entailment: int, multi_label: bool) -> Dict[str, Any]:
        if multi_label or len(labels) == 1:
            scores = softmax_rows(z[:, [0 if entailment else -1, entailment]])[:, 1]
        else:
            scores = softmax_rows(z[None, :, entailment])[0]
        order = list(reversed(np.argsort(scores, kind="stable")))
        return {"sequence": text, "labels": [labels[i] for i in order], "scores": [float(scores[i]) for i in order]}


def _labels(given: Union[str, Sequence[str]]) -> List[str]:
    labels = [x.strip() for x in given.split(",") if x.strip()] if isinstance(given, str) else list(given)
    if not labels or not all(isinstance(x, str) for x in labels):
        raise errors.ArgumentError("candidate_labels: expected texts, got %r" % (given,))
    return labels
