/* base.h — floor 0: memory, checked sizes, random numbers, files, half types, workers.
 *
 * Internal to the library; `rf__` names are shared between its files and are not exported.                       */
#ifndef RF_BASE_H
#define RF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roformer/context.h"
#include "roformer/kernel/random.h"
#include "roformer/status.h"

/* ---- the context ------------------------------------------------------------------------------------------- */

struct rfk_table;                       /* floor 1: the kernels that were chosen */
struct rf__product_state;
struct rf__thread_pool;
struct rf__memory_folders;

struct rf_ctx {
    rf_allocator allocator;
    int threads;
    const char *isa;
    const struct rfk_table *k;          /* set by rf_ctx_new (src/kernel/context.c) */
    void (*thread_start)(void);         /* what the rung does once in each worker, and at its end: of the same table */
    void (*thread_end)(void);
    struct rf__thread_pool *pool;       /* workers (src/base/parallel.c); NULL with one thread */
    char *dictionary;                   /* path of a compiled one, or NULL */
    /* what matrix products keep between calls (src/kernel/gemm/gemm.c), behind a lock */
    struct rf__product_state *products;
    struct rf__kept_bytes *kept;              /* what rf__ctx_keep keeps, behind a lock of its own */
    struct rf__memory_folders *folders;       /* that are files in memory, behind a lock of their own */
};

/* ---- memory: every allocation of the library goes through these, so that tests can fail the n-th ------------- */

void *rf__alloc(const rf_ctx *ctx, size_t size);                       /* 64-byte aligned; NULL when there is none  */
void *rf__calloc(const rf_ctx *ctx, size_t count, size_t size);        /* checked product, zeroed                   */
void rf__free(const rf_ctx *ctx, void *memory);                        /* NULL is fine                              */
void *rf__realloc(const rf_ctx *ctx, void *memory, size_t size);       /* keeps the old block when it returns NULL  */
char *rf__strdup(const rf_ctx *ctx, const char *text);

/* `size` bytes equal to these that stay as long as the context does; NULL: no memory.  Equal ones are kept once. */
const void *rf__ctx_keep(const rf_ctx *ctx, const void *bytes, size_t size);

/* Grows `*array` (elements of `size` bytes) so that `need` elements fit; doubles.  false: no memory, unchanged. */
bool rf__grow(const rf_ctx *ctx, void *array, size_t *capacity, size_t need, size_t size);

/* `first` and behind it `bytes` bytes of `text` in *buffer, which grows; *size: of both.  false: no memory. */
bool rf__join(const rf_ctx *ctx, char **buffer, size_t *capacity, const char *first, const char *text, size_t bytes,
              size_t *size);

/* ---- checked arithmetic on sizes: false means that the true result does not fit ------------------------------ */

static inline bool rf__checked_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool rf__checked_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

/* ---- arena: 64-byte aligned bump allocation; one block from the second lap of equal shape on ------------------
 *
 *      block 0            block 1 (only in the lap that outgrew block 0)
 *      [====used====| ]   [===used===|       ]        reset: one block of the sum, everything used again
 *                                                                                                               */
typedef struct rf_arena_block rf_arena_block;
typedef struct rf_arena {
    const rf_ctx *ctx;
    rf_arena_block *block;              /* newest first */
    size_t total;                       /* bytes handed out in this lap, with alignment */
    size_t peak;                        /* the largest total so far */
} rf_arena;

typedef struct rf_mark { rf_arena_block *block; size_t used, total; } rf_mark;

void rf__arena_init(rf_arena *a, const rf_ctx *ctx);
void rf__arena_clear(rf_arena *a);                                     /* gives all memory back                     */
void *rf__arena_push(rf_arena *a, size_t size);                        /* NULL when there is none; never zeroed     */
rf_mark rf__arena_mark(const rf_arena *a);
void rf__arena_release(rf_arena *a, rf_mark mark);                     /* back to the mark                          */
bool rf__arena_reset(rf_arena *a);                                     /* back to empty, merged into one block      */

/* ---- workers: body(arg, i, worker) for every i in [0, n).  Each i is run once, by any worker; a body may write
 * only what belongs to its i (or to `worker` as scratch), so bits never depend on the number of workers.         */

typedef void rf_body(void *arg, int64_t i, int worker);
void rf__parallel(const rf_ctx *ctx, int64_t n, rf_body *body, void *arg);

/* ---- random numbers: Philox 4x32-10 (Salmon et al. 2011), a pure function of key and counter.  One number
 * after another: rf_rng (roformer/kernel/random.h) ----------------------------------------------------------------- */

typedef struct rf_key { uint32_t k[2]; } rf_key;                       /* from a 64-bit seed                        */
rf_key rf__make_key(uint64_t seed, uint64_t stream);                   /* independent streams of one seed           */
void rf__philox(rf_key key, uint64_t counter, uint64_t stream, uint32_t out[4]);

/* ---- half types (round to nearest, ties to even; NaN stays NaN) ---------------------------------------------- */

uint16_t rf__bf16(float x);
float rf__from_bf16(uint16_t x);
uint16_t rf__f16(float x);
float rf__from_f16(uint16_t x);

/* ---- files ----------------------------------------------------------------------------------------------------- */

typedef struct rf_map { const unsigned char *data; size_t size; bool mapped; } rf_map;   /* read-only, private     */
rf_status rf__map_open(const rf_ctx *ctx, const char *path, rf_map *out, rf_error *why);
void rf__map_forget(const rf_map *map, size_t offset, size_t size);    /* these pages are not needed any more       */
void rf__map_close(const rf_ctx *ctx, rf_map *map);

/* Files of folders in memory (roformer/memory_folder.h) are found by all that is given the context.
 *
 *   rf__find_in_memory  true: the path is in such a folder; without such a file data is NULL, and `why` says so
 *   rf__is_there        whether there is something of that path
 *   rf__holds_folder    whether it is a folder                                                                     */
bool rf__find_in_memory(const rf_ctx *ctx, const char *path, rf_map *out, rf_error *why);
bool rf__is_there(const rf_ctx *ctx, const char *path);
bool rf__holds_folder(const rf_ctx *ctx, const char *path);

/* open(2) of what must be a regular file, such as all that is looked for in a folder: anything else in its place is
 * refused and not waited for.                                                                                      */
rf_status rf__open_file(const char *path, int flags, int *fd, size_t *size, rf_error *why);
rf_status rf__must_be_file(const char *path, rf_error *why);           /* for what is opened by others afterwards   */

/* Whether a process holds any lock of flock; where the system does not say so: no. */
bool rf__holds_lock(long pid);

/* The whole file plus a terminating 0 that is not counted; freed with rf__free.  RF_EDATA above `limit` bytes.  What
 * the user names may be a pipe, as <(...) of a shell is. */
rf_status rf__read_file(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why);
rf_status rf__read_named(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why);

/* A file that stands beside weights and goes where they go; text NULL: there is none. */
typedef struct rf__kept_file { char *text; size_t size; } rf__kept_file;

/* All bytes, through short writes and EINTR. */
rf_status rf__write_all(int fd, const void *data, size_t size, const char *path, rf_error *why);

/* Writes `path` so that it is either the old file or the complete new one: temporary name, fsync, rename, fsync of
 * the folder. */
rf_status rf__replace_file(const rf_ctx *ctx, const char *path, const void *data, size_t size, rf_error *why);
rf_status rf__copy_file(const rf_ctx *ctx, const char *from, const char *to, rf_error *why);     /* in the same way   */
rf_status rf__sync_folder(const char *path, rf_error *why);

/* Whether a file of that name may be replaced: there is none, it is empty, or it begins so (1 to 16 characters), whole
 * or damaged.  RF_EARG: it is something else than `what`; RF_EIO: a folder, a device. */
rf_status rf__replaceable(const char *path, const char *begins, const char *what, rf_error *why);

/* A new file path.tmp-<pid>-<n>, which nobody else has: no other thread, no other process, no earlier one that died. */
rf_status rf__temporary_open(const char *path, char *temporary, size_t size, int *fd, rf_error *why);

/* rf_folders_with (roformer/inspect/folder.h); and where folder/file is missing, what folders in it have one is added
 * to the failure, whose code is returned. */
size_t rf__folders_holding(const char *folder, const char *file, char *out, size_t size);
rf_status rf__look_below(const char *folder, const char *file, rf_error *why);

/* Joins folder and name into `out`; RF_ERANGE when it does not fit. */
rf_status rf__path(char *out, size_t size, const char *folder, const char *name, rf_error *why);

uint32_t rf__crc32c(uint32_t crc, const void *data, size_t size);      /* start with 0                              */
uint64_t rf__hash64(const void *data, size_t size, uint64_t seed);

double rf__seconds(void);                                              /* CLOCK_MONOTONIC                           */
double rf__wall_seconds(void);                                         /* since 1970                                */

/* Bytes that this process may still take, at least 1; 0: unknown.  `root` stands in front of /proc and /sys. */
double rf__memory_left(void);
double rf__memory_left_in(const char *root);

/* Letters to change, add or take away between two names (Levenshtein), of which the first 64 bytes count. */
int rf__edit_distance(const char *a, size_t m, const char *b, size_t n);

/* Options begin with `size_t size`, which the macro that fills in the defaults sets to what its caller was compiled
 * with: a later library, whose struct has grown, takes the members that are there over its own defaults.
 *
 *   rf__options_init   the first `size` bytes of `defaults` to `out`, and `size` into its first member
 *   rf__options_read   the members of `given` (NULL: none) over `own`, which holds the defaults, `size` bytes of them
 *   least              the size of the first version of the struct: RF_SIZE_TO(struct, its last member then)
 *   RF_EARG            a size outside least .. size: the struct was not filled in, or is of a later library */
#define RF_SIZE_TO(type, member) (offsetof(type, member) + sizeof ((type *)0)->member)
void rf__options_init(void *out, size_t given, const void *defaults, size_t size);
rf_status rf__options_read(void *own, size_t size, size_t least, const void *given, const char *type, rf_error *why);

/* RF_EARG: one of what the function needs was not given. */
rf_status rf__missing(const char *function, const char *names, rf_error *why);

#define RF_COUNT(array) (sizeof(array) / sizeof *(array))

static inline bool rf__white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool rf__blank(const char *text, size_t bytes);                        /* white space of ASCII alone                */

static inline int64_t rf__min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t rf__max64(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
