/* bench_update.c — one update of every optimizer over a model's parameters, compared with the speed of memory: the data
 * does not fit into caches, so the number of bytes determines the time. */
#include "cli/bench/bench.h"
#include "roformer/inspect/steps.h"

static rf_status update_body(void *arg, rf_error *why) { return rf_train_step_apply(arg, 1e-9, why); }

/* Bytes that each optimizer reads and writes per parameter, counted once for each pass over an array. */
static const struct { const char *name; rf_optim optim; double bytes; } rules[] = {
    {"adamw", RF_OPTIM_ADAMW, 28},          /* reads value, gradient, two moments; writes three of them               */
    {"lamb", RF_OPTIM_LAMB, 52},            /* reads four, writes three; two for the sums; then value and direction   */
    {"adafactor", RF_OPTIM_ADAFACTOR, 36},  /* value and gradient; gradient twice; direction; both, value written     */
    {"lion", RF_OPTIM_LION, 20},
    {"sgd", RF_OPTIM_SGD, 20},
    {"muon", RF_OPTIM_MUON, 28},            /* those of adamw; its products move few bytes, and take most of the time */
};

rf_status bench_update(bench_job *j)
{
    rf_error *why = &j->b.io->why;
    rf_train_options options;
    rf_status status = RF_OK;
    rf_train_defaults(&options);
    for (size_t i = 0; i < CLI_COUNT(rules) && !status; i++) {
        char shape[48];
        rf_train_step *step;
        size_t n;
        options.optim = rules[i].optim;
        status = rf_train_step_open(j->b.io->ctx, &j->config, &options, &step, why);
        if (status) break;
        const float *value = rf_train_step_values(step, &n);
        float *gradient = rf_train_step_gradients(step);
        snprintf(shape, sizeof shape, "%.1fM parameters", (double)n * 1e-6);
        /* the copy leaves values as gradients, which are equally suitable */
        memcpy(gradient, value, n * sizeof *value);
        const bench_work work = {
            .bytes = rules[i].bytes * (double)n, .from = value, .to = gradient, .copy_bytes = n * sizeof *value};
        status = bench_row(&j->b, rules[i].name, shape, update_body, step, work);
        rf_train_step_close(step);
    }
    return status;
}
