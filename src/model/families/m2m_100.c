/* m2m_100.c — M2M-100.                                   Fan et al. 2021; NLLB team 2022; transformers' M2M100...
 *
 * The encoder and decoder of seq2seq.c with norms before the sub-layers and after the last, and fairseq's sines and
 * cosines (positions/sinusoidal.c) added to the words of each side. NLLB has the same layers and other languages.
 *
 *     logits = h word^T */
#include "model/layers/seq2seq.h"

static const rf_family_row which[] = {
    RF_HEAD_UNTIED("lm_head.weight", GLOROT),
    {{0}, 0},
};
static const rf_head_row heads[] = {{RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, which, rf__head_none}, {0}};
static const rf_class_row classes[] = {RF_BART_CLASSES("M2M100"), {0}};
static const rf_config_key keys[] = {RF_BART_KEYS(128112, 1, 2, 2, 1, 1)};

const rf_family rf__family_m2m_100 = {
    .config = {RF_BART_CONFIG("m2m_100", "M2M-100", rf__seq2seq_read, "sinusoidal_fairseq"), .usual_act = RF_ACT_RELU},
    .head = heads,
    RF_SEQ2SEQ_OF(rf__rows_source_embeddings, rf__seq2seq_decoder, rf__seq2seq_silent_words),
};
