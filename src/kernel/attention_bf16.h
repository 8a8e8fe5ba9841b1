/* attention_bf16.h — how the scratch of attention in bf16 is laid out.  Internal. */
#ifndef RF_ATTENTION_BF16_H
#define RF_ATTENTION_BF16_H

#include "kernel/attention.h"

/* The most queries of a patch on any rung; the blocks of the backward, the queries in whole patches of every rung. */
enum { RFK__BF16_ROWS = 6, RFK__BF16_BACK_KEYS = 128, RFK__BF16_BACK_QUERIES = 192 };

/* Where things lie in scratch, in floats; a float's place holds a pair of bf16. */
typedef struct rfk__bf16_places {
    int64_t width;          /* columns of a row of values and of results */
    int64_t wide;           /* columns of a row of queries or keys before it is packed: whole vectors of bf16 */
    int64_t pairs;          /* pairs of columns that exist of such a row */
    int64_t step, p_step;   /* from one row of scores, or of powers, to the next: odd numbers of cache lines */
    int64_t turned, rows, key, value, score, power, query, result, top, sum, end;                                  /* forward  */
    int64_t key_pair, query_pair, result_pair, d_key, d_value, d_query, d_score, keep, d_power, d_row, lse, delta;  /* backward */
} rfk__bf16_places;

static inline rfk__bf16_places rfk__bf16_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL));
    rfk__room r = {0};
    rfk__bf16_places m = {.width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(a->width, 2 * RFK__VECTOR),
                          .pairs = (a->width + 1) / 2, .step = keys + RFK__VECTOR, .p_step = keys / 2 + RFK__VECTOR};
    m.turned = rfk__place(&r, RFK__VECTOR * m.wide);                /* rows of f32 on their way                  */
    m.rows = rfk__place(&r, RFK__VECTOR * m.wide / 2);              /* rows of bf16 on their way into a panel    */
    m.key = rfk__place(&r, keys * m.pairs);                         /* panels: [keys / PANEL][pairs][PANEL][2]   */
    m.value = rfk__place(&r, keys / 2 * m.width);                   /* [keys / 2][width][2]                      */
    m.score = rfk__place(&r, RFK__BF16_ROWS * m.step);
    m.power = rfk__place(&r, RFK__BF16_ROWS * m.p_step);
    m.query = rfk__place(&r, RFK__BF16_ROWS * m.wide / 2);
    m.result = rfk__place(&r, RFK__BF16_ROWS * m.width);
    m.top = rfk__place(&r, a->queries);
    m.sum = rfk__place(&r, a->queries);
    m.end = r.end;
    return m;
}

/* Pairs of queries lie side by side where sums run over queries, pairs of keys where they run over keys. */
static inline rfk__bf16_places rfk__bf16_back_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BF16_BACK_KEYS, rfk__up(a->keys, RFK__PANEL));
    const int64_t queries = rfk__up(a->queries, 2), some = rf__min64(RFK__BF16_BACK_QUERIES, rfk__up(queries, 2 * RFK__BF16_ROWS));
    rfk__room r = {0};
    rfk__bf16_places m = {.width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(a->width, 2 * RFK__VECTOR),
                          .pairs = (a->width + 1) / 2, .step = keys + RFK__VECTOR, .p_step = keys / 2 + RFK__VECTOR};
    m.turned = rfk__place(&r, RFK__VECTOR * m.wide);
    m.rows = rfk__place(&r, RFK__VECTOR * m.wide / 2);
    m.key = rfk__place(&r, keys * m.pairs);                         /* panels                                    */
    m.value = rfk__place(&r, keys * m.pairs);
    m.key_pair = rfk__place(&r, keys / 2 * m.width);                /* [keys / 2][width][2]                      */
    m.d_key = rfk__place(&r, keys * m.width);
    m.d_value = rfk__place(&r, keys * m.width);
    m.query = rfk__place(&r, queries * m.wide / 2);                 /* rows                                      */
    m.result = rfk__place(&r, queries * m.wide / 2);                /* rows of the result's adjoint              */
    m.query_pair = rfk__place(&r, queries / 2 * m.width);           /* [queries / 2][width][2]                   */
    m.result_pair = rfk__place(&r, queries / 2 * m.width);
    m.d_query = rfk__place(&r, queries * m.width);
    m.score = rfk__place(&r, RFK__BF16_ROWS * m.step);              /* of one patch: scores, adjoints of powers, */
    m.d_score = rfk__place(&r, RFK__BF16_ROWS * m.step);
    m.keep = rfk__place(&r, 2 * m.step);                            /* dropout's factors of two rows,            */
    m.d_row = rfk__place(&r, RFK__BF16_ROWS * m.p_step);            /* adjoints of scores in rows                */
    m.power = rfk__place(&r, some / 2 * m.step);                    /* [queries / 2][keys][2]                    */
    m.d_power = rfk__place(&r, some / 2 * m.step);                  /* adjoints of scores, the same way          */
    m.lse = rfk__place(&r, queries);
    m.delta = rfk__place(&r, queries);
    m.end = r.end;
    return m;
}

#endif
