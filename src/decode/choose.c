/* choose.c — chooses the next token from a model's logits.
 *
 *     score(w)  repetition_penalty, presence_penalty, frequency_penalty, suppress, no_repeat_ngram_size,
 *               min_new_tokens; the likeliest, or of score / temperature
 *     top_k     the k largest
 *     top_p     the fewest whose probabilities add up to top_p                                     Holtzman et al. 2020
 *     min_p     those with at least min_p of the largest probability                                 Nguyen et al. 2024
 *     typical_p the fewest, in the order of the distance of -log p from the entropy, that add up to it
 *                                                                                                   Meister et al. 2022
 *
 * The filters apply in this order, each to the tokens that the previous one kept, as transformers' warpers do. */
#include "decode/choose.h"

#include <math.h>
#include <stdlib.h>

/* ---- choosing; p is a score before softmax ---- */

typedef int comparison(const void *a, const void *b);

/* n tokens, of which the first `ranked` are sorted and come before all others. A choice rarely needs the order of the
 * whole vocabulary. */
typedef struct ranking { rf__candidate *c; int64_t n, ranked; comparison *order; } ranking;

static bool before(const rf__candidate *a, const rf__candidate *b)
{
    return a->p > b->p || (a->p == b->p && a->id < b->id);
}

static int by_share(const void *a, const void *b) { return before(a, b) ? -1 : 1; }

static int by_distance(const void *a, const void *b)
{
    const rf__candidate *x = a, *y = b;
    return x->distance != y->distance ? (x->distance < y->distance ? -1 : 1) : by_share(a, b);
}

static void swap(rf__candidate *a, rf__candidate *b)
{
    const rf__candidate kept = *a;
    *a = *b;
    *b = kept;
}

/* A heap with its last element as the root: c[i] does not come before any element below it. */
static void sink_down(rf__candidate *c, int64_t i, int64_t n, comparison *order)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && order(&c[child], &c[child + 1]) < 0) child++;
        if (order(&c[i], &c[child]) > 0) return;
        swap(&c[i], &c[child]);
    }
}

/* Moves the first k to the front, in no particular order. */
static void select_first(rf__candidate *c, int64_t n, int64_t k, comparison *order)
{
    for (int64_t i = k / 2 - 1; i >= 0; i--) sink_down(c, i, k, order);
    for (int64_t i = k; i < n; i++)
        if (order(&c[i], &c[0]) < 0) {
            swap(&c[0], &c[i]);
            sink_down(c, 0, k, order);
        }
}

/* Sorts at least the first `most`, each time four times as many as before. */
static void rank(ranking *r, int64_t most)
{
    enum { FIRST = 64 };
    while (r->ranked < rf__min64(most, r->n)) {
        rf__candidate *rest = r->c + r->ranked;
        const int64_t n = r->n - r->ranked, more = rf__min64(n, rf__max64(FIRST, 3 * r->ranked));
        if (more < n) select_first(rest, n, more, r->order);
        qsort(rest, (size_t)more, sizeof *rest, r->order);
        r->ranked += more;
    }
}

/* Softmax of scores whose largest is 0. */
static void softmax(rf__candidate *c, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += c[i].p = exp(c[i].p);
    for (int64_t i = 0; i < n; i++) c[i].p /= sum;
}

/* Keeps the first m; `sum` is the sum of their probabilities. */
static void keep(ranking *r, int64_t m, double sum)
{
    r->n = m;
    r->ranked = rf__min64(r->ranked, m);
    for (int64_t i = 0; i < m; i++) r->c[i].p /= sum;
}

/* Keeps the fewest whose probabilities reach top_p: a token stays if those before it do not reach it. */
static void cut(ranking *r, double top_p)
{
    double sum = 0;
    int64_t m = 0;
    for (; m < r->n && sum < top_p; m++) {
        rank(r, m + 1);
        sum += r->c[m].p;
    }
    keep(r, m, sum);
}

/* Keeps those with at least min_p of the largest probability. */
static void cut_low(ranking *r, double min_p)
{
    rank(r, 1);
    double sum = r->c[0].p;
    int64_t m = 1;
    for (; m < r->n; m++) {
        rank(r, m + 1);
        if (r->c[m].p < min_p * r->c[0].p) break;
        sum += r->c[m].p;
    }
    keep(r, m, sum);
}

/* Keeps the fewest whose probabilities reach `mass`, in the order of the distance of their surprise from its mean; with
 * ties, all. */
static void keep_typical(ranking *r, double mass)
{
    rf__candidate *c = r->c;
    double entropy = 0, sum = 0, all = 0;
    int64_t m = 0;
    for (int64_t i = 0; i < r->n; i++) entropy -= c[i].p > 0 ? c[i].p * log(c[i].p) : 0;
    for (int64_t i = 0; i < r->n; i++) c[i].distance = fabs(-log(c[i].p) - entropy);
    r->order = by_distance;
    r->ranked = 0;
    for (rank(r, 1); m + 1 < r->n && (sum += c[m].p) < mass; m++) rank(r, m + 2);
    const double farthest = c[m].distance;
    for (m = 0; m < r->n; m++) {
        rank(r, m + 1);
        if (c[m].distance > farthest) break;
        all += c[m].p;
    }
    keep(r, m, all);
    r->order = by_share;
    r->ranked = 0;
}

static bool repeats(const int32_t id[], int64_t at, const int32_t end[], int64_t n)
{
    return !memcmp(id + at, end, (size_t)n * sizeof *id);
}

static void mark(uint8_t *flag, uint8_t bit, bool on) { *flag = (uint8_t)(on ? *flag | bit : *flag & ~bit); }

void rf__mark_excluded(const rf_generate_options *o, const int32_t id[], int64_t n, int64_t fresh, int64_t V,
                       uint8_t *flag, bool on)
{
    const int64_t size = o->no_repeat_ngram_size, begin = n - (size - 1);
    const bool early = o->min_new_tokens ? fresh < o->min_new_tokens : n < o->min_length;
    for (int64_t i = 0; size && i < begin; i++)
        if (repeats(id, i, id + begin, size - 1)) mark(&flag[id[i + size - 1]], RF__REPEATS, on);
    for (int64_t i = 0; early && i < o->stops; i++)
        if (o->stop[i] >= 0 && o->stop[i] < V) mark(&flag[o->stop[i]], RF__EARLY, on);
}

/* log softmax of the remaining tokens. */
static void renormalize(rf__candidate *c, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, c[i].p);
    for (int64_t i = 0; i < n; i++) sum += exp(c[i].p - most);
    for (int64_t i = 0; i < n; i++) c[i].p -= most + log(sum);
}

/* Tokens that may be among the `most` best, where scores are logits minus a sum. First finds the largest logits of
 * blocks of the vocabulary: those of as many blocks as tokens are needed, plus the excluded tokens, are a bound for all
 * others. */
enum { BLOCKS = 512, LEAST = 64, FEW = 256 };

static int64_t few_candidates(const rfk_table *k, const float *logits, int64_t V, const uint8_t *flag, int64_t most,
                              int64_t excluded, rf__candidate *c)
{
    const int64_t each = rf__max64(LEAST, (V + BLOCKS - 1) / BLOCKS), blocks = (V + each - 1) / each;
    float top[BLOCKS];
    int64_t n = 0;
    if (most + excluded > FEW || most + excluded > blocks) return 0;
    for (int64_t b = 0; b < blocks; b++) {
        top[b] = k->largest(logits + b * each, rf__min64(each, V - b * each));
        c[b] = (rf__candidate){.p = (double)top[b], .id = (int32_t)b};
    }
    select_first(c, blocks, most + excluded, by_share);
    const double bound = c[0].p;                                    /* the worst element of a heap                    */
    for (int64_t b = 0; b < blocks; b++) {
        if ((double)top[b] < bound) continue;
        for (int64_t i = b * each; i < rf__min64(V, (b + 1) * each); i++)
            if ((double)logits[i] >= bound && !(flag[i] & RF__EXCLUDED))
                c[n++] = (rf__candidate){.p = (double)logits[i], .id = (int32_t)i};
    }
    return n;
}

static double penalized(const rf_generate_options *o, const rf__scores *s, int64_t i)
{
    const double score = (double)s->logits[i], less = s->less ? s->less[i] : 0;
    if (!(s->flag[i] & RF__SEEN)) return score;
    return (score > 0 ? score / o->repetition_penalty : score * o->repetition_penalty) - less;
}

static int64_t sort_best(rf__candidate *c, int64_t n, int64_t most)
{
    if (n > most) {
        select_first(c, n, most, by_share);
        n = most;
    }
    qsort(c, (size_t)n, sizeof *c, by_share);
    return n;
}

int64_t rf__best_logprobs(const rfk_table *k, const rf_generate_options *o, const float *logits, double sum, int64_t V,
                        const uint8_t *flag, int64_t most, rf__candidate *c)
{
    const bool plain = o->repetition_penalty == 1 && !o->renormalize_logits && !o->no_repeat_ngram_size;
    const int64_t excluded = o->suppressed + (o->min_new_tokens || o->min_length ? o->stops : 0);
    int64_t n = plain ? few_candidates(k, logits, V, flag, most, excluded, c) : 0;
    for (int64_t i = 0; i < n; i++) c[i].p -= sum;
    if (n) return sort_best(c, n, most);
    for (int64_t i = 0; i < V; i++) {
        const double score = (double)logits[i] - sum;               /* not above 0 */
        if (flag[i] & RF__EXCLUDED) continue;
        c[n++] = (rf__candidate){.p = flag[i] & RF__SEEN ? score * o->repetition_penalty : score, .id = (int32_t)i};
    }
    if (o->renormalize_logits) renormalize(c, n);
    return sort_best(c, n, most);
}

/* The most likely token, without a list of all tokens. */
static int64_t likeliest(const rf_generate_options *o, const rf__scores *s, rf__candidate *c)
{
    int64_t n = 0;
    double most = 0;
    for (int64_t i = 0; i < s->V; i++) {
        if (n && !(s->flag[i] & RF__SEEN) && !((double)s->logits[i] > most)) continue;  /* nearly all */
        if (s->flag[i] & RF__EXCLUDED) continue;
        const rf__candidate x = {.p = penalized(o, s, i), .id = (int32_t)i};
        if (!n++ || before(&x, c)) *c = x, most = x.p;
    }
    if (!n) return 0;
    c->p = 1;
    return 1;
}

/* The tokens that may be sampled, with their probabilities. */
static ranking may_come(const rf_generate_options *o, const rf__scores *s, rf__candidate *c)
{
    ranking r = {.c = c, .order = by_share};
    double most = -INFINITY;
    for (int64_t i = 0; i < s->V; i++) {
        if (s->flag[i] & RF__EXCLUDED) continue;
        c[r.n++] = (rf__candidate){.p = penalized(o, s, i), .id = (int32_t)i};
        most = fmax(most, c[r.n - 1].p);
    }
    if (!r.n) return r;
    for (int64_t i = 0; i < r.n; i++) c[i].p = (c[i].p - most) / o->temperature;      /* at most 0 from here on */
    if (o->top_k && o->top_k < r.n) {
        r.n = sort_best(c, r.n, o->top_k);
        r.ranked = r.n;
    }
    softmax(c, r.n);
    if (o->top_p < 1) cut(&r, o->top_p);
    if (o->min_p > 0) cut_low(&r, o->min_p);
    if (o->typical_p < 1) keep_typical(&r, o->typical_p);
    return r;
}

int64_t rf__candidates(const rf_generate_options *o, const rf__scores *s, rf__candidate *c)
{
    if (!o->do_sample) return likeliest(o, s, c);
    ranking r = may_come(o, s, c);
    rank(&r, r.n);
    return r.n;
}

int32_t rf__draw(const rf_generate_options *o, const rf__scores *s, double left, rf__candidate *c)
{
    if (!o->do_sample) return likeliest(o, s, c) ? c->id : -1;
    ranking r = may_come(o, s, c);
    for (int64_t i = 0; i < r.n; i++) {
        rank(&r, i + 1);
        if ((left -= c[i].p) < 0 || i + 1 == r.n) return c[i].id;
    }
    return -1;
}
