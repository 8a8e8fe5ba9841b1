/* planes.c — how attention and the planes of rotary positions change over a training, or differ between models.
 *
 *     planes FOLDER TEXT[,TEXT...] MODEL...       a line for each model to standard output; FOLDER/planes.gp
 *
 * MODEL is a folder; a folder "checkpoint-N" stands at step N of the picture, others one after the other.
 *
 *     loss       at 128 tokens, with its standard error over stretches
 *     reach      sum_n P(m,n) |m - n| and the entropy of P, for each layer the mean over its heads
 *     near       heads that give more than half of their attention to the token itself and its two neighbours
 *     planes     share of sum_i |q_i| |k_i| in each eighth of the planes, the fastest first, mean over all heads: the most that the
 *                planes can add to a score                                                                                    */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/position_report.h"

enum { LENGTH = 128, PIECES = 16, STRETCHES = 16, EIGHTHS = 8, LAYERS = 64 };

typedef struct line {
    char name[256];
    double step, loss, error, distance[LAYERS], entropy[LAYERS], share[EIGHTHS];
    int64_t L;
    int near, heads;
    bool turns, scored;
} line;

static rf_error why;

static void check(rf_status status, const char *model)
{
    if (!status) return;
    fprintf(stderr, "planes: %s: %s\n", model, why.text);
    exit(1);
}

static void name_of(const char *folder, int number, line *out)
{
    const char *slash = strrchr(folder, '/'), *last = slash && slash[1] ? slash + 1 : folder;
    snprintf(out->name, sizeof out->name, "%s", last);
    out->step = strncmp(last, "checkpoint-", 11) ? number + 1 : atof(last + 11);
}

static bool looks_near(const rf__attention_report *r, int64_t i)
{
    const double T = (double)r->length;
    return r->by_distance[i * r->length] + 2 * (T - 1) / T * r->by_distance[i * r->length + 1] > 0.5;
}

static void add_planes(const rf__attention_report *r, int64_t l, int64_t h, line *out)
{
    const rf__head_sums *s = &r->sums[l];
    const int64_t half = s->r / 2;
    double sum = 0;
    for (int64_t i = 0; i < half; i++) sum += s->query_plane[h * half + i] * s->key_plane[h * half + i];
    for (int64_t i = 0; i < half; i++)
        out->share[i * EIGHTHS / half] += s->query_plane[h * half + i] * s->key_plane[h * half + i] / sum / (double)(r->L * r->H);
}

static void measure_heads(const rf__lab *lab, line *out)
{
    rf__attention_report r;
    check(rf__measure_attention(lab, &r, &why), out->name);
    out->L = rf__min64(r.L, LAYERS);
    out->heads = (int)(r.L * r.H);
    out->turns = r.sums[0].turns;
    for (int64_t i = 0; i < r.L * r.H; i++) {
        const int64_t l = i / r.H;
        out->near += looks_near(&r, i);
        if (l < LAYERS) out->distance[l] += r.distance[i] / (double)r.H, out->entropy[l] += r.entropy[i] / (double)r.H;
        if (out->turns) add_planes(&r, l, i % r.H, out);
    }
    rf__attention_report_free(lab->ctx, &r);
}

static void measure(rf_ctx *ctx, const char *const text[], int texts, const char *folder, line *out)
{
    rf_model *model;
    rf_session *session;
    rf__stretches s;
    rf__length_loss loss[RF__LENGTHS];
    int n = 0;
    check(rf_model_open(ctx, folder, &model, &why), folder);
    check(rf_session_open(model, &session, &why), folder);
    check(rf__stretches_read(ctx, rf_model_tokenizer(model), text, texts, &(rf_reader_options){.split = RF_SPLIT_HEADING}, LENGTH, STRETCHES, &s, &why), folder);
    s.times = 1;                                                /* the first length is enough */
    const rf__lab lab = {.ctx = ctx, .model = model, .session = session, .text = &s, .pieces = PIECES < s.n ? PIECES : s.n, .seed = 42,
                         .mlm_probability = 0.15};
    measure_heads(&lab, out);
    if ((out->scored = rf_model_has_head(model) != 0)) {
        check(rf__measure_lengths(&lab, loss, &n, &why), folder);
        out->loss = loss[0].loss;
        out->error = loss[0].error;
    }
    rf__stretches_free(ctx, &s);
    rf_session_close(session);
    rf_model_close(model);
}

static void print_line(const line *x)
{
    printf("%-20s", x->name);
    if (x->scored) printf(" %7.4f %.4f", x->loss, x->error);
    else printf(" %14s", "-");
    for (int64_t l = 0; l < x->L; l++) printf(" %6.1f/%-5.2f", x->distance[l], x->entropy[l]);
    printf(" %3d of %-3d ", x->near, x->heads);
    for (int i = 0; i < EIGHTHS && x->turns; i++) printf(" %5.1f", 100 * x->share[i]);
    printf("\n");
}

static void draw(const char *folder, const line x[], int n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/planes.gp", folder);
    FILE *to = fopen(path, "w");
    if (!to) fprintf(stderr, "planes: %s cannot be written\n", path), exit(4);
    fprintf(to, "# drawn with: gnuplot planes.gp\n$x << EOD\n");
    for (int i = 0; i < n; i++) {
        fprintf(to, "%g", x[i].step);
        for (int k = 0; k < EIGHTHS; k++) fprintf(to, " %.5f", x[i].share[k]);
        for (int64_t l = 0; l < x[i].L; l++) fprintf(to, " %.4f", x[i].distance[l]);
        fprintf(to, "\n");
    }
    fprintf(to, "EOD\nset terminal svg background rgb 'white' size 1100,420 noenhanced font ',11'\nset output 'planes.svg'\nset multiplot layout 1,2\n"
                "set grid\nset key outside right\nset xlabel 'step'\nset title 'share of |q||k| by eighth of the planes, the fastest first'\nplot ");
    for (int k = 0; k < EIGHTHS; k++) fprintf(to, "%s$x using 1:%d with linespoints title '%d'", k ? ", " : "", k + 2, k);
    fprintf(to, "\nset title 'mean distance of attention, by layer'\nplot ");
    for (int64_t l = 0; l < x[0].L; l++)
        fprintf(to, "%s$x using 1:%lld with linespoints title '%lld'", l ? ", " : "", (long long)l + EIGHTHS + 2, (long long)l);
    fprintf(to, "\nunset multiplot\n");
    fclose(to);
}

int main(int argc, char **argv)
{
    enum { TEXTS = 16 };
    rf_ctx *ctx;
    const char *text[TEXTS];
    int texts = 0;
    if (argc < 4) return fprintf(stderr, "usage: planes FOLDER TEXT[,TEXT...] MODEL...\n"), 2;
    for (char *at = strtok(argv[2], ","); at && texts < TEXTS; at = strtok(NULL, ",")) text[texts++] = at;
    line *x = calloc((size_t)argc, sizeof *x);
    if (!x) return fprintf(stderr, "planes: out of memory\n"), 5;
    check(rf_ctx_new(NULL, &ctx, &why), "context");
    printf("%-20s %7s %6s   distance/entropy of attention by layer | heads that look near | share of |q||k| by eighth of the planes, %%\n", "model", "loss",
           "error");
    for (int i = 3; i < argc; i++) {
        name_of(argv[i], i - 3, &x[i - 3]);
        measure(ctx, text, texts, argv[i], &x[i - 3]);
        print_line(&x[i - 3]);
        fflush(stdout);
    }
    draw(argv[1], x, argc - 3);
    free(x);
    rf_ctx_free(ctx);
    return 0;
}
