/* comm.h — the other processes of this run: none in roformer (comm.c), those of mpirun in roformer-mpi (mpi/comm.c). */
#ifndef CLI_COMM_H
#define CLI_COMM_H

#include "roformer/inspect/comm.h"

/* Called before anything else in main.  NULL: there are no other processes. */
rf_comm *cli_comm_begin(int *argc, char ***argv);

/* The result of begin. */
rf_comm *cli_comm(void);

/* Called last in main.  If this process failed and the others do not know it, it ends them, too. */
int cli_comm_end(int code);

#endif
