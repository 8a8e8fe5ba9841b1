/* chart.c — held-out loss against steps, against minutes of the machine, and against the length of texts, a curve for a
 * row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/inspect/files.h"
#include "chart.h"

static numbers *loss_at(curve *c, double step)
{
    for (int i = 0; i < c->points; i++)
        if (c->step[i] == step) return &c->loss[i];
    if (c->points == POINTS) return NULL;
    c->step[c->points] = step;
    return &c->loss[c->points++];
}

static void add_line(curve *c, json_t *line, int seed, double nats)
{
    const double step = json_number_value(json_object_get(line, "step")),
                 rate = json_number_value(json_object_get(line, "tokens_per_second"));
    json_t *loss = json_object_get(line, "eval_loss");
    if (loss && loss_at(c, step)) keep(loss_at(c, step), seed, json_number_value(loss) / nats);
    if (!(rate > 0) || !(step > 0)) return;
    const double minutes = json_number_value(json_object_get(line, "tokens")) / step / rate / 60;
    if (c->minutes_a_step == 0 || minutes < c->minutes_a_step) c->minutes_a_step = minutes;
}

void chart_add_run(curve *c, const char *folder, int seed, double nats)
{
    char path[PATH], text[4096];
    path_of(path, "%s/" RF_FILE_METRICS, folder);
    FILE *f = fopen(path, "r");
    while (f && fgets(text, sizeof text, f)) {
        json_t *line = json_loads(text, 0, NULL);
        if (line) add_line(c, line, seed, nats);
        json_decref(line);
    }
    if (f) fclose(f);
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

static double last_of(const curve *c) { return c->points ? mean(&c->loss[c->points - 1]) : 1e9; }

static int by_last(const void *x, const void *y)
{
    const double a = last_of(x), b = last_of(y);
    return a < b ? -1 : a > b;
}

static void put_data(FILE *f, const curve *c, int i)
{
    fprintf(f, "$steps%d << EOD\n", i);
    for (int p = 0; p < c->points; p++) {
        double least = c->loss[p].x[0], most = least;
        for (int s = 1; s < c->loss[p].n; s++) {
            least = c->loss[p].x[s] < least ? c->loss[p].x[s] : least;
            most = c->loss[p].x[s] > most ? c->loss[p].x[s] : most;
        }
        fprintf(f, "%g %.5g %.4f %.4f %.4f\n", c->step[p], c->step[p] * c->minutes_a_step, mean(&c->loss[p]), least,
                most);
    }
    fprintf(f, "EOD\n$lengths%d << EOD\n", i);
    for (int l = 0; l < c->lengths; l++)
        if (c->at_length[l].n) fprintf(f, "%g %.4f\n", c->length[l], mean(&c->at_length[l]));
    fprintf(f, "EOD\n");
}

/* An apostrophe in a string of gnuplot's is written twice. */
static void put_text(FILE *f, const char *text)
{
    fputc('\'', f);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', f);
        fputc(*text, f);
    }
    fputc('\'', f);
}

/* Eight colors for each of five kinds of line, in the order of the key. */
static void put_style(FILE *f, int i) { fprintf(f, "linetype %d dashtype %d linewidth 1.5", i % 8 + 1, i / 8 % 5 + 1); }

static void put_panel(FILE *f, int n, const char *label, const char *data, int x, int y)
{
    fprintf(f, "set xlabel '%s'\nplot ", label);
    for (int i = 0; i < n; i++) {
        if (y == 3)
            fprintf(
                f,
                "$%s%d using %d:4:5 with filledcurves linetype %d fillstyle transparent solid 0.15 noborder notitle, ",
                data, i, x, i % 8 + 1);
        fprintf(f, "$%s%d using %d:%d with linespoints pointtype 7 pointsize 0.3 ", data, i, x, y);
        put_style(f, i);
        fprintf(f, " notitle%s", i + 1 < n ? ", \\\n     " : "\n");
    }
}

static void put_key(FILE *f, const curve *c, int n)
{
    fprintf(f, "unset logscale\nunset grid\nunset border\nunset tics\nunset xlabel\nunset ylabel\nset xrange "
               "[0:1]\nset yrange [0:1]\n"
               "set key at graph 0, graph 1 left top Left reverse samplen 2 maxcols 1\nplot ");
    for (int i = 0; i < n; i++) {
        fprintf(f, "NaN with lines ");
        put_style(f, i);
        fprintf(f, " title '%s  %.2f%s'%s", c[i].name, last_of(&c[i]), c[i].loss[0].n > 1 ? " (mean)" : "",
                i + 1 < n ? ", \\\n     " : "\n");
    }
}

void chart_draw(const char *results, const char *title, const char *unit, curve *c, int n)
{
    char path[PATH];
    bool lengths = false;
    path_of(path, "%s/curves.gp", results);
    FILE *f = fopen(path, "w");
    if (!f) die("%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) lengths |= c[i].lengths > 0;
    qsort(c, (size_t)n, sizeof *c, by_last);
    fprintf(f, "# drawn with: gnuplot curves.gp\n");
    for (int i = 0; i < n; i++) put_data(f, &c[i], i);
    fprintf(f, "set terminal svg background rgb 'white' size 1500,%d noenhanced font ',11'\nset output 'curves.svg'\n"
               "set multiplot layout 1,%d title ", n > 20 ? 640 : 420, lengths ? 4 : 3);
    put_text(f, title);
    fprintf(f, "\nset grid\nunset key\nset ylabel 'held-out loss (%s)'\n", unit);
    put_panel(f, n, "step", "steps", 1, 3);
    put_panel(f, n, "minutes, at the fastest rate of the log", "steps", 2, 3);
    if (lengths) {
        fprintf(f, "set logscale x 2\n");
        put_panel(f, n, "length of texts (tokens)", "lengths", 1, 2);
    }
    put_key(f, c, n);
    fprintf(f, "unset multiplot\n");
    if (fclose(f)) die("%s: %s", path, strerror(errno));
    if (n) run_script(results, "curves.gp");
}
