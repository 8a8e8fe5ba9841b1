/* http.c — connections, headers, bodies and answers, with libmicrohttpd.
 *
 * libmicrohttpd parses HTTP; framing.c refuses requests that a proxy in front of it may read differently. Its time
 * limits concern only silence; connections.c has absolute ones. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <strings.h>

#include "base/os/os.h"
#include "serve/server.h"
#include "serve/http/stream.h"

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static const char *header_of(const srv_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

static void refuse(srv_request *r, int status, const char *error_type, const char *text)
{
    r->close = true;
    srv_error(r, status, error_type, "%s", text);
}

static bool framing_is_clear(srv_request *r, const char *method, const char *version)
{
    const char *fault = srv_framing_fault(r, method, version);
    return fault ? refuse(r, 400, "Validation", fault), false : true;
}

/* A body that is too large is read to its end, within bounds, so that a client that sends before it reads gets the
 * answer. One that waits for "100 Continue" gets the answer at once. */
static int64_t most_discarded(const srv_request *r, int64_t limit)
{
    return header_of(r, MHD_HTTP_HEADER_EXPECT) ? limit : 8 * limit;
}

static bool size_is_allowed(srv_request *r)
{
    const srv_limits *l = &r->s->o.limits;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const char *length = header_of(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (strlen(r->path) > (size_t)l->max_uri_bytes)
        return refuse(r, 414, "Validation", "the path of the request is too long"), false;
    if (info && info->header_size > (size_t)l->max_header_bytes)
        return refuse(r, 431, "Validation", "the header of the request is too long"), false;
    if (length && strtoull(length, NULL, 10) > (unsigned long long)most_discarded(r, l->payload_limit))
        return refuse(r, 413, "Validation", "the body of the request is above --payload-limit"), false;
    return true;
}

static bool body_is_plain(srv_request *r)
{
    const char *coding = header_of(r, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (!coding || !strcasecmp(coding, "identity")) return true;
    char text[160];
    snprintf(text, sizeof text, "header: Content-Encoding: expected none, got %.40s; send the body uncompressed",
             coding);
    return refuse(r, 415, "Validation", text), false;
}

/* The clients of LibreTranslate send their key as a member of the body, which srv_read_body checks. */
static bool key_is_right(srv_request *r)
{
    const char *value = header_of(r, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!r->s->needs_key || r->route->access == SRV_PUBLIC) return true;
    r->key_in_body = !value && r->dialect == SRV_LIBRE && r->route->field;
    if (r->key_in_body || (value && !strncasecmp(value, "Bearer ", 7) && srv_key_matches(r, value + 7))) return true;
    snprintf(r->header, sizeof r->header, MHD_HTTP_HEADER_WWW_AUTHENTICATE);
    snprintf(r->header_value, sizeof r->header_value, "Bearer");
    return refuse(r, 401, "Unauthorized", "expected the header \"Authorization: Bearer KEY\" with a valid API key"),
           false;
}

static bool origin_is_right(srv_request *r)
{
    char text[400];
    if (srv_origin_is_right(r, header_of(r, MHD_HTTP_HEADER_HOST), header_of(r, "Origin"),
                            header_of(r, "Sec-Fetch-Site"), text))
        return true;
    return refuse(r, 403, "Forbidden", text), false;
}

/* Letters, digits and .-_ of a request id that a client gives; others get a number. */
static void set_id(srv_request *r)
{
    const char *id = header_of(r, "x-request-id");
    const size_t n = id ? strlen(id) : 0;
    const char *good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    if (n && n < sizeof r->id && strspn(id, good) == n) memcpy(r->id, id, n + 1);
    else
        snprintf(r->id, sizeof r->id, "%08llx-%llx", (unsigned long long)r->s->begun,
                 (unsigned long long)atomic_fetch_add(&r->s->serial, 1));
}

static bool find_route(srv_request *r)
{
    r->close = true;                    /* with an error */
    if (!srv_find_route(r)) return false;
    r->close = false;
    return true;
}

/* Answers the preflight request that a browser sends before a request of a page of another origin (CORS). */
static bool is_preflight(srv_request *r)
{
    if (!r->s->o.cors_origin || strcmp(r->method, "OPTIONS")) return false;
    srv_answer(r, 204, NULL);
    return true;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static ssize_t read_stream(void *user, uint64_t at, char *out, size_t most)
{
    srv_request *r = user;
    int64_t n = srv_stream_read(r, out, most);
    (void)at;
    if (!n) {
        pthread_mutex_lock(&r->lock);
        n = srv_stream_read(r, out, most); /* content that arrived before `suspended` was set */
        if (!n) {
            r->suspended = true;
            MHD_suspend_connection(r->mhd);
        }
        pthread_mutex_unlock(&r->lock);
    }
    const double seconds = n ? (double)r->s->o.limits.write_timeout : 1e9;
    srv_connection_enter(r->s, r->connection, n ? SRV_SENDS : SRV_WORKS, seconds, r);
    if (n > 0) r->sent += n;
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void add(struct MHD_Response *a, const char *name, const char *value)
{
    MHD_add_response_header(a, name, value);
}

static void add_time(void *to, const char *name, const char *value) { add(to, name, value); }

static void add_cors(struct MHD_Response *a, const srv_request *r)
{
    if (!r->s->o.cors_origin) return;
    add(a, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, r->s->o.cors_origin);
    if (strcmp(r->s->o.cors_origin, "*")) add(a, MHD_HTTP_HEADER_VARY, "Origin");
    add(a, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS,
        "Retry-After, traceparent, x-request-id, x-compute-type, x-compute-time, x-compute-characters, "
        "x-compute-tokens, x-total-time, x-tokenization-time, x-queue-time, x-inference-time");
    if (strcmp(r->method, "OPTIONS")) return;
    add(a, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS");
    add(a, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type, x-request-id, traceparent");
}

static void add_headers(struct MHD_Response *a, const srv_request *r)
{
    const char *trace = header_of(r, "traceparent");
    if (r->type) add(a, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    add(a, "x-request-id", r->id);
    add(a, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
    if (trace && strlen(trace) < 256) add(a, "traceparent", trace);
    if (*r->header) add(a, r->header, r->header_value);
    if (!r->stream && r->inference) srv_each_time(r, add_time, a);
    add_cors(a, r);
    if (r->close || atomic_load(&r->s->draining) ||
        (r->connection && r->connection->requests >= r->s->o.limits.max_connection_requests))
        add(a, MHD_HTTP_HEADER_CONNECTION, "close");
    if (r->type && !strncmp(r->type, "text/html", 9)) {
        add(a, "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        add(a, "Referrer-Policy", "no-referrer");
    }
    if (r->stream) add(a, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

/* Answers of more than 8 MB have more time in proportion. */
static double write_seconds(const srv_request *r)
{
    return (double)r->s->o.limits.write_timeout * fmax(1, (double)r->out.n / 8e6);
}

static enum MHD_Result send_answer(srv_request *r)
{
    struct MHD_Response *a;
    r->phase = SRV_ANSWERED;
    srv_connection_enter(r->s, r->connection, SRV_SENDS, write_seconds(r), r->stream ? r : NULL);
    if (r->stream) a = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 14, read_stream, r, NULL);
    else {
        r->sent = (int64_t)r->out.n;
        a = MHD_create_response_from_buffer(r->out.n, r->out.at ? r->out.at : (void *)"", MHD_RESPMEM_PERSISTENT);
    }
    if (!a) return MHD_NO;
    add_headers(a, r);
    const enum MHD_Result queued = MHD_queue_response(r->mhd, (unsigned)r->status, a);
    MHD_destroy_response(a);
    return queued;
}

void srv_http_resume(srv_request *r)
{
    pthread_mutex_lock(&r->lock);
    if (r->mhd && r->suspended) {
        r->suspended = false;
        MHD_resume_connection(r->mhd);
        srv_loop_wake(r->s);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

/* A client may send a whole URI, as to a proxy (RFC 9112, 3.2.2). No route has query arguments: they are removed before
 * libmicrohttpd reads them, whose memory for a connection some hundreds of them exceed (0.9.75 then never answers). */
static void *on_path(void *user, const char *path, struct MHD_Connection *mhd)
{
    const size_t scheme = !strncasecmp(path, "http://", 7) ? 7 : !strncasecmp(path, "https://", 8) ? 8 : 0;
    const char *slash = scheme ? strchr(path + scheme, '/') : path;
    (void)mhd;
    srv_request *r = srv_request_new(user, slash ? slash : "/");
    char *query = strchr((char *)(uintptr_t)path, '?'); /* in the buffer of libmicrohttpd, which is not constant */
    if (query) query[1] = 0;
    return r;
}

static srv_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void set_address(srv_request *r)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    srv_socket_address(info ? info->client_addr : NULL, r->address, sizeof r->address);
}

/* Escaped for a log. */
static void set_method(srv_request *r, const char *method)
{
    snprintf(r->method, sizeof r->method, "%.15s", method);
    for (char *c = r->method; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_') *c = '?';
}

/* Called when the header of a request has been read. */
static enum MHD_Result begin(srv_request *r, struct MHD_Connection *mhd, const char *method, const char *version)
{
    srv_server *s = r->s;
    r->mhd = mhd;
    r->connection = connection_of(mhd);
    r->phase = SRV_BODY;
    set_method(r, method);
    set_address(r);
    set_id(r);
    if (r->connection) r->connection->requests++;
    if (srv_connection_is_above(s, r->connection)) refuse(r, 503, "Overloaded", "too many connections");
    else if (framing_is_clear(r, method, version) && size_is_allowed(r) && !is_preflight(r) && find_route(r) &&
             origin_is_right(r) && key_is_right(r) && body_is_plain(r) && atomic_load(&s->draining) &&
             r->route->access != SRV_PUBLIC)
        refuse(r, 503, "Unhealthy", "the server is shutting down");
    if (r->status) return send_answer(r);
    const char *type = header_of(r, MHD_HTTP_HEADER_CONTENT_TYPE);
    if (r->route->where == SRV_WORKER) {
        r->counted = true;
        atomic_fetch_add(&s->active, 1);
    }
    const char *accept = header_of(r, MHD_HTTP_HEADER_ACCEPT);
    r->html = accept && strstr(accept, "text/html");
    r->form = r->dialect == SRV_LIBRE && type && !strncasecmp(type, MHD_HTTP_POST_ENCODING_FORM_URLENCODED, 33);
    srv_connection_enter(s, r->connection, SRV_WAITS_BODY, (double)s->o.limits.body_timeout, NULL);
    return MHD_YES;
}

/* The rest of a refused body is read, but not kept. */
static void drop_body(srv_request *r)
{
    free(r->body);
    r->body = NULL;
    r->size = r->capacity = 0;
    srv_charge(r, (int64_t)r->out.n);
}

static enum MHD_Result take_body(srv_request *r, const char *data, size_t *size)
{
    const size_t n = *size, most = (size_t)r->s->o.limits.payload_limit;
    *size = 0;
    r->swallowed += (int64_t)n;
    if (r->status)
        return r->swallowed < 8 * (int64_t)most ? MHD_YES : MHD_NO; /* the rest of a body that is too large */
    if (n > most - r->size) {
        refuse(r, 413, "Validation", "the body of the request is above --payload-limit");
        return MHD_YES;
    }
    if (r->size + n > r->capacity) {
        const size_t twice = 2 * r->capacity + n, capacity = twice < most ? twice : most;
        if (!srv_charge(r, (int64_t)capacity)) return drop_body(r), MHD_YES;
        char *more = realloc(r->body, capacity);
        if (!more) return refuse(r, 503, "Overloaded", "out of memory: a body"), MHD_YES;
        r->body = more;
        r->capacity = capacity;
    }
    memcpy(r->body + r->size, data, n);
    r->size += n;
    return MHD_YES;
}

/* The body is there. */
static enum MHD_Result compute(srv_request *r)
{
    if (r->status) return send_answer(r);
    if (r->route->where == SRV_INLINE) r->route->step(r);
    else if (atomic_load(&r->s->permits) >= r->s->o.limits.max_concurrent_requests) srv_refuse_full(r);
    if (r->status) return send_answer(r);
    pthread_mutex_lock(&r->lock);
    r->phase = SRV_WORK;
    r->suspended = true;
    MHD_suspend_connection(r->mhd);
    pthread_mutex_unlock(&r->lock);
    srv_connection_enter(r->s, r->connection, SRV_WORKS, 1e9, r);
    atomic_fetch_add(&r->users, 1); /* until srv_answer */
    srv_later(r, r->route->step, 0);
    return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **own)
{
    srv_request *r = *own;
    (void)user;
    (void)url;
    if (!r) return MHD_NO; /* no memory */
    if (r->phase == SRV_HEADER) return begin(r, mhd, method, version);
    if (r->phase == SRV_BODY && *size) return take_body(r, data, size);
    if (r->phase == SRV_BODY) return compute(r);
    return r->status && r->phase == SRV_WORK ? send_answer(r) : MHD_YES;
}

/* What libmicrohttpd cannot parse it answers by itself; the log and the metrics of requests have this answer, too. */
static void take_own_answer(srv_request *r, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
    if (!info || (r->phase != SRV_HEADER && r->phase != SRV_BODY)) return;
    r->status = (int)info->http_status;
    r->failure = "validation";
    if (*r->method) return;
    r->mhd = mhd;
    set_method(r, "-");
    set_address(r);
    set_id(r);
}

/* libmicrohttpd's messages. A request line that it cannot read is known only from them. */
static void on_message(void *user, const char *format, va_list list)
{
    srv_server *s = user;
    (void)list;
    if (strstr(format, "HTTP response code is")) atomic_fetch_add(&s->unreadable, 1);
}

static void on_completed(void *user, struct MHD_Connection *mhd, void **own, enum MHD_RequestTerminationCode code)
{
    srv_request *r = *own;
    srv_server *s = user;
    if (!r) return;
    *own = NULL;
    take_own_answer(r, mhd);
    srv_connection_enter(s, r->connection, SRV_IDLE, (double)s->o.limits.idle_timeout, NULL);
    pthread_mutex_lock(&r->lock);
    r->mhd = NULL;
    r->suspended = false;
    pthread_mutex_unlock(&r->lock);
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK) atomic_store(&r->gone, true);
    r->complete = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    if (*r->method && !r->stream) srv_log(r, r->complete);
    srv_request_release(r);
}

static void on_connection(void *user, struct MHD_Connection *mhd, void **own, enum MHD_ConnectionNotificationCode code)
{
    srv_server *s = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        srv_connection_end(s, *own);
        *own = NULL;
        s->loop.freed = true;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) *own = srv_connection_new(s, (srv_socket)info->connect_fd);
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

rf_status srv_http_listen(srv_server *s, rf_error *why)
{
    const srv_options *o = &s->o;
    srv_socket fd = -1;
    const rf_status status = o->inherited >= 0 ? srv_listen_inherited(o->inherited, &fd, why)
                             : o->unix_path    ? srv_listen_file(o->unix_path, &fd, &s->bound, why)
                                               : srv_listen_port(o->host, o->port, &fd, why);
    if (!status) {
        s->listener = fd;
        srv_socket_place(fd, &s->port, &s->loopback);
    } else if (fd >= 0) srv_socket_close(fd);
    return status;
}

/* libmicrohttpd's own limits are wider than those of limits.def, which are answered with a status. It prints nothing:
 * on_message takes its messages. Strict, it would answer a request without Host itself, with a header that comes twice
 * (0.9.75); begin() refuses it. */
rf_status srv_http_start(srv_server *s, rf_error *why)
{
    const srv_limits *l = &s->o.limits;
    const MHD_socket fd = (MHD_socket)s->listener;
    s->daemon =
        MHD_start_daemon(srv_loop_flags() | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
                         on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_message, s,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                         MHD_OPTION_URI_LOG_CALLBACK, on_path, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)(l->max_connections + 64),
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(l->max_header_bytes + l->max_uri_bytes + 8192),
                         MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_STRICT_FOR_CLIENT, !srv_framing_followed(),
                         MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (s->daemon) return srv_loop_start(s, why);
    return rf_fail(why, RF_EIO, "server: expected libmicrohttpd to start, got: %s", strerror(errno));
}

/* Clients are refused from now on. The socket is closed when the loop, which may still use it, has ended. An
 * inherited socket also belongs to another process, and clients may wait for that process. */
void srv_http_quiesce(srv_server *s)
{
    const bool first = MHD_quiesce_daemon(s->daemon) != MHD_INVALID_SOCKET;
    if (!first || s->o.inherited >= 0) return;
    pthread_mutex_lock(&s->connections.lock);
    s->disconnects = !srv_socket_refuse(s->listener);
    pthread_mutex_unlock(&s->connections.lock);
}

void srv_http_stop(srv_server *s)
{
    srv_loop_stop(s);
    if (s->daemon) MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
    pthread_mutex_lock(&s->connections.lock);
    if (s->listener >= 0) srv_socket_close(s->listener);
    s->listener = -1;
    s->disconnects = false;
    pthread_mutex_unlock(&s->connections.lock);
    if (s->bound) rf__os_remove(s->o.unix_path);
    s->bound = false;
}
