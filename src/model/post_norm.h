/* post_norm.h — embeddings and layers as BERT has them; see post_norm.c. */
#ifndef RF_POST_NORM_H
#define RF_POST_NORM_H

#include "model/family.h"

typedef struct rf_post_norm_embedding {
    rf_tensor *word, *type, *norm, *norm_bias, *project, *project_bias, *last, *last_bias;
} rf_post_norm_embedding;

typedef struct rf_post_norm_layer {
    rf_tensor *qkv, *qkv_bias, *out, *out_bias, *norm, *norm_bias;
    rf_tensor *up, *up_bias, *down, *down_bias, *norm2, *norm2_bias;
    rf_tensor *cross_query, *cross_query_bias, *cross_keys, *cross_keys_bias;           /* of decoders; keys, values */
    rf_tensor *cross_out, *cross_out_bias, *cross_norm, *cross_norm_bias;
} rf_post_norm_layer;

rf_tensor *rf__post_norm_embed(rf_graph *g, const rf_block *b);
rf_tensor *rf__post_norm_forward(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_tensor *rf__pre_norm_finish(rf_graph *g, const rf_block *b, rf_tensor *h);
rf_footprint rf__post_norm_footprint(const rf_config *c, bool bf16);

/* The layer's rows with biases and norms of their own. */
extern const rf_family_row rf__rows_post_norm[];

/* What a family of such layers says beside its names. */
#define RF_POST_NORM                                                                                                \
    .embedding_size = sizeof(rf_post_norm_embedding), .layer_size = sizeof(rf_post_norm_layer),                      \
    .qkv = offsetof(rf_post_norm_layer, qkv), .qkv_bias = offsetof(rf_post_norm_layer, qkv_bias),                    \
    .embed = rf__post_norm_embed, .layer_forward = rf__post_norm_forward

#endif
