/* curves.c — reads metrics.jsonl; smoothing; bands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "roformer/inspect/folder.h"
#include "cli/plot/curves.h"

const curve_kind curve_kinds[CURVES] = {
#define CURVE(key, panel, measured) [CURVE_##key] = {#key, panel, measured},
#include "cli/plot/curves.def"
#undef CURVE
};
const char *const curve_panels[CURVE_PANELS] = {"loss (nats)", "accuracy and other scores", "learning rate",
                                                "tokens per second", "gradient norm", "BLEU"};

/* ---- names ---- */

int curves_find(const char *name, rf_error *why)
{
    char evaluated[64];
    cli_nearest near = {name, NULL, 0};
    snprintf(evaluated, sizeof evaluated, "eval_%.50s", name);
    const char *const spelling[] = {name, evaluated};
    for (size_t s = 0; s < CLI_COUNT(spelling); s++)
        for (int i = 0; i < CURVES; i++)
            if (cli_same_name(curve_kinds[i].key, spelling[s], strlen(spelling[s]))) return i;
    for (int i = 0; i < CURVES; i++) cli_consider(&near, curve_kinds[i].key);
    rf_fail(why, RF_EARG, "--metric: unknown metric %.60s%s%s%s", name, near.best ? "; did you mean " : "",
            near.best ? near.best : "", near.best ? "?" : "");
    return -1;
}

int curves_logged(const curve_run runs[], int n, int kind)
{
    char evaluated[64];
    for (int i = 0; i < n; i++)
        if (runs[i].of[kind].n) return kind;
    snprintf(evaluated, sizeof evaluated, "eval_%s", curve_kinds[kind].key);
    const int other = curves_find(evaluated, NULL);
    return other < 0 ? kind : other;
}

/* ---- points ---- */

static bool add(curve *c, double x, double y)
{
    if (c->n == c->capacity) {
        const size_t capacity = c->capacity ? 2 * c->capacity : 64;
        double *a = realloc(c->x, capacity * sizeof *a);
        if (!a) return false;
        c->x = a;
        a = realloc(c->y, capacity * sizeof *a);
        if (!a) return false;
        c->y = a;
        c->capacity = capacity;
    }
    c->gaps += isnan(y) ? 1 : 0;
    c->x[c->n] = x;
    c->y[c->n++] = y;
    return true;
}

double curve_mark(const curve *c, size_t k)
{
    size_t at = k;
    while (at && isnan(c->y[at])) at--;
    while (at + 1 < c->n && isnan(c->y[at])) at++;
    return c->y[at];
}

void curves_clear(curve_run *r)
{
    for (int i = 0; i < CURVES; i++) {
        free(r->of[i].x);
        free(r->of[i].y);
        free(r->of[i].low);
        free(r->of[i].high);
    }
    json_decref(r->last);
    json_decref(r->last_eval);
    *r = (curve_run){.lines = 0};
}

/* ---- reading ---- */

static void name_run(const char *path, char *out, size_t size)
{
    const char *name = cli_file_name(path);
    char folder[4096] = "";
    const bool file = name > path + 1 && !strcmp(name, RF_FILE_METRICS);
    if (file) snprintf(folder, sizeof folder, "%.*s", (int)(name - path - 1), path);
    cli_last_part(file ? folder : path, out, size);
}

static void keep(json_t **slot, json_t *line)
{
    json_decref(*slot);
    *slot = json_incref(line);
}

static rf_status take_line(curve_run *r, json_t *o, rf_error *why)
{
    const double step = json_number_value(json_object_get(o, "step"));
    const bool skipped = json_is_true(json_object_get(o, "skipped"));   /* for its step, only a loss of null counts */
    r->skipped += skipped;
    for (int i = 0; i < CURVES; i++) {
        const json_t *v = json_object_get(o, curve_kinds[i].key);
        const bool known = json_is_number(v) && isfinite(json_number_value(v));
        if ((!known && !json_is_null(v)) || (skipped && (known || i != CURVE_loss))) continue;
        if (!add(&r->of[i], step, known ? json_number_value(v) : NAN))
            return rf_fail(why, RF_ENOMEM, "out of memory: a curve");
    }
    if (skipped) return RF_OK;
    if (json_object_get(o, "eval_loss")) keep(&r->last_eval, o);
    else if (json_object_get(o, "loss")) keep(&r->last, o);
    return RF_OK;
}

static rf_status read_lines(cli_lines *in, const char *name, curve_run *r, rf_error *why)
{
    rf_error broken = {0};
    rf_status status = RF_OK;
    while (!status) {
        const char *line;
        size_t n;
        json_error_t e;
        if ((status = cli_lines_next(in, &line, &n, why)) || !line) break;
        if (broken.code) {                                  /* only the last line may have been truncated by a crash */
            *why = broken;
            return broken.code;
        }
        json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &e);
        if (!o && json_error_code(&e) == json_error_out_of_memory)
            status = rf_fail(why, RF_ENOMEM, "%.200s:%llu: out of memory for its JSON", name,
                             (unsigned long long)in->number);
        else if (json_is_number(json_object_get(o, "step"))) status = take_line(r, o, why);
        else
            rf_fail(&broken, RF_EDATA, "%.200s:%llu: %s", name, (unsigned long long)in->number,
                    o ? "expected a number \"step\", got none" : e.text);
        json_decref(o);
    }
    r->lines = in->number;
    if (!status && broken.code && in->number == 1) {
        *why = broken;
        status = broken.code;
    }
    return status;
}

rf_status curves_read(const char *path, curve_run *out, rf_error *why)
{
    char whole[4096];
    rf__os_state st;
    cli_lines in;
    *out = (curve_run){.lines = 0};
    name_run(path, out->name, sizeof out->name);
    const bool folder = !rf__os_look(path, &st) && st.kind == RF__OS_FOLDER;
    snprintf(whole, sizeof whole, "%s%s", path, folder ? "/" RF_FILE_METRICS : "");
    rf_status status = folder ? cli_must_be_file(whole, why) : RF_OK;
    const size_t n = status ? strlen(why->text) : 0;
    if (status && rf_folders_with(path, RF_FILE_METRICS, whole, 120))
        snprintf(why->text + n, sizeof why->text - n, "; folders in it have one: %s", whole);
    if (!status) status = cli_lines_open(NULL, &in, whole, why);
    if (status) return status;
    status = read_lines(&in, whole, out, why);
    cli_lines_close(&in);
    if (status) curves_clear(out);
    return status;
}

/* ---- smoothing and bands ---- */

void curves_smooth(curve_run *r, double w)
{
    for (int i = 0; i < CURVES && w > 0; i++) {
        curve *c = &r->of[i];
        double mean = 0, left = 1;
        if (curve_kinds[i].measured) continue;
        for (size_t k = 0; k < c->n; k++) {
            if (isnan(c->y[k])) continue;
            mean = w * mean + (1 - w) * c->y[k];
            left *= w;
            c->y[k] = mean / (1 - left);
        }
    }
}

static rf_status band_of(const curve_run runs[], int n, int kind, curve *out, rf_error *why)
{
    size_t at[64] = {0};
    const curve *first = &runs[0].of[kind];
    size_t capacity = 0;
    for (size_t k = 0; k < first->n; k++) {
        double sum = 0, low = INFINITY, high = -INFINITY;
        int have = 0;
        for (int r = 0; r < n; r++) {
            const curve *c = &runs[r].of[kind];
            while (at[r] < c->n && c->x[at[r]] < first->x[k]) at[r]++;
            if (at[r] == c->n || c->x[at[r]] > first->x[k]) break;
            sum += c->y[at[r]];
            low = fmin(low, c->y[at[r]]);
            high = fmax(high, c->y[at[r]]);
            have++;
        }
        if (have < n) continue;
        if (!add(out, first->x[k], sum / n)) return rf_fail(why, RF_ENOMEM, "out of memory: a curve");
        if (capacity < out->capacity) {
            capacity = out->capacity;
            double *l = realloc(out->low, capacity * sizeof *l), *h;
            if (l) out->low = l;
            h = realloc(out->high, capacity * sizeof *h);
            if (h) out->high = h;
            if (!l || !h) return rf_fail(why, RF_ENOMEM, "out of memory: a curve");
        }
        out->low[out->n - 1] = low;
        out->high[out->n - 1] = high;
    }
    return RF_OK;
}

rf_status curves_band(const curve_run runs[], int n, const char *name, curve_run *out, rf_error *why)
{
    rf_status status = RF_OK;
    *out = (curve_run){.lines = 0};
    snprintf(out->name, sizeof out->name, "%s", name);
    for (int i = 0; i < CURVES && !status; i++) status = band_of(runs, n, i, &out->of[i], why);
    if (status) curves_clear(out);
    return status;
}

int curves_ticks(double low, double high, int most, double *first, double *step)
{
    const double span = high > low ? high - low : fabs(low) > 0 ? fabs(low) : 1;
    double unit = pow(10, floor(log10(span / most)));
    static const double factor[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        *step = factor[i] * unit;
        *first = ceil(low / *step - 1e-9) * *step;
        const int n = (int)floor((high - *first) / *step + 1e-9) + 1;
        if (n <= most) return n > 0 ? n : 0;
    }
    return 0;
}
