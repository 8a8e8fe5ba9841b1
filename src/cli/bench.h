/* bench.h — timing a piece of work beside what the machine can do at that moment.
 *
 * The register-only FMA loop (or a copy) runs for a moment before and after each repetition, so that both see the same
 * machine; a repetition's share is its speed over the better of the two, and the row's share and time are medians.     */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/io.h"

typedef struct bench {
    cli_io *io;
    double seconds;             /* for each row                                                                        */
    json_t *rows;
    bool header;                /* the table's head is printed                                                         */
    const char *kind;
} bench;

/* What one call does; 0 when it does not apply. */
typedef struct bench_work { double tokens, flops, bytes; } bench_work;
typedef rf_status bench_body(void *arg, rf_error *why);

/* Times `body` and prints a row.  Work in flops is compared with the FMA loop, work in bytes alone with a copy of the
 * same size. */
rf_status bench_row(bench *b, const char *what, const char *shape, bench_body *body, void *arg, bench_work work);

/* A batch of given lengths with random tokens. */
typedef struct bench_shape {
    char name[48];
    int32_t *id, *start;
    int64_t B, N;
    double squares;             /* sum of T^2                                                                          */
} bench_shape;

struct bench_args {
    const char *model, *config, *text;
    cli_list shapes, cases;
    double seconds;
    int json;
};

typedef struct bench_job {
    bench b;
    const struct bench_args *a;
    rf_config config;
    bench_shape now;
} bench_job;

/* Runs `one` with j->now for each --shape, or for each of `usual` (NULL at the end). */
rf_status bench_each_shape(bench_job *j, const char *const usual[], rf_status (*one)(bench_job *));
rf_batch bench_batch(const bench_shape *s);
double bench_encoder_flops(const rf_config *c, const bench_shape *s);

/* The cases: bench_model.c, bench_parts.c. */
rf_status bench_forward(bench_job *j);
rf_status bench_train(bench_job *j);
rf_status bench_attention(bench_job *j);
rf_status bench_rope(bench_job *j);
rf_status bench_gemm(bench_job *j);
rf_status bench_tokenize(bench_job *j);
rf_status bench_kernels(bench_job *j);

#endif
