/* planes.c — how attention and the planes of rotary positions change over a training, or differ between models.
 *
 *     planes FOLDER TEXT[,TEXT...] MODEL...       a line for each model to standard output; FOLDER/planes.gp
 *
 * MODEL is a folder; a folder "checkpoint-N" is at step N of the plot, others are one after the other.
 *
 *     loss       of masked tokens in pieces of 128, with its standard error over parts of text
 *     order      increase of the loss if all tokens have position 0: the benefit of positions
 *     reach      sum_n P(m,n) |m - n| and the entropy of P, for each layer the mean over its heads
 *     near       heads that give more than half of their attention to the token itself and its two neighbors
 *     planes     share of sum_i |q_i| |k_i| in each eighth of the planes, the fastest first, mean over all heads: the
 *                most that the planes can add to a score                                                             */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/context.h"
#include "roformer/inspect/positions.h"

enum { LENGTH = 128, PIECES = 16, STRETCHES = 16, EIGHTHS = 8, LAYERS = 64 };

typedef struct line {
    char name[256];
    double step, loss, error, order, order_error, distance[LAYERS], entropy[LAYERS], share[EIGHTHS];
    int64_t L;
    int near, heads;
    bool rotates, scored, step_known;
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
    out->step_known = !strncmp(last, "checkpoint-", 11);
    out->step = out->step_known ? atof(last + 11) : number + 1;
}

static bool looks_near(const rf_attention_report *r, int64_t i)
{
    const double T = (double)r->length;
    return r->by_distance[i * r->length] + 2 * (T - 1) / T * r->by_distance[i * r->length + 1] > 0.5;
}

static void add_planes(const rf_attention_report *r, int64_t l, int64_t h, line *out)
{
    const rf_head_sums *s = &r->sums[l];
    const int64_t half = s->r / 2;
    double sum = 0;
    for (int64_t i = 0; i < half; i++) sum += s->query_plane[h * half + i] * s->key_plane[h * half + i];
    for (int64_t i = 0; i < half; i++)
        out->share[i * EIGHTHS / half] +=
            s->query_plane[h * half + i] * s->key_plane[h * half + i] / sum / (double)(r->L * r->H);
}

static void measure_heads(const rf_probe *lab, line *out)
{
    rf_attention_report r;
    check(rf_probe_attention(lab, &r, &why), out->name);
    out->L = r.L < LAYERS ? r.L : LAYERS;
    out->heads = (int)(r.L * r.H);
    out->rotates = r.sums[0].rotates;
    for (int64_t i = 0; i < r.L * r.H; i++) {
        const int64_t l = i / r.H;
        out->near += looks_near(&r, i);
        if (l < LAYERS) out->distance[l] += r.distance[i] / (double)r.H, out->entropy[l] += r.entropy[i] / (double)r.H;
        if (out->rotates) add_planes(&r, l, i % r.H, out);
    }
    rf_attention_report_free(lab->ctx, &r);
}

/* Sum of -log softmax(z)[label] over the labels of a batch; position NULL: as they stand, and NaN when the encoding
 * takes no others. */
static double losses(rf_session *session, const rf_masked_batch *b, const int32_t *position, int64_t V,
                     const char *name)
{
    rf_batch view = b->batch;
    const float *z;
    double all = 0;
    view.position = position;
    const rf_status status = rf_session_mlm_logits(session, &view, b->row, b->labels, &z, &why);
    if (position && status) return (double)NAN;
    check(status, name);
    for (int64_t i = 0; i < b->labels; i++, z += V) {
        double top = -INFINITY, sum = 0;
        for (int64_t v = 0; v < V; v++) top = fmax(top, (double)z[v]);
        for (int64_t v = 0; v < V; v++) sum += exp((double)z[v] - top);
        all += log(sum) + top - (double)z[b->label[i]];
    }
    return all;
}

/* Mean and standard error of sums over n units with so many labels in all. */
static void mean_of(const double sum[], int64_t n, double labels, double *mean, double *error)
{
    double total = 0, square = 0;
    for (int64_t i = 0; i < n; i++) total += sum[i];
    for (int64_t i = 0; i < n; i++) square += (sum[i] - total / (double)n) * (sum[i] - total / (double)n);
    *mean = total / labels;
    *error = sqrt(square * (double)n / (double)(n - 1)) / labels;
}

static void measure_losses(const rf_probe *lab, line *out)
{
    const rf_stretches *s = lab->text;
    const int64_t V = rf_model_config(lab->model)->vocab_size, capacity = s->times * LENGTH;
    double loss[STRETCHES] = {0}, order[STRETCHES] = {0}, labels = 0;
    rf_masked *m;
    int32_t *zero = calloc((size_t)capacity, sizeof *zero);
    check(rf_masked_new(lab->ctx, rf_model_tokenizer(lab->model), capacity, lab->seed, lab->mlm_probability, &m, &why),
          out->name);
    if (!zero) exit(5);
    for (int64_t i = 0; i < s->n; i++) {
        rf_masked_clear(m);
        for (int64_t k = 0; (k + 1) * (LENGTH - 2) <= s->size; k++)
            rf_masked_add(m, s->id + i * s->size + k * (LENGTH - 2), LENGTH - 2, (uint64_t)(i * s->times + k));
        const rf_masked_batch *b = rf_masked_view(m);
        loss[i] = losses(lab->session, b, NULL, V, out->name);
        order[i] = losses(lab->session, b, zero, V, out->name) - loss[i];
        labels += (double)b->labels;
    }
    mean_of(loss, s->n, labels, &out->loss, &out->error);
    mean_of(order, s->n, labels, &out->order, &out->order_error);
    rf_masked_free(m);
    free(zero);
}

static void measure(rf_ctx *ctx, const char *const text[], int texts, const char *folder, line *out)
{
    rf_model *model;
    rf_session *session;
    rf_stretches s;
    check(rf_model_open(ctx, folder, &model, &why), folder);
    check(rf_session_open(model, &session, &why), folder);
    check(rf_stretches_read(ctx, rf_model_tokenizer(model), text, texts,
                             &(rf_reader_options){.size = sizeof(rf_reader_options), .split = RF_SPLIT_HEADING}, LENGTH,
                             STRETCHES, &s, &why),
          folder);
    rf_probe lab;
    rf_probe_defaults(&lab);
    lab.ctx = ctx, lab.model = model, lab.session = session, lab.text = &s, lab.pieces = PIECES < s.n ? PIECES : s.n;
    measure_heads(&lab, out);
    out->scored = rf_model_has_head(model) && !rf_model_config(model)->is_decoder;
    if (out->scored) measure_losses(&lab, out);
    rf_stretches_free(ctx, &s);
    rf_session_close(session);
    rf_model_close(model);
}

static void print_line(const line *x)
{
    printf("%-20s", x->name);
    if (x->scored) printf(" %7.3f (%.3f)", x->loss, x->error);
    else printf(" %15s", "-");
    if (x->scored && isfinite(x->order)) printf(" %7.3f (%.3f)", x->order, x->order_error);
    else printf(" %15s", "-");
    for (int64_t l = 0; l < x->L; l++) printf(" %6.1f/%-5.2f", x->distance[l], x->entropy[l]);
    printf(" %3d of %-3d ", x->near, x->heads);
    for (int i = 0; i < EIGHTHS && x->rotates; i++) printf(" %5.1f", 100 * x->share[i]);
    printf("\n");
}

static void draw(const char *folder, const line x[], int n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/planes.gp", folder);
    FILE *to = fopen(path, "w");
    if (!to) fprintf(stderr, "planes: %s cannot be written\n", path), exit(4);
    fprintf(to, "# drawn with: gnuplot planes.gp\n$x << EOD\n");
    bool steps = true, rotates = false;
    for (int i = 0; i < n; i++) steps = steps && x[i].step_known, rotates = rotates || x[i].rotates;
    for (int i = 0; i < n; i++) {
        fprintf(to, "%g", x[i].step);
        for (int k = 0; k < EIGHTHS; k++) fprintf(to, x[i].rotates ? " %.5f" : " ?", x[i].share[k]);
        for (int64_t l = 0; l < x[i].L; l++) fprintf(to, " %.4f", x[i].distance[l]);
        fprintf(to,
                x[i].scored && isfinite(x[i].order) ? " %.4f %.4f\n"
                : x[i].scored                       ? " %.4f ?\n"
                                                    : " ? ?\n",
                x[i].loss, x[i].order);
    }
    fprintf(to, "EOD\nset terminal svg background rgb 'white' size 1600,420 noenhanced font ',11'\nset output "
                "'planes.svg'\nset multiplot layout 1,3\n"
                "set grid\nset key outside right\nset datafile missing '?'\n");
    if (steps) fprintf(to, "set xlabel 'step'\n");
    else fprintf(to, "set xtics () rotate by 45 right\nset xrange [0.5:%d.5]\n", n);
    for (int i = 0; i < n && !steps; i++) fprintf(to, "set xtics add ('%s' %d)\n", x[i].name, i + 1);
    if (rotates) fprintf(to, "set title 'share of |q||k| by eighth of the planes, the fastest first'\nplot ");
    for (int k = 0; k < EIGHTHS && rotates; k++)
        fprintf(to, "%s$x using 1:%d with linespoints title '%d'", k ? ", " : "", k + 2, k);
    if (!rotates) fprintf(to, "set multiplot next");
    fprintf(to, "\nset title 'mean distance of attention, by layer'\nplot ");
    for (int64_t l = 0; l < x[0].L; l++)
        fprintf(to, "%s$x using 1:%lld with linespoints title '%lld'", l ? ", " : "", (long long)l + EIGHTHS + 2,
                (long long)l);
    fprintf(to,
            "\nset title 'loss, and by how much it rises without order'\nplot $x using 1:%lld with linespoints title "
            "'loss', $x using 1:%lld with linespoints title 'order'\nunset multiplot\n",
            (long long)x[0].L + EIGHTHS + 2, (long long)x[0].L + EIGHTHS + 3);
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
    printf("%-20s %-15s %-15s   distance/entropy of attention by layer | heads that look near | share of |q||k| by "
           "eighth of the planes, %%\n",
           "model", "loss", "order");
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
