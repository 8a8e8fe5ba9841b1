/* cmd_plot.c — roformer plot: the curves of metrics.jsonl, drawn by gnuplot.
 *
 * The script with its data stays beside the picture (loss.svg, loss.gp), so that it can be restyled by hand.          */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/gnuplot.h"
#include "cli/io.h"

struct args {
    cli_list files, metrics;
    const char *output, *title;
    int64_t width, height;
    int log_scale;
};

/* What can be drawn, and in which panel. */
static const struct metric { const char *key; int panel; } metrics[] = {
    {"loss", 0}, {"eval_loss", 0}, {"eval_accuracy", 1}, {"accuracy", 1}, {"learning_rate", 2}, {"tokens_per_second", 3},
    {"grad_norm", 4},
};
static const char *const panels[] = {"loss (nats)", "accuracy", "learning rate", "tokens per second", "gradient norm"};
enum { METRICS = sizeof metrics / sizeof *metrics, PANELS = sizeof panels / sizeof *panels };

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_out script;
    bool wanted[METRICS];
    size_t *points;             /* [files, METRICS]                                                                    */
    double first, last;         /* steps that are drawn                                                                */
} job;

static rf_status put(job *j, const char *format, ...) RF_PRINTF(2, 3);
static rf_status put(job *j, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return cli_out_write(&j->script, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, &j->io->why);
}

/* out/metrics.jsonl is the run "out". */
static void run_name(const char *path, char *out, size_t size)
{
    char text[512];
    snprintf(text, sizeof text, "%s", path);
    char *slash = strrchr(text, '/');
    if (slash && !strcmp(slash, "/metrics.jsonl")) *slash = 0;
    slash = strrchr(text, '/');
    cli_gnuplot_quote(slash && slash[1] ? slash + 1 : text, out, size);
}

/* One data block for each metric of a file: "$r0_loss << EOD", "step value" lines. */
static rf_status read_file(job *j, const char *path, int number)
{
    rf_error *why = &j->io->why;
    char whole[4096], *block[METRICS] = {0};
    size_t size[METRICS] = {0};
    FILE *f[METRICS] = {0};
    struct stat st;
    snprintf(whole, sizeof whole, "%s%s", path, !stat(path, &st) && S_ISDIR(st.st_mode) ? "/metrics.jsonl" : "");
    cli_lines in;
    rf_status status = cli_lines_open(&in, whole, why);
    for (int m = 0; m < METRICS && !status; m++)
        if (!(f[m] = open_memstream(&block[m], &size[m]))) status = rf_fail(why, RF_ENOMEM, "out of memory");
    rf_error broken = {0};
    while (!status) {
        const char *line;
        size_t n;
        json_error_t e;
        if ((status = cli_lines_next(&in, &line, &n, why)) || !line) break;
        if (broken.code) {                                  /* only the last line may have been cut by a crash */
            *why = broken;
            status = broken.code;
            break;
        }
        json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &e);
        const json_t *step = json_object_get(o, "step");
        if (!json_is_number(step))
            rf_fail(&broken, RF_EDATA, "%.200s:%llu: %s", whole, (unsigned long long)in.number,
                    o ? "no number \"step\"" : e.text);
        for (int m = 0; m < METRICS && json_is_number(step); m++) {
            const json_t *v = json_object_get(o, metrics[m].key);
            if (!json_is_number(v) || !isfinite(json_number_value(v))) continue;
            fprintf(f[m], "%.0f %.9g\n", json_number_value(step), json_number_value(v));
            j->points[number * METRICS + m]++;
            if (!j->wanted[m]) continue;
            j->first = fmin(j->first, json_number_value(step));
            j->last = fmax(j->last, json_number_value(step));
        }
        json_decref(o);
    }
    if (!status && broken.code && in.number == 1) {
        *why = broken;
        status = broken.code;
    }
    cli_lines_close(&in);
    for (int m = 0; m < METRICS; m++) {
        if (!f[m]) continue;
        if (fclose(f[m]) && !status) status = rf_fail(why, RF_ENOMEM, "out of memory");
        if (!status && j->points[number * METRICS + m]) {
            status = put(j, "$r%d_%s << EOD\n", number, metrics[m].key);
            if (!status) status = cli_out_write(&j->script, block[m], size[m], why);
            if (!status) status = put(j, "EOD\n");
        }
        free(block[m]);
    }
    return status;
}

static bool panel_used(const job *j, int panel)
{
    for (int i = 0; i < j->a->files.n; i++)
        for (int m = 0; m < METRICS; m++)
            if (metrics[m].panel == panel && j->wanted[m] && j->points[i * METRICS + m]) return true;
    return false;
}

static void curve_name(const job *j, int file, int m, char *out, size_t size)
{
    char name[512];
    run_name(j->a->files.item[file], name, sizeof name);
    snprintf(out, size, "%s%s%s", j->a->files.n > 1 ? name : "", j->a->files.n > 1 ? " " : "", metrics[m].key);
}

/* Room on the right for the longest name of a curve and its sample, the same in all panels: their steps stand one above
 * the other. */
static int right_margin(const job *j)
{
    enum { SAMPLE = 7, MOST = 60 };
    char name[600];
    int widest = 0;
    for (int i = 0; i < j->a->files.n; i++)
        for (int m = 0; m < METRICS; m++) {
            if (!j->wanted[m] || !j->points[i * METRICS + m]) continue;
            curve_name(j, i, m, name, sizeof name);
            widest = cli_cells(name) > widest ? cli_cells(name) : widest;
        }
    return (widest < MOST ? widest : MOST) + SAMPLE;
}

static rf_status write_panel(job *j, int panel)
{
    bool first = true;
    char name[600];
    rf_status status = put(j, "\nset ylabel '%s'\n%s", panels[panel],
                           j->a->log_scale && panel == 0 ? "set logscale y\n" : "unset logscale\n");
    for (int i = 0; i < j->a->files.n; i++)
        for (int m = 0; m < METRICS && !status; m++) {
            if (metrics[m].panel != panel || !j->wanted[m] || !j->points[i * METRICS + m]) continue;
            curve_name(j, i, m, name, sizeof name);
            status = put(j, "%s$r%d_%s using 1:2 with %s title '%s'", first ? "plot " : ", \\\n     ", i, metrics[m].key,
                         !strncmp(metrics[m].key, "eval", 4) ? "linespoints pointtype 7 pointsize 0.4" : "lines",
                         name);
            first = false;
        }
    return status ? status : put(j, "\n");
}

static rf_status write_script(job *j, const char *picture, const char *terminal)
{
    char name[1024], title[256];
    int used = 0;
    for (int p = 0; p < PANELS; p++) used += panel_used(j, p);
    if (!used) return rf_fail(&j->io->why, RF_EDATA, "%.200s: nothing to draw", j->a->files.item[0]);
    const char *slash = strrchr(picture, '/');
    cli_gnuplot_quote(slash ? slash + 1 : picture, name, sizeof name);
    cli_gnuplot_quote(j->a->title ? j->a->title : "", title, sizeof title);
    rf_status status = put(j, "# drawn with: gnuplot FILE.gp\nif (!exists('out')) out = '%s'\n", name);
    if (!status) status = put(j, "set terminal %s size %lld,%lld noenhanced font ',11'\nset output out\n", terminal,
                              (long long)j->a->width, (long long)j->a->height * used);
    if (!status) status = put(j, "set grid\nset key outside right top\nset xlabel 'step'\nset lmargin 12\nset rmargin %d\n",
                              right_margin(j));
    if (!status && j->first < j->last) status = put(j, "set xrange [%.9g:%.9g]\n", j->first, j->last);
    if (!status) status = put(j, "set multiplot layout %d,1 title '%s'\n", used, title);
    for (int p = 0; p < PANELS && !status; p++)
        if (panel_used(j, p)) status = write_panel(j, p);
    return status ? status : put(j, "\nunset multiplot\nset output\n");
}

static rf_status choose_metrics(job *j)
{
    const cli_list *list = &j->a->metrics;
    for (int m = 0; m < METRICS; m++) j->wanted[m] = list->n == 0;
    for (int i = 0; i < list->n; i++) {
        cli_nearest near = {list->item[i], NULL, 0};
        int found = -1;
        for (int m = 0; m < METRICS; m++) {
            if (!strcmp(list->item[i], metrics[m].key)) found = m;
            cli_consider(&near, metrics[m].key);
        }
        if (found < 0)
            return rf_fail(&j->io->why, RF_EARG, "--metric: unknown metric %.60s%s%s%s", list->item[i],
                           near.best ? "; did you mean " : "", near.best ? near.best : "", near.best ? "?" : "");
        j->wanted[found] = true;
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
        rf_fail(why, RF_EARG, "plot needs -o FILE.svg or -o FILE.png");
        return cli_exit(io);
    }
    const int n = snprintf(script, sizeof script, "%.*s.gp", (int)(dot - a->output), a->output);
    if (n < 0 || (size_t)n >= sizeof script - 32) {
        rf_fail(why, RF_EARG, "--output: the path is too long");
        return cli_exit(io);
    }
    rf_status status = choose_metrics(&j);
    if (!status && !(j.points = calloc((size_t)a->files.n * METRICS, sizeof *j.points)))
        status = rf_fail(why, RF_ENOMEM, "out of memory");
    if (!status) status = cli_out_open(&j.script, script, why);
    for (int i = 0; i < a->files.n && !status; i++) status = read_file(&j, a->files.item[i], i);
    if (!status) status = write_script(&j, a->output, svg ? "svg background rgb 'white'" : "pngcairo");
    if (!status) status = cli_out_commit(&j.script, why);
    if (!status) status = cli_gnuplot(script, a->output, why);
    if (!status) cli_note(io, "%s drawn; %s holds script and data", a->output, script);
    cli_out_discard(&j.script);
    free(j.points);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FILE, A(output), "FILE.svg|FILE.png", NULL, 0, 0, NULL, "the picture; its script is kept as FILE.gp", NULL},
    {"metric", 0, CLI_EACH, A(metrics), "NAME", NULL, 0, 0, NULL,
     "draw this only, may be given again: loss, eval_loss, eval_accuracy, learning_rate, tokens_per_second, grad_norm", NULL},
    {"title", 0, CLI_TEXT, A(title), "TEXT", NULL, 0, 0, NULL, "above the picture", NULL},
    {"width", 0, CLI_INT, A(width), "N", "900", 100, 20000, NULL, "in pixels", NULL},
    {"height", 0, CLI_INT, A(height), "N", "280", 50, 10000, NULL, "of each panel, in pixels", NULL},
    {"log", 0, CLI_FLAG, A(log_scale), NULL, NULL, 0, 0, NULL, "logarithmic loss", NULL},
    {"FILE", 0, CLI_OPERANDS, A(files), NULL, NULL, 1, 64, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer plot my-model/metrics.jsonl -o loss.svg",
    "roformer plot run-a run-b --metric eval_loss -o compare.png",
    NULL,
};

const cli_command cmd_plot = {
    "plot", "FILE...", "draw the curves of training runs",
    "Each FILE is a metrics.jsonl, or a folder that holds one; several runs are drawn into one picture.  Needs gnuplot.",
    examples, options, sizeof(struct args), NULL, run,
};
