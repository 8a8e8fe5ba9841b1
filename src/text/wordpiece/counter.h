/* counter.h — word counts for training a vocabulary. */
#ifndef RF_TEXT_COUNTER_H
#define RF_TEXT_COUNTER_H

#include "wordpiece.h"

typedef struct rf_counted { uint64_t count, hash, at; uint32_t size; } rf_counted;   /* at: into `text`               */

typedef struct rf_counter {
    const rf_ctx *ctx;
    rf_counted *slot;                   /* open addressing; count 0: free                                             */
    size_t slots, used, most;           /* most: maximum number of distinct words                                     */
    char *text;
    size_t bytes, capacity;
    uint64_t forgotten;                 /* highest count that was dropped                                             */
} rf_counter;

void rf__counter_init(rf_counter *c, const rf_ctx *ctx, size_t most);
void rf__counter_clear(rf_counter *c);
bool rf__counter_add(rf_counter *c, const char *word, size_t size);      /* false: no memory                         */

/* The words in an order that depends only on words and counts: most frequent first, then by bytes. */
rf_counted *rf__counter_sorted(const rf_counter *c);                     /* c->used of them; NULL: no memory         */

#endif
