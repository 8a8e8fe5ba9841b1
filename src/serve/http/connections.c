/* connections.c — every connection has a deadline; a watcher closes those that are late and notices when clients
 * leave. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/os/os.h"
#include "serve/server.h"

enum { TICKS = 10 }; /* between checks of connections that wait for a request */
static const double tick_seconds = 0.05;

/* Nothing else has been sent on the connection while a header or a body is read. */
static void send_timeout(srv_socket fd)
{
    static const char body[] = "{\"error\":\"the request was not complete in time\",\"error_type\":\"Timeout\"}";
    char text[256];
    const int n = snprintf(text, sizeof text,
                           "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                           sizeof body - 1, body);
    srv_socket_send(fd, text, (size_t)n); /* it is closed either way */
}

static void leave(srv_request *r)
{
    atomic_store(&r->gone, true);
    srv_request_cancel(r, false);
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
    size_t i = 0;
    all->asked.n = 0;
    for (srv_connection *c = all->first; c; c = c->next) {
        c->left = false;
        c->asked = may_leave(c, waiting, now) && srv_asked_add(&all->asked, c->fd);
    }
    if (!srv_asked_ask(&all->asked)) return;
    for (srv_connection *c = all->first; c; c = c->next)
        if (c->asked) c->left = srv_asked_left(&all->asked, i++);
}

/* MHD closes it when it finds it shut down. */
static void end_late(srv_connections *all, srv_connection *c)
{
    c->late = true;
    all->late++;
    srv_socket_end(c->fd);
}

/* libmicrohttpd does not notice the end of a connection that arrives together with a part of a request. The deadline is
 * one second away, so that data that has been read can still be processed. */
static void check_connection(srv_connections *all, srv_connection *c, double now)
{
    if (c->state == SRV_WORKS && c->left) leave(c->request);
    else if (c->state == SRV_WORKS && c->request && srv_is_over(c->request)) srv_request_late(c->request);
    if (c->left && c->state != SRV_WORKS && !srv_socket_has_unread(c->fd)) c->deadline = now + 1;
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
        rf__os_sleep(tick_seconds);
        pthread_mutex_lock(&all->lock);
        const double now = rf__seconds();
        find_left(all, tick == TICKS, now);
        for (srv_connection *c = all->first; c; c = c->next) check_connection(all, c, now);
        make_place(all, s->o.limits.max_connections, now - 1);
        if (s->disconnects) srv_socket_refuse(s->listener);
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
    free(s->connections.asked.at);
    s->connections.asked = (srv_asked){0};
}

srv_connection *srv_connection_new(srv_server *s, srv_socket fd)
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
