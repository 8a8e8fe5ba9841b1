/* context.c — allocation through the context, the shape of a context.  rf_ctx_new itself lives on floor 1
 * (src/kernel/select.c), because making a context chooses the kernels. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "context.h"

/* Each block starts with its size, one cache line before what the caller sees. */
enum { LINE = 64 };

/* Large blocks come from the system, at addresses and in sizes that huge pages can serve, and go back to it: weights and
 * the memory of a step are read from end to end again and again, and the C library would keep what is given back. */
enum { HUGE = 2 << 20 };
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX                  /* which watches the C library's blocks only */
#else
#define LARGE ((size_t)4 << 20)
#endif

static size_t size_of_pages(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

static void *libc_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    if (size < LARGE) return posix_memalign(&p, LINE, size) ? NULL : p;

    size_t whole;
    if (!rf__add(size, HUGE, &whole)) return NULL;
    char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    const size_t before = (HUGE - (uintptr_t)map % HUGE) % HUGE;
    if (before) munmap(map, before);
    munmap(map + before + size_of_pages(size), whole - before - size_of_pages(size));
    (void)madvise(map + before, size, MADV_HUGEPAGE);                       /* a hint: nothing depends on it */
    return map + before;
}

static void libc_release(void *user, void *memory, size_t size)
{
    (void)user;
    if (size < LARGE) free(memory);
    else munmap(memory, size);
}

static int threads_of_machine(void)
{
    const int n = rf_processors();
    return n < RF_MAX_THREADS ? n : RF_MAX_THREADS;
}

rf_status rf__ctx_make(const rf_ctx_options *options, rf_ctx **out, rf_error *why)
{
    rf_ctx_options o = options ? *options : (rf_ctx_options){0};
    if (o.threads < 0 || o.threads > RF_MAX_THREADS)
        return rf_fail(why, RF_EARG, "threads: %d is not in 0..%d", o.threads, RF_MAX_THREADS);
    if (!o.allocator.alloc) o.allocator = (rf_allocator){libc_alloc, libc_release, NULL};

    rf_ctx *ctx = o.allocator.alloc(o.allocator.user, sizeof *ctx);
    if (!ctx) return rf_fail(why, RF_ENOMEM, "out of memory: a context of %zu bytes", sizeof *ctx);
    *ctx = (rf_ctx){
        .allocator = o.allocator,
        .threads = o.threads ? o.threads : threads_of_machine(),
    };
    *out = ctx;
    return RF_OK;
}

int rf_ctx_threads(const rf_ctx *ctx) { return ctx->threads; }
const char *rf_ctx_isa(const rf_ctx *ctx) { return ctx->isa; }

#ifndef ROFORMER_VERSION
#error "the build defines ROFORMER_VERSION"
#endif
const char *rf_version(void) { return ROFORMER_VERSION; }

void *rf__alloc(const rf_ctx *ctx, size_t size)
{
    size_t whole;
    if (!rf__add(size, LINE, &whole)) return NULL;
    size_t *block = ctx->allocator.alloc(ctx->allocator.user, whole);
    if (!block) return NULL;
    *block = whole;
    return (char *)block + LINE;
}

static size_t *block_of(void *memory) { return (size_t *)(void *)((char *)memory - LINE); }

void *rf__calloc(const rf_ctx *ctx, size_t count, size_t size)
{
    size_t bytes;
    if (!rf__mul(count, size, &bytes)) return NULL;
    void *p = rf__alloc(ctx, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void rf__free(const rf_ctx *ctx, void *memory)
{
    if (!memory) return;
    size_t *block = block_of(memory);
    ctx->allocator.release(ctx->allocator.user, block, *block);
}

void *rf__realloc(const rf_ctx *ctx, void *memory, size_t size)
{
    void *p = rf__alloc(ctx, size);
    if (!p || !memory) return p;
    const size_t old = *block_of(memory) - LINE;
    memcpy(p, memory, old < size ? old : size);
    rf__free(ctx, memory);
    return p;
}

char *rf__strdup(const rf_ctx *ctx, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = rf__alloc(ctx, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

bool rf__grow(const rf_ctx *ctx, void *array, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity) return true;
    size_t wide = *capacity > SIZE_MAX / 2 ? need : 2 * *capacity, bytes;
    if (wide < need) wide = need;
    if (wide < 16) wide = 16;
    void *old, *p;
    memcpy(&old, array, sizeof old);
    if (!rf__mul(wide, size, &bytes) || !(p = rf__realloc(ctx, old, bytes))) return false;
    memcpy(array, &p, sizeof p);
    *capacity = wide;
    return true;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rf__seconds(void) { return seconds_of(CLOCK_MONOTONIC); }
double rf__wall_seconds(void) { return seconds_of(CLOCK_REALTIME); }
