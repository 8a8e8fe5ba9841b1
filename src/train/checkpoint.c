/* checkpoint.c — how a checkpoint comes to be:
 *
 *     .tmp-<step>-<pid>/   every file written, synced      (a kill here leaves a folder that the next start removes)
 *         COMPLETE         list of files, sizes, CRC-32C, and a CRC of the list itself; written and synced last
 *     rename to checkpoint-<step>, sync of the folder      (from here on it counts)
 *     only then are old checkpoints removed
 *
 * A failed sync is final: the pages may be marked clean although they never reached the disk, so nothing is tried again
 * on the same file; the temporary folder is removed and the next interval makes a new one.                             */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store.h"
#include "train/checkpoint.h"
#include "train/folder.h"

static const char format[] = "roformer-checkpoint-1";
static const char complete[] = "COMPLETE";

/* ---- the list of files ---- */

static rf_status crc_of_file(const rf_ctx *ctx, const char *path, size_t *size, uint32_t *crc, rf_error *why)
{
    rf_map map;
    const rf_status status = rf__map_open(ctx, path, &map, why);
    if (status) return status;
    *size = map.size;
    *crc = rf__crc32c(0, map.data, map.size);
    rf__map_close(ctx, &map);
    return RF_OK;
}

static char *text_of(const json_t *list) { return json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS); }

static rf_status list_files(const rf_ctx *ctx, const char *folder, json_t *files, rf_error *why)
{
    struct dirent **name;
    const int n = scandir(folder, &name, NULL, alphasort);
    rf_status status = n < 0 ? rf_fail(why, RF_EIO, "%s: cannot list: %s", folder, strerror(errno)) : RF_OK;
    for (int i = 0; i < n; i++) {
        char path[4096], hex[16];
        size_t size;
        uint32_t crc;
        if (!status && name[i]->d_name[0] != '.') {
            status = rf__path(path, sizeof path, folder, name[i]->d_name, why);
            if (!status) status = crc_of_file(ctx, path, &size, &crc, why);
            if (!status) {
                snprintf(hex, sizeof hex, "%08" PRIx32, crc);
                json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", name[i]->d_name, "size", (json_int_t)size,
                                                       "crc32c", hex));
            }
        }
        free(name[i]);
    }
    if (n >= 0) free(name);
    return status;
}

static rf_status mark_complete(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char path[4096], hex[16];
    json_t *files = json_array();
    json_t *all = json_pack("{s:s, s:O}", "format", format, "files", files);
    rf_status status = files && all ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a list of files");
    if (!status) status = list_files(ctx, folder, files, why);
    char *text = status ? NULL : text_of(all);
    if (text) {
        snprintf(hex, sizeof hex, "%08" PRIx32, rf__crc32c(0, text, strlen(text)));
        free(text);
        json_object_set_new(all, "crc32c", json_string(hex));
        text = json_dumps(all, JSON_INDENT(1));
    }
    if (!status && !text) status = rf_fail(why, RF_ENOMEM, "out of memory: a list of files");
    if (!status) status = rf__path(path, sizeof path, folder, complete, why);
    if (!status) status = rf__replace_file(ctx, path, text, strlen(text), why);
    free(text);
    json_decref(files);
    json_decref(all);
    return status;
}

/* ---- verifying ---- */

static rf_status verify_file(const rf_ctx *ctx, const char *folder, const json_t *entry, rf_error *why)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *want = json_string_value(json_object_get(entry, "crc32c"));
    const json_int_t bytes = json_integer_value(json_object_get(entry, "size"));
    char path[4096], hex[16];
    size_t size;
    uint32_t crc;
    if (!name || !want || strchr(name, '/')) return rf_fail(why, RF_EDATA, "COMPLETE: not a list of files");
    if (rf__path(path, sizeof path, folder, name, why)) return RF_ERANGE;
    if (access(path, F_OK)) return rf_fail(why, RF_EDATA, "%s: missing", name);
    if (crc_of_file(ctx, path, &size, &crc, NULL)) return rf_fail(why, RF_EDATA, "%s: cannot be read", name);
    if ((json_int_t)size != bytes)
        return rf_fail(why, RF_EDATA, "%s: %zu bytes instead of %" JSON_INTEGER_FORMAT, name, size, bytes);
    snprintf(hex, sizeof hex, "%08" PRIx32, crc);
    return strcmp(hex, want) ? rf_fail(why, RF_EDATA, "%s: CRC", name) : RF_OK;
}

static rf_status verify_list(const rf_ctx *ctx, const char *folder, json_t *all, rf_error *why)
{
    char hex[16];
    const char *kind = json_string_value(json_object_get(all, "format"));
    json_t *own = json_incref(json_object_get(all, "crc32c"));
    const json_t *files = json_object_get(all, "files");
    json_object_del(all, "crc32c");
    char *text = text_of(all);
    snprintf(hex, sizeof hex, "%08" PRIx32, text ? rf__crc32c(0, text, strlen(text)) : 0);
    free(text);
    rf_status status = RF_OK;
    if (!kind || strcmp(kind, format)) status = rf_fail(why, RF_EUNSUPPORTED, "COMPLETE: not of the format %s", format);
    else if (!json_is_string(own) || strcmp(json_string_value(own), hex)) status = rf_fail(why, RF_EDATA, "COMPLETE: CRC");
    else if (!json_array_size(files)) status = rf_fail(why, RF_EDATA, "COMPLETE: not a list of files");
    json_decref(own);
    for (size_t i = 0; i < json_array_size(files) && !status; i++)
        status = verify_file(ctx, folder, json_array_get(files, i), why);
    return status;
}

rf_status rf__checkpoint_verify(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    enum { LIMIT = 1 << 20 };
    char path[4096], *text;
    size_t size;
    if (rf__path(path, sizeof path, folder, complete, why)) return RF_ERANGE;
    if (access(folder, F_OK)) return rf_fail(why, RF_EDATA, "no such folder");
    if (access(path, F_OK)) return rf_fail(why, RF_EDATA, "COMPLETE: missing");
    rf_status status = rf__read_file(ctx, path, LIMIT, &text, &size, why);
    if (status) return status;
    json_t *all = rf__json_parse(text, size, 0, complete, why);
    rf__free(ctx, text);
    if (!all) return RF_EDATA;
    status = verify_list(ctx, folder, all, why);
    json_decref(all);
    return status;
}

rf_status rf__checkpoint_latest(const rf_ctx *ctx, const char *folder, char *path, size_t size, char *note,
                                size_t note_size, rf_error *why)
{
    int64_t *step;
    size_t n, said = 0, i;
    note[0] = 0;
    rf_status status = rf__checkpoints(ctx, folder, &step, &n, why);
    if (status) return status;
    for (i = n; i > 0; i--) {
        char name[64];
        rf_error damage = {0};
        snprintf(name, sizeof name, "checkpoint-%" PRId64, step[i - 1]);
        status = rf__path(path, size, folder, name, why);
        if (status || !rf__checkpoint_verify(ctx, path, &damage)) break;
        if (said < note_size)
            said += (size_t)snprintf(note + said, note_size - said, "%s damaged (%s), ", name, damage.text);
    }
    if (!status && i && said && said < note_size)
        snprintf(note + said, note_size - said, "using checkpoint-%" PRId64, step[i - 1]);
    rf__free(ctx, step);
    if (status || i) return status;
    if (n) return rf_fail(why, RF_EDATA, "%s: no intact checkpoint: %s", folder, note);
    return rf_fail(why, RF_EDATA, "%s: no checkpoint to resume from", folder);
}

/* ---- writing ---- */

static rf_status room_for(const rf__checkpoint *c, const char *folder, rf_error *why)
{
    struct statvfs st;
    const double need = (double)c->optimizer->params->total * 3 * sizeof(float) + 1e5;
    if (statvfs(folder, &st)) return rf_fail(why, RF_EIO, "%s: cannot look for room: %s", folder, strerror(errno));
    const double there = (double)st.f_bavail * (double)st.f_frsize;
    if (need <= there) return RF_OK;
    return rf_fail(why, RF_EIO, "%s: a checkpoint needs %.1f MB, %.1f MB are free", folder, need * 1e-6, there * 1e-6);
}

static rf_status write_files(const rf__checkpoint *c, const char *folder, rf_error *why)
{
    const rf_params *params = c->optimizer->params;
    char path[4096];
    rf_status status = rf_config_write(c->ctx, folder, &params->config, why);
    if (!status) status = rf_tokenizer_save(c->tokenizer, folder, why);
    if (!status) status = rf__path(path, sizeof path, folder, "model.safetensors", why);
    if (!status) status = rf__params_save(params, c->optimizer->value, RF_F32, path, why);
    if (!status) status = rf__path(path, sizeof path, folder, "optimizer.safetensors", why);
    if (!status) status = rf__optimizer_save(c->optimizer, path, why);
    if (!status) status = rf__path(path, sizeof path, folder, "trainer_state.json", why);
    if (!status) status = rf__state_save(c->ctx, c->state, c->options, c->epoch, path, why);
    return status ? status : mark_complete(c->ctx, folder, why);
}

/* A checkpoint of that name, damaged or of an abandoned future, makes way first. */
static rf_status publish(const char *from, const char *to, const char *away, const char *folder, rf_error *why)
{
    const bool replaced = !access(to, F_OK) && !rename(to, away);
    if (rename(from, to)) return rf_fail(why, RF_EIO, "%s: cannot rename: %s", to, strerror(errno));
    const rf_status status = rf__sync_folder(folder, why);
    if (replaced) rf__folder_remove(away);
    return status;
}

rf_status rf__checkpoint_save(const rf__checkpoint *c, const char *folder, char *path, size_t size, rf_error *why)
{
    char name[64], temporary[4096], away[4096];
    const int64_t step = c->state->step;
    const long pid = (long)getpid();
    snprintf(name, sizeof name, "checkpoint-%" PRId64, step);
    rf_status status = rf__path(path, size, folder, name, why);
    snprintf(name, sizeof name, ".tmp-%" PRId64 "-%ld", step, pid);
    if (!status) status = rf__path(temporary, sizeof temporary, folder, name, why);
    snprintf(name, sizeof name, ".tmp-old-%" PRId64 "-%ld", step, pid);
    if (!status) status = rf__path(away, sizeof away, folder, name, why);
    if (!status) status = rf__folder_make(folder, why);                    /* it may have been deleted under us */
    if (!status) status = room_for(c, folder, why);
    if (status) return status;

    rf__folder_remove(temporary);
    if (mkdir(temporary, 0777)) return rf_fail(why, RF_EIO, "%s: cannot create: %s", temporary, strerror(errno));
    status = write_files(c, temporary, why);
    if (!status) status = publish(temporary, path, away, folder, why);
    if (status) rf__folder_remove(temporary);
    return status;
}
