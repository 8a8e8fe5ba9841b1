/* bench.h — measures the time of a piece of work, relative to what the machine can do at that moment.
 *
 * The FMA loop in registers runs briefly before and after each repetition, so that both are measured under the same
 * conditions. The fraction of a repetition is its speed divided by the better of the two; the fraction and time of the
 * row are medians.
 *
 * Work that is bound by memory alternates with a copy, one to one: between the same two arrays, as often, divided into
 * blocks on the same workers, so that other users of the machine disturb both equally. A copy elsewhere, or one that
 * runs continuously, finds its bytes in the cache while the work does not: this once showed a rotation at 30 % of a
 * copy, which is at 90 % if both alternate on the same arrays. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/io/io.h"

typedef struct bench {
    cli_io *io;
    double seconds;             /* for each row                                                                       */
    bool json;                  /* rows are stored and printed at the end */
    json_t *rows;
    bool header;                /* the table's header has been printed                                                */
    const char *kind;
    rf_type type;               /* data type of the multiply-adds of the reference                                    */
    bool above;                 /* something was faster than the loop that measures the peak                          */
} bench;

typedef rf_status bench_body(void *arg, rf_error *why);

/* Remembers a share of the peak above 1 in `above`, if the peak is that of the data type. */
void bench_check_share(bench *b, double share);

/* The work of one call; 0: does not apply. The reference for memory copies `copy_bytes` from one array to another. */
typedef struct bench_work {
    double tokens, flops, bytes;
    double (*counter)(const void *arg);     /* flops of all calls so far, instead of `flops`; NULL: none              */
    void *to;
    const void *from;
    size_t copy_bytes;
    bool alone;                 /* by one thread                                                                      */
} bench_work;

/* Times `body` and prints a row. Work in flops is compared with the FMA loop, work with only bytes with its copy. */
rf_status bench_row(bench *b, const char *what, const char *shape, bench_body *body, void *arg, bench_work work);

/* Batches of given lengths with random tokens, end to end: text t has tokens start[t] .. start[t+1], batch i texts
 * text[i] .. text[i+1]. */
typedef struct bench_shape {
    char name[48];
    int32_t *id, *start, *text;
    int64_t batches, B, N;
    double squares;             /* sum of T^2                                                                         */
} bench_shape;

/* Called for each batch; `from` is its first token. */
typedef rf_status bench_batch_body(void *arg, const rf_batch *batch, int32_t from, rf_error *why);
rf_status bench_batches(const bench_shape *s, bench_batch_body *body, void *arg, rf_error *why);

struct bench_args {
    const char *model, *config, *text;
    cli_list shapes, cases;
    double seconds;
    int json, dtype, checkpoints;
};

typedef struct bench_job {
    bench b;
    const struct bench_args *a;
    rf_config config;
    bench_shape now;
    struct parts *parts;        /* of the case "parts", which lists operations instead of rows; or NULL               */
} bench_job;

/* Runs `one` with j->now for each --shape, or for each default shape in `usual` (NULL at the end). */
rf_status bench_each_shape(bench_job *j, const char *const usual[], rf_status (*one)(bench_job *));

/* The cases: bench_model.c, bench_parts.c. */
rf_status bench_forward(bench_job *j);
rf_status bench_train(bench_job *j);
rf_status bench_attention(bench_job *j);
rf_status bench_rope(bench_job *j);
rf_status bench_gemm(bench_job *j);
rf_status bench_tokenize(bench_job *j);
rf_status bench_kernels(bench_job *j);
rf_status bench_update(bench_job *j);           /* bench_update.c */
rf_status bench_save(bench_job *j);             /* bench_save.c */
rf_status bench_parts(bench_job *j);            /* bench_operations.c */

/* Prints the operations of `body`, with j->parts. */
rf_status bench_list_parts(bench_job *j, const char *what, bench_body *body, void *arg);

#endif
