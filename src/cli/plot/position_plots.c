/* position_plots.c — plots of trained models: maps of attention, mean scores over the distance, loss over the
 * length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plot/gnuplot.h"
#include "cli/plot/position_plots.h"

static const char *model_of(const positions_args *a, int i) { return a->models.n ? a->models.item[i] : NULL; }

/* Rows are printed to standard output, or written to the script of the plot. */
rf_status positions_begin(const positions_args *a, lab_script *s, char *script, size_t size, int64_t width,
                          int64_t height, rf_error *why)
{
    s->why = why;
    if (!a->output) return cli_out_open(&s->out, "-", why);
    if (lab_script_path(a->output, script, size, why)) return why->code;
    return lab_begin(s, script, cli_file_name(a->output), width, height, why);
}

rf_status positions_end(const positions_args *a, cli_io *io, lab_script *s, const char *script)
{
    if (a->output) lab_put(s, "set output\n");
    if (!io->why.code && !cli_out_commit(&s->out, &io->why) && a->output && !cli_gnuplot(script, a->output, &io->why))
        cli_note(io, "%s drawn; %s holds script and data", a->output, script);
    cli_out_discard(&s->out);
    return io->why.code;
}

/* Opens one model; reads `texts` if it is not 0. */
static rf_status open_one(const positions_args *a, cli_io *io, int i, int texts, lab_bench *b)
{
    rf_train_options t = a->train.t;
    t.text = a->text.item;
    t.texts = texts;
    return lab_open(io, model_of(a, i), &t, a->stretches, a->pieces, b);
}

/* ---- attention of a sentence ---- */

/* bare: queries and keys are zero, so that only what attention adds to scores remains: attention by position. */
struct maps { int64_t L, H, T; bool bare; float *p; };              /* p [L,H,T,T] */

static bool selected(const positions_args *a, int64_t l, int64_t h)
{
    return (a->layer < 0 || a->layer == l) && (a->head < 0 || a->head == h);
}

static rf_status check_selection(const positions_args *a, const rf_config *c, rf_error *why)
{
    if (a->layer >= c->num_hidden_layers)
        return rf_fail(why, RF_EARG, "--layer: expected a layer from 0 to %lld, got %lld",
                       (long long)c->num_hidden_layers - 1, (long long)a->layer);
    if (a->head >= c->num_attention_heads)
        return rf_fail(why, RF_EARG, "--head: expected a head from 0 to %lld, got %lld",
                       (long long)c->num_attention_heads - 1, (long long)a->head);
    return RF_OK;
}

/* What position adds to the score of query q and key n, relative to its own key, in nats: with scores of zero, P(q,n)
 * is exp(b_qn) divided by a sum that depends only on q. NaN: not visible, or below the range of float32. */
static double added(const struct maps *m, int64_t map, int64_t q, int64_t n)
{
    const float *row = m->p + (map * m->T + q) * m->T;
    return row[n] > 0 && row[q] > 0 ? log((double)row[n] / (double)row[q]) : NAN;
}

static void put_map_rows(const positions_args *a, lab_script *s, const struct maps *m, const rf_tokenizer *t,
                         const int32_t *id)
{
    lab_put(s, "layer\thead\tquery\tkey\tprobability\t%s\n", m->bare ? "bias" : "query_token\tkey_token");
    for (int64_t i = 0; i < m->L * m->H * m->T * m->T && !cli_stopped(); i++) {
        const int64_t n = i % m->T, q = i / m->T % m->T, h = i / m->T / m->T % m->H, l = i / m->T / m->T / m->H;
        if (!selected(a, l, h)) continue;
        const double bias = m->bare ? added(m, l * m->H + h, q, n) : 0;
        lab_put(s, "%lld\t%lld\t%lld\t%lld\t%.6g", (long long)l, (long long)h, (long long)q, (long long)n,
                (double)m->p[i]);
        if (m->bare) lab_put(s, isfinite(bias) ? "\t%.6g\n" : "\t?\n", bias);
        else lab_put(s, "\t%s\t%s\n", rf_tokenizer_token(t, id[q]), rf_tokenizer_token(t, id[n]));
    }
}

static void put_labels(lab_script *s, const rf_tokenizer *t, const int32_t *id, int64_t T)
{
    char name[256];
    lab_put(s, "set xtics () rotate by 90 right font ',8'\nset ytics () font ',8'\n");
    for (int64_t n = 0; n < T; n++) {
        cli_gnuplot_quote(rf_tokenizer_token(t, id[n]), name, sizeof name);
        lab_put(s, "set xtics add ('%s' %lld)\nset ytics add ('%s' %lld)\n", name, (long long)n, name, (long long)n);
    }
}

/* The largest absolute number of a map of biases, for a symmetric scale. */
static double widest(const struct maps *m, int64_t map)
{
    double most = 0;
    for (int64_t i = 0; i < m->T * m->T; i++) most = fmax(most, fabs(added(m, map, i / m->T, i % m->T)));
    return most > 1e-5 ? most : 1;                             /* smaller values are rounding errors of probabilities */
}

static void put_map_data(const positions_args *a, lab_script *s, const struct maps *m)
{
    for (int64_t i = 0; i < m->L * m->H; i++) {
        if (!selected(a, i / m->H, i % m->H)) continue;
        lab_put(s, "$a%lld << EOD\n", (long long)i);
        for (int64_t q = 0; q < m->T; q++) {
            for (int64_t n = 0; n < m->T; n++) {
                const double x = m->bare ? added(m, i, q, n) : (double)m->p[(i * m->T + q) * m->T + n];
                lab_put(s, isfinite(x) ? "%.3g " : "? ", x);
            }
            lab_put(s, "\n");
        }
        lab_put(s, "EOD\n");
    }
}

/* All probabilities share one scale. Biases differ by orders of magnitude between heads, so each head has its own
 * scale. */
static void put_maps(const positions_args *a, lab_script *s, const lab_bench *b, const struct maps *m,
                     const int32_t *id, int64_t rows, int64_t columns)
{
    put_map_data(a, s, m);
    lab_panels(s, b, rows * columns, columns,
               m->bare ? "what position adds to scores, in nats beside the query''s own place; gray: not seen"
                       : "attention of queries (rows) to keys (columns); white 0, darkest 1");
    lab_put(s, "unset key\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\n", (double)m->T - 0.5, (double)m->T - 0.5);
    if (m->bare)
        lab_put(s, "set palette defined (0 '#b2182b', 0.5 'white', 1 '#2166ac')\nset xlabel 'key'\nset ylabel 'query'\n"
                   "set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor rgb '#cccccc'\n");
    else
        lab_put(s, "set palette defined (0 'white', 0.1 '#c6dbef', 0.5 '#2171b5', 1 '#08306b')\nset cbrange "
                   "[0:1]\nunset colorbox\n");
    if (!m->bare) put_labels(s, b->m.t, id, m->T);
    for (int64_t i = 0; i < m->L * m->H; i++) {
        if (!selected(a, i / m->H, i % m->H)) continue;
        if (m->bare) lab_put(s, "set cbrange [%.3g:%.3g]\n", -widest(m, i), widest(m, i));
        lab_put(s, "set title 'layer %lld, head %lld'\nplot $a%lld matrix with image\n", (long long)(i / m->H),
                (long long)(i % m->H), (long long)i);
    }
    lab_put(s, "unset multiplot\n");
}

/* Reserves space for a token's label on each row and column, or for the names of axes and the color scale. */
static rf_status draw_maps(const positions_args *a, cli_io *io, const lab_bench *b, const struct maps *m,
                           const int32_t *id)
{
    enum { CELL = 16, LEAST = 130, LABELS = 110, SCALE = 170, TITLE = 640 };
    lab_script s = {.out.fd = -1};
    char script[4096];
    const int64_t rows = a->layer >= 0 ? 1 : m->L, columns = a->head >= 0 ? 1 : m->H;
    const int64_t cell = m->bare ? 2 : CELL, side = cell * m->T > LEAST ? cell * m->T : LEAST;
    const int64_t wide = columns * (side + (m->bare ? SCALE : LABELS));
    const int64_t width = cli_given(io->parsed, "width") ? a->width : wide > TITLE ? wide : TITLE;
    const int64_t height = cli_given(io->parsed, "height") ? a->height : 40 + rows * (side + LABELS);
    if (positions_begin(a, &s, script, sizeof script, width, height, &io->why)) return io->why.code;
    if (a->output) put_maps(a, &s, b, m, id, rows, columns);
    else put_map_rows(a, &s, m, b->m.t, id);
    return positions_end(a, io, &s, script);
}

/* Computes the tokens and draws their attention. */
static rf_status map_tokens(const positions_args *a, cli_io *io, const lab_bench *b, const int32_t *id, int64_t T,
                            bool bare)
{
    const rf_config *c = b->m.config;
    struct maps m = {.L = c->num_hidden_layers, .H = c->num_attention_heads, .T = T, .bare = bare};
    rf_error *why = &io->why;
    if (check_selection(a, c, why)) return why->code;
    m.p = calloc((size_t)(m.L * m.H * m.T), (size_t)m.T * sizeof *m.p);
    if (!m.p) return rf_fail(why, RF_ENOMEM, "out of memory: maps of %lld tokens", (long long)m.T);
    rf_status status = rf_attention_maps(b->m.session, id, T, bare, m.p, why);
    if (!status) status = draw_maps(a, io, b, &m, id);
    free(m.p);
    return status;
}

rf_status positions_attention(const positions_args *a, cli_io *io)
{
    lab_bench b;
    rf_encoding e;
    size_t dropped = 0;
    if (a->text.n != 1 || a->models.n > 1)
        return rf_fail(&io->why, RF_EARG, "positions plot attention: expected one --text \"SENTENCE\" and one model");
    rf_encoding_init(&e, io->ctx);
    rf_status status = open_one(a, io, 0, 0, &b);
    const char *text = a->text.item[0];
    if (!status)
        status =
            rf_encode(b.m.t, text, strlen(text), NULL, 0, (size_t)a->train.t.max_length, 0, &e, &dropped, &io->why);
    if (dropped) cli_note(io, "the text is cut to %lld tokens (--max_length)", (long long)a->train.t.max_length);
    if (!status) map_tokens(a, io, &b, e.id, (int64_t)e.n, false);
    rf_encoding_clear(&e);
    lab_close(io, &b);
    return io->why.code;
}

rf_status positions_bias(const positions_args *a, cli_io *io)
{
    lab_bench b;
    const int64_t T = a->train.t.max_length;
    if (a->text.n || a->models.n > 1)
        return rf_fail(&io->why, RF_EARG, "positions plot bias: expected one model and no --text");
    int32_t *id = calloc((size_t)T, sizeof *id);
    rf_status status = open_one(a, io, 0, 0, &b);
    if (!id) status = rf_fail(&io->why, RF_ENOMEM, "out of memory: %lld tokens", (long long)T);
    if (!status) map_tokens(a, io, &b, id, T, true);
    free(id);
    lab_close(io, &b);
    return io->why.code;
}

/* ---- mean score over the distance, of trained queries and keys ---- */

enum { EACH = 1000 };                  /* distances that are drawn individually; then this many, at growing intervals */

static int64_t offset(int64_t most, int64_t i)
{
    if (i <= EACH || most <= EACH) return i <= most ? i : -1;
    return i <= 2 * EACH ? (int64_t)(EACH * pow((double)most / EACH, (double)(i - EACH) / EACH) + 0.5) : -1;
}

static void put_score_rows(const positions_args *a, lab_script *s, const rf_attention_report *r, double *workspace)
{
    double mean, variance;
    lab_put(s, "layer\thead\toffset\tmean\tdeviation\n");
    for (int64_t l = 0; l < r->L; l++)
        for (int64_t h = 0; h < r->H; h++) {
            int64_t last = 0, d;
            while (offset(a->distance, last) >= 0) last++;
            for (int64_t i = 1 - last; i < last && selected(a, l, h) && !cli_stopped(); i++) {
                d = i < 0 ? -offset(a->distance, -i) : offset(a->distance, i);
                rf_head_score(&r->sums[l], h, (double)d, workspace, &mean, &variance);
                lab_put(s, "%lld\t%lld\t%lld\t%.7g\t%.7g\n", (long long)l, (long long)h, (long long)d, mean,
                        sqrt(variance));
            }
        }
}

static void put_score_data(const positions_args *a, lab_script *s, const rf_attention_report *r, double *workspace)
{
    for (int64_t l = 0; l < r->L; l++) {
        lab_put(s, "$s%lld << EOD\n", (long long)l);
        for (int64_t i = 0, d; (d = offset(a->distance, i)) >= 0 && !cli_stopped(); i++) {
            lab_put(s, "%lld", (long long)d);
            for (int64_t k = 0; k < 2 * r->H; k++) {
                double mean, variance;
                rf_head_score(&r->sums[l], k / 2, (double)(k % 2 ? d : -d), workspace, &mean, &variance);
                lab_put(s, " %.6g", mean);
            }
            lab_put(s, "\n");
        }
        lab_put(s, "EOD\n");
    }
}

static int64_t score_panels(const positions_args *a, const lab_bench *b)
{
    return (a->layer < 0 ? b->m.config->num_hidden_layers : 1) * (lab_causal(b) ? 1 : 2);
}

/* A panel for each layer, a color for each head: keys before the query and, if they are visible, keys after it. */
static void put_scores(const positions_args *a, lab_script *s, const lab_bench *b, const rf_attention_report *r,
                       double *workspace)
{
    const int sides = lab_causal(b) ? 1 : 2;
    put_score_data(a, s, r, workspace);
    const int64_t panels = score_panels(a, b);
    lab_panels(s, b, panels, panels < 2 ? 1 : 2, "mean score of all queries with all keys, were they so far apart");
    lab_put(s, "set grid\nset key outside right top font ',8'\nset xlabel 'distance (tokens)'\nset ylabel 'score'\n%s",
            a->distance > EACH ? "set logscale x\nset xtics font ',9'\n" : "");
    for (int64_t l = 0; l < r->L; l++)
        for (int side = 0; side < sides; side++) {
            if (a->layer >= 0 && l != a->layer) continue;
            lab_put(s, "set title 'layer %lld: keys %s the query'\n", (long long)l, side ? "after" : "before");
            const char *before = "plot ";
            for (int64_t h = 0; h < r->H; h++) {
                if (!selected(a, l, h)) continue;
                lab_put(s, "%s$s%lld using 1:%lld with lines linetype %lld title 'head %lld'", before, (long long)l,
                        (long long)(2 * h + side + 2), (long long)h + 1, (long long)h);
                before = ", \\\n     ";
            }
            lab_put(s, "\n");
        }
    lab_put(s, "unset multiplot\n");
}

rf_status positions_score(const positions_args *a, cli_io *io)
{
    lab_bench b;
    lab_script s = {.out.fd = -1};
    rf_attention_report r = {0};
    char script[4096];
    if (!a->text.n || a->models.n > 1)
        return rf_fail(&io->why, RF_EARG, "positions plot score -m MODEL: expected one model and --text FILE");
    rf_status status = open_one(a, io, 0, a->text.n, &b);
    if (!status) status = rf_probe_attention(&b.probe, &r, &io->why);
    cli_progress_clear(&b.progress);
    if (!status && !r.sums[0].rotates)
        status = rf_fail(&io->why, RF_EUNSUPPORTED,
                         "score: expected an encoding whose angles depend on plane and distance only, got %s",
                         rf_position_name(b.is));
    if (!status) status = check_selection(a, b.m.config, &io->why);
    const int64_t rows = status ? 1 : (score_panels(a, &b) + 1) / 2;
    double *workspace = status ? NULL : malloc((size_t)(r.sums[0].D * r.sums[0].D) * sizeof *workspace);
    if (!status && !workspace) status = rf_fail(&io->why, RF_ENOMEM, "out of memory");
    if (!status)
        status = positions_begin(a, &s, script, sizeof script, cli_given(io->parsed, "width") ? a->width : 1300,
                                 cli_given(io->parsed, "height") ? a->height : 40 + 340 * rows, &io->why);
    if (!status) {
        if (a->output) put_scores(a, &s, &b, &r, workspace);
        else put_score_rows(a, &s, &r, workspace);
        positions_end(a, io, &s, script);
    }
    free(workspace);
    rf_attention_report_free(io->ctx, &r);
    lab_close(io, &b);
    return io->why.code;
}

/* ---- loss over the length, of several models ---- */

static rf_status measure_model(const positions_args *a, cli_io *io, int i, rf_length_loss loss[], int *n)
{
    lab_bench b;
    rf_status status = open_one(a, io, i, a->text.n, &b);
    b.doing = "lengths";
    if (!status) status = rf_probe_lengths(&b.probe, loss, n, &io->why);
    lab_close(io, &b);
    return status;
}

static void put_length_rows(lab_script *s, const lab_curve curve[], int curves)
{
    lab_put(s, "model\tlength\tloss\terror\tchange\tchange_error\taccuracy\n");
    for (int i = 0; i < curves; i++)
        for (int k = 0; k < curve[i].n; k++) {
            const rf_length_loss *l = &curve[i].at[k];
            if (!l->defined) lab_put(s, "%s\t%lld\t?\t?\t?\t?\t?\n", curve[i].name, (long long)l->length);
            else
                lab_put(s, "%s\t%lld\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\n", curve[i].name, (long long)l->length, l->loss,
                        l->error, l->change, l->change_error, (double)l->hits / (double)l->labels);
        }
}

rf_status positions_extrapolation(const positions_args *a, cli_io *io)
{
    enum { NAME = 256 };
    const int models = a->models.n ? a->models.n : 1;
    lab_script s = {.out.fd = -1};
    char script[4096];
    if (!a->text.n) return rf_fail(&io->why, RF_EARG, "positions plot extrapolation: expected --text FILE");
    rf_length_loss *loss = calloc((size_t)models * RF_LENGTHS, sizeof *loss);
    lab_curve *curve = calloc((size_t)models, sizeof *curve);
    char (*name)[NAME] = calloc((size_t)models, sizeof *name);
    rf_status status = loss && curve && name ? RF_OK : rf_fail(&io->why, RF_ENOMEM, "out of memory");
    for (int i = 0; i < models && !status; i++) {
        status = measure_model(a, io, i, loss + i * RF_LENGTHS, &curve[i].n);
        cli_last_part(model_of(a, i) ? model_of(a, i) : "the shipped model", name[i], NAME);
        curve[i].name = name[i];
        curve[i].at = loss + i * RF_LENGTHS;
    }
    if (!status && !positions_begin(a, &s, script, sizeof script, a->width, a->height, &io->why)) {
        if (a->output) lab_put_lengths(&s, curve, models);
        else put_length_rows(&s, curve, models);
        positions_end(a, io, &s, script);
    }
    free(loss);
    free(curve);
    free(name);
    return io->why.code;
}
