/* memory.c — malloc for the module with threads: that of Zig's C library is for one thread.
 *
 * A block below a page has one of some 80 sizes, eight for each power of two. Free blocks of a size are a list; a new one
 * is cut from a page. A larger block is a run of pages: free runs are a list by address, the first that is long enough
 * is used, and neighbors are joined. The 16 bytes before what the caller gets are: */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct head {
    uint32_t kind;                      /* its size is size_of(kind); KINDS: that of its pages */
    uint32_t room;                      /* for the caller */
    void *block;
    uint32_t pages;
} head;

typedef struct free_block { struct free_block *next; } free_block;
typedef struct run { struct run *next; size_t pages; } run;

enum { LINE = sizeof(head), STEPS = 8, KINDS = STEPS * 11, PAGE = 65536 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static free_block *list[KINDS];
static run *runs;                       /* free ones, by address */
static char *rest;                      /* of the page from which blocks are cut */
static size_t left;                     /* bytes of it */

static size_t size_of(uint32_t kind)
{
    const size_t size = (size_t)(STEPS + kind % STEPS) << (kind / STEPS + 2);
    return (size + LINE - 1) / LINE * LINE;
}

static uint32_t kind_of(size_t size)
{
    uint32_t kind = 0;
    while (kind < KINDS && size_of(kind) < size) kind++;
    return kind;
}

static char *end_of(const run *r) { return (char *)r + r->pages * PAGE; }

/* NULL: the memory cannot grow. */
static char *grow(size_t pages)
{
    const size_t at = __builtin_wasm_memory_grow(0, pages);
    return at == SIZE_MAX ? NULL : (char *)(at * PAGE);
}

static void give_pages(char *block, size_t pages)
{
    run **at = &runs, *before = NULL, *new = (run *)block;
    for (; *at && (char *)*at < block; at = &(*at)->next) before = *at;
    *new = (run){*at, pages};
    *at = new;
    if (new->next && end_of(new) == (char *)new->next) *new = (run){new->next->next, pages + new->next->pages};
    if (before && end_of(before) == block) *before = (run){new->next, before->pages + new->pages};
}

static char *take_pages(size_t pages)
{
    for (run **at = &runs; *at; at = &(*at)->next) {
        run *r = *at;
        const size_t end = (size_t)__builtin_wasm_memory_size(0);
        if (r->pages < pages && (size_t)end_of(r) / PAGE == end && grow(pages - r->pages)) r->pages = pages;
        if (r->pages < pages) continue;
        run *more = (run *)((char *)r + pages * PAGE);
        if (r->pages > pages) *more = (run){r->next, r->pages - pages};
        *at = r->pages > pages ? more : r->next;
        return (char *)r;
    }
    return grow(pages);
}

static char *cut(size_t size)
{
    if (left < size) {
        if (!(rest = take_pages(1))) return left = 0, NULL;
        left = PAGE;
    }
    char *block = rest;
    rest += size;
    left -= size;
    return block;
}

static void *take(uint32_t kind, size_t pages)
{
    pthread_mutex_lock(&lock);
    void *block = kind < KINDS ? list[kind] : take_pages(pages);
    if (kind < KINDS && block) list[kind] = list[kind]->next;
    else if (kind < KINDS) block = cut(size_of(kind));
    pthread_mutex_unlock(&lock);
    return block;
}

static head *head_of(void *memory) { return (head *)memory - 1; }

/* NULL: there is no memory. `line` is a power of two. */
static void *give(size_t line, size_t size)
{
    if (line < LINE) line = LINE;
    const size_t most = (size_t)1 << 31, more = line > LINE ? line + LINE : LINE;
    const bool fits = size < most && line < most - size;
    const uint32_t kind = fits ? kind_of(size + more) : KINDS;
    const size_t pages = fits && kind == KINDS ? (size + more + PAGE - 1) / PAGE : 0;
    char *block = fits ? take(kind, pages) : NULL;
    if (!block) return errno = ENOMEM, NULL;
    char *memory = (char *)(((uintptr_t)block + LINE + line - 1) / line * line);
    const size_t room = (pages ? pages * PAGE : size_of(kind)) - (size_t)(memory - block);
    *head_of(memory) = (head){.kind = kind, .room = (uint32_t)room, .block = block, .pages = (uint32_t)pages};
    return memory;
}

void *malloc(size_t size) { return give(LINE, size); }
void *aligned_alloc(size_t line, size_t size) { return give(line, size); }

int posix_memalign(void **out, size_t line, size_t size)
{
    void *memory = give(line, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

void free(void *memory)
{
    if (!memory) return;
    const head h = *head_of(memory);
    pthread_mutex_lock(&lock);
    if (h.kind == KINDS) give_pages(h.block, h.pages);
    else {
        *(free_block *)h.block = (free_block){list[h.kind]};
        list[h.kind] = h.block;
    }
    pthread_mutex_unlock(&lock);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
    void *memory = give(LINE, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *realloc(void *memory, size_t size)
{
    if (memory && size <= head_of(memory)->room) return memory;
    void *more = give(LINE, size);
    if (more && memory) {
        memcpy(more, memory, head_of(memory)->room);
        free(memory);
    }
    return more;
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
    return realloc(memory, bytes);
}
