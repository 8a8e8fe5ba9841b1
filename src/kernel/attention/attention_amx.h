/* attention_amx.h — internal: which problems the tile kernel of attention accepts, and the layout of its scratch
 * memory. */
#ifndef RF_ATTENTION_AMX_H
#define RF_ATTENTION_AMX_H

#include "kernel/attention/attention.h"

/* Queries and keys that fill four tiles; the columns of a head are padded to a multiple of it. */
enum { RFK__TILED = 32 };

/* Texts of at least 32 tokens: for fewer, packing costs more than the tiles save (docs/architecture.md).  The rung
 * below computes causal attention and keys in pages, because a generation step reads the pages in place and must give
 * the same bits as the whole sequence.  It also computes products with tables of offsets, additional columns and
 * dropout; biases by offset are added here. */
static inline bool rfk__in_tiles(const rfk_attention *a)
{
    const rfk_relative *is = a->relative;
    return a->queries >= RFK__TILED && a->keys >= RFK__TILED && !a->causal && !a->pages.page && !a->width2 &&
           !(a->drop > 0) && !(is && (is->query || is->key || is->value));
}

/* Scratch layout; all offsets and sizes are in floats.  One float holds a pair of bf16. */
typedef struct rfk__amx_workspace {
    int64_t wide, keys;                 /* padded number of columns, and of keys of a block                           */
    int64_t stride, p_stride;           /* strides of rows of scores and of exponentials: odd numbers of cache lines  */
    int64_t row, query, key, value, score, power, result, bias, top, sum, end;
} rfk__amx_workspace;

static inline rfk__amx_workspace rfk__amx_forward_workspace(const rfk_attention *a)
{
    const int64_t wide = rfk__up(a->width, RFK__TILED), keys = rfk__up(rf__min64(RFK__BLOCK, a->keys), RFK__TILED);
    rfk__amx_workspace m = {
        .wide = wide, .keys = keys, .stride = keys + RFK__VECTOR, .p_stride = keys / 2 + RFK__VECTOR};
    rfk__workspace r = {0};
    m.row = rfk__carve(&r, 2 * wide);                               /* rows in f32 before they are packed         */
    m.query = rfk__carve(&r, RFK__TILED * wide / 2);                /* rows                                       */
    m.key = rfk__carve(&r, keys * wide / 2);                        /* [keys / 32][wide / 2][32][2]               */
    m.value = rfk__carve(&r, keys * wide / 2);                      /* [wide / 32][keys / 2][32][2]               */
    m.score = rfk__carve(&r, RFK__TILED * m.stride);
    m.power = rfk__carve(&r, RFK__TILED * m.p_stride);
    m.result = rfk__carve(&r, RFK__TILED * wide);
    m.bias = rfk__carve(&r, a->relative ? keys + a->queries : 0);   /* of the offsets of a block's keys           */
    m.top = rfk__carve(&r, a->queries);
    m.sum = rfk__carve(&r, a->queries);
    m.end = r.end;
    return m;
}

#endif
