/* comm.h — communication between the processes that train one model.
 *
 * A run receives an rf_comm from the program that knows the transport (roformer-mpi: src/cli/mpi/comm.c, with MPI). It
 * has four functions. The library builds gathers, broadcasts and sums from them (src/dist/comm.c, exchange.c), so their
 * order, and with it every bit, is the same for every transport.
 *
 * threads   all calls come from the thread that runs the training */
#ifndef ROFORMER_COMM_H
#define ROFORMER_COMM_H

#include <stddef.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A transfer is started with a number and waited for with the same number. Two transfers between the same ranks with
 * the same number arrive in the order in which they were started. Their memory must stay valid until the number is
 * done. */
enum { RF_COMM_NUMBERS = 16 };

typedef struct rf_comm rf_comm;
struct rf_comm {
    int rank, size;                     /* this process, and how many there are */
    int local;                          /* number of processes on this machine, including this one */
    int agreed;                         /* set when all ranks failed together with the same message */
    rf_status (*send)(rf_comm *c, int number, int to, const void *data, size_t bytes, rf_error *why);
    rf_status (*receive)(rf_comm *c, int number, int from, void *data, size_t bytes, rf_error *why);
    rf_status (*progress)(rf_comm *c, int number, int *done, rf_error *why);    /* never waits */
    rf_status (*wait)(rf_comm *c, int number, rf_error *why);                   /* RF_EIO: names a rank that is gone */
};

#ifdef __cplusplus
}
#endif
#endif
