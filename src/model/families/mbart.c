/* mbart.c — mBART.                                                     Liu et al. 2020; transformers' MBart...
 *
 * BART (bart.c) with norms before the sub-layers, and one after the last.
 *
 *     logits  = h word^T + final_logits_bias
 *     labels  = drop(tanh(drop(h_</s>) W_d + b_d)) W_o + b_o            of texts that both sides read (encoder.c) */
#include "model/layers/seq2seq.h"

static const rf_head_row heads[] = {RF_BART_HEADS, {0}};
static const rf_class_row classes[] = {RF_BART_CLASSES("MBart"), RF_BART_TEXT_CLASSES("MBart"), {0}};
static const rf_config_key keys[] = {RF_USUAL(classifier_dropout, 0, RF_KEY_NULL), RF_BART_KEYS(50265, 1, 0, 2, 0, 1)};

/* The class has no default: a language begins a target. */
static rf_status read_start(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    if (!json_object_get(root, "decoder_start_token_id")) c->decoder_start_token_id = -1;
    return rf__seq2seq_read(file, root, c, why);
}

const rf_family rf__family_mbart = {
    .config = {RF_BART_CONFIG("mbart", "mBART", read_start, "bart"), .forced_end = 1 + 2},
    .head = heads,
    .both = true,
    .wraps = true,
    RF_SEQ2SEQ_OF(rf__rows_source_normed, rf__seq2seq_normed_decoder, rf__seq2seq_silent_words),
};
