/* text_index.c — see text_index.h. */
#include "text/text_index.h"

static rf__text_key key_of(const void *list, size_t each, size_t i)
{
    rf__text_key key;
    memcpy(&key, (const char *)list + i * each, sizeof key);
    return key;
}

/* The slot of a text: the first from its hash on that is empty or has it. */
static size_t slot_of(const rf__text_index *x, const void *list, size_t each, rf__text_key of)
{
    size_t at = (size_t)rf__hash64(of.text, of.size, 0) & (x->slots - 1);
    for (; x->slot[at]; at = (at + 1) & (x->slots - 1)) {
        const rf__text_key key = key_of(list, each, x->slot[at] - 1);
        if (key.size == of.size && !memcmp(key.text, of.text, of.size)) break;
    }
    return at;
}

size_t rf__text_index_find(const rf__text_index *x, const void *list, size_t each, const char *text, size_t size)
{
    const uint32_t found = x->slots ? x->slot[slot_of(x, list, each, (rf__text_key){text, size})] : 0;
    return found ? found - 1 : SIZE_MAX;
}

bool rf__text_index_all(rf__text_index *x, const rf_ctx *ctx, const void *list, size_t each, size_t n)
{
    if (2 * n >= x->slots) {                                                         /* at most half of it is filled */
        size_t slots = 64;
        while (slots <= 4 * n) slots *= 2;
        uint32_t *slot = rf__calloc(ctx, slots, sizeof *slot);
        if (!slot) return false;
        rf__free(ctx, x->slot);
        *x = (rf__text_index){.slot = slot, .slots = slots};
    }
    for (; x->n < n; x->n++) {
        const size_t at = slot_of(x, list, each, key_of(list, each, x->n));
        if (x->slot[at]) continue;
        x->slot[at] = (uint32_t)x->n + 1;
        x->texts++;
    }
    return true;
}
