/* cache.h — what earlier tokens leave to later ones in a causal model, sequence by sequence.
 *
 *     layer l      rows [tokens, W]   of each token, in pages of RFK_PAGE rows: for softmax attention the rotated key,
 *                                     the value and further columns of the key (more_key)
 *     layer l, -1  states [S]         of all tokens so far, as recurrences have them; -1 are the embeddings
 *
 *     layer l      rows [tokens, S]   of each token of a source, written once, which all later calls read
 *
 * Pages, states and sources have reference counts: a fork shares those of the sequence it comes from.  A page is
 * written by the one sequence that has it: a sequence that shares its last one copies it first.  States are never
 * written again.
 *
 * A call goes from rf__cache_begin, which finds the sequences and takes all pages that the call will fill, or from
 * rf__cache_read, to rf__cache_end; it adds its tokens behind those that are there.  Unless it succeeds, all sequences
 * are as they were.
 *
 * threads   one at a time; the session's                                                                             */
#ifndef RF_CACHE_H
#define RF_CACHE_H

#include "graph/graph.h"
#include "roformer/sequence.h"

typedef struct rf_cache rf_cache;

/* Whose a state of a layer is. */
typedef enum rf_state_kind { RF_STATE_POSITION, RF_STATE_ATTENTION, RF_STATES } rf_state_kind;

/* What a layer keeps: columns of a token's row, of the last `recent` tokens at most (0: of all), and floats of states.
 */
typedef struct rf_keeping {
    int64_t columns, recent;
    int64_t state[RF_STATES];
    int64_t source;                     /* columns of a source's token                                                */
} rf_keeping;

/* keeping [layers + 1]: of the embeddings, then of each layer; copied. */
rf_status rf__cache_new(const rf_ctx *ctx, int64_t layers, const rf_keeping keeping[], rf_cache **out, rf_error *why);
void rf__cache_free(rf_cache *c);

size_t rf__cache_bytes(const rf_cache *c);                              /* of pages and states                        */
size_t rf__cache_most(const rf_cache *c);                               /* the limit                                  */
void rf__cache_limit(rf_cache *c, size_t bytes);                        /* that these may have; 0: no limit           */

/* Bytes that a layer of one sequence of so many tokens has at most, if it shares nothing; SIZE_MAX when no size_t holds
 * them. */
size_t rf__keeping_bytes(const rf_keeping *k, rf_type type, int64_t tokens);

/* The same of a source of so many tokens. */
size_t rf__source_bytes(const rf_keeping *k, rf_type type, int64_t tokens);

/* ---- sequences ---- */

rf_status rf__cache_add(rf_cache *c, rf_type type, rf_sequence *out, rf_error *why);
/* Of its first `tokens` tokens: fewer than there are only where nothing but rows of all of them is kept. */
rf_status rf__cache_fork(rf_cache *c, rf_sequence from, int64_t tokens, rf_sequence *out, rf_error *why);
bool rf__cache_cuts(const rf_cache *c);
rf_status rf__cache_drop(rf_cache *c, rf_sequence which, rf_error *why);
int64_t rf__cache_tokens(const rf_cache *c, rf_sequence which);         /* -1: there is no such sequence              */

/* B sequences without tokens that look at sources: sequence b at one of start[b+1] - start[b] tokens.  They are of the
 * call until rf__cache_end; unless it succeeds there are none of them.  RF_ERANGE, RF_ENOMEM: as rf__cache_begin. */
rf_status rf__cache_read(rf_cache *c, rf_type type, int64_t B, const int32_t start[], rf_sequence out[], rf_error *why);

/* ---- a call ---- */

/* Sequence which[b] gets start[b+1] - start[b] tokens.
 *
 *   RF_EARG    a sequence that is not there, or twice
 *   RF_ERANGE  more than the limit of memory allows, with both                  RF_ENOMEM */
rf_status rf__cache_begin(rf_cache *c, const rf_sequence which[], int64_t B, const int32_t start[], rf_error *why);

/* succeeded: the tokens count from now on. */
void rf__cache_end(rf_cache *c, bool succeeded);

/* Of sequence b of the call: tokens before it. */
int64_t rf__cache_length(const rf_cache *c, int64_t b);

/* Columns [from, from + width) of the tokens' rows of x. */
typedef struct rf_columns { const rf_tensor *x; int64_t from, width; } rf_columns;

/* The call's tokens get their rows, the parts side by side, rounded to the sequence's type.  *out: the rows of all
 * tokens, these included.  false: the graph has stopped. */
bool rf__cache_append(rf_graph *g, rf_cache *c, int64_t layer, const rf_columns part[], int parts, const rf_past **out);

/* Of a layer with `recent`: rows of tokens before `token` of sequence b (counted from its first) are not asked for any
 * more after this call, and those that the call has not appended yet are not kept at all. */
void rf__cache_release(rf_cache *c, int64_t b, int64_t layer, int64_t token);

/* The rows that earlier calls left of such a layer: token t, if it was not released, is row t % RFK_PAGE of
 * page[b][t / RFK_PAGE].  NULL: the graph has stopped. */
const rf_past *rf__cache_rows(rf_graph *g, rf_cache *c, int64_t layer);

/* The state of sequence b that the last call left; NULL before the first: zeros.  And space for what this call leaves;
 * without it the state stays.  NULL: the graph has stopped. */
const float *rf__cache_state(const rf_cache *c, int64_t b, int64_t layer, rf_state_kind which);
float *rf__cache_next_state(rf_graph *g, rf_cache *c, int64_t b, int64_t layer, rf_state_kind which);

/* Of a call of rf__cache_read: the rows of the sources' tokens [tokens, S], in a layer.  false: the graph has stopped.
 */
bool rf__cache_put_source(rf_graph *g, rf_cache *c, int64_t layer, const rf_tensor *x);

/* The rows of the sources that the call's sequences look at.  NULL: the graph has stopped. */
const rf_past *rf__cache_source(rf_graph *g, const rf_cache *c, int64_t layer);

/* Keys and values of qkv, rotated by spec's angles, and spec->more_key, are appended; spec then says where all keys
 * are.  On failure the graph has stopped. */
void rf__cache_extend(rf_graph *g, rf_cache *c, int64_t layer, rf_tensor *qkv, rf_attention_spec *spec);

#endif
