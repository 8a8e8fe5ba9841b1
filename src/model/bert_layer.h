/* bert_layer.h — embeddings and layers as BERT has them; see bert_layer.c. */
#ifndef RF_BERT_LAYER_H
#define RF_BERT_LAYER_H

#include "model/family.h"

typedef struct rf_bert_embedding {
    rf_tensor *word, *type, *norm, *norm_bias, *project, *project_bias, *last, *last_bias, *pooler,
        *pooler_bias;
} rf_bert_embedding;

typedef struct rf_bert_layer {
    rf_tensor *qkv, *qkv_bias, *out, *out_bias, *norm, *norm_bias;
    rf_tensor *up, *up_bias, *down, *down_bias, *norm2, *norm2_bias;
    rf_tensor *cross_query, *cross_query_bias, *cross_keys, *cross_keys_bias;           /* of decoders; keys, values */
    rf_tensor *cross_out, *cross_out_bias, *cross_norm, *cross_norm_bias;
} rf_bert_layer;

rf_tensor *rf__bert_embed(rf_graph *g, const rf_block *b);
rf_tensor *rf__bert_forward(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_tensor *rf__bert_source_keys(rf_graph *g, const rf_block *b);
rf_tensor *rf__bert_finish(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_footprint rf__bert_footprint(const rf_config *c, bool bf16);

/* The layer's rows with biases and norms of their own. */
extern const rf_family_row rf__rows_bert_layer[];

/* What a family of such layers says beside its names. */
#define RF_BERT_LAYER                                                                                             \
    .embedding_size = sizeof(rf_bert_embedding), .layer_size = sizeof(rf_bert_layer),                             \
    .qkv = offsetof(rf_bert_layer, qkv), .qkv_bias = offsetof(rf_bert_layer, qkv_bias), .embed = rf__bert_embed, \
    .layer_forward = rf__bert_forward

#endif
