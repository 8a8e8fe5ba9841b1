/* base.h — memory, checked sizes, random numbers, files, half types, workers.
 *
 * Internal to the library; `rf__` names are shared between its files and are not exported.                           */
#ifndef RF_BASE_H
#define RF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roformer/context.h"

/* ---- the context ------------------------------------------------------------------------------------------- */

struct rfk_table;                       /* layer 1: the selected kernels */
struct rf__product_state;
struct rf__thread_pool;
struct rf__memory_folders;

struct rf_ctx {
    rf_allocator allocator;
    int threads;
    const char *isa;
    const struct rfk_table *k;          /* set by rf_ctx_new (src/kernel/context.c) */
    void (*thread_start)(void);         /* called by each worker at its start and end; of the same table */
    void (*thread_end)(void);
    struct rf__thread_pool *pool;       /* workers (src/base/system/parallel.c); NULL with one thread */
    char *dictionary;                   /* path of a compiled dictionary, or NULL */
    void (*tracer)(void *user, const struct rf_operation *o);
    void *tracer_user;
    /* state that matrix products keep between calls (src/kernel/gemm/gemm.c), protected by a lock */
    struct rf__product_state *products;
    struct rf__kept_bytes *kept;              /* what rf__ctx_keep stores, protected by its own lock */
    struct rf__memory_folders *folders;       /* folders in memory, protected by their own lock */
};

/* ---- memory: every allocation of the library goes through these, so that tests can fail the n-th ------------- */

void *rf__alloc(const rf_ctx *ctx, size_t size);                       /* 64-byte aligned; NULL: out of memory      */
void *rf__calloc(const rf_ctx *ctx, size_t count, size_t size);        /* checked product, zeroed                   */
void rf__free(const rf_ctx *ctx, void *memory);                        /* NULL is allowed                           */
void *rf__realloc(const rf_ctx *ctx, void *memory, size_t size);   /* returns NULL and keeps the old block on failure */
char *rf__strdup(const rf_ctx *ctx, const char *text);

/* Returns `size` bytes equal to these, which live as long as the context; NULL: out of memory. Equal bytes are stored
 * once. */
const void *rf__ctx_keep(const rf_ctx *ctx, const void *bytes, size_t size);

/* Grows `*array` (elements of `size` bytes) until `need` elements fit, by doubling. false: out of memory, unchanged. */
bool rf__grow(const rf_ctx *ctx, void *array, size_t *capacity, size_t need, size_t size);

/* Stores `first`, followed by `bytes` bytes of `text`, in *buffer, which grows. *size: their total size. false: out of
 * memory. */
bool rf__join(const rf_ctx *ctx, char **buffer, size_t *capacity, const char *first, const char *text, size_t bytes,
              size_t *size);

/* ---- checked arithmetic on sizes; false: the result does not fit --------------------------------------------- */

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
    size_t total;                       /* bytes allocated since the last reset, with alignment */
    size_t peak;                        /* the largest total so far */
    bool counts;                        /* some of it has no memory */
} rf_arena;

typedef struct rf_mark { rf_arena_block *block; size_t used, total; } rf_mark;

void rf__arena_init(rf_arena *a, const rf_ctx *ctx);
void rf__arena_clear(rf_arena *a);                                     /* frees all memory                          */
void *rf__arena_push(rf_arena *a, size_t size);                      /* NULL: out of memory; the bytes are not zeroed */
void *rf__arena_count(rf_arena *a, size_t size);                     /* counts as the same, an address without memory */
rf_mark rf__arena_mark(const rf_arena *a);
void rf__arena_release(rf_arena *a, rf_mark mark);                     /* frees what was allocated after the mark   */
bool rf__arena_reset(rf_arena *a);                                     /* frees everything and merges the blocks    */

/* ---- workers: body(arg, i, worker) for every i in [0, n). Any worker runs index i, once. A body writes only what
 * belongs to its i (or to `worker`, as scratch), so the result does not depend on the number of workers. */

typedef void rf_body(void *arg, int64_t i, int worker);
void rf__parallel(const rf_ctx *ctx, int64_t n, rf_body *body, void *arg);

/* ---- random numbers: Philox 4x32-10 (Salmon et al. 2011), a pure function of key and counter. For a sequence of
 * numbers see rf_rng (roformer/context.h). */

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
void rf__map_forget(const rf_map *map, size_t offset, size_t size);    /* these pages are no longer needed          */
void rf__map_close(const rf_ctx *ctx, rf_map *map);

/* Files of folders in memory (roformer/inspect/files.h). All functions that take a context look there first.
 *
 *   rf__find_in_memory  true: the path is in such a folder; if it has no such file, data is NULL and `why` says so
 *   rf__is_there        whether the path exists
 *   rf__holds_folder    whether it is a folder */
bool rf__find_in_memory(const rf_ctx *ctx, const char *path, rf_map *out, rf_error *why);
bool rf__is_there(const rf_ctx *ctx, const char *path);
bool rf__holds_folder(const rf_ctx *ctx, const char *path);

/* rf__os_open (base/os/os.h) for files of a folder, which must be regular files. Anything else is refused without
 * waiting for it. */
rf_status rf__open_file(const char *path, int how, int *fd, size_t *size, rf_error *why);
rf_status rf__must_be_file(const char *path, rf_error *why);           /* for files that other code opens afterwards */

/* Reads the whole file and appends a terminating 0 that is not counted; freed with rf__free. RF_EDATA above `limit`
 * bytes. Files named by the user may be pipes, for example <(...) of a shell. */
rf_status rf__read_file(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why);
rf_status rf__read_named(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why);

/* RF_EDATA: the file is a pointer of Git LFS, a web page, or the answer to a failed download (substitute.c). Functions
 * that read or map a file check this. */
#define RF__LFS_POINTER "version https://git-lfs.github.com/spec/"
rf_status rf__check_substitute(const char *path, const void *data, size_t size, rf_error *why);

/* A file that accompanies weights and is copied with them; text NULL: there is none. */
typedef struct rf__kept_file { char *text; size_t size; } rf__kept_file;

/* Writes all bytes, also after short writes and EINTR. */
rf_status rf__write_all(int fd, const void *data, size_t size, const char *path, rf_error *why);

/* Replaces `path` atomically: readers see the old file or the complete new one. Writes to a temporary name, then fsync,
 * rename, and fsync of the folder. */
rf_status rf__replace_file(const rf_ctx *ctx, const char *path, const void *data, size_t size, rf_error *why);
rf_status rf__copy_file(const rf_ctx *ctx, const char *from, const char *to, rf_error *why);     /* likewise          */
rf_status rf__sync_folder(const char *path, rf_error *why);

/* Whether a file of that name may be replaced: it does not exist, is empty, or begins with these 1 to 16 characters,
 * even if it is damaged. RF_EARG: it is another kind of file than `what`; RF_EIO: it is a folder or a device. */
rf_status rf__replaceable(const char *path, const char *begins, const char *what, rf_error *why);

/* Creates the new file path.tmp-<pid>-<n>. No other thread or process, also none that ended earlier, uses this name. */
rf_status rf__temporary_open(const char *path, char *temporary, size_t size, int *fd, rf_error *why);

/* Whether a text is two numbers, <pid>-<n>; *first: the first of them. */
bool rf__two_numbers(const char *text, long *first);

/* rf_folders_with (roformer/inspect/folder.h). If folder/file does not exist, the names of subfolders that have such a
 * file are added to the message; returns the code of the failure. */
size_t rf__folders_holding(const char *folder, const char *file, char *out, size_t size);
rf_status rf__name_folders_below(const char *folder, const char *file, rf_error *why);

/* The folder that has the files of the model: `folder` or, if it has no config.json and modules.json puts the
 * Transformer into a folder below, that one, whose path is written to `path`. */
const char *rf__model_folder(const rf_ctx *ctx, const char *folder, char path[4096]);

/* Joins folder and name into `out`; RF_ERANGE: it does not fit. */
rf_status rf__path(char *out, size_t size, const char *folder, const char *name, rf_error *why);

uint32_t rf__crc32c(uint32_t crc, const void *data, size_t size);      /* start with 0                              */
uint64_t rf__hash64(const void *data, size_t size, uint64_t seed);

double rf__seconds(void);                                              /* CLOCK_MONOTONIC                           */
double rf__wall_seconds(void);                                         /* since 1970                                */

/* Bytes that this process may still allocate, at least 1; 0: unknown. */
double rf__memory_left(void);

/* Levenshtein distance between two names, of which the first 64 bytes count. */
int rf__edit_distance(const char *a, size_t m, const char *b, size_t n);

/* Adds a name to a list in a message, a string of at most `size` bytes (64 or more) that is empty at first: "a, b, c".
 * The list never ends within a name: those that do not fit are counted, "a, b and 3 more". */
void rf__list_add(char *list, size_t size, const char *name);

/* Options begin with `size_t size`, which the macro that sets the defaults fills with the size that the caller was
 * compiled with. A later library, whose struct has grown, copies the members that exist over its own defaults.
 *
 *   rf__options_init   copies the first `size` bytes of `defaults` to `out`, and sets its first member to `size`
 *   rf__options_read   copies the members of `given` (NULL: none) over `own`, which holds the defaults
 *   least              the size of the first version of the struct: RF_SIZE_TO(struct, its last member then)
 *   RF_EARG            size is not in least .. size: the struct was not initialized, or belongs to a later library */
#define RF_SIZE_TO(type, member) (offsetof(type, member) + sizeof ((type *)0)->member)
void rf__options_init(void *out, size_t given, const void *defaults, size_t size);
rf_status rf__options_read(void *own, size_t size, size_t least, const void *given, const char *type, rf_error *why);

/* RF_EARG: a required pointer is NULL. */
rf_status rf__missing(const char *function, const char *names, rf_error *why);

/* Text (text.c).
 *
 *   rf__find        the first place of `what` in `in`, as glibc's memmem; NULL: it is not there. Empty `what`: `in`
 *   rf__find_last   the last byte `what`, as memrchr
 *   rf__compare_numbered   as strcmp, but numbers in names by their value: "part-2" < "part-10"
 *   rf__matches     whether a name matches a pattern with '*' and '?', neither of which matches '/' */
const void *rf__find(const void *in, size_t size, const void *what, size_t n);
const void *rf__find_last(const void *in, char what, size_t size);
int rf__compare_numbered(const char *a, const char *b);
bool rf__matches(const char *pattern, const char *name);

#define RF_COUNT(array) (sizeof(array) / sizeof *(array))

static inline bool rf__white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/* Leaves white space at both ends out of a text of n bytes. */
static inline void rf__trim_white(const char **text, size_t *n)
{
    while (*n && rf__white(**text)) ++*text, --*n;
    while (*n && rf__white((*text)[*n - 1])) --*n;
}
bool rf__blank(const char *text, size_t bytes);                        /* white space, ASCII only                   */

static inline int64_t rf__min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t rf__max64(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
