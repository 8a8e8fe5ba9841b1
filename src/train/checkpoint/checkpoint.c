/* checkpoint.c — how a checkpoint is written:
 *
 *     .tmp-<step>-<pid>/   every file written, synced      (a kill here leaves a folder that the next start removes);
 *                          weights and moments first, and all of them before the first sync: then the run may change
 *                          them
 *         COMPLETE         list of files, sizes, CRC-32C, and a CRC of the list itself; written and synced last
 *     rename to checkpoint-<step>, sync of the folder      (from here on it counts)
 *     only then are old checkpoints removed
 *
 * A failed sync is final: the pages may be marked clean although they never reached the disk. The same file is
 * therefore not synced again; the temporary folder is removed, and the next interval writes a new one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "model/layers/linear_attention.h"
#include "roformer/inspect/files.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"

static const char complete[] = RF_FILE_COMPLETE;

/* A file of transformers' Trainer, which writes no list of files; NULL: it is not one of its checkpoints. */
static const char *foreign_file(const char *folder)
{
    static const char *const files[] = {"optimizer.pt", "optimizer.bin", "scheduler.pt", "training_args.bin"};
    for (size_t i = 0; i < RF_COUNT(files) && !rf__folder_has(folder, complete); i++)
        if (rf__folder_has(folder, files[i])) return files[i];
    return NULL;
}

rf_status rf__checkpoint_foreign(const char *folder, rf_error *why)
{
    const char *file = foreign_file(folder);
    if (!file) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: expected a checkpoint of this program, got one of transformers' Trainer "
                   "(%s); train on from its weights with --model %s", folder, file, folder);
}

rf_status rf__checkpoint_verify(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    return rf_checksums_verify(ctx, folder, complete, NULL, NULL, why);
}

rf_status rf__checkpoint_latest(const rf_ctx *ctx, const char *folder, char *path, size_t size, char *note,
                                size_t note_size, rf_error *why)
{
    int64_t *step;
    size_t n, said = 0, i;
    note[0] = 0;
    rf_status status = rf__checkpoint_steps(ctx, folder, &step, &n, why);
    if (status) return status;
    for (i = n; i > 0; i--) {
        char name[64];
        rf_error damage = {0};
        snprintf(name, sizeof name, "checkpoint-%" PRId64, step[i - 1]);
        status = rf__path(path, size, folder, name, why);
        if (status || !rf__checkpoint_verify(ctx, path, &damage)) break;
        status = rf__checkpoint_foreign(path, why);
        if (status) break;
        if (said < note_size)
            said += (size_t)snprintf(note + said, note_size - said, "%s damaged (%s), ", name, damage.text);
    }
    if (!status && i && said && said < note_size)
        snprintf(note + said, note_size - said, "using checkpoint-%" PRId64, step[i - 1]);
    rf__free(ctx, step);
    if (status || i) return status;
    if (n) return rf_fail(why, RF_EDATA, "%s: no intact checkpoint: %s", folder, note);
    return rf_fail(why, RF_EDATA, "%s: expected a checkpoint to resume from, got none", folder);
}

/* ---- writing ---- */

static rf_status space_for(const rf__checkpoint *c, const char *folder, rf_error *why)
{
    const double need = rf__optimizer_bytes(c->optimizer->params, &c->optimizer->rule, 1) -
                        (double)c->optimizer->params->total * sizeof(float) + 1e5;  /* all slabs except the gradients */
    const double there = rf__os_free_space(folder);
    if (there < 0)
        return rf_fail(why, RF_EIO, "%s: cannot read the free space: %s", folder, rf__os_reason(errno));
    if (need <= there) return RF_OK;
    return rf_fail(why, RF_EIO, "%s: expected %.1f MB of free space for a checkpoint, got %.1f MB", folder, need * 1e-6,
                   there * 1e-6);
}

/* The files of the slabs; fd -1: not open. */
enum { MODEL, MOMENTS, MEANS, SLABS };
typedef struct slab_file { char path[4096]; int fd; } slab_file;

static rf_status write_slabs(const rf__checkpoint *c, const char *folder, slab_file f[SLABS], rf_error *why)
{
    static const char *const name[SLABS] = {RF_FILE_WEIGHTS, RF_FILE_MOMENTS, RF_FILE_MEANS};
    const rf__optimizer *o = c->optimizer;
    rf_status status = RF_OK;
    for (int i = 0; i < SLABS; i++) f[i].fd = -1;
    for (int i = 0; i < SLABS && !status; i++) status = rf__path(f[i].path, sizeof f[i].path, folder, name[i], why);
    if (!status) status = rf__params_write(o->params, o->value, RF_F32, f[MODEL].path, &f[MODEL].fd, why);
    if (!status) status = rf__optimizer_write(o, f[MOMENTS].path, &f[MOMENTS].fd, why);
    if (!status && o->ema) status = rf__params_write(o->params, o->ema, RF_F32, f[MEANS].path, &f[MEANS].fd, why);
    return status;
}

/* Closes all of them; syncs them if there was no error so far. */
static rf_status sync_slabs(slab_file f[SLABS], rf_status status, rf_error *why)
{
    for (int i = 0; i < SLABS; i++) {
        if (f[i].fd < 0) continue;
        if (!status && rf__os_sync(f[i].fd))
            status = rf_fail(why, RF_EIO, "%s: cannot sync: %s", f[i].path, rf__os_reason(errno));
        if (rf__os_close(f[i].fd) && !status)
            status = rf_fail(why, RF_EIO, "%s: cannot close: %s", f[i].path, rf__os_reason(errno));
    }
    return status;
}

static rf_status write_files(const rf__checkpoint *c, const char *folder, rf_error *why)
{
    char path[4096];
    slab_file slabs[SLABS];
    rf_status status = write_slabs(c, folder, slabs, why);
    if (!status && c->read) status = c->read(c->user, why);
    status = sync_slabs(slabs, status, why);
    rf_config config = c->optimizer->params->config;
    rf__linear_attention_draw(&config, c->state->step);
    if (!status) status = rf_config_write(c->ctx, folder, &config, why);
    if (!status) status = rf_tokenizer_save(c->tokenizer, folder, why);
    if (!status && c->prompts) status = rf__sentence_prompts_write(c->ctx, folder, c->prompts, why);
    if (!status && c->generation) status = rf__generation_write(c->ctx, folder, c->generation, why);
    if (!status) status = rf__path(path, sizeof path, folder, RF_FILE_STATE, why);
    if (!status) status = rf__state_save(c->ctx, c->state, c->options, c->epoch, path, why);
    return status ? status : rf__checksums_write(c->ctx, folder, complete, NULL, why);
}

/* Renames a checkpoint of that name, of the same step of this run, first. */
static rf_status publish(const char *from, const char *to, const char *away, const char *folder, rf_error *why)
{
    const bool replaced = rf__os_exists(to) && !rf__os_rename(to, away);
    if (rf__os_rename(from, to)) return rf_fail(why, RF_EIO, "%s: cannot rename: %s", to, rf__os_reason(errno));
    const rf_status status = rf__sync_folder(folder, why);
    if (replaced) rf__os_remove_tree(away);
    return status;
}

rf_status rf__checkpoint_save(const rf__checkpoint *c, const char *folder, char *path, size_t size, rf_error *why)
{
    char name[64], temporary[4096], away[4096];
    const int64_t step = c->state->step;
    const long pid = rf__os_process();
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    rf_status status = rf__path(path, size, folder, name, why);
    snprintf(name, sizeof name, ".tmp-%" PRId64 "-%ld", step, pid);
    if (!status) status = rf__path(temporary, sizeof temporary, folder, name, why);
    snprintf(name, sizeof name, ".tmp-old-%" PRId64 "-%ld", step, pid);
    if (!status) status = rf__path(away, sizeof away, folder, name, why);
    if (!status) status = rf__folder_make(folder, why);                    /* another process may have deleted it */
    if (!status) status = space_for(c, folder, why);
    if (status) return status;

    rf__os_remove_tree(temporary);
    if (rf__os_make_folder(temporary))
        return rf_fail(why, RF_EIO, "%s: cannot create: %s", temporary, rf__os_reason(errno));
    status = write_files(c, temporary, why);
    if (!status) status = publish(temporary, path, away, folder, why);
    if (status) rf__os_remove_tree(temporary);
    return status;
}
