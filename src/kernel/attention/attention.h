/* attention.h — internal, shared by all rungs of attention: which keys a query sees, and the layout of scratch
 * memory. */
#ifndef RF_ATTENTION_H
#define RF_ATTENTION_H

#include "kernel/kernel.h"

/* Keys are processed in blocks, so that scratch does not grow with their number.  A block of the forward pass and its
 * scores fit the second-level cache.  The backward pass holds five arrays of a block where the forward pass holds
 * two. */
enum { RFK__BLOCK = 512, RFK__BACK_KEYS = 128, RFK__BACK_QUERIES = 96 };

/* Number of queries for which tables of offsets are packed at a time.  It is a multiple of RFK__ROWS, so that together
 * with the RFK__ROWS - 1 additional offsets of a patch it is a whole number of vectors.  Also the number of keys whose
 * products are transposed at a time. */
enum { RFK__RELATED = 186, RFK__ASIDE = 48 };

/* Maximum of any rung: keys of a panel, floats of a vector, rows of a patch. */
enum { RFK__PANEL = 64, RFK__VECTOR = 16, RFK__ROWS = 6, RFK__NARROW = 64 };

static inline int64_t rfk__up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Query t sees keys [from, to), or no key if to <= from.  Neither end decreases as t grows. */
typedef struct rfk__span { int64_t from, to; } rfk__span;

static inline rfk__span rfk__seen(const rfk_attention *a, int64_t t)
{
    const int64_t position = t + a->keys - a->queries;
    rfk__span s = {0, a->keys};
    if (a->causal) s.to = rf__min64(s.to, rf__max64(position + 1, a->prefix));
    if (a->window) {
        const int64_t window = rf__min64(a->window, a->keys + a->queries);
        s.from = rf__max64(0, position - window);
        s.to = rf__min64(s.to, position + window + 1);
    }
    return s;
}

/* Scratch layout; all offsets and sizes are in floats. */
typedef struct rfk__workspace {
    int64_t width, wide;    /* columns of a packed row of values; of queries and keys, which include width2 */
    int64_t stride;         /* stride of rows of scores: an odd number of cache lines */
    int64_t rows, key, value, score, query, result, top, sum, tile, end;            /* forward  */
    int64_t d_score, d_result, d_query, d_key, d_value, rotated_value, rest, delta;   /* backward */

    /* Tables of offsets: a band of at most `band` rows, transposed with `band_stride` columns, or stored as rows. */
    int64_t band, band_stride;
    int64_t near_query, near_key, near_value, near_query_row, near_key_row;
    int64_t by_offset, by_offset_stride;        /* products of rows with a band                               */
    int64_t aside, aside_stride, key_term;      /* products of keys with a band, and the same in the order of scores */
    int64_t d_offset, d_offset_stride, d_near;  /* backward: adjoints of the products and of a band           */
} rfk__workspace;

static inline int64_t rfk__carve(rfk__workspace *r, int64_t floats)
{
    const int64_t at = r->end;
    r->end += rfk__up(floats, RFK__VECTOR);
    return at;
}

/* Rows of a bf16 page widened to f32: keys with their additional columns, or values. */
static inline int64_t rfk__carve_tile(rfk__workspace *r, const rfk_attention *a)
{
    return rfk__carve(r, a->pages.page && a->pages.bf16 ? RFK_PAGE * (a->width + a->width2) : 0);
}

static inline int64_t rfk__odd(int64_t floats) { return rfk__up(floats, 2 * RFK__VECTOR) + RFK__VECTOR; }

/* A transposed band is read from any column on in whole vectors, so it ends with one extra vector. */
static inline int64_t rfk__carve_band(rfk__workspace *r, int64_t width)
{
    return rfk__carve(r, width * r->band_stride + RFK__VECTOR);
}

static inline void rfk__relative_workspace(rfk__workspace *r, const rfk_attention *a, int64_t keys, int64_t queries)
{
    r->band = rf__min64(keys + queries, a->relative->clip < keys + queries ? 2 * a->relative->clip + 1 : INT64_MAX);
    r->band_stride = rfk__odd(r->band);
    r->by_offset_stride = rfk__odd(rf__max64(keys, queries) + RFK__VECTOR);
    r->by_offset = rfk__carve(r, RFK__ROWS * r->by_offset_stride);
    if (!a->relative->key) return;
    r->aside_stride = rfk__odd(queries);
    r->aside = rfk__carve(r, RFK__ASIDE * r->aside_stride);
    r->key_term = rfk__carve(r, rfk__up(queries, RFK__VECTOR) * r->stride);
}

static inline void rfk__forward_bands(rfk__workspace *r, const rfk_attention *a)
{
    if (a->relative->query) r->near_query = rfk__carve_band(r, a->width);
    if (a->relative->key) r->near_key = rfk__carve_band(r, a->width);
    if (a->relative->value) r->near_value = rfk__carve(r, r->band * r->width);
}

/* `rows`: the number of keys or of queries, whichever is larger. */
static inline void rfk__back_bands(rfk__workspace *r, const rfk_attention *a, int64_t rows)
{
    const rfk_relative *is = a->relative;
    if (is->query) r->near_query = rfk__carve_band(r, a->width), r->near_query_row = rfk__carve(r, r->band * r->width);
    if (is->key) r->near_key = rfk__carve_band(r, a->width), r->near_key_row = rfk__carve(r, r->band * r->width);
    if (is->value) r->near_value = rfk__carve_band(r, a->width);
    r->d_offset_stride = r->band_stride;
    r->d_offset = rfk__carve(r, rows * r->d_offset_stride);
    r->d_near = rfk__carve(r, (r->band + RFK__ROWS) * r->width);
}

static inline rfk__workspace rfk__forward_workspace(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL)), all = a->width + a->width2;
    const rfk_relative *is = a->relative;
    rfk__workspace r = {
        .width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(all, RFK__VECTOR), .stride = keys + RFK__VECTOR};
    r.rows = rfk__carve(&r, (is && is->key ? keys : RFK__VECTOR) * r.wide);      /* rows before packing into a panel */
    r.key = rfk__carve(&r, keys * all);                             /* panels: [keys / PANEL][all][PANEL]        */
    r.value = rfk__carve(&r, keys * r.width);
    r.score = rfk__carve(&r, RFK__ROWS * r.stride);
    r.query = rfk__carve(&r, RFK__ROWS * r.wide);
    r.result = rfk__carve(&r, RFK__ROWS * r.width);
    r.top = rfk__carve(&r, a->queries);                             /* largest score so far; sum of exponentials */
    r.sum = rfk__carve(&r, a->queries);
    r.tile = rfk__carve_tile(&r, a);
    if (is) {
        rfk__relative_workspace(&r, a, keys, rf__min64(RFK__RELATED, a->queries));
        rfk__forward_bands(&r, a);
    }
    return r;
}

static inline rfk__workspace rfk__back_workspace(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BACK_KEYS, rfk__up(a->keys, RFK__PANEL)), all = a->width + a->width2;
    const int64_t queries = rf__min64(RFK__BACK_QUERIES, a->queries);
    const rfk_relative *is = a->relative;
    rfk__workspace r = {
        .width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(all, RFK__VECTOR), .stride = keys + RFK__VECTOR};
    r.rows = rfk__carve(&r, keys * r.wide);                         /* rotated keys, one row each                */
    r.rotated_value = rfk__carve(&r, RFK__VECTOR * r.width);
    r.key = rfk__carve(&r, keys * all);                             /* panels                                    */
    r.value = rfk__carve(&r, keys * a->width);
    r.d_key = rfk__carve(&r, keys * r.wide);
    r.d_value = rfk__carve(&r, keys * r.width);
    r.score = rfk__carve(&r, queries * r.stride);
    r.d_score = rfk__carve(&r, queries * r.stride);
    r.query = rfk__carve(&r, a->queries * r.wide);
    r.d_query = rfk__carve(&r, a->queries * r.wide);
    r.d_result = rfk__carve(&r, a->queries * r.width);
    r.top = rfk__carve(&r, a->queries);                             /* log-sum-exp: attention_log_sum_exp.inc         */
    r.rest = rfk__carve(&r, a->queries);
    r.delta = rfk__carve(&r, a->queries);
    if (is) {
        rfk__relative_workspace(&r, a, keys, queries);
        rfk__back_bands(&r, a, rf__max64(keys, queries));
    }
    return r;
}

#endif
