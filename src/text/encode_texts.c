/* encode_texts.c — encodes many texts at once: each worker of the context encodes runs of consecutive texts, and the
 * tokens of the runs are then joined in the order of the texts. */
#include <string.h>

#include "tokenizer.h"

enum { RUNS_A_WORKER = 4, LEAST_RUN = 16 };           /* more runs than workers: they differ in time */

typedef struct run {
    rf_encoding e;
    int64_t from, to;                                   /* texts                                                      */
    int64_t bad;                                        /* the text that cannot be encoded; -1: none                  */
    rf_error why;
} run;

typedef struct job {
    const rf_tokenizer *t;
    const char *const *text, *const *pair;
    const size_t *bytes, *pair_bytes;
    size_t limit;
    int flags;
    int64_t *start;
    run *run;
} job;

size_t rf__text_bytes(const char *const text[], const size_t bytes[], int64_t i)
{
    return !text[i] ? 0 : bytes && bytes[i] != RF_STRING ? bytes[i] : strlen(text[i]);
}

/* start[i + 1] = number of tokens of the run up to text i. */
static void encode_run(void *arg, int64_t number, int worker)
{
    const job *j = arg;
    run *r = &j->run[number];
    (void)worker;
    for (int64_t i = r->from; i < r->to && r->bad < 0; i++) {
        const char *pair = j->pair ? j->pair[i] : NULL;
        rf_status status = RF_OK;
        if (!j->text[i]) status = rf_fail(&r->why, RF_EARG, "encode: the text is NULL");
        if (!status)
            status = rf_encode(j->t, j->text[i], rf__text_bytes(j->text, j->bytes, i), pair,
                               pair ? rf__text_bytes(j->pair, j->pair_bytes, i) : 0, j->limit,
                               j->flags | RF_ENCODE_APPEND, &r->e, NULL, &r->why);
        if (status) r->bad = i;
        j->start[i + 1] = (int64_t)r->e.n;
    }
}

static rf_status join(job *j, int64_t runs, rf_encoding *e, rf_error *why)
{
    size_t n = 0;
    for (int64_t k = 0; k < runs; k++) n += j->run[k].e.n;
    e->n = 0;
    if (!rf__reserve_tokens(e, n)) return rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens", n);
    j->start[0] = 0;
    for (int64_t k = 0; k < runs; k++) {
        const rf_encoding *from = &j->run[k].e;
        const size_t at = e->n, more = from->n;
        for (int64_t i = j->run[k].from; i < j->run[k].to; i++) j->start[i + 1] += (int64_t)at;
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

/* Reports the first text that failed, with its number if there are several. */
static rf_status failure(const job *j, int64_t runs, int64_t n, int64_t *bad, rf_error *why)
{
    for (int64_t k = 0; k < runs; k++) {
        const run *r = &j->run[k];
        if (r->bad < 0) continue;
        if (bad) *bad = r->bad;
        if (bad || n == 1) return rf_fail(why, r->why.code, "%s", r->why.text);
        return rf_fail(why, r->why.code, "text %lld: %s", (long long)r->bad + 1, r->why.text);
    }
    return RF_OK;
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
    const rf_ctx *ctx = t->ctx;
    const int64_t most = (int64_t)RUNS_A_WORKER * rf_ctx_threads(ctx), full = (n + LEAST_RUN - 1) / LEAST_RUN,
                  runs = full < most ? full : most;
    job j = {.t = t, .text = text, .pair = pair, .bytes = bytes, .pair_bytes = pair_bytes, .limit = limit,
             .flags = flags, .start = start};
    start[0] = 0;
    e->n = 0;
    if (!n) return RF_OK;
    if (!(j.run = rf__calloc(ctx, (size_t)runs, sizeof *j.run)))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)n);
    for (int64_t k = 0; k < runs; k++) {
        j.run[k] = (run){.from = n / runs * k + (k < n % runs ? k : n % runs), .bad = -1};
        j.run[k].to = j.run[k].from + n / runs + (k < n % runs);
        rf_encoding_init(&j.run[k].e, ctx);
    }
    rf__parallel(ctx, runs, encode_run, &j);
    rf_status status = failure(&j, runs, n, bad, why);
    if (!status) status = join(&j, runs, e, why);
    for (int64_t k = 0; k < runs; k++) rf_encoding_clear(&j.run[k].e);
    rf__free(ctx, j.run);
    return status;
}
