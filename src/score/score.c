/* score.c — computes scores of texts from counts of their segments. */
#include <stdio.h>

#include "base/context.h"
#include "score.h"

static const rf__mt_row *const rows[] = {
    [RF_MT_BLEU] = &rf__mt_bleu, [RF_MT_CHRF] = &rf__mt_chrf, [RF_MT_TER] = &rf__mt_ter};

void rf_mt_options_init(rf_mt_options *o, size_t size)
{
    const rf_mt_options own = {
        .lowercase = -1, .smooth_value = -1, .max_order = 4, .char_order = 6, .beta = 2};
    rf__options_init(o, size, &own, sizeof own);
}

static rf_status range(const char *name, int64_t value, int64_t low, int64_t high, rf_error *why)
{
    if (value >= low && value <= high) return RF_OK;
    return rf_fail(why, RF_EARG, "%s: expected %lld to %lld, got %lld", name, (long long)low, (long long)high,
                   (long long)value);
}

static rf_status read_options(rf_mt_options *o, const rf_mt_options *given, rf_error *why)
{
    rf_mt_defaults(o);
    rf_status status = rf__options_read(o, sizeof *o, sizeof *o, given, "rf_mt_options", why);
    if (!status) status = range("metric", (int64_t)o->metric, RF_MT_BLEU, RF_MT_TER, why);
    if (!status) status = range("lowercase", o->lowercase, -1, 1, why);
    if (!status) status = range("tokenizer", (int64_t)o->tokenizer, RF_MT_13A, RF_MT_COMPOUNDS, why);
    if (!status) status = range("smooth", (int64_t)o->smooth, RF_MT_EXP, RF_MT_UNSMOOTHED, why);
    if (!status) status = range("max_order", o->max_order, 1, RF_MT_ORDERS, why);
    if (!status) status = range("char_order", o->char_order, 1, RF_MT_ORDERS, why);
    if (!status) status = range("word_order", o->word_order, 0, RF_MT_ORDERS, why);
    if (!status) status = range("beta", o->beta, 1, 100, why);
    if (o->lowercase < 0) o->lowercase = o->metric == RF_MT_TER;
    return status;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

enum { CHUNK = 32 };                    /* segments that a worker processes at a time                                 */

typedef struct job {
    rf_mt_result *r;
    const rf_mt_texts *system, *reference;
    const rf_unicode *unicode;
    rf__mt_scratch *scratch;            /* [workers]                                                                  */
    rf__mt_line *line;                  /* [workers, references]                                                      */
} job;

static rf__mt_line line_of(const rf_mt_texts *t, int64_t i)
{
    return (rf__mt_line){t->text[i], t->bytes ? t->bytes[i] : strlen(t->text[i])};
}

static void one_chunk(void *arg, int64_t chunk, int worker)
{
    const job *j = arg;
    const rf_mt_result *r = j->r;
    rf__mt_scratch *s = &j->scratch[worker];
    rf__mt_line *line = j->line + (ptrdiff_t)worker * r->references;
    const int64_t to = rf__min64(r->n, (chunk + 1) * CHUNK);
    for (int64_t i = chunk * CHUNK; i < to && !s->failed; i++) {
        const rf__mt_line own = line_of(j->system, i);
        for (int k = 0; k < r->references; k++) line[k] = line_of(&j->reference[k], i);
        rf__mt_segment_begin(s);
        r->row->segment(s, &own, line, r->references, r->count + i * r->counts);
    }
}

static rf_status check_texts(const rf_mt_texts *t, int64_t n, const char *name, rf_error *why)
{
    for (int64_t i = 0; i < n; i++) {
        if (!t->text || !t->text[i])
            return rf_fail(why, RF_EARG, "%s: line %lld: expected a text, got NULL", name, (long long)i + 1);
        const rf__mt_line line = line_of(t, i);
        const size_t bad = rf_utf8_check(line.text, line.size);
        if (bad < line.size)
            return rf_fail(why, RF_EDATA, "%s: line %lld: expected UTF-8, got byte 0x%02X at byte %zu", name,
                           (long long)i + 1, (unsigned char)line.text[bad], bad);
        if (line.size > INT32_MAX / 8)
            return rf_fail(why, RF_EDATA, "%s: line %lld: expected at most %d bytes, got %zu", name, (long long)i + 1,
                           INT32_MAX / 8, line.size);
    }
    return RF_OK;
}

static rf_status check_all(const job *j, rf_error *why)
{
    rf_status status = check_texts(j->system, j->r->n, "system", why);
    for (int k = 0; k < j->r->references && !status; k++) {
        char name[32];
        snprintf(name, sizeof name, "reference %d", k + 1);
        status = check_texts(&j->reference[k], j->r->n, name, why);
    }
    return status;
}

static rf_status count_all(job *j, rf_error *why)
{
    rf_mt_result *r = j->r;
    const rf_ctx *ctx = r->ctx;
    const int workers = ctx->threads;
    rf_unicode *unicode = rf__alloc(ctx, sizeof *unicode);
    bool good = true;
    j->scratch = rf__calloc(ctx, (size_t)workers, sizeof *j->scratch);
    j->line = rf__calloc(ctx, (size_t)workers * (size_t)r->references, sizeof *j->line);
    r->count = rf__calloc(ctx, (size_t)r->n, (size_t)r->counts * sizeof *r->count);
    if (unicode && j->scratch && j->line && r->count) {
        rf__unicode_init(unicode, RF_RULES_PYTHON);
        for (int i = 0; i < workers; i++)
            j->scratch[i] = (rf__mt_scratch){.ctx = ctx, .options = &r->o, .unicode = unicode};
        rf__parallel(ctx, (r->n + CHUNK - 1) / CHUNK, one_chunk, j);
        for (int i = 0; i < workers; i++) {
            good &= !j->scratch[i].failed;
            rf__mt_scratch_clear(&j->scratch[i]);
        }
    } else {
        good = false;
    }
    rf__free(ctx, unicode);
    rf__free(ctx, j->scratch);
    rf__free(ctx, j->line);
    return good ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: scores of %lld segments", (long long)r->n);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* A different BLEU, whose scores must not be compared with sacreBLEU's. */
static bool tokenized(const rf_mt_result *r) { return r->o.metric == RF_MT_BLEU && r->o.tokenizer == RF_MT_COMPOUNDS; }

static void name_it(rf_mt_result *r)
{
    if (r->o.metric == RF_MT_CHRF)
        snprintf(r->name, sizeof r->name, "%s%d%.*s", r->row->name, r->o.beta, r->o.word_order, "++++++++");
    else snprintf(r->name, sizeof r->name, "%s%s", tokenized(r) ? "tokenized " : "", r->row->name);
}

static rf_status evaluate(job *j, const rf_mt_options *options, rf_error *why)
{
    rf_mt_result *r = j->r;
    rf_status status = read_options(&r->o, options, why);
    if (!status) status = range("segments", r->n, 1, UINT32_MAX - 1, why);
    if (!status) status = range("references", r->references, 1, 1000, why);
    if (status) return status;
    r->row = rows[r->o.metric];
    r->counts = r->row->counts(&r->o);
    name_it(r);
    status = check_all(j, why);
    return status ? status : count_all(j, why);
}

rf_status rf_mt_evaluate(const rf_ctx *ctx, const rf_mt_options *options, const rf_mt_texts *system,
                         const rf_mt_texts references[], int count, int64_t n, rf_mt_result **out, rf_error *why)
{
    if (!(system && references && out)) return rf__missing("rf_mt_evaluate", "system, references, out", why);
    rf_ctx *own = NULL;
    if (!ctx) {
        const rf_status status = rf_ctx_new(NULL, &own, why);
        if (status) return status;
        ctx = own;
    }
    rf_mt_result *r = rf__calloc(ctx, 1, sizeof *r);
    if (!r) {
        rf_ctx_free(own);
        return rf_fail(why, RF_ENOMEM, "out of memory: scores of %lld segments", (long long)n);
    }
    *r = (rf_mt_result){.ctx = ctx, .own = own, .n = n, .references = count};
    job j = {.r = r, .system = system, .reference = references};
    const rf_status status = evaluate(&j, options, why);
    if (status) rf_mt_free(r);
    else *out = r;
    return status;
}

void rf_mt_free(rf_mt_result *r)
{
    if (!r) return;
    rf_ctx *own = r->own;
    rf__free(r->ctx, r->count);
    rf__free(r->ctx, r);
    rf_ctx_free(own);
}

int rf__mt_add(const rf_mt_result *r, int64_t sum[RF_MT_COUNTS])
{
    for (int64_t i = 0; i < r->n; i++)
        for (int k = 0; k < r->counts; k++) sum[k] += r->count[i * r->counts + k];
    return r->counts;
}

void rf__mt_of_sums(const rf_mt_result *r, const int64_t sum[RF_MT_COUNTS], rf_mt_score *out)
{
    r->row->score(&r->o, r->references, sum, false, out);
}

void rf_mt_corpus(const rf_mt_result *r, rf_mt_score *out)
{
    int64_t sum[RF_MT_COUNTS] = {0};
    rf__mt_add(r, sum);
    rf__mt_of_sums(r, sum, out);
}

void rf_mt_segment(const rf_mt_result *r, int64_t i, rf_mt_score *out)
{
    int64_t sum[RF_MT_COUNTS] = {0};
    for (int k = 0; k < r->counts; k++) sum[k] = r->count[i * r->counts + k];
    r->row->score(&r->o, r->references, sum, false, out);
}

const char *rf_mt_name(const rf_mt_result *r) { return r->name; }

void rf_mt_signature(const rf_mt_result *r, const char *more, char *out, size_t size)
{
    char own[128];
    r->row->signature(&r->o, own, sizeof own);
    snprintf(out, size, "nrefs:%d%s%s|%s%s|program:roformer-%s", r->references, *more ? "|" : "", more, own,
             tokenized(r) ? "" : "|version:2.6.0", ROFORMER_VERSION);
}
