/* comm.h — the other processes of this run: none in roformer (comm.c), those of mpirun in roformer-mpi (mpi/comm.c). */
#ifndef CLI_COMM_H
#define CLI_COMM_H

#include "roformer/inspect/comm.h"

/* Before anything else in main.  NULL: this process is alone. */
rf_comm *cli_comm_begin(int *argc, char ***argv);

/* What begin returned. */
rf_comm *cli_comm(void);

/* The last thing in main.  With a failure that the other processes do not share they are ended, too. */
int cli_comm_end(int code);

#endif
