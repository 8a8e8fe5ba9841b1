/* shares.c — divides spans into buckets, and buckets into parts. */
#include "dist/shares.h"

enum { BUCKET = 1 << 22, ALIGN = 16 };  /* floats of a bucket; slots are aligned to vectors */

static rf__share part_from(const rf__span span[], size_t first, size_t last)
{
    if (first == last) return (rf__share){first, first, 0, 0};
    return (rf__share){first, last, span[first].at, span[last - 1].at + span[last - 1].n - span[first].at};
}

/* The end of the bucket that begins at span `first`: of the same layer, and not much above BUCKET. */
static size_t bucket_end(const rf_params *params, const rf__span span[], size_t spans, size_t first)
{
    const int layer = params->p[span[first].param].layer;
    size_t last = first + 1;
    while (last < spans && params->p[span[last].param].layer == layer && span[last].at - span[first].at < BUCKET)
        last++;
    return last;
}

/* Divides a bucket into parts of about equal size: part k ends with the span that reaches k + 1 of `parts` equal
 * shares. */
static void cut(rf__shares *s, const rf__span span[], const rf__bucket *b, rf__share *part, size_t shift)
{
    const size_t spans = b->whole.last - b->whole.first, ranks = (size_t)s->ranks,
                 parts = spans < ranks ? spans : ranks;
    size_t at = b->whole.first, reached = 0;
    for (size_t k = 0; k < ranks; k++) {
        const size_t first = at;
        const double goal = (double)b->floats * (double)(k + 1) / (double)parts;
        while (k < parts && at < b->whole.last - (parts - 1 - k) &&
               (at == first || k + 1 == parts || (double)reached + 0.5 * (double)span[at].n <= goal))
            reached += span[at++].n;
        part[(k + shift) % ranks] = part_from(span, first, at);
    }
}

static void place_spans(rf__shares *s, rf__span span[])
{
    for (int r = 0; r < s->ranks; r++) {
        size_t spans = 0;
        for (size_t b = 0; b < s->buckets; b++) {
            const rf__share *p = rf__share_of(s, b, r);
            spans += p->last - p->first;
            if (p->n > s->most_floats) s->most_floats = p->n;
            for (size_t i = p->first; i < p->last; i++) {
                span[i].away = r != s->rank;
                span[i].slot = span[i].away ? 0 : s->owned;
                if (!span[i].away) s->owned += (span[i].n + ALIGN - 1) / ALIGN * ALIGN;
            }
        }
        if (spans > s->most_spans) s->most_spans = spans;
    }
    if (!s->owned) s->owned = ALIGN;  /* a rank without spans still allocates moments, because the optimizer has them */
}

rf_status rf__shares_new(const rf_params *params, rf__span span[], size_t spans, int ranks, int rank, rf__shares *out,
                         rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    rf__shares s = {.ranks = ranks, .rank = rank};
    size_t shift = 0, count = 0;
    for (size_t at = 0; at < spans; at = bucket_end(params, span, spans, at)) s.buckets++;
    s.bucket = rf__calloc(ctx, s.buckets, sizeof *s.bucket);
    s.part = rf__checked_mul(s.buckets, (size_t)ranks, &count) ? rf__calloc(ctx, count, sizeof *s.part) : NULL;
    if (!s.bucket || !s.part) {
        rf__shares_free(ctx, &s);
        return rf_fail(why, RF_ENOMEM, "out of memory: shares of %zu buckets for %d ranks", s.buckets, ranks);
    }
    for (size_t b = 0, at = 0; b < s.buckets; b++) {
        rf__bucket *k = &s.bucket[b];
        k->whole = part_from(span, at, bucket_end(params, span, spans, at));
        for (size_t i = at; i < k->whole.last; i++) k->floats += span[i].n;
        cut(&s, span, k, &s.part[b * (size_t)ranks], shift);
        shift += k->whole.last - at;                      /* the next bucket begins where this one's spans ended */
        at = k->whole.last;
    }
    place_spans(&s, span);
    *out = s;
    return RF_OK;
}

void rf__shares_free(const rf_ctx *ctx, rf__shares *s)
{
    rf__free(ctx, s->bucket);
    rf__free(ctx, s->part);
    *s = (rf__shares){0};
}
