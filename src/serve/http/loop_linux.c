/* loop_linux.c — the thread in which libmicrohttpd reads requests and sends answers.
 *
 * libmicrohttpd has a thread for this, too. But if exactly 128 of its descriptors are ready, or 256 ..., that thread
 * (0.9.75 to 1.0.1, MHD_epoll) asks for more without a time limit: requests that it has read are not answered until
 * another one comes. Here it never waits: it is called when one of its descriptors is ready, or after srv_loop_wake. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <microhttpd.h>

#include "serve/server.h"

enum { MOST = 1000, PAUSE = 10000 }; /* milliseconds between calls; microseconds after a failure */

/* Milliseconds until libmicrohttpd has something to do by itself; -1: never. At the limit of connections or of
 * descriptors it does not look at the socket that listens, until it is called after a connection has ended. */
static int wait_of(const srv_server *s)
{
    MHD_UNSIGNED_LONG_LONG most;
    if (s->loop.freed) return 0;
    if (MHD_get_timeout(s->daemon, &most) != MHD_YES) return -1;
    return most < MOST ? (int)most : MOST;
}

static void *loop(void *user)
{
    srv_server *s = user;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd all[] = {{.fd = info->epoll_fd, .events = POLLIN}, {.fd = s->loop.wake, .events = POLLIN}};
    while (!atomic_load(&s->loop.ends)) {
        eventfd_t n;
        const int ready = poll(all, 2, wait_of(s));
        s->loop.freed = false;
        if (ready > 0 && all[1].revents) eventfd_read(s->loop.wake, &n); /* before MHD_run: it may be woken for more */
        if ((ready < 0 && errno != EINTR) || MHD_run(s->daemon) != MHD_YES) usleep(PAUSE);
    }
    MHD_run(s->daemon); /* MHD_stop_daemon panics if a connection waits to be resumed */
    return NULL;
}

unsigned srv_loop_flags(void) { return MHD_USE_EPOLL; }

rf_status srv_loop_start(srv_server *s, rf_error *why)
{
    s->loop.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->loop.wake < 0) return rf_fail(why, RF_EIO, "server: expected a descriptor, got: %s", strerror(errno));
    const rf_status status = srv_thread(&s->loop.thread, loop, s, why);
    s->loop.runs = !status;
    return status;
}

void srv_loop_wake(srv_server *s)
{
    const int failed = eventfd_write(s->loop.wake, 1);
    (void)failed; /* only if it has been woken 2^64 times */
}

void srv_loop_stop(srv_server *s)
{
    atomic_store(&s->loop.ends, true);
    if (s->loop.runs) {
        srv_loop_wake(s);
        pthread_join(s->loop.thread, NULL);
    }
    if (s->loop.wake >= 0) close(s->loop.wake);
    s->loop.wake = -1;
    s->loop.runs = false;
}
