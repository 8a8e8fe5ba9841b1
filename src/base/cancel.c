/* cancel.c — a flag that long calls look at; see include/roformer/cancel.h. */
#include "roformer/cancel.h"

#include <stdatomic.h>

#include "base/context.h"

struct rf_cancel { const rf_ctx *ctx; atomic_int set; };

rf_status rf_cancel_new(const rf_ctx *ctx, rf_cancel **out, rf_error *why)
{
    if (!out) return rf__missing("rf_cancel_new", "out", why);
    rf_cancel *c = ctx ? rf__alloc(ctx, sizeof *c) : rf__system_alloc(NULL, sizeof *c);
    if (!c) return rf_fail(why, RF_ENOMEM, "out of memory: a flag");
    c->ctx = ctx;
    atomic_init(&c->set, 0);
    *out = c;
    return RF_OK;
}

void rf_cancel_free(rf_cancel *c)
{
    if (!c) return;
    if (c->ctx) rf__free(c->ctx, c);
    else rf__system_release(NULL, c, sizeof *c);
}

void rf_cancel_set(rf_cancel *c)
{
    if (c) atomic_store(&c->set, 1);
}

void rf_cancel_clear(rf_cancel *c)
{
    if (c) atomic_store(&c->set, 0);
}

int rf_cancel_is_set(const rf_cancel *c) { return c && atomic_load_explicit(&c->set, memory_order_relaxed); }
