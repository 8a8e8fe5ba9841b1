/* connections.c — every connection has a deadline; a watcher closes those that are late and notices when clients
 * leave. */
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/server.h"

enum { TICK = 50000, TICKS = 10 }; /* microseconds; ticks between looks at connections that wait for a request */

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

/* Whether the client has closed or reset the connection, or its side of it. */
static bool has_left(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && p.revents;
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

/* libmicrohttpd does not notice the end of a connection that arrives together with a part of a request. The deadline is
 * one second away, so that data that has been read can still be processed. */
static void check_waiting_connection(srv_connection *c, double now)
{
    const bool waits = c->state == SRV_WAITS_HEADER || c->state == SRV_WAITS_BODY || c->state == SRV_IDLE;
    if (waits && !c->late && c->deadline > now + 1 && has_left(c->fd) && !has_unread(c->fd)) c->deadline = now + 1;
}

static void check_connection(srv_connection *c, double now)
{
    if (c->state == SRV_WORKS && c->request && !atomic_load(&c->request->gone) && has_left(c->fd)) leave(c->request);
    if (c->late || now < c->deadline) return;
    c->late = true;
    if (c->state == SRV_WAITS_BODY) send_timeout(c->fd);
    if (c->state == SRV_SENDS && c->request) atomic_store(&c->request->gone, true);
    shutdown(c->fd, SHUT_RDWR); /* MHD then closes it */
}

/* Beyond the limit, connections that wait for their next request are closed. */
static void close_idle(srv_connections *all, int64_t most)
{
    for (srv_connection *c = all->first; c && all->n > most; c = c->next)
        if (c->state == SRV_IDLE && !c->late) {
            c->late = true;
            shutdown(c->fd, SHUT_RDWR);
        }
}

static void *watch(void *user)
{
    srv_server *s = user;
    srv_connections *all = &s->connections;
    for (int tick = 1; !atomic_load(&all->closing); tick = tick % TICKS + 1) {
        usleep(TICK);
        pthread_mutex_lock(&all->lock);
        const double now = rf__seconds();
        for (srv_connection *c = all->first; c && tick == TICKS; c = c->next) check_waiting_connection(c, now);
        for (srv_connection *c = all->first; c; c = c->next) check_connection(c, now);
        close_idle(all, s->o.limits.max_connections);
        pthread_mutex_unlock(&all->lock);
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
}

srv_connection *srv_connection_new(srv_server *s, int fd)
{
    srv_connections *all = &s->connections;
    srv_connection *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->fd = fd;
    c->deadline = rf__seconds() + (double)s->o.limits.header_timeout;
    pthread_mutex_lock(&all->lock);
    c->above = all->n >= s->o.limits.max_connections;
    c->next = all->first;
    if (c->next) c->next->before = c;
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
    if (c->before) c->before->next = c->next;
    else all->first = c->next;
    all->n--;
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void srv_connection_enter(srv_server *s, srv_connection *c, int state, double seconds, srv_request *r)
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
    return c && c->above && srv_connections_count(s) > s->o.limits.max_connections;
}

int64_t srv_connections_count(srv_server *s)
{
    pthread_mutex_lock(&s->connections.lock);
    const int64_t n = s->connections.n;
    pthread_mutex_unlock(&s->connections.lock);
    return n;
}
