/* bench_serving.c — an HTTP client that loads a server and takes little of the processor itself.
 *
 *     bench_serving PORT BODIES [--path /embed] [--clients 64] [--rate R] [--seconds 10] [--requests N] [--spread S]
 *
 *     PORT         of 127.0.0.1
 *     BODIES       one body of JSON in each line, sent in turn
 *     --rate R     requests a second that arrive at random (a Poisson process, the same in every run), whether or not
 *                  earlier ones have been answered; latency counts from the arrival. Default: each client sends its
 *                  next request when it has its answer
 *     --requests   ends after N requests, if that is earlier
 *     --spread S   the clients begin one after the other, within S seconds
 *
 * Prints one line of JSON: requests and answers a second, latency percentiles in milliseconds, answers by status, the
 * share of one processor that this program took, and a hash of all answers with status 200 in the order of BODIES. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "median.h"

enum { HEAD = 256, MOST_CLIENTS = 4096, READ = 1 << 16 };

typedef struct body {
    char *request;
    size_t size;
    uint64_t hash;
    int answers, different;
} body;

typedef struct client {
    int fd, which; /* of the body that is being answered; -1: idle                               */
    size_t sent;
    double begun, sent_at, first;
    char *in;
    size_t n, capacity;
} client;

typedef struct load {
    body *body;
    int bodies, clients, port;
    double rate, length, spread;
    int64_t most; /* requests                                                                   */
    const char *path;
    client client[MOST_CLIENTS];
    int epoll, next;
    double *latency, *first, *refused, *accepted;
    int64_t answered, capacity, sent, status[600], failed, refusals, acceptances;
    double *arrival; /* open loop: requests that wait for a client                                  */
    int64_t arrivals, taken, arrival_capacity;
    uint64_t random;
} load;

static void stop(const char *what)
{
    fprintf(stderr, "bench_serving: %s\n", what);
    exit(1);
}

static void *grown(void *old, size_t size)
{
    void *more = realloc(old, size);
    if (!more) stop("out of memory");
    return more;
}

static uint64_t hash_of(const char *at, size_t n)
{
    uint64_t h = 14695981039346656037ULL; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)at[i]) * 1099511628211ULL;
    return h;
}

static void read_bodies(load *l, const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    if (!f) stop("BODIES cannot be opened");
    for (ssize_t n; (n = getline(&line, &capacity, f)) > 0;) {
        if (line[n - 1] == '\n') n--;
        if (!n) continue;
        l->body = grown(l->body, (size_t)(l->bodies + 1) * sizeof *l->body);
        body *b = &l->body[l->bodies++];
        *b = (body){.request = malloc((size_t)n + HEAD)};
        if (!b->request) stop("out of memory");
        const int head = snprintf(b->request, HEAD,
                                  "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                                  "Content-Length: %zd\r\n\r\n",
                                  l->path, n);
        memcpy(b->request + head, line, (size_t)n);
        b->size = (size_t)head + (size_t)n;
    }
    free(line);
    fclose(f);
    if (!l->bodies) stop("BODIES is empty");
}

/* ---- connections ---- */

static void dial(load *l, client *c)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)l->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int one = 1;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof a)) stop("the server does not answer");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e);
    c->which = -1;
    c->n = 0;
}

static void watch(load *l, client *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

static void go_on_sending(load *l, client *c)
{
    const body *b = &l->body[c->which];
    while (c->sent < b->size) {
        const ssize_t n = send(c->fd, b->request + c->sent, b->size - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(l, c, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n <= 0) return; /* the reader sees the end */
        c->sent += (size_t)n;
    }
    watch(l, c, EPOLLIN);
}

static void begin(load *l, client *c, double arrived)
{
    c->which = l->next;
    l->next = (l->next + 1) % l->bodies;
    c->sent = c->n = 0;
    c->begun = arrived;
    c->sent_at = seconds();
    c->first = 0;
    l->sent++;
    go_on_sending(l, c);
}

/* The bytes of a whole answer at the beginning of the buffer; 0: not all of it is there. *from: of its body. */
static size_t whole_answer(const client *c, size_t *from)
{
    const char *end = memmem(c->in, c->n, "\r\n\r\n", 4), *length;
    if (!end) return 0;
    *from = (size_t)(end - c->in) + 4;
    length = memmem(c->in, *from, "\r\nContent-Length: ", 18);
    if (!length) length = memmem(c->in, *from, "\r\ncontent-length: ", 18);
    if (length) {
        const size_t n = *from + strtoull(length + 18, NULL, 10);
        return c->n >= n ? n : 0;
    }
    end = memmem(c->in + *from, c->n - *from, "0\r\n\r\n", 5); /* chunks */
    return end ? (size_t)(end - c->in) + 5 : 0;
}

static void finish(load *l, client *c, size_t from, size_t size, double now)
{
    body *b = &l->body[c->which];
    const int status = atoi(c->in + 9);
    if (l->answered == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 4096;
        l->latency = grown(l->latency, (size_t)l->capacity * sizeof *l->latency);
        l->first = grown(l->first, (size_t)l->capacity * sizeof *l->first);
        l->refused = grown(l->refused, (size_t)l->capacity * sizeof *l->refused);
        l->accepted = grown(l->accepted, (size_t)l->capacity * sizeof *l->accepted);
    }
    l->latency[l->answered] = now - c->begun;
    l->first[l->answered++] = (c->first > 0 ? c->first : now) - c->begun;
    if (status > 0 && status < 600) l->status[status]++;
    if (status == 429) l->refused[l->refusals++] = now - c->sent_at;
    if (status == 200) l->accepted[l->acceptances++] = now - c->sent_at;
    if (status == 200) {
        const uint64_t h = hash_of(c->in + from, size - from);
        if (b->answers++) b->different += h != b->hash;
        else b->hash = h;
    }
    const bool closed = memmem(c->in, from, "Connection: close", 17) != NULL;
    c->which = -1;
    if (closed) {
        close(c->fd);
        dial(l, c);
    }
}

static void receive(load *l, client *c)
{
    for (;;) {
        if (c->capacity < c->n + READ) c->in = grown(c->in, c->capacity = 2 * c->n + READ);
        const ssize_t n = recv(c->fd, c->in + c->n, READ, 0);
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            if (c->which >= 0) l->failed++;
            close(c->fd);
            dial(l, c);
            return;
        }
        c->n += (size_t)n;
        if ((size_t)n < READ) break;
    }
    size_t from = 0;
    const double now = seconds();
    const size_t size = whole_answer(c, &from);
    if (c->first <= 0 && from && c->n > from) c->first = now;
    if (c->which >= 0 && size) finish(l, c, from, size, now);
}

/* ---- load ---- */

static double uniform(load *l)
{
    l->random ^= l->random << 13, l->random ^= l->random >> 7, l->random ^= l->random << 17;
    return ((double)(l->random >> 11) + 0.5) * 0x1p-53;
}

static void arrive(load *l, double now, double *next)
{
    while (*next <= now) {
        if (l->arrivals == l->arrival_capacity) {
            l->arrival_capacity = l->arrival_capacity ? 2 * l->arrival_capacity : 4096;
            l->arrival = grown(l->arrival, (size_t)l->arrival_capacity * sizeof *l->arrival);
        }
        l->arrival[l->arrivals++] = *next;
        *next += -log(uniform(l)) / l->rate;
    }
}

static void run(load *l)
{
    struct epoll_event e[256];
    const double begin_at = seconds(), end = begin_at + l->length;
    double next = begin_at;
    for (;;) {
        const double now = seconds();
        if (l->rate > 0 && now < end) arrive(l, now < end ? now : end, &next);
        bool busy = false;
        double later = 0.1; /* until a client begins */
        for (int i = 0; i < l->clients; i++) {
            client *c = &l->client[i];
            if (c->which < 0 && l->rate > 0 && l->taken < l->arrivals) begin(l, c, l->arrival[l->taken++]);
            else if (c->which < 0 && l->rate <= 0 && now < end && l->sent < l->most) {
                const double waits = begin_at + l->spread * i / l->clients - now;
                if (waits <= 0) begin(l, c, now);
                else if (waits < later) later = waits;
            }
            busy |= c->which >= 0;
        }
        if (!busy && (now >= end || l->sent >= l->most)) return;
        if (now > end + 60) stop("answers are missing 60 s after the end");
        const int wait = l->rate > 0 && now < end ? 1 : 1 + (int)(1e3 * later), n = epoll_wait(l->epoll, e, 256, wait);
        for (int i = 0; i < n; i++) {
            client *c = e[i].data.ptr;
            if (e[i].events & EPOLLOUT && c->which >= 0) go_on_sending(l, c);
            if (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(l, c);
        }
    }
}

static double percentile(const double *sorted, int64_t n, double p)
{
    return n ? 1e3 * sorted[(int64_t)(p * (double)(n - 1))] : 0;
}

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void print(load *l, double took)
{
    uint64_t all = 14695981039346656037ULL;
    int64_t different = 0;
    for (int i = 0; i < l->bodies; i++) {
        all = (all ^ l->body[i].hash) * 1099511628211ULL;
        different += l->body[i].different;
    }
    qsort(l->latency, (size_t)l->answered, sizeof *l->latency, ascending);
    qsort(l->first, (size_t)l->answered, sizeof *l->first, ascending);
    qsort(l->refused, (size_t)l->refusals, sizeof *l->refused, ascending);
    qsort(l->accepted, (size_t)l->acceptances, sizeof *l->accepted, ascending);
    printf("{\"requests\": %lld, \"per_second\": %.1f, \"ok_per_second\": %.1f, \"ms\": {\"p50\": %.3f, \"p90\": %.3f, "
           "\"p99\": %.3f, \"max\": %.3f}, \"first_ms\": {\"p50\": %.3f, \"p99\": %.3f}, "
           "\"refused_ms\": {\"p50\": %.3f, \"p99\": %.3f}, "
           "\"ok_ms\": {\"p50\": %.3f, \"p99\": %.3f}, \"status\": {",
           (long long)l->answered, (double)l->answered / took, (double)l->status[200] / took,
           percentile(l->latency, l->answered, 0.5), percentile(l->latency, l->answered, 0.9),
           percentile(l->latency, l->answered, 0.99), percentile(l->latency, l->answered, 1),
           percentile(l->first, l->answered, 0.5), percentile(l->first, l->answered, 0.99),
           percentile(l->refused, l->refusals, 0.5), percentile(l->refused, l->refusals, 0.99),
           percentile(l->accepted, l->acceptances, 0.5), percentile(l->accepted, l->acceptances, 0.99));
    for (int i = 0, n = 0; i < 600; i++)
        if (l->status[i]) printf("%s\"%d\": %lld", n++ ? ", " : "", i, (long long)l->status[i]);
    printf("}, \"failed\": %lld, \"different\": %lld, \"client_share\": %.4f, \"hash\": \"%016llx\"}\n",
           (long long)l->failed, (long long)different, processor_seconds() / took, (unsigned long long)all);
}

int main(int argc, char **argv)
{
    static load l = {.clients = 64, .length = 10, .most = INT64_MAX, .path = "/embed", .random = 88172645463325252ULL};
    if (argc < 3) stop("bench_serving PORT BODIES [--path P] [--clients N] [--rate R] [--seconds S]");
    l.port = atoi(argv[1]);
    for (int i = 3; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--path")) l.path = argv[i + 1];
        else if (!strcmp(argv[i], "--clients")) l.clients = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--rate")) l.rate = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--seconds")) l.length = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--requests")) l.most = atoll(argv[i + 1]);
        else if (!strcmp(argv[i], "--spread")) l.spread = atof(argv[i + 1]);
        else stop("unknown option");
    }
    if (l.clients < 1 || l.clients > MOST_CLIENTS) stop("--clients: expected 1 to 4096");
    read_bodies(&l, argv[2]);
    if ((l.epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) stop("epoll");
    for (int i = 0; i < l.clients; i++) dial(&l, &l.client[i]);
    const double begin_at = seconds();
    run(&l);
    print(&l, seconds() - begin_at);
    return 0;
}
