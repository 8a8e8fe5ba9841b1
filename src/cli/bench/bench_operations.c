/* bench_operations.c — "parts": the operations of a forward pass and of a training step, from the tracer of a context
 * (context.h) that runs the same model. Operations of a recomputed layer are part of the backward pass that does it,
 * and listed as well, so that the shares can add up to more than all. */
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"
#include "roformer/kernel/kernels.h"

typedef struct part { const char *name; int back; int64_t calls; double seconds, flops; } part;

enum { PARTS = 128 };
typedef struct parts parts;
struct parts {
    part at[PARTS];
    int n;
};

static void add(void *user, const rf_operation *o)
{
    parts *all = user;
    int i = 0;
    while (i < all->n && (strcmp(all->at[i].name, o->name) || all->at[i].back != o->back)) i++;
    if (i == PARTS) return;
    if (i == all->n) all->at[all->n++] = (part){o->name, o->back, 0, 0, 0};
    all->at[i].calls++;
    all->at[i].seconds += o->end - o->begin;
    all->at[i].flops += o->flops;
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const part *)a)->seconds, y = ((const part *)b)->seconds;
    return (x < y) - (x > y);
}

static rf_status print_part(bench_job *j, const char *what, const part *p, double passes, double all, double peak)
{
    const double ms = 1e3 * p->seconds / passes, rate = p->seconds > 0 ? p->flops / p->seconds : 0;
    bench_check_share(&j->b, rate / peak);
    if (!j->b.json) {
        printf("%-8s %-20s %-9s %7.0f %10.3f %7.1f %%", what, p->name, p->back ? "backward" : "forward",
               (double)p->calls / passes, ms, 100 * p->seconds / all);
        if (rate > 0) printf(" %8.1f GF/s %6.1f %%", rate * 1e-9, 100 * rate / peak);
        putchar('\n');
        return cli_flush(&j->b.io->why);
    }
    json_t *row = json_pack("{s:s,s:s,s:s,s:s,s:b,s:f,s:f,s:f}", "bench", j->b.kind, "what", what, "shape",
                            j->now.name, "operation", p->name, "backward", p->back, "calls",
                            (double)p->calls / passes, "ms", ms, "share", p->seconds / all);
    if (rate > 0) cli_json_set(&row, "gflops", json_real(rate * 1e-9));
    if (rate > 0) cli_json_set(&row, "share_of_fma_peak", json_real(rate / peak));
    cli_json_add(&j->b.rows, row);
    return RF_OK;
}

rf_status bench_list_parts(bench_job *j, const char *what, bench_body *body, void *arg)
{
    parts *all = j->parts;
    rf_error *why = &j->b.io->why;
    rf_status status = body(arg, why);                                                      /* warms caches */
    *all = (parts){.n = 0};
    double passes = 0;
    const double begin = cli_seconds();
    while (!status && (passes < 1 || cli_seconds() < begin + j->b.seconds)) {
        status = body(arg, why);
        passes++;
    }
    const double wall = cli_seconds() - begin;
    if (status) return status;
    double sum = 0;
    for (int i = 0; i < all->n; i++) sum += all->at[i].seconds;
    const double moment = 0.1, half = j->b.type == RF_F32 ? 0 : rf_peak_of(j->b.io->ctx, j->b.type, moment);
    const double peak = half > 0 ? half : rf_peak_flops(j->b.io->ctx, moment);
    qsort(all->at, (size_t)all->n, sizeof *all->at, by_time);
    if (!j->b.json)
        printf("\n%s %s: %.3f ms, %.1f %% of it in operations\n%-8s %-20s %-9s %7s %10s %9s %13s %8s\n", what,
               j->now.name, 1e3 * wall / passes, 100 * sum / wall, "", "operation", "pass", "calls", "ms", "share",
               "rate", "of peak");
    for (int i = 0; i < all->n && !status; i++) status = print_part(j, what, &all->at[i], passes, wall, peak);
    return status;
}

rf_status bench_parts(bench_job *j)
{
    parts all = {.n = 0};
    cli_io *io = j->b.io;
    rf_ctx *plain = io->ctx;
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    o.threads = rf_ctx_threads(plain);
    o.isa = rf_ctx_isa(plain);
    o.tracer = add;
    o.tracer_user = &all;
    rf_status status = rf_ctx_new(&o, &io->ctx, &io->why);
    if (status) return status;
    j->parts = &all;
    status = bench_forward(j);
    if (!status && (j->b.type == RF_F32 || j->b.type == RF_BF16)) status = bench_train(j);
    j->parts = NULL;
    rf_ctx_free(io->ctx);
    io->ctx = plain;
    return status;
}
