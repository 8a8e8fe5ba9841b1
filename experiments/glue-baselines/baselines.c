/* baselines.c — baselines for GLUE without a language model: the most frequent class, and a linear model of words.
 *
 *     glue_baselines FOLDER               FOLDER holds glue/ and sick/
 *
 *     features    single text: its words and pairs of neighbors
 *                 pair: words of the first, of the second, of both, of one only; the fraction of words in common, in
 *                 tenths
 *     model       z_k = w_k . x + b_k,  |x| = 1      softmax and cross-entropy; for numbers z itself and squared error
 *     learning    AdaGrad, one example at a time, EPOCHS times in a fixed shuffle; the L2 weight is the one of four
 *                 that is best on a tenth of the training rows, and then learning starts again with all of them
 *
 * The dev rows have no influence on any choice.  The same file gives the same output, bit for bit. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/context.h"
#include "../hash.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { BUCKETS = 1 << 19, EPOCHS = 12, CLASSES = 3, COLUMNS = 16, FEATURES = 2048, SEED = 1 };

typedef struct split { const char *path; int header; } split;
typedef struct task {
    const char *name;
    split train[2], dev;                /* no dev: a tenth of the training rows, by a hash of the row's number        */
    int text, pair, label;              /* columns from 0; pair -1: a single text                                     */
    const char *labels[CLASSES];        /* none: numbers                                                              */
    int K;
    enum { ACCURACY, F1, MATTHEWS, SPEARMAN } metric;
} task;

static const task tasks[] = {
    {"CoLA",
     {{"glue/CoLA/train.tsv", 0}, {"glue/CoLA/val.tsv", 0}},
     {"glue/CoLA/dev.tsv", 0},
     3,
     -1,
     1,
     {"0", "1"},
     2,
     MATTHEWS},
    {"SST-2", {{"glue/SST-2/train.tsv.gz", 1}}, {"glue/SST-2/dev.tsv", 1}, 0, -1, 1, {"0", "1"}, 2, ACCURACY},
    {"MRPC", {{"glue/MRPC/train.tsv", 1}}, {"glue/MRPC/dev.tsv", 1}, 3, 4, 0, {"0", "1"}, 2, F1},
    {"STS-B", {{"glue/STS-B/train.tsv", 1}}, {"glue/STS-B/dev.tsv", 1}, 7, 8, 9, {NULL}, 1, SPEARMAN},
    {"QQP", {{"glue/QQP/new_dev.tsv.gz", 0}}, {NULL, 0}, 3, 4, 5, {"0", "1"}, 2, F1},
    {"QNLI", {{"glue/QNLI/dev.tsv", 1}}, {NULL, 0}, 1, 2, 3, {"entailment", "not_entailment"}, 2, ACCURACY},
    {"RTE",
     {{"glue/RTE/train.tsv", 1}, {"glue/RTE/val.tsv", 0}},
     {"glue/RTE/dev.tsv", 1},
     1,
     2,
     3,
     {"entailment", "not_entailment"},
     2,
     ACCURACY},
    {"WNLI",
     {{"glue/WNLI/train.tsv", 1}, {"glue/WNLI/val.tsv", 0}},
     {"glue/WNLI/dev.tsv", 1},
     1,
     2,
     3,
     {"0", "1"},
     2,
     ACCURACY},
    {"SICK",
     {{"sick/SICK_train.txt", 1}},
     {"sick/SICK_test_annotated.txt", 1},
     1,
     2,
     4,
     {"CONTRADICTION", "ENTAILMENT", "NEUTRAL"},
     3,
     ACCURACY},
};

typedef struct row { uint32_t *feature; int n; float value; int32_t label; double target; } row;
typedef struct rows { row *at; size_t n, capacity, left_out; } rows;

static const rf_ctx *ctx;

static void stop(const char *what) { fprintf(stderr, "glue_baselines: %s\n", what); exit(4); }

static void *need(void *p)
{
    if (!p) stop("out of memory");
    return p;
}

/* ---- features ---- */

typedef struct bag { uint32_t at[FEATURES]; int n; } bag;

static void put(bag *b, uint64_t hash, uint64_t kind)
{
    const uint32_t f = (uint32_t)(hash64(&hash, sizeof hash, kind) % BUCKETS);
    for (int i = 0; i < b->n; i++)
        if (b->at[i] == f) return;
    if (b->n < FEATURES) b->at[b->n++] = f;
}

/* Hashes of the words, which are sequences of letters, digits and non-ASCII bytes, in lower case. */
static int words_of(const char *text, uint64_t word[], int most)
{
    int n = 0;
    while (*text && n < most) {
        char w[64];
        size_t size = 0;
        for (; *text; text++) {
            const unsigned char c = (unsigned char)*text;
            const int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
            if (!letter) break;
            if (size < sizeof w) w[size++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        if (size) word[n++] = hash64(w, size, 0);
        else text++;
    }
    return n;
}

static int holds(const uint64_t word[], int n, uint64_t w)
{
    for (int i = 0; i < n; i++)
        if (word[i] == w) return 1;
    return 0;
}

static void features(const char *text, const char *pair, bag *b)
{
    static uint64_t a[512], c[512];
    int common = 0;
    b->n = 0;
    const int n = words_of(text, a, 512), m = pair ? words_of(pair, c, 512) : 0;
    put(b, 0, 9);                                                   /* the constant: the bias                         */
    for (int i = 0; i < n; i++) {
        put(b, a[i], 1);
        if (!pair && i) put(b, a[i] ^ a[i - 1] << 1, 2);
        if (pair) put(b, a[i], holds(c, m, a[i]) ? 4 : 5);
        common += pair && holds(c, m, a[i]);
    }
    for (int i = 0; i < m; i++) {
        put(b, c[i], 3);
        if (!holds(a, n, c[i])) put(b, c[i], 6);
    }
    if (pair) put(b, (uint64_t)(20 * common / (n + m + 1)), 7);
}

/* ---- rows ---- */

static char *load(const char *folder, const char *name)
{
    char path[4096], *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    rf_source *s = NULL;
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (rf_source_open(ctx, path, &s, &why)) stop(why.text);
    while (got) {
        if (size + 65537 > capacity) data = need(realloc(data, capacity = 2 * capacity + 131072));
        if (rf_source_read(s, data + size, 65536, &got, &why)) stop(why.text);
        size += got;
    }
    data[size] = 0;
    rf_source_close(s);
    return data;
}

static void push(rows *r, row one)
{
    if (r->n == r->capacity) r->at = need(realloc(r->at, (r->capacity = 2 * r->capacity + 1024) * sizeof *r->at));
    r->at[r->n++] = one;
}

static int find_label(const task *t, const char *text)
{
    for (int k = 0; k < t->K; k++)
        if (!strcmp(t->labels[k], text)) return k;
    return -1;
}

static void add_row(const task *t, char *line, rows *out)
{
    char *field[COLUMNS];
    int n = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    const int last = t->pair > t->text ? t->pair : t->text;
    if (n <= (last > t->label ? last : t->label)) {
        out->left_out++;
        return;
    }
    row r = {.label = t->labels[0] ? find_label(t, field[t->label]) : 0,
             .target = t->labels[0] ? 0 : strtod(field[t->label], NULL) / 5};
    static bag b;
    if (r.label < 0) {
        out->left_out++;
        return;
    }
    features(field[t->text], t->pair < 0 ? NULL : field[t->pair], &b);
    r.feature = need(malloc((size_t)b.n * sizeof *b.at));
    memcpy(r.feature, b.at, (size_t)b.n * sizeof *b.at);
    r.n = b.n;
    r.value = 1 / sqrtf((float)b.n);
    push(out, r);
}

static void read_rows(const task *t, const char *folder, split from, rows *out)
{
    char *data = load(folder, from.path), *at = data;
    if (!strncmp(at, "\xEF\xBB\xBF", 3)) at += 3;
    for (int number = 0; *at; number++) {
        const size_t n = strcspn(at, "\n");
        char *next = at + n + (at[n] == '\n');
        at[n] = 0;
        if (n && at[n - 1] == '\r') at[n - 1] = 0;
        if (*at && (number || !from.header)) add_row(t, at, out);
        at = next;
    }
    free(data);
}

/* Moves about a tenth of the rows, chosen by a hash of their number, to `held`. */
static void hold_out(const rows *all, rows *kept, rows *held, uint64_t seed)
{
    *kept = *held = (rows){.left_out = all->left_out};
    for (uint64_t i = 0; i < all->n; i++) {
        rows *to = hash64(&i, sizeof i, seed) % 10 ? kept : held;
        push(to, all->at[i]);
    }
}

/* ---- the model ---- */

static float w[CLASSES][BUCKETS], seen[CLASSES][BUCKETS];           /* weights, sums of squared gradients             */

static void scores_of(const task *t, const row *r, double z[CLASSES])
{
    for (int k = 0; k < t->K; k++) {
        double sum = 0;
        for (int i = 0; i < r->n; i++) sum += w[k][r->feature[i]];
        z[k] = sum * r->value;
    }
}

/* dL/dz, in place. */
static void adjoint(const task *t, const row *r, double z[CLASSES])
{
    if (!t->labels[0]) {
        z[0] -= r->target;
        return;
    }
    double top = z[0], sum = 0;
    for (int k = 1; k < t->K; k++) top = fmax(top, z[k]);
    for (int k = 0; k < t->K; k++) sum += z[k] = exp(z[k] - top);
    for (int k = 0; k < t->K; k++) z[k] = z[k] / sum - (k == r->label);
}

static void learn(const task *t, const rows *data, double l2)
{
    size_t *order = need(malloc((data->n + 1) * sizeof *order));
    rf_rng draw;
    memset(w, 0, sizeof w);
    memset(seen, 0, sizeof seen);
    rf_rng_init(&draw, SEED, 0);
    for (size_t i = 0; i < data->n; i++) order[i] = i;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        for (size_t i = data->n; i > 1; i--) {
            const size_t j = rf_rng_below(&draw, (uint32_t)i), kept = order[i - 1];
            order[i - 1] = order[j];
            order[j] = kept;
        }
        for (size_t e = 0; e < data->n; e++) {
            const row *r = &data->at[order[e]];
            double z[CLASSES];
            scores_of(t, r, z);
            adjoint(t, r, z);
            for (int k = 0; k < t->K; k++)
                for (int i = 0; i < r->n; i++) {
                    float *x = &w[k][r->feature[i]], *s = &seen[k][r->feature[i]];
                    const float g = (float)z[k] * r->value + (float)l2 * *x;
                    *s += g * g;
                    *x -= 0.3f * g / (sqrtf(*s) + 1e-6f);
                }
        }
    }
    free(order);
}

/* ---- metrics ---- */

typedef struct result { double accuracy, f1, matthews, pearson, spearman, main; } result;

static result measure(const task *t, const rows *dev, int32_t always)
{
    int32_t *gold = need(calloc(dev->n + 1, sizeof *gold)), *predicted = need(calloc(dev->n + 1, sizeof *predicted));
    double *x = need(calloc(dev->n + 1, sizeof *x)), *y = need(calloc(dev->n + 1, sizeof *y));
    rf_class_metrics score[CLASSES];
    result out = {0};
    for (size_t i = 0; i < dev->n; i++) {
        double z[CLASSES] = {0};
        if (always < 0) scores_of(t, &dev->at[i], z);
        gold[i] = dev->at[i].label;
        y[i] = dev->at[i].target;
        x[i] = z[0];
        for (int k = 1; k < t->K; k++)
            if (z[k] > z[predicted[i]]) predicted[i] = k;
        if (always >= 0) predicted[i] = always;
    }
    rf_metrics_by_class(gold, predicted, dev->n, t->K, score);
    out.accuracy = rf_accuracy(gold, predicted, dev->n);
    out.f1 = t->K == 2 ? score[1].f1 : (double)NAN;
    out.matthews = rf_matthews(score, t->K, dev->n);
    out.pearson = rf_pearson(x, y, dev->n);
    if (rf_spearman(ctx, x, y, dev->n, &out.spearman, NULL)) stop("out of memory");
    out.main = t->metric == ACCURACY   ? out.accuracy
               : t->metric == F1       ? out.f1
               : t->metric == MATTHEWS ? out.matthews
                                       : out.spearman;
    free(gold);
    free(predicted);
    free(x);
    free(y);
    return out;
}

static void show(const task *t, const char *what, result r)
{
    printf("%-6s %-9s", t->name, what);
    if (t->labels[0]) printf(" accuracy %5.1f  Matthews %5.1f", 100 * r.accuracy, 100 * r.matthews);
    else printf(" Pearson  %5.1f  Spearman %5.1f", 100 * r.pearson, 100 * r.spearman);
    if (t->metric == F1) printf("  F1 %5.1f", 100 * r.f1);
    printf("\n");
}

static int32_t most_frequent(const task *t, const rows *data)
{
    size_t count[CLASSES] = {0};
    int32_t best = 0;
    for (size_t i = 0; i < data->n; i++) count[data->at[i].label]++;
    for (int k = 1; k < t->K; k++)
        if (count[k] > count[best]) best = k;
    return best;
}

static double choose_l2(const task *t, const rows *train)
{
    static const double candidate[] = {1e-6, 1e-5, 1e-4, 1e-3};
    double best = candidate[0], best_main = -2;
    rows part, held;
    hold_out(train, &part, &held, 7);
    for (size_t i = 0; i < COUNT(candidate); i++) {
        learn(t, &part, candidate[i]);
        const double got = measure(t, &held, -1).main;
        if (got > best_main) best = candidate[i], best_main = got;
    }
    free(part.at);
    free(held.at);
    return best;
}

static void run(const task *t, const char *folder)
{
    rows all = {0}, train = {0}, dev = {0};
    for (int i = 0; i < 2 && t->train[i].path; i++) read_rows(t, folder, t->train[i], &all);
    if (t->dev.path) {
        train = all;
        read_rows(t, folder, t->dev, &dev);
    } else {
        hold_out(&all, &train, &dev, 3);
    }
    const double l2 = choose_l2(t, &train);
    printf("%-6s %zu rows to learn from, %zu to measure on%s, %zu left out, L2 %g\n", t->name, train.n, dev.n,
           t->dev.path ? "" : " (a tenth, by a hash of the row's number)",
           all.left_out + (t->dev.path ? dev.left_out : 0), l2);
    show(t, "majority", measure(t, &dev, most_frequent(t, &train)));
    learn(t, &train, l2);
    show(t, "words", measure(t, &dev, -1));
    fflush(stdout);
}

int main(int n, char **argument)
{
    rf_ctx *made = NULL;
    rf_error why = {0};
    if (n != 2) {
        fprintf(stderr, "usage: glue_baselines FOLDER (with glue/ and sick/ in it)\n");
        return 2;
    }
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &made, &why)) stop(why.text);
    ctx = made;
    printf("Baselines of GLUE's tasks without a language model, in percent.  Command:\n"
           "    build/release/experiments/glue_baselines ../shared/data > results/glue-baselines.txt\n"
           "QQP and QNLI: the only rows there are, a tenth of them held out; a question of QNLI may be on both "
           "sides.\n\n");
    for (size_t i = 0; i < COUNT(tasks); i++) run(&tasks[i], argument[1]);
    rf_ctx_free(made);
    return 0;
}
