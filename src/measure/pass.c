/* pass.c — what a pass would hold and compute: roformer/inspect/steps.h. */
#include "model/dry.h"
#include "roformer/inspect/steps.h"

rf_status rf_pass_count(const rf_ctx *ctx, const rf_config *c, rf_pass *pass, rf_error *why)
{
    rf_params p;
    rf_dry_result step;
    if (!(ctx && c && pass)) return rf__missing("rf_pass_count", "ctx, config, pass", why);
    const int64_t most = INT32_MAX / 2;
    if (pass->texts < 1 || pass->tokens < 1 || pass->tokens > most / pass->texts)
        return rf_fail(why, RF_ERANGE, "rf_pass_count: expected 1 to %lld tokens, got %lld texts of %lld",
                       (long long)most, (long long)pass->texts, (long long)pass->tokens);
    rf_status status = rf__params_new(ctx, c, &p, why);
    if (status) return status;
    const int64_t N = pass->texts * pass->tokens, pairs = p.stacks > 1;
    const rf_dry d = {.tokens = pairs ? 2 * N : N, .longest = pass->tokens, .source = pairs ? N : 0,
                      .labels = !pass->train ? 0 : pairs || c->is_decoder ? N : (N * 15 + 99) / 100,
                      .train = pass->train, .products = pass->type};
    status = rf__dry_step(&p, &d, &step, why);
    rf__params_free(&p);
    if (status) return status;
    pass->bytes = step.bytes;
    pass->flops = step.flops;
    return RF_OK;
}
