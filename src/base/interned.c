/* interned.c — bytes that live as long as the context. Structs point to them and may be copied as they are. Equal bytes
 * are stored once, so reading a file again takes no more memory. */
#include <pthread.h>

#include "base/context.h"

typedef struct kept {
    struct kept *next;
    size_t size;
    unsigned char byte[];
} kept;

struct rf__kept_bytes {
    pthread_mutex_t lock;
    kept *first;
};

rf_status rf__kept_bytes_new(rf_ctx *ctx, rf_error *why)
{
    struct rf__kept_bytes *all = rf__calloc(ctx, 1, sizeof *all);
    if (!all || pthread_mutex_init(&all->lock, NULL)) {
        rf__free(ctx, all);
        return rf_fail(why, RF_ENOMEM, "out of memory: a context");
    }
    ctx->kept = all;
    return RF_OK;
}

void rf__kept_bytes_free(rf_ctx *ctx)
{
    if (!ctx->kept) return;
    for (kept *k = ctx->kept->first, *next; k; k = next) {
        next = k->next;
        rf__free(ctx, k);
    }
    pthread_mutex_destroy(&ctx->kept->lock);
    rf__free(ctx, ctx->kept);
    ctx->kept = NULL;
}

static kept *added(const rf_ctx *ctx, const void *bytes, size_t size)
{
    size_t all;
    kept *k = rf__checked_add(sizeof *k, size, &all) ? rf__alloc(ctx, all) : NULL;
    if (!k) return NULL;
    k->size = size;
    k->next = ctx->kept->first;
    memcpy(k->byte, bytes, size);
    ctx->kept->first = k;
    return k;
}

const void *rf__ctx_keep(const rf_ctx *ctx, const void *bytes, size_t size)
{
    pthread_mutex_lock(&ctx->kept->lock);
    const kept *k = ctx->kept->first;
    while (k && (k->size != size || memcmp(k->byte, bytes, size))) k = k->next;
    if (!k) k = added(ctx, bytes, size);
    pthread_mutex_unlock(&ctx->kept->lock);
    return k ? k->byte : NULL;
}
