/* context.h — the half of rf_ctx_new that needs no kernels. */
#ifndef RF_BASE_CONTEXT_H
#define RF_BASE_CONTEXT_H
#include "base.h"

/* The workers of a context; with one thread there are none to make.  RF_ENOMEM. */
rf_status rf__pool_new(rf_ctx *ctx, rf_error *why);
void rf__pool_free(rf_ctx *ctx);

rf_status rf__ctx_make(const rf_ctx_options *options, rf_ctx **out, rf_error *why);
#endif
