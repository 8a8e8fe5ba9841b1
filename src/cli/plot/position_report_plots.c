/* position_report_plots.c — the plots of position-report. */
#include <math.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/position_report.h"

static rf_status begin(lab_script *s, const char *folder, const char *name, int64_t width, int64_t height,
                       rf_error *why)
{
    char path[4096], plot[64];
    snprintf(path, sizeof path, "%s/%s.gp", folder, name);
    snprintf(plot, sizeof plot, "%s.svg", name);
    return lab_begin(s, path, plot, width, height, why);
}

static void put_length(lab_script *s, const position_report *r)
{
    lab_put_lengths(s, &(lab_curve){lab_name(r->bench), r->loss, r->lengths}, 1);
}

/* Loss by position in a piece, a curve for each length. */
static void put_loss_by_position(lab_script *s, const position_report *r)
{
    const char *before = "plot ";
    for (int i = 0; i < r->lengths; i++) {
        const rf_length_loss *l = &r->loss[i];
        lab_put(s, "$l%d << EOD\n", i);
        for (int64_t k = 0; k < l->bins && l->defined; k++)
            if (l->bin_labels[k]) lab_put(s, "%.1f %.9g\n", ((double)k + 0.5) * (double)l->bin_width, l->bin_loss[k]);
        lab_put(s, "EOD\n");
    }
    char name[512];
    cli_gnuplot_quote(lab_name(r->bench), name, sizeof name);
    lab_put(s,
            "set grid\nset key outside right title 'pieces of'\nset logscale x 2\nset xlabel 'place in the piece "
            "(tokens)'\nset ylabel 'loss of a prediction (nats)'\n"
            "set title '%s (%s): loss by place in the piece'\n",
            name, rf_position_name(r->bench->is));
    for (int i = 0; i < r->lengths; i++) {
        if (!r->loss[i].defined) continue;
        lab_put(s, "%s$l%d using 1:2 with linespoints linetype %d pointtype 7 pointsize 0.4 title '%lld tokens'",
                before, i, i + 1, (long long)r->loss[i].length);
        before = ", \\\n     ";
    }
    lab_put(s, "\n");
}

static int64_t wide(const rf_attention_report *a) { return a->L < 2 ? 1 : 2; }

/* The mean probability at distance d if each query attends equally to all visible keys: 1/T, or in a causal model the
 * mean of 1/(m+1) over the queries m = d .. T-1. */
static double everywhere(int64_t T, int64_t d, bool causal)
{
    double sum = 0;
    for (int64_t m = d; m < T; m++) sum += 1 / (double)(causal ? m + 1 : T);
    return sum / (double)(T - d);
}

/* Mean probability by distance, a panel for each layer, a curve for each head. */
static void put_distance(lab_script *s, const position_report *r)
{
    const rf_attention_report *a = &r->attention;
    for (int64_t l = 0; l < a->L; l++) {
        lab_put(s, "$a%lld << EOD\n", (long long)l);
        for (int64_t d = 0; d < a->length; d++) {
            lab_put(s, "%lld", (long long)d);
            for (int64_t h = 0; h < a->H; h++) lab_put(s, " %.6g", a->by_distance[(l * a->H + h) * a->length + d]);
            lab_put(s, " %.6g\n", everywhere(a->length, d, lab_causal(r->bench)));
        }
        lab_put(s, "EOD\n");
    }
    lab_panels(s, r->bench, a->L, wide(a), "mean attention to a token over its distance; gray: the same everywhere");
    lab_put(s,
            "set grid\nset logscale y\nset format y '%%g'\nset yrange [1e-6:1]\nset xrange [0:%lld]\nset xlabel "
            "'distance (tokens)'\n"
            "set ylabel 'probability'\nset key outside right top font ',8' title 'head, mean'\n",
            (long long)a->length - 1);
    for (int64_t l = 0; l < a->L; l++) {
        lab_put(s, "set title 'layer %lld'\nplot $a%lld using 1:%lld with lines linecolor rgb 'gray' notitle",
                (long long)l, (long long)l, (long long)a->H + 2);
        for (int64_t h = 0; h < a->H; h++)
            lab_put(s, ", \\\n     $a%lld using 1:%lld with lines linetype %lld title '%lld: %.1f'", (long long)l,
                    (long long)h + 2, (long long)h + 1, (long long)h, a->distance[l * a->H + h]);
        lab_put(s, "\n");
    }
    lab_put(s, "unset multiplot\n");
}

/* Norms of queries and keys: a row of two panels for each layer, a line for each head. */
static void put_planes(lab_script *s, const position_report *r)
{
    const rf_attention_report *a = &r->attention;
    double most = 0;
    for (int64_t l = 0; l < a->L; l++) {
        const rf_head_sums *sums = &a->sums[l];
        const int64_t half = sums->r / 2;
        for (int side = 0; side < 2; side++) {
            const double *plane = side ? sums->key_plane : sums->query_plane;
            lab_put(s, "$%c%lld << EOD\n", side ? 'k' : 'q', (long long)l);
            for (int64_t i = 0; i < half; i++) {
                lab_put(s, "%lld", (long long)i);
                for (int64_t h = 0; h < a->H; h++) {
                    const double norm = plane[h * half + i] / (double)sums->tokens;
                    most = fmax(most, norm);
                    lab_put(s, " %.6g", norm);
                }
                lab_put(s, "\n");
            }
            lab_put(s, "EOD\n");
        }
    }
    lab_panels(s, r->bench, 2 * a->L, 2, "mean norm of queries and keys in each plane that is rotated");
    lab_put(s,
            "set grid\nset yrange [0:%.4g]\nset xlabel 'plane (0 rotates fastest)'\nset ylabel 'norm'\nset key outside "
            "right top font ',8' title 'head'\n",
            most * 1.05);
    for (int64_t l = 0; l < a->L; l++)
        for (int side = 0; side < 2; side++) {
            lab_put(s, "set title 'layer %lld, %s'\nplot ", (long long)l, side ? "keys" : "queries");
            for (int64_t h = 0; h < a->H; h++)
                lab_put(s, "%s$%c%lld using 1:%lld with lines linetype %lld title '%lld'", h ? ", \\\n     " : "",
                        side ? 'k' : 'q', (long long)l, (long long)h + 2, (long long)h + 1, (long long)h);
            lab_put(s, "\n");
        }
    lab_put(s, "unset multiplot\n");
}

static const char *const names[] = {"length", "place", "distance", "planes"};

static bool is_there(const char *folder, const char *name, const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s/%s.%s", folder, name, suffix);
    return rf__os_exists(path);
}

/* A report has the keys of position_report_json; a plot has its script next to it. */
rf_status position_report_own(const char *folder, rf_error *why)
{
    static const char *const suffix[] = {"svg", "png"};
    static const char foreign[] = "%.200s: was not written by position-report, and would be overwritten: choose "
                                  "another folder with -o, or move it";
    char path[4096], script[4096], plot[64];
    if (is_there(folder, "report", "json", path, sizeof path)) {
        json_t *all = cli_json_read(path);
        const bool own = json_object_get(all, "shifts") && json_object_get(all, "attention");
        json_decref(all);
        if (!own) return rf_fail(why, RF_EARG, foreign, path);
    }
    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        const bool drawn = is_there(folder, names[i], "gp", script, sizeof script);
        snprintf(plot, sizeof plot, "%s.svg", names[i]);
        if (cli_gnuplot_own(script, plot, why)) return why->code;
        for (size_t k = 0; k < CLI_COUNT(suffix); k++)
            if (!drawn && is_there(folder, names[i], suffix[k], path, sizeof path))
                return rf_fail(why, RF_EARG, foreign, path);
    }
    return RF_OK;
}

rf_status position_report_draw(const position_report *r, const char *folder, rf_error *why)
{
    const bool rotates = (rf_position_flags(r->bench->is) & RF_POSITION_ROPE) && r->attention.sums[0].r > 1;
    const int64_t L = r->attention.L;
    const struct {
        const char *name;
        bool needed;
        int64_t width, height;
        void (*put)(lab_script *s, const position_report *r);
    } plot[] = {
        {names[0], r->lengths > 0, 900, 480, put_length},
        {names[1], r->lengths > 0, 900, 480, put_loss_by_position},
        {names[2], true, 1200, 60 + 320 * ((L + 1) / 2), put_distance},
        {names[3], rotates, 1100, 60 + 250 * L, put_planes},
    };
    for (size_t i = 0; i < sizeof plot / sizeof *plot && !why->code; i++) {
        lab_script s = {.out.fd = -1};
        if (!plot[i].needed) continue;
        if (!begin(&s, folder, plot[i].name, plot[i].width, plot[i].height, why)) {
            plot[i].put(&s, r);
            lab_draw_both(&s, folder, plot[i].name);
        }
        cli_out_discard(&s.out);
    }
    return why->code;
}
