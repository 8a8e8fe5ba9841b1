/* metrics.c — metrics of classes, numbers and entities; those of text answers are in metrics_answers.c. */
#include <math.h>
#include <stdlib.h>

#include "task/metrics.h"

static double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/* ---- classes ---- */

double rf_accuracy(const int32_t label[], const int32_t predicted[], size_t n)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) hits += label[i] == predicted[i];
    return n ? (double)hits / (double)n : (double)NAN;
}

double rf__mean_absolute_error(const int32_t label[], const int32_t predicted[], size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += abs(label[i] - predicted[i]);
    return n ? sum / (double)n : (double)NAN;
}

/* All pairs: n (sum y^2 + sum p^2) - 2 sum y sum p.  Integers below 2^53, so exact. */
double rf__quadratic_kappa(const int32_t label[], const int32_t predicted[], size_t n)
{
    double y = 0, p = 0, squares = 0, apart = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = label[i], b = predicted[i];
        y += a;
        p += b;
        squares += a * a + b * b;
        apart += (a - b) * (a - b);
    }
    const double pairs = (double)n * squares - 2 * y * p;
    return pairs > 0 ? 1 - (double)n * apart / pairs : (double)NAN;
}

static void rate(rf_class_metrics *s)
{
    s->precision = ratio((double)s->hits, (double)s->predictions);
    s->recall = ratio((double)s->hits, (double)s->labels);
    s->f1 = ratio(2 * (double)s->hits, (double)s->predictions + (double)s->labels);
}

void rf_metrics_by_class(const int32_t label[], const int32_t predicted[], size_t n, int32_t classes,
                      rf_class_metrics out[])
{
    for (int32_t k = 0; k < classes; k++) out[k] = (rf_class_metrics){0};
    for (size_t i = 0; i < n; i++) {
        out[label[i]].labels++;
        out[predicted[i]].predictions++;
        out[label[i]].hits += label[i] == predicted[i];
    }
    for (int32_t k = 0; k < classes; k++) rate(&out[k]);
}

double rf__f1_macro(const rf_class_metrics of[], int32_t classes)
{
    double sum = 0;
    int32_t seen = 0;
    for (int32_t k = 0; k < classes; k++) {
        if (!of[k].labels && !of[k].predictions) continue;
        sum += of[k].f1;
        seen++;
    }
    return ratio(sum, seen);
}

static rf_class_metrics cells(const uint8_t label[], const uint8_t predicted[], size_t n, size_t stride)
{
    rf_class_metrics s = {0};
    for (size_t i = 0; i < n; i++) {
        s.labels += label[i * stride] != 0;
        s.predictions += predicted[i * stride] != 0;
        s.hits += label[i * stride] && predicted[i * stride];
    }
    rate(&s);
    return s;
}

double rf__f1_cells(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K)
{
    return cells(label, predicted, n * (size_t)K, 1).f1;
}

double rf__f1_labels(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K)
{
    double sum = 0;
    for (int32_t k = 0; k < K; k++) sum += cells(label + k, predicted + k, n, (size_t)K).f1;
    return ratio(sum, K);
}

double rf_matthews(const rf_class_metrics of[], int32_t classes, size_t n)
{
    double hits = 0, both = 0, predictions = 0, labels = 0;
    const double all = (double)n;
    for (int32_t k = 0; k < classes; k++) {
        const double p = (double)of[k].predictions, t = (double)of[k].labels;
        hits += (double)of[k].hits;
        both += p * t;
        predictions += p * p;
        labels += t * t;
    }
    const double under = (all * all - predictions) * (all * all - labels);
    return under == 0 ? 0 : (hits * all - both) / sqrt(under);
}

/* ---- correlations ---- */

double rf_pearson(const double x[], const double y[], size_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    bool x_same = true, y_same = true;
    if (n < 2) return NAN;
    for (size_t i = 0; i < n; i++) {
        mx += x[i];
        my += y[i];
        x_same = x_same && x[i] == x[0];
        y_same = y_same && y[i] == y[0];
    }
    if (x_same || y_same) return NAN;
    mx /= (double)n;
    my /= (double)n;
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    xx = sqrt(xx);
    yy = sqrt(yy);
    for (size_t i = 0; i < n; i++) xy += (x[i] - mx) / xx * ((y[i] - my) / yy);
    return xy > 1 ? 1 : xy < -1 ? -1 : xy;                 /* rounding may exceed the limits; NaN stays */
}

typedef struct ranked { double value; size_t index; } ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    return (p->value > q->value) - (p->value < q->value);
}

static void ranks(const double x[], size_t n, ranked *sorted, double *rank)
{
    for (size_t i = 0; i < n; i++) sorted[i] = (ranked){x[i], i};
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].value == sorted[i].value; end++) continue;
        for (size_t j = i; j < end; j++) rank[sorted[j].index] = ((double)i + (double)end + 1) / 2;
    }
}

rf_status rf_spearman(const rf_ctx *ctx, const double x[], const double y[], size_t n, double *out, rf_error *why)
{
    if (!(ctx && out && ((x && y) || !n))) return rf__missing("rf_spearman", "ctx, x, y, out", why);
    *out = NAN;
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]) || isnan(y[i])) return RF_OK;
    ranked *sorted = rf__calloc(ctx, n + 1, sizeof *sorted);
    double *rank = rf__calloc(ctx, 2 * n + 1, sizeof *rank);
    const bool fine = sorted && rank;
    if (fine) {
        ranks(x, n, sorted, rank);
        ranks(y, n, sorted, rank + n);
        *out = rf_pearson(rank, rank + n, n);
    }
    rf__free(ctx, sorted);
    rf__free(ctx, rank);
    return fine ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: ranks of %zu numbers", n);
}

/* ---- entities ---- */

typedef struct tag { char kind; const char *type; } tag;         /* kind 'B', 'I', 'E', 'S' or 'O'                    */

static tag tag_of(const char *name)
{
    static const char written[] = "BIESLUM", meant[] = "BIESESI";
    const char *at = *name ? strchr(written, *name) : NULL;
    if (!at || (name[1] && name[1] != '-')) return (tag){'O', ""};
    return (tag){meant[at - written], name[1] ? name + 2 : ""};
}

bool rf__tag_is_entity(const char *name) { return tag_of(name).kind != 'O'; }

bool rf__tags_are_entities(const char *const name[], int64_t n)
{
    int64_t typed = 0, bare = 0, outside = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!strcmp(name[i], "O")) outside++;
        else if (tag_of(name[i]).kind == 'O') continue;
        else if (name[i][1]) typed++;
        else bare++;
    }
    return typed || (bare && bare + outside == n);
}

/* seqeval's start_of_chunk and end_of_chunk. */
static bool begins(tag before, tag now)
{
    if (now.kind == 'O') return false;
    return now.kind == 'B' || now.kind == 'S' || before.kind == 'O' || before.kind == 'E' || before.kind == 'S' ||
           strcmp(before.type, now.type);
}

static bool ends(tag now, tag next)
{
    if (now.kind == 'O') return false;
    return now.kind == 'E' || now.kind == 'S' || next.kind == 'O' || next.kind == 'B' || next.kind == 'S' ||
           strcmp(now.type, next.type);
}

void rf__count_entities(const char *const label[], const char *const predicted[], size_t n, rf__entity_count *add)
{
    const tag none = {'O', ""};
    tag before[2] = {none, none};
    bool together = false;               /* an entity of both sides began at the same word and is of the same type */
    for (size_t i = 0; i < n; i++) {
        const tag now[2] = {tag_of(label[i]), tag_of(predicted[i])};
        const tag next[2] = {i + 1 < n ? tag_of(label[i + 1]) : none, i + 1 < n ? tag_of(predicted[i + 1]) : none};
        const bool b[2] = {begins(before[0], now[0]), begins(before[1], now[1])};
        const bool e[2] = {ends(now[0], next[0]), ends(now[1], next[1])};
        add->labels += b[0];
        add->predictions += b[1];
        if (b[0] || b[1]) together = b[0] && b[1] && !strcmp(now[0].type, now[1].type);
        if (together && e[0] && e[1]) add->hits++;
        if (e[0] || e[1]) together = false;
        before[0] = now[0];
        before[1] = now[1];
    }
}

double rf__entity_f1(const rf__entity_count *c)
{
    return ratio(2 * (double)c->hits, (double)(c->labels + c->predictions));
}
