/* pieces.c — cuts documents, and shuffles pieces without a list.
 *
 * The order of an epoch is a Feistel network (Luby & Rackoff 1988) of six rounds over the smallest even number of bits
 * that holds n. A result past the end is passed through again until it is inside ("cycle walking", Black & Rogaway
 * 2002). This keeps it a permutation of [0, n) and takes less than four rounds on average. */
#include "data/corpus/pieces.h"

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

size_t rf__piece_length(rf__ids ids, size_t at, size_t left, size_t limit, const uint8_t *kind)
{
    if (left <= limit) return left;
    for (size_t size = limit; size; size--)                           /* whole sentences, if kinds mark their ends */
        if (kind[rf__id(ids, at + size - 1)] & RF__ENDS) return size;
    const size_t whole = left - limit < limit / 8 ? (left + 1) / 2 : limit;
    size_t size = whole;
    while (size > whole / 2 && (kind[rf__id(ids, at + size)] & RF__CONTINUES)) size--;
    return size > whole / 2 ? size : whole;
}

typedef struct cutter { const rf_ctx *ctx; const uint8_t *kind; size_t limit, capacity; rf__pieces *out; } cutter;

static bool cut_document(cutter *c, const rf__tokens *from, size_t at, size_t left)
{
    rf__pieces *p = c->out;
    while (left) {
        const size_t size = rf__piece_length(from->ids, at, left, c->limit, c->kind);
        if (!rf__grow(c->ctx, &p->piece, &c->capacity, p->n + 1, sizeof *p->piece)) return false;
        p->piece[p->n++] = (uint64_t)(size == left) << 63 | (uint64_t)at << 20 | size;
        p->tokens += (int64_t)size + RF__TEMPLATE;
        at += size;
        left -= size;
    }
    p->documents++;
    return true;
}

/* Which documents are selected: `quota` of `all`, evenly spaced. */
typedef struct choice { bool held; uint64_t all, quota, seen; } choice;

/* The k-th of `all` is selected if k quota / all reaches a new whole number. */
static bool taken(choice *c)
{
    const double share = (double)c->quota / (double)c->all;
    const uint64_t k = c->seen++;
    return c->quota >= c->all || (uint64_t)((double)(k + 1) * share) > (uint64_t)((double)k * share);
}

static bool cut_source(cutter *c, const rf__tokens *from, choice *which)
{
    for (size_t i = 0, at = 0; i < from->documents; i++) {
        const size_t size = from->length[i] & ~RF__HELD;
        if (which->held == ((from->length[i] & RF__HELD) != 0) && taken(which) && !cut_document(c, from, at, size))
            return false;
        at += size;
    }
    return true;
}

rf_status rf__pieces_new(const rf_ctx *ctx, const rf__tokens from[], int sources, const rf__token_kinds *v,
                         int64_t max_length, bool held, int64_t most, rf__pieces *out, rf_error *why)
{
    *out = (rf__pieces){.sources = sources, .streams = 1};
    cutter c = {ctx, v->kind, (size_t)(max_length - RF__TEMPLATE), 0, out};
    choice which = {.held = held};
    for (int s = 0; s < sources; s++) {
        if ((uint64_t)from[s].tokens >> 44)
            return rf_fail(why, RF_ERANGE, "tokens: expected fewer than 2^44, got %zu", from[s].tokens);
        which.all += held ? from[s].held : from[s].documents - from[s].held;
    }
    which.quota = most > 0 && (uint64_t)most < which.all ? (uint64_t)most : which.all;
    for (int s = 0; s < sources; s++) {
        const int64_t before = out->tokens;
        if (!cut_source(&c, &from[s], &which)) {
            rf__pieces_free(ctx, out);
            return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu pieces", c.capacity);
        }
        out->source[s].from = &from[s];
        out->source[s].end = out->n;
        out->source[s].tokens = out->tokens - before;
    }
    out->stream[0].n = out->n;
    out->stream[0].weight = 1;
    return RF_OK;
}

rf_status rf__pieces_mix(rf__pieces *p, const double weight[], rf_error *why)
{
    for (int s = 0; s < p->sources; s++) {
        const size_t first = s ? p->source[s - 1].end : 0, n = p->source[s].end - first;
        if (!n) return rf_fail(why, RF_EDATA, "mix: corpus %d: expected tokens to train on, got none", s + 1);
        p->stream[s].first = first;
        p->stream[s].n = n;
        p->stream[s].weight = weight[s];
    }
    p->streams = p->sources;
    return RF_OK;
}

void rf__pieces_free(const rf_ctx *ctx, rf__pieces *p)
{
    rf__free(ctx, p->piece);
    *p = (rf__pieces){0};
}
