/* attention_bf16.h — internal: the layout of scratch memory of attention in bf16. */
#ifndef RF_ATTENTION_BF16_H
#define RF_ATTENTION_BF16_H

#include "kernel/attention/attention.h"

/* The largest patch of queries of any rung; the block sizes of the backward pass; the number of queries, a multiple of
 * every rung's patch. */
enum { RFK__BF16_ROWS = 6, RFK__BF16_BACK_KEYS = 128, RFK__BF16_BACK_QUERIES = 192 };

/* Scratch layout; all offsets and sizes are in floats.  One float holds a pair of bf16. */
typedef struct rfk__bf16_workspace {
    int64_t width, all;     /* columns of a row of values and of results; of queries and keys, which include width2 */
    int64_t wide, value_wide;       /* the same as rows of bf16 before packing: whole vectors */
    int64_t pairs, value_pairs;     /* pairs of columns of such a row */
    int64_t stride, p_stride; /* strides of rows of scores and of exponentials: odd numbers of cache lines */
    int64_t rotated, rows, key, value, score, power, query, result, top, sum, tile, end;                   /* forward */
    /* backward */
    int64_t key_pair, query_pair, result_pair, d_key, d_value, d_query, d_score, keep, d_power, d_row, rest, delta;
    rfk__workspace near;    /* with tables of offsets: these, and the rows in f32 that are multiplied by them */
} rfk__bf16_workspace;

static inline rfk__bf16_workspace rfk__bf16_widths(const rfk_attention *a, int64_t keys)
{
    const int64_t all = a->width + a->width2;
    return (rfk__bf16_workspace){.width = rfk__up(a->width, RFK__VECTOR), .all = rfk__up(all, RFK__VECTOR),
                              .wide = rfk__up(all, 2 * RFK__VECTOR), .value_wide = rfk__up(a->width, 2 * RFK__VECTOR),
                              .pairs = (all + 1) / 2, .value_pairs = (a->width + 1) / 2,
                              .stride = keys + RFK__VECTOR, .p_stride = keys / 2 + RFK__VECTOR};
}

static inline rfk__bf16_workspace rfk__bf16_forward_workspace(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL));
    const rfk_relative *is = a->relative;
    const int keep = is && is->key;
    rfk__bf16_workspace m = rfk__bf16_widths(a, keys);
    rfk__workspace r = {.width = m.width, .wide = m.all, .stride = m.stride};
    m.rotated = rfk__carve(&r, RFK__VECTOR * m.wide);               /* rows in f32 before packing                */
    m.rows = rfk__carve(&r, (keep ? keys : RFK__VECTOR) * m.wide / 2);   /* rows in bf16 before packing          */
    m.key = rfk__carve(&r, keys * m.pairs);                         /* panels: [keys / PANEL][pairs][PANEL][2]   */
    m.value = rfk__carve(&r, keys / 2 * m.width);                   /* [keys / 2][width][2]                      */
    m.score = rfk__carve(&r, RFK__BF16_ROWS * m.stride);
    m.power = rfk__carve(&r, RFK__BF16_ROWS * m.p_stride);
    m.query = rfk__carve(&r, RFK__BF16_ROWS * m.wide / 2);
    m.result = rfk__carve(&r, RFK__BF16_ROWS * m.width);
    m.top = rfk__carve(&r, a->queries);
    m.sum = rfk__carve(&r, a->queries);
    m.tile = rfk__carve_tile(&r, a);
    if (is) {
        r.score = rfk__carve(&r, is->value ? RFK__BF16_ROWS * m.stride : 0);    /* powers */
        rfk__relative_workspace(&r, a, keys, rf__min64(RFK__RELATED, a->queries));
        rfk__forward_bands(&r, a);
    }
    m.near = r;
    m.end = r.end;
    return m;
}

/* Pairs of queries are adjacent where sums run over queries, pairs of keys where sums run over keys. */
static inline rfk__bf16_workspace rfk__bf16_back_workspace(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BF16_BACK_KEYS, rfk__up(a->keys, RFK__PANEL));
    const int64_t queries = rfk__up(a->queries, 2),
                  some = rf__min64(RFK__BF16_BACK_QUERIES, rfk__up(queries, 2 * RFK__BF16_ROWS));
    const rfk_relative *is = a->relative;
    const int keep = is && is->key;
    rfk__bf16_workspace m = rfk__bf16_widths(a, keys);
    rfk__workspace r = {.width = m.width, .wide = m.all, .stride = m.stride};
    m.rotated = rfk__carve(&r, RFK__VECTOR * m.wide);
    m.rows = rfk__carve(&r, (keep ? keys : RFK__VECTOR) * m.wide / 2);
    m.key = rfk__carve(&r, keys * m.pairs);                         /* panels                                    */
    m.value = rfk__carve(&r, keys * m.value_pairs);
    m.key_pair = rfk__carve(&r, keys / 2 * m.all);                  /* [keys / 2][all][2]                        */
    m.d_key = rfk__carve(&r, keys * m.all);
    m.d_value = rfk__carve(&r, keys * m.width);
    m.query = rfk__carve(&r, queries * m.wide / 2);                 /* rows                                      */
    m.result = rfk__carve(&r, queries * m.value_wide / 2);          /* rows of the result's adjoint              */
    m.query_pair = rfk__carve(&r, queries / 2 * m.all);             /* [queries / 2][all][2]                     */
    m.result_pair = rfk__carve(&r, queries / 2 * m.width);
    m.d_query = rfk__carve(&r, queries * m.all);
    m.score = rfk__carve(&r, RFK__BF16_ROWS * m.stride);            /* of a patch: scores, adjoints of powers, */
    m.d_score = rfk__carve(&r, RFK__BF16_ROWS * m.stride);
    m.keep = rfk__carve(&r, 2 * m.stride);                          /* dropout's factors of two rows,            */
    m.d_row = rfk__carve(&r, RFK__BF16_ROWS * m.p_stride);          /* adjoints of scores in rows                */
    m.power = rfk__carve(&r, some / 2 * m.stride);                  /* [queries / 2][keys][2]                    */
    m.d_power = rfk__carve(&r, some / 2 * m.stride);                /* adjoints of scores, the same way          */
    m.top = rfk__carve(&r, queries);                                /* log-sum-exp: attention_log_sum_exp.inc         */
    m.rest = rfk__carve(&r, queries);
    m.delta = rfk__carve(&r, queries);
    if (is) {
        r.rows = rfk__carve(&r, keep ? keys * m.all : 0);
        r.query = rfk__carve(&r, is->query ? queries * m.all : 0);
        r.d_result = rfk__carve(&r, is->value ? queries * m.width : 0);
        r.score = rfk__carve(&r, some * m.stride);                  /* K P and dS of a block of queries          */
        r.d_score = rfk__carve(&r, some * m.stride);
        r.d_query = m.d_query;
        r.d_key = m.d_key;
        rfk__relative_workspace(&r, a, keys, some);
        rfk__back_bands(&r, a, rf__max64(keys, some));
    }
    m.near = r;
    m.end = r.end;
    return m;
}

#endif
