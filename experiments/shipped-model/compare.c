/* compare.c — a masked language model beside n-gram models, at the same masked tokens of the same held-out text.
 *
 *     compare RUN_FOLDER MODEL_FOLDER TRAINING_TEXT... [-- HELD_OUT_TEXT...]
 *
 * RUN_FOLDER holds the tokens.cache that `roformer pretrain` made of the training texts; its held-out documents are the
 * first set, each text behind "--" is another.  The n-gram models count the training documents of the same cache, and
 * see what the model sees: a neighbour that is masked is unknown to them too, a neighbour that was replaced is what it
 * was replaced with.
 *
 *     left        p(w | two tokens before), with back-off            two-sided     left x right, normalised
 *     right       p(w | two tokens behind), with back-off            ... / unigram  left x right / p(w), normalised  */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ngrams.h"
#include "roformer/reader.h"
#include "train/evaluate.h"
#include "train/options.h"

enum { CAPACITY = 4096, LENGTH = 128 };
enum { UNIGRAM, LEFT, RIGHT, TWO_SIDED, TWO_SIDED_BAYES, MODEL, JUDGES };
static const char *const name[JUDGES] = {"unigram", "left trigram, back-off", "right trigram, back-off",
                                         "two-sided trigram", "two-sided / unigram", "the model"};

typedef struct work {
    rf_ctx *ctx;
    rf_tokenizer *tokenizer;
    rf__token_kinds vocab;
    rf_params params;
    float *value;
    rf_encoder *encoder;
    rf_graph *graph;
    rf__mlm_batch batch;
    rf__masking masking;
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
    for (int32_t i = 0; i < w->vocab.size; i++) {
        sum += p[i];
        if (p[i] > p[best]) best = i;
    }
    w->loss[j] -= log(p[label] / sum);
    w->hits[j] += best == label;
}

/* What an n-gram model may know of the token at n: nothing, if it is masked, special, or of another piece. */
static int32_t known(const work *w, int64_t n, int64_t from, int64_t to)
{
    if (n < from || n >= to) return -1;
    const int32_t id = w->batch.id[n];
    return w->vocab.kind[id] & RF__SPECIAL ? -1 : id;
}

static void flush(work *w)
{
    const rf_batch view = rf__mlm_batch_view(&w->batch);
    if (!w->batch.n) return;
    check(rf_graph_reset(w->graph));
    rf_graph_record(w->graph, 0, 0, 0);
    const rf_tensor *logits = rf__mlm_logits(w->graph, w->encoder, rf__encoder_forward(w->graph, w->encoder, &view),
                                             w->batch.row, w->batch.n);
    why = *rf_graph_error(w->graph);
    check(why.code);

    const int32_t V = w->vocab.size;
    for (int64_t i = 0, b = 0; i < w->batch.n; i++) {
        const int32_t n = w->batch.row[i], label = w->batch.label[i];
        while (n >= w->batch.start[b + 1]) b++;
        const int64_t from = w->batch.start[b], to = w->batch.start[b + 1];
        ngrams_predict(w->left, 1, -1, -1, w->p[UNIGRAM]);
        ngrams_predict(w->left, 3, known(w, n - 2, from, to), known(w, n - 1, from, to), w->p[LEFT]);
        ngrams_predict(w->right, 3, known(w, n + 2, from, to), known(w, n + 1, from, to), w->p[RIGHT]);
        const float *x = logits->f32 + i * w->params.config.vocab_size;
        double largest = -INFINITY;
        for (int32_t v = 0; v < V; v++) largest = fmax(largest, x[v]);
        for (int32_t v = 0; v < V; v++) {
            w->p[TWO_SIDED][v] = w->p[LEFT][v] * w->p[RIGHT][v];
            w->p[TWO_SIDED_BAYES][v] = w->p[TWO_SIDED][v] / w->p[UNIGRAM][v];
            w->p[MODEL][v] = exp(x[v] - largest);
        }
        for (int j = 0; j < JUDGES; j++) judge(w, j, w->p[j], label);
    }
    w->labels += w->batch.n;
    rf__mlm_batch_clear(&w->batch);
}

static void add_document(work *w, rf__ids ids, size_t at, size_t left)
{
    while (left) {
        const size_t size = rf__cut(ids, at, left, LENGTH - RF__TEMPLATE, w->vocab.kind);
        if (!rf__fits(&w->batch, size)) flush(w);
        rf__mlm_batch_add(&w->batch, ids, at, size, true, &w->masking, w->pieces++);
        at += size;
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

static rf_status add_part(void *user, const rf__part *part, double share, rf_error *error)
{
    (void)share;
    (void)error;
    size_t at = 0;
    for (size_t d = 0; d < part->documents; at += part->length[d++] & ~RF__HELD)
        add_document(user, part->ids, at, part->length[d] & ~RF__HELD);
    return RF_OK;
}

static void open_model(work *w, const char *folder)
{
    rf_config config;
    rf_weights *weights;
    bool head;
    check(rf_ctx_new(NULL, &w->ctx, &why));
    check(rf_tokenizer_open(w->ctx, folder, &w->tokenizer, &why));
    check(rf__vocab_new(w->ctx, w->tokenizer, &w->vocab, &why));
    check(rf_config_read(w->ctx, folder, &config, &why));
    check(rf__params_new(w->ctx, &config, &w->params, &why));
    w->value = rf__alloc(w->ctx, w->params.total * sizeof *w->value);
    if (!w->value) check(rf_fail(&why, RF_ENOMEM, "out of memory"));
    check(rf_weights_open(w->ctx, folder, &weights, &why));
    check(rf__params_load(&w->params, weights, w->value, &head, NULL, &why));
    rf_weights_close(weights);
    check(rf__encoder_new(&w->params, w->value, NULL, &w->encoder, &why));
    check(rf_graph_new(w->ctx, &w->graph, &why));
    check(rf__mlm_batch_new(w->ctx, CAPACITY, &w->batch, &why));
    w->masking = (rf__masking){rf__evaluation_key(42), 0.15, false, &w->vocab, false};
    for (int j = 0; j < JUDGES; j++)
        if (!(w->p[j] = malloc((size_t)w->vocab.size * sizeof(double))))
            check(rf_fail(&why, RF_ENOMEM, "out of memory"));
}

/* Counts the training documents of the cache, in both directions. */
static void count(work *w, const rf__tokens *t)
{
    uint16_t *token = malloc(t->tokens * sizeof *token);
    size_t *start = calloc(t->documents + 1, sizeof *start), n = 0, documents = 0, at = 0;
    if (!token || !start || t->ids.width != 2) check(rf_fail(&why, RF_ENOMEM, "out of memory, or too many token ids"));
    for (size_t d = 0; d < t->documents; d++) {
        const size_t size = t->length[d] & ~RF__HELD;
        if (!(t->length[d] & RF__HELD)) {
            for (size_t i = 0; i < size; i++) token[n++] = (uint16_t)rf__id(t->ids, at + i);
            start[++documents] = n;
        }
        at += size;
    }
    fprintf(stderr, "counting %zu tokens in %zu documents\n", n, documents);
    w->left = ngrams_count(token, start, documents, w->vocab.size, 0);
    w->right = ngrams_count(token, start, documents, w->vocab.size, 1);
    if (!w->left || !w->right) check(rf_fail(&why, RF_ENOMEM, "out of memory while counting"));
    free(token);
    free(start);
}

int main(int argc, char **argv)
{
    int rest = 3;
    while (rest < argc && strcmp(argv[rest], "--")) rest++;
    if (argc < 4 || rest == 3) return fprintf(stderr, "usage: compare RUN_FOLDER MODEL TEXT... [-- HELD_OUT...]\n"), 2;
    static work w;
    rf_train_options o;
    rf__tokens t;
    rf_train_defaults(&o);
    open_model(&w, argv[2]);
    const rf__texts texts = {.text = (const char *const *)argv + 3, .texts = rest - 3, .split = o.validation_split,
                             .reader = &o.reader};
    check(rf__tokens_open(w.ctx, w.tokenizer, &texts, argv[1], 0, NULL, NULL, &t, &why));
    count(&w, &t);

    size_t at = 0;
    for (size_t d = 0; d < t.documents; at += t.length[d++] & ~RF__HELD)
        if (t.length[d] & RF__HELD) add_document(&w, t.ids, at, t.length[d] & ~RF__HELD);
    report(&w, "held-out articles");
    for (int i = rest + 1; i < argc; i++) {
        rf_reader *r;
        const char *path = argv[i], *slash = strrchr(path, '/');
        check(rf_reader_open(w.ctx, &path, 1, &o.reader, &r, &why));
        check(rf__feed(w.ctx, w.tokenizer, r, RF__HOLD_NONE, add_part, &w, &why));
        rf_reader_close(r);
        report(&w, slash ? slash + 1 : path);
    }
    return 0;
}
