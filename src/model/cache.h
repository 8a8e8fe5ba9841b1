/* cache.h — what earlier tokens leave to later ones in a causal model: keys and values of every layer.
 *
 *     layer l, sequence b      [tokens, 2C]   key and value of each token side by side, rotated already where the
 *     encoding rotates
 *     layer l, sequence b      [tokens, M]    the further columns of keys (more_key), where the encoding has some
 *     sequence b               [S]            what an encoding in front of the layers needs of earlier tokens
 *
 * A call adds its tokens behind those that are there; they count from rf__cache_commit on, so that a call that fails
 * leaves the cache as it was.                                                                                        */
#ifndef RF_CACHE_H
#define RF_CACHE_H

#include "graph/graph.h"

typedef struct rf_cache rf_cache;

rf_status rf__cache_new(const rf_ctx *ctx, int64_t layers, int64_t sequences, rf_cache **out, rf_error *why);
void rf__cache_free(rf_cache *c);
int64_t rf__cache_sequences(const rf_cache *c);
int64_t rf__cache_length(const rf_cache *c, int64_t sequence);          /* tokens                                     */
size_t rf__cache_bytes(const rf_cache *c);

/* Tokens start[b] .. start[b+1]-1 of qkv are the next ones of sequence b: adds their keys and values, rotated by spec's
 * angles, and
 * spec->more_key.  spec then says where all keys are.  On failure the graph has stopped.                             */
void rf__cache_extend(rf_graph *g, rf_cache *c, int64_t layer, rf_tensor *qkv, rf_attention_spec *spec);

/* A state of `floats` for each sequence, [B, floats]: what the last call left (zeros before the first), and space for
 * what this one
 * leaves.  false: the graph has stopped. */
bool rf__cache_state(rf_graph *g, rf_cache *c, int64_t floats, const float **before, float **after);

/* The call has succeeded: sequence b has start[b+1] - start[b] more tokens. */
void rf__cache_commit(rf_cache *c, const int32_t start[]);

#endif
