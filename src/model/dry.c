/* dry.c — see dry.h. */
#include "model/dry.h"

#include "graph/graph.h"
#include "model/encoder.h"
#include "roformer/inspect/positions.h"

/* All ids are 0. */
typedef struct texts { rf_batch batch; int32_t *id, *start; } texts;

static void texts_free(const rf_ctx *ctx, texts *t)
{
    rf__free(ctx, t->id);
    rf__free(ctx, t->start);
}

/* N tokens in B texts of nearly the same length or, with a `longest`, in texts of that length. */
static bool texts_new(const rf_ctx *ctx, int64_t N, int64_t B, int64_t longest, texts *t)
{
    t->id = rf__calloc(ctx, (size_t)N + 1, sizeof *t->id);
    t->start = rf__calloc(ctx, (size_t)B + 1, sizeof *t->start);
    if (!t->id || !t->start) return false;
    for (int64_t b = 0; b <= B; b++)
        t->start[b] = (int32_t)(longest ? rf__min64(N, b * longest) : (int64_t)((double)N * (double)b / (double)B));
    t->batch = (rf_batch){.N = N, .B = B, .id = t->id, .start = t->start};
    return true;
}

static int64_t ceil_of(int64_t n, int64_t each) { return (n + each - 1) / each; }

/* The batch, or the sources and targets. */
static bool batch_of(const rf_params *p, const rf_dry *d, texts side[2])
{
    const int64_t longest = rf__max64(1, rf__min64(d->longest, d->tokens));
    if (p->stacks < 2) return texts_new(p->ctx, d->tokens, ceil_of(d->tokens, longest), longest, &side[0]);
    const int64_t from = rf__max64(1, rf__min64(d->source, d->tokens - 1)), to = rf__max64(1, d->tokens - from);
    const int64_t B = rf__min64(rf__min64(from, to), ceil_of(rf__max64(from, to), longest));
    return texts_new(p->ctx, from, B, 0, &side[0]) && texts_new(p->ctx, to, B, 0, &side[1]);
}

/* Values and gradients that nobody reads. */
static float *nowhere(void)
{
    volatile uintptr_t address = 64;                     /* otherwise compilers warn that nothing is there */
    return (float *)address;
}

/* A loss of each head: for the logits of texts and tokens, one of those that are computed by their formulas. */
static rf_tensor *step(rf_graph *g, rf_encoder *e, const rf_dry *d, const texts side[2], const int32_t row[])
{
    const rf_params *p = rf__encoder_params(e);
    const rf_batch *b = &side[0].batch;
    const bool language = p->head == RF_HEAD_MLM || p->head == RF_HEAD_SEQ2SEQ;
    if (!language) {
        double sum = 0;
        rf_tensor *z = rf__task_forward(g, e, b);
        return d->train ? rf__square_loss(g, z, nowhere(), 1, &sum) : z;
    }
    rf_tensor *h = p->stacks > 1 ? rf__pair_forward(g, e, b, &side[1].batch) : rf__encoder_forward(g, e, b);
    return rf__mlm_loss(g, e, h, row, row + d->labels, d->labels, 1, NULL, NULL);
}

static rf_status count(const rf_params *p, const rf_dry *d, const texts side[2], const int32_t row[],
                       rf_dry_result *out, rf_error *why)
{
    rf_encoder *e = NULL;
    rf_graph *g = NULL;
    rf_status status = rf__encoder_new(p, nowhere(), d->train ? nowhere() : NULL, &e, why);
    if (!status) status = rf__graph_new(p->ctx, &g, why);
    if (!status) {
        rf__graph_dry(g);
        rf__graph_products(g, d->products);
        rf__graph_record(g, d->train, 0, 0);
        rf__encoder_recompute(e, d->recompute);
        rf_tensor *y = step(g, e, d, side, row);
        const rf_error *failed = rf__graph_error(g);
        status = failed->code ? rf_fail(why, failed->code, "%s", failed->text)
                 : d->train   ? rf__backward(g, y, why) : RF_OK;
        *out = (rf_dry_result){(double)rf__graph_memory(g), g->flops, g->others, g->moved};
    }
    rf__graph_free(g);
    rf__encoder_free(e);
    return status;
}

rf_status rf__dry_step(const rf_params *p, const rf_dry *d, rf_dry_result *out, rf_error *why)
{
    texts side[2] = {0};
    *out = (rf_dry_result){0};
    if (d->tokens < 1) return RF_OK;
    if (d->tokens > INT32_MAX)
        return rf_fail(why, RF_ERANGE, "a batch: expected at most %d tokens, got %lld", INT32_MAX,
                       (long long)d->tokens);
    int32_t *row = rf__calloc(p->ctx, (size_t)d->labels + 1, 2 * sizeof *row);     /* and labels, which are 0 */
    const bool made = row && batch_of(p, d, side);
    const int64_t N = side[p->stacks > 1].batch.N;
    for (int64_t i = 0; made && i < d->labels; i++) row[i] = (int32_t)(i * N / d->labels);
    const rf_status status = made ? count(p, d, side, row, out, why)
                                  : rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens",
                                            (long long)d->tokens);
    rf__free(p->ctx, row);
    texts_free(p->ctx, &side[0]);
    texts_free(p->ctx, &side[1]);
    return status;
}

/* ---- for tools: roformer/inspect/positions.h --------------------------------------------------------------------- */

rf_status rf_forward_cost(const rf_ctx *ctx, const rf_config *c, int64_t T, double *flops, double *bytes, rf_error *why)
{
    rf_params p;
    rf_dry_result pass;
    if (!(ctx && c)) return rf__missing("rf_forward_cost", "ctx, config", why);
    if (T < 1) return rf_fail(why, RF_ERANGE, "rf_forward_cost: tokens: expected at least 1, got %lld", (long long)T);
    rf_status status = rf__params_new(ctx, c, &p, why);
    if (status) return status;
    status = rf__dry_step(&p, &(rf_dry){.tokens = T, .longest = T}, &pass, why);
    rf__params_free(&p);
    if (status) return status;
    if (flops) *flops = pass.flops + pass.others;
    if (bytes) *bytes = pass.moved;
    return RF_OK;
}
