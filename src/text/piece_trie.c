/* piece_trie.c — see piece_trie.h. */
#include "piece_trie.h"

static bool widen(const rf_ctx *ctx, rf__pair_map *m)
{
    const size_t size = m->slot ? 2 * (m->mask + 1) : 256;
    rf__pair_map more = {.slot = rf__calloc(ctx, size, sizeof *more.slot), .mask = size - 1, .n = m->n};
    if (!more.slot) return false;
    for (size_t i = 0; i < size; i++) more.slot[i].a = UINT32_MAX;
    for (size_t i = 0; m->slot && i <= m->mask; i++)
        if (m->slot[i].a != UINT32_MAX) *rf__pair_find(&more, m->slot[i].key) = m->slot[i];
    rf__free(ctx, m->slot);
    *m = more;
    return true;
}

rf__pair_slot *rf__pair_make(const rf_ctx *ctx, rf__pair_map *m, uint64_t key)
{
    if ((!m->slot || 2 * m->n >= m->mask) && !widen(ctx, m)) return NULL;
    rf__pair_slot *s = rf__pair_find(m, key);
    if (s->a == UINT32_MAX) m->n++, s->key = key;
    return s;
}

bool rf__trie_begin(rf__piece_trie *t, const rf_ctx *ctx)
{
    return rf__pair_make(ctx, &t->edges, rf__pair_key(UINT32_MAX, 0)) != NULL;         /* a key that does not occur   */
}

bool rf__trie_add(rf__piece_trie *t, const rf_ctx *ctx, const char *text, size_t size, int32_t number)
{
    uint32_t node = 0;
    for (size_t at = 0; at < size;) {
        const uint32_t c = rf__utf8_get((const unsigned char *)text, &at);
        rf__pair_slot *s = rf__pair_make(ctx, &t->edges, rf__pair_key(node, c));
        if (!s) return false;
        if (s->a == UINT32_MAX) s->a = ++t->nodes, s->b = UINT32_MAX;
        node = s->a;
        if (at == size) s->b = (uint32_t)number;
    }
    return true;
}

int32_t rf__trie_find(const rf__piece_trie *t, const char *text, size_t size)
{
    uint32_t node = 0;
    int32_t number = -1;
    for (size_t at = 0; at < size;) {
        number = rf__trie_step(t, &node, rf__utf8_get((const unsigned char *)text, &at));
        if (!node) return -1;
    }
    return number;
}

void rf__trie_clear(rf__piece_trie *t, const rf_ctx *ctx)
{
    rf__free(ctx, t->edges.slot);
    *t = (rf__piece_trie){0};
}
