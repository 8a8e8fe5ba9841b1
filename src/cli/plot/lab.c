/* lab.c — an open model with text for measurements, and gnuplot scripts; see lab.h. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/plot/gnuplot.h"
#include "cli/plot/lab.h"

/* ---- the model ---- */

static int report_share(void *user, double share)
{
    lab_bench *b = user;
    cli_progress_show(&b->progress, b->doing, share, "");
    return cli_stopped() != 0;
}

rf_status lab_open(cli_io *io, const char *given, const rf_train_options *t, int64_t stretches, int64_t pieces,
                   lab_bench *b)
{
    rf_error *why = &io->why;
    *b = (lab_bench){.doing = ""};
    cli_progress_init(&b->progress, io, 1e9);                       /* a bar on a terminal, no lines elsewhere */
    rf_status status = cli_model_folder(given, b->folder, sizeof b->folder, why);
    if (!status) status = cli_model_open(io, b->folder, RF_F32, &b->m);
    if (!status) status = rf_position_of(b->m.config, b->folder, &b->is, why);
    if (!status && t->texts)
        status = rf_stretches_read(io->ctx, b->m.t, t->text, t->texts, &t->reader, t->max_length, stretches,
                                    &b->text, why);
    rf_probe_defaults(&b->probe);
    b->probe.ctx = io->ctx;
    b->probe.model = b->m.model;
    b->probe.session = b->m.session;
    b->probe.text = &b->text;
    b->probe.pieces = pieces < b->text.n ? pieces : b->text.n;
    b->probe.seed = t->seed;
    b->probe.mlm_probability = t->mlm_probability;
    b->probe.progress = report_share;
    b->probe.user = b;
    return status;
}

void lab_close(cli_io *io, lab_bench *b)
{
    cli_progress_clear(&b->progress);
    rf_stretches_free(io->ctx, &b->text);
    cli_model_close(&b->m);
}

const char *lab_name(const lab_bench *b)
{
    const char *slash = rf__os_last_slash(b->folder);
    return slash && slash[1] ? slash + 1 : b->folder;
}

/* ---- scripts ---- */

rf_status lab_put(lab_script *s, const char *format, ...)
{
    char line[1024];
    va_list args;
    if (s->why->code) return s->why->code;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return cli_out_write(&s->out, line, n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, s->why);
}

rf_status lab_begin(lab_script *s, const char *path, const char *plot, int64_t width, int64_t height, rf_error *why)
{
    s->why = why;
    if (cli_gnuplot_script(&s->out, path, plot, why)) return why->code;
    lab_put(s,
            "if (strstrt(out, '.svg') > 0) {\n    set terminal svg background rgb 'white' size %lld,%lld noenhanced "
            "font ',11'\n} else {\n"
            "    set terminal pngcairo size %lld,%lld noenhanced font ',11'\n}\n",
            (long long)width, (long long)height, (long long)width, (long long)height);
    /* yellow is hard to see on white */
    return lab_put(s, "set output out\nset datafile missing '?'\nset linetype 5 linecolor rgb '#8c564b'\n");
}

rf_status lab_panels(lab_script *s, const lab_bench *b, int64_t panels, int64_t columns, const char *title)
{
    char name[512];
    cli_gnuplot_quote(lab_name(b), name, sizeof name);
    return lab_put(s, "set multiplot layout %lld,%lld title '%s (%s%s): %s'\n",
                   (long long)((panels + columns - 1) / columns), (long long)columns, name, rf_position_name(b->is),
                   lab_causal(b) ? ", causal" : "", title);
}

rf_status lab_draw_both(lab_script *s, const char *folder, const char *name)
{
    char script[4096], plot[4096];
    if (lab_put(s, "set output\n") || cli_out_commit(&s->out, s->why)) return s->why->code;
    snprintf(script, sizeof script, "%s/%s.gp", folder, name);
    snprintf(plot, sizeof plot, "%s/%s.svg", folder, name);
    if (cli_gnuplot(script, plot, s->why)) return s->why->code;
    snprintf(plot, sizeof plot, "%s/%s.png", folder, name);
    return cli_gnuplot(script, plot, s->why);
}

rf_status lab_script_path(const char *plot, char *script, size_t size, rf_error *why)
{
    const char *dot = strrchr(plot, '.');
    if (!dot || (strcmp(dot, ".svg") && strcmp(dot, ".png")))
        return rf_fail(why, RF_EARG, "positions plot: expected -o FILE.svg or -o FILE.png, got another file or none");
    return cli_gnuplot_path(plot, script, size, why);
}

rf_status lab_put_lengths(lab_script *s, const lab_curve curve[], int curves)
{
    double first = INFINITY, last = 0;
    for (int i = 0; i < curves; i++) {
        lab_put(s, "$m%d << EOD\n", i);
        for (int k = 0; k < curve[i].n; k++) {
            const rf_length_loss *l = &curve[i].at[k];
            if (!l->defined) continue;
            lab_put(s, "%lld %.9g %.9g\n", (long long)l->length, l->loss, isfinite(l->error) ? l->error : 0);
            first = fmin(first, (double)l->length);
            last = fmax(last, (double)l->length);
        }
        lab_put(s, "EOD\n");
    }
    lab_put(s, "set grid\nset key top left\nset logscale x 2\nset xlabel 'tokens of a piece'\nset ylabel 'loss of a "
               "prediction (nats)'\n");
    lab_put(s,
            "set xrange [%.9g:%.9g]\nset title 'loss where the text is cut at other lengths; bars: one standard "
            "error'\nplot ",
            first / 1.2, last * 1.2);
    for (int i = 0; i < curves; i++) {
        char name[512];
        cli_gnuplot_quote(curve[i].name, name, sizeof name);
        lab_put(s, "%s$m%d using 1:2:3 with yerrorlines linetype %d pointtype 7 pointsize 0.5 title '%s'",
                i ? ", \\\n     " : "", i, i + 1, name);
    }
    return lab_put(s, "\n");
}
