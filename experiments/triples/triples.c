/* triples.c — makes triples like those of CAIL2019-SCM from any text: which of two candidates belongs to A?
 *
 *     triples [--characters N] [--each K] [--test P] [--dev P] [--seed S] -o FOLDER FILE...
 *
 * An article of at least N characters (1024) is divided into 2 K (2) equal parts: A and its right candidate are two
 * consecutive ones.  The wrong candidate is a part of the article of the same split that is most similar to A, by the
 * cosine of
 *
 *     tf-idf(b) = count(b) ln(articles / articles with b),        b two characters that follow each other
 *
 * Articles are assigned to test (P 0.3), dev (0.1) or train by a hash of their text, so that splits do not share
 * articles.  A random choice (S) decides which of B and C is the right one, and which part of the wrong article is
 * used.  FOLDER gets train.json, dev.json and test.json with A, B, C and label, for presets with "triplets"
 * (experiments/paper/scm.json).  The program also prints how often the cosine alone is right, which is the baseline. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../hash.h"
#include "roformer/inspect/files.h"

enum { PARTS = 32, SPLITS = 3 };
static const char *const split_name[SPLITS] = {"train", "dev", "test"};

typedef struct gram { uint32_t b; float x; } gram;                    /* a bigram's bucket, its weight               */
typedef struct vector { gram *g; size_t n; } vector;
typedef struct article {
    char *text;
    size_t at[PARTS + 1];       /* parts: bytes                                                                       */
    vector whole, part[PARTS];
    uint64_t hash;              /* of the text: the same article twice is one                                         */
    int split;
} article;
typedef struct posting { uint32_t article; float x; } posting;

static struct { long characters, each; double test, dev; uint64_t seed; const char *folder; } option = {
    1024, 1, 0.3, 0.1, 1, NULL};
static article *list;
static size_t articles, capacity;
enum { BUCKETS = 1 << 20 };
static uint32_t with[BUCKETS];  /* articles that have the bigram                                                      */

static void die(const char *what, const char *which)
{
    fprintf(stderr, "triples: %s%s%s\n", what, *which ? ": " : "", which);
    exit(3);
}

static void *need(void *p)
{
    if (!p) die("out of memory", "");
    return p;
}

/* ---- articles ---- */

static size_t characters(const char *p, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += ((unsigned char)p[i] & 0xC0) != 0x80;
    return k;
}

/* 2 K parts of as many characters each. */
static void cut(article *a, size_t size)
{
    const size_t all = characters(a->text, size), parts = 2 * (size_t)option.each;
    size_t seen = 0, part = 1;
    for (size_t i = 0; i < size; i++) {
        if (((unsigned char)a->text[i] & 0xC0) == 0x80) continue;
        if (part < parts && seen * parts >= part * all) a->at[part++] = i;
        seen++;
    }
    a->at[parts] = size;
}

static void add_article(const char *text, size_t size)
{
    if (characters(text, size) < (size_t)option.characters) return;
    if (articles == capacity) {
        capacity = 2 * capacity + 64;
        list = need(realloc(list, capacity * sizeof *list));
    }
    article *a = &list[articles++];
    *a = (article){.text = need(malloc(size + 1))};
    memcpy(a->text, text, size);
    a->text[size] = 0;
    a->hash = hash64(text, size, 7);
    const double place = (double)(a->hash >> 11) / 9007199254740992.0;
    a->split = place < option.test ? 2 : place < option.test + option.dev ? 1 : 0;
    cut(a, size);
}

static void read_all(char **file, int n)
{
    rf_ctx *ctx = NULL;
    rf_reader *r = NULL;
    rf_error why = {0};
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    o.threads = 1;
    rf_document d;
    if (rf_ctx_new(&o, &ctx, &why) || rf_reader_open(ctx, (const char *const *)file, n, NULL, &r, &why))
        die(why.text, "");
    for (;;) {
        if (rf_reader_next(r, &d, &why)) die(why.text, "");
        if (!d.text) break;
        if (!d.continues) add_article(d.text, d.size);                /* the rest would belong to an article, too  */
    }
    rf_reader_close(r);
    rf_ctx_free(ctx);
}

/* ---- bigrams ---- */

static int by_bucket(const void *a, const void *b)
{
    const uint32_t x = ((const gram *)a)->b, y = ((const gram *)b)->b;
    return (x > y) - (x < y);
}

/* Counts of the bigrams of a text, by bucket; white space is left out. */
static vector count(const char *text, size_t from, size_t to)
{
    vector v = {need(malloc((to - from + 1) * sizeof *v.g)), 0};
    size_t before = 0, before_size = 0, n = 0;
    for (size_t i = from, next; i < to; i = next) {
        for (next = i + 1; next < to && ((unsigned char)text[next] & 0xC0) == 0x80;) next++;
        if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') continue;
        const uint64_t second = hash64(text + i, next - i, 1);
        if (before_size) v.g[n++] = (gram){(uint32_t)(hash64(text + before, before_size, second) % BUCKETS), 1};
        before = i;
        before_size = next - i;
    }
    qsort(v.g, n, sizeof *v.g, by_bucket);
    for (size_t i = 0; i < n; i++) {
        if (v.n && v.g[v.n - 1].b == v.g[i].b) v.g[v.n - 1].x++;
        else v.g[v.n++] = v.g[i];
    }
    v.g = need(realloc(v.g, (v.n + 1) * sizeof *v.g));
    return v;
}

/* tf-idf, of length 1. */
static void weigh(vector *v)
{
    double sum = 0;
    for (size_t i = 0; i < v->n; i++) {
        v->g[i].x *= (float)log((double)articles / (with[v->g[i].b] ? with[v->g[i].b] : 1));
        sum += (double)v->g[i].x * (double)v->g[i].x;
    }
    for (size_t i = 0; i < v->n && sum > 0; i++) v->g[i].x /= (float)sqrt(sum);
}

static double cosine(const vector *a, const vector *b)
{
    double sum = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->g[i].b == b->g[j].b) sum += (double)a->g[i++].x * (double)b->g[j++].x;
        else if (a->g[i].b < b->g[j].b) i++;
        else j++;
    }
    return sum;
}

static void make_vectors(void)
{
    const int parts = 2 * (int)option.each;
    for (size_t i = 0; i < articles; i++) {
        list[i].whole = count(list[i].text, 0, list[i].at[parts]);
        for (size_t k = 0; k < list[i].whole.n; k++) with[list[i].whole.g[k].b]++;
    }
    for (size_t i = 0; i < articles; i++) {
        weigh(&list[i].whole);
        for (int k = 0; k < parts; k++) {
            list[i].part[k] = count(list[i].text, list[i].at[k], list[i].at[k + 1]);
            weigh(&list[i].part[k]);
        }
    }
}

/* ---- the nearest article of a split ---- */

static posting *entry;
static size_t first[BUCKETS + 1];
static double *score;

/* Bigrams that occur in more than a tenth of the articles carry little information and cost most of the time. */
static int counts(uint32_t b) { return with[b] && with[b] * 10ull <= articles + 10; }

static void index_split(int split)
{
    size_t n = 0, *fill = need(calloc(BUCKETS, sizeof *fill));
    memset(first, 0, sizeof first);
    for (size_t i = 0; i < articles; i++)
        for (size_t k = 0; list[i].split == split && k < list[i].whole.n; k++)
            if (counts(list[i].whole.g[k].b)) fill[list[i].whole.g[k].b]++, n++;
    for (size_t b = 0; b < BUCKETS; b++) first[b + 1] = first[b] + fill[b];
    entry = need(realloc(entry, (n + 1) * sizeof *entry));
    memset(fill, 0, BUCKETS * sizeof *fill);
    for (size_t i = 0; i < articles; i++)
        for (size_t k = 0; list[i].split == split && k < list[i].whole.n; k++) {
            const gram g = list[i].whole.g[k];
            if (counts(g.b)) entry[first[g.b] + fill[g.b]++] = (posting){(uint32_t)i, g.x};
        }
    free(fill);
}

/* The article most similar to a part of article `own`; `articles` if the split has no other. */
static size_t nearest(const vector *v, size_t own)
{
    size_t best = articles;
    memset(score, 0, articles * sizeof *score);
    for (size_t k = 0; k < v->n; k++)
        for (size_t p = first[v->g[k].b]; p < first[v->g[k].b + 1]; p++)
            score[entry[p].article] += (double)v->g[k].x * (double)entry[p].x;
    for (size_t i = 0; i < articles; i++)
        if (list[i].hash != list[own].hash && list[i].split == list[own].split &&
            (best == articles || score[i] > score[best]))
            best = i;
    return best;
}

/* ---- triples ---- */

static json_t *part_text(const article *a, int k)
{
    return json_stringn(a->text + a->at[k], a->at[k + 1] - a->at[k]);
}

/* One triple; *right: the cosine alone finds it. */
static void write_triple(FILE *f, size_t i, int k, size_t other, int *right)
{
    const article *a = &list[i], *c = &list[other];
    const uint64_t place[2] = {i, (uint64_t)k};
    const uint64_t coins = hash64((const char *)place, sizeof place, option.seed);
    const int wrong = (int)((coins >> 8) % (2 * (uint64_t)option.each)), swapped = (int)(coins & 1);
    *right = cosine(&a->part[k], &a->part[k + 1]) > cosine(&a->part[k], &c->part[wrong]);
    json_t *line = json_pack("{s:o, s:o, s:o, s:s}", "A", part_text(a, k), swapped ? "C" : "B", part_text(a, k + 1),
                             swapped ? "B" : "C", part_text(c, wrong), "label", swapped ? "C" : "B");
    if (!line || json_dumpf(line, f, JSON_COMPACT) || fputc('\n', f) == EOF) die("cannot write", "a triple");
    json_decref(line);
}

static void write_split(int split)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", option.folder, split_name[split]);
    FILE *f = fopen(path, "wb");
    if (!f) die("cannot write", path);
    size_t of = 0, triples = 0, found = 0;
    index_split(split);
    for (size_t i = 0; i < articles; i++) {
        of += list[i].split == split;
        for (int k = 0; list[i].split == split && k < 2 * option.each; k += 2) {
            const size_t other = nearest(&list[i].part[k], i);
            int right = 0;
            if (other == articles) continue;
            write_triple(f, i, k, other, &right);
            triples++;
            found += (size_t)right;
        }
    }
    if (fclose(f)) die("cannot write", path);
    printf("%s: %zu triples of %zu articles; the cosine of bigrams alone finds %.1f %%\n", path, triples, of,
           triples ? 100.0 * (double)found / (double)triples : 0.0);
}

static int usage(void)
{
    fputs("triples [--characters N] [--each K] [--test P] [--dev P] [--seed S] -o FOLDER FILE...\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1]; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--characters")) option.characters = strtol(value, NULL, 10);
        else if (!strcmp(name, "--each")) option.each = strtol(value, NULL, 10);
        else if (!strcmp(name, "--test")) option.test = strtod(value, NULL);
        else if (!strcmp(name, "--dev")) option.dev = strtod(value, NULL);
        else if (!strcmp(name, "--seed")) option.seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "-o")) option.folder = value;
        else return usage();
    }
    if (!option.folder || i >= argc || option.each < 1 || 2 * option.each > PARTS || option.characters < 16 ||
        !(option.test >= 0 && option.dev >= 0 && option.test + option.dev <= 1))
        return usage();
    read_all(argv + i, argc - i);
    score = need(calloc(articles + 1, sizeof *score));
    make_vectors();
    for (int split = 0; split < SPLITS; split++) write_split(split);
    return 0;
}
