/* table.c — rows: tasks and metrics; columns: the models, between a baseline of word counts and the paper's figures.
 *
 *     cell          mean ± standard deviation over the seeds, in percent
 *     difference    row - first row, paired by seed, with the 95 % interval of the mean
 *     median        over the seeds, when there is only one row
 *     average       of the tasks' first metrics, seed by seed, without tasks that say "average": false               */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glue.h"

/* ---- the baselines, from the lines of results/glue-baselines.txt ------------------------------------------------- */

static const struct { const char *metric, *shown;
} names[] = {
    {"f1", "F1"},           {"accuracy", "accuracy"},  {"matthews_correlation", "Matthews"},
    {"pearson", "Pearson"}, {"spearmanr", "Spearman"},
};

static const char *shown(const char *metric)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].metric, metric)) return names[i].shown;
    return metric;
}

/* "MRPC   words  accuracy  71.6  Matthews  28.0  F1  80.9": the number after the metric's name; NaN: none. */
static double baseline(const study *s, const task *t, const char *what, const char *metric)
{
    const char *path = json_string_value(json_object_get(s->asked.file, "baselines"));
    FILE *f = path ? fopen(path, "r") : NULL;
    char line[512], first[64], second[64];
    double x = NAN;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63s %63s", first, second) != 2 || strcmp(first, t->name) || strcmp(second, what)) continue;
        const char *at = strstr(line + strlen(first), shown(metric));
        if (at) x = strtod(at + strlen(shown(metric)), NULL);
    }
    if (f) fclose(f);
    return x;
}

/* ---- lines of the table ------------------------------------------------------------------------------------------ */

static void print_plain(FILE *f, double x, int width)
{
    if (isfinite(x)) fprintf(f, " %*.1f", width, x);
    else fprintf(f, " %*s", width, "-");
}

static double elsewhere(const task *t, const char *where, const char *who, const char *metric)
{
    json_t *x = json_object_get(json_object_get(json_object_get(t->json, where), who), metric);
    return x ? json_number_value(x) : (double)NAN;
}

/* Scores of others: "paper", for the two models of the paper, or "published", for the model that the file names. */
static const char *published(const study *s) { return json_string_value(json_object_get(s->asked.file, "published")); }

static double median(numbers a)
{
    for (int i = 1; i < a.n; i++)
        for (int j = i; j > 0 && a.x[j] < a.x[j - 1]; j--) {
            const double x = a.x[j];
            a.x[j] = a.x[j - 1], a.x[j - 1] = x;
        }
    return !a.n ? (double)NAN : a.n % 2 ? a.x[a.n / 2] : 0.5 * (a.x[a.n / 2 - 1] + a.x[a.n / 2]);
}

enum { CELL = 12 };

static void head(const study *s, FILE *f)
{
    const size_t rows = json_array_size(s->rows);
    fprintf(f, "%-8s %-9s %8s %8s", "", "", "majority", "words");
    for (size_t r = 0; r < rows; r++) fprintf(f, " %*s", CELL, rows > 1 ? row_name(s, r) : "mean");
    if (rows == 1) fprintf(f, " %8s", "median");
    if (published(s)) fprintf(f, "   | %9s\n", published(s));
    else fprintf(f, "   | paper: %6s %9s\n", "BERT", "RoFormer");
}

static void metric_line(const study *s, const task *t, const char *metric, FILE *f)
{
    fprintf(f, "%-8s %-9s", t->name, shown(metric));
    print_plain(f, baseline(s, t, "majority", metric), 8);
    print_plain(f, baseline(s, t, "words", metric), 8);
    for (size_t r = 0; r < json_array_size(s->rows); r++) {
        const numbers a = scores_of(s, t, r, metric);
        print_cell(f, &a, 100, CELL, 1);
    }
    if (json_array_size(s->rows) == 1) print_plain(f, 100 * median(scores_of(s, t, 0, metric)), 8);
    fprintf(f, published(s) ? "   |" : "   |       ");
    if (published(s)) print_plain(f, elsewhere(t, "published", published(s), metric), 9);
    else print_plain(f, elsewhere(t, "paper", "BERT", metric), 6);
    if (!published(s)) print_plain(f, elsewhere(t, "paper", "RoFormer", metric), 9);
    fputc('\n', f);
}

/* Figures of others for the rows: "reported" of a task, by row. */
static void reported_line(const study *s, const task *t, const char *metric, FILE *f)
{
    const size_t rows = json_array_size(s->rows);
    size_t known = 0;
    for (size_t r = 0; r < rows; r++) known += isfinite(elsewhere(t, "reported", row_name(s, r), metric)) ? 1 : 0;
    if (!known) return;
    fprintf(f, "%-8s %-9s %8s %8s", "", "reported", "", "");
    for (size_t r = 0; r < rows; r++) print_plain(f, elsewhere(t, "reported", row_name(s, r), metric), CELL);
    fputc('\n', f);
}

static numbers average(const study *s, size_t row)
{
    numbers sum = {.n = 0};
    int tasks = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (json_is_false(json_object_get(s->task[i].json, "average"))) continue;
        const numbers a = scores_of(s, &s->task[i], row, metric_name(&s->task[i], 0));
        numbers both = {.n = 0};
        for (int k = 0; k < a.n; k++) {
            if (!tasks) keep(&both, a.seed[k], a.x[k]);
            for (int j = 0; j < sum.n && tasks; j++)
                if (sum.seed[j] == a.seed[k]) keep(&both, a.seed[k], sum.x[j] + a.x[k]);
        }
        sum = both;
        tasks++;
    }
    for (int k = 0; k < sum.n; k++) sum.x[k] /= tasks;
    return sum;
}

static void difference_cell(FILE *f, const numbers *a, const numbers *first)
{
    const numbers d = differences(a, first);
    char cell[64] = "-";
    if (d.n > 1) snprintf(cell, sizeof cell, "%+.1f ± %.1f", 100 * mean(&d), 100 * half_interval(&d));
    else if (d.n) snprintf(cell, sizeof cell, "%+.1f", 100 * d.x[0]);
    fprintf(f, " %*s", CELL + 2 + (d.n > 1), cell);
}

static void difference_lines(const study *s, FILE *f)
{
    const size_t rows = json_array_size(s->rows);
    if (rows < 2) return;
    fprintf(f, "\nDifference to %s, paired by seed (95 %%):\n\n%-18s", row_name(s, 0), "");
    for (size_t r = 1; r < rows; r++) fprintf(f, " %*s", CELL + 2, row_name(s, r));
    fputc('\n', f);
    for (size_t i = 0; i <= s->n; i++) {
        const task *t = &s->task[i < s->n ? i : 0];
        const char *metric = metric_name(t, 0);
        const numbers first = i < s->n ? scores_of(s, t, 0, metric) : average(s, 0);
        fprintf(f, "%-8s %-9s", i < s->n ? t->name : "average", i < s->n ? shown(metric) : "");
        for (size_t r = 1; r < rows; r++) {
            const numbers a = i < s->n ? scores_of(s, t, r, metric) : average(s, r);
            difference_cell(f, &a, &first);
        }
        fputc('\n', f);
    }
}

static void task_lines(const study *s, FILE *f)
{
    fprintf(f, "\n%-8s %8s %8s   learning rate taken, runs of %zu:", "", "train", "dev", json_array_size(s->seeds));
    for (size_t r = 0; r < json_array_size(s->rows); r++) fprintf(f, " %*s", CELL, row_name(s, r));
    fputc('\n', f);
    for (size_t i = 0; i < s->n; i++) {
        const task *t = &s->task[i];
        fprintf(f, "%-8s %8lld %8lld   %34s", t->name, t->train, t->dev, "");
        for (size_t r = 0; r < json_array_size(s->rows); r++) {
            char cell[32] = "-";
            const numbers a = scores_of(s, t, r, metric_name(t, 0));
            if (a.n) snprintf(cell, sizeof cell, "%g, %d", chosen_rate(s, t, r), a.n);
            fprintf(f, " %*s", CELL, cell);
        }
        fputc('\n', f);
    }
}

static void text(const study *s, FILE *f)
{
    json_t *note;
    size_t k;
    fprintf(f, "%s\n\n", json_string_value(json_object_get(s->asked.file, "title")));
    head(s, f);
    for (size_t i = 0; i < s->n; i++)
        for (size_t m = 0; metric_name(&s->task[i], m); m++) {
            metric_line(s, &s->task[i], metric_name(&s->task[i], m), f);
            reported_line(s, &s->task[i], metric_name(&s->task[i], m), f);
        }
    fprintf(f, "%-8s %-9s %8s %8s", "average", "", "", "");
    for (size_t r = 0; r < json_array_size(s->rows); r++) {
        const numbers a = average(s, r);
        print_cell(f, &a, 100, CELL, 1);
    }
    fputc('\n', f);
    difference_lines(s, f);
    task_lines(s, f);
    json_array_foreach(json_object_get(s->asked.file, "notes"), k, note)
        fprintf(f, "%s%s\n", k ? "" : "\n", json_string_value(note));
}

/* ---- every number ------------------------------------------------------------------------------------------------ */

static void raw(const study *s, FILE *f)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t r = 0; r < json_array_size(s->rows); r++)
            for (size_t m = 0; metric_name(&s->task[i], m); m++) {
                const task *t = &s->task[i];
                const numbers a = scores_of(s, t, r, metric_name(t, m));
                for (int k = 0; k < a.n; k++)
                    fprintf(f,
                            "{\"task\":\"%s\",\"row\":\"%s\",\"learning_rate\":%g,\"seed\":%d,\"metric\":\"%s\","
                            "\"value\":%.6f}\n",
                            t->name, row_name(s, r), chosen_rate(s, t, r), a.seed[k], metric_name(t, m), a.x[k]);
            }
}

/* ---- the plot ---------------------------------------------------------------------------------------------------- */

/* Whether the row has any score. */
static bool drawn(const study *s, size_t row)
{
    for (size_t i = 0; i < s->n; i++)
        if (scores_of(s, &s->task[i], row, metric_name(&s->task[i], 0)).n) return true;
    return false;
}

static void points(const study *s, FILE *f, const char *what)
{
    fprintf(f, "$%s << EOD\n", what);
    for (size_t i = 0; i < s->n; i++) {
        const double x = baseline(s, &s->task[i], what, metric_name(&s->task[i], 0));
        if (isfinite(x)) fprintf(f, "%zu %.3f\n", i, x);
        else fprintf(f, "%zu NaN\n", i);
    }
    fprintf(f, "EOD\n");
}

static void script(const study *s, FILE *f)
{
    static const char *const color[ROWS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                            "#56b4e9", "#e69f00", "#000000", "#999999",
                                            "#882255", "#44aa99"};
    const size_t rows = json_array_size(s->rows) < ROWS ? json_array_size(s->rows) : ROWS;
    const double step = rows > 5 ? 0.8 / (double)rows : 0.16;
    for (size_t r = 0; r < rows; r++) {
        if (!drawn(s, r)) continue;
        fprintf(f, "$row%zu << EOD\n", r);
        for (size_t i = 0; i < s->n; i++) {
            const numbers a = scores_of(s, &s->task[i], r, metric_name(&s->task[i], 0));
            const double x = (double)i + step * ((double)r - 0.5 * (double)(rows - 1));
            if (a.n) fprintf(f, "%.3f %.3f %.3f\n", x, 100 * mean(&a), a.n > 1 ? 100 * deviation(&a) : 0);
        }
        fprintf(f, "EOD\n");
    }
    points(s, f, "words");
    points(s, f, "majority");
    fprintf(f,
            "set terminal svg size 900,420 dynamic enhanced font 'sans,13' background '#ffffff'\nset output out\n"
            "set ylabel 'dev score, %%'\nset grid ytics lc '#dddddd'\nset key outside right top\nset xrange "
            "[-0.6:%.1f]\nset xtics (",
            (double)s->n - 0.4);
    for (size_t i = 0; i < s->n; i++) fprintf(f, "%s'%s' %zu", i ? ", " : "", s->task[i].name, i);
    fprintf(f, ")\nplot $words using 1:2 with points pt 2 ps 1.2 lc '#666666' title 'bag of words', \\\n"
               "     $majority using 1:2 with points pt 1 ps 1.2 lc '#666666' title 'majority class'");
    for (size_t r = 0; r < rows; r++)
        if (drawn(s, r))
            fprintf(f, ", \\\n     $row%zu using 1:2:3 with yerrorbars pt 7 ps 0.8 lw 1.5 lc '%s' title '%s'", r,
                    color[r], row_name(s, r));
    fputc('\n', f);
}

static FILE *create(const study *s, const char *name)
{
    char path[PATH];
    path_of(path, "%s/%s", s->asked.results, name);
    FILE *f = fopen(path, "w");
    if (!f) die("%s: %s", path, strerror(errno));
    return f;
}

void glue_table(const study *s)
{
    static const struct { const char *name; void (*write)(const study *, FILE *); } file[] = {
        {"table.txt", text}, {"runs.jsonl", raw}, {"table.gp", script},
    };
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        FILE *f = create(s, file[i].name);
        file[i].write(s, f);
        if (fclose(f)) die("%s/%s: %s", s->asked.results, file[i].name, strerror(errno));
    }
    command words = {0};
    say(&words, "gnuplot");
    say(&words, "-e");
    say(&words, "out = '%s/table.svg'", s->asked.results);
    say(&words, "%s/table.gp", s->asked.results);
    if (execute(&words, "/dev/null")) fprintf(stderr, "glue: no plot was drawn\n");
    forget(&words);
}
