/* deberta.h — what versions 1 to 3 of DeBERTa share (deberta_v2.c).        He et al. 2021 */
#ifndef RF_MODEL_FAMILIES_DEBERTA_H
#define RF_MODEL_FAMILIES_DEBERTA_H

#include "model/layers/bert_layer.h"

/* After attention: its output and the feed-forward, as in BERT. */
#define RF_DEBERTA_OUTPUT                                                                                              \
    RF_BERT_ROW("attention.output.dense.weight", "CC", NORMAL, true, 0, out),                                          \
    RF_BERT_ROW("attention.output.dense.bias", "C", ZEROS, false, 0, out_bias),                                        \
    RF_BERT_ROW("attention.output.LayerNorm.weight", "C", ONES, false, 0, norm),                                       \
    RF_BERT_ROW("attention.output.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias),                                   \
    RF_BERT_FEED_FORWARD

#define RF_DEBERTA_KEYS                                                                                                \
    RF_LACKS(rotary_value),                                                                                            \
    RF_LACKS(is_decoder),                                                                                              \
    RF_CONFIG_KEY(type_vocab_size, WHOLE, 0, 0, 65536, 0),                                                             \
    RF_USUAL(max_position_embeddings, 512, 0),                                                                         \
    RF_USUAL(layer_norm_eps, 1e-7, 0),                                                                                 \
    RF_USUAL_AS("cls_dropout", classifier_dropout, -1, RF_KEY_NULL),                                                   \
    RF_CONFIG_KEY(pooler_dropout, NUMBER, 0, 0, 1, RF_KEY_OPEN_HIGH)

#define RF_DEBERTA_KNOWN                                                                                               \
    RF_ONE_POSITION,                                                                                                   \
    RF_IDLE("relative_attention", "read by `rf__deberta_read`"),                                                       \
    RF_IDLE("pos_att_type", "the same"),                                                                               \
    RF_IDLE("position_biased_input", "the same"),                                                                      \
    RF_IDLE("legacy", "the same"),                                                                                     \
    RF_IDLE("pooler_hidden_act", "the same"),                                                                          \
    RF_IDLE("pooler_hidden_size", "the same")

#define RF_DEBERTA(name_, type, title_, layer_rows)                                                                    \
    .config = {.name = name_, .model_type = type, .title = title_, .key = keys, .known = known,                        \
               .read = read_config, .write = write_config, .class = classes, .position = "deberta"},                   \
    .prefix = "deberta.", .embedding = rf__deberta_embedding, .layer = layer_rows, .head = rf__deberta_heads,          \
    .spelling = rf__deberta_spelling, .silent = rf__deberta_silent, .norm = RF_NORM_LAYER

/* Whether a key is there and true, false, or `usual` because it is not there. */
rf_status rf__deberta_flag(const char *file, const json_t *root, const char *key, bool usual, bool *out, rf_error *why);

/* Whether a text of names that "|" separates, or a list of names, has a name: "p2c|c2p", ["p2c", "c2p"]. */
bool rf__deberta_names(const json_t *list, const char *name);

/* The keys above; those of one version are left to it. */
rf_status rf__deberta_read(const char *file, const json_t *root, rf_config *c, rf_error *why);
void rf__deberta_write(const rf_config *c, json_t **more);

rf_tensor *rf__deberta_embed(rf_graph *g, const rf_block *b);

extern const rf_family_row rf__deberta_embedding[];
extern const rf_head_row rf__deberta_heads[];
extern const rf_spelling rf__deberta_spelling[];
extern const rf_silent rf__deberta_silent[];

#endif
