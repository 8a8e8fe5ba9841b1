/* bart.c — BART.                                                    Lewis et al. 2020; transformers' Bart...
 *
 * The encoder and decoder of seq2seq.c with norms after the embeddings and after each sub-layer, and learned positions,
 * the first in row 2 of its table (positions/absolute.c).
 *
 *     logits = h word^T + final_logits_bias */
#include "model/layers/seq2seq.h"

static const rf_family_row which[] = {
    RF_HEAD_UNTIED("lm_head.weight", GLOROT),
    RF_HEAD_ROW("final_logits_bias", "1V", ZEROS, false, RF_ROW_FLAT | RF_ROW_MAY_LACK, out_bias),
    {{0}, 0},
};
static const rf_head_row heads[] = {{RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, which, rf__head_none}, {0}};
static const rf_class_row classes[] = {
    {RF_HEAD_SEQ2SEQ, "BartForConditionalGeneration", false, false},
    {RF_HEAD_SEQ2SEQ, "BartModel", false, false},
    {0},
};

static const rf_known_key known[] = {RF_BART_IDLE};
static const rf_config_key keys[] = {RF_BART_KEYS(50265, 1, 2, 2, 0, 0)};

const rf_family rf__family_bart = {
    .config = {.name = "bart",
               .model_type = "bart",
               .title = "BART",
               .key = keys,
               .known = known,
               .class = classes,
               .read = rf__seq2seq_read,
               .position = "bart",
               .one_width = true,
               .pairs = true,
               .framed = true,
               .forced_end = 1 + 2,
               .act = "activation_function"},
    .head = heads,
    RF_SEQ2SEQ_OF(rf__rows_source_normed, rf__seq2seq_normed_decoder, rf__seq2seq_silent_words),
};
