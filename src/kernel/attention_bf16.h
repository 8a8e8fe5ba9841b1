/* attention_bf16.h — how the scratch of attention in bf16 is laid out.  Internal. */
#ifndef RF_ATTENTION_BF16_H
#define RF_ATTENTION_BF16_H

#include "kernel/attention.h"

/* The most queries of a patch on any rung. */
enum { RFK__BF16_ROWS = 6 };

/* Where things lie in scratch, in floats; a float's place holds a pair of bf16. */
typedef struct rfk__bf16_places {
    int64_t width;          /* columns of a row of values and of results */
    int64_t wide;           /* columns of a row of queries or keys before it is packed: whole vectors of bf16 */
    int64_t pairs;          /* pairs of columns that exist of such a row */
    int64_t step, p_step;   /* from one row of scores, or of powers, to the next: odd numbers of cache lines */
    int64_t turned, rows, key, value, score, power, query, result, top, sum, end;
} rfk__bf16_places;

static inline rfk__bf16_places rfk__bf16_room(const rfk_attention *a)
{
    const int64_t keys = rf__min64(RFK__BLOCK, rfk__up(a->keys, RFK__PANEL));
    rfk__room r = {0};
    rfk__bf16_places m = {.width = rfk__up(a->width, RFK__VECTOR), .wide = rfk__up(a->width, 2 * RFK__VECTOR),
                          .pairs = (a->width + 1) / 2, .step = keys + RFK__VECTOR, .p_step = keys / 2 + RFK__VECTOR};
    m.turned = rfk__place(&r, 2 * m.wide);                          /* rows of f32 on their way                  */
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

#endif
