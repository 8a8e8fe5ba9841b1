/* pieces.c — cutting documents, and shuffling without a list.
 *
 * The order of an epoch is a Feistel network (Luby & Rackoff 1988) of six rounds over the smallest even number of bits
 * that holds n; a result past the end is sent through again until it falls inside ("cycle walking", Black & Rogaway
 * 2002), which keeps it a permutation of [0, n) and takes less than four turns on average.                             */
#include "train/pieces.h"

/* ---- the order ---- */

uint64_t rf__shuffled(uint64_t i, uint64_t n, rf_key key, uint64_t epoch)
{
    unsigned half = 1;
    while (half < 31 && (uint64_t)1 << 2 * half < n) half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 6; round++) {
            uint32_t word[4];
            rf__philox(key, round << 32 | right, epoch, word);
            const uint64_t next = left ^ (word[0] & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* ---- cutting ---- */

size_t rf__cut(rf__ids ids, size_t at, size_t left, size_t room, const uint8_t *kind)
{
    if (left <= room) return left;
    const size_t whole = left - room < room / 8 ? (left + 1) / 2 : room;
    size_t size = whole;
    while (size > whole / 2 && (kind[rf__id(ids, at + size)] & RF__CONTINUES)) size--;
    return size > whole / 2 ? size : whole;
}

typedef struct cutter { const rf_ctx *ctx; const uint8_t *kind; size_t room, capacity; rf__pieces *out; } cutter;

static bool cut_document(cutter *c, size_t at, size_t left)
{
    rf__pieces *p = c->out;
    while (left) {
        const size_t size = rf__cut(p->from->ids, at, left, c->room, c->kind);
        if (!rf__grow(c->ctx, &p->piece, &c->capacity, p->n + 1, sizeof *p->piece)) return false;
        p->piece[p->n++] = (uint64_t)at << 20 | size;
        p->tokens += (int64_t)size + RF__TEMPLATE;
        at += size;
        left -= size;
    }
    p->documents++;
    return true;
}

rf_status rf__pieces_new(const rf_ctx *ctx, const rf__tokens *from, const rf__vocab *v, int64_t max_length, bool held,
                         int64_t most, rf__pieces *out, rf_error *why)
{
    *out = (rf__pieces){.from = from};
    cutter c = {ctx, v->kind, (size_t)(max_length - RF__TEMPLATE), 0, out};
    if (from->tokens >> 44) return rf_fail(why, RF_ERANGE, "%zu tokens, the limit is 2^44", from->tokens);
    const uint64_t all = held ? from->held : from->documents - from->held;
    const uint64_t wanted = most > 0 && (uint64_t)most < all ? (uint64_t)most : all;
    uint64_t seen = 0;
    for (size_t i = 0, at = 0; i < from->documents; i++) {
        const size_t size = from->length[i] & ~RF__HELD;
        if (held == ((from->length[i] & RF__HELD) != 0)) {
            /* the k-th of `all` is taken when k wanted / all reaches a new whole number */
            const bool taken = (double)wanted >= (double)all ||
                               (uint64_t)((double)(seen + 1) * (double)wanted / (double)all) >
                                   (uint64_t)((double)seen * (double)wanted / (double)all);
            seen++;
            if (taken && !cut_document(&c, at, size)) {
                rf__pieces_free(ctx, out);
                return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu pieces", c.capacity);
            }
        }
        at += size;
    }
    return RF_OK;
}

void rf__pieces_free(const rf_ctx *ctx, rf__pieces *p)
{
    rf__free(ctx, p->piece);
    *p = (rf__pieces){0};
}
