/* encode_texts.c — encodes many texts at once: each worker of the context encodes runs of consecutive texts, and the
 * tokens of the runs are then joined in the order of the texts. */
#include <string.h>

#include "tokenizer.h"

enum { RUNS_A_WORKER = 4, LEAST_RUN = 16 };           /* more runs than workers: they differ in time */

typedef struct run {
    rf_encoding e;
    int64_t from, to;                                   /* texts                                                      */
    int64_t bad;                                        /* the text that cannot be encoded; -1: none                  */
    int64_t cut;
    char *joined;                                       /* the prefix and a text                                      */
    size_t joineds;
    rf_error why;
} run;

typedef struct job {
    const rf__many_texts *x;
    int64_t *start;
    run *run;
} job;

size_t rf__text_bytes(const char *const text[], const size_t bytes[], int64_t i)
{
    return !text[i] ? 0 : bytes && bytes[i] != RF_STRING ? bytes[i] : strlen(text[i]);
}

/* Appends the tokens of text i. */
static rf_status encode_one(const rf__many_texts *x, int64_t i, run *r)
{
    const char *text = x->text[i], *pair = x->pair ? x->pair[i] : NULL;
    size_t bytes = rf__text_bytes(x->text, x->bytes, i), dropped = 0;
    if (!text) return rf_fail(&r->why, RF_EARG, "text: expected a text, got NULL");
    if (x->prefix && *x->prefix) {
        if (!rf__join(x->t->ctx, &r->joined, &r->joineds, x->prefix, text, bytes, &bytes))
            return rf_fail(&r->why, RF_ENOMEM, "out of memory: a text of %zu bytes", bytes);
        text = r->joined;
    }
    const rf_status status = rf_encode(x->t, text, bytes, pair, pair ? rf__text_bytes(x->pair, x->pair_bytes, i) : 0,
                                       x->limit, x->flags | RF_ENCODE_APPEND, &r->e, &dropped, &r->why);
    r->cut += !status && dropped;
    return status;
}

/* start[i + 1] = number of tokens of the run up to text i. */
static void encode_run(void *arg, int64_t number, int worker)
{
    const job *j = arg;
    run *r = &j->run[number];
    (void)worker;
    for (int64_t i = r->from; i < r->to && r->bad < 0; i++) {
        const size_t before = r->e.n;
        if (encode_one(j->x, i, r)) r->bad = r->e.n == before ? i : r->from;       /* without memory, nothing is kept */
        j->start[i + 1] = (int64_t)r->e.n;
    }
}

/* Appends the tokens of the runs; start[] counts from the first of them. */
static rf_status join(job *j, int64_t runs, rf_encoding *e, rf_error *why)
{
    size_t n = 0;
    const size_t before = e->n;
    for (int64_t k = 0; k < runs; k++) n += j->run[k].e.n;
    if (!rf__reserve_tokens(e, n)) return rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens", n);
    for (int64_t k = 0; k < runs; k++) {
        const rf_encoding *from = &j->run[k].e;
        const size_t at = e->n, more = from->n;
        for (int64_t i = j->run[k].from; i < j->run[k].to; i++) j->start[i + 1] += (int64_t)(at - before);
        if (!more) continue;
        memcpy(e->id + at, from->id, more * sizeof *e->id);
        memcpy(e->type + at, from->type, more * sizeof *e->type);
        memcpy(e->start + at, from->start, more * sizeof *e->start);
        memcpy(e->end + at, from->end, more * sizeof *e->end);
        memcpy(e->added + at, from->added, more);
        e->n += more;
    }
    return RF_OK;
}

rf_status rf__encode_runs(const rf__many_texts *x, rf_encoding *e, int64_t start[], int64_t *done, int64_t *cut,
                          rf_error *bad, rf_error *why)
{
    const rf_ctx *ctx = x->t->ctx;
    const int64_t n = x->n, most = (int64_t)RUNS_A_WORKER * rf_ctx_threads(ctx),
                  full = (n + LEAST_RUN - 1) / LEAST_RUN, runs = full < most ? full : most;
    job j = {.x = x, .start = start};
    start[0] = *done = *cut = 0;
    if (!n) return RF_OK;
    if (!(j.run = rf__calloc(ctx, (size_t)runs, sizeof *j.run)))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)n);
    for (int64_t k = 0; k < runs; k++) {
        j.run[k] = (run){.from = n / runs * k + (k < n % runs ? k : n % runs), .bad = -1};
        j.run[k].to = j.run[k].from + n / runs + (k < n % runs);
        rf_encoding_init(&j.run[k].e, ctx);
    }
    rf__parallel(ctx, runs, encode_run, &j);
    int64_t good = 0;                                   /* runs up to the first text that cannot be encoded */
    while (good < runs && j.run[good].bad < 0) *cut += j.run[good++].cut;
    *done = good < runs ? j.run[good].bad : n;
    if (good < runs) *bad = j.run[good].why, *cut += j.run[good++].cut;
    const rf_status status = join(&j, good, e, why);
    for (int64_t k = 0; k < runs; k++) {
        rf_encoding_clear(&j.run[k].e);
        rf__free(ctx, j.run[k].joined);
    }
    rf__free(ctx, j.run);
    return status;
}

rf_status rf_encode_texts(const rf_tokenizer *t, const char *const text[], const size_t bytes[],
                          const char *const pair[], const size_t pair_bytes[], int64_t n, size_t limit, int flags,
                          rf_encoding *e, int64_t start[], int64_t *bad, rf_error *why)
{
    if (!(t && (text || !n) && e && start))
        return rf__missing("rf_encode_texts", "tokenizer, text, encoding, start", why);
    if (n < 0) return rf_fail(why, RF_EARG, "rf_encode_texts: n: expected 0 or more, got %lld", (long long)n);
    if (flags & RF_ENCODE_APPEND)
        return rf_fail(why, RF_EARG, "rf_encode_texts: flags: expected no RF_ENCODE_APPEND, got %d", flags);
    if (bad) *bad = -1;
    const rf__many_texts x = {.t = t, .text = text, .pair = pair, .bytes = bytes, .pair_bytes = pair_bytes, .n = n,
                         .limit = limit, .flags = flags};
    int64_t done, cut;
    rf_error first = {0};
    e->n = 0;
    rf_status status = rf__encode_runs(&x, e, start, &done, &cut, &first, why);
    if (status || !first.code) return status;
    e->n = 0;
    if (bad) *bad = done;
    if (bad || n == 1) return rf_fail(why, first.code, "%s", first.text);
    return rf_fail(why, first.code, "text %lld: %s", (long long)done + 1, first.text);
}
