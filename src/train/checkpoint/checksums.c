/* checksums.c — a list of files with sizes and CRC-32C, and a CRC of the list itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/files/held_folder.h"
#include "base/files/list.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "store/store.h"
#include "store/task.h"
#include "text/tokenizer.h"
#include "train/checkpoint/checksums.h"

static const char format[] = "roformer-checkpoint-1";

/* The file is read, not mapped, so that its pages do not count as memory of this process. */
static rf_status crc_of_file(const rf_ctx *ctx, const char *path, size_t *size, uint32_t *crc, rf_error *why)
{
    enum { BUFFER = 1 << 18 };
    rf_map own;
    int fd;
    if (rf__find_in_memory(ctx, path, &own, why)) {
        *size = own.size;
        *crc = own.data ? rf__crc32c(0, own.data, own.size) : 0;
        return own.data ? RF_OK : RF_EIO;
    }
    const rf__held h = rf__held_of(ctx, path);
    if (rf__held_kept(&h, &own)) {
        *size = own.size;
        *crc = rf__crc32c(0, own.data, own.size);
        return RF_OK;
    }
    rf_status status = rf__held_open(&h, &fd, size, why);
    if (status) return status;
    char *buffer = rf__alloc(ctx, BUFFER);
    if (!buffer) status = rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    int64_t n = 1;
    *size = 0;
    *crc = 0;
    while (!status && n) {
        n = rf__os_read(fd, buffer, BUFFER);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = rf_fail(why, RF_EIO, "%s: cannot read: %s", path, rf__os_reason(errno));
        else *size += (size_t)n, *crc = rf__crc32c(*crc, buffer, (size_t)n);
    }
    rf__free(ctx, buffer);
    rf__os_close(fd);
    return status;
}

static char *text_of(const json_t *all) { return rf__json_dump(all, JSON_COMPACT | JSON_SORT_KEYS); }

/* ---- writing ---- */

static rf_status add_file(const rf_ctx *ctx, const char *folder, const char *name, json_t **files, rf_error *why)
{
    char path[4096], hex[16];
    size_t size;
    uint32_t crc;
    rf_status status = rf__path(path, sizeof path, folder, name, why);
    if (!status) status = crc_of_file(ctx, path, &size, &crc, why);
    if (status) return status;
    snprintf(hex, sizeof hex, "%08" PRIx32, crc);
    rf__json_add(files, json_pack("{s:s, s:I, s:s}", "name", name, "size", (json_int_t)size, "crc32c", hex));
    return RF_OK;
}

static rf_status add_all(const rf_ctx *ctx, const char *folder, json_t **files, rf_error *why)
{
    rf__names all;
    rf_status status = rf__names_in(ctx, folder, &all, why);
    for (size_t i = 0; i < all.n && !status; i++)
        if (*all.name[i] != '.') status = add_file(ctx, folder, all.name[i], files, why);
    rf__names_free(&all);
    return status;
}

static rf_status add_some(const rf_ctx *ctx, const char *folder, const char *const file[], json_t **files,
                          rf_error *why)
{
    char path[4096];
    rf_status status = RF_OK;
    for (size_t i = 0; file[i] && !status; i++) {
        status = rf__path(path, sizeof path, folder, file[i], why);
        if (!status && rf__os_exists(path)) status = add_file(ctx, folder, file[i], files, why);
    }
    return status;
}

/* Takes ownership of `files`. */
static rf_status write_list(const rf_ctx *ctx, const char *folder, const char *list, json_t *files, rf_error *why)
{
    char path[4096], hex[16];
    json_t *all = json_pack("{s:s, s:o}", "format", format, "files", files);
    char *text = all ? text_of(all) : NULL;
    if (text) {
        snprintf(hex, sizeof hex, "%08" PRIx32, rf__crc32c(0, text, strlen(text)));
        free(text);
        rf__json_set(&all, "crc32c", json_string(hex));
        text = all ? rf__json_dump(all, JSON_INDENT(1)) : NULL;
    }
    rf_status status = text ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a list of files");
    if (!status) status = rf__path(path, sizeof path, folder, list, why);
    if (!status) status = rf__replace_file(ctx, path, text, strlen(text), why);
    free(text);
    json_decref(all);
    return status;
}

rf_status rf__checksums_write(const rf_ctx *ctx, const char *folder, const char *list, const char *const file[],
                              rf_error *why)
{
    json_t *files = json_array();
    const rf_status status = file ? add_some(ctx, folder, file, &files, why) : add_all(ctx, folder, &files, why);
    if (!status) return write_list(ctx, folder, list, files, why);
    json_decref(files);
    return status;
}

/* ---- the files that make a model ---- */

/* Whether a result depends on a file of this name in a model's folder. */
static bool counts(const char *name)
{
    static const char *const fixed[] = {RF_FILE_CONFIG,   RF_FILE_WEIGHTS, RF_FILE_GENERATION, RF_FILE_MODULES,
                                        RF_FILE_SENTENCE, RF_FILE_PROMPTS, RF_FILE_DICTIONARY, RF_FILE_CHAT_TEMPLATE,
                                        NULL};
    return rf__is_among(fixed, name) || rf__tokenizer_file(name);
}

/* Whether it is the name of a file next to the list or in a subfolder, and printable. */
static bool plain_name(const char *name)
{
    bool plain = name && rf__stays_below(name);
    for (const char *p = name; plain && *p; p++) plain = (unsigned char)*p >= 32 && *p != 127;
    return plain;
}

typedef rf_status visit_file(void *user, const char *name, rf_error *why);

/* Regular files of folder/below; of the folder itself ("") those that count. */
static rf_status visit_folder(const rf_ctx *ctx, const char *folder, const char *below, visit_file *visit, void *user,
                              rf_error *why)
{
    char place[4096], path[4096], name[1024];
    rf__names all;
    rf__os_state st;
    rf_status status = rf__path(place, sizeof place, folder, below, why);
    if (status || (*below && rf__os_look(place, &st) && errno == ENOENT)) return status;
    status = rf__names_in(ctx, place, &all, why);
    for (size_t i = 0; i < all.n && !status; i++) {
        const char *own = all.name[i];
        const int size = snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", own);
        if (*own != '.' && (*below || counts(own)) && size > 0 && (size_t)size < sizeof name &&
            !rf__path(path, sizeof path, folder, name, NULL) && !rf__os_look(path, &st) && st.kind == RF__OS_FILE)
            status = visit(user, name, why);
    }
    rf__names_free(&all);
    return status;
}

/* The files of a model that count, and those in the folders of its modules (modules.json). */
static rf_status visit_model(const rf_ctx *ctx, const char *folder, visit_file *visit, void *user, rf_error *why)
{
    char path[4096];
    json_t *modules, *module;
    size_t i;
    rf_error unread = {0};                                       /* a damaged modules.json: opening reports it        */
    rf_status status = visit_folder(ctx, folder, "", visit, user, why);
    if (status) return status;
    if (rf__sentence_load(ctx, folder, "", RF_FILE_MODULES, true, path, &modules, &unread) == RF_ENOMEM)
        return rf_fail(why, RF_ENOMEM, "%s", unread.text);
    json_array_foreach(modules, i, module) {
        const char *below = json_string_value(json_object_get(module, "path"));
        if (!status && plain_name(below) && *below != '.')
            status = visit_folder(ctx, folder, below, visit, user, why);
    }
    json_decref(modules);
    return status;
}

typedef struct listing { const rf_ctx *ctx; const char *folder; json_t *files; } listing;

static const json_t *entry_of(const json_t *files, const char *name)
{
    size_t i;
    json_t *x;
    json_array_foreach((json_t *)(uintptr_t)files, i, x) {
        const char *own = json_string_value(json_object_get(x, "name"));
        if (own && !strcmp(own, name)) return x;
    }
    return NULL;
}

static rf_status add_visited(void *user, const char *name, rf_error *why)
{
    listing *l = user;
    return entry_of(l->files, name) ? RF_OK : add_file(l->ctx, l->folder, name, &l->files, why);
}

rf_status rf__checksums_of_model(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    listing l = {ctx, folder, json_array()};
    const rf_status status = visit_model(ctx, folder, add_visited, &l, why);
    if (!status) return write_list(ctx, folder, RF_FILE_CHECKSUMS, l.files, why);
    json_decref(l.files);
    return status;
}

rf_status rf__checksums_remove(const char *folder, rf_error *why)
{
    char path[4096];
    const rf_status status = rf__path(path, sizeof path, folder, RF_FILE_CHECKSUMS, why);
    if (status || !rf__os_remove(path) || errno == ENOENT) return status;
    return rf_fail(why, RF_EIO, "%s: cannot remove: %s", path, rf__os_reason(errno));
}

/* ---- verification ---- */

typedef struct check { const rf_ctx *ctx; const char *folder, *list; rf_checksums_report *report; void *user; } check;

/* RF_EDATA: `damage` describes the error. */
static rf_status compare(const check *c, const char *name, json_int_t bytes, const char *expected, rf_error *damage)
{
    char path[4096], hex[16];
    size_t size;
    uint32_t crc;
    if (rf__path(path, sizeof path, c->folder, name, damage)) return RF_ERANGE;
    if (!rf__is_there(c->ctx, path)) return rf_fail(damage, RF_EDATA, "missing");
    if (crc_of_file(c->ctx, path, &size, &crc, NULL)) return rf_fail(damage, RF_EDATA, "cannot be read");
    if ((json_int_t)size != bytes)
        return rf_fail(damage, RF_EDATA, "%zu bytes instead of %" JSON_INTEGER_FORMAT, size, bytes);
    snprintf(hex, sizeof hex, "%08" PRIx32, crc);
    return strcmp(hex, expected) ? rf_fail(damage, RF_EDATA, "CRC") : RF_OK;
}

static rf_status check_file(const check *c, const json_t *entry, rf_error *why)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *expected = json_string_value(json_object_get(entry, "crc32c"));
    const json_int_t bytes = json_integer_value(json_object_get(entry, "size"));
    rf_error damage = {0};
    if (!plain_name(name) || !expected)
        return rf_fail(why, RF_EDATA, "%s: expected a list of files with checksums, got %s", c->list,
                       rf__json_shown(entry).text);
    const rf_status status = compare(c, name, bytes, expected, &damage);
    if (c->report) c->report(c->user, name, status ? damage.text : NULL);
    return status ? rf_fail(why, status, "%s: %s", name, damage.text) : RF_OK;
}

/* The CRC of the list is that of its text without the member that contains the CRC. */
static rf_status check_list(const check *c, json_t *all, rf_error *why)
{
    char hex[16];
    const char *kind = json_string_value(json_object_get(all, "format"));
    json_t *own = json_incref(json_object_get(all, "crc32c"));
    const json_t *files = json_object_get(all, "files");
    json_object_del(all, "crc32c");
    char *text = text_of(all);
    snprintf(hex, sizeof hex, "%08" PRIx32, text ? rf__crc32c(0, text, strlen(text)) : 0);
    rf_status status = RF_OK;
    if (!text) status = rf_fail(why, RF_ENOMEM, "out of memory: %s", c->list);
    else if (!kind || strcmp(kind, format))
        status = rf_fail(why, RF_EUNSUPPORTED, "%s: format: expected \"%s\", got %s", c->list, format,
                         rf__json_shown(json_object_get(all, "format")).text);
    else if (!json_is_string(own) || strcmp(json_string_value(own), hex))
        status = rf_fail(why, RF_EDATA, "%s: CRC", c->list);
    else if (!json_array_size(files))
        status = rf_fail(why, RF_EDATA, "%s: expected a list of files with checksums, got %s", c->list,
                         rf__json_shown(files).text);
    free(text);
    json_decref(own);
    return status;
}

/* Reads the list of the folder; *all stays NULL if there is none. */
static rf_status read_list(const check *c, json_t **all, rf_error *why)
{
    enum { LIMIT = 1 << 20 };
    char path[4096], *text;
    size_t size;
    rf_status status = rf__path(path, sizeof path, c->folder, c->list, why);
    if (status || !rf__is_there(c->ctx, path)) return status;
    status = rf__read_file(c->ctx, path, LIMIT, &text, &size, why);
    if (status) return status;
    *all = rf__json_parse(text, size, 0, c->list, why);
    rf__free(c->ctx, text);
    return *all ? check_list(c, *all, why) : why->code;
}

static bool size_of(const rf_ctx *ctx, const char *path, json_int_t *size)
{
    rf__os_state s;
    rf_map own;
    if (rf__find_in_memory(ctx, path, &own, NULL)) return *size = (json_int_t)own.size, own.data != NULL;
    const rf__held h = rf__held_of(ctx, path);
    return !rf__os_look_in(h.at, h.below, &s) && (*size = (json_int_t)s.size, true);
}

/* If the size of the weights differs, the list belongs to another model. */
static bool is_of_weights(const check *c, const json_t *files)
{
    char path[4096];
    json_int_t size = 0;
    const json_t *x = entry_of(files, RF_FILE_WEIGHTS);
    return x && !rf__path(path, sizeof path, c->folder, RF_FILE_WEIGHTS, NULL) && size_of(c->ctx, path, &size) &&
           size == json_integer_value(json_object_get(x, "size"));
}

static rf_status check_pieces(const check *c, const json_t *files, const char *name, rf_error *why)
{
    const json_t *x = entry_of(files, name);
    const char *expected = json_string_value(json_object_get(x, "crc32c"));
    char path[4096];
    json_int_t size = 0;
    rf_error damage = {0};
    if (rf__tokenizer_setting(name)) return RF_OK;
    /* a tokenizer that was made from other files of pieces */
    if (!x && (rf__path(path, sizeof path, c->folder, name, NULL) || !size_of(c->ctx, path, &size))) return RF_OK;
    if (!x) rf_fail(&damage, RF_EDATA, "not in the list");
    else if (expected) compare(c, name, json_integer_value(json_object_get(x, "size")), expected, &damage);
    if (!damage.code) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s/%s: expected the file with which %s was saved and trained, got another (%s: %s); "
                   "restore that file, or remove %s if this one is right", c->folder, name,
                   RF_FILE_WEIGHTS, c->list, damage.text, c->list);
}

rf_status rf__checksums_tokenizer(const rf_ctx *ctx, const char *folder, const char *const file[], rf_error *why)
{
    check c = {ctx, folder, RF_FILE_CHECKSUMS, NULL, NULL};
    rf_error unread = {0};
    json_t *all = NULL;
    rf_status status = read_list(&c, &all, &unread);                /* verify reports a damaged list                */
    if (!status && !all) c.list = RF_FILE_COMPLETE, status = read_list(&c, &all, &unread);
    const json_t *files = status ? NULL : json_object_get(all, "files");
    status = status == RF_ENOMEM ? rf_fail(why, RF_ENOMEM, "%s", unread.text) : RF_OK;
    if (files && is_of_weights(&c, files))
        for (; *file && !status; file++) status = check_pieces(&c, files, *file, why);
    json_decref(all);
    return status;
}

rf_status rf_checksums_verify(const rf_ctx *ctx, const char *folder, const char *list, rf_checksums_report *report,
                              void *user, rf_error *why)
{
    if (!(ctx && folder && list)) return rf__missing("rf_checksums_verify", "ctx, folder, list", why);
    const check c = {ctx, folder, list, report, user};
    rf_error own = {0};
    if (!why) why = &own;
    json_t *all = NULL;
    if (!rf__is_there(ctx, folder) && !rf__holds_folder(ctx, folder)) return rf_fail(why, RF_EDATA, "no such folder");
    rf_status status = read_list(&c, &all, why);
    if (!status && !all) return rf_fail(why, RF_EDATA, "%s: missing", list);
    const json_t *files = json_object_get(all, "files");
    const size_t n = status ? 0 : json_array_size(files);
    for (size_t i = 0; i < n && (report || !status); i++) {
        const rf_status one = check_file(&c, json_array_get(files, i), status ? NULL : why);
        if (!status) status = one;
    }
    json_decref(all);
    return status;
}

typedef struct unlisted { const json_t *files; rf_checksums_report *report; void *user; } unlisted;

static rf_status report_unlisted(void *user, const char *name, rf_error *why)
{
    (void)why;
    const unlisted *u = user;
    if (!entry_of(u->files, name)) u->report(u->user, name, NULL);
    return RF_OK;
}

rf_status rf_checksums_unlisted(const rf_ctx *ctx, const char *folder, rf_checksums_report *report, void *user,
                                rf_error *why)
{
    if (!(ctx && folder && report)) return rf__missing("rf_checksums_unlisted", "ctx, folder, report", why);
    const check c = {ctx, folder, RF_FILE_CHECKSUMS, NULL, NULL};
    rf_error own = {0};
    json_t *all = NULL;
    rf_status status = read_list(&c, &all, why ? why : &own);
    unlisted u = {json_object_get(all, "files"), report, user};
    if (!status && all) status = visit_model(ctx, folder, report_unlisted, &u, why);
    json_decref(all);
    return status;
}
