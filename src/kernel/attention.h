/* attention.h — what every rung of attention shares: which keys a query sees, and how scratch is laid out.  Internal. */
#ifndef RF_ATTENTION_H
#define RF_ATTENTION_H

#include "kernel/kernel.h"

/* Keys are worked on in blocks, so that scratch does not grow with their number: a block of the forward and its scores
 * stay in the second-level cache; the backward holds five arrays of a block where the forward holds two. */
enum { RFK__BLOCK = 512, RFK__BACK_KEYS = 128, RFK__BACK_QUERIES = 96 };

/* The most that a rung packs together: keys of a panel, floats of a vector, rows of a patch. */
enum { RFK__PANEL = 64, RFK__VECTOR = 16, RFK__ROWS = 6 };

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
    int64_t width;          /* columns of a packed row */
    int64_t step;           /* from one row of scores to the next: an odd number of cache lines */
    int64_t rows, key, value, score, query, result, top, sum, end;                  /* forward  */
    int64_t d_score, d_result, d_query, d_key, d_value, turned_value, lse, delta;    /* backward */
} rfk__room;

static inline int64_t rfk__place(rfk__room *r, int64_t floats)
{
    const int64_t at = r->end;
    r->end += rfk__up(floats, RFK__VECTOR);
    return at;
}

static inline rfk__room rfk__forward_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL));
    rfk__room r = {.width = rfk__up(a->width, RFK__VECTOR), .step = keys + RFK__VECTOR};
    r.rows = rfk__place(&r, RFK__VECTOR * r.width);                 /* rows on their way into a panel            */
    r.key = rfk__place(&r, keys * a->width);                        /* panels: [keys / PANEL][width][PANEL]      */
    r.value = rfk__place(&r, keys * r.width);
    r.score = rfk__place(&r, RFK__ROWS * r.step);
    r.query = rfk__place(&r, RFK__ROWS * r.width);
    r.result = rfk__place(&r, RFK__ROWS * r.width);
    r.top = rfk__place(&r, a->queries);                             /* largest score so far, and the sum of powers */
    r.sum = rfk__place(&r, a->queries);
    return r;
}

static inline rfk__room rfk__back_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BACK_KEYS, rfk__up(a->keys, RFK__PANEL));
    const int64_t queries = rf__min64(RFK__BACK_QUERIES, a->queries);
    rfk__room r = {.width = rfk__up(a->width, RFK__VECTOR), .step = keys + RFK__VECTOR};
    r.rows = rfk__place(&r, keys * r.width);                        /* turned keys, a row each                   */
    r.turned_value = rfk__place(&r, RFK__VECTOR * r.width);
    r.key = rfk__place(&r, keys * a->width);                        /* panels                                    */
    r.value = rfk__place(&r, keys * a->width);
    r.d_key = rfk__place(&r, keys * r.width);
    r.d_value = rfk__place(&r, keys * r.width);
    r.score = rfk__place(&r, queries * r.step);
    r.d_score = rfk__place(&r, queries * r.step);
    r.query = rfk__place(&r, a->queries * r.width);
    r.d_query = rfk__place(&r, a->queries * r.width);
    r.d_result = rfk__place(&r, a->queries * r.width);
    r.lse = rfk__place(&r, a->queries);
    r.delta = rfk__place(&r, a->queries);
    return r;
}

#endif
