/* esm.h — the rows that ESM-2 and the Nucleotide Transformer share; see esm.c. */
#ifndef RF_MODEL_FAMILIES_ESM_H
#define RF_MODEL_FAMILIES_ESM_H

#include "model/layers/bert_layer.h"
#include "store/store.h"

#define RF_ESM_ROW(name, shape, init, decay, flags, member)                                                            \
    RF_TENSOR(rf_bert_layer, member, name, shape, init, decay, flags)

/* Of a layer: attention with the norm before it, and the norm before the feed-forward. */
#define RF_ESM_ATTENTION                                                                                               \
    RF_ESM_ROW("attention.LayerNorm.weight", "C", ONES, false, 0, norm),                                               \
    RF_ESM_ROW("attention.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias),                                           \
    RF_ESM_ROW("attention.self.query.weight", "CC", NORMAL, true, 0, qkv),                                             \
    RF_ESM_ROW("attention.self.key.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),                                   \
    RF_ESM_ROW("attention.self.value.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),                                 \
    RF_ESM_ROW("attention.self.query.bias", "C", ZEROS, false, 0, qkv_bias),                                           \
    RF_ESM_ROW("attention.self.key.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                                 \
    RF_ESM_ROW("attention.self.value.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),                               \
    RF_ESM_ROW("attention.output.dense.weight", "CC", NORMAL, true, 0, out),                                           \
    RF_ESM_ROW("attention.output.dense.bias", "C", ZEROS, false, 0, out_bias),                                         \
    RF_ESM_ROW("LayerNorm.weight", "C", ONES, false, 0, norm2),                                                        \
    RF_ESM_ROW("LayerNorm.bias", "C", ZEROS, false, 0, norm2_bias)

/* Keys of config.json, except those whose defaults differ. */
#define RF_ESM_KEYS                                                                                                    \
    RF_LACKS(embedding_size),                                                                                          \
    RF_LACKS(is_decoder),                                                                                              \
    RF_LACKS(rotary_value),                                                                                            \
    RF_LACKS(type_vocab_size),                                                                                         \
    RF_FIXED(normalize_before, TRUTH, 1),                                                                              \
    RF_USUAL(pad_token_id, 1, 0),                                                                                      \
    RF_FIXED(rope_interleave, TRUTH, 0),                                                                               \
    RF_FIXED(partial_rotary_factor, NUMBER, 1),                                                                        \
    RF_CONFIG_KEY(token_dropout, TRUTH, 0, 0, 1, 0),                                                                   \
    RF_USUAL(mask_token_id, -1, 0)

#define RF_ESM_KNOWN                                                                                                   \
    RF_ONLY("emb_layer_norm_before", "false", "no norm stands before the layers"),                                     \
    RF_ONLY("is_folding_model", "false", "ESMFold is not supported"),                                                  \
    RF_IDLE("rope_scaling", "the class computes rope_theta alone"),                                                    \
    RF_IDLE("rope_parameters", "the same"),                                                                            \
    RF_IDLE("hidden_act", "the class has one function"),                                                               \
    RF_IDLE("esmfold_config", "of folding models"),                                                                    \
    RF_IDLE("vocab_list", "of folding models")

/* A family's row, but for the members that say how the feed-forward differs. */
#define RF_ESM(name_, title_, code, where)                                                                             \
    .config = {.name = name_, .model_type = "esm", .title = title_, .sign = signs, .coded = code, .key = keys,         \
               .known = known, .read = read_config, .write = rf__esm_write, .class = rf__esm_classes,                  \
               .position = "rotary", .one_width = true, .elsewhere = where},                                           \
    .prefix = "esm.", .embedding = rf__esm_embedding, .layer = layer, .head = rf__esm_heads,                           \
    .spelling = rf__esm_spelling, .silent = rf__esm_silent, .norm = RF_NORM_LAYER,                                     \
    RF_BERT_LAYER_OF(rf__esm_embed), .finish = rf__bert_finish

extern const rf_family_row rf__esm_embedding[];
extern const rf_head_row rf__esm_heads[];
extern const rf_class_row rf__esm_classes[];
extern const rf_spelling rf__esm_spelling[];
extern const rf_silent rf__esm_silent[];

/* Requires rotary positions, and the id of <mask> with token_dropout. */
rf_status rf__esm_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__esm_write(const rf_config *c, json_t **more);
rf_tensor *rf__esm_embed(rf_graph *g, const rf_block *b);

#endif
