/* text_index.h — the places of a list's elements by their text, in an open hash table. */
#ifndef RF_TEXT_TEXT_INDEX_H
#define RF_TEXT_TEXT_INDEX_H

#include "base/base.h"

/* The first members of an element, whose size is `each`. */
typedef struct rf__text_key { const char *text; size_t size; } rf__text_key;

typedef struct rf__text_index {
    uint32_t *slot;                     /* 1 + the place, or 0; freed with rf__free                                   */
    size_t slots, n;                    /* n elements are indexed,                                                    */
    size_t texts;                       /* with so many different texts: the first element of each is found           */
} rf__text_index;

/* Indexes the first n elements, of which those that are indexed have not changed places.  False: no memory. */
bool rf__text_index_all(rf__text_index *x, const rf_ctx *ctx, const void *list, size_t each, size_t n);
/* The place of a text; SIZE_MAX: none. */
size_t rf__text_index_find(const rf__text_index *x, const void *list, size_t each, const char *text, size_t size);

#endif
