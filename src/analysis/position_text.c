/* position_text.c — parts of documents that are long enough for every length to be compared. */
#include "data/corpus/encode_corpus.h"
#include "data/corpus/pieces.h"
#include "roformer/inspect/positions.h"

enum { SIZES = RF_LENGTHS };

struct gathering {
    const rf_ctx *ctx;
    int64_t length, most, documents;
    struct { int32_t *id; int64_t n; } of[SIZES];           /* parts of length 2^k                                    */
};

static int64_t size_of(const struct gathering *g, int k) { return (g->length << k) - RF__TEMPLATE; }

/* Parts of size k of one document, from its beginning. */
static rf_status take(struct gathering *g, int k, rf__ids ids, size_t at, int64_t tokens, rf_error *why)
{
    const int64_t size = size_of(g, k);
    if (tokens < size || g->of[k].n >= g->most) return RF_OK;
    if (!g->of[k].id) g->of[k].id = rf__alloc(g->ctx, (size_t)(g->most * size) * sizeof *g->of[k].id);
    if (!g->of[k].id)
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld stretches of %lld tokens", (long long)g->most,
                       (long long)size);
    for (int64_t from = 0; from + size <= tokens && g->of[k].n < g->most; from += size) {
        int32_t *to = g->of[k].id + g->of[k].n++ * size;
        for (int64_t i = 0; i < size; i++) to[i] = rf__id(ids, at + (size_t)(from + i));
    }
    return RF_OK;
}

static rf_status take_part(void *user, const rf__part *part, double share, rf_error *why)
{
    struct gathering *g = user;
    size_t at = 0;
    (void)share;
    for (size_t d = 0; d < part->documents; d++) {
        const size_t tokens = part->length[d] & ~RF__HELD;
        for (int k = 0; k < SIZES; k++) {
            const rf_status status = take(g, k, part->ids, at, (int64_t)tokens, why);
            if (status) return status;
        }
        g->documents++;
        at += tokens;
        if (g->of[SIZES - 1].n == g->most) return RF_ESTOPPED;              /* enough */
    }
    return RF_OK;
}

rf_status rf_stretches_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *const *text, int texts,
                            const rf_reader_options *reader, int64_t length, int64_t most, rf_stretches *out,
                            rf_error *why)
{
    if (!(ctx && t && text && out)) return rf__missing("rf_stretches_read", "ctx, tokenizer, text, out", why);
    struct gathering g = {.ctx = ctx, .length = length, .most = most};
    rf_reader *r;
    int best = SIZES - 1;
    if (length <= RF__TEMPLATE || most < 1)
        return rf_fail(why, RF_EARG, "stretches: expected at least 1 piece of at least 1 token, got %lld of %lld",
                       (long long)most, (long long)length);
    rf_status status = rf_reader_open(ctx, text, texts, reader, &r, why);
    if (status) return status;
    status = rf__feed(ctx, t, r, RF__HOLD_NONE, take_part, &g, why);
    if (status == RF_ESTOPPED) status = RF_OK;
    rf_reader_close(r);
    while (best > 0 && !g.of[best].n) best--;
    if (!status && !g.of[best].n)
        status = rf_fail(why, RF_EDATA,
                         "text: expected a document of %lld tokens, which fills a piece of --max_length %lld, got none",
                         (long long)size_of(&g, 0), (long long)length);
    if (!status) {
        *out = (rf_stretches){length, (int64_t)1 << best, size_of(&g, best), g.of[best].n, g.of[best].id, g.documents};
        g.of[best].id = NULL;
    }
    for (int k = 0; k < SIZES; k++) rf__free(ctx, g.of[k].id);
    return status;
}

void rf_stretches_free(const rf_ctx *ctx, rf_stretches *s)
{
    if (!(ctx && s)) return;
    rf__free(ctx, s->id);
    *s = (rf_stretches){0};
}
