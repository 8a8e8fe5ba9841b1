/* comm.c — transfers over MPI, only for roformer-mpi: this is the only file in the repository that includes mpi.h.
 *
 * MPI is only used for two-sided messages: its reductions have no fixed order, ours have one (src/dist/exchange.c).
 * Waiting sleeps between checks, since a spinning core would be missing for the other ranks of this machine. It also
 * checks whether the ranks that it waits for are still alive, since MPI would wait forever. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "cli/shell/comm.h"
#include "cli/io/io.h"

typedef struct pending { MPI_Request *at; int *peer; int n, capacity; } pending;
typedef struct person { char host[64]; long pid; } person;

static struct {
    rf_comm c;
    pending list[RF_COMM_NUMBERS];
    person *who;                        /* [size]                                                                     */
} team;

/* ---- starting ---- */

static rf_status said(int code, const char *what, int peer, rf_error *why)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (code == MPI_SUCCESS) return RF_OK;
    MPI_Error_string(code, text, &n);
    return rf_fail(why, RF_EIO, "rank %d: cannot %s rank %d: %.120s", team.c.rank, what, peer, text);
}

static rf_status next(pending *l, int peer, MPI_Request **out, rf_error *why)
{
    if (l->n == l->capacity) {
        const int capacity = l->capacity ? 2 * l->capacity : 64;
        MPI_Request *at = realloc(l->at, (size_t)capacity * sizeof *at);
        if (at) l->at = at;
        int *peers = realloc(l->peer, (size_t)capacity * sizeof *peers);
        if (peers) l->peer = peers;
        if (!at || !peers) return rf_fail(why, RF_ENOMEM, "out of memory: %d transfers", capacity);
        l->capacity = capacity;
    }
    l->peer[l->n] = peer;
    *out = &l->at[l->n];
    return RF_OK;
}

static rf_status start(int number, int peer, const void *from, void *to, size_t bytes, rf_error *why)
{
    pending *l = &team.list[number];
    MPI_Request *at = NULL;
    const int n = (int)bytes;
    if (bytes > INT_MAX) return rf_fail(why, RF_ERANGE, "a message of %zu bytes", bytes);
    const rf_status status = next(l, peer, &at, why);
    if (status) return status;
    const int code = from ? MPI_Isend(from, n, MPI_BYTE, peer, number, MPI_COMM_WORLD, at)
                          : MPI_Irecv(to, n, MPI_BYTE, peer, number, MPI_COMM_WORLD, at);
    if (code == MPI_SUCCESS) l->n++;
    return said(code, from ? "send to" : "receive from", peer, why);
}

static rf_status send_to(rf_comm *c, int number, int to, const void *data, size_t bytes, rf_error *why)
{
    (void)c;
    return start(number, to, data, NULL, bytes, why);
}

static rf_status receive_from(rf_comm *c, int number, int from, void *data, size_t bytes, rf_error *why)
{
    (void)c;
    return start(number, from, NULL, data, bytes, why);
}

/* ---- waiting ---- */

static rf_status progress(rf_comm *c, int number, int *done, rf_error *why)
{
    (void)c;
    pending *l = &team.list[number];
    *done = 1;
    if (!l->n) return RF_OK;
    const int code = MPI_Testall(l->n, l->at, done, MPI_STATUSES_IGNORE);
    if (*done) l->n = 0;
    return said(code, "hear from", -1, why);
}

static bool has_exited(int rank)
{
    const person *p = &team.who[rank];
    return !strcmp(p->host, team.who[team.c.rank].host) && kill((pid_t)p->pid, 0) && errno == ESRCH;
}

static rf_status check_peers(rf_error *why)
{
    for (int r = 0; r < team.c.size; r++)
        if (has_exited(r))
            return rf_fail(why, RF_EIO,
                           "rank %d of %d (process %ld) is gone; resume from the last checkpoint (--resume)",
                           r, team.c.size, team.who[r].pid);
    return RF_OK;
}

/* Polls without a pause for a moment, then less and less often, at most five thousand times a second. */
static rf_status wait_for(rf_comm *c, int number, rf_error *why)
{
    enum { HOT = 200, LONGEST = 200000, EVERY = 100000000 };
    long slept = 0, pause = 10000;
    int done = 0;
    for (int poll = 0;; poll++) {
        const rf_status status = progress(c, number, &done, why);
        if (status || done) return status;
        if (poll < HOT) {
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){0, pause}, NULL);
        slept += pause;
        if (pause < LONGEST) pause += pause / 4;
        if (slept < EVERY) continue;
        slept = 0;
        if (check_peers(why)) return RF_EIO;
    }
}

/* ---- beginning and ending ---- */

static void meet(void)
{
    person me = {.pid = (long)getpid()};
    gethostname(me.host, sizeof me.host - 1);
    team.who = calloc((size_t)team.c.size, sizeof me);
    if (!team.who) MPI_Abort(MPI_COMM_WORLD, CLI_MEMORY);
    MPI_Allgather(&me, (int)sizeof me, MPI_BYTE, team.who, (int)sizeof me, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < team.c.size; r++) team.c.local += !strcmp(team.who[r].host, me.host);
}

rf_comm *cli_comm_begin(int *argc, char ***argv)
{
    int have;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &have) != MPI_SUCCESS) exit(CLI_FAILURE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &team.c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.c.size);
    team.c.send = send_to;
    team.c.receive = receive_from;
    team.c.progress = progress;
    team.c.wait = wait_for;
    meet();
    return cli_comm();
}

rf_comm *cli_comm(void) { return team.c.size > 1 ? &team.c : NULL; }

/* true: all processes have arrived here, within a second. */
static bool together(void)
{
    MPI_Request all;
    int done = 0;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &all) != MPI_SUCCESS) return false;
    for (int i = 0; i < 1000 && !done; i++) {
        if (MPI_Test(&all, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (!done) nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return done;
}

int cli_comm_end(int code)
{
    if (code != CLI_DONE && code != CLI_LATER && !team.c.agreed && !together()) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    for (int i = 0; i < RF_COMM_NUMBERS; i++) {
        free(team.list[i].at);
        free(team.list[i].peer);
    }
    free(team.who);
    return code;
}
