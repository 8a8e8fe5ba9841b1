/* continue.c — a sequence that is kept and forked, and both of it continued: what a causal model writes after the same
 * prompt and each of two words.
 *
 *     continue my-causal-model "The model" was is */
#include <stdio.h>
#include <string.h>

#include <roformer/model.h>

enum { MOST = 64, NEW = 12 };

typedef struct text { int32_t id[MOST], n; } text;

/* The tokens of `words` after those of t. */
static rf_status add(text *t, const rf_ctx *ctx, const rf_tokenizer *with, const char *words, rf_error *why)
{
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    rf_status status = rf_encode(with, words, strlen(words), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, why);
    for (size_t i = 0; i < e.n && t->n + NEW < MOST && !status; i++) t->id[t->n++] = e.id[i];
    rf_encoding_clear(&e);
    return status;
}

static int32_t likeliest(const float *logits, int64_t V)
{
    int32_t best = 0;
    for (int32_t i = 1; i < V; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Both sequences in one batch: first all tokens of t[0] and t[1], then always the last one, which is new. */
static rf_status write_both(rf_session *s, int64_t V, const rf_sequence which[2], text t[2], rf_error *why)
{
    int32_t from[2] = {0};
    for (int i = 0; i < NEW; i++) {
        int32_t id[2 * MOST], start[3] = {0}, last[2];
        const float *logits;
        for (int k = 0; k < 2; k++) {
            const int32_t n = t[k].n - from[k];
            memcpy(id + start[k], t[k].id + from[k], (size_t)n * sizeof *id);
            start[k + 1] = start[k] + n;
            last[k] = start[k + 1] - 1;
            from[k] = t[k].n;
        }
        const rf_batch b = {.N = start[2], .B = 2, .id = id, .start = start};
        const rf_status status = rf_session_continue(s, which, &b, last, 2, &logits, why);
        if (status) return status;
        for (int k = 0; k < 2; k++) t[k].id[t[k].n++] = likeliest(logits + k * V, V);
    }
    return RF_OK;
}

static rf_status run(const rf_ctx *ctx, const rf_model *m, rf_session *s, char *words[3], rf_error *why)
{
    const rf_tokenizer *with = rf_model_tokenizer(m);
    text t[3] = {{{0}, 0}, {{0}, 0}, {{rf_tokenizer_cls(with)}, 1}};        /* the last is the prompt */
    rf_sequence which[2];
    const float *none;
    rf_status status = add(&t[2], ctx, with, words[0], why);
    for (int k = 0; k < 2 && !status; k++) status = add(&t[k], ctx, with, words[1 + k], why);
    if (status) return status;

    const rf_batch prompt = {.N = t[2].n, .B = 1, .id = t[2].id, .start = (int32_t[]){0, t[2].n}};
    status = rf_sequence_new(s, NULL, &which[0], why);
    if (!status) status = rf_session_continue(s, which, &prompt, NULL, 0, &none, why);      /* computed once */
    if (!status) status = rf_sequence_fork(s, which[0], &which[1], why);
    if (!status) status = write_both(s, rf_model_config(m)->vocab_size, which, t, why);
    for (int k = 0; k < 2 && !status; k++) {
        char *more = rf_decode(with, t[k].id, (size_t)t[k].n, 1, 0, NULL);
        printf("%s %s\n", words[0], more ? more : "");
        rf_text_free(with, more);
        status = rf_sequence_drop(s, which[k], why);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "usage: %s MODEL PROMPT WORD WORD\n", argv[0]), 2;
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_model *m = NULL;
    rf_session *s = NULL;
    rf_status status = rf_ctx_new(NULL, &ctx, &why);
    if (!status) status = rf_model_open(ctx, argv[1], &m, &why);
    if (!status) status = rf_session_open(m, &s, &why);
    if (!status) status = run(ctx, m, s, argv + 2, &why);
    if (status) fprintf(stderr, "%s\n", why.text);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
    return status != RF_OK;
}
