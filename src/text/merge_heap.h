/* merge_heap.h — the candidate merges of BPE: lowest rank first, ties from left to right. */
#ifndef RF_TEXT_MERGE_HEAP_H
#define RF_TEXT_MERGE_HEAP_H

#include "base/base.h"

typedef struct rf__merge { uint32_t rank, at, to; } rf__merge;         /* at: the left neighbor; to: for the caller   */
typedef struct rf__merge_heap { rf__merge *merge; size_t n, capacity; } rf__merge_heap;

static inline bool rf__merge_sooner(const rf__merge *a, const rf__merge *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* False: no memory. */
static inline bool rf__merge_push(const rf_ctx *ctx, rf__merge_heap *h, rf__merge x)
{
    if (!rf__grow(ctx, &h->merge, &h->capacity, h->n + 1, sizeof *h->merge)) return false;
    size_t i = h->n++;
    for (; i && rf__merge_sooner(&x, &h->merge[(i - 1) / 2]); i = (i - 1) / 2) h->merge[i] = h->merge[(i - 1) / 2];
    h->merge[i] = x;
    return true;
}

/* The first one; the heap must not be empty. */
static inline rf__merge rf__merge_pop(rf__merge_heap *heap)
{
    rf__merge *h = heap->merge;
    const rf__merge top = h[0], x = h[--heap->n];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < heap->n; i = k) {
        if (k + 1 < heap->n && rf__merge_sooner(&h[k + 1], &h[k])) k++;
        if (!rf__merge_sooner(&h[k], &x)) break;
        h[i] = h[k];
    }
    if (heap->n) h[i] = x;
    return top;
}

#endif
