/* decay.c — RoFormer's long-term decay (section 3.4.3): the bound at every distance to 10^6, and what a trained model's
 * scores do.
 *
 *     decay FOLDER MODEL TEXT...          the table to standard output; FOLDER/bound.gp and FOLDER/scores.gp
 *
 *     bound      B_d(m) = 2/d sum_{j=1..d/2} |S_j|,   S_j = sum_{i<j} exp(i m theta_i),   theta_i = 10000^(-2i/d)
 *                Eq. 37
 *     score      s(m) = <E q, R(m) E k> / sqrt D: the mean over all pairs of a query and a key of the text, put m apart
 *     Abel       |s(m)| <= max_j |h_{j+1} - h_j| sum_j |S_j| / sqrt D,   h_j = q_j conj(k_j),   h_{d/2} = 0
 *                Eq. 36 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/inspect/positions.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { FAR = 1000000, LENGTH = 128, PIECES = 32, SAMPLES = 400, DECADES = 7 };

static rf_error why;

static void check(rf_status status)
{
    if (!status) return;
    fprintf(stderr, "decay: %s\n", why.text);
    exit(1);
}

static void *need(void *p)
{
    if (!p) fprintf(stderr, "decay: out of memory\n"), exit(5);
    return p;
}

/* ---- the bound ---- */

static double bound(int64_t half, const double theta[], double m)
{
    double re = 0, im = 0, sum = 0;
    for (int64_t i = 0; i < half; i++) {
        re += cos(m * theta[i]);
        im += sin(m * theta[i]);
        sum += sqrt(re * re + im * im);
    }
    return sum / (double)half;
}

static void frequencies(int64_t d, double theta[])
{
    for (int64_t i = 0; i < d / 2; i++) theta[i] = pow(10000, -2 * (double)i / (double)d);
}

/* Computed beforehand in float64 by another program. */
static const struct golden { int d, m; double value;
} goldens[] = {
    {64, 0, 16.5},        {64, 1, 15.947764},   {64, 2, 14.484515},   {64, 5, 10.427632},    {64, 10, 8.814334},
    {64, 20, 8.010578},   {64, 50, 5.733077},   {64, 100, 7.465277},  {64, 150, 4.224175},   {64, 200, 3.860478},
    {64, 250, 3.6687},    {64, 1000, 4.089691}, {128, 0, 32.5},       {128, 1, 31.538166},   {128, 2, 28.955988},
    {128, 5, 20.845358},  {128, 10, 17.954137}, {128, 20, 15.24243},  {128, 50, 12.629452},  {128, 100, 10.22733},
    {128, 150, 7.588477}, {128, 200, 7.244771}, {128, 250, 6.548179}, {128, 1000, 4.470761}, {256, 0, 64.5},
    {256, 1, 62.711337},  {256, 10, 36.217668}, {256, 50, 22.632196}, {256, 100, 18.616113}, {256, 250, 12.788443},
};

static void compare_goldens(void)
{
    double worst = 0, theta[128];
    for (size_t i = 0; i < COUNT(goldens); i++) {
        frequencies(goldens[i].d, theta);
        worst = fmax(worst, fabs(bound(goldens[i].d / 2, theta, goldens[i].m) / goldens[i].value - 1));
    }
    printf(
        "%zu values known from elsewhere (d = 64, 128, 256; distances 0 to 1000): largest relative difference %.1e\n",
        COUNT(goldens), worst);
    if (worst > 1e-6) fprintf(stderr, "decay: the bound is not that of the paper\n"), exit(1);
}

/* Distances 10^(k-1) .. 10^k - 1 of decade k; decade 0 is distance 0. */
static int decade(int64_t m)
{
    int k = 0;
    for (int64_t top = 1; m >= top && k + 1 < DECADES + 1; top *= 10) k++;
    return k;
}

struct band { double low, high, sum; int64_t n; };

static void add(struct band *b, double x)
{
    b->low = b->n ? fmin(b->low, x) : x;
    b->high = b->n ? fmax(b->high, x) : x;
    b->sum += x;
    b->n++;
}

/* Bands of the logarithm of the distance, 20 in a decade. */
enum { BANDS = 120 };

static void bound_of(int64_t d, FILE *to)
{
    const int64_t half = d / 2;
    double theta[128], before = 0, floor_value = 0;
    struct band in[DECADES + 1] = {{0}}, band[BANDS] = {{0}};
    int64_t rises = 0, last_above = 0;
    frequencies(d, theta);
    for (int64_t j = 1; j <= half; j++) floor_value += sqrt(acos(-1) * (double)j) / 2 / (double)half;
    fprintf(to, "$near%d << EOD\n", (int)d);
    for (int64_t m = 0; m <= FAR; m++) {
        const double b = bound(half, theta, (double)m);
        add(&in[decade(m)], b);
        if (m && m < FAR) add(&band[(int)(20 * log10((double)m))], b);
        if (m && m <= 250) rises += b > before;
        if (b > ((double)half + 1) / 4) last_above = m;
        if (m <= 250) fprintf(to, "%d %.6f\n", (int)m, b);
        before = b;
    }
    fprintf(to, "EOD\n$far%d << EOD\n", (int)d);
    for (int k = 0; k < BANDS; k++)
        if (band[k].n)
            fprintf(to, "%.6g %.6f %.6f %.6f\n", pow(10, ((double)k + 0.5) / 20), band[k].sum / (double)band[k].n,
                    band[k].low, band[k].high);
    fprintf(to, "EOD\n");
    printf("\nd = %d: %.2f at distance 0; %d of the first 250 steps rise; above half of the start for the last time at "
           "%lld;\n"
           "        slowest plane: a revolution in %.0f tokens; planes at random angles would give %.2f\n",
           (int)d, ((double)half + 1) / 2, (int)rises, (long long)last_above, 2 * acos(-1) / theta[half - 1],
           floor_value);
    printf("        %-20s %8s %8s %8s\n", "distances", "mean", "least", "largest");
    for (int k = 1; k < DECADES; k++)
        printf("        %8.0f to %-8.0f %8.3f %8.3f %8.3f\n", pow(10, k - 1),
               k == DECADES - 1 ? (double)FAR - 1 : pow(10, k) - 1, in[k].sum / (double)in[k].n, in[k].low, in[k].high);
}

static void bounds(const char *folder)
{
    static const int widths[] = {32, 64, 128};
    char path[4096];
    snprintf(path, sizeof path, "%s/bound.gp", folder);
    FILE *to = fopen(path, "w");
    if (!to) fprintf(stderr, "decay: %s cannot be written\n", path), exit(4);
    printf("1. The bound of section 3.4.3, 2/d sum |S_j|, at every distance from 0 to %d\n\n", FAR);
    fprintf(to, "# drawn with: gnuplot bound.gp\n");
    compare_goldens();
    for (size_t i = 0; i < COUNT(widths); i++) bound_of(widths[i], to);
    fprintf(to, "set terminal svg background rgb 'white' size 1100,460 noenhanced font ',11'\nset output 'bound.svg'\n"
                "set multiplot layout 1,2\nset grid\nset ylabel 'relative upper bound'\nset xlabel 'distance'\nset "
                "title 'as in the paper'\nplot ");
    for (size_t i = 0; i < COUNT(widths); i++)
        fprintf(to, "%s$near%d using 1:2 with lines title 'd = %d'", i ? ", " : "", widths[i], widths[i]);
    fprintf(to, "\nset title 'to 10^6: mean, least and largest'\nset logscale x\nset format x '%%g'\nplot ");
    for (size_t i = 0; i < COUNT(widths); i++)
        fprintf(to,
                "%s$far%d using 1:3:4 with filledcurves linetype %d fillstyle transparent solid 0.25 noborder notitle, "
                "$far%d using 1:2 with lines linetype %d title 'd = %d'",
                i ? ", " : "", widths[i], (int)i + 1, widths[i], (int)i + 1, widths[i]);
    fprintf(to, "\nunset multiplot\n");
    fclose(to);
}

/* ---- scores of a trained model ---- */

/* Offsets of bin k >= 1 are 4^(k-1) .. 4^k - 1; at most SAMPLES of them, evenly spaced. */
enum { BINS = 11 };

struct heads { int64_t L, H, D; double near[BINS], square[BINS]; int falls[BINS], heads; double ratio, ratios; };

/* max_j |h_{j+1} - h_j| of the mean query and key of a head, in units of its score. */
static double steepest(const rf_head_sums *s, int64_t h)
{
    const int64_t half = s->D / 2;
    const double n = (double)s->tokens * (double)s->tokens;
    double most = 0, re = 0, im = 0;
    for (int64_t j = half; j-- > 0;) {
        const int64_t a = s->layout == RF_ROPE_PAIRS ? 2 * j : j, b = s->layout == RF_ROPE_PAIRS ? 2 * j + 1 : j + half;
        const double *q = s->query + h * s->D, *k = s->key + h * s->D;
        const double x = (q[a] * k[a] + q[b] * k[b]) / n, y = (q[b] * k[a] - q[a] * k[b]) / n;
        most = fmax(most, hypot(re - x, im - y));
        re = x, im = y;
    }
    return most / sqrt((double)s->D);
}

static double far_mean(const rf_head_sums *s, int64_t h, double *workspace)
{
    double sum = 0, mean, variance;
    for (int i = 0; i < 2 * SAMPLES; i++) {
        rf_head_score(s, h, (i % 2 ? -1 : 1) * (100000 + 2203. * (double)i / 2), workspace, &mean, &variance);
        sum += mean / (2 * SAMPLES);
    }
    return sum;
}

static void add_head(struct heads *t, const rf_head_sums *s, int64_t h, double *workspace)
{
    const double far = far_mean(s, h, workspace), steep = steepest(s, h);
    double mean[BINS] = {0};
    for (int k = 0; k < BINS; k++) {
        const int64_t first = k ? (int64_t)1 << (2 * (k - 1)) : 0, size = k ? 3 * first : 1,
                      n = size < SAMPLES ? size : SAMPLES;
        double square = 0;
        for (int64_t i = 0; i < 2 * n; i++) {
            const double m = (double)(first + i / 2 * size / n);
            double score, variance;
            rf_head_score(s, h, i % 2 ? -m : m, workspace, &score, &variance);
            mean[k] += (score - far) / (double)(2 * n);
            square += (score - far) * (score - far) / (double)(2 * n);
            if (k) {
                t->ratio += fabs(score) / (steep * bound(s->D / 2, s->theta, m) * (double)(s->D / 2));
                t->ratios++;
            }
        }
        t->near[k] += mean[k];
        t->square[k] += square;
    }
    for (int k = 0; k + 1 < BINS; k++) t->falls[k] += mean[k] > mean[k + 1];
    t->heads++;
}

static struct heads tally(const rf_attention_report *r)
{
    struct heads t = {.L = r->L, .H = r->H, .D = r->sums[0].D};
    double *workspace = need(malloc((size_t)(t.D * t.D) * sizeof *workspace));
    for (int64_t l = 0; l < r->L; l++)
        for (int64_t h = 0; h < r->H; h++) add_head(&t, &r->sums[l], h, workspace);
    free(workspace);
    return t;
}

static void print_scores(const struct heads *t, const struct heads *fresh)
{
    printf("\n2. Mean score of all queries with all keys, were they m apart, less its mean beyond 10^5: %d heads, both "
           "directions\n\n",
           t->heads);
    printf("        %-20s %10s %22s %22s %30s\n", "offsets |m|", "mean", "root mean square", "of untrained weights",
           "heads that fall to the next row");
    for (int k = 0; k < BINS; k++) {
        const int64_t first = k ? (int64_t)1 << (2 * (k - 1)) : 0;
        printf("        %8lld to %-8lld %10.3f %22.3f %22.4f", (long long)first, (long long)(k ? 4 * first - 1 : 0),
               t->near[k] / t->heads, sqrt(t->square[k] / t->heads), sqrt(fresh->square[k] / fresh->heads));
        if (k + 1 < BINS) printf(" %24d of %d", t->falls[k], t->heads);
        printf("\n");
    }
    printf("        |score| is %.4f of what Eq. 36 allows, in the mean over offsets and heads\n", t->ratio / t->ratios);
}

/* Mean attention to a key, in units of 1 / length, without the ends of the piece. */
static void print_attention(const rf_attention_report *r)
{
    printf("\n3. Mean attention to a key m places away, times %d (1: the same everywhere), pieces of %d tokens\n\n     "
           "   %-12s",
           LENGTH, LENGTH, "layer, head");
    for (int64_t first = 0; first < r->length; first = first ? 2 * first : 1)
        printf("%6lld-%-4lld", (long long)first, (long long)(first ? 2 * first - 1 : 0));
    printf("\n");
    for (int64_t i = 0; i < r->L * r->H; i++) {
        printf("        %5lld, %-5lld", (long long)(i / r->H), (long long)(i % r->H));
        for (int64_t first = 0; first < r->length; first = first ? 2 * first : 1) {
            double sum = 0, pairs = 0;
            for (int64_t d = first; d < (first ? 2 * first : 1) && d < r->length; d++) {
                const double n = (double)(r->length - d);
                sum += n * r->by_distance[i * r->length + d];
                pairs += n;
            }
            printf("%9.3f  ", sum / pairs * (double)r->length);
        }
        printf("\n");
    }
}

static void draw_scores(const char *folder, const rf_attention_report *r)
{
    char path[4096];
    double *workspace = need(malloc((size_t)(r->sums[0].D * r->sums[0].D) * sizeof *workspace)), mean, variance;
    snprintf(path, sizeof path, "%s/scores.gp", folder);
    FILE *to = fopen(path, "w");
    if (!to) fprintf(stderr, "decay: %s cannot be written\n", path), exit(4);
    fprintf(to, "# drawn with: gnuplot scores.gp\n");
    for (int64_t l = 0; l < r->L; l++) {
        fprintf(to, "$s%lld << EOD\n", (long long)l);
        for (int64_t m = -256; m <= 256; m++) {
            fprintf(to, "%lld", (long long)m);
            for (int64_t h = 0; h < r->H; h++) {
                rf_head_score(&r->sums[l], h, (double)m, workspace, &mean, &variance);
                fprintf(to, " %.4f", mean);
            }
            fprintf(to, "\n");
        }
        fprintf(to, "EOD\n");
    }
    fprintf(to,
            "set terminal svg background rgb 'white' size 1100,%lld noenhanced font ',11'\nset output 'scores.svg'\n"
            "set multiplot layout %lld,2 title 'mean score of all queries with all keys over the offset of the "
            "key'\nset grid\nset xrange [-256:256]\n"
            "set key font ',8'\n",
            (long long)(40 + 300 * ((r->L + 1) / 2)), (long long)((r->L + 1) / 2));
    for (int64_t l = 0; l < r->L; l++) {
        fprintf(to, "set title 'layer %lld'\nplot ", (long long)l);
        for (int64_t h = 0; h < r->H; h++)
            fprintf(to, "%s$s%lld using 1:%lld with lines title 'head %lld'", h ? ", " : "", (long long)l,
                    (long long)h + 2, (long long)h);
        fprintf(to, "\n");
    }
    fprintf(to, "unset multiplot\n");
    fclose(to);
    free(workspace);
}

static rf_attention_report measure(rf_ctx *ctx, const rf_model *m, const rf_model *words, const rf_stretches *text)
{
    rf_session *session;
    rf_attention_report r;
    check(rf_session_open(m, &session, &why));
    rf_probe lab;
    rf_probe_defaults(&lab);
    lab.ctx = ctx, lab.model = words, lab.session = session, lab.text = text;
    lab.pieces = PIECES < text->n ? PIECES : text->n;
    check(rf_probe_attention(&lab, &r, &why));
    rf_session_close(session);
    if (!r.sums[0].rotates) fprintf(stderr, "decay: the model does not rotate\n"), exit(3);
    return r;
}

int main(int argc, char **argv)
{
    rf_ctx *ctx;
    rf_model *model, *untrained;
    rf_stretches text;
    rf_reader_options reader;
    rf_reader_defaults(&reader);
    reader.split = RF_SPLIT_HEADING;
    if (argc < 4) return fprintf(stderr, "usage: decay FOLDER MODEL TEXT...\n"), 2;
    bounds(argv[1]);
    fflush(stdout);
    check(rf_ctx_new(NULL, &ctx, &why));
    check(rf_model_open(ctx, argv[2], &model, &why));
    check(rf_model_random(ctx, rf_model_config(model), 1, &untrained, &why));
    check(rf_stretches_read(ctx, rf_model_tokenizer(model), (const char *const *)argv + 3, argc - 3, &reader, LENGTH,
                             PIECES, &text, &why));
    rf_attention_report r = measure(ctx, model, model, &text), fresh = measure(ctx, untrained, model, &text);
    const struct heads trained = tally(&r), random = tally(&fresh);
    print_scores(&trained, &random);
    print_attention(&r);
    draw_scores(argv[1], &r);
    rf_attention_report_free(ctx, &r);
    rf_attention_report_free(ctx, &fresh);
    rf_stretches_free(ctx, &text);
    rf_model_close(untrained);
    rf_model_close(model);
    rf_ctx_free(ctx);
    return 0;
}
