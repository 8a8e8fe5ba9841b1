/* linear_attention.h — layers with linear attention: their settings in config.json, and their forward pass. */
#ifndef RF_MODEL_LINEAR_H
#define RF_MODEL_LINEAR_H

#include "model/position.h"

struct rf_block;

/* Columns of a row of features. */
int64_t rf__linear_attention_columns(const rf_config *c);

/* Number of columns for which a layer needs angles, if features are rotated; otherwise 0: those of the encoding. */
int64_t rf__linear_attention_rotary(const rf_config *c, int64_t layer);

/* RF_EDATA, RF_EUNSUPPORTED: the settings of linear attention cannot be combined with each other, or with an
 * encoding. */
rf_status rf__linear_attention_check(const rf_position *p, const rf_config *c, rf_error *why);

/* Sets the draw of random features after so many training steps. */
void rf__linear_attention_draw(rf_config *c, int64_t steps);

/* Floats that a layer stores for each sequence. */
int64_t rf__linear_attention_sequence(const rf_ctx *ctx, const rf_config *c);

/* Bytes for training on texts of T tokens, besides those stored for each token: of all workers while one layer is
 * computed, backward; and what is kept between steps, random features and tables of angles. 0: no linear layer. */
double rf__linear_attention_scratch(const rf_ctx *ctx, const rf_config *c, int64_t T);
double rf__linear_attention_kept(const rf_config *c, int64_t T);

/* Bytes that one linear layer stores for its backward pass for each token of texts of T tokens, besides its result. */
double rf__linear_attention_left(const rf_ctx *ctx, const rf_config *c, int64_t T);

/* RF_ENOMEM: the features of one layer in use, and the random ones of all layers, do not fit into `left` bytes, for any
 * text. 0: the available memory is unknown. */
rf_status rf__linear_attention_fits(const rf_ctx *ctx, const rf_config *c, double left, rf_error *why);

/* Whether exact attention over all pairs would take far less time than this many features, for texts of T tokens. */
bool rf__linear_attention_slower(const rf_config *c, int64_t T);

/* [N,3C] -> [N,C]; spec has the angles. underflows is incremented. */
rf_tensor *rf__linear_attention_forward(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv,
                                        const rf_attention_spec *spec, int64_t *underflows);

#endif
