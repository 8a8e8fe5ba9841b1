/* other_files.c — copies the other files of a folder and its subfolders, except those that other_files.def names.
 *
 * Links to files are followed, since folders of the download cache consist of them. */
#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/files/folder_keys.h"
#include "base/files/list.h"
#include "base/files/path.h"
#include "base/os/os.h"
#include "convert/other_files.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "text/tokenizer.h"
#include "train/checkpoint/folder.h"

enum { DEEP = 16, PATH = 4096 };

typedef enum kind { WRITTEN, WEIGHTS, REPLACED, RUN, STORE, COPIED } kind;

static const struct { const char *pattern; kind is; } rows[] = {
#define RF_OTHER(pattern, kind) {pattern, kind},
#include "convert/other_files.def"
#undef RF_OTHER
};

static const char *const left_out[] = {
    [WEIGHTS] = "the weights in another format",
    [REPLACED] = "belongs to the vocabulary that is replaced",
    [RUN] = "belongs to a training run",
    [STORE] = "belongs to the program that keeps the folder",
};

/* other_files.def describes the patterns. */
static bool matches(const char *pattern, const char *name)
{
    const size_t n = strcspn(pattern, "#");
    if (!pattern[n]) return rf__matches(pattern, name);
    return !strncmp(name, pattern, n) && name[n] >= '0' && name[n] <= '9' && !strchr(name + n, '/');
}

static kind kind_of(const rf__other_files *f, const char *name)
{
    if (f->other_vocabulary && rf__tokenizer_file(name)) return REPLACED;
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (matches(rows[i].pattern, name))
            return rows[i].is == REPLACED && !f->other_vocabulary ? COPIED : rows[i].is;
    return COPIED;
}

/* A TensorFlow checkpoint is several files with the same prefix as its index. */
static bool among_weights(const rf__other_files *f, const char *name)
{
    char path[PATH];
    if (rf__weights_file_of(f->ctx, f->from, path, sizeof path, NULL)) return false;
    const char *file = rf__file_name(path), *end = strstr(file, ".index");
    return !strcmp(file, name) || (end && !end[6] && !strncmp(file, name, (size_t)(end - file)));
}

/* Files that are written under their own name are not reported, nor are the weights that are read. */
static bool is_silent(const rf__other_files *f, const char *name, kind k)
{
    if (k == REPLACED) return f->words && rf__is_among(rf_tokenizer_files(f->words), name);
    if (k == WRITTEN) return true;
    return k == WEIGHTS ? among_weights(f, name) : !strcmp(name, RF_FILE_LOCK);
}

/* ---- a folder and its contents ---- */

typedef struct walk {
    const rf__other_files *f;
    bool copy;                          /* false: only check                                                          */
    rf__os_state to;                    /* of the target, which may be inside the source                              */
    rf_error *why;
} walk;

static rf_status one_file(const walk *w, const char *name, const char *from)
{
    char to[PATH], folder[PATH];
    const rf__other_files *f = w->f;
    rf_status status = rf__path(to, sizeof to, f->to, name, w->why);
    if (status) return status;
    if (!w->copy) {
        status = rf__must_be_file(from, w->why);
        if (!status && !f->overwrite && rf__os_exists(to))
            status = rf_fail(w->why, RF_EIO,
                             "%s: expected a new file, got one that exists; choose another folder, or use --overwrite",
                             to);
        return status;
    }
    snprintf(folder, sizeof folder, "%s", to);
    *strrchr(folder, '/') = 0;
    status = rf__folder_make(folder, w->why);
    if (!status) status = rf__copy_file(f->ctx, from, to, w->why);
    if (!status && f->report) f->report(f->user, name, NULL);
    return status;
}

static rf_status one_folder(const walk *w, const char *below, int deep);

static rf_status one(const walk *w, const char *name, int deep)
{
    char from[PATH];
    rf__os_state own, st;
    if (w->f->skip && !strcmp(name, w->f->skip)) return RF_OK;
    const kind k = kind_of(w->f, name);
    if (k != COPIED) {
        if (w->copy && w->f->report && !is_silent(w->f, name, k)) w->f->report(w->f->user, name, left_out[k]);
        return RF_OK;
    }
    const rf_status status = rf__path(from, sizeof from, w->f->from, name, w->why);
    if (status) return status;
    if (rf__os_look_link(from, &own) || rf__os_look(from, &st))
        return rf_fail(w->why, RF_EIO, "%s: expected a file to copy, got %s; remove it", from, rf__os_reason(errno));
    if (st.kind != RF__OS_FOLDER) return one_file(w, name, from);
    if (rf__os_same(&st, &w->to)) return RF_OK;
    if (own.kind == RF__OS_LINK)
        return rf_fail(w->why, RF_EIO, "%s: expected a file or a folder to copy, got a link to a folder; put the "
                       "folder in its place, or remove the link", from);
    return one_folder(w, name, deep + 1);
}

static rf_status one_folder(const walk *w, const char *below, int deep)
{
    char path[PATH], name[PATH];
    rf__names entries;
    rf_status status = *below ? rf__path(path, sizeof path, w->f->from, below, w->why) : RF_OK;
    if (status) return status;
    const char *folder = *below ? path : w->f->from;
    if (deep > DEEP)
        return rf_fail(w->why, RF_EIO, "%s: expected at most %d folders in one another, got more; remove it", path,
                       DEEP);
    status = rf__names_in(w->f->ctx, folder, &entries, w->why);
    for (size_t i = 0; i < entries.n && !status; i++) {
        const int size = snprintf(name, sizeof name, "%s%s%s", below, *below ? "/" : "", entries.name[i]);
        status = size < PATH ? one(w, name, deep)
                             : rf_fail(w->why, RF_ERANGE, "%.80s...: expected a path of at most %d bytes", name,
                                       PATH - 1);
    }
    rf__names_free(&entries);
    return status;
}

static rf_status walk_all(const rf__other_files *f, bool copy, rf_error *why)
{
    walk w = {.f = f, .copy = copy, .why = why};
    rf__os_state from;
    if (rf__os_look(f->from, &from)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", f->from, rf__os_reason(errno));
    const bool there = !rf__os_look(f->to, &w.to);
    if (there && rf__os_same(&from, &w.to)) return RF_OK;
    return one_folder(&w, "", 0);
}

rf_status rf__other_files_check(const rf__other_files *f, rf_error *why) { return walk_all(f, false, why); }

rf_status rf__other_files_copy(const rf__other_files *f, rf_error *why) { return walk_all(f, true, why); }

static rf_status set_aside(const rf__other_files *f, const char *name, const char *const *written, rf_error *why)
{
    const char *const one[] = {name, NULL};
    return rf__is_among(written, name) ? RF_OK : rf__files_set_aside(one, f->from, f->to, why);
}

rf_status rf__other_files_set_aside(const rf__other_files *f, const char *const *written, rf_error *why)
{
    rf_status status = set_aside(f, RF_FILE_CHAT_TEMPLATE, written, why);
    for (size_t i = 0; i < RF_COUNT(rows) && !status; i++)
        if (rows[i].is == WRITTEN && !strchr(rows[i].pattern, '*'))
            status = set_aside(f, rows[i].pattern, written, why);
    for (const char *const *name = rf__transformer_settings; *name && !status; name++)
        status = set_aside(f, *name, written, why);
    return status;
}
