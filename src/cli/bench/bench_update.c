/* bench_update.c — one update of every rule over a model's parameters, beside the memory's speed: nothing of it stays
 * in a cache, so bytes are what counts. */
#include "base/base.h"
#include "cli/bench/bench.h"
#include "optim/optimizer.h"

typedef struct updating { rf__optimizer o; rf__step step; } updating;

static rf_status update_body(void *arg, rf_error *why)
{
    updating *u = arg;
    (void)why;
    u->step.update++;
    rf__optimizer_update(&u->o, &u->step);
    return RF_OK;
}

/* What each rule reads and writes for a parameter, counted once for each pass over an array. */
static const struct { rf_optim optim; double bytes; } rules[] = {
    {RF_OPTIM_ADAMW, 28},       /* reads value, gradient, two moments; writes three of them                          */
    {RF_OPTIM_LAMB, 52},        /* reads four, writes three; reads two for the sums; then value and direction again   */
    {RF_OPTIM_ADAFACTOR, 36},   /* value and gradient; gradient twice; direction; value and direction, value written  */
    {RF_OPTIM_LION, 20},
    {RF_OPTIM_SGD, 20},
};

rf_status bench_update(bench_job *j)
{
    rf_error *why = &j->b.io->why;
    rf_train_options options;
    rf_params params = {0};
    rf_train_defaults(&options);
    rf_status status = rf__params_new(j->b.io->ctx, &j->config, &params, why);
    const double n = (double)params.total;
    for (size_t i = 0; i < CLI_COUNT(rules) && !status; i++) {
        char shape[48];
        updating u = {.step = {1e-9, 1, 0}};
        options.optim = rules[i].optim;
        const rf__rule rule = rf__rule_of(&options);
        snprintf(shape, sizeof shape, "%.1fM parameters", n * 1e-6);
        status = rf__optimizer_new(&params, &rule, &u.o, why);
        if (!status) rf__params_init(&params, u.o.value, 1);
        if (!status) rf__params_init(&params, u.o.grad, 2);
        /* the copy leaves values as gradients, which are as good to measure with */
        const bench_work work = {
            .bytes = rules[i].bytes * n, .from = u.o.value, .to = u.o.grad, .copy_bytes = params.total * sizeof(float)};
        if (!status) status = bench_row(&j->b, rf__optim_name(rules[i].optim), shape, update_body, &u, work);
        rf__optimizer_free(&u.o);
    }
    if (params.p) rf__params_free(&params);
    return status;
}
