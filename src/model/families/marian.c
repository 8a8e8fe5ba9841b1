/* marian.c — Marian's translation models.            Junczys-Dowmunt et al. 2018; transformers' MarianMTModel (opus-mt)
 *
 * The encoder and decoder of seq2seq.c, with sines and cosines added to the words of each side; the first half of a
 * vector are sines, the second half cosines. A target begins with pad_token_id, which decoder_start_token_id names.
 *
 *     logits = h word^T + final_logits_bias */
#include "model/layers/seq2seq.h"

static const rf_family_row which[] = {
    RF_HEAD_UNTIED("lm_head.weight", GLOROT),
    RF_HEAD_ROW("final_logits_bias", "1V", ZEROS, false, RF_ROW_FLAT, out_bias),
    {{0}, 0},
};
static const rf_head_row heads[] = {{RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, which, rf__head_none}, {0}};
static const rf_class_row classes[] = {{RF_HEAD_SEQ2SEQ, "MarianMTModel", false, false}, {0}};

/* Keys of older folders that BART's class loaded as Marian's. */
static const rf_config_sign signs[] = {
    {"normalize_before", NULL, false, false},
    {"normalize_embedding", NULL, false, false},
    {"add_final_layer_norm", NULL, false, false},
    {"rotary_cross_attention", NULL, false, false},
    {0},
};
/* Keys of published files that MarianConfig does not use. */
static const rf_known_key known[] = {
    RF_IDLE("add_bias_logits", "the logits always have a bias"),
    RF_IDLE("classif_dropout", "of a head for texts"),
    RF_IDLE("extra_pos_embeddings", "sines need no rows"),
    RF_IDLE("static_position_embeddings", "positions are sines"),
    {0},
};

static const rf_config_key keys[] = {RF_SEQ2SEQ_KEYS(1024, 12, 16, 4096, 58101, 58100, 0, 0)};

const rf_family rf__family_marian = {
    .config = {.name = "marian",
               .model_type = "marian",
               .title = "Marian",
               .sign = signs,
               .key = keys,
               .known = known,
               .class = classes,
               .position = "sinusoidal_halves",
               .one_width = true,
               .pairs = true,
               .forced_end = 1 + 0,
               .start_once = true,
               .act = "activation_function"},
    .head = heads,
    RF_SEQ2SEQ,
};
