/* memory.c — malloc for the module with threads: that of Zig's C library is for one thread.
 *
 * A block has one of some 200 sizes, eight for each power of two. Free blocks of a size are a list; a new one is cut from
 * the last pages that the memory has grown by, or gets pages of its own. The 16 bytes before what the caller gets are: */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct head {
    uint32_t kind;                      /* its size is size_of(kind) */
    uint32_t room;                      /* for the caller */
    void *block;
    uint32_t unused;
} head;

typedef struct free_block { struct free_block *next; } free_block;

enum { LINE = sizeof(head), STEPS = 8, KINDS = STEPS * 27, PAGE = 65536 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static free_block *list[KINDS];
static char *rest;                      /* of the last pages */
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

static char *grow(size_t size)
{
    const size_t pages = (size + PAGE - 1) / PAGE, at = __builtin_wasm_memory_grow(0, pages);
    return at == SIZE_MAX ? NULL : (char *)(at * PAGE);
}

static char *cut(size_t size)
{
    if (size >= PAGE) return grow(size);
    if (left < size) {
        if (!(rest = grow(PAGE))) return left = 0, NULL;
        left = PAGE;
    }
    char *block = rest;
    rest += size;
    left -= size;
    return block;
}

static void *take(uint32_t kind)
{
    pthread_mutex_lock(&lock);
    void *block = list[kind];
    if (block) list[kind] = list[kind]->next;
    else block = cut(size_of(kind));
    pthread_mutex_unlock(&lock);
    return block;
}

static head *head_of(void *memory) { return (head *)memory - 1; }

/* NULL: there is no memory. `line` is a power of two. */
static void *give(size_t line, size_t size)
{
    if (line < LINE) line = LINE;
    const size_t most = (size_t)1 << 31, more = line > LINE ? line + LINE : LINE;
    const uint32_t kind = size < most && line < most - size ? kind_of(size + more) : KINDS;
    char *block = kind < KINDS ? take(kind) : NULL;
    if (!block) return errno = ENOMEM, NULL;
    char *memory = (char *)(((uintptr_t)block + LINE + line - 1) / line * line);
    *head_of(memory) = (head){.kind = kind, .room = (uint32_t)(size_of(kind) - (size_t)(memory - block)), .block = block};
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
    *(free_block *)h.block = (free_block){list[h.kind]};
    list[h.kind] = h.block;
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
