/* memory_folder.c — folders in memory. A context lists them by path, and functions that read files look there first
 * (files.c). See include/roformer/inspect/files.h. */
#include <pthread.h>
#include <stdio.h>

#include "base/context.h"
#include "base/files/held_folder.h"
#include "roformer/inspect/files.h"

static const char prefix[] = "memory:";

struct rf_memory_folder {
    const rf_ctx *ctx;
    rf_memory_folder *next;
    rf_memory_file *file;               /* [n]; the names are copies                                                  */
    int64_t n;
    char path[32];
};

rf_status rf__memory_folders_new(rf_ctx *ctx, rf_error *why)
{
    struct rf__memory_folders *all = rf__calloc(ctx, 1, sizeof *all);
    if (!all || pthread_mutex_init(&all->lock, NULL)) {
        rf__free(ctx, all);
        return rf_fail(why, RF_ENOMEM, "out of memory: a context");
    }
    ctx->folders = all;
    return RF_OK;
}

void rf__memory_folders_free(rf_ctx *ctx)
{
    if (!ctx->folders) return;
    pthread_mutex_destroy(&ctx->folders->lock);
    rf__free(ctx, ctx->folders);
    ctx->folders = NULL;
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

/* Whether a name stays inside its folder. */
static bool stays_inside(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += part != name;
        const size_t n = strcspn(part, "/");
        if (!n || (n == 1 && *part == '.') || (n == 2 && part[0] == '.' && part[1] == '.')) return false;
    }
    return true;
}

static rf_status check(const rf_memory_file file[], int64_t n, rf_error *why)
{
    if (n < 1 || n > INT32_MAX)
        return rf_fail(why, RF_EARG, "memory folder: files: expected 1 to %d, got %lld", INT32_MAX, (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const rf_memory_file *f = &file[i];
        if (!f->name || (!f->data && f->size))
            return rf_fail(why, RF_EARG,
                           "memory folder: file %lld: expected %s, got NULL", (long long)i, f->name ? "data" : "name");
        if (!stays_inside(f->name))
            return rf_fail(why, RF_EARG, "memory folder: file %lld: expected a name inside the folder, got \"%.100s\"",
                           (long long)i, f->name);
        for (int64_t j = 0; j < i; j++)
            if (!strcmp(file[j].name, f->name))
                return rf_fail(why, RF_EARG, "memory folder: expected different names, got \"%.100s\" twice", f->name);
    }
    return RF_OK;
}

static rf_status copy_list(rf_memory_folder *f, const rf_memory_file file[], int64_t n)
{
    f->file = rf__calloc(f->ctx, (size_t)n, sizeof *f->file);
    if (!f->file) return RF_ENOMEM;
    for (; f->n < n; f->n++) {
        const rf_memory_file *from = &file[f->n];
        char *name = rf__strdup(f->ctx, from->name);
        if (!name) return RF_ENOMEM;
        f->file[f->n] = (rf_memory_file){name, from->size ? from->data : "", from->size};
    }
    return RF_OK;
}

static void release(rf_memory_folder *f)
{
    for (int64_t i = 0; i < f->n; i++) rf__free(f->ctx, (void *)(uintptr_t)f->file[i].name);
    rf__free(f->ctx, f->file);
    rf__free(f->ctx, f);
}

rf_status rf_memory_folder_new(const rf_ctx *ctx, const rf_memory_file file[], int64_t n, rf_memory_folder **out,
                               rf_error *why)
{
    if (!(ctx && file && out)) return rf__missing("rf_memory_folder_new", "ctx, files, out", why);
    const rf_status status = check(file, n, why);
    if (status) return status;
    rf_memory_folder *f = rf__calloc(ctx, 1, sizeof *f);
    if (f) f->ctx = ctx;
    if (!f || copy_list(f, file, n)) {
        if (f) release(f);
        return rf_fail(why, RF_ENOMEM, "out of memory: a folder of %lld files", (long long)n);
    }
    struct rf__memory_folders *all = ctx->folders;
    pthread_mutex_lock(&all->lock);
    snprintf(f->path, sizeof f->path, "%s%llu", prefix, (unsigned long long)++all->number);
    f->next = all->first;
    all->first = f;
    pthread_mutex_unlock(&all->lock);
    *out = f;
    return RF_OK;
}

const char *rf_memory_folder_path(const rf_memory_folder *f) { return f->path; }

void rf_memory_folder_free(rf_memory_folder *f)
{
    if (!f) return;
    struct rf__memory_folders *all = f->ctx->folders;
    pthread_mutex_lock(&all->lock);
    rf_memory_folder **at = &all->first;
    while (*at != f) at = &(*at)->next;
    *at = f->next;
    pthread_mutex_unlock(&all->lock);
    release(f);
}

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

/* The folder in memory that contains the path, and the name in it; NULL: the path belongs to the file system. */
static const rf_memory_folder *folder_of(const rf_ctx *ctx, const char *path, const char **name)
{
    const rf_memory_folder *f = NULL;
    if (!ctx || !ctx->folders || strncmp(path, prefix, sizeof prefix - 1)) return NULL;
    const size_t n = strcspn(path, "/");
    pthread_mutex_lock(&ctx->folders->lock);
    for (f = ctx->folders->first; f; f = f->next)
        if (strlen(f->path) == n && !memcmp(f->path, path, n)) break;
    pthread_mutex_unlock(&ctx->folders->lock);
    while (path[n] && path[n + 1] == '/') path++;
    *name = path + n + (path[n] == '/');
    return f;
}

bool rf__find_in_memory(const rf_ctx *ctx, const char *path, rf_map *out, rf_error *why)
{
    const char *name;
    const rf_memory_folder *f = folder_of(ctx, path, &name);
    if (!f) return false;
    for (int64_t i = 0; i < f->n; i++) {
        if (strcmp(f->file[i].name, name)) continue;
        *out = (rf_map){f->file[i].data, f->file[i].size, false};
        return true;
    }
    *out = (rf_map){0};
    rf_fail(why, RF_EIO, "%s: cannot open: the folder in memory has no such file", path);
    return true;
}

bool rf__is_there(const rf_ctx *ctx, const char *path)
{
    rf_map map;
    if (rf__find_in_memory(ctx, path, &map, NULL)) return map.data != NULL;
    const rf__held h = rf__held_of(ctx, path);
    return h.folder ? rf__held_there(&h) : rf__os_exists(path);
}

bool rf__holds_folder(const rf_ctx *ctx, const char *path)
{
    rf__os_state st;
    const char *name;
    const rf_memory_folder *f = folder_of(ctx, path, &name);
    if (!f) {
        const rf__held h = rf__held_of(ctx, path);
        return h.folder ? rf__held_is_folder(&h) : !rf__os_look(path, &st) && st.kind == RF__OS_FOLDER;
    }
    size_t n = strlen(name);
    while (n && name[n - 1] == '/') n--;
    bool found = !n;
    for (int64_t i = 0; i < f->n && !found; i++)
        found = !strncmp(f->file[i].name, name, n) && f->file[i].name[n] == '/';
    return found;
}
