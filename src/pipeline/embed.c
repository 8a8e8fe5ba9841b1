/* embed.c — vectors of texts.
 *
 * Texts are processed in windows.  The texts of a window are sorted by length, so that a batch holds texts of similar
 * length, and each vector is written to the place of its text.  Memory depends on the window, not on the texts. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/pipeline.h"
#include "store/task.h"

enum { WINDOW = 4096, WINDOW_TOKENS = 1 << 18 };

void rf_embed_options_init(rf_embed_options *o, size_t size)
{
    const rf_embed_options own = {
        .pooling = RF_POOL_AUTO, .normalize = -1, .max_length = -1, .batch_tokens = 192, .dimensions = -1};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- options: what is given, else what the folder says, else what is usual --------------------------------------- */

static rf_status no_prompt(const rf_sentence *s, const char *name, rf_error *why)
{
    char all[200] = "";
    size_t n = 0;
    for (int64_t i = 0; s && i < s->prompts && n + 40 < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%.30s", i ? ", " : "", s->prompt[i].name);
    if (!*all)
        return rf_fail(why, RF_EARG, "prompt_name: expected the name of a prompt of the folder, which has none, got "
                       "\"%.60s\"; give the prompt's text", name);
    return rf_fail(why, RF_EARG, "prompt_name: expected one of the folder's prompts (%s), got \"%.60s\"", all, name);
}

/* A prompt by its text, or by its name among the folder's; without either the folder's default. */
static rf_status settle_prompt(const rf_sentence *s, rf_embed_options *o, rf_error *why)
{
    if (o->prompt && o->prompt_name)
        return rf_fail(why, RF_EARG, "prompt, prompt_name: expected one of them, got both; leave one out");
    if (o->prompt_name) {
        int64_t i = 0;
        while (s && i < s->prompts && strcmp(s->prompt[i].name, o->prompt_name)) i++;
        if (!s || i == s->prompts) return no_prompt(s, o->prompt_name, why);
        o->prompt = s->prompt[i].text;
        o->prompt_name = NULL;
    }
    if (!o->prompt) o->prompt = s && s->default_prompt >= 0 ? s->prompt[s->default_prompt].text : "";
    if (*o->prompt && s && !s->include_prompt)
        return rf_fail(why, RF_EUNSUPPORTED, "include_prompt: expected true, got false: excluding a prompt's tokens "
                       "from pooling is not supported; use an empty prompt");
    return RF_OK;
}

static rf_status settle(const rf_pipeline *p, rf_embed_options *o, rf_error *why)
{
    const rf_sentence *s = NULL;
    rf_status status = rf_pipeline_sentence(p, &s, why);
    if (!status) status = settle_prompt(s, o, why);
    if (status) return status;
    const int64_t C = rf_model_config(p->model)->hidden_size;
    if (o->pooling == RF_POOL_AUTO) o->pooling = s ? (rf_pooling)rf__pooling_of(s->pooling) : RF_POOL_MEAN;
    if (o->normalize == -1) o->normalize = s && s->normalize;
    if (o->max_length == -1)                                            /* a limit may be all that a folder says */
        o->max_length = p->sentence.max_length ? p->sentence.max_length
                                               : rf_model_config(p->model)->max_position_embeddings;
    if (o->dimensions == -1) {
        o->cut_last = s && s->truncate_dim && s->truncate_dim < C;
        o->dimensions = o->cut_last ? s->truncate_dim : 0;
    }
    return RF_OK;
}

static rf_status check(const rf_pipeline *p, const rf_embed_options *o, rf_error *why)
{
    if (o->pooling < RF_POOL_CLS || o->pooling > RF_POOL_MAX)
        return rf_fail(why, RF_EARG, "pooling: expected a value of rf_pooling, got %d", (int)o->pooling);
    if (o->normalize < 0 || o->normalize > 1)
        return rf_fail(why, RF_EARG, "normalize: expected -1 to 1, got %d", o->normalize);
    if (o->max_length < -1 || o->max_length > INT32_MAX)
        return rf_fail(why, RF_EARG, "max_length: expected -1 to %d, got %lld", INT32_MAX, (long long)o->max_length);
    if (o->batch_tokens < 1 || o->batch_tokens > INT32_MAX)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 to %d, got %lld", INT32_MAX, (long long)o->batch_tokens);
    if (o->dimensions < 0 || o->dimensions > rf_model_config(p->model)->hidden_size)
        return rf_fail(why, RF_EARG, "dimensions: expected -1 to %lld, the width of the model, got %lld",
                       (long long)rf_model_config(p->model)->hidden_size, (long long)o->dimensions);
    if (rf_model_config(p->model)->is_decoder && !rf_model_config(p->model)->linear_pooler &&
        o->pooling == RF_POOL_CLS)
        return rf_fail(why, RF_EUNSUPPORTED, "pooling: expected mean or max, got cls: in a causal model the first "
                       "token does not attend to the others");
    return RF_OK;
}

/* The options that are given (NULL: none), settled. */
static rf_status read_options(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out, rf_error *why)
{
    rf_embed_options o;
    rf_embed_defaults(&o);
    rf_status status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_embed_options, batch_tokens), given,
                                        "rf_embed_options", why);
    if (!status) status = settle(p, &o, why);
    if (!status) status = check(p, &o, why);
    if (!status) *out = o;
    return status;
}

rf_status rf_embed_settle_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out, size_t size,
                                rf_error *why)
{
    rf_embed_options o;
    if (!(p && out)) return rf__missing("rf_embed_settle", "pipeline, out", why);
    const rf_status status = read_options(p, given, &o, why);
    if (!status) rf__options_init(out, size, &o, sizeof o);
    return status;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Longest first, of equal ones in their order: a key is what is missing to the greatest length, then the text. */
static void sort_by_length(const rf__text_window *w, uint64_t *order)
{
    for (int64_t i = 0; i < w->n; i++)
        order[i] = (uint64_t)(INT32_MAX - (w->start[i + 1] - w->start[i])) << 32 | (uint64_t)i;
    qsort(order, (size_t)w->n, sizeof *order, by_key);
}

/* v has length 1 where `of`, of m numbers, is it itself, and otherwise the length that its part of `of` then has. */
static rf_status to_unit(float *v, int64_t n, const float *of, int64_t m, bool normalize, rf_error *why)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) sum += (double)of[i] * (double)of[i];
    if (!isfinite(sum)) return rf_fail(why, RF_ENUMERIC, "embed: expected a finite vector, got NaN or infinity");
    if (!normalize || sum == 0) return RF_OK;
    const double scale = 1 / sqrt(sum);
    for (int64_t i = 0; i < n; i++) v[i] = (float)((double)v[i] * scale);
    return RF_OK;
}

/* Numbers of a vector. */
static int64_t width_of(const rf_pipeline *p, const rf_embed_options *o)
{
    return o->dimensions ? o->dimensions : rf_model_config(p->model)->hidden_size;
}

/* The batches of a window. */
typedef struct job {
    rf_pipeline *p;
    const rf_embed_options *o;
    float *out;                         /* [n,D] vectors of the window's texts                                        */
    pthread_mutex_t lock;               /* of the failure                                                             */
    int64_t failed;                     /* the first batch that did; INT64_MAX: none                                  */
    rf_error why;
} job;

static rf_status compute_batch(const job *j, int64_t from, int64_t to, rf__worker *with, rf_error *why)
{
    rf_pipeline *p = j->p;
    const int64_t C = rf_model_config(p->model)->hidden_size, D = width_of(p, j->o);
    const float *v = NULL;
    rf_status status = rf__window_batch(p->ctx, &p->window, p->order, from, to, &with->batch, why);
    if (!status) status = rf_session_embed(with->session, &with->batch.view, j->o->pooling, &v, why);
    for (int64_t i = from; i < to && !status; i++) {
        float *vector = j->out + rf__order_text(p->order[i]) * D;
        memcpy(vector, v + (i - from) * C, (size_t)D * sizeof *v);
        status = to_unit(vector, D, v + (i - from) * C, j->o->cut_last ? C : D, j->o->normalize, why);
    }
    return status;
}

static void run_batch(void *arg, int64_t i, int worker)
{
    job *j = arg;
    rf_error why = {0};
    if (!compute_batch(j, j->p->cut[i], j->p->cut[i + 1], &j->p->worker[worker], &why)) return;
    pthread_mutex_lock(&j->lock);
    if (i < j->failed) j->failed = i, j->why = why;
    pthread_mutex_unlock(&j->lock);
}

/* How many batches of at most so many tokens the window has: those of order[cut[i] .. cut[i + 1]). */
static int64_t cut_batches(rf_pipeline *p, int64_t tokens)
{
    int64_t n = 0;
    for (p->cut[0] = 0; p->cut[n] < p->window.n; n++)
        p->cut[n + 1] = rf__window_cut(&p->window, p->order, p->cut[n], tokens);
    return n;
}

/* Batches are dealt out to the threads where there are enough; a few larger ones are computed by all together. */
static rf_status compute(rf_pipeline *p, const rf_embed_options *o, float *out, rf_error *why)
{
    const int64_t T = p->ctx->threads;
    job j = {.p = p, .o = o, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER, .failed = INT64_MAX};
    sort_by_length(&p->window, p->order);
    int64_t n = cut_batches(p, o->batch_tokens);
    if (T > 1 && n >= 2 * T) {
        const rf_status status = rf__pipeline_workers(p, why);
        if (status) return status;
        rf__parallel(p->ctx, n, run_batch, &j);
    } else {
        n = cut_batches(p, o->batch_tokens * T);
        for (int64_t i = 0; i < n && !j.why.code; i++) run_batch(&j, i, 0);
    }
    pthread_mutex_destroy(&j.lock);
    return j.why.code ? rf_fail(why, j.why.code, "%s", j.why.text) : RF_OK;
}

static rf_status reserve(rf_pipeline *p, int64_t n, size_t D, rf_error *why)
{
    size_t floats;
    if (rf__checked_mul((size_t)n, D, &floats) &&
        rf__grow(p->ctx, &p->vectors, &p->vectors_capacity, floats, sizeof(float)) &&
        rf__grow(p->ctx, &p->order, &p->orders, (size_t)rf__min64(n, WINDOW), sizeof *p->order) &&
        rf__grow(p->ctx, &p->cut, &p->cuts, (size_t)rf__min64(n, WINDOW) + 1, sizeof *p->cut))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: %lld vectors of %zu", (long long)n, D);
}

/* The text behind the prompt, at the window's end. */
static rf_status add_text(rf_pipeline *p, const char *prompt, const char *text, size_t bytes, int64_t limit, bool *cut,
                          rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    size_t all;
    if (!*prompt || !text) return rf__window_add(&p->window, t, text, bytes, limit, cut, why);
    if (!rf__join(p->ctx, &p->joined, &p->joineds, prompt, text, bytes, &all))
        return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu bytes", bytes);
    return rf__window_add(&p->window, t, p->joined, all, limit, cut, why);
}

static int64_t count_unknown(const rf_pipeline *p)
{
    const rf__text_window *w = &p->window;
    const int32_t unk = rf_tokenizer_unk(rf_model_tokenizer(p->model));
    int64_t n = 0;
    for (int32_t i = 0; w->n && i < w->start[w->n]; i++) n += w->e.id[i] == unk;
    return n;
}

rf_status rf_embed_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                         const rf_embed_options *options, const float **vectors,
                         const rf_texts_report **report, rf_error *why)
{
    rf_embed_options o;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_error inner = {0};
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status) status = read_options(p, options, &o, why);
    if (!status) status = reserve(p, n, (size_t)width_of(p, &o), why);
    if (status) return status;
    const int64_t D = width_of(p, &o);
    rf__text_window *w = &p->window;
    for (int64_t i = 0; i < n && !status && !inner.code;) {
        int64_t cut = 0;
        for (w->n = 0; i < n && w->n < WINDOW && (!w->n || w->start[w->n] < WINDOW_TOKENS); i++) {
            bool one;
            if (add_text(p, o.prompt, text[i], rf__text_bytes(text, bytes, i), o.max_length, &one,
                         &inner))
                break;
            cut += one;
        }
        status = compute(p, &o, p->vectors + r->done * D, why);
        if (status) return status;
        r->done += w->n;
        r->tokens += w->n ? w->start[w->n] : 0;
        r->cut += cut;
        r->unknown += count_unknown(p);
    }
    if (vectors) *vectors = p->vectors;
    if (!inner.code) return RF_OK;
    r->bad = r->done;
    return rf__text_fail(report, r->bad, n, &inner, why);
}
