/* mpi_link.c — the link between ranks as training uses it: messages between two, and a gradient's whole way.
 *
 *     mpirun -n 2 build/release/bench/mpi_link [million parameters]
 *
 *     ping       half of the time there and back, best of the rounds (MPI's own waiting, and ours that sleeps)
 *     gradient   every rank's parts to their owners, sums, and the parts back to everybody: (ranks - 1) / ranks of the
 *                bytes out of and into each rank, twice                                                              */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/comm.h"
#include "clock.h"
#include "roformer/inspect/steps.h"

static double ping(rf_comm *c, char *data, size_t bytes, int rounds)
{
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        const double begin = seconds();
        if (c->rank == 0) c->send(c, 1, 1, data, bytes, NULL), c->wait(c, 1, NULL);
        if (c->rank < 2) c->receive(c, 1, 1 - c->rank, data, bytes, NULL), c->wait(c, 1, NULL);
        if (c->rank == 1) c->send(c, 1, 0, data, bytes, NULL), c->wait(c, 1, NULL);
        const double took = (seconds() - begin) / 2;
        if (took < best) best = took;
    }
    return best;
}

static void pings(rf_comm *c)
{
    char *data = calloc(1, 16 << 20);
    for (size_t bytes = 8; data && bytes <= 16 << 20; bytes *= 8) {
        const double t = ping(c, data, bytes, bytes > 1 << 20 ? 10 : 100);
        if (!c->rank)
            printf("ping       %9zu bytes  %10.1f us  %7.2f GB/s\n", bytes, t * 1e6, (double)bytes / t * 1e-9);
    }
    free(data);
}

static int gradient(rf_comm *c, double millions)
{
    rf_ctx_options options;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    rf_config config;
    double best = 0, numbers = 0;
    rf_ctx_defaults(&options);
    options.threads = 1;
    rf_config_defaults(&config);
    config.num_hidden_layers = (int64_t)(millions * 1e6 / 7.1e6) + 1;
    config.vocab_size = 1000;
    rf_status status = rf_ctx_new(&options, &ctx, &why);
    if (!status) status = rf_exchange_seconds(ctx, c, &config, 5, &best, &numbers, &why);
    const double bytes = 2 * 4 * numbers * (c->size - 1) / c->size;
    if (!c->rank && !status)
        printf("gradient   %9.1f million  %8.1f ms  %7.2f GB/s out of each of %d ranks\n", numbers * 1e-6, best * 1e3,
               bytes / best * 1e-9, c->size);
    if (status) fprintf(stderr, "mpi_link: rank %d: %s\n", c->rank, why.text);
    rf_ctx_free(ctx);
    return status ? 1 : 0;
}

int main(int argc, char **argv)
{
    rf_comm *c = cli_comm_begin(&argc, &argv);
    if (!c) {
        fprintf(stderr, "mpi_link: start at least two processes with mpirun\n");
        return cli_comm_end(2);
    }
    pings(c);
    return cli_comm_end(gradient(c, argc > 1 ? strtod(argv[1], NULL) : 28));
}
