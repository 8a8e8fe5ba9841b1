/* exchange_seconds.c — times the exchange of a gradient between ranks: roformer/inspect/steps.h. */
#include <math.h>

#include "dist/exchange.h"
#include "optim/optimizer.h"
#include "roformer/inspect/steps.h"

typedef struct path {
    rf_params params;
    rf__optimizer optimizer;
    rf__tree tree;
    rf__exchange exchange;
} path;

static rf_status open_path(path *l, const rf_ctx *ctx, rf_comm *c, const rf_config *config, rf_error *why)
{
    const rf__rule rule = {.optim = RF_OPTIM_SGD};
    rf_status status = rf__params_new(ctx, config, &l->params, why);
    if (!status) status = rf__optimizer_new_shared(&l->params, &rule, c->size, c->rank, &l->optimizer, why);
    if (!status) status = rf__tree_new(&l->params, l->optimizer.grad, c->rank, 1, &l->tree, why);
    if (!status)
        status = rf__exchange_new(ctx, c, &l->optimizer.shares, l->optimizer.span, &l->tree, 1, true, &l->exchange,
                                  why);
    return status;
}

static void close_path(path *l)
{
    rf__exchange_free(&l->exchange);
    rf__tree_free(&l->tree);
    rf__optimizer_free(&l->optimizer);
    if (l->params.p) rf__params_free(&l->params);
}

/* The ranks begin together: a sum over all ranks waits for the last. */
static rf_status once(path *l, rf_comm *c, double *seconds, rf_error *why)
{
    int64_t all = 1;
    rf__tree_begin(&l->tree);
    const float *leaf = rf__tree_leaf(&l->tree, c->rank);
    const rf_status status = rf__sum_whole(c, &all, why);
    const double begin = rf__seconds();
    rf__exchange_begin(&l->exchange, leaf);
    rf__exchange_end(&l->exchange);
    rf__exchange_parts(&l->exchange, l->optimizer.value);
    *seconds = rf__seconds() - begin;
    return status ? status : rf__exchange_error(&l->exchange, why);
}

rf_status rf_exchange_seconds(const rf_ctx *ctx, rf_comm *comm, const rf_config *c, int rounds, double *seconds,
                              double *numbers, rf_error *why)
{
    path l = {0};
    double best = INFINITY;
    if (!(ctx && comm && c && seconds)) return rf__missing("rf_exchange_seconds", "ctx, comm, config, seconds", why);
    if (rounds < 1) return rf_fail(why, RF_EARG, "rf_exchange_seconds: rounds: expected at least 1, got %d", rounds);
    rf_status status = open_path(&l, ctx, comm, c, why);
    if (!status) memset(l.optimizer.value, 0, l.params.total * sizeof *l.optimizer.value);
    if (!status) rf__optimizer_zero_grad(&l.optimizer);
    for (int i = 0; i < rounds && !status; i++) {
        double took;
        status = once(&l, comm, &took, why);
        if (took < best) best = took;
    }
    if (!status) *seconds = best;
    if (!status && numbers) *numbers = (double)l.params.total;
    close_path(&l);
    return status;
}
