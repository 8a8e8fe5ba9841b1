/* comm.h — what several processes need to train one model: transfers between ranks.
 *
 * A run is given an rf_comm, made by whoever knows the transport (roformer-mpi: src/cli/mpi/comm.c, over MPI).  Four
 * functions are enough; gathers, broadcasts and sums are made of them in the library (src/dist/comm.c, exchange.c), so
 * that their order, and with it every bit, is the same over every transport.
 *
 * threads   all calls come from the thread that runs the training                                                    */
#ifndef ROFORMER_COMM_H
#define ROFORMER_COMM_H

#include <stddef.h>

#include "roformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Transfers are started under a number, and waited for under it.  Two between the same ranks under the same number
 * arrive in the order in which they were started; memory belongs to the transport until the number is done. */
enum { RF_COMM_NUMBERS = 16 };

typedef struct rf_comm rf_comm;
struct rf_comm {
    int rank, size;                     /* this process, of how many                                                  */
    int local;                          /* of them on this machine, this one included                                 */
    int agreed;                         /* set by a run that failed on all ranks together, with the same sentence     */
    rf_status (*send)(rf_comm *c, int number, int to, const void *data, size_t bytes, rf_error *why);
    rf_status (*receive)(rf_comm *c, int number, int from, void *data, size_t bytes, rf_error *why);
    rf_status (*progress)(rf_comm *c, int number, int *done, rf_error *why);    /* never waits                        */
    rf_status (*wait)(rf_comm *c, int number, rf_error *why);                   /* RF_EIO: a rank is gone; names it   */
};

#ifdef __cplusplus
}
#endif
#endif
