/* bench_model.c — the encoder, a training step, and attention, on batches of given shapes.
 *
 * The arithmetic of the encoder and of a step is that of their products and attention, as the operations count it
 * themselves; that of attention is 4 T^2 C. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"
#include "roformer/kernel/attention.h"
#include "roformer/context.h"
#include "roformer/kernel/rope.h"
#include "roformer/inspect/steps.h"
#include "roformer/kernel/kernels.h"

/* ---- shapes: "8x128", "32x5-200" (32 texts of 5 to 200 tokens), "@FILE" (on each line the lengths of a batch) ---- */

enum { MOST_TEXTS = 65536, MOST_TOKENS = 1 << 22, LONGEST = 65536 };

static void shape_free(bench_shape *s)
{
    free(s->id);
    free(s->start);
    free(s->text);
    *s = (bench_shape){0};
}

static rf_status reserve_shape(bench_shape *s, int64_t batches, int64_t texts, int64_t tokens, rf_error *why)
{
    s->text = malloc((size_t)(batches + 1) * sizeof *s->text);
    s->start = malloc((size_t)(texts + 1) * sizeof *s->start);
    s->id = malloc((size_t)tokens * sizeof *s->id);
    if (s->text && s->start && s->id) {
        s->text[0] = s->start[0] = 0;
        return RF_OK;
    }
    shape_free(s);
    return rf_fail(why, RF_ENOMEM, "out of memory: %lld tokens", (long long)tokens);
}

static void add_text(bench_shape *s, int64_t T, int64_t V, rf_rng *r)
{
    for (int64_t i = 0; i < T; i++) s->id[s->N++] = (int32_t)rf_rng_below(r, (uint32_t)V);
    s->start[++s->B] = (int32_t)s->N;
    s->squares += (double)T * (double)T;
}

static void end_batch(bench_shape *s) { s->text[++s->batches] = (int32_t)s->B; }

static rf_status shape_of_words(const char *word, int64_t V, bench_shape *s, rf_error *why)
{
    long long B, low, high;
    int used = 0;
    rf_rng r;
    rf_rng_init(&r, 42, 7);
    if (sscanf(word, "%lldx%lld%n", &B, &low, &used) != 2) used = 0;
    high = low;
    if (used && word[used] == '-' && sscanf(word, "%lldx%lld-%lld%n", &B, &low, &high, &used) != 3) used = 0;
    if (!used || word[used] || B < 1 || B > MOST_TEXTS || low < 2 || high < low || high > LONGEST ||
        B * high > MOST_TOKENS)
        return rf_fail(why, RF_EARG,
                       "--shape: expected TEXTSxTOKENS (such as 8x128 or 32x5-200) or @FILE, got \"%.40s\"", word);
    const rf_status status = reserve_shape(s, 1, B, B * high, why);
    for (int64_t b = 0; b < B && !status; b++) add_text(s, low + rf_rng_below(&r, (uint32_t)(high - low + 1)), V, &r);
    if (!status) end_batch(s);
    return status;
}

/* The next length of a line; 0: end of the line, -1: not a length. */
static int64_t next_length(const char **p)
{
    *p += strspn(*p, " \t\r");
    if (**p == '\n' || !**p) return 0;
    char *end;
    const long long T = strtoll(*p, &end, 10);
    const bool whole = end != *p && strchr(" \t\r\n", *end);                 /* strchr also finds the 0 at the end */
    *p = end;
    return whole && T >= 2 && T <= LONGEST ? T : -1;
}

/* Counts if s is NULL, otherwise fills it. */
static rf_status walk_lengths(const char *path, const char *text, int64_t sum[3], int64_t V, bench_shape *s,
                              rf_error *why)
{
    rf_rng r;
    rf_rng_init(&r, 42, 7);
    int64_t line = 1, inside = 0, T;
    for (const char *p = text;; p++, line++) {
        for (inside = 0; (T = next_length(&p)) > 0; inside++) {
            sum[1]++;
            sum[2] += T;
            if (sum[1] > MOST_TEXTS || sum[2] > MOST_TOKENS)
                return rf_fail(why, RF_EDATA, "%s:%lld: expected at most %d texts and %d tokens up to here, got more",
                               path, (long long)line, (int)MOST_TEXTS, (int)MOST_TOKENS);
            if (s) add_text(s, T, V, &r);
        }
        if (T < 0)
            return rf_fail(why, RF_EDATA, "%s:%lld: expected lengths of 2 to %d between blanks, got something else",
                           path, (long long)line, (int)LONGEST);
        sum[0] += inside > 0;
        if (s && inside) end_batch(s);
        if (!*p) break;
    }
    return sum[1] ? RF_OK : rf_fail(why, RF_EDATA, "%s: expected at least one length, got none", path);
}

static rf_status shape_of_file(const char *path, int64_t V, bench_shape *s, rf_error *why)
{
    char *text;
    size_t size;
    int64_t sum[3] = {0}, again[3] = {0};                                     /* batches, texts, tokens */
    rf_status status = cli_read_named(path, 1 << 24, &text, &size, why);
    if (status) return status;
    status = walk_lengths(path, text, sum, V, NULL, why);
    if (!status) status = reserve_shape(s, sum[0], sum[1], sum[2], why);
    if (!status) status = walk_lengths(path, text, again, V, s, why);
    free(text);
    return status;
}

static rf_status shape_make(const char *word, int64_t V, bench_shape *s, rf_error *why)
{
    *s = (bench_shape){0};
    const rf_status status = *word == '@' ? shape_of_file(word + 1, V, s, why) : shape_of_words(word, V, s, why);
    snprintf(s->name, sizeof s->name, "%.40s", cli_file_name(word));
    return status;
}

/* The starts of a batch begin at 0. */
rf_status bench_batches(const bench_shape *s, bench_batch_body *body, void *arg, rf_error *why)
{
    static int32_t start[MOST_TEXTS + 1];
    rf_status status = RF_OK;
    for (int64_t i = 0; i < s->batches && !status; i++) {
        const int32_t first = s->text[i], B = s->text[i + 1] - first, from = s->start[first];
        for (int32_t b = 0; b <= B; b++) start[b] = s->start[first + b] - from;
        const rf_batch batch = {.N = start[B], .B = B, .id = s->id + from, .start = start};
        status = body(arg, &batch, from, why);
    }
    return status;
}

/* Runs `one` for each --shape, or for each default shape. */
rf_status bench_each_shape(bench_job *j, const char *const usual[], rf_status (*one)(bench_job *))
{
    const int given = j->a->shapes.n;
    rf_status status = RF_OK;
    for (int i = 0; !status && (given ? i < given : usual[i] != NULL); i++) {
        status = shape_make(given ? j->a->shapes.item[i] : usual[i], j->config.vocab_size, &j->now,
                            &j->b.io->why);
        if (!status) status = one(j);
        shape_free(&j->now);
    }
    return status;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static rf_session *session;             /* of the case that runs */

static rf_status forward_batch(void *arg, const rf_batch *batch, int32_t from, rf_error *why)
{
    const float *hidden;
    (void)arg, (void)from;
    return rf_session_hidden(session, batch, &hidden, why);
}

static rf_status forward_body(void *arg, rf_error *why) { return bench_batches(arg, forward_batch, NULL, why); }

static double forward_flops(const void *arg) { return (void)arg, rf_session_flops(session); }

static rf_status forward_shape(bench_job *j)
{
    if (j->parts) return bench_list_parts(j, "encoder", forward_body, &j->now);
    return bench_row(&j->b, "encoder", j->now.name, forward_body, &j->now,
                     (bench_work){.tokens = (double)j->now.N, .counter = forward_flops});
}

rf_status bench_forward(bench_job *j)
{
    static const char *const usual[] = {"8x128", "4x512", "1x16", "32x5-200", NULL};
    rf_error *why = &j->b.io->why;
    rf_model *model = NULL;
    rf_status status = j->a->model ? rf_model_open_as(j->b.io->ctx, j->a->model, j->b.type, &model, why)
                                   : rf_model_random_as(j->b.io->ctx, &j->config, 42, j->b.type, &model, why);
    if (!status) status = rf_session_open(model, &session, why);
    if (!status) status = bench_each_shape(j, usual, forward_shape);
    rf_session_close(session);
    rf_model_close(model);
    return status;
}

/* ---- training step: forward, backward, clipping, AdamW; dropout as configured ------------------------------------ */

typedef struct training {
    bench_job *j;
    rf_train_step *step;
    int32_t *row, *label, *here;    /* of the whole shape; rows of one batch                                          */
    int64_t labels;
} training;

static rf_status train_batch(void *arg, const rf_batch *batch, int32_t from, rf_error *why)
{
    training *t = arg;
    int64_t first = 0, n = 0;
    while (first < t->labels && t->row[first] < from) first++;
    while (first + n < t->labels && t->row[first + n] < from + batch->N) n++;
    for (int64_t i = 0; i < n; i++) t->here[i] = t->row[first + i] - from;
    if (!n) return RF_OK;
    return rf_train_step_gradient(t->step, batch, t->here, t->label + first, n, 1.0 / (double)t->labels, NULL, why);
}

static rf_status train_body(void *arg, rf_error *why)
{
    training *t = arg;
    const rf_status status = bench_batches(&t->j->now, train_batch, t, why);
    return status ? status : rf_train_step_update(t->step, 1e-6, NULL, why);
}

static double train_flops(const void *arg) { return rf_train_step_flops(((const training *)arg)->step); }

static rf_status train_shape(bench_job *j, training *t)
{
    rf_rng r;
    rf_rng_init(&r, 42, 8);
    const int64_t N = j->now.N;
    t->labels = 0;
    t->row = malloc((size_t)N * sizeof *t->row);
    t->label = malloc((size_t)N * sizeof *t->label);
    t->here = malloc((size_t)N * sizeof *t->here);
    if (!t->row || !t->label || !t->here) return rf_fail(&j->b.io->why, RF_ENOMEM, "out of memory");
    for (int64_t i = 0; i < N; i++)
        if (rf_rng_uniform(&r) < 0.15f || !i) {
            t->row[t->labels] = (int32_t)i;
            t->label[t->labels++] = j->now.id[i];
        }
    if (j->parts) return bench_list_parts(j, "step", train_body, t);
    return bench_row(&j->b, "step", j->now.name, train_body, t,
                     (bench_work){.tokens = (double)N, .counter = train_flops});
}

static training *steps;                 /* of the case that runs */

static rf_status train_one(bench_job *j)
{
    const rf_status status = train_shape(j, steps);
    free(steps->row);
    free(steps->label);
    free(steps->here);
    steps->row = steps->label = steps->here = NULL;
    return status;
}

rf_status bench_train(bench_job *j)
{
    static const char *const usual[] = {"8x128", "2x512", NULL};
    training t = {.j = j};
    rf_train_options o;
    rf_train_defaults(&o);
    o.bf16 = j->b.type == RF_BF16;
    o.gradient_checkpointing = j->a->checkpoints;
    if (!j->a->config && !j->a->model) j->config.vocab_size = 30522;
    rf_status status = rf_train_step_open(j->b.io->ctx, &j->config, &o, &t.step, &j->b.io->why);
    if (status) return status;
    steps = &t;
    status = bench_each_shape(j, usual, train_one);
    rf_train_step_close(t.step);
    return status;
}

/* ---- fused attention with rotation, as the encoder calls it ------------------------------------------------------ */

typedef struct attending {
    const bench_job *j;
    rf_attention_work *work;
    rf_rope *rope;
    float *qkv;
    int32_t *row;
} attending;

static rf_status attention_batch(void *arg, const rf_batch *batch, int32_t from, rf_error *why)
{
    attending *t = arg;
    const rf_config *c = &t->j->config;
    const rf_softmax_attention_spec spec = {.type = t->j->b.type == RF_F32 ? RF_F32 : RF_BF16,
                                            .heads = c->num_attention_heads, .B = batch->B, .start = batch->start,
                                            .rope = t->rope, .row = t->row + from};
    const float *out;
    return rf_attend_softmax(t->work, &spec, t->qkv + from * 3 * c->hidden_size, batch->N, c->hidden_size, &out, why);
}

static rf_status attention_body(void *arg, rf_error *why)
{
    const attending *t = arg;
    return bench_batches(&t->j->now, attention_batch, arg, why);
}

static rf_status attention_shape(bench_job *j)
{
    rf_error *why = &j->b.io->why;
    const bench_shape *s = &j->now;
    const int64_t C = j->config.hidden_size, D = C / j->config.num_attention_heads;
    const rf_ctx *ctx = j->b.io->ctx;
    attending t = {.j = j};
    int64_t longest = 1;
    rf_rng r;
    rf_rng_init(&r, 42, 9);
    for (int64_t b = 0; b < s->B; b++)
        if (s->start[b + 1] - s->start[b] > longest) longest = s->start[b + 1] - s->start[b];
    rf_status status = rf_rope_new(ctx, &(rf_rope_spec){D, j->config.rope_theta, RF_ROPE_PAIRS}, longest, &t.rope, why);
    if (!status) status = rf_attention_work_new(ctx, &t.work, why);
    t.qkv = rf_ctx_alloc(ctx, (size_t)(s->N * 3 * C) * sizeof *t.qkv);
    t.row = rf_ctx_alloc(ctx, (size_t)s->N * sizeof *t.row);
    if (!t.qkv || !t.row) status = rf_fail(why, RF_ENOMEM, "out of memory");
    if (!status) {
        for (int64_t i = 0; i < s->N * 3 * C; i++) t.qkv[i] = rf_rng_normal(&r);
        for (int64_t b = 0; b < s->B; b++)
            for (int32_t i = s->start[b]; i < s->start[b + 1]; i++) t.row[i] = i - s->start[b];
        status = bench_row(&j->b, "attention", s->name, attention_body, &t,
                           (bench_work){.tokens = (double)s->N, .flops = 4 * s->squares * (double)C});
    }
    rf_ctx_release(ctx, t.qkv);
    rf_ctx_release(ctx, t.row);
    rf_attention_work_free(t.work);
    rf_rope_free(t.rope);
    return status;
}

rf_status bench_attention(bench_job *j)
{
    static const char *const usual[] = {"8x128", "4x512", "1x1536", NULL};
    return bench_each_shape(j, usual, attention_shape);
}
