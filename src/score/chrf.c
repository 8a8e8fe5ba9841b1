/* chrf.c — chrF (Popovic 2015) and chrF++ (Popovic 2017): F-score of n-grams of characters, and of words.
 *
 *     P, R   means over the orders of which both texts have n-grams: matches / n-grams of the system, of the reference
 *     chrF   = 100 (1 + b^2) P R / (b^2 P + R)
 *
 * White space is ignored.  With several references, the largest F-score counts.                                      */
#include <stdio.h>

#include "score.h"

static int counts(const rf_mt_options *o) { return 3 * (o->char_order + o->word_order); }

/* A text's characters and words as n-grams. */
typedef struct grams { size_t from; rf__mt_symbols chars, words; } grams;

static grams grams_of(rf__mt_scratch *s, const rf__mt_line *line)
{
    const rf_mt_options *o = s->options;
    grams g = {.from = s->seen.n};
    rf__mt_load(s, line->text, line->size, o->lowercase > 0);
    g.chars = rf__mt_chars_of(s);
    if (o->word_order) g.words = rf__mt_words_of(s, true);
    rf__mt_grams(s, g.chars, o->char_order, 0);
    rf__mt_grams(s, g.words, o->word_order, 1);
    return g;
}

static size_t n_of(const rf_mt_options *o, const grams *g, int k)
{
    return k < o->char_order ? rf__mt_grams_n(g->chars, k + 1) : rf__mt_grams_n(g->words, k - o->char_order + 1);
}

static double f_score(const rf_mt_options *o, const int64_t *sum, bool single)
{
    const double b2 = (double)o->beta * o->beta;
    double P = 0, R = 0;
    int orders = 0;
    for (int k = 0; k < o->char_order + o->word_order; k++) {
        const int64_t *c = sum + 3 * (ptrdiff_t)k;
        if (!c[0] || !c[1]) continue;
        P = rf__mt_round(P + rf__mt_round((double)c[2] / (double)c[0], single), single);
        R = rf__mt_round(R + rf__mt_round((double)c[2] / (double)c[1], single), single);
        orders++;
    }
    if (!orders || P + R <= 0) return 0;
    P = rf__mt_round(P / orders, single);
    R = rf__mt_round(R / orders, single);
    const double above = rf__mt_round(rf__mt_round((1 + b2) * P, single) * R, single);
    const double below = rf__mt_round(rf__mt_round(b2 * P, single) + R, single);
    return rf__mt_round(100 * rf__mt_round(above / below, single), single);
}

/* Matches of the system with one reference: the smaller count of each n-gram. */
static void match(rf__mt_scratch *s, const grams *system, const grams *reference, int64_t *out)
{
    const rf_mt_options *o = s->options;
    const uint32_t *h = s->seen.at + system->from, *r = s->seen.at + reference->from;
    uint32_t *count = s->count.at;
    for (int k = 0; k < o->char_order + o->word_order; k++) {
        const size_t n = n_of(o, system, k), m = n_of(o, reference, k);
        int64_t matches = 0;
        for (size_t i = 0; i < m; i++) count[r[i]]++;
        for (size_t i = 0; i < n; i++) {
            if (!count[h[i]]) continue;
            count[h[i]]--;
            matches++;
        }
        for (size_t i = 0; i < m; i++) count[r[i]] = 0;
        out[3 * k] = m ? (int64_t)n : 0;
        out[3 * k + 1] = (int64_t)m;
        out[3 * k + 2] = matches;
        h += n;
        r += m;
    }
}

static void segment(rf__mt_scratch *s, const rf__mt_line *system, const rf__mt_line *reference, int references,
                    int32_t *out)
{
    const int all = counts(s->options);
    int64_t sum[RF_MT_COUNTS];
    double best = -1;
    for (int i = 0; i < references; i++) {
        rf__mt_segment_begin(s);
        const grams h = grams_of(s, system), r = grams_of(s, &reference[i]);
        if (s->failed || !rf__mt_count_space(s)) return;
        match(s, &h, &r, sum);
        const double f = f_score(s->options, sum, false);
        if (f <= best) continue;
        best = f;
        for (int k = 0; k < all; k++) out[k] = (int32_t)sum[k];
    }
}

static void compute_chrf(const rf_mt_options *o, int references, const int64_t *sum, bool single, rf_mt_score *out)
{
    (void)references;
    *out = (rf_mt_score){.score = f_score(o, sum, single)};
}

static void signature(const rf_mt_options *o, char *out, size_t size)
{
    snprintf(out, size, "case:%s|eff:yes|nc:%d|nw:%d|space:no", o->lowercase > 0 ? "lc" : "mixed", o->char_order,
             o->word_order);
}

const rf__mt_row rf__mt_chrf = {
    .name = "chrF", .counts = counts, .segment = segment, .score = compute_chrf, .signature = signature};
