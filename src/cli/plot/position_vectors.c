/* position_vectors.c — properties of an encoding before training: vectors that rotate, vectors of positions.
 *
 *     rotation     x = (0.8, 0.6) in plane i, and R(m) x for m = 0, 1, ...         RoFormer, Figure 1 and Eq. 13
 *     similarity   <p_m, p_n> of the vectors that an absolute encoding adds: over m and n, and over |m - n| */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plot/gnuplot.h"
#include "cli/plot/position_plots.h"
#include "roformer/inspect/positions.h"

static int64_t pixels(const cli_io *io, const char *option, int64_t given, int64_t normal)
{
    return cli_given(io->parsed, option) ? given : normal;
}

/* ---- rotation ---- */

enum { PANELS = 4 };

/* The tables are those of attention: angles computed in double, rounded once. */
struct frequencies { const rf_config *c; int64_t layer, length; };

static void angle_of(const void *what, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct frequencies *f = what;
    *angle = (double)row * rf_rope_frequency(f->c, f->layer, f->length, i);
    *gain = 1;
}

/* Planes from the fastest to the slowest, each once; returns their number. */
static int planes_shown(int64_t planes, int64_t shown[PANELS])
{
    const int64_t ask[PANELS] = {0, planes / 4, planes / 2, planes - 1};
    int n = 0;
    for (int i = 0; i < PANELS; i++)
        if (!n || ask[i] > shown[n - 1]) shown[n++] = ask[i];
    return n;
}

/* Columns of plane i in a row of r. */
static int64_t column(const rf_config *c, int64_t i, int half)
{
    return c->rope_interleave ? 2 * i + half : i + half * rf_rope_width(c) / 2;
}

static void put_rotation_rows(lab_script *s, const struct frequencies *f, const float *y, int64_t positions)
{
    const int64_t r = rf_rope_width(f->c);
    lab_put(s, "plane\ttheta\tposition\tangle\tx1\tx2\n");
    for (int64_t i = 0; i < r / 2; i++)
        for (int64_t m = 0; m < positions && !cli_stopped(); m++) {
            const double theta = rf_rope_frequency(f->c, f->layer, f->length, i);
            lab_put(s, "%lld\t%.9g\t%lld\t%.9g\t%.7g\t%.7g\n", (long long)i, theta, (long long)m, (double)m * theta,
                    (double)y[m * r + column(f->c, i, 0)], (double)y[m * r + column(f->c, i, 1)]);
        }
}

static void put_rotation_plot(lab_script *s, const struct frequencies *f, const float *y, int64_t positions)
{
    const int64_t r = rf_rope_width(f->c);
    int64_t shown[PANELS];
    const int n = planes_shown(r / 2, shown);
    for (int k = 0; k < n; k++) {
        const double theta = rf_rope_frequency(f->c, f->layer, f->length, shown[k]);
        int64_t named = 0;                      /* number of labels; those that would overlap are omitted             */
        lab_put(s, "$p%d << EOD\n", k);
        for (int64_t m = 0; m < positions; m++) {
            const bool apart = m && (double)(m - named) * theta > 0.2 && (double)m * theta < 6.28;
            if (apart) named = m;
            lab_put(s, "%.7g %.7g %lld %d\n", (double)y[m * r + column(f->c, shown[k], 0)],
                    (double)y[m * r + column(f->c, shown[k], 1)], (long long)m, m ? apart : 2);
        }
        lab_put(s, "EOD\n");
    }
    lab_put(s,
            "set multiplot layout 1,%d title \"x = (0.8, 0.6), rotated by m theta_i for m = 0 to %lld (RoFormer, "
            "Figure 1)\\nheads of %lld rotated columns, base %g\"\n",
            n, (long long)positions - 1, (long long)r, rf_rope_base(f->c, f->layer));
    lab_put(s, "unset key\nunset colorbox\nset size ratio -1\nset xrange [-1.35:1.35]\nset yrange [-1.35:1.35]\n"
               "set zeroaxis\nset xtics 1\nset ytics 1\nset parametric\nset trange [0:2*pi]\nset xlabel 'x_1'\n"
               "set ylabel 'x_2'\n");
    for (int k = 0; k < n; k++)
        lab_put(s,
                "set title 'plane %lld: theta = %.3g'\n"
                "plot cos(t), sin(t) with lines linecolor rgb '#cccccc', \\\n"
                "     $p%d using (0):(0):1:2:(%lld > 1 ? column(0) : 0) with vectors filled head linewidth 1.5 "
                "linecolor palette, \\\n     $p%d using (1.15*$1):(1.15*$2):($4 == 2 ? 'm = 0' : $4 == 1 ? "
                "sprintf('%%d', $3) : '') with labels font ',9'\n",
                (long long)shown[k], rf_rope_frequency(f->c, f->layer, f->length, shown[k]), k, (long long)positions,
                k);
    lab_put(s, "unset multiplot\n");
}

/* y [positions, r]: (0.8, 0.6) in every plane, rotated by the kernel. */
static rf_status rotated(cli_io *io, const struct frequencies *f, int64_t positions, float *y)
{
    const int64_t r = rf_rope_width(f->c);
    const rf_rope_layout layout = f->c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES;
    rf_rope *rope = NULL;
    for (int64_t m = 0; m < positions; m++)
        for (int64_t i = 0; i < r / 2; i++) {
            y[m * r + column(f->c, i, 0)] = 0.8f;
            y[m * r + column(f->c, i, 1)] = 0.6f;
        }
    rf_status status = rf_rope_make(io->ctx, r, layout, positions, angle_of, f, &rope, &io->why);
    if (!status) status = rf_rope_rotate(io->ctx, rope, y, y, NULL, positions, 1, r, 1, &io->why);
    rf_rope_free(rope);
    return status;
}

rf_status positions_rotation(const positions_args *a, cli_io *io)
{
    enum { MOST = 1000 };
    rf_config c;
    rf_error *why = &io->why;
    const struct frequencies f = {&c, a->layer < 0 ? 0 : a->layer, cli_given(io->parsed, "length") ? a->length : 0};
    const int64_t positions = pixels(io, "max_distance", a->distance, 6) + 1;
    if (a->models.n || a->text.n)
        return rf_fail(why, RF_EARG,
                       "positions plot rotation: expected --config without --model and --text, got one of them");
    if (positions_config(a, io, &c) || positions_must(&c, a->config, POSITIONS_ROTATE, "rotation", why))
        return why->code;
    if (rf_rope_check(&c, why)) return why->code;
    if (f.layer >= c.num_hidden_layers)
        return rf_fail(why, RF_EARG, "--layer: expected a layer from 0 to %lld, got %lld",
                       (long long)c.num_hidden_layers - 1, (long long)f.layer);
    if (positions > MOST + 1)
        return rf_fail(why, RF_EARG, "--max_distance: expected at most %d for rotation, got %lld", MOST,
                       (long long)positions - 1);
    float *y = calloc((size_t)(positions * rf_rope_width(&c)), sizeof *y);
    lab_script s = {.out.fd = -1};
    char script[4096];
    if (!y) rf_fail(why, RF_ENOMEM, "out of memory: %lld positions", (long long)positions);
    if (!why->code && !rotated(io, &f, positions, y) &&
        !positions_begin(a, &s, script, sizeof script, pixels(io, "width", a->width, 1200),
                         pixels(io, "height", a->height, 380), why)) {
        if (a->output) put_rotation_plot(&s, &f, y, positions);
        else put_rotation_rows(&s, &f, y, positions);
        positions_end(a, io, &s, script);
    }
    free(y);
    return why->code;
}

/* ---- similarity ---- */

struct similar { const char *name; int64_t T; double *product; };           /* [T,T]: <p_m, p_n>                      */

static void put_similarity_rows(lab_script *s, const struct similar *p)
{
    lab_put(s, "m\tn\tproduct\tcosine\n");
    for (int64_t i = 0; i < p->T * p->T && !cli_stopped(); i++) {
        const int64_t m = i / p->T, n = i % p->T;
        const double norm = sqrt(p->product[m * (p->T + 1)] * p->product[n * (p->T + 1)]);
        lab_put(s, "%lld\t%lld\t%.7g\t", (long long)m, (long long)n, p->product[i]);
        if (norm > 0) lab_put(s, "%.7g\n", p->product[i] / norm);
        else lab_put(s, "?\n");
    }
}

/* At each distance the mean over all pairs, the smallest and the largest. */
static void put_similarity_data(lab_script *s, const struct similar *p)
{
    lab_put(s, "$map << EOD\n");
    for (int64_t m = 0; m < p->T && !cli_stopped(); m++) {
        for (int64_t n = 0; n < p->T; n++) lab_put(s, "%.5g ", p->product[m * p->T + n]);
        lab_put(s, "\n");
    }
    lab_put(s, "EOD\n$curve << EOD\n");
    for (int64_t d = 0; d < p->T; d++) {
        double sum = 0, low = INFINITY, high = -INFINITY;
        for (int64_t m = 0; m + d < p->T; m++) {
            const double x = p->product[m * p->T + m + d];
            sum += x / (double)(p->T - d);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        lab_put(s, "%lld %.7g %.7g %.7g\n", (long long)d, sum, low, high);
    }
    lab_put(s, "EOD\n");
}

static void put_similarity_plot(lab_script *s, const struct similar *p)
{
    char name[512];
    double most = 0;
    for (int64_t i = 0; i < p->T * p->T; i++) most = fmax(most, fabs(p->product[i]));
    if (!(most > 0)) most = 1;
    cli_gnuplot_quote(p->name, name, sizeof name);
    put_similarity_data(s, p);
    lab_put(s,
            "set multiplot layout 1,2 title 'vectors of positions p_m: %s'\nunset key\nset size ratio 1\n"
            "set xrange [-0.5:%g]\nset yrange [%g:-0.5]\nset xlabel 'n'\nset ylabel 'm'\n"
            "set palette defined (0 '#b2182b', 0.5 'white', 1 '#2166ac')\n"
            "set cbrange [%.5g:%.5g]\nset title '<p_m, p_n>'\nplot $map matrix with image\n",
            name, (double)p->T - 0.5, (double)p->T - 0.5, -most, most);
    lab_put(s, "set size noratio\nset grid\nset key top right\nset autoscale y\nset xrange [0:%lld]\n"
               "set xlabel 'distance |m - n|'\nset ylabel '<p_m, p_n>'\nset title 'over the distance'\n"
               "plot $curve using 1:3:4 with filledcurves linecolor rgb '#c6dbef' title 'smallest to largest', \\\n"
               "     $curve using 1:2 with lines linewidth 1.5 linecolor rgb '#08306b' title 'mean over all pairs'\n"
               "unset multiplot\n",
            (long long)(p->T > 1 ? p->T - 1 : 1));
}

static rf_status draw_similarity(const positions_args *a, cli_io *io, const rf_model *model, const char *name,
                                 int64_t T)
{
    const int64_t E = rf_model_config(model)->embedding_size;
    struct similar of = {name, T, calloc((size_t)(T * T), sizeof *of.product)};
    float *p = calloc((size_t)(T * E), sizeof *p);
    lab_script s = {.out.fd = -1};
    char script[4096];
    rf_error *why = &io->why;
    if (!p || !of.product) rf_fail(why, RF_ENOMEM, "out of memory: %lld positions", (long long)T);
    if (!why->code && !rf_position_vectors(model, T, p, why)) {
        for (int64_t i = 0; i < T * T; i++)
            for (int64_t e = 0; e < E; e++)
                of.product[i] += (double)p[i / T * E + e] * (double)p[i % T * E + e];
        if (!positions_begin(a, &s, script, sizeof script, pixels(io, "width", a->width, 1100),
                             pixels(io, "height", a->height, 480), why)) {
            if (a->output) put_similarity_plot(&s, &of);
            else put_similarity_rows(&s, &of);
            positions_end(a, io, &s, script);
        }
    }
    free(p);
    free(of.product);
    return why->code;
}

/* Vectors that are not learned need no trained model: a minimal one with the config's encoding suffices. */
static rf_status open_minimal(const positions_args *a, cli_io *io, rf_model **model)
{
    rf_config c;
    const rf_position *is;
    rf_error *why = &io->why;
    if (positions_config(a, io, &c)) return why->code;
    if (!a->config) snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "sinusoidal");
    if (positions_must(&c, a->config, RF_POSITION_VECTOR, "similarity", why) || rf_position_of(&c, a->config, &is, why))
        return why->code;
    if (rf_position_parameters(is, &c))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "similarity: expected --model DIR, a trained model, since the vectors of %s are "
                       "learned, got none",
                       c.position_embedding_type);
    c.vocab_size = 8;
    c.num_hidden_layers = 1;
    c.pad_token_id = 0;
    c.rope_thetas = c.attention_types = 0;
    c.intermediate_size = 8;
    return rf_model_random(io->ctx, &c, 1, model, why);
}

rf_status positions_similarity(const positions_args *a, cli_io *io)
{
    enum { MOST = 4096 };
    rf_error *why = &io->why;
    const int64_t T = pixels(io, "max_distance", a->distance, 127) + 1;
    if (a->text.n || a->models.n > 1 || (a->models.n && a->config))
        return rf_fail(why, RF_EARG, "positions plot similarity: expected one --model, or --config, and no --text");
    if (T > MOST)
        return rf_fail(why, RF_EARG, "--max_distance: expected at most %d for similarity, got %lld", MOST - 1,
                       (long long)T - 1);
    char name[256];
    if (!a->models.n) {
        rf_model *model = NULL;
        if (open_minimal(a, io, &model)) return why->code;
        const rf_config *c = rf_model_config(model);
        snprintf(name, sizeof name, "%s, %lld columns", c->position_embedding_type, (long long)c->embedding_size);
        draw_similarity(a, io, model, name, T);
        rf_model_close(model);
        return why->code;
    }
    lab_bench b;
    rf_train_options none = a->train.t;
    none.texts = 0;
    if (!lab_open(io, a->models.item[0], &none, 0, 0, &b) &&
        !positions_must(b.m.config, NULL, RF_POSITION_VECTOR, "similarity", why)) {
        snprintf(name, sizeof name, "%.160s (%s)", lab_name(&b), rf_position_name(b.is));
        draw_similarity(a, io, b.m.model, name, T);
    }
    lab_close(io, &b);
    return why->code;
}
