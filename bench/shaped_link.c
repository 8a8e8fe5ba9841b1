/* shaped_link.c — a network for network namespaces of one machine: every node has a link of a rate and a delay to one
 * switch.
 *
 *     shaped_link RATE DELAY NAMESPACE...        bits a second of each node's link, each way (1e9); seconds from node
 *     to node (100e-6)
 *
 * Node k gets the interface `link0` with the address 10.77.0.(k+1) in its namespace (bench/shaped.sh makes those).  A
 * packet leaves when the sender's link is free of earlier ones, travels for DELAY, and waits for the receiver's link:
 *
 *     left    = max(now, out[from]) + bits / rate,    out[from] = left
 *     arrived = max(left + delay, in[to] + bits / rate),    in[to] = arrived
 *
 * What `tc netem` with `rate` and `delay` does, where the kernel has no such queue.  A sender whose packets wait for
 * more than QUEUE is read no more until they have gone, so nothing is lost.  Linux; root.                            */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NODES = 16, MTU = 9000, SLOTS = 4096 };
static const double QUEUE = 0.02;                            /* seconds of packets that a link may hold back */

typedef struct { double due; int bytes; unsigned char data[MTU]; } packet;
typedef struct {
    int tun;
    double out, in;                                          /* when each way of the link is free of what it has */
    packet *line;                                            /* packets to this node, in the order of their arrival */
    unsigned first, n;
} node;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const char *name)
{
    fprintf(stderr, "shaped_link: %s %s: %s\n", what, name, strerror(errno));
    exit(4);
}

static void configure(int tun, int k)
{
    struct ifreq r = {0};
    strcpy(r.ifr_name, "link0");
    r.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(tun, TUNSETIFF, &r)) die("TUNSETIFF", r.ifr_name);
    const int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET};
    const in_addr_t words[2] = {htonl(0x0a4d0001u + (unsigned)k), htonl(0xffffff00u)};
    const unsigned long request[2] = {SIOCSIFADDR, SIOCSIFNETMASK};
    for (int i = 0; i < 2; i++) {
        a.sin_addr.s_addr = words[i];
        memcpy(&r.ifr_addr, &a, sizeof a);
        if (ioctl(s, request[i], &r)) die("address of", r.ifr_name);
    }
    r.ifr_mtu = MTU;
    if (ioctl(s, SIOCSIFMTU, &r)) die("MTU of", r.ifr_name);
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(s, SIOCSIFFLAGS, &r)) die("start of", r.ifr_name);
    close(s);
}

/* The interface belongs to the namespace in which the device is opened; its descriptor may be used from anywhere. */
static int link_of(const char *name, int k)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET)) die("namespace", path);
    const int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (tun < 0) die("open", "/dev/net/tun");
    configure(tun, k);
    close(space);
    return tun;
}

/* What node k's programs send enters the line of the node it is for; others' addresses and full lines are dropped. */
static void take(node *nodes, int count, int k, double rate, double delay)
{
    static unsigned char data[MTU];
    while (nodes[k].out < now() + QUEUE) {
        const ssize_t bytes = read(nodes[k].tun, data, sizeof data);
        if (bytes <= 0) return;
        const int to = data[19] - 1;                         /* the last byte of IPv4's destination */
        if (bytes < 20 || data[0] >> 4 != 4 || to < 0 || to >= count || nodes[to].n == SLOTS) continue;
        const double t = now(), air = 8 * (double)bytes / rate;
        nodes[k].out = (nodes[k].out > t ? nodes[k].out : t) + air;
        const double there = nodes[k].out + delay, free_at = nodes[to].in + air;
        packet *p = &nodes[to].line[(nodes[to].first + nodes[to].n++) % SLOTS];
        p->due = nodes[to].in = there > free_at ? there : free_at;
        p->bytes = (int)bytes;
        memcpy(p->data, data, (size_t)bytes);
    }
}

static double give(node *to)
{
    for (; to->n; to->n--, to->first = (to->first + 1) % SLOTS) {
        const packet *p = &to->line[to->first];
        if (p->due > now()) return p->due;
        if (write(to->tun, p->data, (size_t)p->bytes) < 0 && errno == EAGAIN) return now() + 1e-5;
    }
    return 1e300;
}

int main(int argc, char **argv)
{
    static node nodes[NODES];
    const double rate = argc > 3 ? strtod(argv[1], NULL) : 0, delay = argc > 3 ? strtod(argv[2], NULL) : -1;
    const int count = argc - 3;
    if (!(rate > 0) || !(delay >= 0) || count > NODES) {
        fprintf(stderr, "usage: shaped_link RATE DELAY NAMESPACE...    (at most %d)\n", NODES);
        return 2;
    }
    for (int k = 0; k < count; k++) {
        nodes[k].tun = link_of(argv[3 + k], k);
        if (!(nodes[k].line = malloc(SLOTS * sizeof *nodes[k].line))) die("memory for", argv[3 + k]);
    }
    prctl(PR_SET_TIMERSLACK, 1000UL);                        /* nanoseconds: ppoll is to wake when it was asked to */
    for (;;) {
        struct pollfd wait[NODES];
        double next = 1e300;
        for (int k = 0; k < count; k++) take(nodes, count, k, rate, delay);
        for (int k = 0; k < count; k++) {
            const double t = give(&nodes[k]), full = nodes[k].out - QUEUE, t0 = now();
            if (t < next) next = t;
            if (full > t0 && full < next) next = full;
            wait[k] = (struct pollfd){.fd = nodes[k].tun, .events = (short)(full > t0 ? 0 : POLLIN)};
        }
        const double left = next - now();
        const struct timespec span = {(time_t)(left < 1 ? 0 : 1), (long)(left <= 0 || left >= 1 ? 0 : left * 1e9)};
        if (ppoll(wait, (nfds_t)count, &span, NULL) < 0 && errno != EINTR) die("ppoll", "");
    }
}
