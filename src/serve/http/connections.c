/* connections.c — every connection has a deadline; a watcher closes those that are late and notices when clients
 * leave. */
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "serve/server.h"

enum { TICK = 50000, TICKS = 10 }; /* microseconds; ticks between checks of connections that wait for a request */

/* Nothing else has been sent on the connection while a header or a body is read. */
static void send_timeout(int fd)
{
    static const char body[] = "{\"error\":\"the request was not complete in time\",\"error_type\":\"Timeout\"}";
    char text[256];
    const int n = snprintf(text, sizeof text,
                           "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                           sizeof body - 1, body);
    const ssize_t sent = send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent; /* it is closed either way */
}

static void leave(srv_request *r)
{
    atomic_store(&r->gone, true);
    srv_request_cancel(r, false);
}

static bool has_unread(int fd)
{
    int n = 0;
    return !ioctl(fd, FIONREAD, &n) && n > 0;
}

/* Whether it is checked if the client has left: while a request is computed; with `waiting`, also between requests. */
static bool may_leave(const srv_connection *c, bool waiting, double now)
{
    if (c->late) return false;
    if (c->state == SRV_WORKS) return c->request && !atomic_load(&c->request->gone);
    return waiting && c->state != SRV_SENDS && c->deadline > now + 1;
}

/* Sets `left` of these connections, with one system call. If there is no memory, the next tick does it. */
static void find_left(srv_connections *all, bool waiting, double now)
{
    size_t n = 0, i = 0;
    for (srv_connection *c = all->first; c; c = c->next) {
        c->left = false;
        n += c->polled = may_leave(c, waiting, now);
    }
    if (n > all->polls) {
        struct pollfd *more = realloc(all->poll, 2 * n * sizeof *more);
        if (!more) return;
        all->poll = more;
        all->polls = 2 * n;
    }
    for (const srv_connection *c = all->first; c; c = c->next)
        if (c->polled) all->poll[i++] = (struct pollfd){.fd = c->fd, .events = POLLRDHUP};
    if (!n || poll(all->poll, n, 0) < 1) return;
    i = 0;
    for (srv_connection *c = all->first; c; c = c->next)
        if (c->polled) c->left = all->poll[i++].revents != 0;
}

/* MHD closes it when it finds it shut down. */
static void end_late(srv_connections *all, srv_connection *c)
{
    c->late = true;
    all->late++;
    shutdown(c->fd, SHUT_RDWR);
}

/* libmicrohttpd does not notice the end of a connection that arrives together with a part of a request. The deadline is
 * one second away, so that data that has been read can still be processed. */
static void check_connection(srv_connections *all, srv_connection *c, double now)
{
    if (c->state == SRV_WORKS && c->left) leave(c->request);
    else if (c->state == SRV_WORKS && c->request && srv_is_over(c->request)) srv_request_late(c->request);
    if (c->left && c->state != SRV_WORKS && !has_unread(c->fd)) c->deadline = now + 1;
    if (c->late || now < c->deadline) return;
    if (c->state == SRV_WAITS_BODY) send_timeout(c->fd);
    if (c->state == SRV_SENDS && c->request) atomic_store(&c->request->gone, true);
    end_late(all, c);
}

/* Beyond the limit, a connection has to go that waits for its next request, or that was opened before the time `silent`
 * and has never sent a whole header: the oldest. */
static void make_place(srv_connections *all, int64_t most, double silent)
{
    for (int round = 0; round < 2; round++)
        for (srv_connection *c = all->last; c && all->n - all->late > most; c = c->before)
            if (!c->late && (!round ? c->state == SRV_IDLE
                                    : c->state == SRV_WAITS_HEADER && !c->requests && c->opened < silent))
                end_late(all, c);
}

/* glibc keeps what has been freed for the arena that it came from, and bodies have arenas of several threads: without
 * this, memory grows to several times --max-memory. */
static void give_back(srv_server *s)
{
#ifdef __GLIBC__
    enum { ENOUGH = 32 << 20 };
    if (atomic_load(&s->released) < ENOUGH) return;
    atomic_store(&s->released, 0);
    malloc_trim(0);
#else
    (void)s;
#endif
}

static void *watch(void *user)
{
    srv_server *s = user;
    srv_connections *all = &s->connections;
    for (int tick = 1; !atomic_load(&all->closing); tick = tick % TICKS + 1) {
        usleep(TICK);
        pthread_mutex_lock(&all->lock);
        const double now = rf__seconds();
        find_left(all, tick == TICKS, now);
        for (srv_connection *c = all->first; c; c = c->next) check_connection(all, c, now);
        make_place(all, s->o.limits.max_connections, now - 1);
        pthread_mutex_unlock(&all->lock);
        if (tick == TICKS) give_back(s);
    }
    return NULL;
}

rf_status srv_connections_start(srv_server *s, rf_error *why)
{
    const rf_status status = srv_thread(&s->connections.watcher, watch, s, why);
    s->connections.watching = !status;
    return status;
}

void srv_connections_stop(srv_server *s)
{
    atomic_store(&s->connections.closing, true);
    if (s->connections.watching) pthread_join(s->connections.watcher, NULL);
    s->connections.watching = false;
    free(s->connections.poll);
    s->connections.poll = NULL;
    s->connections.polls = 0;
}

srv_connection *srv_connection_new(srv_server *s, int fd)
{
    srv_connections *all = &s->connections;
    srv_connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->opened = rf__seconds();
    c->deadline = c->opened + (double)s->o.limits.header_timeout;
    pthread_mutex_lock(&all->lock);
    make_place(all, s->o.limits.max_connections - 1, c->opened);
    c->above = all->n - all->late >= s->o.limits.max_connections;
    c->next = all->first;
    if (c->next) c->next->before = c;
    else all->last = c;
    all->first = c;
    all->n++;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void srv_connection_end(srv_server *s, srv_connection *c)
{
    srv_connections *all = &s->connections;
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    if (c->next) c->next->before = c->before;
    else all->last = c->before;
    if (c->before) c->before->next = c->next;
    else all->first = c->next;
    all->n--;
    all->late -= c->late;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void srv_connection_enter(srv_server *s, srv_connection *c, enum srv_connection_state state, double seconds,
                          srv_request *r)
{
    if (!c) return;
    pthread_mutex_lock(&s->connections.lock);
    c->state = state;
    c->deadline = rf__seconds() + seconds;
    c->request = r;
    pthread_mutex_unlock(&s->connections.lock);
}

bool srv_connection_is_above(srv_server *s, const srv_connection *c)
{
    srv_connections *all = &s->connections;
    if (!c || !c->above) return false;
    pthread_mutex_lock(&all->lock);
    const bool above = all->n - all->late > s->o.limits.max_connections;
    pthread_mutex_unlock(&all->lock);
    return above;
}

int64_t srv_connections_count(srv_server *s)
{
    pthread_mutex_lock(&s->connections.lock);
    const int64_t n = s->connections.n;
    pthread_mutex_unlock(&s->connections.lock);
    return n;
}
