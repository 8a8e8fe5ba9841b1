/* params_init.c — the initial values of parameters.
 *
 * A block of 4,096 numbers is a function of the seed, the parameter's index and the block's index, so it does not
 * depend on the worker. */
#include <math.h>
#include <string.h>

#include "model/params/params.h"
#include "model/position.h"

enum { BLOCK = 4096 };

struct filling { const rf_params *params; const rf_param *p; float *to; uint64_t seed; size_t index; };

static double head_width(const rf_params *p) { return (double)rf_config_head_width(&p->config); }

static void fill_block(void *arg, int64_t block, int worker)
{
    (void)worker;
    const struct filling *f = arg;
    const size_t from = (size_t)block * BLOCK, to = from + BLOCK < f->p->count ? from + BLOCK : f->p->count;
    const rf_param *p = f->p;
    const double columns = (double)p->dim[p->rank - 1], both = (double)p->dim[0] + columns;
    const float deviation = (float)(p->init == RF_INIT_GLOROT  ? sqrt(2 / both)
                                    : p->init == RF_INIT_WIDTH ? sqrt(1 / columns)
                                    : p->init == RF_INIT_QUERY ? sqrt(1 / columns / head_width(f->params))
                                                               : f->params->config.initializer_range);
    rf_rng r;
    rf_rng_init(&r, f->seed, (uint64_t)f->index << 32 | (uint64_t)block);
    for (size_t i = from; i < to; i++) f->to[i] = deviation * rf_rng_normal(&r);
}

void rf__param_init(const rf_params *params, size_t index, float *to, uint64_t seed)
{
    const rf_param *p = &params->p[index];
    const int64_t pad = params->config.pad_token_id, E = params->config.embedding_size;
    if (p->init == RF_INIT_NORMAL || p->init == RF_INIT_GLOROT || p->init == RF_INIT_WIDTH ||
        p->init == RF_INIT_QUERY) {
        struct filling f = {params, p, to, seed, index};
        rf__parallel(params->ctx, (int64_t)((p->count + BLOCK - 1) / BLOCK), fill_block, &f);
    } else if (p->init == RF_INIT_MADE) {
        params->stack[p->stack].position->fill(&params->stack[p->stack].config, p, to);
    } else {
        for (size_t j = 0; j < p->count; j++) to[j] = p->init == RF_INIT_ONES;
    }
    if (p->flags & RF_ROW_WORDS && pad >= 0 && pad < params->config.vocab_size)
        memset(to + pad * E, 0, (size_t)E * sizeof *to);
}

void rf__params_init(const rf_params *params, float *slab, uint64_t seed)
{
    memset(slab, 0, params->total * sizeof *slab);
    for (size_t i = 0; i < params->n; i++) rf__param_init(params, i, slab + params->p[i].offset, seed);
}

void rf__params_init_head(const rf_params *params, float *slab, uint64_t seed)
{
    for (size_t i = 0; i < params->n; i++)
        if (params->p[i].head) rf__param_init(params, i, slab + params->p[i].offset, seed);
}
