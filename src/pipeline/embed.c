/* embed.c — vectors of texts.
 *
 * Texts are processed in windows (window.c). Each vector is written to the place of its text. Memory depends on the
 * window, not on the number of texts. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/positions.h"
#include "pipeline/pipeline.h"
#include "store/family.h"
#include "store/task.h"
#include "task/answerer.h"

enum { WINDOW = 4096, WINDOW_TOKENS = 1 << 18, ROUND_TEXTS = 16, ROUND_BYTES = 1 << 18 };

void rf_embed_options_init(rf_embed_options *o, size_t size)
{
    const rf_embed_options own = {
        .pooling = RF_POOL_AUTO, .normalize = -1, .max_length = -1, .batch_tokens = 192, .dimensions = -1,
        .include_prompt = -1, .role = -1};
    rf__options_init(o, size, &own, sizeof own);
}

/* ---- options: as given, otherwise the folder's, otherwise the defaults ------------------------------------------- */

static rf_status no_prompt(const rf_sentence *s, const char *name, rf_error *why)
{
    char all[200] = "";
    for (int64_t i = 0; s && i < s->prompts; i++) rf__list_add(all, sizeof all, rf__printable(s->prompt[i].name).text);
    if (!*all)
        return rf_fail(why, RF_EARG, "prompt_name: expected the name of a prompt of the folder, which has none, got "
                       "\"%.60s\"; give the prompt's text", name);
    return rf_fail(why, RF_EARG, "prompt_name: expected one of the folder's prompts (%s), got \"%.60s\"", all, name);
}

/* The prompt by its text, or by its name among the folder's prompts; without either, the folder's default prompt. */
static rf_status resolve_prompt(const rf_sentence *s, rf_embed_options *o, rf_error *why)
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
    if (o->include_prompt == -1) o->include_prompt = !s || s->include_prompt;
    return RF_OK;
}

/* The tokens of a prompt that is left out of the pooling are those of the prompt alone, without a special one at the
 * end, as in sentence-transformers. */
static rf_status count_prompt(const rf_pipeline *p, rf_embed_options *o, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    rf_encoding e;
    o->prompt_tokens = 0;
    if (o->include_prompt || !*o->prompt) return RF_OK;
    rf_encoding_init(&e, p->ctx);
    const rf_status status =
        rf_encode(t, o->prompt, strlen(o->prompt), NULL, 0, (size_t)rf__max64(o->max_length, 0), 0, &e, NULL, why);
    const int32_t last = !status && e.n ? e.id[e.n - 1] : -1;
    o->prompt_tokens = (int64_t)e.n - (last >= 0 && (e.added[e.n - 1] || rf_tokenizer_is_special(t, last)));
    rf_encoding_clear(&e);
    return status;
}

/* Number of components of a vector before it is cut: of a text, or of a token, to which no module is applied. */
static int64_t full_width(const rf_pipeline *p, const rf_embed_options *o, bool tokens)
{
    if ((!tokens || p->late) && p->modules) return rf__modules_out(p->modules);
    return rf_model_config(p->model)->hidden_size * (tokens ? 1 : rf__pooling_count(o->pooling));
}

static rf_status resolve(const rf_pipeline *p, rf_embed_options *o, rf_error *why)
{
    const rf_sentence *s = p->late ? &p->sentence : NULL;
    rf_status status = p->late ? rf__late_role(p, o, why) : rf_pipeline_sentence(p, &s, why);
    if (!status) status = resolve_prompt(s, o, why);
    if (!status && p->late) status = rf__late_length(p, o, why);
    if (status) return status;
    if (o->pooling == RF_POOL_AUTO) o->pooling = s ? p->list.pooling : RF_POOL_MEAN;
    if (o->normalize == -1) o->normalize = s && s->normalize;
    if (o->max_length == -1)                                            /* a limit may be the folder's only setting */
        o->max_length = p->sentence.max_length ? rf__position_limit(rf_model_config(p->model), p->sentence.max_length)
                                               : rf__config_longest(rf_model_config(p->model));
    if (o->dimensions == -1) {
        o->cut_last = s && s->truncate_dim && s->truncate_dim < full_width(p, o, false);
        o->dimensions = o->cut_last ? s->truncate_dim : 0;
    }
    return count_prompt(p, o, why);
}

static bool has_pooling(rf_pooling all, rf_pooling one)
{
    for (int i = 0; i < rf__pooling_count(all); i++)
        if (rf__pooling_part(all, i) == one) return true;
    return false;
}

static rf_status check_pooling(const rf_pipeline *p, const rf_embed_options *o, bool tokens, rf_error *why)
{
    const rf_config *c = rf_model_config(p->model);
    if (!rf__poolings_are(o->pooling))
        return rf_fail(why, RF_EARG, "pooling: expected a value of rf_pooling, got %d", (int)o->pooling);
    const int64_t width = c->hidden_size * rf__pooling_count(o->pooling);
    if (!tokens && p->modules && width != rf__modules_in(p->modules))
        return rf_fail(why, RF_EARG, "pooling: expected vectors of %lld components, which the folder's modules take, "
                       "got %s with %lld", (long long)rf__modules_in(p->modules), rf__poolings_text(o->pooling).text,
                       (long long)width);
    if (o->skip_special_tokens && (has_pooling(o->pooling, RF_POOL_CLS) || has_pooling(o->pooling, RF_POOL_LAST)))
        return rf_fail(why, RF_EARG, "pooling: expected mean or max where special tokens are skipped, got %s, the "
                       "vector of a special token", rf__poolings_text(o->pooling).text);
    if (c->is_decoder && !c->linear_pooler && has_pooling(o->pooling, RF_POOL_CLS))
        return rf_fail(why, RF_EUNSUPPORTED, "pooling: expected mean, max or last, got cls: in a causal model the "
                       "first token does not attend to the others");
    return RF_OK;
}

static rf_status check(const rf_pipeline *p, const rf_embed_options *o, bool tokens, rf_error *why)
{
    if (o->normalize < 0 || o->normalize > 1)
        return rf_fail(why, RF_EARG, "normalize: expected -1 to 1, got %d", o->normalize);
    if (o->max_length < -1 || o->max_length > INT32_MAX)
        return rf_fail(why, RF_EARG, "max_length: expected -1 to %d, got %lld", INT32_MAX, (long long)o->max_length);
    if (o->batch_tokens < 1 || o->batch_tokens > INT32_MAX)
        return rf_fail(why, RF_EARG, "batch_tokens: expected 1 to %d, got %lld", INT32_MAX, (long long)o->batch_tokens);
    if (o->layer_norm < 0 || o->layer_norm > 1)
        return rf_fail(why, RF_EARG, "layer_norm: expected 0 or 1, got %d", o->layer_norm);
    if (o->skip_special_tokens < 0 || o->skip_special_tokens > 1)
        return rf_fail(why, RF_EARG, "skip_special_tokens: expected 0 or 1, got %d", o->skip_special_tokens);
    if (o->include_prompt < 0 || o->include_prompt > 1)
        return rf_fail(why, RF_EARG, "include_prompt: expected -1 to 1, got %d", o->include_prompt);
    if (!p->late && o->role != -1)
        return rf_fail(why, RF_EARG, "role: expected -1 with a model without late interaction, got %d", o->role);
    rf_status status = check_pooling(p, o, tokens, why);
    if (!status) status = rf__check_cut_side(o->cut_side, why);
    if (status || (o->dimensions >= 0 && o->dimensions <= full_width(p, o, tokens))) return status;
    return rf_fail(why, RF_EARG, "dimensions: expected at most %lld, the width of the model, got %lld",
                   (long long)full_width(p, o, tokens), (long long)o->dimensions);
}

/* Completes the given options (NULL: none) for vectors of texts, or of tokens. */
static rf_status read_options(const rf_pipeline *p, const rf_embed_options *given, bool tokens, rf_embed_options *out,
                              rf_error *why)
{
    rf_embed_options o;
    rf_embed_defaults(&o);
    rf_status status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_embed_options, batch_tokens), given,
                                        "rf_embed_options", why);
    if (!status && p->late && !tokens) status = rf_pipeline_sentence(p, &(const rf_sentence *){NULL}, why);
    if (!status) status = resolve(p, &o, why);
    if (!status) status = check(p, &o, tokens, why);
    if (!status) *out = o;
    return status;
}

rf_status rf_embed_resolve_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out,
                                 size_t size, rf_error *why)
{
    rf_embed_options o;
    if (!(p && out)) return rf__missing("rf_embed_resolve", "pipeline, out", why);
    const rf_status status = read_options(p, given, false, &o, why);
    if (!status) rf__options_init(out, size, &o, sizeof o);
    return status;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Number of components of a vector. */
static int64_t width_of(const rf_pipeline *p, const rf_embed_options *o, bool tokens)
{
    return o->dimensions ? o->dimensions : full_width(p, o, tokens);
}

/* The batches of a window. */
typedef struct job {
    rf_pipeline *p;
    const rf_embed_options *o;
    const rf__parts *parts;
    float *out;                         /* [n,D] vectors of the window's texts, or of their tokens                    */
    const int64_t *row;         /* [n + 1] where the vectors of a text's tokens begin; NULL: one vector for each text */
    pthread_mutex_t lock;               /* protects the failure                                                       */
    int64_t failed;                     /* the first batch that failed; INT64_MAX: none                               */
    rf_error why;
} job;

/* Text i of a part. */
static int64_t text_of(const job *j, int64_t part, int64_t i)
{
    return rf__order_text(j->parts->order[j->parts->cut[part] + i]);
}

/* Converts the vector x, [C], to the result, [D]:
 *
 *     z_i = (x_i - mean(x)) / sqrt(var(x) + 1e-5) with layer_norm, else x_i
 *     y_i = z_i / |z| with normalize, else z_i;  |z| over the first D numbers, with cut_last over all C */
static rf_status finish(const job *j, const float *x, float *y, rf_error *why)
{
    const rf_embed_options *o = j->o;
    const int64_t C = full_width(j->p, o, j->row), D = width_of(j->p, o, j->row), m = o->cut_last ? C : D;
    double mean = 0, scale = 1, sum = 0;
    for (int64_t i = 0; i < C && o->layer_norm; i++) mean += (double)x[i] / (double)C;
    for (int64_t i = 0; i < C && o->layer_norm; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    if (o->layer_norm) scale = 1 / sqrt(sum / (double)C + 1e-5);
    sum = 0;
    for (int64_t i = 0; i < m; i++) {
        const double z = ((double)x[i] - mean) * scale;
        sum += z * z;
    }
    if (!isfinite(sum)) return rf_fail(why, RF_ENUMERIC, "embed: expected a finite vector, got NaN or infinity");
    const double unit = o->normalize && sum > 0 ? 1 / sqrt(sum) : 1;
    for (int64_t i = 0; i < D; i++) y[i] = (float)(((double)x[i] - mean) * scale * unit);
    return RF_OK;
}

/* The same from a pooled vector, by the folder's modules; of tokens they change vectors only for late interaction. */
static rf_status store_vector(const job *j, const float *x, float *y, rf_error *why)
{
    const rf__modules *m = j->row && !j->p->late ? NULL : j->p->modules;
    float *scratch = m ? rf__alloc(j->p->ctx, (size_t)rf__modules_scratch(m) * sizeof *scratch) : NULL;
    if (m && !scratch) return rf_fail(why, RF_ENOMEM, "out of memory: a vector");
    const rf_status status = finish(j, m ? rf__modules_apply(j->p->ctx, m, x, scratch) : x, y, why);
    rf__free(j->p->ctx, scratch);
    return status;
}

/* Tokens [*a, *b) of a text of the window, without those that the template added if `skip`. */
static void own_tokens(const rf__text_window *w, int64_t text, bool skip, int32_t *a, int32_t *b)
{
    *a = w->start[text];
    *b = w->start[text + 1];
    while (skip && *a < *b && w->e.added[*a]) ++*a;
    while (skip && *a < *b && w->e.added[*b - 1]) --*b;
}

/* y = rows [from, n) of x, [n,C], pooled as in rf__pool; the weights of RF_POOL_WEIGHTED count from row 0 on. If no row
 * is left, as sentence-transformers has it: cls is row 0, max is -infinity, and the others are 0. */
static void pool_rows(float *y, const float *x, int64_t from, int64_t n, int64_t C, rf_pooling how)
{
    const double rows = (double)(n - from), all = rows * (double)(from + 1 + n) / 2;
    const double whole = how == RF_POOL_MEAN       ? rows
                         : how == RF_POOL_SQRT     ? sqrt(rows)
                         : how == RF_POOL_WEIGHTED ? all
                                                   : 1;
    if (how == RF_POOL_CLS) {
        if (from == n) from = 0;
        n = from + 1;
    }
    if (how == RF_POOL_LAST && from < n) from = n - 1;
    for (int64_t c = 0; c < C; c++) {
        double sum = how == RF_POOL_MAX ? -INFINITY : 0;
        for (int64_t t = from; t < n; t++)
            if (how != RF_POOL_MAX) sum += (double)x[t * C + c] * (how == RF_POOL_WEIGHTED ? (double)(t + 1) : 1);
            else if ((double)x[t * C + c] > sum) sum = (double)x[t * C + c];
        y[c] = (float)(whole > 0 ? sum / whole : sum);
    }
}

/* Vectors of a batch's tokens, at rows row[text] .. row[text + 1], or of its texts without special tokens or those of
 * the prompt, or by several poolings. */
static rf_status own_vectors(const job *j, int64_t part, rf__worker *with, rf_error *why)
{
    const rf__text_window *w = &j->parts->window;
    const int64_t C = rf_model_config(j->p->model)->hidden_size, D = width_of(j->p, j->o, j->row);
    const int poolings = rf__pooling_count(j->o->pooling);
    const float *h;
    float *pooled = j->row ? NULL : rf__alloc(j->p->ctx, (size_t)(C * poolings) * sizeof *pooled);
    if (!j->row && !pooled) return rf_fail(why, RF_ENOMEM, "out of memory: a vector of %lld", (long long)C * poolings);
    rf_status status = j->p->late ? rf__late_hidden(j->p, j->o, j->parts, part, with, &h, why)
                                  : rf_session_hidden(with->session, &with->batch.view, &h, why);
    for (int64_t i = 0; i < with->batch.view.B && !status; i++) {
        const int64_t text = text_of(j, part, i);
        int32_t a, b;
        own_tokens(w, text, j->o->skip_special_tokens, &a, &b);
        const int64_t n = b - a, prompt = rf__max64(j->o->prompt_tokens - (a - w->start[text]), 0);
        const float *x = h + (with->batch.start[i] + a - w->start[text]) * C;
        float *y = j->out + (j->row ? j->row[text] - j->row[0] : text) * D;
        for (int k = 0; k < poolings && pooled; k++)
            pool_rows(pooled + k * C, x, rf__min64(prompt, n), n, C, rf__pooling_part(j->o->pooling, k));
        if (pooled) status = store_vector(j, pooled, y, why);
        for (int32_t t = a; t < b && !pooled && !status; t++, x += C)
            if (rf__late_keeps(j->p, j->o, w, t)) status = store_vector(j, x, y, why), y += D;
    }
    rf__free(j->p->ctx, pooled);
    return status;
}

/* The vectors of a part's texts without tokens, which follow the `from` others: 0 before the modules, as in
 * sentence-transformers. */
static rf_status store_zeros(const job *j, int64_t part, int64_t from, rf_error *why)
{
    const int64_t C = rf_model_config(j->p->model)->hidden_size, n = j->parts->cut[part + 1] - j->parts->cut[part];
    if (from == n || j->row) return RF_OK;                              /* there are no vectors of their tokens       */
    float *zeros = rf__calloc(j->p->ctx, (size_t)C, (size_t)rf__pooling_count(j->o->pooling) * sizeof *zeros);
    rf_status status = zeros ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a vector of %lld", (long long)C);
    for (int64_t i = from; i < n && !status; i++)
        status = store_vector(j, zeros, j->out + text_of(j, part, i) * width_of(j->p, j->o, false), why);
    rf__free(j->p->ctx, zeros);
    return status;
}

static rf_status compute_part(const job *j, int64_t part, rf__worker *with, rf_error *why)
{
    rf_pipeline *p = j->p;
    const int64_t C = rf_model_config(p->model)->hidden_size, D = width_of(p, j->o, j->row);
    const float *v = NULL;
    rf_status status = rf__parts_batch(p->ctx, j->parts, part, &with->batch, why);
    if (!status) status = store_zeros(j, part, with->batch.view.B, why);
    if (status || !with->batch.view.B) return status;
    if (j->row || j->o->skip_special_tokens || j->o->prompt_tokens || rf__pooling_count(j->o->pooling) > 1)
        return own_vectors(j, part, with, why);
    status = rf_session_embed(with->session, &with->batch.view, j->o->pooling, &v, why);
    for (int64_t i = 0; i < with->batch.view.B && !status; i++)
        status = store_vector(j, v + i * C, j->out + text_of(j, part, i) * D, why);
    return status;
}

static void run_part(void *arg, int64_t i, int worker)
{
    job *j = arg;
    rf_error why = {0};
    if (!compute_part(j, i, &j->p->worker[worker], &why)) return;
    pthread_mutex_lock(&j->lock);
    if (i < j->failed) j->failed = i, j->why = why;
    pthread_mutex_unlock(&j->lock);
}

/* If there are enough tokens, threads compute parts of their own; a few larger parts are computed by all threads
 * together. */
static rf_status compute(rf_pipeline *p, const rf_embed_options *o, float *out, const int64_t *row, rf_error *why)
{
    rf__parts *x = &p->parts;
    job j = {.p = p, .o = o, .parts = x, .out = out, .row = row, .lock = PTHREAD_MUTEX_INITIALIZER,
             .failed = INT64_MAX};
    if (rf__parts_divide(p->ctx, x, o->batch_tokens, o->batch_tokens * p->ctx->threads)) {
        const rf_status status = rf__pipeline_workers(p, why);
        if (status) return status;
        rf__parallel(p->ctx, x->n, run_part, &j);
    } else {
        for (int64_t i = 0; i < x->n && !j.why.code; i++) run_part(&j, i, 0);
    }
    pthread_mutex_destroy(&j.lock);
    return j.why.code ? rf_fail(why, j.why.code, "%s", j.why.text) : RF_OK;
}

/* Space for so many vectors of D numbers, and for a window of at most as many texts. */
static rf_status reserve(rf_pipeline *p, int64_t vectors, int64_t D, rf_error *why)
{
    return rf__parts_reserve(p->ctx, &p->parts, rf__min64(vectors, WINDOW), vectors, D, why);
}

/* A prompt and a text. */
typedef struct joined { char **at; size_t *size; } joined;

/* Adds the text, after the prompt, at the window's end. */
static rf_status add_text(const rf_pipeline *p, rf__text_window *w, joined to, const rf_embed_options *o,
                          const char *text, size_t bytes, bool *cut, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int64_t limit = p->late ? rf__late_limit(p, o) : o->max_length;
    if (*o->prompt && text) {
        if (!rf__join(p->ctx, to.at, to.size, o->prompt, text, bytes, &bytes))
            return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu bytes", bytes);
        text = *to.at;
    }
    if (p->late && text) rf__trim_white(&text, &bytes);
    const rf_status status = rf__window_add(w, t, text, bytes, limit, o->cut_side, cut, why);
    return status || !p->late ? status : rf__late_complete(p, o, w, why);
}

static int64_t count_unknown(const rf_pipeline *p, const rf__text_window *w)
{
    const int32_t unk = rf_tokenizer_unk(rf_model_tokenizer(p->model));
    int64_t n = 0;
    for (int32_t i = 0; w->n && i < w->start[w->n]; i++) n += w->e.id[i] == unk;
    return n;
}

/* The index of the first text of the window that has no token to pool, although there must be one; -1: none. */
static int64_t without_tokens(const rf__text_window *w, const rf_embed_options *o)
{
    const bool skip = o->skip_special_tokens;
    if (!skip && !has_pooling(o->pooling, RF_POOL_CLS) && !has_pooling(o->pooling, RF_POOL_MAX)) return -1;
    for (int64_t i = 0; i < w->n; i++) {
        int32_t a, b;
        own_tokens(w, i, skip, &a, &b);
        if (a == b) return i;
    }
    return -1;
}

/* Counts the vectors of the window's tokens after those of the first `done` texts, and grows their arrays. */
static rf_status reserve_rows(rf_pipeline *p, const rf_embed_options *o, int64_t done, rf_error *why)
{
    const rf__text_window *w = &p->parts.window;
    if (!rf__grow(p->ctx, &p->row, &p->rows, (size_t)(done + w->n) + 1, sizeof *p->row))
        return rf_fail(why, RF_ENOMEM, "out of memory: the vectors of %lld texts", (long long)(done + w->n));
    if (!done) p->row[0] = 0;
    for (int64_t i = 0; i < w->n; i++) {
        int32_t a, b;
        own_tokens(w, i, o->skip_special_tokens, &a, &b);
        p->row[done + i + 1] = p->row[done + i];
        for (int32_t t = a; t < b; t++) p->row[done + i + 1] += rf__late_keeps(p, o, w, t);
    }
    return reserve(p, p->row[done + w->n], width_of(p, o, true), why);
}

static rf_status fail_without_tokens(const rf_embed_options *o, rf_error *why)
{
    if (!o->skip_special_tokens)
        return rf_fail(why, RF_EDATA, "text: expected a token for pooling %s, got none: the tokenizer adds none to an "
                       "empty text", rf__poolings_text(o->pooling).text);
    return rf_fail(why, RF_EDATA, "text: expected a token beside special ones, which are skipped, got none");
}

/* The texts of a call. */
typedef struct texts { const char *const *text; const size_t *bytes; int64_t n; } texts;

/* Adds text i; returns 1, or 0 with its error. */
static int64_t add_one(rf_pipeline *p, const rf_embed_options *o, const texts *g, int64_t i, int64_t *cut,
                       rf_error *bad)
{
    bool one = false;
    if (add_text(p, &p->parts.window, (joined){&p->joined, &p->joineds}, o, g->text[i],
                 rf__text_bytes(g->text, g->bytes, i), &one, bad)) return 0;
    *cut += one;
    return 1;
}

/* Adds texts from i on by all threads, about ROUND_BYTES, but enough for each thread; returns how many. */
static int64_t add_round(rf_pipeline *p, const rf_embed_options *o, const texts *g, int64_t i, int64_t *cut,
                         rf_error *bad)
{
    rf__text_window *w = &p->parts.window;
    rf__many_texts x = {.t = rf_model_tokenizer(p->model), .prefix = o->prompt, .text = g->text + i,
                   .bytes = g->bytes ? g->bytes + i : NULL, .limit = (size_t)o->max_length, .flags = o->cut_side};
    const int64_t most = rf__min64(g->n - i, WINDOW - w->n), least = ROUND_TEXTS * p->ctx->threads;
    int64_t done = 0, some = 0;
    rf_error why = {0};
    for (size_t all = 0; x.n < most && (all < ROUND_BYTES || x.n < least); x.n++)
        all += rf__text_bytes(x.text, x.bytes, x.n);
    if (rf__window_add_texts(w, &x, &done, &some, bad, &why)) *bad = why;
    *cut += some;
    return done;
}

/* Adds texts [i, n) to the window until it is full; returns the index of the next text. *bad: the error of that
 * text. */
static int64_t fill_window(rf_pipeline *p, const rf_embed_options *o, const texts *g, int64_t i, int64_t *cut,
                           rf_error *bad)
{
    rf__text_window *w = &p->parts.window;
    const bool few = p->late || p->ctx->threads < 2 || g->n - i < ROUND_TEXTS * p->ctx->threads;
    for (w->n = 0; i < g->n && w->n < WINDOW && (!w->n || w->start[w->n] < WINDOW_TOKENS) && !bad->code;)
        i += few ? add_one(p, o, g, i, cut, bad) : add_round(p, o, g, i, cut, bad);
    const int64_t empty = without_tokens(w, o);
    if (empty < 0) return i;
    fail_without_tokens(o, bad);
    i -= w->n - empty;
    w->n = empty;
    return i;
}

/* Vectors of texts or, with `tokens`, of their tokens. */
static rf_status embed(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                       const rf_embed_options *o, bool tokens, const rf_texts_report **report, rf_texts_report *r,
                       rf_error *why)
{
    const rf__text_window *w = &p->parts.window;
    const int64_t D = width_of(p, o, tokens);
    rf_error inner = {0};
    rf_status status = reserve(p, tokens ? rf__min64(n, WINDOW) : n, D, why);
    if (!status && tokens) p->parts.window.n = 0, status = reserve_rows(p, o, 0, why);
    for (int64_t i = 0; i < n && !status && !inner.code;) {
        int64_t cut = 0;
        i = fill_window(p, o, &(texts){text, bytes, n}, i, &cut, &inner);
        if (tokens) status = reserve_rows(p, o, r->done, why);
        if (!status && w->n)
            status = compute(p, o, p->parts.vectors + (tokens ? p->row[r->done] : r->done) * D,
                             tokens ? p->row + r->done : NULL, why);
        if (status) return status;
        r->done += w->n;
        r->tokens += w->n ? w->start[w->n] : 0;
        r->cut += cut;
        r->unknown += count_unknown(p, w);
    }
    if (status || !inner.code) return status;
    r->bad = r->done;
    return rf__text_fail(report, r->bad, n, &inner, why);
}

rf_status rf__embed_encode(const rf_pipeline *p, const rf_embed_options *o, const char *const text[],
                           const size_t bytes[], int64_t n, rf__text_window *w, rf_texts_report *r, rf_error *why)
{
    char *at = NULL;
    size_t size = 0;
    rf_error bad = {0};
    int64_t i = 0;
    for (; i < n && !bad.code; i++) {
        bool one = false;
        (void)add_text(p, w, (joined){&at, &size}, o, text[i], rf__text_bytes(text, bytes, i), &one, &bad);
        r->cut += one;
    }
    rf__free(p->ctx, at);
    const int64_t empty = bad.code ? -1 : without_tokens(w, o);
    if (empty >= 0) fail_without_tokens(o, &bad), i = empty + 1;
    if (bad.code) return rf__text_fail(NULL, i - 1, n, &bad, why);
    r->done = n;
    r->tokens = w->n ? w->start[w->n] : 0;
    r->unknown = count_unknown(p, w);
    return RF_OK;
}

int64_t rf_embed_width(const rf_pipeline *p, const rf_embed_options *o)
{
    return p && o ? width_of(p, o, false) : 0;
}

rf_status rf__embed_window(rf_pipeline *p, const rf_embed_options *o, const float **vectors, rf_error *why)
{
    const int64_t n = p->parts.window.n;
    rf_status status = rf__parts_reserve(p->ctx, &p->parts, n, n, width_of(p, o, false), why);
    if (!status && n) status = compute(p, o, p->parts.vectors, NULL, why);
    *vectors = p->parts.vectors;
    return status;
}

rf_status rf__embed_divide(const rf_pipeline *p, const rf_embed_options *o, rf__parts *x, rf_error *why)
{
    const int64_t n = x->window.n;
    const rf_status status = rf__parts_reserve(p->ctx, x, n, n, width_of(p, o, false), why);
    if (!status) (void)rf__parts_divide(p->ctx, x, o->batch_tokens, o->batch_tokens);
    return status;
}

rf_status rf__embed_part(rf_pipeline *p, const rf_embed_options *o, const rf__parts *x, int64_t i, int worker,
                         rf_error *why)
{
    const job j = {.p = p, .o = o, .parts = x, .out = x->vectors};
    return compute_part(&j, i, &p->worker[worker], why);
}

rf_status rf_embed_texts(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                         const rf_embed_options *options, const float **vectors,
                         const rf_texts_report **report, rf_error *why)
{
    rf_embed_options o;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status) status = read_options(p, options, false, &o, why);
    if (!status) status = embed(p, text, bytes, n, &o, false, report, r, why);
    if (vectors && (!status || (r && r->bad >= 0))) *vectors = p->parts.vectors;
    return status;
}

/* As token_embeddings of sentence-transformers: the folder's normalization and dimensions apply only to texts. */
static rf_status read_token_options(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out,
                                    rf_error *why)
{
    rf_embed_options o;
    rf_embed_defaults(&o);
    rf_status status = rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_embed_options, batch_tokens), given,
                                        "rf_embed_options", why);
    if (o.normalize == -1) o.normalize = p->late != NULL;
    if (o.dimensions == -1) o.dimensions = 0;
    o.pooling = RF_POOL_MEAN;
    return status ? status : read_options(p, &o, true, out, why);
}

rf_status rf_embed_tokens_resolve_sized(const rf_pipeline *p, const rf_embed_options *given, rf_embed_options *out,
                                        size_t size, rf_error *why)
{
    rf_embed_options o;
    if (!(p && out)) return rf__missing("rf_embed_tokens_resolve", "pipeline, out", why);
    const rf_status status = read_token_options(p, given, &o, why);
    if (!status) rf__options_init(out, size, &o, sizeof o);
    return status;
}

rf_status rf_embed_tokens(rf_pipeline *p, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const float **vectors, const int64_t **row,
                          const rf_texts_report **report, rf_error *why)
{
    rf_embed_options o;
    rf_texts_report local, *r = rf__report_begin(p, report, &local);
    rf_status status = rf__pipeline_check(p, text, n, why);
    if (!status) status = read_token_options(p, options, &o, why);
    if (!status) status = embed(p, text, bytes, n, &o, true, report, r, why);
    const bool some = !status || (r && r->bad >= 0);
    if (vectors && some) *vectors = p->parts.vectors;
    if (row && some) *row = p->row;
    return status;
}
