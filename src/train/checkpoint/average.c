/* average.c — the average of checkpoints, the last ones or the best: w_1, then w + (w_i - w) / i. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "roformer/inspect/files.h"
#include "train/checkpoint/average.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/folder.h"

static rf_status load(const rf_params *p, const char *folder, float *slab, rf_error *why)
{
    char path[4096];
    rf_weights *w;
    rf_params own = *p;                         /* frequencies of positions in the file are those of p                */
    rf_status status = rf__path(path, sizeof path, folder, RF_FILE_WEIGHTS, why);
    if (!status) status = rf_weights_open(p->ctx, path, &w, why);
    if (status) return status;
    status = rf__params_load(&own, w, slab, NULL, NULL, why);
    rf_weights_close(w);
    return status;
}

static bool intact(const rf_ctx *ctx, const char *folder, int64_t step, char *path, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    return !rf__path(path, size, folder, name, NULL) && !rf__checkpoint_verify(ctx, path, NULL);
}

/* Uses the first `most` of the given steps whose checkpoints are intact. */
static rf_status average(rf__optimizer *o, const char *folder, const int64_t step[], size_t n, int64_t most, char *note,
                         size_t size, rf_error *why)
{
    int64_t taken = 0;
    rf_status status = RF_OK;
    size_t used = (size_t)snprintf(note, size, "the model is the mean of checkpoints");
    for (size_t i = 0; i < n && !status && taken < most; i++) {
        char path[4096];
        if (!intact(o->params->ctx, folder, step[i], path, sizeof path)) continue;
        taken++;
        status = load(o->params, path, taken == 1 ? o->value : o->grad, why);
        if (!status && taken > 1) rf__optimizer_blend(o, o->value, o->grad, 1 / (double)taken);
        if (used < size)
            used += (size_t)snprintf(note + used, size - used, "%s %" PRId64, taken > 1 ? "," : "", step[i]);
    }
    return status || taken ? status : rf_fail(why, RF_EDATA, "%s: expected an intact checkpoint to average, got none",
                                              folder);
}

rf_status rf__average_last(rf__optimizer *o, const char *folder, int64_t newest, int64_t most, char *note, size_t size,
                           rf_error *why)
{
    const rf_ctx *ctx = o->params->ctx;
    int64_t *step = NULL;
    size_t n;
    rf_status status = rf__checkpoint_steps(ctx, folder, &step, &n, why);
    if (status) return status;
    while (n && step[n - 1] > newest) n--;
    for (size_t i = 0; i < n / 2; i++) {
        const int64_t other = step[i];
        step[i] = step[n - 1 - i];
        step[n - 1 - i] = other;
    }
    status = average(o, folder, step, n, most, note, size, why);
    rf__free(ctx, step);
    return status;
}

/* ---- the best ---- */

static double metric_of(const rf_ctx *ctx, const char *folder, int64_t step, const rf__ranking *by)
{
    char name[64], at[4096], path[4096];
    rf__state then;
    json_t *options = NULL;
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    if (rf__path(at, sizeof at, folder, name, NULL) || rf__path(path, sizeof path, at, RF_FILE_STATE, NULL) ||
        rf__state_load(ctx, path, &then, &options, NULL))
        return NAN;
    json_decref(options);
    return then.eval_step != step ? (double)NAN : rf__state_metric(&then, by->metric);
}

/* Of equal ones, the earlier one comes first. */
rf_status rf__checkpoints_best(const rf_ctx *ctx, const char *folder, int64_t newest, const rf__ranking *by,
                               int64_t best[RF__RANKED], size_t *n, rf_error *why)
{
    int64_t *step = NULL;
    double metric[RF__RANKED];
    size_t steps;
    *n = 0;
    const rf_status status = by->most > 0 ? rf__checkpoint_steps(ctx, folder, &step, &steps, why) : RF_OK;
    if (status || !step) return status;
    const size_t most = (size_t)rf__min64(by->most, RF__RANKED);
    for (size_t i = 0; i < steps && step[i] <= newest; i++) {
        const double m = metric_of(ctx, folder, step[i], by);
        size_t at = *n;
        if (!isfinite(m)) continue;
        while (at && (by->greater ? m > metric[at - 1] : m < metric[at - 1])) at--;
        if (at >= most) continue;
        if (*n < most) ++*n;
        memmove(&best[at + 1], &best[at], (*n - at - 1) * sizeof *best);
        memmove(&metric[at + 1], &metric[at], (*n - at - 1) * sizeof *metric);
        best[at] = step[i];
        metric[at] = m;
    }
    rf__free(ctx, step);
    return RF_OK;
}

rf_status rf__average_best(rf__optimizer *o, const char *folder, int64_t newest, const rf__ranking *by, char *note,
                           size_t size, rf_error *why)
{
    int64_t best[RF__RANKED];
    size_t n;
    const rf_status status = rf__checkpoints_best(o->params->ctx, folder, newest, by, best, &n, why);
    return status ? status : average(o, folder, best, n, by->most, note, size, why);
}
