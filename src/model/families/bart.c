/* bart.c — BART.                                                    Lewis et al. 2020; transformers' Bart...
 *
 * The encoder and decoder of seq2seq.c with norms after the embeddings and after each sub-layer, and learned positions,
 * the first in row 2 of its table (positions/absolute.c).
 *
 *     logits  = h word^T + final_logits_bias
 *     labels  = drop(tanh(drop(h_</s>) W_d + b_d)) W_o + b_o            of texts that both sides read (encoder.c) */
#include "model/layers/seq2seq.h"

static const rf_head_row heads[] = {RF_BART_HEADS, {0}};
static const rf_class_row classes[] = {RF_BART_CLASSES("Bart"), RF_BART_TEXT_CLASSES("Bart"), {0}};
static const rf_config_key keys[] = {RF_USUAL(classifier_dropout, 0, RF_KEY_NULL), RF_BART_KEYS(50265, 1, 2, 2, 0, 0)};

/* The class has three labels if nothing names them. */
static rf_status read_labels(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    if (!json_object_get(root, "id2label") && !json_object_get(root, "num_labels")) c->num_labels = 3;
    return rf__seq2seq_read(file, root, c, why);
}

const rf_family rf__family_bart = {
    .config = {RF_BART_CONFIG("bart", "BART", read_labels, "bart"), .forced_end = 1 + 2},
    .head = heads,
    .both = true,
    RF_SEQ2SEQ_OF(rf__rows_source_normed, rf__seq2seq_normed_decoder, rf__seq2seq_silent_words),
};
