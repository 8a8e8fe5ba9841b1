/* held_folder.c — a folder that is read as a whole: all its files are those of one moment.
 *
 * The folder is opened once, so another folder that takes its place is not seen.  Files in it may be replaced, too.
 * Each is therefore looked at twice, when it is read, and again when the folder is released.  If none has changed, all
 * of them were in the folder at the same time: after the last one was read, and before the first one was looked at
 * again. */
#include <stdio.h>

#include "base/files/held_folder.h"
#include "base/files/path.h"

enum {
    NAMES = 1 << 18,                            /* bytes: the names of a larger folder are not listed                 */
    USUAL = 2048,                               /* bytes of names in most folders                                     */
    LARGE = 1 << 20,                            /* bytes: texts that are not kept for long                            */
    WAYS = 2                                    /* things that are made of one text                                   */
};

typedef struct seen {
    size_t name;                                /* where it begins in `asked`                                         */
    bool there, opened, again;                  /* again: found once more at the end                                  */
    rf__os_state is;                            /* of an opened file                                                  */
    char *data;                                 /* its bytes, if they were read; otherwise NULL                       */
    size_t size;
    struct { void *is; size_t number; void (*drop)(void *made); } made[WAYS];
} seen;

struct rf_held_folder {
    const rf_ctx *ctx;
    rf_held_folder *next;
    const rf_held_folder *before;               /* what was seen in an earlier hold; or NULL                          */
    pthread_t thread;
    int holders;
    char *path;                                 /* without slashes at the end                                         */
    size_t length;
    rf__os_folder *list;                        /* NULL, if there is `before`: the folder is gone                     */
    char *names;                                /* a byte of rf__os_kind, and the name;    NULL: not listed          */
    size_t bytes;
    seen *file;
    size_t files, capacity;
    char *asked;                                /* the names of these files                                           */
    size_t used, asked_capacity;
    bool no_memory;
};

/* ---- the list of names ------------------------------------------------------------------------------------------- */

static bool plain(int kind) { return kind == RF__OS_FILE || kind == RF__OS_FOLDER; }

/* RF_ENOMEM. A folder with too many names has no list. */
static rf_status list_names(rf_held_folder *f)
{
    size_t capacity = 0;
    rf__os_kind kind;
    for (const char *name; (name = rf__os_next(f->list, &kind));) {
        const size_t n = strlen(name) + 2;
        if (f->bytes + n > NAMES) {
            rf__free(f->ctx, f->names);
            f->names = NULL;
            return RF_OK;
        }
        if (!rf__grow(f->ctx, &f->names, &capacity, f->bytes + n + USUAL, 1)) return RF_ENOMEM;
        f->names[f->bytes] = (char)kind;
        memcpy(f->names + f->bytes + 1, name, n - 1);
        f->bytes += n;
    }
    return RF_OK;
}

static const char *listed(const rf_held_folder *f, const char *name)
{
    for (const char *at = f->names; at && at < f->names + f->bytes; at += strlen(at + 1) + 2)
        if (!strcmp(at + 1, name)) return at;
    return NULL;
}

static bool exists(const rf_held_folder *f, const char *name)
{
    return f->list && rf__os_exists_in(f->list, name);
}

static bool look(const rf_held_folder *f, const char *name)
{
    if (!f->names || strchr(name, '/')) return exists(f, name);
    const char *at = listed(f, name);
    return at && (plain(*at) || exists(f, name));
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* The name in the folder; NULL: the path is not in it. */
static const char *name_in(const rf_held_folder *f, const char *path)
{
    if (strncmp(path, f->path, f->length) || (path[f->length] && !rf__os_is_slash(path[f->length]))) return NULL;
    path += f->length;
    while (rf__os_is_slash(*path) || (*path == '.' && (!path[1] || rf__os_is_slash(path[1])))) path++;
    return rf__climbs(path) ? NULL : path;
}

rf__held rf__held_none(const char *path) { return (rf__held){NULL, path, NULL, path, path}; }

rf__held rf__held_of(const rf_ctx *ctx, const char *path)
{
    rf__held h = rf__held_none(path);
    if (!ctx || !ctx->folders) return h;
    pthread_mutex_lock(&ctx->folders->lock);
    for (rf_held_folder *f = ctx->folders->held; f && !h.folder; f = f->next) {
        const char *name = pthread_equal(f->thread, pthread_self()) ? name_in(f, path) : NULL;
        if (name) h.folder = f, h.name = name;
    }
    pthread_mutex_unlock(&ctx->folders->lock);
    if (h.folder && h.folder->list) h.at = h.folder->list, h.below = h.name;
    return h;
}

/* ---- what was seen of a file ------------------------------------------------------------------------------------- */

/* In this hold alone. */
static seen *find_own(const rf_held_folder *f, const char *name)
{
    for (size_t i = 0; i < f->files; i++)
        if (!strcmp(f->asked + f->file[i].name, name)) return &f->file[i];
    return NULL;
}

static const seen *find(const rf_held_folder *f, const char *name)
{
    const seen *s = f->before ? find_own(f->before, name) : NULL;
    return s ? s : find_own(f, name);
}

/* NULL: out of memory. */
static seen *add(rf_held_folder *f, const char *name, bool there)
{
    const size_t n = strlen(name) + 1;
    if (!rf__grow(f->ctx, &f->asked, &f->asked_capacity, f->used + n + USUAL, 1) ||
        !rf__grow(f->ctx, &f->file, &f->capacity, f->files + 32, sizeof *f->file)) {
        f->no_memory = true;
        return NULL;
    }
    memcpy(f->asked + f->used, name, n);
    f->file[f->files] = (seen){.name = f->used, .there = there};
    f->used += n;
    return &f->file[f->files++];
}

static bool same(const rf__os_state *a, const rf__os_state *b)
{
    return rf__os_same(a, b) && a->size == b->size && a->modified == b->modified;
}

static rf_status changed(const rf_held_folder *f, const char *name, rf_error *why)
{
    return rf_fail(why, RF_EIO, "%.200s/%.100s: expected the same file while its folder is read, got another one, or "
                   "none: it was changed, replaced or removed meanwhile; open the folder again", f->path, name);
}

bool rf__held_there(const rf__held *h)
{
    const seen *s = *h->name ? find(h->folder, h->name) : NULL;
    if (s || !*h->name) return !s || s->there;
    const bool there = look(h->folder, h->name);
    add(h->folder, h->name, there);
    return there;
}

bool rf__held_is_folder(const rf__held *h)
{
    rf__os_state st;
    if (!*h->name) return true;
    return rf__held_there(h) && !rf__os_look_in(h->at, h->below, &st) && st.kind == RF__OS_FOLDER;
}

rf_status rf__held_opened(const rf__held *h, const rf__os_state *st, rf_error *why)
{
    if (st->kind != RF__OS_FILE) return RF_OK;                       /* a pipe has no state to compare */
    const seen *s = find(h->folder, h->name);
    if (s && (!s->there || (s->opened && !same(&s->is, st)))) return changed(h->folder, h->name, why);
    if (s && s->opened) return RF_OK;
    seen *own = find_own(h->folder, h->name);
    if (!own) own = add(h->folder, h->name, true);
    if (!own) return rf_fail(why, RF_ENOMEM, "%s: out of memory", h->path);
    own->opened = true;
    own->is = *st;
    return RF_OK;
}

void rf__held_lacks(const rf__held *h)
{
    if (!find(h->folder, h->name)) add(h->folder, h->name, false);
}

rf_status rf__held_keep(const rf__held *h, const char *data, size_t size, rf_error *why)
{
    seen *s = find_own(h->folder, h->name);
    if (!s || s->data) return RF_OK;
    s->data = rf__alloc(h->folder->ctx, size + 1);
    if (!s->data) return rf_fail(why, RF_ENOMEM, "%s: out of memory after %zu bytes", h->path, size);
    memcpy(s->data, data, size);
    s->size = size;
    return RF_OK;
}

bool rf__held_kept(const rf__held *h, rf_map *out)
{
    const seen *s = h->folder ? find(h->folder, h->name) : NULL;
    if (!s || !s->data) return false;
    *out = (rf_map){(const unsigned char *)s->data, s->size, false};
    return true;
}

bool rf__held_keep_made(const rf__held *h, size_t number, void *made, void (*drop)(void *made))
{
    seen *s = h->folder ? find_own(h->folder, h->name) : NULL;
    for (int i = 0; s && s->data && s->size <= LARGE && i < WAYS; i++) {
        if (s->made[i].is) continue;
        s->made[i].is = made;
        s->made[i].number = number;
        s->made[i].drop = drop;
        return true;
    }
    return false;
}

void *rf__held_made(const rf__held *h, size_t number)
{
    const seen *s = h->folder ? find_own(h->folder, h->name) : NULL;
    for (int i = 0; s && i < WAYS; i++)
        if (s->made[i].is && s->made[i].number == number) return s->made[i].is;
    return NULL;
}

/* ---- holding and releasing --------------------------------------------------------------------------------------- */

static void drop_made(rf_held_folder *f)
{
    for (size_t i = 0; i < f->files; i++)
        for (int k = 0; k < WAYS; k++) {
            if (f->file[i].made[k].is) f->file[i].made[k].drop(f->file[i].made[k].is);
            f->file[i].made[k].is = NULL;
        }
}

void rf__folder_forget(rf_held_folder *f)
{
    if (!f) return;
    const rf_ctx *ctx = f->ctx;
    drop_made(f);
    for (size_t i = 0; i < f->files; i++) rf__free(ctx, f->file[i].data);
    rf__os_folder_close(f->list);
    rf__free(ctx, f->file);
    rf__free(ctx, f->asked);
    rf__free(ctx, f->names);
    rf__free(ctx, f->path);
    rf__free(ctx, f);
}

/* NULL: there is no such folder in the file system. */
static rf__os_folder *open_list(const rf_ctx *ctx, const char *folder)
{
    rf_map memory;
    const bool other = !folder[strspn(folder, "/")] || rf__find_in_memory(ctx, folder, &memory, NULL);
    return other ? NULL : rf__os_folder_open(folder);
}

static rf_status hold_anew(const rf_ctx *ctx, const char *folder, rf__os_folder *list,
                           const rf_held_folder *before, rf_held_folder **out, rf_error *why)
{
    rf_held_folder *f = rf__calloc(ctx, 1, sizeof *f);
    if (f) *f = (rf_held_folder){.ctx = ctx, .thread = pthread_self(), .holders = 1, .list = list, .before = before};
    else rf__os_folder_close(list);
    if (f) f->path = rf__strdup(ctx, folder);
    if (!f || !f->path || (list && list_names(f))) {
        rf__folder_forget(f);
        return rf_fail(why, RF_ENOMEM, "%.200s: out of memory", folder);
    }
    f->length = strlen(folder);
    while (rf__os_is_slash(folder[f->length - 1])) f->length--;
    f->path[f->length] = 0;
    pthread_mutex_lock(&ctx->folders->lock);
    f->next = ctx->folders->held;
    ctx->folders->held = f;
    pthread_mutex_unlock(&ctx->folders->lock);
    *out = f;
    return RF_OK;
}

rf_status rf__folder_hold_again(const rf_ctx *ctx, const char *folder, const rf_held_folder *before,
                                rf_held_folder **out, rf_error *why)
{
    *out = rf__held_of(ctx, folder).folder;
    if (*out) return (*out)->holders++, RF_OK;
    rf__os_folder *list = open_list(ctx, folder);
    return list || before ? hold_anew(ctx, folder, list, before, out, why) : RF_OK;
}

rf_status rf_folder_hold(const rf_ctx *ctx, const char *folder, rf_held_folder **out, rf_error *why)
{
    if (!(ctx && folder && out)) return rf__missing("rf_folder_hold", "ctx, folder, out", why);
    return rf__folder_hold_again(ctx, folder, NULL, out, why);
}

static bool differs(const rf_held_folder *f, const seen *s, const char *name, bool there)
{
    rf__os_state st;
    return there != s->there || (s->opened && (rf__os_look_in(f->list, name, &st) || !same(&s->is, &st)));
}

/* The first file that is not what it was; NULL: there is none. */
static const char *first_changed(rf_held_folder *f)
{
    const rf_held_folder *b = f->before;
    if (f->names) {
        rf__os_kind kind;
        rf__os_again(f->list);
        for (const char *name; (name = rf__os_next(f->list, &kind));) {
            seen *s = find_own(f, name);
            if (s) s->again = plain((int)kind) || exists(f, name);
        }
    }
    for (size_t i = 0; i < f->files; i++) {
        seen *s = &f->file[i];
        const char *name = f->asked + s->name;
        if (!f->names || strchr(name, '/')) s->again = exists(f, name);
        if (differs(f, s, name, s->again)) return name;
    }
    for (size_t i = 0; b && f->files && i < b->files; i++) {
        const char *name = b->asked + b->file[i].name;
        if (differs(f, &b->file[i], name, exists(f, name))) return name;
    }
    return NULL;
}

rf_status rf_folder_release(rf_held_folder **held, rf_status status, rf_error *why)
{
    return rf__folder_release_into(held, NULL, status, why);
}

/* Keeps what was seen, without the folder itself, for any thread. */
static void settle(rf_held_folder *f)
{
    drop_made(f);
    rf__os_folder_close(f->list);
    f->list = NULL;
    rf__free(f->ctx, f->names);
    f->names = NULL;
    for (size_t i = 0; i < f->files; i++) {
        if (f->file[i].size <= LARGE) continue;
        rf__free(f->ctx, f->file[i].data);
        f->file[i].data = NULL;
    }
}

rf_status rf__folder_release_into(rf_held_folder **held, rf_held_folder **keep, rf_status status, rf_error *why)
{
    if (!held) return rf__missing("rf_folder_release", "folder", why);
    rf_held_folder *f = *held;
    *held = NULL;
    if (!f || --f->holders) return status;
    pthread_mutex_lock(&f->ctx->folders->lock);
    rf_held_folder **at = &f->ctx->folders->held;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    pthread_mutex_unlock(&f->ctx->folders->lock);
    const char *name = status == RF_ENOMEM ? NULL : first_changed(f);
    if (name) status = changed(f, name, why);
    else if (!status && f->no_memory) status = rf_fail(why, RF_ENOMEM, "%.200s: out of memory", f->path);
    if (keep && !status) settle(f), *keep = f;
    else rf__folder_forget(f);
    return status;
}
