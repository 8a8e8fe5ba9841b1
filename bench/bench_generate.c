/* bench_generate.c — generation by a causal model.
 *
 *     bench_generate [--layers 12] [--width 768] [--type f32|bf16|int8] [--cache f32|bf16] [--threads N] [--rounds 5]
 *                    [--new 32] [--busy] [--token]
 *
 *     64 prompts of 8 to 256 tokens, generated together, and one after the other, alternately; the ratio of the times.
 *     Prompts take the same time either way, so it also prints the ratio for the tokens after the first, and the time
 *     of a step of 64 tokens with its products at the multiply-add peak
 *     one sequence: the time of a token, as a fraction of the limit of memory: the weights of all products are read
 *     once per token, at the rate at which a loop on the same threads reads as many bytes, measured immediately before
 *     prefill: 8 prompts of 128 tokens compared with the same tokens without a cache (rf_session_hidden)
 *
 * The program prints medians over the rounds.  --token: only the one sequence, each round.  --busy, for a shared
 * machine: one thread, processor time instead of elapsed time, the minimum of each time and the maximum of each limit.
 * Weights are random.  With a model and prompts, for comparisons with other programs:
 *
 *     bench_generate --model DIR --ids FILE [--type ...] [--cache ...] [--threads N] [--new 32] [--batch 64] [--busy]
 *
 *     FILE has one prompt per line, as ids.  The output is a line {"seconds", "prompt_tokens", "tokens"}, and a line
 *     with the new ids for each prompt.  Only the length ends a text. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "median.h"
#include "peak.h"
#include "roformer/generate.h"
#include "roformer/model.h"
#include "roformer/kernel/kernels.h"

enum { PROMPTS = 64, LONGEST = 256, MOST = 99, VOCABULARY = 32000, TEXTS = 8, LENGTH = 128 };

typedef struct settings {
    int64_t layers, width, rounds, new_tokens, batch;
    int threads;
    rf_type type, cache;
    const char *model, *ids;
    bool busy, token;
} settings;

typedef struct work {
    const settings *s;
    rf_ctx *ctx;
    rf_model *model;
    rf_session *session;
    rf_prompt *prompt;
    int64_t prompts;
    int64_t tokens;
    int32_t *made;              /* [prompts][new_tokens], or NULL */
} work;

static void stop(const rf_error *why)
{
    fprintf(stderr, "%s\n", why->text);
    exit(1);
}

static void *need(void *memory)
{
    const rf_error why = {.text = "out of memory"};
    if (!memory) stop(&why);
    return memory;
}

static double now(const work *w)
{
    struct timespec t;
    if (!w->s->busy) return seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int take(void *user, const rf_generated *token)
{
    work *w = user;
    w->tokens++;
    if (w->made) w->made[token->text * w->s->new_tokens + token->index] = token->id;
    return 0;
}

/* Seconds of all prompts, so many at a time. */
static double write_all(work *w, int64_t at_a_time, int64_t new_tokens)
{
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.max_new_tokens = new_tokens;
    o.batch_size = at_a_time;
    o.cache_type = w->s->cache;
    w->tokens = 0;
    const double begun = now(w);
    if (rf_session_generate_all(w->session, w->prompt, w->prompts, &o, take, NULL, w, &why)) stop(&why);
    return now(w) - begun;
}

/* Tokens after those of a new sequence for each of `texts` texts; seconds. */
static double prefill(const work *w, int64_t texts, const rf_batch *b, const int32_t last[], rf_sequence q[])
{
    rf_sequence_options o;
    rf_error why = {0};
    const float *logits;
    rf_sequence_defaults(&o);
    o.type = w->s->cache;
    const double begun = now(w);
    for (int64_t i = 0; i < texts; i++)
        if (rf_sequence_new(w->session, &o, &q[i], &why)) stop(&why);
    if (rf_session_continue(w->session, q, b, last, texts, &logits, &why)) stop(&why);
    return now(w) - begun;
}

/* Seconds of a token after a prompt of 128. */
static double one_token(const work *w, int64_t tokens)
{
    const int32_t all[2] = {0, LENGTH}, one[2] = {0, 1}, last = LENGTH - 1, none = 0;
    rf_batch b = {.N = LENGTH, .B = 1, .id = w->prompt[PROMPTS - 1].id, .start = all};
    const float *logits;
    rf_sequence q;
    rf_error why = {0};
    prefill(w, 1, &b, &last, &q);
    b.N = 1;
    b.start = one;
    const double begun = now(w);
    for (int64_t i = 0; i < tokens; i++)
        if (rf_session_continue(w->session, &q, &b, &none, 1, &logits, &why)) stop(&why);
    const double each = (now(w) - begun) / (double)tokens;
    rf_sequence_drop(w->session, q, NULL);
    return each;
}

/* Seconds of 8 prompts of 128, and of the same tokens without a cache. */
static double prompts_of_eight(const work *w, double *without)
{
    int32_t id[TEXTS * LENGTH], start[TEXTS + 1], last[TEXTS];
    rf_sequence q[TEXTS];
    const float *hidden;
    rf_error why = {0};
    for (int i = 0; i < TEXTS * LENGTH; i++) id[i] = i * 7919 % VOCABULARY;
    for (int i = 0; i <= TEXTS; i++) start[i] = i * LENGTH;
    for (int i = 0; i < TEXTS; i++) last[i] = start[i + 1] - 1;
    const rf_batch b = {.N = (int64_t)TEXTS * LENGTH, .B = TEXTS, .id = id, .start = start};
    const double with = prefill(w, TEXTS, &b, last, q);
    for (int i = 0; i < TEXTS; i++) rf_sequence_drop(w->session, q[i], NULL);
    const double begun = now(w);
    if (rf_session_hidden(w->session, &b, &hidden, &why)) stop(&why);
    *without = now(w) - begun;
    return with;
}

/* Numbers of the matrices of the layers, and of the head: its own, and the words. */
static double layer_weights(const rf_config *c)
{
    const int64_t C = c->hidden_size, F = c->intermediate_size;
    return (double)(c->num_hidden_layers * (4 * C * C + 2 * C * F));
}

static double head_weights(const rf_config *c)
{
    return (double)((c->hidden_size + c->vocab_size) * c->embedding_size);
}

/* Bytes that a token's products read: int8 is that of the layers alone, the rest is then bf16. */
static double weight_bytes(const rf_config *c, rf_type type)
{
    const double layers = layer_weights(c), head = head_weights(c);
    return type == RF_F32 ? 4 * (layers + head) : type == RF_BF16 ? 2 * (layers + head) : layers + 2 * head;
}

static void open_context(work *w)
{
    rf_ctx_options o;
    rf_error why = {0};
    rf_ctx_defaults(&o);
    o.threads = w->s->threads;
    if (rf_ctx_new(&o, &w->ctx, &why)) stop(&why);
}

static void open_random(work *w, const rf_config *c)
{
    static int32_t id[PROMPTS][LONGEST];
    rf_error why = {0};
    open_context(w);
    if (rf_model_random_as(w->ctx, c, 7, w->s->type, &w->model, &why) || rf_session_open(w->model, &w->session, &why))
        stop(&why);
    w->prompts = PROMPTS;
    w->prompt = need(calloc(PROMPTS, sizeof *w->prompt));
    for (int i = 0; i < PROMPTS; i++) {
        const int n = i + 1 < PROMPTS ? 8 + i * 37 % (LONGEST - 8) : 200;
        for (int j = 0; j < n; j++) id[i][j] = (i * 7919 + j * 104729) % VOCABULARY;
        w->prompt[i] = (rf_prompt){.id = id[i], .n = n};
    }
}

static void close_all(work *w)
{
    rf_session_close(w->session);
    rf_model_close(w->model);
    rf_ctx_free(w->ctx);
    free(w->prompt);
    free(w->made);
}

/* ---- random weights ---- */

enum { ALONE, ALONE_FIRST, SIDE, SIDE_FIRST, TOKEN, PREFILL, ENCODER, TIMES, FLOPS = TIMES, READ, FOUND };

/* What one round finds; ..._FIRST: with one new token each. */
static void one_round(work *w, const rf_config *c, double (*found)[MOST], int64_t i)
{
    const int64_t n = w->s->new_tokens;
    const double bytes = weight_bytes(c, w->s->type);
    double *const read = &found[READ][i], *const peak = &found[FLOPS][i];
    found[ALONE][i] = write_all(w, 1, n);
    found[ALONE_FIRST][i] = write_all(w, 1, 1);
    found[SIDE][i] = write_all(w, PROMPTS, n);
    found[SIDE_FIRST][i] = write_all(w, PROMPTS, 1);
    *read = *peak = 0;
    for (int k = 0; k < (w->s->busy ? 30 : 1); k++) {
        const double now_flops = peak_of_type(w->ctx, w->s->type, w->s->busy ? 0.003 : 0.5);
        const double now_read = rf_peak_read(w->ctx, (size_t)bytes, w->s->busy ? 0.003 : 0.5);
        *peak = now_flops > *peak ? now_flops : *peak;
        *read = now_read > *read ? now_read : *read;
    }
    found[TOKEN][i] = one_token(w, 20);
    found[PREFILL][i] = prompts_of_eight(w, &found[ENCODER][i]);
}

/* The one sequence alone, a line a round. */
static void one_sequence(const work *w, const rf_config *c)
{
    const double bytes = weight_bytes(c, w->s->type);
    one_token(w, 3);
    for (int64_t i = 0; i < w->s->rounds; i++) {
        const double read = rf_peak_read(w->ctx, (size_t)bytes, 0.3), each = one_token(w, 20);
        printf("one sequence: %.2f ms a token, %.0f %% of the memory limit (%.0f MB of weights read once, %.1f GB/s)\n",
               1e3 * each, 100 * bytes / read / each, bytes * 1e-6, read * 1e-9);
    }
}

static double pick(const settings *s, double *x, int what)
{
    const int n = (int)s->rounds;
    const double middle = median(x, n);                              /* they are in order now */
    return !s->busy ? middle : what < TIMES ? x[0] : x[n - 1];
}

static void print(const settings *s, const rf_config *c, double (*found)[MOST])
{
    static const char *const name[] = {[RF_F32] = "f32", [RF_BF16] = "bf16", [RF_I8] = "int8"};
    double x[FOUND];
    for (int i = 0; i < FOUND; i++) x[i] = pick(s, found[i], i);
    const double bytes = weight_bytes(c, s->type), products = layer_weights(c) + head_weights(c);
    const double prompts = 2 * TEXTS * LENGTH * layer_weights(c);
    printf("%lld layers of %lld, %s, keys in %s%s\n", (long long)s->layers, (long long)s->width, name[s->type],
           name[s->type == RF_F32 ? s->cache : RF_BF16], s->busy ? ", one thread, processor's time" : "");
    printf("64 prompts of 8 to 256 tokens, %lld new ones each: %.2f s side by side, %.1f times as fast as one after "
           "the other\n", (long long)s->new_tokens, x[SIDE], x[ALONE] / x[SIDE]);
    printf("  behind the first token: %.1f ms a step of 64, %.1f times as fast; its products at the peak: %.1f ms\n",
           1e3 * (x[SIDE] - x[SIDE_FIRST]) / (double)(s->new_tokens - 1),
           (x[ALONE] - x[ALONE_FIRST]) / (x[SIDE] - x[SIDE_FIRST]), 1e3 * 2 * PROMPTS * products / x[FLOPS]);
    printf("one sequence: %.2f ms a token, %.0f %% of the memory limit (%.0f MB of weights read once, %.1f GB/s)\n",
           1e3 * x[TOKEN], 100 * bytes / x[READ] / x[TOKEN], bytes * 1e-6, x[READ] * 1e-9);
    printf("prefill, 8 x 128: %.0f ms, %.0f tokens/s, %.0f %% of the peak; without cache and logits %.0f ms (%.2f x)\n",
           1e3 * x[PREFILL], TEXTS * LENGTH / x[PREFILL], 100 * prompts / x[FLOPS] / x[PREFILL], 1e3 * x[ENCODER],
           x[PREFILL] / x[ENCODER]);
}

static void measure(work *w)
{
    static double found[FOUND][MOST];
    const settings *s = w->s;
    rf_config c;
    rf_config_defaults(&c);
    c.is_decoder = 1;
    c.num_hidden_layers = s->layers;
    c.hidden_size = c.embedding_size = s->width;
    c.intermediate_size = 4 * s->width;
    c.num_attention_heads = s->width / 64;
    c.vocab_size = VOCABULARY;
    open_random(w, &c);
    if (s->token) {
        one_sequence(w, &c);
        return;
    }
    write_all(w, PROMPTS, 2);
    for (int64_t i = 0; i < s->rounds; i++) one_round(w, &c, found, i);
    print(s, &c, found);
}

/* ---- a folder's model, and prompts from a file ---- */

static void read_prompts(work *w, const char *path)
{
    FILE *in = fopen(path, "r");
    char *line = NULL, *at, *end;
    size_t capacity = 0;
    if (!in) {
        perror(path);
        exit(1);
    }
    while (getline(&line, &capacity, in) > 0) {
        int32_t *id = need(calloc(strlen(line), sizeof *id));
        int64_t n = 0;
        for (at = line; (void)(id[n] = (int32_t)strtol(at, &end, 10)), end != at; at = end) n++;
        w->prompt = need(realloc(w->prompt, (size_t)(w->prompts + 1) * sizeof *w->prompt));
        w->prompt[w->prompts++] = (rf_prompt){.id = id, .n = n};
    }
    free(line);
    fclose(in);
}

static void write_model(work *w)
{
    const settings *s = w->s;
    rf_error why = {0};
    int64_t prompt_tokens = 0;
    open_context(w);
    if (rf_model_open_as(w->ctx, s->model, s->type, &w->model, &why) || rf_session_open(w->model, &w->session, &why))
        stop(&why);
    read_prompts(w, s->ids);
    for (int64_t i = 0; i < w->prompts; i++) prompt_tokens += w->prompt[i].n;
    write_all(w, s->batch, 2);
    w->made = need(calloc((size_t)(w->prompts * s->new_tokens), sizeof *w->made));
    const double took = write_all(w, s->batch, s->new_tokens);
    printf("{\"seconds\": %.6f, \"prompt_tokens\": %lld, \"tokens\": %lld}\n", took, (long long)prompt_tokens,
           (long long)w->tokens);
    for (int64_t i = 0; i < w->prompts; i++) {
        for (int64_t j = 0; j < s->new_tokens; j++) printf(j ? " %d" : "%d", (int)w->made[i * s->new_tokens + j]);
        putchar('\n');
        free((void *)(uintptr_t)w->prompt[i].id);
    }
}

static rf_type type_of(const char *name)
{
    return !strcmp(name, "bf16") ? RF_BF16 : !strcmp(name, "int8") ? RF_I8 : RF_F32;
}

int main(int argc, char **argv)
{
    settings s = {.layers = 12, .width = 768, .rounds = 5, .new_tokens = 32, .batch = PROMPTS};
    for (int i = 1; i < argc; i += 2) {
        const long long n = i + 1 < argc ? atoll(argv[i + 1]) : 0;
        if (!strcmp(argv[i], "--busy")) s.busy = true, s.threads = 1, i--;
        else if (!strcmp(argv[i], "--token")) s.token = true, i--;
        else if (i + 1 == argc) return fprintf(stderr, "%s: no value, or not an option\n", argv[i]), 2;
        else if (!strcmp(argv[i], "--layers")) s.layers = n;
        else if (!strcmp(argv[i], "--width")) s.width = n;
        else if (!strcmp(argv[i], "--rounds")) s.rounds = n < 1 ? 1 : n > MOST ? MOST : n;
        else if (!strcmp(argv[i], "--new")) s.new_tokens = n < 2 ? 2 : n;
        else if (!strcmp(argv[i], "--batch")) s.batch = n;
        else if (!strcmp(argv[i], "--threads")) s.threads = (int)n;
        else if (!strcmp(argv[i], "--type")) s.type = type_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--cache")) s.cache = type_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--model")) s.model = argv[i + 1];
        else if (!strcmp(argv[i], "--ids")) s.ids = argv[i + 1];
        else return fprintf(stderr, "%s is not an option\n", argv[i]), 2;
    }
    if (!s.model != !s.ids) return fprintf(stderr, "--model goes with --ids\n"), 2;
    work w = {.s = &s};
    if (s.model) write_model(&w);
    else measure(&w);
    close_all(&w);
    return 0;
}
