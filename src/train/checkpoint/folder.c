/* folder.c — the output folder.
 *
 * A folder is renamed to .tmp-... before it is removed, so that there is never an incomplete checkpoint. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "train/checkpoint/checksums.h"
#include "text/tokenizer.h"
#include "train/checkpoint/folder.h"

rf_status rf__folder_make(const char *path, rf_error *why)
{
    char part[4096];
    rf__os_state st;
    const size_t n = strlen(path);
    if (!n || n >= sizeof part)
        return rf_fail(why, RF_EARG, "output_dir: expected a path of 1 to %zu bytes, got %zu", sizeof part - 1, n);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] && !rf__os_is_slash(part[i])) continue;
        const char rest = part[i];
        part[i] = 0;
        const int failed = rf__os_make_folder(part) ? errno : 0;
        if (failed && failed != EEXIST && (rf__os_look(part, &st) || st.kind != RF__OS_FOLDER))    /* EACCES: "C:" */
            return rf_fail(why, RF_EIO, "%s: cannot create: %s", part, rf__os_reason(failed));
        part[i] = rest;
    }
    if (rf__os_look(path, &st)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
    return st.kind == RF__OS_FOLDER ? RF_OK : rf_fail(why, RF_EIO, "%s: expected a directory, got a file", path);
}

bool rf__folder_has(const char *folder, const char *name)
{
    char path[4096];
    return !rf__path(path, sizeof path, folder, name, NULL) && rf__os_exists(path);
}

bool rf__holds_weights(const char *folder)
{
    char below[4096];
    bool holds = false;
    folder = rf__model_folder(NULL, folder, below);
    for (const char *const *file = rf__weight_files; *file; file++) holds = holds || rf__folder_has(folder, *file);
    return holds;
}

const char *rf_checksums_found(const char *folder)
{
    static const char *const file[] = {RF_FILE_COMPLETE, RF_FILE_CHECKSUMS};
    for (size_t i = 0; folder && i < RF_COUNT(file); i++)
        if (rf__folder_has(folder, file[i])) return file[i];
    return NULL;
}

/* ---- files of others ---- */

rf_status rf__folder_lacks(const char *folder, const char *const *files, const char *remedy, rf_error *why)
{
    for (; *files; files++)
        if (rf__folder_has(folder, *files))
            return rf_fail(why, RF_EARG, "%s/%s: exists and would be overwritten; %s", folder, *files, remedy);
    return RF_OK;
}

rf_status rf__folder_lacks_model(const char *folder, const char *tokenizer, const char *remedy, rf_error *why)
{
    const char *const model[] = {RF_FILE_CONFIG,  RF_FILE_GENERATION, RF_FILE_MODULES,   RF_FILE_SENTENCE,
                                 RF_FILE_PROMPTS, RF_FILE_POOLING,    RF_FILE_NORMALIZE, RF_FILE_CHECKSUMS,
                                 NULL};
    const char *const words[] = {tokenizer, NULL};
    rf_status status = rf__folder_lacks(folder, model, remedy, why);
    if (!status) status = rf__folder_lacks(folder, words, remedy, why);
    return status || !tokenizer ? status : rf__folder_lacks(folder, rf__tokenizer_settings, remedy, why);
}

/* ---- the lock ---- */

static rf_status busy(const char *path, int fd, rf_error *why)
{
    char holder[160];
    const int64_t n = rf__os_read_at(fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
    for (char *c = holder; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    return rf_fail(why, RF_EBUSY, "%s: used by another run: %s", path, *holder ? holder : "unknown");
}

/* The file may have been removed between opening and locking; then the lock would exclude nobody. */
static rf_status lock_file(const char *path, int *fd, rf_error *why)
{
    rf__os_state st;
    for (;;) {
        const int lock = rf__os_open(path, RF__OS_WRITE | RF__OS_CREATE);
        if (lock < 0) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
        if (rf__os_lock(lock)) {
            const rf_status status = errno == EWOULDBLOCK
                                         ? busy(path, lock, why)
                                         : rf_fail(why, RF_EIO, "%s: cannot lock: %s", path, rf__os_reason(errno));
            rf__os_close(lock);
            return status;
        }
        *fd = lock;
        if (rf__os_look_file(lock, &st) || !st.removed) return RF_OK;
        rf__os_close(lock);
    }
}

rf_status rf__folder_lock(const char *folder, int *fd, rf_error *why)
{
    char path[4096], host[128] = "", when[32] = "", text[256];
    int lock = -1;
    if (rf__path(path, sizeof path, folder, RF_FILE_LOCK, why)) return RF_ERANGE;
    const rf_status status = lock_file(path, &lock, why);
    if (status) return status;
    struct tm utc;
    if (rf__os_utc(time(NULL), &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    rf__os_host(host, sizeof host);
    const int n = snprintf(text, sizeof text, "process %ld on %s since %s\n", rf__os_process(), host, when);
    if (!rf__os_cut(lock, 0)) (void)rf__os_write_at(lock, text, (size_t)n, 0);     /* a full disk: it is held as well */
    *fd = lock;
    return RF_OK;
}

void rf__folder_unlock(const char *folder, int fd, bool made)
{
    char path[4096];
    if (made && !rf__path(path, sizeof path, folder, RF_FILE_LOCK, NULL)) (void)rf__os_remove(path);
    rf__os_close(fd);
}

/* "process 123 on host since ..." */
static bool read_holder(const char *path, char *host, long *pid)
{
    char text[256];
    size_t size;
    int fd;
    if (rf__open_file(path, RF__OS_READ, &fd, &size, NULL)) return false;
    const int64_t n = rf__os_read_at(fd, text, sizeof text - 1, 0);
    rf__os_close(fd);
    text[n > 0 ? n : 0] = 0;
    return sscanf(text, "process %ld on %127s", pid, host) == 2;
}

int rf_run_alive(const char *folder)
{
    enum { YOUNG = 600 };                                          /* seconds */
    char path[4096], host[128] = "", mine[128] = "";
    rf__os_state st;
    long pid = 0;
    if (!folder || rf__path(path, sizeof path, folder, RF_FILE_LOCK, NULL) || !read_holder(path, host, &pid)) return 0;
    rf__os_host(mine, sizeof mine);
    if (!strcmp(host, mine)) return rf__os_process_locks(pid);
    if (rf__path(path, sizeof path, folder, RF_FILE_METRICS, NULL)) return 0;
    return !rf__os_look(path, &st) && time(NULL) - st.modified / 1000000000 < YOUNG;
}

size_t rf_folders_with(const char *folder, const char *file, char *out, size_t size)
{
    return rf__folders_holding(folder, file, out, size);
}

/* ---- removing ---- */

/* .tmp-<step>-<pid> and .tmp-old-<step>-<pid>: a checkpoint that is being written or removed (checkpoint.c). */
static bool is_checkpoint_of_ended(const char *name)
{
    long step;
    return !strncmp(name, ".tmp-", 5) && rf__two_numbers(name + (strncmp(name + 5, "old-", 4) ? 5 : 9), &step);
}

/* Where NAME ends if `name` is NAME.tmp-<pid>-<n>; NULL: it is not. */
static const char *temporary_mark(const char *name, long *pid)
{
    const char *mark = NULL;
    for (const char *at = name; (at = strstr(at, ".tmp-")); at++) mark = at;
    return mark && mark > name && rf__two_numbers(mark + 5, pid) ? mark : NULL;
}

void rf__folder_unmake(const char *folder, int lock)
{
    static const char *const own[] = {RF_FILE_LOCK, RF_FILE_TOKENS};
    char path[4096];
    int others = 0;
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));) {
        bool known = false;
        for (size_t i = 0; i < RF_COUNT(own); i++) known = known || !strcmp(name, own[i]);
        others += !known;
    }
    rf__os_folder_close(f);
    for (size_t i = 0; i < RF_COUNT(own) && !others; i++)
        if (!rf__path(path, sizeof path, folder, own[i], NULL)) (void)rf__os_remove(path);
    if (lock >= 0) rf__os_close(lock);                              /* on Windows its file is gone only then */
    if (!others) (void)rf__os_remove_folder(folder);
}

void rf__folder_sweep_files(const char *folder, bool (*own)(void *user, const char *name), void *user)
{
    char path[4096], target[256];
    long pid;
    rf__os_state st;
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));) {
        const char *mark = temporary_mark(name, &pid);
        if (!mark || (size_t)(mark - name) >= sizeof target) continue;
        snprintf(target, sizeof target, "%.*s", (int)(mark - name), name);
        const bool cache = !strcmp(target, RF_FILE_TOKENS);
        if (!own(user, target) || (!cache && !rf__os_process_ended(pid))) continue;
        if (!rf__path(path, sizeof path, folder, name, NULL) && !rf__os_look_link(path, &st) && st.kind == RF__OS_FILE)
            (void)rf__os_remove(path);
    }
    rf__os_folder_close(f);
}

static bool any(void *user, const char *name) { return (void)user, name; }

void rf__folder_sweep(const char *folder)
{
    char path[4096];
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));)
        if (is_checkpoint_of_ended(name) && !rf__path(path, sizeof path, folder, name, NULL)) rf__os_remove_tree(path);
    rf__os_folder_close(f);
    rf__folder_sweep_files(folder, any, NULL);
}

/* ---- checkpoints ---- */

static int64_t step_of(const char *name)
{
    static const char prefix[] = "checkpoint-";
    const char *digits = name + sizeof prefix - 1;
    if (strncmp(name, prefix, sizeof prefix - 1) || *digits < '1' || *digits > '9' || strlen(digits) > 15) return -1;
    char *end;
    const long long step = strtoll(digits, &end, 10);
    return *end ? -1 : step;
}

static int ascending(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

rf_status rf__checkpoint_steps(const rf_ctx *ctx, const char *folder, int64_t **step, size_t *n, rf_error *why)
{
    size_t capacity = 0;
    rf__os_folder *f = rf__os_folder_open(folder);
    *step = NULL;
    *n = 0;
    if (!f) return rf_fail(why, RF_EIO, "%s: cannot open: %s", folder, rf__os_reason(errno));
    for (const char *name; (name = rf__os_next(f, NULL));) {
        const int64_t s = step_of(name);
        if (s < 0) continue;
        if (!rf__grow(ctx, step, &capacity, *n + 1, sizeof **step)) {
            rf__os_folder_close(f);
            rf__free(ctx, *step);
            return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu checkpoints", *n + 1);
        }
        (*step)[(*n)++] = s;
    }
    rf__os_folder_close(f);
    if (*n) qsort(*step, *n, sizeof **step, ascending);
    return RF_OK;
}

rf_status rf_checkpoints_list(const rf_ctx *ctx, const char *folder, rf_checkpoints *out, rf_error *why)
{
    rf_checkpoints all = {.ctx = ctx};
    if (!(ctx && folder && out)) return rf__missing("rf_checkpoints_list", "ctx, folder, out", why);
    const rf_status status = rf__checkpoint_steps(ctx, folder, &all.step, &all.n, why);
    if (!status) *out = all;
    return status;
}

void rf_checkpoints_free(rf_checkpoints *c)
{
    if (!c || !c->ctx) return;
    rf__free(c->ctx, c->step);
    *c = (rf_checkpoints){0};
}

/* A free name for `name`, which belongs to an abandoned part of the run. */
static rf_status abandoned_name(const char *folder, const char *name, char *path, size_t size, rf_error *why)
{
    for (int i = 1; i < 10000; i++) {
        char other[96];
        const int n = snprintf(other, sizeof other, "abandoned-%s", name);
        if (i > 1) snprintf(other + n, sizeof other - (size_t)n, "-%d", i);
        const rf_status status = rf__path(path, size, folder, other, why);
        if (status || !rf__os_exists(path)) return status;
    }
    return rf_fail(why, RF_EIO, "%s: expected a free name abandoned-%s-N, got none; remove some of these folders",
                   folder, name);
}

/* `note` (`size` bytes) receives the new name, after those that it has already. */
static rf_status set_aside(const char *folder, const char *name, char *note, size_t size, rf_error *why)
{
    char from[4096], to[4096];
    rf_status status = rf__path(from, sizeof from, folder, name, why);
    if (!status) status = abandoned_name(folder, name, to, sizeof to, why);
    if (!status && rf__os_rename(from, to))
        status = rf_fail(why, RF_EIO, "%s: cannot rename to %s: %s", from, to, rf__os_reason(errno));
    if (!status) rf__list_add(note, size, strrchr(to, '/') + 1);
    return status;
}

/* The model of an earlier end belongs to its newest checkpoint, or to the best one, and is renamed with it. It is
 * renamed first, so that after a kill in between, the checkpoint can create it again. */
rf_status rf__checkpoints_abandon(const rf_ctx *ctx, const char *folder, int64_t newest, char *note, size_t size,
                                  rf_error *why)
{
    int64_t *step;
    size_t n;
    note[0] = 0;
    rf_status status = rf__checkpoint_steps(ctx, folder, &step, &n, why);
    if (status) return status;
    const bool leaves = n && step[n - 1] > newest;
    if (leaves && rf__folder_has(folder, RF_FILE_WEIGHTS)) {
        status = rf__checksums_remove(folder, why);
        if (!status) status = set_aside(folder, RF_FILE_WEIGHTS, note, size, why);
    }
    for (size_t i = 0; i < n && !status; i++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoint-%" PRId64, step[i]);
        if (step[i] > newest) status = set_aside(folder, name, note, size, why);
    }
    rf__free(ctx, step);
    return status || !leaves ? status : rf__sync_folder(folder, why);
}

int64_t rf__checkpoint_newest(const rf_ctx *ctx, const char *folder, int64_t most)
{
    int64_t *step;
    size_t n;
    if (rf__checkpoint_steps(ctx, folder, &step, &n, NULL)) return 0;
    while (n && step[n - 1] > most) n--;
    const int64_t newest = n ? step[n - 1] : 0;
    rf__free(ctx, step);
    return newest;
}

static bool among(int64_t step, const int64_t best[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (best[i] == step) return true;
    return false;
}

void rf__checkpoints_prune(const rf_ctx *ctx, const char *folder, int64_t newest, int64_t keep, const int64_t best[],
                           size_t bests)
{
    int64_t *step;
    size_t n;
    if (keep <= 0 || rf__checkpoint_steps(ctx, folder, &step, &n, NULL)) return;
    while (n && step[n - 1] > newest) n--;
    for (size_t i = 0; i + (size_t)keep < n; i++) {
        char name[64], away[96], from[4096], to[4096];
        if (among(step[i], best, bests)) continue;
        snprintf(name, sizeof name, "checkpoint-%" PRId64, step[i]);
        snprintf(away, sizeof away, ".tmp-old-%" PRId64 "-%ld", step[i], rf__os_process());
        if (rf__path(from, sizeof from, folder, name, NULL) || rf__path(to, sizeof to, folder, away, NULL)) continue;
        if (!rf__os_rename(from, to)) rf__os_remove_tree(to);
    }
    rf__free(ctx, step);
}
