/* fuzz_serve_http.c — bytes that a client sends to the server, in one to four pieces (the first byte says how many).
 *
 * The server sends complete answers only and closes the connection; afterwards it holds no request, and answers the
 * next client. It runs in this process, with a small causal model and a Unix socket. */
#define _GNU_SOURCE
#include "serve/server.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20, PATIENCE = 120 }; /* bytes of answers; seconds until a server that does not go on has failed */

static srv_server *server;
static char answers[MOST + 1];
static bool has_head; /* the input may ask with HEAD, whose answers name a size and have no body */

static void end_server(void)
{
    srv_close(server);
    rmdir(folder);
}

static void begin_server(void)
{
    static const srv_model_option model = {"gpt", "tests/golden/gpt", RF_F32};
    static char path[96];
    static rf_ctx *ctx;
    rf_error why = {0};
    int ready = 0;
    make_folder("http");
    memcpy(path, in("socket"), sizeof path);
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    srv_options o = {.ctx = ctx, .model = &model, .models = 1, .unix_path = path, .inherited = -1};
    srv_limits_defaults(&o.limits);
    o.limits.max_new_tokens = 8;
    o.limits.payload_limit = 1 << 16;
    o.limits.max_answer_bytes = MOST / 2;
    o.limits.header_timeout = o.limits.body_timeout = o.limits.write_timeout = o.limits.request_timeout = PATIENCE;
    if (srv_open(&o, &server, &why)) abort();
    while (!ready) ready = srv_ready(server, &why);
    if (ready < 0) abort();
    atexit(end_server);
}

static int dial(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_sec = PATIENCE};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path, in("socket"), 96);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof a)) abort();
    return fd;
}

/* Reads what has arrived. false: the connection has ended. */
static bool take(int fd, size_t *n, int flags)
{
    const ssize_t k = recv(fd, answers + *n, MOST - *n, flags);
    if (k > 0) *n += (size_t)k;
    if (*n == MOST) abort();
    if (k < 0 && !flags && (errno == EAGAIN || errno == EWOULDBLOCK)) abort(); /* the server does not go on */
    return k > 0 || (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

/* Sends a piece, and gives the server time to read it. */
static bool put_piece(int fd, const uint8_t *data, size_t size, size_t *n)
{
    for (size_t at = 0; at < size;) {
        const ssize_t k = send(fd, data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (k > 0) at += (size_t)k;
        else if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
        if (!take(fd, n, MSG_DONTWAIT)) return false;
    }
    for (int i = 0, left = 1; i < 200 && left; i++) {
        if (ioctl(fd, SIOCOUTQ, &left)) return false;
        if (left) usleep(50);
    }
    return true;
}

/* ---- what came back ---------------------------------------------------------------------------------------------- */

static const char *find(const char *from, const char *end, const char *word)
{
    return memmem(from, (size_t)(end - from), word, strlen(word));
}

/* The end of the chunks that begin at `at`. */
static const char *end_of_chunks(const char *at, const char *end)
{
    for (;;) {
        char *digits;
        const unsigned long long n = strtoull(at, &digits, 16);
        if (digits == at || end - digits < 2 || memcmp(digits, "\r\n", 2)) abort();
        at = digits + 2;
        if ((unsigned long long)(end - at) < n + 2 || memcmp(at + n, "\r\n", 2)) abort();
        at += n + 2;
        if (!n) return at;
    }
}

/* The end of an answer. libmicrohttpd (0.9.75) sends the header of its own answer twice where Content-Length is not a
 * number, or too large a one, and closes the connection. */
static const char *end_of_answer(const char *at, const char *end)
{
    int status = 0;
    const char *body = find(at, end, "\r\n\r\n");
    if (!body || (sscanf(at, "HTTP/1.0 %3d ", &status) != 1 && sscanf(at, "HTTP/1.1 %3d ", &status) != 1)) abort();
    if (status < 100 || status > 599) abort();
    const char *length = strcasestr(at, "\r\nContent-Length: ");
    const char *coding = strcasestr(at, "\r\nTransfer-Encoding: chunked");
    body += 4;
    const size_t header = (size_t)(body - at);
    const bool twice = (size_t)(end - body) > header && !memcmp(body, at, header);
    if (twice && (status == 400 || status == 413)) return end_of_answer(body, end);
    if (status < 200 || status == 204 || (has_head && (body == end || !strncmp(body, "HTTP/1.", 7)))) return body;
    if (coding && coding < body) return end_of_chunks(body, end);
    const char *closes = strcasestr(at, "\r\nConnection: close");
    if ((!length || length > body) && closes && closes < body) return end; /* a stream to an HTTP/1.0 client */
    if (!length || length > body) abort();
    const unsigned long long n = strtoull(length + 18, NULL, 10);
    if ((unsigned long long)(end - body) < n) abort();
    return body + n;
}

static int count_answers(size_t n)
{
    int count = 0;
    answers[n] = 0;
    for (const char *at = answers; at < answers + n; count++) at = end_of_answer(at, answers + n);
    return count;
}

static size_t talk(const uint8_t *data, size_t size, size_t pieces)
{
    const int fd = dial();
    size_t n = 0, at = 0;
    bool open = true;
    for (size_t i = 0; i < pieces && open; i++) {
        const size_t more = (size - at) / (pieces - i);
        open = put_piece(fd, data + at, more, &n);
        at += more;
    }
    shutdown(fd, SHUT_WR);
    while (take(fd, &n, 0)) {} /* also what came before the server closed the connection */
    close(fd);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ping[] = "GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    if (size < 2) return 0;
    if (!server) begin_server();
    has_head = memmem(data, size, "HEAD", 4);
    count_answers(talk(data + 1, size - 1, 1 + data[0] % 4));
    for (int i = 0; atomic_load(&server->active) || atomic_load(&server->permits); i++) {
        if (i == PATIENCE * 10000) abort();
        usleep(100);
    }
    if (count_answers(talk((const uint8_t *)ping, sizeof ping - 1, 1)) != 1 || !strstr(answers, " 200 ")) abort();
    return 0;
}
