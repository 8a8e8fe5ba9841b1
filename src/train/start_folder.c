/* start_folder.c — which folder a run writes, and whether it may: the same rules for pre-training and fine-tuning.
 *
 *     not resumed              the folder has no checkpoints and no weights, which would be an earlier run's result;
 *                              without a lock, which every run leaves, it has none of the other files of a run either
 *     resumed in its folder    the folder of the checkpoint; later checkpoints are renamed; logs are cut to the length
 *                              that it records, if they begin with the same bytes
 *     resumed elsewhere        as a run that is not resumed; the logs begin there */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "train/checkpoint/folder.h"
#include "train/run.h"

/* The newest checkpoint; 0: none. */
static int64_t newest_of(const rf_ctx *ctx, const char *folder)
{
    int64_t *step;
    size_t n;
    if (rf__checkpoint_steps(ctx, folder, &step, &n, NULL)) return 0;
    const int64_t newest = n ? step[n - 1] : 0;
    rf__free(ctx, step);
    return newest;
}

/* Whether the path is the folder of a run, given instead of one of its checkpoints. */
static bool holds_checkpoints(const rf_ctx *ctx, const char *folder)
{
    return !rf__folder_has(folder, RF_FILE_COMPLETE) && newest_of(ctx, folder) > 0;
}

static bool same_folder(const char *a, const char *b)
{
    rf__os_state x, y;
    return !rf__os_look(a, &x) && !rf__os_look(b, &y) && rf__os_same(&x, &y);
}

/* "latest" searches the output folder; the folder of a checkpoint is the one that contains it. */
static rf_status find_folder(rf__run *r, rf_error *why)
{
    const char *resume = r->o.resume_from_checkpoint, *folder = r->o.output_dir ? r->o.output_dir : r->o.model;
    char *whole = NULL;
    r->own = resume != NULL;
    if (resume && !r->o.output_dir && holds_checkpoints(r->ctx, resume)) {
        folder = resume;
    } else if (resume && strcmp(resume, "latest")) {
        whole = rf__os_whole_path(resume);
        if (!whole) return rf_fail(why, RF_EIO, "%s: cannot open the checkpoint: %s", resume, rf__os_reason(errno));
        const int n = snprintf(r->from, sizeof r->from, "%s", whole);
        char *slash = strrchr(whole, '/');
        slash[slash == whole] = 0;
        if (!r->o.output_dir) folder = whole;
        if (n < 0 || (size_t)n >= sizeof r->from) folder = NULL;
        r->own = folder && same_folder(folder, whole);
    }
    const int n = folder ? snprintf(r->folder, sizeof r->folder, "%s", folder) : -1;
    free(whole);
    if (n > 0 && (size_t)n < sizeof r->folder) return RF_OK;
    return rf_fail(why, RF_EARG, "output_dir: expected a folder, got none, and no model folder that could be used");
}

/* Refuses a folder with files of another run: checkpoints, or the model that it ended with. */
static rf_status check_free(const rf__run *r, rf_error *why)
{
    if (r->own) return RF_OK;
    const int64_t newest = newest_of(r->ctx, r->folder);
    if (newest && *r->from)
        return rf_fail(why, RF_EARG, "%s: expected the folder of the run of %s, got checkpoint-%" PRId64 " of another "
                       "run; choose another folder, -o DIR (output_dir)", r->folder, r->from, newest);
    if (newest)
        return rf_fail(why, RF_EARG,
                       "%s: expected a folder without checkpoints, got checkpoint-%" PRId64 " of an earlier run; "
                       "resume it (--resume, resume_from_checkpoint), or choose another output_dir", r->folder,
                       newest);
    if (rf__holds_weights(r->folder))
        return rf_fail(why, RF_EARG,
                       "%s: expected a folder without weights, got one with weights; choose another folder, -o DIR "
                       "(output_dir)", r->folder);
    return RF_OK;
}

#define MOVE "name another folder, -o DIR (output_dir), or move it away"

/* In a folder without a run, all files with names that a run writes belong to others, except those of the model in its
 * own folder. */
static rf_status check_overwrite(const rf__run *r, rf_error *why)
{
    static const char *const log[] = {RF_FILE_METRICS, RF_FILE_RESULTS, RF_FILE_REPORT, RF_FILE_DROPPED, NULL};
    char path[4096];
    const char *model = *r->from ? r->from : r->o.model;
    if (r->own || r->ran) return RF_OK;
    const char *tokenizer = model ? rf_tokenizer_found(r->ctx, model) : RF_FILE_SUBWORDS;
    rf_status status = rf__folder_lacks(r->folder, log, MOVE, why);
    if (!status) status = rf__path(path, sizeof path, r->folder, RF_FILE_TOKENS, why);
    if (!status) status = rf__replaceable(path, RF__TOKENS_MAGIC, "token cache", why); /* it is read, or replaced */
    if (!status && !(model && same_folder(r->folder, model)))
        status = rf__folder_lacks_model(r->folder, tokenizer, MOVE, why);
    return status;
}

static rf_status find_checkpoint(rf__run *r, rf_error *why)
{
    char note[512] = "";
    rf_error damage = {0};
    rf_status status = *r->from ? rf__checkpoint_foreign(r->from, why) : RF_OK;
    if (status) return status;
    if (*r->from && !rf__folder_has(r->from, RF_FILE_COMPLETE) && !rf__folder_has(r->from, RF_FILE_STATE))
        return rf_fail(why, RF_EDATA, "%s: expected a checkpoint, got another folder", r->from);
    if (!*r->from) status = rf__checkpoint_latest(r->ctx, r->folder, r->from, sizeof r->from, note, sizeof note, why);
    else if (rf__checkpoint_verify(r->ctx, r->from, &damage))
        status = rf_fail(why, RF_EDATA, "%s: expected an intact checkpoint, got a damaged one (%s); use \"latest\" for "
                         "the newest intact checkpoint", r->from,
                         damage.text);
    if (!status && *note) rf__run_notify(r, "note", "%s", note);
    return status;
}

/* Checked before the lock, which leaves a file, and again when no other run can write. */
rf_status rf__run_lock_folder(rf__run *r, rf_error *why)
{
    rf_status status = find_folder(r, why);
    r->ran = !status && rf__folder_has(r->folder, RF_FILE_LOCK);
    const bool empty = !status && !holds_checkpoints(r->ctx, r->folder);
    if (empty) status = check_free(r, why);
    if (!status && empty) status = check_overwrite(r, why);
    r->fresh = !status && !rf__os_exists(r->folder);
    if (!status) status = rf__folder_make(r->folder, why);
    if (!status) status = rf__folder_lock(r->folder, &r->lock, why);
    if (!status) status = check_free(r, why);
    if (status) return status;
    rf__folder_sweep(r->folder);
    return r->o.resume_from_checkpoint ? find_checkpoint(r, why) : RF_OK;
}

static const char base_model[] = "base_model";

void rf__run_keep_model(rf__run *r)
{
    char *whole = r->o.model && !r->base ? rf__os_whole_path(r->o.model) : NULL;
    const char *base = r->base ? json_string_value(r->base) : whole ? whole : r->o.model;
    if (base) rf__json_set(&r->options, base_model, rf__json_text(base, strlen(base)));
    free(whole);
}

rf_status rf__run_compare_model(rf__run *r, const json_t *saved, rf_error *why)
{
    const json_t *base = json_object_get(saved, base_model);
    const char *const now = r->o.model;
    if (!base) base = json_object_get(json_object_get(saved, "finetune"), base_model);      /* an older file */
    const char *const then = json_string_value(base);
    if (!then) return RF_OK;
    r->base = json_incref((json_t *)(uintptr_t)base);
    if (!now || !rf__options_chosen(&r->o, &r->usual, "model") || !strcmp(now, then)) return RF_OK;
    if (same_folder(now, then) || same_folder(now, r->folder) || same_folder(now, r->from)) return RF_OK;
    return rf_fail(why, RF_EARG, "model: expected %s, with which the run of %s began, got %s; a resumed run has the "
                   "weights and the tokenizer of its checkpoint, so leave it out", then, r->from, now);
}

/* Checkpoints are renamed before the logs are cut: a run that is killed in between keeps both or neither. */
static rf_status leave_the_future(rf__run *r, rf_error *why)
{
    char note[512];
    const rf__state *t = &r->state;
    rf_status status = rf__metrics_known(r->folder, t->metrics_bytes, t->metrics_crc, why);
    if (!status && r->o.report_to == RF_REPORT_TENSORBOARD)
        status = rf__events_known(r->folder, t->events_bytes, t->events_crc, why);
    if (!status) status = rf__checkpoints_abandon(r->ctx, r->folder, t->step, note, sizeof note, why);
    if (!status && *note)
        rf__run_notify(r, "note",
                       "continuing from step %" PRId64 "; files of later steps are renamed to %s", t->step, note);
    return status;
}

rf_status rf__run_open_logs(rf__run *r, rf_error *why)
{
    const int64_t metrics = r->own ? r->state.metrics_bytes : 0, events = r->own ? r->state.events_bytes : 0;
    rf_status status = r->own ? leave_the_future(r, why) : RF_OK;
    if (!status) status = rf__metrics_open(r->folder, metrics, &r->metrics, why);
    if (!status && r->o.report_to == RF_REPORT_TENSORBOARD)
        status = rf__events_open(r->folder, events, rf__wall_seconds(), &r->events, why);
    if (!status && r->own && r->metrics.bytes < r->state.metrics_bytes)
        rf__run_notify(r, "note", "metrics.jsonl is shorter than the checkpoint records; missing lines stay missing");
    if (!status && !r->own && r->state.metrics_bytes)
        rf__run_notify(r, "note", "metrics.jsonl of %s begins after step %" PRId64 "; earlier steps are in the folder "
                       "of %s", r->folder, r->state.step, r->from);
    return status;
}
