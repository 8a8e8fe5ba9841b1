/* context.h — what a context is made of (src/kernel/context.c). */
#ifndef RF_BASE_CONTEXT_H
#define RF_BASE_CONTEXT_H
#include "base.h"

/* The workers of a context; with one thread there are none to make.  RF_ENOMEM. */
rf_status rf__pool_new(rf_ctx *ctx, rf_error *why);
void rf__pool_free(rf_ctx *ctx);

/* What rf__ctx_keep keeps.  RF_ENOMEM. */
rf_status rf__kept_bytes_new(rf_ctx *ctx, rf_error *why);
void rf__kept_bytes_free(rf_ctx *ctx);

/* The folders in memory (memory_folder.c).  RF_ENOMEM. */
rf_status rf__memory_folders_new(rf_ctx *ctx, rf_error *why);
void rf__memory_folders_free(rf_ctx *ctx);

/* The default allocator: the C library's, and pages of the system for what is large (linux.c). */
void *rf__system_alloc(void *user, size_t size);
void rf__system_release(void *user, void *memory, size_t size);
#endif
