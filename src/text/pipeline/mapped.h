/* mapped.h — a text that was made from another one, with the place of each byte there. */
#ifndef RF_TEXT_MAPPED_H
#define RF_TEXT_MAPPED_H

#include "text/unicode/unicode.h"

/* A text, and for each of its bytes the bytes [from, to) of the raw text that it comes from: those of a character, the
 * same for all bytes of one. */
typedef struct rf__mapped {
    const rf_ctx *ctx;
    char *at;
    uint32_t *from, *to;
    size_t n, capacity, from_capacity, to_capacity;
    uint32_t base;                      /* where the raw text begins                                                  */
    size_t limit;                       /* of its bytes while it is normalized                                        */
} rf__mapped;

/* Append.  False: no memory. */
bool rf__mapped_append(rf__mapped *m, const char *text, size_t size, uint32_t from, uint32_t to);
bool rf__mapped_copy(rf__mapped *m, const rf__mapped *in, size_t from, size_t to);
bool rf__mapped_raw(rf__mapped *m, const char *text, size_t from, size_t to);       /* bytes of the raw text          */
void rf__mapped_swap(rf__mapped *a, rf__mapped *b);
void rf__mapped_clear(rf__mapped *m);

/* Reads the character of valid text at *at and advances; its bytes are those passed. */
static inline uint32_t rf__mapped_next(const rf__mapped *m, size_t *at)
{
    return rf__utf8_get((const unsigned char *)m->at, at);
}

#endif
