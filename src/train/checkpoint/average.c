/* average.c — the mean of the last checkpoints: w_1, then w + (w_i - w) / i. */
#include <inttypes.h>
#include <stdio.h>

#include "roformer/files.h"
#include "train/checkpoint/average.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/folder.h"

static rf_status load(const rf_params *p, const char *folder, float *slab, rf_error *why)
{
    char path[4096];
    rf_weights *w;
    rf_status status = rf__path(path, sizeof path, folder, RF_FILE_WEIGHTS, why);
    if (!status) status = rf_weights_open(p->ctx, path, &w, why);
    if (status) return status;
    status = rf__params_load(p, w, slab, NULL, NULL, why);
    rf_weights_close(w);
    return status;
}

static bool intact(const rf_ctx *ctx, const char *folder, int64_t step, char *path, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    return !rf__path(path, size, folder, name, NULL) && !rf__checkpoint_verify(ctx, path, NULL);
}

rf_status rf__average_checkpoints(rf__optimizer *o, const char *folder, int64_t newest, int64_t most, char *note,
                                  size_t size, rf_error *why)
{
    const rf_ctx *ctx = o->params->ctx;
    int64_t *step = NULL, taken = 0;
    size_t n, used = (size_t)snprintf(note, size, "the model is the mean of checkpoints");
    rf_status status = rf__checkpoint_steps(ctx, folder, &step, &n, why);
    for (size_t i = n; i-- && !status && taken < most;) {
        char path[4096];
        if (step[i] > newest || !intact(ctx, folder, step[i], path, sizeof path)) continue;
        taken++;
        status = load(o->params, path, taken == 1 ? o->value : o->grad, why);
        if (!status && taken > 1) rf__optimizer_blend(o, o->value, o->grad, 1 / (double)taken);
        if (used < size)
            used += (size_t)snprintf(note + used, size - used, "%s %" PRId64, taken > 1 ? "," : "", step[i]);
    }
    if (!status && !taken) status = rf_fail(why, RF_EDATA, "%s: average_last: no intact checkpoint", folder);
    rf__free(ctx, step);
    return status;
}
