/* piece_trie.h — a trie of texts whose edges are slots of one hash table, and a hash table of two numbers per key. */
#ifndef RF_TEXT_PIECE_TRIE_H
#define RF_TEXT_PIECE_TRIE_H

#include "base/base.h"
#include "text/unicode/unicode.h"

/* Two numbers by a key. */
typedef struct rf__pair_slot { uint64_t key; uint32_t a, b; } rf__pair_slot;          /* a == UINT32_MAX: free        */
typedef struct rf__pair_map { rf__pair_slot *slot; size_t mask, n; } rf__pair_map;

static inline uint64_t rf__pair_key(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }

static inline size_t rf__pair_spread(uint64_t x)
{
    x *= 0x9E3779B97F4A7C15;                              /* 2^64 by the golden ratio (Knuth)                         */
    return (size_t)(x ^ x >> 32);
}

/* The slot of a key, or the free slot where it would be; the map must have slots. */
static inline rf__pair_slot *rf__pair_find(const rf__pair_map *m, uint64_t key)
{
    size_t i = rf__pair_spread(key) & m->mask;
    while (m->slot[i].a != UINT32_MAX && m->slot[i].key != key) i = (i + 1) & m->mask;
    return &m->slot[i];
}

/* The slot of a key, created if it is new: then a is UINT32_MAX and must be set.  NULL: no memory. */
rf__pair_slot *rf__pair_make(const rf_ctx *ctx, rf__pair_map *m, uint64_t key);

/* Texts and the number of each, below 2^31. */
typedef struct rf__piece_trie {
    rf__pair_map edges;                 /* (node, character): the next node, and the number that ends there or -1 */
    uint32_t nodes;
} rf__piece_trie;

bool rf__trie_begin(rf__piece_trie *t, const rf_ctx *ctx);                             /* false: no memory            */
/* Adds a text of UTF-8 that is not empty.  An existing text gets the later number.  False: no memory. */
bool rf__trie_add(rf__piece_trie *t, const rf_ctx *ctx, const char *text, size_t size, int32_t number);
int32_t rf__trie_find(const rf__piece_trie *t, const char *text, size_t size);         /* -1: none                    */
void rf__trie_clear(rf__piece_trie *t, const rf_ctx *ctx);

/* One step from *node (0: the root): returns the number of the text that ends there, or -1; sets *node to 0 if no text
 * continues that way. */
static inline int32_t rf__trie_step(const rf__piece_trie *t, uint32_t *node, uint32_t c)
{
    const rf__pair_slot *s = rf__pair_find(&t->edges, rf__pair_key(*node, c));
    *node = s->a == UINT32_MAX ? 0 : s->a;
    return *node ? (int32_t)s->b : -1;
}

#endif
