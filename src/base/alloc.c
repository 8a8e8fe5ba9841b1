/* alloc.c — allocation through the context's allocator. */
#include "base.h"

/* Each block begins with its size, one cache line before the address that the caller gets. */
enum { LINE = 64 };

void *rf__alloc(const rf_ctx *ctx, size_t size)
{
    size_t whole;
    if (!rf__checked_add(size, LINE, &whole)) return NULL;
    size_t *block = ctx->allocator.alloc(ctx->allocator.user, whole);
    if (!block) return NULL;
    *block = whole;
    return (char *)block + LINE;
}

static size_t *block_of(void *memory) { return (size_t *)(void *)((char *)memory - LINE); }

void *rf__calloc(const rf_ctx *ctx, size_t count, size_t size)
{
    size_t bytes;
    if (!rf__checked_mul(count, size, &bytes)) return NULL;
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
    if (!rf__checked_mul(wide, size, &bytes) || !(p = rf__realloc(ctx, old, bytes))) return false;
    memcpy(array, &p, sizeof p);
    *capacity = wide;
    return true;
}

bool rf__join(const rf_ctx *ctx, char **buffer, size_t *capacity, const char *first, const char *text, size_t bytes,
              size_t *size)
{
    const size_t n = strlen(first);
    if (!rf__checked_add(n, bytes, size) || !rf__grow(ctx, buffer, capacity, *size, 1)) return false;
    if (n) memcpy(*buffer, first, n);
    if (bytes) memcpy(*buffer + n, text, bytes);
    return true;
}
