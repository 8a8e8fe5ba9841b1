/* encode_corpus.c — converts documents to ids.
 *
 *     read:  [chunk 0: documents, 64 KiB] [chunk 1] ... [chunk 31]      one reader
 *     encode: chunk i by any worker
 *     sink:  chunk 0, chunk 1, ...                                      in order
 *
 * A hash of a document's text decides whether it is held out, so this does not change when the corpus grows or
 * shrinks. */
#include "data/corpus/encode_corpus.h"

#include "data/documents/reader.h"

enum { CHUNK_BYTES = 1 << 16, CHUNKS = 32 };

typedef struct chunk {
    char *text;
    size_t bytes, text_capacity;
    size_t *size;                       /* bytes of each document                                                     */
    uint32_t *length;                   /* its tokens, and RF__HELD                                                   */
    size_t documents, size_capacity, length_capacity;
    unsigned char *ids;
    size_t tokens, ids_capacity;
    rf_error why;
} chunk;

typedef struct feed {
    const rf_ctx *ctx;
    const rf_tokenizer *t;
    rf_encoding *encoding;              /* one for each worker                                                        */
    chunk chunk[CHUNKS];
    int width, used;
    double held;
    bool holding;                       /* the last document that was read is held out                                */
} feed;

/* ---- reading ---- */

static bool is_held(const feed *f, const rf_document *d)
{
    if (d->continues) return f->holding;
    const uint64_t hash = rf__hash64(d->text, d->size, 0);
    return (double)(hash >> 11) * 0x1p-53 < f->held;
}

static rf_status take(feed *f, chunk *c, const rf_document *d, rf_error *why)
{
    const rf_ctx *ctx = f->ctx;
    if (!rf__grow(ctx, &c->text, &c->text_capacity, c->bytes + d->size, 1) ||
        !rf__grow(ctx, &c->size, &c->size_capacity, c->documents + 1, sizeof *c->size) ||
        !rf__grow(ctx, &c->length, &c->length_capacity, c->documents + 1, sizeof *c->length))
        return rf_fail(why, RF_ENOMEM, "out of memory: a document of %zu bytes", d->size);
    f->holding = is_held(f, d);
    memcpy(c->text + c->bytes, d->text, d->size);
    c->bytes += d->size;
    c->size[c->documents] = d->size;
    c->length[c->documents++] = f->holding ? RF__HELD : 0;
    return RF_OK;
}

/* Fills the chunks; *more: there may be more documents. */
static rf_status fill(feed *f, rf_reader *r, bool *more, rf_error *why)
{
    rf_document d = {0};
    for (f->used = 0; f->used < CHUNKS && *more; f->used++) {
        chunk *c = &f->chunk[f->used];
        c->bytes = c->documents = c->tokens = 0;
        while (c->bytes < CHUNK_BYTES) {
            rf_status status = rf_reader_next(r, &d, why);
            if (!status && d.text) status = take(f, c, &d, why);
            if (status) {
                f->used += c->documents > 0;
                return status;
            }
            if (!d.text) {
                *more = false;
                break;
            }
        }
    }
    return RF_OK;
}

/* ---- encoding ---- */

static rf_status append(feed *f, chunk *c, const rf_encoding *e)
{
    const size_t width = (size_t)f->width;
    if (e->n >= RF__HELD)
        return rf_fail(&c->why, RF_ERANGE, "document: expected fewer than %llu tokens, got %zu",
                       (unsigned long long)RF__HELD, e->n);
    if (!rf__grow(f->ctx, &c->ids, &c->ids_capacity, (c->tokens + e->n) * width, 1))
        return rf_fail(&c->why, RF_ENOMEM, "out of memory: %zu ids", c->tokens + e->n);
    if (!e->n) return RF_OK;
    if (width == 4) {
        memcpy(c->ids + c->tokens * 4, e->id, e->n * 4);
    } else {
        uint16_t *to = (uint16_t *)(void *)c->ids + c->tokens;
        for (size_t i = 0; i < e->n; i++) to[i] = (uint16_t)e->id[i];
    }
    c->tokens += e->n;
    return RF_OK;
}

static void encode_chunk(void *arg, int64_t i, int worker)
{
    feed *f = arg;
    chunk *c = &f->chunk[i];
    rf_encoding *e = &f->encoding[worker];
    const char *text = c->text;
    for (size_t d = 0; d < c->documents; d++) {
        /* "[MASK]" in a text was written by its author */
        if (rf_encode(f->t, text, c->size[d], NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e, NULL, &c->why))
            return;
        if (append(f, c, e)) return;
        c->length[d] |= (uint32_t)e->n;
        text += c->size[d];
    }
}

/* ---- the whole corpus ---- */

/* What was read before an error is passed on before the error is reported. */
static rf_status feed_all(feed *f, rf_reader *r, rf__feed_sink *sink, void *user, rf_error *why)
{
    bool more = true;
    while (more) {
        rf_error late = {0};
        const rf_status read = fill(f, r, &more, &late);
        rf_status status = RF_OK;
        rf__parallel(f->ctx, f->used, encode_chunk, f);
        for (int i = 0; i < f->used; i++) {
            const chunk *c = &f->chunk[i];
            if (c->why.code) return rf_fail(why, c->why.code, "%s", c->why.text);
            if (!c->documents) continue;
            const rf__part part = {{c->ids, f->width}, c->tokens, c->documents, c->length};
            if ((status = sink(user, &part, rf_reader_share(r), why))) return status;
        }
        if (read) return rf_fail(why, read, "%s", late.text);
    }
    return RF_OK;
}

rf_status rf__feed(const rf_ctx *ctx, const rf_tokenizer *t, rf_reader *r, double held, rf__feed_sink *sink, void *user,
                   rf_error *why)
{
    const size_t workers = (size_t)rf_ctx_threads(ctx);
    feed *f = rf__calloc(ctx, 1, sizeof *f);
    if (f) *f = (feed){.ctx = ctx, .t = t, .width = rf__id_width(t), .held = held};
    if (f) f->encoding = rf__calloc(ctx, workers, sizeof *f->encoding);
    if (!f || !f->encoding) {
        rf__free(ctx, f);
        return rf_fail(why, RF_ENOMEM, "out of memory: buffers to tokenize");
    }
    for (size_t i = 0; i < workers; i++) rf_encoding_init(&f->encoding[i], ctx);
    rf_status status = rf__reader_residues(r, t, why);
    if (!status) status = feed_all(f, r, sink, user, why);
    for (size_t i = 0; i < workers; i++) rf_encoding_clear(&f->encoding[i]);
    for (int i = 0; i < CHUNKS; i++) {
        rf__free(ctx, f->chunk[i].text);
        rf__free(ctx, f->chunk[i].size);
        rf__free(ctx, f->chunk[i].length);
        rf__free(ctx, f->chunk[i].ids);
    }
    rf__free(ctx, f->encoding);
    rf__free(ctx, f);
    return status;
}
