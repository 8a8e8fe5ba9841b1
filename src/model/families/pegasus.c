/* pegasus.c — Pegasus.                                                  Zhang et al. 2020; transformers' Pegasus...
 *
 * The encoder and decoder of seq2seq.c with norms before the sub-layers and after the last, and Marian's sines and
 * cosines added to the words of each side.
 *
 *     logits = h word^T + final_logits_bias */
#include "model/layers/seq2seq.h"

static const rf_head_row heads[] = {{RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, rf__rows_biased_words, rf__head_none}, {0}};
static const rf_class_row classes[] = {RF_BART_CLASSES("Pegasus"), {0}};

static const rf_silent silent[] = {
    {"encoder.embed_positions.weight", NULL},
    {"decoder.embed_positions.weight", NULL},
    {"encoder.embed_tokens.weight", "tie_word_embeddings"},
    {"decoder.embed_tokens.weight", "tie_word_embeddings"},
    {"lm_head.weight", "tie_word_embeddings"},
    {"shared.weight", NULL},
    {0},
};
static const rf_config_key keys[] = {RF_BART_KEYS(50265, 0, 0, 1, 0, 1)};

const rf_family rf__family_pegasus = {
    .config = {RF_BART_CONFIG("pegasus", "Pegasus", rf__seq2seq_read, "sinusoidal_halves"), .forced_end = 1 + 1},
    .head = heads,
    RF_SEQ2SEQ_OF(rf__rows_source_embeddings, rf__seq2seq_decoder, silent),
};
