/* jina_bert.h — what JinaBERT and its relative with norms of queries and keys share; see jina_bert.c. */
#ifndef RF_MODEL_FAMILIES_JINA_BERT_H
#define RF_MODEL_FAMILIES_JINA_BERT_H

#include "model/layers/bert_layer.h"
#include "store/store.h"

/* The part of the values of auto_map that distinguishes the two. */
#define RF_JINA_BERT_QK "jina-bert-v2-qk-post-norm"

/* A family's row, but for the members that say how the layers differ. */
#define RF_JINA_BERT(name_, title_, where, qk, write_)                                                                 \
    .config = {.name = name_, .model_type = "bert", .title = title_, .sign = rf__jina_bert_signs,                      \
               .code = {RF_JINA_BERT_QK, qk}, .coded = true, .key = rf__jina_bert_keys,                                \
               .known = rf__jina_bert_known, .read = rf__jina_bert_read, .write = write_,                              \
               .class = rf__jina_bert_classes, .position = "alibi", .one_width = true,                                 \
               .elsewhere = "transformers alone would load it as a BERT with random feed-forward layers; it needs "    \
                            "the code that `auto_map` of a published folder names, " where "."},                       \
    .prefix = "bert.", .gated = true, .embedding = rf__rows_bert_embedding, .layer = layer,                            \
    .head = rf__jina_bert_heads, .spelling = rf__spelling_bert, .silent = rf__silent_bert,                             \
    .norm = RF_NORM_LAYER, RF_BERT_LAYER

extern const rf_head_row rf__jina_bert_heads[];
extern const rf_class_row rf__jina_bert_classes[];
extern const rf_config_sign rf__jina_bert_signs[];
extern const rf_config_key rf__jina_bert_keys[];
extern const rf_known_key rf__jina_bert_known[];

/* The published gate always uses GELU, while the head for masked tokens uses hidden_act. Here both use the same
 * function, so hidden_act must be gelu. */
rf_status rf__jina_bert_read(const char *file, const json_t *root, rf_config *c, rf_error *why);

#endif
