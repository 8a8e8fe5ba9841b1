#!/usr/bin/env python3
"""Makes tests/golden/deberta_v2 and tests/golden/deberta: tiny DeBERTas of versions 2 and 3, and 1, with random weights and every head, saved by
transformers, and what transformers computes with them.  Needs torch and transformers 5; the tests need neither.  The formats are those of
golden_models.py and golden_heads.py, which tests/golden/README.md describes.

    python tools/golden/golden_deberta.py                    # rewrites both folders
    python tools/golden/golden_deberta.py --check FOLDER...  # transformers loads folders that roformer wrote
"""
import sys

from transformers import (DebertaConfig, DebertaForMaskedLM, DebertaForQuestionAnswering, DebertaForSequenceClassification,
                          DebertaForTokenClassification, DebertaV2Config, DebertaV2ForMaskedLM, DebertaV2ForMultipleChoice,
                          DebertaV2ForQuestionAnswering, DebertaV2ForSequenceClassification, DebertaV2ForTokenClassification)

import golden
from golden_bert import NAMES, check

WIDTHS = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=40)
LABELS = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="single_label_classification")
# As the published version 3: offsets above 8 grow by a factor, up to 63, and texts of 160 tokens go beyond.
SMALL = dict(WIDTHS, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, position_buckets=16, share_att_key=True,
             norm_rel_ebd="layer_norm", max_position_embeddings=64, type_vocab_size=0)
# As the published version 1.
FIRST = dict(WIDTHS, relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False, max_relative_positions=50)

VERSION_2 = {
    "masked": (DebertaV2ForMaskedLM, SMALL),
    "c2p": (DebertaV2ForMaskedLM, dict(WIDTHS, relative_attention=True, pos_att_type=["c2p"], max_position_embeddings=160, type_vocab_size=2,
                                       embedding_size=16, tie_word_embeddings=False, hidden_act="relu")),
    "p2c": (DebertaV2ForMaskedLM, dict(SMALL, pos_att_type=["p2c"], share_att_key=False, legacy=False, layer_norm_eps=1e-5, max_relative_positions=20,
                                       position_buckets=-1)),
    "absolute": (DebertaV2ForMaskedLM, dict(WIDTHS, pos_att_type=["p2c", "c2p"], max_position_embeddings=160)),
}
HEADS_2 = {
    "sequence": (DebertaV2ForSequenceClassification, dict(SMALL, **LABELS, cls_dropout=0.2), [7, 2, 12]),
    "token": (DebertaV2ForTokenClassification, dict(SMALL, num_labels=5), [6, 1, 9]),
    "span": (DebertaV2ForQuestionAnswering, SMALL, [8, 5]),
    "choice": (DebertaV2ForMultipleChoice, dict(SMALL, pooler_hidden_act="tanh"), [9, 3, 4, 7]),
}
VERSION_1 = {
    "masked": (DebertaForMaskedLM, FIRST),
    "c2p": (DebertaForMaskedLM, dict(FIRST, pos_att_type="c2p", position_biased_input=True, max_position_embeddings=160, type_vocab_size=3, legacy=False)),
}
HEADS_1 = {
    "sequence": (DebertaForSequenceClassification, dict(FIRST, **LABELS, pooler_hidden_act="relu", pooler_dropout=0.1), [7, 2, 12]),
    "token": (DebertaForTokenClassification, dict(FIRST, num_labels=5), [6, 1, 9]),
    "span": (DebertaForQuestionAnswering, FIRST, [8, 5]),
}


def main():
    golden.quiet()
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2:])
    golden.write_models(golden.GOLDEN / "deberta_v2", DebertaV2Config, VERSION_2, HEADS_2, (1, 3, 160))
    golden.write_models(golden.GOLDEN / "deberta", DebertaConfig, VERSION_1, HEADS_1, (1, 3, 160))


if __name__ == "__main__":
    main()
