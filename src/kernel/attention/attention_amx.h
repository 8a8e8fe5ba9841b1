/* attention_amx.h — which problems attention in tiles takes, and how its scratch is laid out.  Internal. */
#ifndef RF_ATTENTION_AMX_H
#define RF_ATTENTION_AMX_H

#include "kernel/attention/attention.h"

/* Queries and keys that meet in four tiles; columns of a head are filled up to it. */
enum { RFK__TILED = 32 };

/* Texts of 32 tokens and more: what packing costs beyond that of the rung below is not made up for by fewer
 * (docs/architecture.md).  Causal attention and keys in pages are the rung's below, since a step of generation reads
 * pages where they lie and must have the bits of the whole; so are terms of offsets, further columns, and dropout. */
static inline bool rfk__in_tiles(const rfk_attention *a)
{
    return a->queries >= RFK__TILED && a->keys >= RFK__TILED && !a->causal && !a->pages.page && !a->relative &&
           !a->width2 && !(a->drop > 0);
}

/* Where things lie in scratch, in floats; a float's place holds a pair of bf16. */
typedef struct rfk__amx_workspace {
    int64_t wide, keys;                 /* columns and keys of a block, filled up                                     */
    int64_t stride, p_stride;           /* from one row of scores, or of powers, to the next: odd numbers of lines    */
    int64_t row, query, key, value, score, power, result, top, sum, end;
} rfk__amx_workspace;

static inline rfk__amx_workspace rfk__amx_forward_workspace(const rfk_attention *a)
{
    const int64_t wide = rfk__up(a->width, RFK__TILED), keys = rfk__up(rf__min64(RFK__BLOCK, a->keys), RFK__TILED);
    rfk__amx_workspace m = {
        .wide = wide, .keys = keys, .stride = keys + RFK__VECTOR, .p_stride = keys / 2 + RFK__VECTOR};
    rfk__workspace r = {0};
    m.row = rfk__carve(&r, 2 * wide);                               /* rows of f32 on their way                   */
    m.query = rfk__carve(&r, RFK__TILED * wide / 2);                /* rows                                       */
    m.key = rfk__carve(&r, keys * wide / 2);                        /* [keys / 32][wide / 2][32][2]               */
    m.value = rfk__carve(&r, keys * wide / 2);                      /* [wide / 32][keys / 2][32][2]               */
    m.score = rfk__carve(&r, RFK__TILED * m.stride);
    m.power = rfk__carve(&r, RFK__TILED * m.p_stride);
    m.result = rfk__carve(&r, RFK__TILED * wide);
    m.top = rfk__carve(&r, a->queries);
    m.sum = rfk__carve(&r, a->queries);
    m.end = r.end;
    return m;
}

#endif
