/* counter.c — a hash table of word counts; if it has too many words, the rarest are dropped ("lossy counting"). */
#include "counter.h"

void rf__counter_init(rf_counter *c, const rf_ctx *ctx, size_t most)
{
    *c = (rf_counter){.ctx = ctx, .most = most};
}

void rf__counter_clear(rf_counter *c)
{
    rf__free(c->ctx, c->slot);
    rf__free(c->ctx, c->text);
    rf__counter_init(c, c->ctx, c->most);
}

static uint64_t hash_of(const char *word, size_t size)
{
    uint64_t h = size * 0x9E3779B97F4A7C15, x = 0;
    for (; size >= 8; size -= 8, word += 8) {
        memcpy(&x, word, 8);
        h = (h ^ x) * 0x9FB21C651E98DF25;
        h ^= h >> 29;
    }
    x = 0;
    memcpy(&x, word, size);
    h = (h ^ x) * 0x9FB21C651E98DF25;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93;
    return h ^ h >> 32;
}

static rf_counted *find_slot(rf_counted *slot, size_t slots, const char *text, uint64_t hash, const char *word,
                             size_t size)
{
    for (size_t i = (size_t)hash & (slots - 1);; i = (i + 1) & (slots - 1)) {
        rf_counted *s = &slot[i];
        if (!s->count || (s->hash == hash && s->size == size && (!word || !memcmp(text + s->at, word, size)))) return s;
    }
}

/* A table of `slots` slots with the words that occur more than `above` times. */
static bool rebuild(rf_counter *c, size_t slots, uint64_t above)
{
    rf_counted *fresh = rf__calloc(c->ctx, slots, sizeof *fresh);
    char *text = above ? rf__alloc(c->ctx, c->capacity) : c->text;
    if (!fresh || (above && !text)) {
        rf__free(c->ctx, fresh);
        if (above) rf__free(c->ctx, text);
        return false;
    }
    size_t used = 0, bytes = above ? 0 : c->bytes;
    for (size_t i = 0; i < c->slots; i++) {
        rf_counted s = c->slot[i];
        if (!s.count || s.count <= above) continue;
        if (above) {
            memcpy(text + bytes, c->text + s.at, s.size);
            s.at = bytes;
            bytes += s.size;
        }
        size_t k = (size_t)s.hash & (slots - 1);
        while (fresh[k].count) k = (k + 1) & (slots - 1);
        fresh[k] = s;
        used++;
    }
    rf__free(c->ctx, c->slot);
    if (above) rf__free(c->ctx, c->text);
    c->slot = fresh;
    c->slots = slots;
    c->used = used;
    c->text = text;
    c->bytes = bytes;
    return true;
}

/* Drops the rarest words, so that at most three quarters of `most` remain. */
static bool forget(rf_counter *c)
{
    uint64_t above = 0;
    for (size_t left = c->used; left > c->most / 4 * 3;) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < c->slots; i++)
            if (c->slot[i].count > above && c->slot[i].count < least) least = c->slot[i].count;
        above = least;
        for (size_t i = 0; i < c->slots; i++) left -= c->slot[i].count == least;
    }
    if (above > c->forgotten) c->forgotten = above;
    return rebuild(c, c->slots, above);
}

bool rf__counter_add(rf_counter *c, const char *word, size_t size)
{
    if (!c->slots && !rebuild(c, 1 << 16, 0)) return false;
    const uint64_t hash = hash_of(word, size);
    rf_counted *s = find_slot(c->slot, c->slots, c->text, hash, word, size);
    if (s->count) return s->count++, true;
    if (c->used >= c->most) {
        if (!forget(c)) return false;
    } else if (c->used * 2 >= c->slots && !rebuild(c, c->slots * 2, 0)) {
        return false;
    }
    if (!rf__grow(c->ctx, &c->text, &c->capacity, c->bytes + size, 1)) return false;
    s = find_slot(c->slot, c->slots, c->text, hash, word, size);
    *s = (rf_counted){1, hash, c->bytes, (uint32_t)size};
    memcpy(c->text + c->bytes, word, size);
    c->bytes += size;
    c->used++;
    return true;
}

/* Most frequent first, then by bytes. */
static bool before(const rf_counter *c, const rf_counted *a, const rf_counted *b)
{
    if (a->count != b->count) return a->count > b->count;
    const size_t n = a->size < b->size ? a->size : b->size;
    const int order = memcmp(c->text + a->at, c->text + b->at, n);
    return order ? order < 0 : a->size < b->size;
}

/* Merge sort from `a` to `a` with `b` as scratch. */
static void sort(const rf_counter *c, rf_counted *a, rf_counted *b, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t from = 0; from < n; from += 2 * run) {
            const size_t middle = from + run < n ? from + run : n, to = from + 2 * run < n ? from + 2 * run : n;
            size_t i = from, j = middle, k = from;
            while (i < middle && j < to) b[k++] = before(c, &a[j], &a[i]) ? a[j++] : a[i++];
            while (i < middle) b[k++] = a[i++];
            while (j < to) b[k++] = a[j++];
        }
        memcpy(a, b, n * sizeof *a);
    }
}

rf_counted *rf__counter_sorted(const rf_counter *c)
{
    rf_counted *list = rf__alloc(c->ctx, (c->used + 1) * sizeof *list);
    rf_counted *spare = rf__alloc(c->ctx, (c->used + 1) * sizeof *spare);
    size_t n = 0;
    for (size_t i = 0; list && spare && i < c->slots; i++)
        if (c->slot[i].count) list[n++] = c->slot[i];
    if (list && spare) {
        sort(c, list, spare, n);
    } else {
        rf__free(c->ctx, list);
        list = NULL;
    }
    rf__free(c->ctx, spare);
    return list;
}
