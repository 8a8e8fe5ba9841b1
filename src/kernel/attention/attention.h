/* attention.h — what every rung of attention shares: which keys a query sees, and how scratch is laid out.  Internal. */
#ifndef RF_ATTENTION_H
#define RF_ATTENTION_H

#include "kernel/kernel.h"

/* Keys are worked on in blocks, so that scratch does not grow with their number: a block of the forward and its scores
 * stay in the second-level cache; the backward holds five arrays of a block where the forward holds two. */
enum { RFK__BLOCK = 512, RFK__BACK_KEYS = 128, RFK__BACK_QUERIES = 96 };

/* Queries for which the tables of offsets are packed at a time, a multiple of RFK__ROWS: with the RFK__ROWS - 1 offsets more that
 * a patch meets they are whole vectors.  And keys whose products are turned over at a time. */
enum { RFK__RELATED = 186, RFK__ASIDE = 48 };

/* The most that a rung packs together: keys of a panel, floats of a vector, rows of a patch. */
enum { RFK__PANEL = 64, RFK__VECTOR = 16, RFK__ROWS = 6, RFK__NARROW = 64 };

static inline int64_t rfk__up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Keys [from, to) are those that query t sees; none when to <= from.  Neither end ever falls as t grows. */
typedef struct rfk__span { int64_t from, to; } rfk__span;

static inline rfk__span rfk__seen(const rfk_attention *a, int64_t t)
{
    const int64_t place = t + a->keys - a->queries;
    rfk__span s = {0, a->keys};
    if (a->causal) s.to = rf__min64(s.to, rf__max64(place + 1, a->prefix));
    if (a->window) {
        const int64_t window = rf__min64(a->window, a->keys + a->queries);
        s.from = rf__max64(0, place - window);
        s.to = rf__min64(s.to, place + window + 1);
    }
    return s;
}

/* Where things lie in scratch, in floats. */
typedef struct rfk__room {
    int64_t width, wide;    /* columns of a packed row of values, and of queries and keys with width2 more */
    int64_t step;           /* from one row of scores to the next: an odd number of cache lines */
    int64_t rows, key, value, score, query, result, top, sum, end;                  /* forward  */
    int64_t d_score, d_result, d_query, d_key, d_value, turned_value, lse, delta;    /* backward */

    /* Tables of offsets: a band of `band` rows at most, turned on its side with `band_step` columns, or as rows. */
    int64_t band, band_step;
    int64_t near_query, near_key, near_value, near_query_row, near_key_row;
    int64_t by_offset, by_offset_step;          /* products of rows with a band                               */
    int64_t aside, aside_step, key_term;        /* products of keys with a band, and these in the order of scores */
    int64_t d_offset, d_offset_step, d_near;    /* backward: adjoints of products, and of a band              */
} rfk__room;

static inline int64_t rfk__place(rfk__room *r, int64_t floats)
{
    const int64_t at = r->end;
    r->end += rfk__up(floats, RFK__VECTOR);
    return at;
}

static inline int64_t rfk__odd(int64_t floats) { return rfk__up(floats, 2 * RFK__VECTOR) + RFK__VECTOR; }

/* A band on its side is read from any column on, whole vectors: one more at the end. */
static inline int64_t rfk__place_band(rfk__room *r, int64_t width)
{
    return rfk__place(r, width * r->band_step + RFK__VECTOR);
}

static inline void rfk__relative_room(rfk__room *r, const rfk_attention *a, int64_t keys, int64_t queries)
{
    r->band = rf__min64(keys + queries, a->relative->clip < keys + queries ? 2 * a->relative->clip + 1 : INT64_MAX);
    r->band_step = rfk__odd(r->band);
    r->by_offset_step = rfk__odd(rf__max64(keys, queries) + RFK__VECTOR);
    r->by_offset = rfk__place(r, RFK__ROWS * r->by_offset_step);
    if (!a->relative->key) return;
    r->aside_step = rfk__odd(queries);
    r->aside = rfk__place(r, RFK__ASIDE * r->aside_step);
    r->key_term = rfk__place(r, rfk__up(queries, RFK__VECTOR) * r->step);
}

static inline void rfk__forward_bands(rfk__room *r, const rfk_attention *a)
{
    if (a->relative->query) r->near_query = rfk__place_band(r, a->width);
    if (a->relative->key) r->near_key = rfk__place_band(r, a->width);
    if (a->relative->value) r->near_value = rfk__place(r, r->band * r->width);
}

/* `rows`: of keys or of queries, whichever are more. */
static inline void rfk__back_bands(rfk__room *r, const rfk_attention *a, int64_t rows)
{
    const rfk_relative *is = a->relative;
    if (is->query) r->near_query = rfk__place_band(r, a->width), r->near_query_row = rfk__place(r, r->band * r->width);
    if (is->key) r->near_key = rfk__place_band(r, a->width), r->near_key_row = rfk__place(r, r->band * r->width);
    if (is->value) r->near_value = rfk__place_band(r, a->width);
    r->d_offset_step = r->band_step;
    r->d_offset = rfk__place(r, rows * r->d_offset_step);
    r->d_near = rfk__place(r, (r->band + RFK__ROWS) * r->width);
}

static inline rfk__room rfk__forward_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL)), all = a->width + a->width2;
    const rfk_relative *is = a->relative;
    rfk__room r = {.width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(all, RFK__VECTOR), .step = keys + RFK__VECTOR};
    r.rows = rfk__place(&r, (is && is->key ? keys : RFK__VECTOR) * r.wide);      /* rows on their way into a panel */
    r.key = rfk__place(&r, keys * all);                             /* panels: [keys / PANEL][all][PANEL]        */
    r.value = rfk__place(&r, keys * r.width);
    r.score = rfk__place(&r, RFK__ROWS * r.step);
    r.query = rfk__place(&r, RFK__ROWS * r.wide);
    r.result = rfk__place(&r, RFK__ROWS * r.width);
    r.top = rfk__place(&r, a->queries);                             /* largest score so far, and the sum of powers */
    r.sum = rfk__place(&r, a->queries);
    if (is) {
        rfk__relative_room(&r, a, keys, rf__min64(RFK__RELATED, a->queries));
        rfk__forward_bands(&r, a);
    }
    return r;
}

static inline rfk__room rfk__back_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BACK_KEYS, rfk__up(a->keys, RFK__PANEL)), all = a->width + a->width2;
    const int64_t queries = rf__min64(RFK__BACK_QUERIES, a->queries);
    const rfk_relative *is = a->relative;
    rfk__room r = {.width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(all, RFK__VECTOR), .step = keys + RFK__VECTOR};
    r.rows = rfk__place(&r, keys * r.wide);                         /* turned keys, a row each                   */
    r.turned_value = rfk__place(&r, RFK__VECTOR * r.width);
    r.key = rfk__place(&r, keys * all);                             /* panels                                    */
    r.value = rfk__place(&r, keys * a->width);
    r.d_key = rfk__place(&r, keys * r.wide);
    r.d_value = rfk__place(&r, keys * r.width);
    r.score = rfk__place(&r, queries * r.step);
    r.d_score = rfk__place(&r, queries * r.step);
    r.query = rfk__place(&r, a->queries * r.wide);
    r.d_query = rfk__place(&r, a->queries * r.wide);
    r.d_result = rfk__place(&r, a->queries * r.width);
    r.lse = rfk__place(&r, a->queries);
    r.delta = rfk__place(&r, a->queries);
    if (is) {
        rfk__relative_room(&r, a, keys, queries);
        rfk__back_bands(&r, a, rf__max64(keys, queries));
    }
    return r;
}

#endif
