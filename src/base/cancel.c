/* cancel.c — a flag that long calls check; see include/roformer/context.h. */
#include "roformer/context.h"

#include <math.h>
#include <stdatomic.h>

#include "base/context.h"

struct rf_cancel {
    const rf_ctx *ctx;
    atomic_int set;
    _Atomic double deadline;            /* rf__seconds, or INFINITY */
};

rf_status rf_cancel_new(const rf_ctx *ctx, rf_cancel **out, rf_error *why)
{
    if (!out) return rf__missing("rf_cancel_new", "out", why);
    rf_cancel *c = ctx ? rf__alloc(ctx, sizeof *c) : rf__system_alloc(NULL, sizeof *c);
    if (!c) return rf_fail(why, RF_ENOMEM, "out of memory: a flag");
    c->ctx = ctx;
    atomic_init(&c->set, 0);
    atomic_init(&c->deadline, INFINITY);
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
    if (!c) return;
    atomic_store(&c->deadline, INFINITY);
    atomic_store(&c->set, 0);
}

void rf_cancel_after(rf_cancel *c, double seconds)
{
    if (c) atomic_store(&c->deadline, isnan(seconds) ? INFINITY : rf__seconds() + seconds);
}

int rf_cancel_is_set(const rf_cancel *c)
{
    if (!c) return 0;
    if (atomic_load_explicit(&c->set, memory_order_relaxed)) return 1;
    const double deadline = atomic_load_explicit(&c->deadline, memory_order_relaxed);
    return !isinf(deadline) ? rf__seconds() >= deadline : deadline < 0;
}
