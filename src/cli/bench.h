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

#endif
