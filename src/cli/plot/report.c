/* report.c — a self-contained page: it includes its style and plots, and has no scripts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "roformer/inspect/folder.h"
#include "cli/plot/report.h"
#include "cli/plot/svg.h"

json_t *report_state(cli_io *io, const char *folder)
{
    rf_checkpoints all;
    char path[4096];
    json_t *state = NULL;
    if (rf_checkpoints_list(io->ctx, folder, &all, NULL)) return NULL;
    if (all.n) {
        const int size =
            snprintf(path, sizeof path, "%s/checkpoint-%" PRId64 "/" RF_FILE_STATE, folder, all.step[all.n - 1]);
        if (size > 0 && (size_t)size < sizeof path) state = cli_json_read(path);
    }
    rf_checkpoints_free(&all);
    return state;
}

/* ---- tables ---- */

static void put_row(FILE *to, const char *name, const char *value)
{
    fputs("<tr><th>", to);
    svg_text(to, name);
    fputs("</th><td>", to);
    svg_text(to, value);
    fputs("</td></tr>\n", to);
}

static void put_value(FILE *to, const char *name, const json_t *v)
{
    char *text = NULL;
    if (json_is_string(v)) put_row(to, name, json_string_value(v));
    else if ((text = cli_json_dump(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) | JSON_COMPACT)))
        put_row(to, name, text);
    free(text);
}

static void put_object(FILE *to, const char *title, const json_t *o)
{
    const char *key;
    json_t *v;
    if (!json_object_size(o)) return;
    fprintf(to, "<details><summary>%s</summary><table>\n", title);
    json_object_foreach((json_t *)(uintptr_t)o, key, v) put_value(to, key, v);
    fputs("</table></details>\n", to);
}

static double number(const json_t *line, const char *key)
{
    const json_t *v = json_object_get(line, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void put_number(FILE *to, const char *name, double x, const char *format, double scale)
{
    char text[64];
    if (isnan(x)) return;
    snprintf(text, sizeof text, "%.6g%s", scale * x, format);
    put_row(to, name, text);
}

/* Further results of the last evaluation: the metrics of a fine-tuned model. */
static void put_metrics(FILE *to, const json_t *line)
{
    static const char *const others[] = {"eval_loss", "eval_accuracy", "eval_seconds", "eval_labels", "eval_tokens"};
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)line, key, v) {
        char name[80];
        bool other = strncmp(key, "eval_", 5) != 0;
        for (size_t i = 0; i < CLI_COUNT(others); i++) other = other || !strcmp(key, others[i]);
        if (other || !json_is_number(v)) continue;
        snprintf(name, sizeof name, "held-out %s", key + 5);
        for (char *c = name; *c; c++) *c = *c == '_' ? ' ' : *c;
        put_number(to, name, json_number_value(v), "", 1);
    }
}

static void put_summary(FILE *to, const curve_run *r, const json_t *state, const rf_config *config)
{
    char text[128], time[32], count[32];
    double best = NAN, at = 0;
    const curve *eval = &r->of[CURVE_eval_loss];
    for (size_t k = 0; k < eval->n; k++)
        if (!isnan(eval->y[k]) && !(best <= eval->y[k])) best = eval->y[k], at = eval->x[k];
    fputs("<table>\n", to);
    if (config) {
        char decoder[32] = "";
        if (config->is_encoder_decoder) snprintf(decoder, sizeof decoder, " + %" PRId64, config->decoder_layers);
        snprintf(text, sizeof text,
                 "%" PRId64 "%s layers, width %" PRId64 ", %" PRId64 " heads, %.2f million parameters",
                 config->num_hidden_layers, decoder, config->hidden_size, config->num_attention_heads,
                 (double)rf_config_parameters(config) * 1e-6);
        put_row(to, "model", text);
    }
    snprintf(text, sizeof text, "%.0f of %.0f", number(r->last, "step"), number(state, "max_steps"));
    if (r->last && json_is_number(json_object_get(state, "max_steps"))) put_row(to, "step", text);
    put_number(to, "epoch", number(r->last, "epoch"), "", 1);
    put_number(to, "loss", number(r->last, "loss"), "", 1);
    put_number(to, "held-out loss", number(r->last_eval, "eval_loss"), "", 1);
    put_number(to, "held-out accuracy", number(r->last_eval, "eval_accuracy"), " %", 100);
    put_metrics(to, r->last_eval);
    if (!isnan(best)) {
        snprintf(text, sizeof text, "%.6g at step %.0f", best, at);
        put_row(to, "best held-out loss", text);
    }
    cli_count(number(r->last, "tokens"), count, sizeof count);
    cli_duration(number(r->last, "seconds"), time, sizeof time);
    snprintf(text, sizeof text, "%s tokens in %s", count, time);
    if (!isnan(number(r->last, "tokens")) && !isnan(number(r->last, "seconds"))) put_row(to, "trained on", text);
    put_number(to, "tokens per second", number(r->last, "tokens_per_second"), "", 1);
    put_number(to, "updates skipped", r->skipped ? (double)r->skipped : NAN, "", 1);
    fputs("</table>\n", to);
}

/* ---- the page ---- */

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 "
    "1rem;color:#222;background:#fff}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;margin:.5rem 0}\n"
    "th,td{text-align:left;padding:.15rem .8rem .15rem 0;border-bottom:1px solid "
    "#8884;font-weight:400;vertical-align:top}\n"
    "th{color:#777}figure{margin:1rem 0}figcaption{color:#777}figcaption span.a{color:#0072b2}figcaption "
    "span.b{color:#d55e00}\n"
    "figcaption span.c{color:#008a5e}figcaption span.d{color:#b0578d}figcaption "
    "span.e{color:#8a6d00}polyline.c{stroke:#008a5e}polyline.d{stroke:#b0578d}\n"
    "polyline.e{stroke:#8a6d00}circle.c{fill:#008a5e}circle.d{fill:#b0578d}circle.e{fill:#8a6d00}\n"
    "svg{width:100%;height:auto}svg "
    "text{font-size:11px;fill:#777}.grid{stroke:#8883;fill:none}polyline{fill:none;stroke-width:1.6}\n"
    "polyline.a{stroke:#0072b2}polyline.b{stroke:#d55e00}polyline.raw{stroke:#0072b2;stroke-width:1;opacity:.25}circle."
    "b{fill:#d55e00}\n"
    ".gap{stroke:#c00;fill:none;stroke-width:1.6}\n"
    ".mask{background:#0072b2;color:#fff;border-radius:.3rem;padding:0 "
    ".4rem}.right{color:#008a5e}small{color:#777}summary{cursor:pointer}\n"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}polyline.a,polyline.raw{stroke:#56b4e9}"
    "figcaption span.a{color:#56b4e9}\n"
    "polyline.b{stroke:#e69f00}circle.b{fill:#e69f00}figcaption span.b{color:#e69f00}.right{color:#2fbf8f}}\n";

static void put_curves(FILE *to, curve_run *r, const char *folder)
{
    double first = INFINITY, last = -INFINITY;
    curve_run raw;
    const bool smooth = r->of[CURVE_loss].n > 60 && !curves_read(folder, &raw, NULL);
    for (int i = 0; i < CURVES; i++)
        if (r->of[i].n) {
            first = fmin(first, r->of[i].x[0]);
            last = fmax(last, r->of[i].x[r->of[i].n - 1]);
        }
    if (smooth) curves_smooth(r, 0.9);
    fputs("<h2>Curves</h2>\n", to);
    for (int p = 0; p < CURVE_PANELS; p++) svg_panel(to, r, smooth ? &raw : NULL, p, first, last);
    if (smooth) curves_clear(&raw);
}

static const char *const page_end[] = {"<p><small>roformer ", "</small></p>\n</body></html>\n"};

rf_status report_own(const char *path, rf_error *why)
{
    enum { TAIL = 128 };
    char tail[TAIL + 1] = "";
    rf__os_state st;
    FILE *f = !rf__os_look(path, &st) && st.kind == RF__OS_FILE && st.size ? rf__os_stream(path, "r") : NULL;
    if (!f) return RF_OK;                                               /* opening it for writing reports the error */
    const bool at_end = !fseek(f, st.size > TAIL ? -(long)TAIL : 0, st.size > TAIL ? SEEK_END : SEEK_SET);
    const size_t n = at_end ? fread(tail, 1, TAIL, f) : 0, size = strlen(page_end[1]);
    fclose(f);
    if (n > size && strstr(tail, page_end[0]) && !strcmp(tail + n - size, page_end[1])) return RF_OK;
    return rf_fail(why, RF_EARG, "%.200s: not a report of this program, and would be overwritten; name another file, "
                   "-o FILE.html, or move it", path);
}

static void put_page(cli_io *io, FILE *to, const char *folder, curve_run *r, const cli_list *samples)
{
    rf_config config;
    json_t *state = report_state(io, folder);
    const json_t *options = json_object_get(state, "options");
    const bool known = !rf_config_read(io->ctx, folder, &config, NULL);
    char path[4096];
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
          "content=\"width=device-width\"/>\n<title>",
          to);
    svg_text(to, r->name);
    fprintf(to, "</title>\n<style>%s</style></head>\n<body><h1>", style);
    svg_text(to, r->name);
    fputs("</h1>\n", to);
    put_summary(to, r, state, known ? &config : NULL);
    put_curves(to, r, folder);
    report_samples(io, to, folder, options, samples);
    fputs("<h2>How it was made</h2>\n", to);
    put_object(to, "options", options);
    snprintf(path, sizeof path, "%s/" RF_FILE_CONFIG, folder);
    json_t *all = cli_json_read(path);
    put_object(to, RF_FILE_CONFIG, all);
    json_decref(all);
    fprintf(to, "%s%s%s", page_end[0], rf_version(), page_end[1]);
    json_decref(state);
}

rf_status report_write(cli_io *io, const char *folder, const char *path, const cli_list *samples, rf_error *why)
{
    curve_run r;
    rf__os_text page = {0};
    rf_status status = curves_read(folder, &r, why);
    if (status) return status;
    if (rf__os_text_open(&page)) put_page(io, page.to, folder, &r, samples);
    const bool whole = rf__os_text_close(&page);
    status = io->why.code;
    if (!whole && !status) status = rf_fail(why, RF_ENOMEM, "out of memory: a report");
    if (!status) status = cli_write_file(path, page.text, page.size, why);
    free(page.text);
    curves_clear(&r);
    return status;
}
