/* bench_generate.c — generation by a causal model of random weights.
 *
 *     bench_generate [--layers 12] [--width 768] [--type f32|bf16] [--threads N] [--rounds 5] [--new 32]
 *
 *     64 prompts of 8 to 256 tokens, written side by side, and one after the other, in turns; the ratio of the times
 *     one sequence: the time of a token, as a share of what memory allows: weights of all products read once a token,
 *     at the rate that a loop on the same threads reads as many bytes, measured right before
 *
 * Printed are medians over the rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "median.h"
#include "roformer/generate.h"
#include "roformer/sequence.h"
#include "roformer/work.h"

enum { PROMPTS = 64, LONGEST = 256, MOST = 99, VOCABULARY = 32000 };

typedef struct work {
    rf_ctx *ctx;
    rf_model *model;
    rf_session *session;
    rf_prompt prompt[PROMPTS];
    int64_t tokens;
} work;

static int count(void *user, const rf_generated *token)
{
    (void)token;
    ++*(int64_t *)user;
    return 0;
}

static void stop(const rf_error *why)
{
    fprintf(stderr, "%s\n", why->text);
    exit(1);
}

/* Seconds of all prompts, so many at a time. */
static double write_all(work *w, int64_t at_a_time, int64_t new_tokens)
{
    rf_generate_options o;
    rf_error why = {0};
    rf_generate_defaults(&o);
    o.max_new_tokens = new_tokens;
    o.batch_size = at_a_time;
    w->tokens = 0;
    const double begun = seconds();
    if (rf_session_generate_all(w->session, w->prompt, PROMPTS, &o, count, NULL, &w->tokens, &why)) stop(&why);
    return seconds() - begun;
}

/* Seconds of a token behind a prompt of 128. */
static double one_token(work *w, int64_t tokens)
{
    const int32_t all[2] = {0, 128}, one[2] = {0, 1}, none = 0;
    const float *logits;
    rf_sequence q;
    rf_error why = {0};
    rf_batch b = {.N = 128, .B = 1, .id = w->prompt[PROMPTS - 1].id, .start = all};
    if (rf_sequence_new(w->session, NULL, &q, &why) ||
        rf_session_continue(w->session, &q, &b, &none, 1, &logits, &why))
        stop(&why);
    b.N = 1;
    b.start = one;
    const double begun = seconds();
    for (int64_t i = 0; i < tokens; i++)
        if (rf_session_continue(w->session, &q, &b, &none, 1, &logits, &why)) stop(&why);
    const double each = (seconds() - begun) / (double)tokens;
    rf_sequence_drop(w->session, q, NULL);
    return each;
}

/* Of the matrices that a token is multiplied by: those of the layers, and the words. */
static size_t weight_bytes(const rf_config *c, rf_type type)
{
    const int64_t C = c->hidden_size, F = c->intermediate_size;
    return (size_t)(c->num_hidden_layers * (4 * C * C + 2 * C * F) + C * c->embedding_size + c->vocab_size * C) *
           (type == RF_BF16 ? 2 : 4);
}

static void open_work(work *w, const rf_config *c, rf_type type, int threads)
{
    rf_ctx_options o;
    rf_error why = {0};
    rf_ctx_defaults(&o);
    o.threads = threads;
    if (rf_ctx_new(&o, &w->ctx, &why) || rf_model_random_as(w->ctx, c, 7, type, &w->model, &why) ||
        rf_session_open(w->model, &w->session, &why))
        stop(&why);
    static int32_t id[PROMPTS][LONGEST];
    for (int i = 0; i < PROMPTS; i++) {
        const int n = 8 + i * 37 % (LONGEST - 8);
        for (int j = 0; j < n; j++) id[i][j] = (i * 7919 + j * 104729) % VOCABULARY;
        w->prompt[i] = (rf_prompt){.id = id[i], .n = i + 1 < PROMPTS ? n : 200};
    }
}

int main(int argc, char **argv)
{
    int64_t layers = 12, width = 768, rounds = 5, new_tokens = 32;
    int threads = 0;
    rf_type type = RF_F32;
    for (int i = 1; i + 1 < argc; i += 2) {
        const long long n = atoll(argv[i + 1]);
        if (!strcmp(argv[i], "--layers")) layers = n;
        else if (!strcmp(argv[i], "--width")) width = n;
        else if (!strcmp(argv[i], "--rounds")) rounds = n < 1 ? 1 : n > MOST ? MOST : n;
        else if (!strcmp(argv[i], "--new")) new_tokens = n;
        else if (!strcmp(argv[i], "--threads")) threads = (int)n;
        else if (!strcmp(argv[i], "--type")) type = strcmp(argv[i + 1], "bf16") ? RF_F32 : RF_BF16;
        else return fprintf(stderr, "%s is not an option\n", argv[i]), 2;
    }
    rf_config c;
    work w = {0};
    double ratio[MOST], share[MOST], side[MOST], token[MOST];
    rf_config_defaults(&c);
    c.is_decoder = 1;
    c.num_hidden_layers = layers;
    c.hidden_size = c.embedding_size = width;
    c.intermediate_size = 4 * width;
    c.num_attention_heads = width / 64;
    c.vocab_size = VOCABULARY;
    open_work(&w, &c, type, threads);
    const size_t bytes = weight_bytes(&c, type);
    for (int64_t i = 0; i < rounds; i++) {
        side[i] = write_all(&w, PROMPTS, new_tokens);
        ratio[i] = write_all(&w, 1, new_tokens) / side[i];
        const double limit = (double)bytes / rf_peak_read(w.ctx, bytes, 0.5);
        token[i] = one_token(&w, 20);
        share[i] = limit / token[i];
    }
    printf("%lld layers of %lld, %s: 64 prompts of 8 to 256 tokens, %lld tokens in %.2f s side by side, "
           "%.1f times as fast as one after the other\n",
           (long long)layers, (long long)width, type == RF_BF16 ? "bf16" : "f32",
           (long long)w.tokens, median(side, (int)rounds), median(ratio, (int)rounds));
    printf("one sequence: %.1f ms a token, %.0f %% of the memory limit (%.0f MB of weights read once)\n",
           1e3 * median(token, (int)rounds), 100 * median(share, (int)rounds), (double)bytes * 1e-6);
    rf_session_close(w.session);
    rf_model_close(w.model);
    rf_ctx_free(w.ctx);
    return 0;
}
