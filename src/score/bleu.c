/* bleu.c — BLEU (Papineni et al. 2002).
 *
 *     p_n  = sum over segments of min(count in the system, most in any reference) / n-grams of the system
 *     BP   = exp(1 - r / c) if c < r, else 1        c words of the system, r those of the references nearest in length
 *     BLEU = 100 BP exp(1/N sum_n ln p_n)
 *
 * Smoothing is as Chen and Cherry (2014) number it: floor 1, add-k 2, exp 3.                                         */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "score.h"

static int counts(const rf_mt_options *o) { return 2 + 2 * o->max_order; }

static rf__mt_symbols words_of(rf__mt_scratch *s, const rf__mt_line *line)
{
    rf__mt_load(s, line->text, line->size, s->options->lowercase > 0);
    rf__mt_tokenize(s, s->options->tokenizer);
    return rf__mt_words_of(s, false);
}

/* The largest count of each n-gram in any reference; the n-grams are s->seen[from, to). */
static void take_most(rf__mt_scratch *s, size_t from, size_t to)
{
    const uint32_t *seen = s->seen.at;
    uint32_t *count = s->count.at, *most = s->most.at;
    for (size_t i = from; i < to; i++)
        if (++count[seen[i]] > most[seen[i]]) most[seen[i]] = count[seen[i]];
    for (size_t i = from; i < to; i++) count[seen[i]] = 0;
}

static void segment(rf__mt_scratch *s, const rf__mt_line *system, const rf__mt_line *reference, int references,
                    int32_t *out)
{
    const int orders = s->options->max_order;
    const rf__mt_symbols t = words_of(s, system);
    int64_t nearest = -1;
    rf__mt_grams(s, t, orders, 0);
    const size_t own = s->seen.n;
    s->edit[0].n = 0;
    if (!rf__mt_reserve(s, &s->edit[0], (size_t)references)) return;
    for (int i = 0; i < references; i++) {
        const rf__mt_symbols r = words_of(s, &reference[i]);
        const int64_t n = (int64_t)r.n, off = llabs(n - (int64_t)t.n), best = llabs(nearest - (int64_t)t.n);
        if (nearest < 0 || off < best || (off == best && n < nearest)) nearest = n;
        rf__mt_grams(s, r, orders, 0);
        if (!s->failed) s->edit[0].at[i] = (uint32_t)s->seen.n;
    }
    if (s->failed || !rf__mt_count_space(s)) return;
    for (int i = 0; i < references; i++) take_most(s, i ? s->edit[0].at[i - 1] : own, s->edit[0].at[i]);
    out[0] = (int32_t)t.n;
    out[1] = (int32_t)nearest;
    const uint32_t *gram = s->seen.at;
    for (int k = 1; k <= orders; k++) {
        const size_t n = rf__mt_grams_n(t, k);
        int32_t correct = 0;
        for (size_t i = 0; i < n; i++, gram++) correct += s->count.at[*gram]++ < s->most.at[*gram];
        out[1 + k] = correct;
        out[1 + orders + k] = (int32_t)n;
    }
}

static double value_of(const rf_mt_options *o)
{
    return o->smooth_value >= 0 ? o->smooth_value : o->smooth == RF_MT_FLOOR ? 0.1 : 1;
}

static double precision(const rf_mt_options *o, double correct, double total, double *halves, bool single)
{
    if (correct > 0) return rf__mt_round(rf__mt_round(100 * correct, single) / total, single);
    if (o->smooth == RF_MT_EXP) {
        *halves *= 2;
        return rf__mt_round(100 / rf__mt_round(*halves * total, single), single);
    }
    return o->smooth == RF_MT_FLOOR ? rf__mt_round(rf__mt_round(100 * value_of(o), single) / total, single) : 0;
}

static void compute_bleu(const rf_mt_options *o, int references, const int64_t *sum, bool single, rf_mt_score *out)
{
    (void)references;
    const int orders = o->max_order;
    const int64_t c = sum[0], r = sum[1];
    *out = (rf_mt_score){.length = c, .reference = (double)r, .brevity = 1};
    if (c < r) out->brevity = c ? exp(1 - (double)r / (double)c) : 0;
    bool none = true;
    for (int k = 0; k < orders; k++) none &= sum[2 + k] == 0;
    if (none) return;
    double halves = 1, logs = 0;
    int used = orders;
    for (int k = 0; k < orders; k++) {
        const double more = o->smooth == RF_MT_ADD_K && k ? value_of(o) : 0;
        const double correct = (double)sum[2 + k] + more, total = (double)sum[2 + orders + k] + more;
        if (total <= 0) break;
        if (o->effective_order) used = k + 1;
        out->precision[k] = precision(o, correct, total, &halves, single);
    }
    for (int k = 0; k < used; k++) logs += out->precision[k] > 0 ? log(out->precision[k]) : -9999999999;
    out->score = out->brevity * exp(logs / used);
}

static void signature(const rf_mt_options *o, char *out, size_t size)
{
    static const char *const name[] = {"exp", "floor", "add-k", "none"};
    char value[32] = "";
    if (o->smooth == RF_MT_FLOOR || o->smooth == RF_MT_ADD_K) snprintf(value, sizeof value, "[%.2f]", value_of(o));
    snprintf(out, size, "case:%s|eff:%s|tok:%s|smooth:%s%s", o->lowercase > 0 ? "lc" : "mixed",
             o->effective_order ? "yes" : "no", rf__mt_tokenizer_name(o->tokenizer), name[o->smooth], value);
}

const rf__mt_row rf__mt_bleu = {
    .name = "BLEU", .counts = counts, .segment = segment, .score = compute_bleu, .signature = signature};
