/* arena.c — bump allocation in blocks; see the drawing in base.h.
 *
 * Under AddressSanitizer released space is poisoned, so that a use after reset is caught like a use after free.     */
#include "base.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 64, HEADER = 64, FIRST = 1 << 16 };

struct rf_arena_block {
    rf_arena_block *older;
    size_t size, used;          /* size of the space after the header */
};

static unsigned char *space(rf_arena_block *b) { return (unsigned char *)b + HEADER; }

static rf_arena_block *new_block(const rf_ctx *ctx, size_t size)
{
    size_t whole;
    if (!rf__checked_add(size, HEADER, &whole)) return NULL;
    rf_arena_block *b = rf__alloc(ctx, whole);
    if (!b) return NULL;
    *b = (rf_arena_block){.size = size};
    POISON(space(b), size);
    return b;
}

static void free_block(const rf_ctx *ctx, rf_arena_block *b)
{
    UNPOISON(space(b), b->size);
    rf__free(ctx, b);
}

void rf__arena_init(rf_arena *a, const rf_ctx *ctx) { *a = (rf_arena){.ctx = ctx}; }

void rf__arena_clear(rf_arena *a)
{
    while (a->block) {
        rf_arena_block *older = a->block->older;
        free_block(a->ctx, a->block);
        a->block = older;
    }
    a->total = 0;
}

/* The bytes that `size` takes; 0: too many. */
static size_t aligned(size_t size)
{
    size_t need;
    return rf__checked_add(size ? size : 1, ALIGN - 1, &need) ? need & ~(size_t)(ALIGN - 1) : 0;
}

static void count(rf_arena *a, size_t need)
{
    a->total += need;
    if (a->total > a->peak) a->peak = a->total;
}

void *rf__arena_count(rf_arena *a, size_t size)
{
    const size_t need = aligned(size), at = a->total;
    size_t end;
    if (!need || !rf__checked_add(at, need, &end) || !rf__checked_add(end, ALIGN, &end)) return NULL;
    a->counts = true;
    count(a, need);
    return (void *)(uintptr_t)(ALIGN + at);             /* nobody reads it; in the first pages for small graphs       */
}

void *rf__arena_push(rf_arena *a, size_t size)
{
    const size_t need = aligned(size);
    if (!need) return NULL;
    if (!a->block || a->block->size - a->block->used < need) {
        size_t grown = 0;                                    /* a new block at least doubles the arena */
        for (const rf_arena_block *old = a->block; old; old = old->older) grown += old->used;
        if (!grown) grown = FIRST;
        rf_arena_block *b = new_block(a->ctx, grown > need ? grown : need);
        if (!b && grown > need) b = new_block(a->ctx, need);
        if (!b) return NULL;
        b->older = a->block;
        a->block = b;
    }
    void *p = space(a->block) + a->block->used;
    UNPOISON(p, need);
    a->block->used += need;
    count(a, need);
    return p;
}

rf_mark rf__arena_mark(const rf_arena *a)
{
    return (rf_mark){a->block, a->block ? a->block->used : 0, a->total};
}

void rf__arena_release(rf_arena *a, rf_mark mark)
{
    /* A block newer than the mark is kept if it is the newest and the mark is at the very beginning. Otherwise it is
     * freed, and rf__arena_reset lets the oldest block grow to the peak. */
    while (a->block && a->block != mark.block) {
        rf_arena_block *older = a->block->older;
        free_block(a->ctx, a->block);
        a->block = older;
    }
    if (a->block) {
        POISON(space(a->block) + mark.used, a->block->used - mark.used);
        a->block->used = mark.used;
    }
    a->total = mark.total;
}

bool rf__arena_reset(rf_arena *a)
{
    if (a->counts) {
        rf__arena_clear(a);                                  /* its peak was never in memory */
    } else if (a->block && (a->block->older || a->block->size < a->peak)) {
        const size_t peak = a->peak;
        rf__arena_clear(a);
        a->block = new_block(a->ctx, peak);
        if (!a->block) return false;
    } else if (a->block) {
        POISON(space(a->block), a->block->size);
        a->block->used = 0;
    }
    a->total = 0;
    return true;
}
