/* served.h — a server in this process with a tiny model, and a client with a connection for each request. */
#ifndef TESTS_SUPPORT_SERVED_H
#define TESTS_SUPPORT_SERVED_H

#include "serve/serve.h"

#include "base/os/os.h"

#include "small_pipeline.h"

/* What a client asks of sockets: as read and write. */
#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
static inline int64_t send_bytes(int fd, const char *text, size_t n) { return send((SOCKET)fd, text, (int)n, 0); }
static inline int64_t take_bytes(int fd, char *to, size_t n) { return recv((SOCKET)fd, to, (int)n, 0); }
static inline void hang_up(int fd) { closesocket((SOCKET)fd); }
static inline void set_socket(int fd, int what, const void *to, int size)
{
    setsockopt((SOCKET)fd, SOL_SOCKET, what, to, size);
}
#else
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
static inline int64_t send_bytes(int fd, const char *text, size_t n) { return send(fd, text, n, MSG_NOSIGNAL); }
static inline int64_t take_bytes(int fd, char *to, size_t n) { return recv(fd, to, n, 0); }
static inline void hang_up(int fd) { close(fd); }
static inline void set_socket(int fd, int what, const void *to, int size)
{
    setsockopt(fd, SOL_SOCKET, what, to, (socklen_t)size);
}
#endif

enum { TEXTS = 24, C = 32 };

typedef struct served {
    rf_ctx *ctx;
    char *folder, *text[TEXTS];
    rf_pipeline *p;
    srv_server *s;
    srv_model_option m;
} served;

static inline void wait_ready(const srv_server *s)
{
    rf_error why = {0};
    int ready;
    while (!(ready = srv_ready(s, &why))) rf__os_sleep(0.001);
    if (ready < 0) fail_msg("%s", why.text);
}

static inline srv_options options_of(const served *s)
{
    srv_options o = {
        .ctx = s->ctx, .model = &s->m, .models = 1, .host = "127.0.0.1", .inherited = -1, .auto_truncate = true};
    static const char *const any[] = {"*"};
    o.allowed_host = any;
    o.allowed_hosts = 1;
    srv_limits_defaults(&o.limits);
    return o;
}

static inline served begin(void)
{
    served s = {.ctx = t_ctx(2, NULL), .folder = tiny_model()};
    rf_error why = {0};
    write_config_of(s.folder, 34, "");
    random_weights(s.ctx, s.folder, 5);
    for (unsigned i = 0; i < TEXTS; i++) {
        s.text[i] = t_bytes(1024);
        int at = 0;
        for (unsigned k = 0; k <= i % 4; k++) at += tiny_sentence(s.text[i] + at, (size_t)(1024 - at), i, k);
        for (char *c = s.text[i]; *c; c++)
            if (*c == '\n') *c = ' ';
    }
    if (rf_pipeline_open(s.ctx, s.folder, RF_F32, &s.p, &why)) fail_msg("%s", why.text);
    s.m = (srv_model_option){.name = "tiny", .folder = s.folder, .type = RF_F32};
    return s;
}

static inline void serve(served *s, const srv_options *o)
{
    rf_error why = {0};
    if (srv_open(o, &s->s, &why)) fail_msg("%s", why.text);
    wait_ready(s->s);
}

static inline void finish(served *s)
{
    srv_close(s->s);
    rf_pipeline_close(s->p);
    rf_ctx_free(s->ctx);
    free(s->folder);
    t_free_all();
}

/* ---- a client ---- */

static inline int dial(const srv_server *s)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)srv_port(s)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
#ifdef _WIN32
    const DWORD limit = 300000;
    const SOCKET fd = socket(AF_INET, SOCK_STREAM, 0);
#else
    const struct timeval limit = {.tv_sec = 300};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
#endif
    set_socket((int)fd, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&a, sizeof a)) return hang_up((int)fd), -1;
    return (int)fd;
}

/* Status and body of the answer to one request on a new connection; -1: no answer. */
static inline int ask(const srv_server *s, const char *method, const char *path, const char *body, char *out,
                      size_t size)
{
    char *text = malloc(size);
    const int fd = dial(s);
    size_t n = 0;
    int status = -1;
    if (fd < 0) return free(text), -1;
    const int head = snprintf(text, size,
                              "%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                              "Content-Length: %zu\r\n\r\n",
                              method, path, strlen(body));
    if (send_bytes(fd, text, (size_t)head) == head && send_bytes(fd, body, strlen(body)) == (int64_t)strlen(body))
        for (int64_t k; n < size - 1 && (k = take_bytes(fd, text + n, size - 1 - n)) > 0;) n += (size_t)k;
    text[n] = 0;
    if (sscanf(text, "HTTP/1.1 %d", &status) != 1) status = -1;
    const char *end = strstr(text, "\r\n\r\n");
    snprintf(out, size, "%s", end ? end + 4 : "");
    hang_up(fd);
    free(text);
    return status;
}

#endif
