/* linear_attention.h — layers with linear attention: what config.json says of them, and their forward. */
#ifndef RF_MODEL_LINEAR_H
#define RF_MODEL_LINEAR_H

#include "model/position.h"

struct rf_block;

/* Columns of a row of features. */
int64_t rf__linear_attention_columns(const rf_config *c);

/* Columns that the angles of a layer are for, where features are rotated; else 0: as the encoding has them. */
int64_t rf__linear_attention_rotary(const rf_config *c, int64_t layer);

/* RF_EDATA, RF_EUNSUPPORTED: what config.json says of linear attention does not go together, or not with an encoding.
 */
rf_status rf__linear_attention_check(const rf_position *p, const rf_config *c, rf_error *why);

/* Which draw of random features a model has after so many steps of training. */
void rf__linear_attention_draw(rf_config *c, int64_t steps);

/* Floats that a sequence of a layer keeps. */
int64_t rf__linear_attention_sequence(const rf_ctx *ctx, const rf_config *c);

/* Bytes that training on texts of T tokens takes besides what stays for each token: of all workers while one layer is
 * computed, backward; and what is kept from step to step, random features and tables of angles.  0: no linear layer. */
double rf__linear_attention_scratch(const rf_ctx *ctx, const rf_config *c, int64_t T);
double rf__linear_attention_kept(const rf_config *c, int64_t T);

/* Bytes for each token of texts of T tokens that one linear layer keeps for its backward, beside its result. */
double rf__linear_attention_left(const rf_ctx *ctx, const rf_config *c, int64_t T);

/* RF_ENOMEM: features of one layer at work, and the random ones of all, do not fit into `left` bytes, whatever the text
 * is.  0: how much is left is not known. */
rf_status rf__linear_attention_fits(const rf_ctx *ctx, const rf_config *c, double left, rf_error *why);

/* Whether attention over all pairs of texts of T tokens, which is exact, takes far less than this many features do. */
bool rf__linear_attention_wasteful(const rf_config *c, int64_t T);

/* [N,3C] -> [N,C]; spec has the angles.  underflows is added to. */
rf_tensor *rf__linear_attention_forward(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv,
                                        const rf_attention_spec *spec, int64_t *underflows);

#endif
