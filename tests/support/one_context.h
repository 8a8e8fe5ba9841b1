/* one_context.h — a context that all test cases of a program share. */
#ifndef ONE_CONTEXT_H
#define ONE_CONTEXT_H

#include "t.h"

static rf_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(1, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rf_ctx_free(ctx);
    return 0;
}

#endif
