/* context.h — the half of rf_ctx_new that needs no kernels. */
#ifndef RF_BASE_CONTEXT_H
#define RF_BASE_CONTEXT_H
#include "base.h"
rf_status rf__ctx_make(const rf_ctx_options *options, rf_ctx **out, rf_error *why);
#endif
