/* cmd_watch.c — roformer watch: shows a run in a terminal and updates it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "roformer/inspect/folder.h"
#include "cli/shell/commands.h"
#include "cli/os/program.h"
#include "cli/plot/curves.h"
#include "cli/plot/report.h"

struct args {
    cli_list folder;
    const char *metric;
    int64_t rows;
    double interval, smoothing;
    int once;
};

/* ---- a curve of Braille dots ---- */

enum { WIDEST = 240, HIGHEST = 60, LABEL = 10 };

typedef struct canvas {
    int columns, rows;
    bool utf8;
    unsigned char dot[HIGHEST][WIDEST];
    bool gap[WIDEST];           /* marked in the lowest row */
} canvas;

static void set_dot(canvas *c, int x, int y)
{
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x >= 0 && y >= 0 && x < 2 * c->columns && y < 4 * c->rows) c->dot[y / 4][x / 2] |= bit[y % 4][x % 2];
}

static void draw_curve(canvas *c, const curve *k, double low, double high)
{
    const double wide = 2.0 * c->columns - 1, tall = 4.0 * c->rows - 1, x0 = k->x[0], x1 = fmax(k->x[k->n - 1], x0 + 1);
    double px = 0, py = 0;
    bool joined = false;
    for (size_t i = 0; i < k->n; i++) {
        if (isnan(k->y[i])) c->gap[(int)lrint((k->x[i] - x0) / (x1 - x0) * wide) / 2] = true;
        if (isnan(k->y[i])) joined = false;
        if (isnan(k->y[i])) continue;
        const double x = (k->x[i] - x0) / (x1 - x0) * wide,
                     y = high > low ? (high - k->y[i]) / (high - low) * tall : tall / 2;
        const int steps = joined ? (int)fmax(fabs(x - px), fabs(y - py)) + 1 : 1;
        for (int s = 1; s <= steps; s++)
            set_dot(c, (int)lrint(joined ? px + (x - px) * s / steps : x),
                    (int)lrint(joined ? py + (y - py) * s / steps : y));
        px = x;
        py = y;
        joined = true;
    }
}

static void print_canvas(const canvas *c, double low, double high, double first, double last)
{
    for (int r = 0; r < c->rows; r++) {
        if (r == 0) printf("%*.4g ", LABEL - 1, high);
        else if (r + 1 == c->rows) printf("%*.4g ", LABEL - 1, low);
        else printf("%*s", LABEL, "");
        for (int k = 0; k < c->columns; k++) {
            const unsigned d = c->dot[r][k];
            if (r + 1 == c->rows && c->gap[k]) putchar('x');
            else if (!c->utf8) putchar(d ? '*' : ' ');
            else printf("%c%c%c", 0xE2, 0xA0 | (int)(d >> 6), 0x80 | (int)(d & 0x3F));          /* U+2800 + d */
        }
        putchar('\n');
    }
    printf("%*s%-*.0f%*.0f\n", LABEL, "", c->columns / 2, first, c->columns - c->columns / 2, last);
}

/* ---- a frame ---- */

static double number(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "  loss 2.3041"; nothing for a value that was not logged. digits 0: three significant ones. */
static void print_number(const json_t *line, const char *key, const char *name, int digits)
{
    const double x = number(line, key);
    if (!isnan(x)) printf(digits ? "%s %.*f" : "%s %.*g", name, digits ? digits : 3, x);
}

/* The second line: the numbers of the last step and the last evaluation. */
static void print_numbers(const curve_run *r)
{
    char speed[32];
    print_number(r->last, "loss", "loss", 4);
    print_number(r->last, "learning_rate", "  lr", 0);
    print_number(r->last, "grad_norm", "  gradient norm", 0);
    cli_count(number(r->last, "tokens_per_second"), speed, sizeof speed);
    if (!isnan(number(r->last, "tokens_per_second"))) printf("  %s tokens/s", speed);
    print_number(r->last_eval, "eval_loss", "  held-out loss", 4);
    const double accuracy = number(r->last_eval, "eval_accuracy");
    if (!isnan(accuracy)) printf(" (%.1f %%)", 100 * accuracy);
    print_number(r->last_eval, "eval_bleu", "  BLEU", 2);
    for (int m = CURVE_eval_accuracy + 1; m < CURVE_accuracy; m++) {                /* scores of fine-tuning */
        const double x = number(r->last_eval, curve_kinds[m].key);
        if (!isnan(x)) printf("  %s %.4f", curve_kinds[m].key + 5, x);
    }
    if (r->skipped) printf("  %lld updates skipped", (long long)r->skipped);
    putchar('\n');
}

static void print_status(const curve_run *r, double max_steps, bool alive)
{
    char eta[32];
    const double step = number(r->last, "step"), seconds = number(r->last, "seconds");
    cli_put_name(r->name);
    printf(": ");
    if (!r->last) {
        printf("%s\n", alive ? "running, nothing is logged yet" : "nothing is logged");
        return;
    }
    printf("step %.0f", step);
    if (max_steps > 0) printf(" of %.0f (%.0f %%)", max_steps, 100 * step / max_steps);
    print_number(r->last, "epoch", ", epoch", 2);
    printf(", %s", max_steps > 0 && step >= max_steps ? "done" : alive ? "running" : "not running");
    if (alive && max_steps > step && seconds > 0) {
        cli_duration(seconds / step * (max_steps - step), eta, sizeof eta);
        printf(", about %s left", eta);
    }
    putchar('\n');
    print_numbers(r);
}

static void print_curve(const struct args *a, const curve_run *r, int kind)
{
    static canvas c;
    const curve *k = &r->of[kind];
    double low = INFINITY, high = -INFINITY;
    const int columns = cli_terminal_width(1) - LABEL - 1;
    if (!curve_drawn(k)) {
        printf("no %s is logged\n", curve_kinds[kind].key);
        return;
    }
    c = (canvas){.columns = columns < 10 ? 10 : columns < WIDEST ? columns : WIDEST, .rows = (int)a->rows,
                 .utf8 = cli_os_utf8()};
    for (size_t i = 0; i < k->n; i++) {
        low = fmin(low, k->y[i]);
        high = fmax(high, k->y[i]);
    }
    printf("%s\n", curve_kinds[kind].key);
    draw_curve(&c, k, low, high);
    print_canvas(&c, low, high, k->x[0], k->x[k->n - 1]);
}

/* A run without logged values is not an error while it is running. */
static rf_status frame(const struct args *a, cli_io *io, int kind, bool *alive, double *step)
{
    const char *folder = a->folder.item[0];
    char path[4096];
    curve_run r;
    *alive = rf_run_alive(folder);
    snprintf(path, sizeof path, "%s/" RF_FILE_METRICS, folder);
    if (*alive && !rf__os_exists(path)) {
        cli_put_name(folder);
        printf(": running, nothing is logged yet\n");
        return cli_flush(&io->why);
    }
    const rf_status status = curves_read(folder, &r, &io->why);
    if (status) return status;
    json_t *state = report_state(io, folder);
    *step = number(r.last, "step");
    curves_smooth(&r, a->smoothing);
    print_status(&r, number(state, "max_steps"), *alive);
    if (!a->once || a->rows) print_curve(a, &r, curves_logged(&r, 1, kind));
    json_decref(state);
    curves_clear(&r);
    return cli_flush(&io->why);
}

/* In parts: not all systems end a pause when a stop is asked for. */
static void sleep_for(double seconds)
{
    for (double left = seconds; left > 0 && !cli_stopped(); left -= 0.2) rf__os_sleep(fmin(left, 0.2));
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    const int kind = curves_find(a->metric, &io->why);
    const bool live = !a->once && rf__os_terminal(1);
    bool alive = true;
    double step = NAN;
    if (kind < 0) return cli_exit(io);
    if (!a->once && !live)
        rf_fail(&io->why, RF_EARG, "standard output: expected a terminal, got something else; use --once");
    else cli_signals_catch();
    while (!io->why.code && !cli_stopped()) {
        if (live) fputs("\033[H\033[2J", stdout);
        if (frame(a, io, kind, &alive, &step) || a->once || !alive) break;
        sleep_for(a->interval);
    }
    return cli_stopped() ? 128 + cli_stopped() : cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"once", 0, CLI_FLAG, A(once), NULL, NULL, 0, 0, NULL, "print once and exit, for scripts", NULL},
    {"metric", 0, CLI_TEXT, A(metric), "NAME", "loss", 0, 0, NULL, "metric to plot, one of"
#define CURVE(key, panel, measured) " " #key
#include "cli/plot/curves.def"
#undef CURVE
     ,
     NULL},
    {"smoothing", 0, CLI_REAL, A(smoothing), "W", NULL, 0, 0.9999, NULL,
     "plot exponential moving averages with weight W of the past; 0: no smoothing (default: 0)", NULL},
    {"interval", 0, CLI_REAL, A(interval), "SECONDS", "2", 0.1, 3600, NULL, "seconds between updates of the plot",
     NULL},
    {"rows", 0, CLI_INT, A(rows), "N", "12", 0, HIGHEST, NULL, "height of the plot in lines; 0: only numbers", NULL},
    {"DIR", 0, CLI_OPERANDS, A(folder), NULL, NULL, 1, 1, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer watch my-model",
    "roformer watch my-model --once --rows 0",
    NULL,
};

const cli_command cmd_watch = {
    "watch",
    "DIR",
    "follow a training run in the terminal",
    "DIR is the output folder of a run.  The plot is redrawn until the run ends.  This command takes no lock and "
    "changes no file.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
