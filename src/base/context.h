/* context.h — the parts of a context (src/kernel/context.c). */
#ifndef RF_BASE_CONTEXT_H
#define RF_BASE_CONTEXT_H
#include "base.h"

/* Creates the workers of a context, none for one thread. RF_ENOMEM: out of memory. */
rf_status rf__pool_new(rf_ctx *ctx, rf_error *why);
void rf__pool_free(rf_ctx *ctx);

/* Creates the storage of rf__ctx_keep. RF_ENOMEM: out of memory. */
rf_status rf__kept_bytes_new(rf_ctx *ctx, rf_error *why);
void rf__kept_bytes_free(rf_ctx *ctx);

/* Creates the list of folders in memory (memory_folder.c). RF_ENOMEM: out of memory. */
rf_status rf__memory_folders_new(rf_ctx *ctx, rf_error *why);
void rf__memory_folders_free(rf_ctx *ctx);

/* The default allocator: the C library's, and pages of the system for large blocks (os/). */
void *rf__system_alloc(void *user, size_t size);
void rf__system_release(void *user, void *memory, size_t size);
#endif
