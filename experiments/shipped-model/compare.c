/* compare.c — compares a masked language model with n-gram models at the same masked tokens of the same held-out text.
 *
 *     compare RUN_FOLDER MODEL_FOLDER [HELD_OUT_TEXT...]
 *
 * RUN_FOLDER has the tokens.cache that `roformer pretrain` made from the training texts; its held-out documents are the
 * first set, and each additional text is another.  The n-gram models count the training documents of the same cache,
 * and have the model's input: a masked neighbor is unknown to them, too, and a replaced neighbor has its replacement.
 *
 *     left        p(w | two tokens before), with back-off            two-sided     left x right, normalized
 *     right       p(w | two tokens after), with back-off             ... / unigram  left x right / p(w), normalized  */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ngrams.h"
#include "roformer/inspect/folder.h"
#include "roformer/inspect/positions.h"
#include "roformer/train.h"

enum { CAPACITY = 4096, LENGTH = 128, TEMPLATE = 2 };         /* [CLS] and [SEP] */
enum { UNIGRAM, LEFT, RIGHT, TWO_SIDED, TWO_SIDED_BAYES, MODEL, JUDGES };
static const char *const name[JUDGES] = {"unigram", "left trigram, back-off", "right trigram, back-off",
                                         "two-sided trigram", "two-sided / unigram", "the model"};

typedef struct work {
    rf_ctx *ctx;
    rf_model *model;
    rf_session *session;
    const rf_tokenizer *tokenizer;
    int32_t V;                  /* tokens of the vocabulary; the model may have a few logits more                     */
    rf_masked *masked;
    ngrams *left, *right;
    double *p[JUDGES], loss[JUDGES];
    int64_t hits[JUDGES], labels;
    uint64_t pieces;
} work;

static rf_error why;

static void check(rf_status status)
{
    if (!status) return;
    fprintf(stderr, "compare: %s\n", why.text);
    exit(1);
}

static void judge(work *w, int j, const double *p, int32_t label)
{
    int32_t best = 0;
    double sum = 0;
    for (int32_t i = 0; i < w->V; i++) {
        sum += p[i];
        if (p[i] > p[best]) best = i;
    }
    w->loss[j] -= log(p[label] / sum);
    w->hits[j] += best == label;
}

/* The token at n as an n-gram model sees it: none if it is masked, special, or in another piece. */
static int32_t known(const work *w, const rf_batch *b, int64_t n, int64_t from, int64_t to)
{
    return n < from || n >= to || rf_tokenizer_is_special(w->tokenizer, b->id[n]) ? -1 : b->id[n];
}

static void flush(work *w)
{
    const rf_masked_batch *m = rf_masked_view(w->masked);
    const rf_batch *batch = &m->batch;
    const int64_t width = rf_model_config(w->model)->vocab_size;
    const float *logits;
    if (!m->labels) return;
    check(rf_session_mlm_logits(w->session, batch, m->row, m->labels, &logits, &why));

    const int32_t V = w->V;
    for (int64_t i = 0, b = 0; i < m->labels; i++) {
        const int32_t n = m->row[i], label = m->label[i];
        while (n >= batch->start[b + 1]) b++;
        const int64_t from = batch->start[b], to = batch->start[b + 1];
        ngrams_predict(w->left, 1, -1, -1, w->p[UNIGRAM]);
        ngrams_predict(w->left, 3, known(w, batch, n - 2, from, to), known(w, batch, n - 1, from, to), w->p[LEFT]);
        ngrams_predict(w->right, 3, known(w, batch, n + 2, from, to), known(w, batch, n + 1, from, to), w->p[RIGHT]);
        const float *x = logits + i * width;
        double largest = -INFINITY;
        for (int32_t v = 0; v < V; v++) largest = fmax(largest, (double)x[v]);
        for (int32_t v = 0; v < V; v++) {
            w->p[TWO_SIDED][v] = w->p[LEFT][v] * w->p[RIGHT][v];
            w->p[TWO_SIDED_BAYES][v] = w->p[TWO_SIDED][v] / w->p[UNIGRAM][v];
            w->p[MODEL][v] = exp((double)x[v] - largest);
        }
        for (int j = 0; j < JUDGES; j++) judge(w, j, w->p[j], label);
    }
    w->labels += m->labels;
    rf_masked_clear(w->masked);
}

static void add_document(work *w, const int32_t *id, int64_t left)
{
    while (left > 0) {
        const int64_t size = rf_masked_cut(w->masked, id, left, LENGTH - TEMPLATE);
        if (!rf_masked_add(w->masked, id, size, w->pieces)) {
            flush(w);
            rf_masked_add(w->masked, id, size, w->pieces);
        }
        w->pieces++;
        id += size;
        left -= size;
    }
}

static void report(work *w, const char *set)
{
    flush(w);
    printf("\n%s: %lld masked tokens\n\n| predictor | loss (nats) | perplexity | accuracy |\n|---|---:|---:|---:|\n",
           set, (long long)w->labels);
    for (int j = 0; j < JUDGES; j++) {
        const double loss = w->loss[j] / (double)w->labels;
        printf("| %s | %.3f | %.1f | %.2f %% |\n", name[j], loss, exp(loss),
               100. * (double)w->hits[j] / (double)w->labels);
    }
    fflush(stdout);
    for (int j = 0; j < JUDGES; j++) w->loss[j] = 0, w->hits[j] = 0;
    w->labels = 0;
    w->pieces = 0;
}

static void open_model(work *w, const char *folder)
{
    check(rf_ctx_new(NULL, &w->ctx, &why));
    check(rf_model_open(w->ctx, folder, &w->model, &why));
    check(rf_session_open(w->model, &w->session, &why));
    if (!(w->tokenizer = rf_model_tokenizer(w->model))) check(rf_fail(&why, RF_EDATA, "%s: has no tokenizer", folder));
    w->V = rf_tokenizer_size(w->tokenizer);
    check(rf_masked_new(w->ctx, w->tokenizer, CAPACITY, 42, 0.15, &w->masked, &why));
    for (int j = 0; j < JUDGES; j++)
        if (!(w->p[j] = malloc((size_t)w->V * sizeof(double)))) check(rf_fail(&why, RF_ENOMEM, "out of memory"));
}

static void *need(void *p)
{
    if (!p) check(rf_fail(&why, RF_ENOMEM, "out of memory"));
    return p;
}

/* The documents of RUN_FOLDER's cache. */
static rf_token_cache *open_cache(work *w, const char *folder, int32_t **id)
{
    char path[4096];
    rf_token_cache *cache;
    snprintf(path, sizeof path, "%s/" RF_FILE_TOKENS, folder);
    check(rf_token_cache_open(w->ctx, w->tokenizer, path, &cache, &why));
    *id = need(malloc((size_t)(rf_token_cache_longest(cache) + 1) * sizeof **id));
    return cache;
}

/* The next document for training, or the next held-out one; -1: there are no more. */
static int64_t next_document(rf_token_cache *cache, int32_t *id, int held)
{
    int64_t size;
    int is_held;
    do check(rf_token_cache_next(cache, id, INT64_MAX, &size, &is_held, &why));
    while (size >= 0 && is_held != held);
    return size;
}

/* Counts the training documents of the cache, in both directions. */
static void count(work *w, const char *folder)
{
    int32_t *id;
    rf_token_cache *cache = open_cache(w, folder, &id);
    uint16_t *token = NULL;
    size_t *start = need(calloc(1, sizeof *start)), n = 0, documents = 0, capacity = 0;
    if (w->V > 65536) check(rf_fail(&why, RF_EUNSUPPORTED, "too many token ids: %d", (int)w->V));
    for (int64_t size; (size = next_document(cache, id, 0)) >= 0;) {
        if (n + (size_t)size > capacity) {
            capacity = 2 * n + (size_t)size;
            token = need(realloc(token, capacity * sizeof *token));
        }
        if (!(documents & (documents + 1))) start = need(realloc(start, (2 * documents + 2) * sizeof *start));
        for (int64_t i = 0; i < size; i++) token[n++] = (uint16_t)id[i];
        start[++documents] = n;
    }
    fprintf(stderr, "counting %zu tokens in %zu documents\n", n, documents);
    w->left = need(ngrams_count(token, start, documents, w->V, 0));
    w->right = need(ngrams_count(token, start, documents, w->V, 1));
    rf_token_cache_close(cache);
    free(token);
    free(start);
    free(id);
}

static void judge_held_out(work *w, const char *folder)
{
    int32_t *id;
    rf_token_cache *cache = open_cache(w, folder, &id);
    for (int64_t size; (size = next_document(cache, id, 1)) >= 0;) add_document(w, id, size);
    rf_token_cache_close(cache);
    free(id);
    report(w, "held-out articles");
}

static void judge_text(work *w, const char *path)
{
    rf_reader *r;
    rf_document d;
    rf_encoding e;
    const char *slash = strrchr(path, '/');
    rf_encoding_init(&e, w->ctx);
    check(rf_reader_open(w->ctx, &path, 1, NULL, &r, &why));
    for (;;) {
        check(rf_reader_next(r, &d, &why));
        if (!d.text) break;
        check(rf_encode(w->tokenizer, d.text, d.size, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why));
        add_document(w, e.id, (int64_t)e.n);
    }
    rf_reader_close(r);
    rf_encoding_clear(&e);
    report(w, slash ? slash + 1 : path);
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: compare RUN_FOLDER MODEL [HELD_OUT...]\n"), 2;
    static work w;
    open_model(&w, argv[2]);
    count(&w, argv[1]);
    judge_held_out(&w, argv[1]);
    for (int i = 3; i < argc; i++) judge_text(&w, argv[i]);
    return 0;
}
