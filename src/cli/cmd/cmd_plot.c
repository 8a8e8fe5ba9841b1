/* cmd_plot.c — roformer plot: draws the curves of metrics.jsonl with gnuplot.
 *
 * The script with its data is kept next to the plot (loss.svg, loss.gp; loss.png, loss.png.gp), so that its style can
 * be edited. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/plot/curves.h"
#include "cli/plot/gnuplot.h"

struct args {
    cli_list files, bands, metrics;
    const char *output, *title;
    int64_t width, height;
    double smoothing;
    int log_scale;
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_out script;
    bool selected[CURVES];
    curve_run *run;             /* files, then bands                                                                  */
    int runs;
    double first, last;         /* range of steps                                                                     */
} job;

static rf_status write_format(job *j, const char *format, ...) RF_PRINTF(2, 3);
static rf_status write_format(job *j, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return cli_out_write(&j->script, line,
                         n < 0                     ? 0
                         : (size_t)n < sizeof line ? (size_t)n
                                                   : sizeof line - 1,
                         &j->io->why);
}

/* ---- the runs ---- */

static rf_status read_band(job *j, const char *text, curve_run *out)
{
    enum { MOST = 32 };
    rf_error *why = &j->io->why;
    curve_run run[MOST];
    char name[64], path[4096];
    int n = 0;
    rf_status status = RF_OK;
    const char *equal = strchr(text, '=');
    if (!equal || equal == text || (size_t)(equal - text) >= sizeof name)
        return rf_fail(why, RF_EARG, "--band: expected NAME=FILE,FILE,..., got \"%.100s\"", text);
    snprintf(name, sizeof name, "%.*s", (int)(equal - text), text);
    for (const char *at = equal + 1; *at && !status;) {
        const size_t size = strcspn(at, ",");
        if (n == MOST || size >= sizeof path)
            status = rf_fail(why, RF_EARG, "--band %.60s: expected at most %d files, got more", name, (int)MOST);
        if (status) break;
        snprintf(path, sizeof path, "%.*s", (int)size, at);
        status = curves_read(path, &run[n], why);
        if (!status) curves_smooth(&run[n++], j->a->smoothing);
        at += size + (at[size] == ',');
    }
    if (!status && !n) status = rf_fail(why, RF_EARG, "--band %.60s: expected at least one file, got none", name);
    if (!status) status = curves_band(run, n, name, out, why);
    for (int i = 0; i < n; i++) curves_clear(&run[i]);
    return status;
}

static void extend(job *j, const curve_run *r)
{
    for (int m = 0; m < CURVES; m++)
        for (size_t k = 0; j->selected[m] && k < r->of[m].n; k++) {
            j->first = fmin(j->first, r->of[m].x[k]);
            j->last = fmax(j->last, r->of[m].x[k]);
        }
}

static rf_status read_runs(job *j)
{
    const struct args *a = j->a;
    rf_error *why = &j->io->why;
    if (!(j->run = calloc((size_t)(a->files.n + a->bands.n), sizeof *j->run)))
        return rf_fail(why, RF_ENOMEM, "out of memory");
    for (int i = 0; i < a->files.n + a->bands.n; i++) {
        curve_run *r = &j->run[i];
        const rf_status status =
            i < a->files.n ? curves_read(a->files.item[i], r, why) : read_band(j, a->bands.item[i - a->files.n], r);
        if (status) return status;
        if (i < a->files.n) curves_smooth(r, a->smoothing);
        j->runs++;
    }
    for (int m = CURVES - 1; m >= 0 && a->metrics.n; m--) {
        if (!j->selected[m]) continue;
        j->selected[m] = false;
        j->selected[curves_logged(j->run, j->runs, m)] = true;
    }
    for (int i = 0; i < j->runs; i++) extend(j, &j->run[i]);
    return RF_OK;
}

/* ---- the script ---- */

/* "$r0_loss_gaps << EOD": positions of crosses for null values. */
static rf_status write_gaps(job *j, int number, int m)
{
    const curve *c = &j->run[number].of[m];
    rf_status status = write_format(j, "$r%d_%s_gaps << EOD\n", number, curve_kinds[m].key);
    for (size_t k = 0; k < c->n && !status; k++)
        if (isnan(c->y[k])) status = write_format(j, "%.0f %.9g\n", c->x[k], curve_mark(c, k));
    return status ? status : write_format(j, "EOD\n");
}

/* One data block for each metric of a run: "$r0_loss << EOD", lines of step and value, for a band also minimum and
 * maximum. */
static rf_status write_data(job *j, int number)
{
    rf_status status = RF_OK;
    for (int m = 0; m < CURVES && !status; m++) {
        const curve *c = &j->run[number].of[m];
        if (!curve_drawn(c)) continue;
        status = write_format(j, "$r%d_%s << EOD\n", number, curve_kinds[m].key);
        for (size_t k = 0; k < c->n && !status; k++) {
            if (isnan(c->y[k])) status = write_format(j, "%.0f NaN\n", c->x[k]);
            else if (c->low) status = write_format(j, "%.0f %.9g %.9g %.9g\n", c->x[k], c->y[k], c->low[k], c->high[k]);
            else status = write_format(j, "%.0f %.9g\n", c->x[k], c->y[k]);
        }
        if (!status) status = write_format(j, "EOD\n");
        if (!status && c->gaps) status = write_gaps(j, number, m);
    }
    return status;
}

static bool drawn(const job *j, int run, int m, int panel)
{
    return curve_kinds[m].panel == panel && j->selected[m] && curve_drawn(&j->run[run].of[m]);
}

static bool panel_used(const job *j, int panel)
{
    for (int i = 0; i < j->runs; i++)
        for (int m = 0; m < CURVES; m++)
            if (drawn(j, i, m, panel)) return true;
    return false;
}

static void curve_name(const job *j, int run, int m, char *out, size_t size)
{
    char name[512];
    cli_gnuplot_quote(j->run[run].name, name, sizeof name);
    const bool named = j->runs > 1 || j->run[run].of[m].low;
    snprintf(out, size, "%s%s%s", named ? name : "", named ? " " : "", curve_kinds[m].key);
}

/* Space on the right for the longest name of a curve, the same in all panels, so that their step axes are aligned. */
static int right_margin(const job *j)
{
    enum { SAMPLE = 7, MOST = 60 };
    char name[600];
    int widest = 0;
    for (int i = 0; i < j->runs; i++)
        for (int m = 0; m < CURVES; m++) {
            if (!j->selected[m] || !curve_drawn(&j->run[i].of[m])) continue;
            curve_name(j, i, m, name, sizeof name);
            widest = cli_cells(name) > widest ? cli_cells(name) : widest;
        }
    return (widest < MOST ? widest : MOST) + SAMPLE;
}

static rf_status write_panel(job *j, int panel)
{
    const char *before = "plot ";
    char name[600];
    int color = 0;
    rf_status status = write_format(j, "\nset ylabel '%s'\n%s", curve_panels[panel],
                                    j->a->log_scale && panel == 0 ? "set logscale y\n" : "unset logscale\n");
    for (int i = 0; i < j->runs; i++)
        for (int m = 0; m < CURVES && !status; m++) {
            if (!drawn(j, i, m, panel)) continue;
            curve_name(j, i, m, name, sizeof name);
            color++;
            if (j->run[i].of[m].low)
                status =
                    write_format(j,
                                 "%s$r%d_%s using 1:3:4 with filledcurves linetype %d fillstyle transparent solid 0.2 "
                                 "noborder notitle",
                                 before, i, curve_kinds[m].key, color);
            if (j->run[i].of[m].low) before = ", \\\n     ";
            if (!status)
                status = write_format(
                    j, "%s$r%d_%s using 1:2 with %s linetype %d title '%s'", before, i, curve_kinds[m].key,
                    !strncmp(curve_kinds[m].key, "eval", 4) ? "linespoints pointtype 7 pointsize 0.4" : "lines", color,
                    name);
            before = ", \\\n     ";
            if (!status && j->run[i].of[m].gaps)
                status = write_format(j, "%s$r%d_%s_gaps using 1:2 with points pointtype 2 linetype %d notitle", before,
                                      i, curve_kinds[m].key, color);
        }
    return status ? status : write_format(j, "\n");
}

static rf_status nothing_to_draw(const job *j)
{
    for (int p = 0; p < CURVE_PANELS; p++)
        if (panel_used(j, p)) return RF_OK;
    return rf_fail(&j->io->why, RF_EDATA, "%.200s: expected values of %.60s to draw, got none",
                   j->a->files.n ? j->a->files.item[0] : j->run[0].name,
                   j->a->metrics.n ? j->a->metrics.item[0] : "a metric");
}

/* Reports metrics that were requested but that some runs do not have. */
static void note_missing(const job *j)
{
    for (int m = 0; m < CURVES && j->a->metrics.n; m++)
        for (int i = 0; i < j->runs; i++)
            if (j->selected[m] && !curve_drawn(&j->run[i].of[m]))
                cli_note(j->io, "%s: has no %s to draw", j->run[i].name, curve_kinds[m].key);
}

static rf_status write_script(job *j, const char *terminal)
{
    char title[256];
    int used = 0;
    for (int p = 0; p < CURVE_PANELS; p++) used += panel_used(j, p);
    cli_gnuplot_quote(j->a->title ? j->a->title : "", title, sizeof title);
    rf_status status = write_format(j, "set terminal %s size %lld,%lld noenhanced font ',11'\nset output out\n",
                                    terminal, (long long)j->a->width, (long long)j->a->height * used);
    if (!status)
        status =
            write_format(j, "set grid\nset key outside right top\nset xlabel 'step'\nset lmargin 12\nset rmargin %d\n",
                         right_margin(j));
    if (!status && j->first < j->last) status = write_format(j, "set xrange [%.9g:%.9g]\n", j->first, j->last);
    if (!status) status = write_format(j, "set multiplot layout %d,1 title '%s'\n", used, title);
    for (int p = 0; p < CURVE_PANELS && !status; p++)
        if (panel_used(j, p)) status = write_panel(j, p);
    return status ? status : write_format(j, "\nunset multiplot\nset output\n");
}

static rf_status choose_metrics(job *j)
{
    const cli_list *list = &j->a->metrics;
    for (int m = 0; m < CURVES; m++) j->selected[m] = list->n == 0;
    for (int i = 0; i < list->n; i++) {
        const int found = curves_find(list->item[i], &j->io->why);
        if (found < 0) return j->io->why.code;
        j->selected[found] = true;
    }
    return RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    job j = {.a = a, .io = io, .first = INFINITY, .last = -INFINITY};
    char script[4096];
    rf_error *why = &io->why;
    j.script.fd = -1;
    const char *dot = a->output ? strrchr(a->output, '.') : NULL;
    const bool svg = dot && !strcmp(dot, ".svg"), png = dot && !strcmp(dot, ".png");
    if (!svg && !png) {
        rf_fail(why, RF_EARG, "plot: expected -o FILE.svg or -o FILE.png, got another file or none");
        return cli_exit(io);
    }
    if (cli_gnuplot_path(a->output, script, sizeof script, why)) return cli_exit(io);
    if (!a->files.n && !a->bands.n) {
        rf_fail(why, RF_EARG, "plot: expected FILE... or --band NAME=FILE,FILE,..., got none");
        return cli_exit(io);
    }
    rf_status status = choose_metrics(&j);
    for (int i = 0; i < a->files.n && !status; i++) status = cli_not_input(a->output, a->files.item[i], why);
    if (!status) status = read_runs(&j);
    if (!status) status = nothing_to_draw(&j);
    if (!status) note_missing(&j);
    if (!status) status = cli_gnuplot_script(&j.script, script, a->output, why);
    for (int i = 0; i < j.runs && !status; i++) status = write_data(&j, i);
    if (!status) status = write_script(&j, svg ? "svg background rgb 'white'" : "pngcairo");
    if (!status) status = cli_out_commit(&j.script, why);
    if (!status) status = cli_gnuplot(script, a->output, why);
    if (!status) cli_note(io, "%s drawn; %s holds script and data", a->output, script);
    cli_out_discard(&j.script);
    for (int i = 0; j.run && i < a->files.n + a->bands.n; i++) curves_clear(&j.run[i]);
    free(j.run);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FILE, A(output), "FILE.svg|FILE.png", NULL, 0, 0, NULL,
     "the plot; its gnuplot script is saved next to it as FILE.gp or FILE.png.gp", NULL},
    {"metric", 0, CLI_EACH, A(metrics), "NAME", NULL, 0, 0, NULL, "plot only this metric; may be repeated; one of"
#define CURVE(key, panel, measured) " " #key
#include "cli/plot/curves.def"
#undef CURVE
     ,
     NULL},
    {"title", 0, CLI_TEXT, A(title), "TEXT", NULL, 0, 0, NULL, "title above the plot", NULL},
    {"width", 0, CLI_INT, A(width), "N", "900", 100, 20000, NULL, "width in pixels", NULL},
    {"height", 0, CLI_INT, A(height), "N", "280", 50, 10000, NULL, "height of each panel in pixels", NULL},
    {"smoothing", 0, CLI_REAL, A(smoothing), "W", NULL, 0, 0.9999, NULL,
     "plot exponential moving averages with weight W of the past, as TensorBoard does; evaluation results are not "
     "smoothed; 0: no smoothing (default: 0)", NULL},
    {"band", 0, CLI_EACH, A(bands), "NAME=FILE,...", NULL, 0, 0, NULL,
     "several runs, such as different seeds, drawn as their mean and a band from minimum to maximum; may be repeated",
     NULL},
    {"log", 0, CLI_FLAG, A(log_scale), NULL, NULL, 0, 0, NULL, "logarithmic scale for the loss", NULL},
    {"FILE", 0, CLI_OPERANDS, A(files), NULL, NULL, 0, 64, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer plot my-model/metrics.jsonl -o loss.svg",
    "roformer plot my-model my-causal-model --metric loss -o compare.png",
    "roformer plot --band rope=r1,r2,r3 --band learned=l1,l2,l3 --smoothing 0.9 -o seeds.svg",
    NULL,
};

const cli_command cmd_plot = {
    "plot", "FILE...", "plot the curves of training runs",
    "Each FILE is a metrics.jsonl or a folder that contains one.  Several runs are drawn into one plot.  Where null "
    "was logged, for example for a loss that is not finite, the line has a gap with a cross.  Requires gnuplot.",
    examples, options, sizeof(struct args), NULL, run,
};
