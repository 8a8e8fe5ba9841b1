/* mbart.c — mBART.                                                     Liu et al. 2020; transformers' MBart...
 *
 * BART (bart.c) with norms before the sub-layers, and one after the last.
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
    {RF_HEAD_SEQ2SEQ, "MBartForConditionalGeneration", false, false},
    {RF_HEAD_SEQ2SEQ, "MBartModel", false, false},
    {0},
};

static const rf_known_key known[] = {RF_BART_IDLE};
static const rf_config_key keys[] = {RF_BART_KEYS(50265, 1, 0, 2, 0, 1)};

/* The class has no default: a language begins a target. */
static rf_status read_start(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    if (!json_object_get(root, "decoder_start_token_id")) c->decoder_start_token_id = -1;
    return rf__seq2seq_read(file, root, c, why);
}

const rf_family rf__family_mbart = {
    .config = {.name = "mbart",
               .model_type = "mbart",
               .title = "mBART",
               .key = keys,
               .known = known,
               .class = classes,
               .read = read_start,
               .position = "bart",
               .one_width = true,
               .pairs = true,
               .framed = true,
               .forced_end = 1 + 2,
               .act = "activation_function"},
    .head = heads,
    RF_SEQ2SEQ_OF(rf__rows_source_normed, rf__seq2seq_normed_decoder, rf__seq2seq_silent_words),
};
