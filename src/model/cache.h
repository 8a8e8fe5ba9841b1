/* cache.h — the KV cache: what earlier tokens store for later ones in a causal model, for each sequence.
 *
 *     layer l      rows [tokens, W]   of each token, in pages of RFK_PAGE rows: for softmax attention the rotated key,
 *                                     the value and further columns of the key (more_key)
 *     layer l, -1  states [S]         of all tokens so far, for recurrences; -1 are the embeddings
 *
 *     layer l      rows [tokens, S]   of each token of a source, written once and read by all later calls
 *
 * Pages, states and sources have reference counts: a fork shares those of its origin. A page is written only by a
 * sequence that owns it alone; a sequence that shares its last page copies it first. States are never overwritten.
 *
 * A call begins with rf__cache_begin, which finds the sequences and reserves all pages that the call will fill, or with
 * rf__cache_read, and ends with rf__cache_end. It appends its tokens to the existing ones. Unless it succeeds, all
 * sequences are unchanged.
 *
 * threads   one at a time: that of the session */
#ifndef RF_CACHE_H
#define RF_CACHE_H

#include "graph/graph.h"
#include "roformer/model.h"

typedef struct rf_cache rf_cache;

/* The part of a layer that a state belongs to. */
typedef enum rf_state_kind { RF_STATE_POSITION, RF_STATE_ATTENTION, RF_STATES } rf_state_kind;

/* What a layer stores: columns of each token's row, and floats of states. */
typedef struct rf_keeping {
    int64_t columns;
    int64_t state[RF_STATES];
    int64_t source;                     /* columns for a token of a source                                            */
} rf_keeping;

/* keeping [layers + 1]: for the embeddings, then for each layer; copied. */
rf_status rf__cache_new(const rf_ctx *ctx, int64_t layers, const rf_keeping keeping[], rf_cache **out, rf_error *why);
void rf__cache_free(rf_cache *c);

size_t rf__cache_bytes(const rf_cache *c);                              /* of pages and states                        */
size_t rf__cache_most(const rf_cache *c);                               /* the limit                                  */
void rf__cache_limit(rf_cache *c, size_t bytes);                        /* limit for these; 0: no limit               */

/* Maximum bytes of one layer for a sequence of so many tokens that shares nothing; SIZE_MAX: does not fit a size_t. */
size_t rf__keeping_bytes(const rf_keeping *k, rf_type type, int64_t tokens);

/* The same for a source of so many tokens. */
size_t rf__source_bytes(const rf_keeping *k, rf_type type, int64_t tokens);

/* ---- sequences ---- */

rf_status rf__cache_add(rf_cache *c, rf_type type, rf_sequence *out, rf_error *why);
/* Forks the first `tokens` tokens; fewer than all are possible only if just rows of all tokens are stored. */
rf_status rf__cache_fork(rf_cache *c, rf_sequence from, int64_t tokens, rf_sequence *out, rf_error *why);
bool rf__cache_cuts(const rf_cache *c);
rf_status rf__cache_drop(rf_cache *c, rf_sequence which, rf_error *why);
int64_t rf__cache_tokens(const rf_cache *c, rf_sequence which);         /* -1: there is no such sequence              */

/* Creates B sequences without tokens that have sources: sequence b has one of start[b+1] - start[b] tokens. They
 * belong to the call until rf__cache_end; unless it succeeds, none of them exists. RF_ERANGE, RF_ENOMEM: as
 * rf__cache_begin. */
rf_status rf__cache_read(rf_cache *c, rf_type type, int64_t B, const int32_t start[], rf_sequence out[], rf_error *why);

/* ---- a call ---- */

/* Sequence which[b] will get start[b+1] - start[b] tokens.
 *
 *   RF_EARG    a sequence does not exist, or occurs twice
 *   RF_ERANGE  exceeds the limit of memory; the message has both numbers                  RF_ENOMEM */
rf_status rf__cache_begin(rf_cache *c, const rf_sequence which[], int64_t B, const int32_t start[], rf_error *why);

/* succeeded: the tokens count from now on. */
void rf__cache_end(rf_cache *c, bool succeeded);

/* The number of earlier tokens of sequence b of the call. */
int64_t rf__cache_length(const rf_cache *c, int64_t b);

/* The state of sequence b after the last call; NULL before the first: zeros. And space for the state after this call;
 * if it is not used, the state stays. NULL: the graph has stopped. */
const float *rf__cache_state(const rf_cache *c, int64_t b, int64_t layer, rf_state_kind which);
float *rf__cache_next_state(rf_graph *g, rf_cache *c, int64_t b, int64_t layer, rf_state_kind which);

/* For a call of rf__cache_read: stores the rows of the sources' tokens [tokens, S] for a layer. false: the graph has
 * stopped. */
bool rf__cache_put_source(rf_graph *g, rf_cache *c, int64_t layer, const rf_tensor *x);

/* The rows of the sources of the call's sequences. NULL: the graph has stopped. */
const rf_past *rf__cache_source(rf_graph *g, const rf_cache *c, int64_t layer);

/* Appends the keys and values of qkv, rotated by spec's angles, and spec->more_key; spec then refers to all keys. After
 * a failure the graph has stopped. */
void rf__cache_extend(rf_graph *g, rf_cache *c, int64_t layer, rf_tensor *qkv, rf_attention_spec *spec);

#endif
