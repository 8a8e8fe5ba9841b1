/* sockets_posix.c — the server's sockets (sockets.h) on Linux, macOS and other POSIX systems. */
#define _DARWIN_C_SOURCE
#include "serve/http/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve/http/sockets_asked.h"

#ifndef MSG_NOSIGNAL /* libmicrohttpd has set SO_NOSIGPIPE */
#define MSG_NOSIGNAL 0
#endif

/* ---- sockets that listen ----------------------------------------------------------------------------------------- */

static int new_socket(int family)
{
#ifdef SOCK_CLOEXEC
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    const int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
#endif
}

/* A socket file of a server that has ended. */
static bool is_dead(const char *path, const struct sockaddr_un *a)
{
    struct stat st;
    if (stat(path, &st) || !S_ISSOCK(st.st_mode)) return false;
    const int fd = new_socket(AF_UNIX);
    const bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return dead;
}

rf_status srv_listen_file(const char *path, srv_socket *out, bool *bound, rf_error *why)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    *out = -1;
    if (strlen(path) >= sizeof a.sun_path)
        return rf_fail(why, RF_EARG, "--unix: expected a path of less than %zu bytes, got %zu", sizeof a.sun_path,
                       strlen(path));
    memcpy(a.sun_path, path, strlen(path) + 1);
    if (is_dead(path, &a)) unlink(path);
    const int fd = new_socket(AF_UNIX);
    *out = fd;
    *bound = fd >= 0 && !bind(fd, (const struct sockaddr *)&a, sizeof a);
    if (*bound && !listen(fd, SOMAXCONN)) return RF_OK;
    return rf_fail(why, RF_EIO, "%s: expected to open this socket, got: %s", path, strerror(errno));
}

rf_status srv_listen_port(const char *host, int port, srv_socket *out, rf_error *why)
{
    char number[16];
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    const int one = 1;
    int failed = 0;
    *out = -1;
    snprintf(number, sizeof number, "%d", port);
    const int code = getaddrinfo(host, number, &hints, &list);
    if (code)
        return rf_fail(why, RF_EARG, "--host %.200s: expected an address, got: %s", host, gai_strerror(code));
    for (const struct addrinfo *a = list; a && *out < 0; a = a->ai_next) {
        const int fd = new_socket(a->ai_family);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, SOMAXCONN)) *out = fd;
        else failed = errno, close(fd);
    }
    freeaddrinfo(list);
    if (*out >= 0) return RF_OK;
    if (failed == EADDRNOTAVAIL)
        return rf_fail(why, RF_EARG, "--host %.200s: expected an address of this machine, got another one", host);
    return rf_fail(why, RF_EIO, "%.200s port %d: expected a free port, got: %s; choose another one with --port", host,
                   port, strerror(failed ? failed : errno));
}

rf_status srv_listen_inherited(int fd, srv_socket *out, rf_error *why)
{
    int listens = 0;
    socklen_t size = sizeof listens;
    *out = fd;
    if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens) return RF_OK;
    return rf_fail(why, RF_EARG, "descriptor %d: expected a socket that listens, got another file", fd);
}

void srv_socket_place(srv_socket s, int *port, bool *loopback)
{
    struct sockaddr_storage a = {.ss_family = AF_UNIX};
    socklen_t size = sizeof a;
    char number[16];
    if (getsockname((int)s, (struct sockaddr *)&a, &size)) return;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a;
    *loopback = (a.ss_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) ||
                (a.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr));
    if (a.ss_family != AF_UNIX &&
        !getnameinfo((struct sockaddr *)&a, size, NULL, 0, number, sizeof number, NI_NUMERICSERV))
        *port = (int)strtol(number, NULL, 10);
}

/* Elsewhere, a socket that listens cannot be shut down. libmicrohttpd has set O_NONBLOCK. */
bool srv_socket_refuse(srv_socket s)
{
#ifdef __linux__
    shutdown((int)s, SHUT_RDWR);
    return true;
#else
    for (int fd; (fd = accept((int)s, NULL, NULL)) >= 0;) close(fd);
    return false;
#endif
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void srv_socket_end(srv_socket s) { shutdown((int)s, SHUT_RDWR); }
void srv_socket_close(srv_socket s) { close((int)s); }

void srv_socket_send(srv_socket s, const char *text, size_t size)
{
    const ssize_t sent = send((int)s, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent;
}

bool srv_socket_has_unread(srv_socket s)
{
    int n = 0;
    return !ioctl((int)s, FIONREAD, &n) && n > 0;
}

void srv_socket_address(const struct sockaddr *a, char *out, size_t size)
{
    const size_t bytes = !a ? 0 : a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (a && (a->sa_family == AF_INET || a->sa_family == AF_INET6) &&
        !getnameinfo(a, (socklen_t)bytes, out, (socklen_t)size, NULL, 0, NI_NUMERICHOST))
        return;
    snprintf(out, size, "-");
}

/* POLLRDHUP is Linux's. Elsewhere, what can be read is looked at: nothing is the end. */
bool srv_asked_add(srv_asked *all, srv_socket s)
{
#ifdef POLLRDHUP
    return srv_asked_put(all, (struct pollfd){.fd = (int)s, .events = POLLRDHUP});
#else
    return srv_asked_put(all, (struct pollfd){.fd = (int)s, .events = POLLIN});
#endif
}

bool srv_asked_ask(srv_asked *all) { return all->n && poll(all->at, (nfds_t)all->n, 0) > 0; }

bool srv_asked_left(const srv_asked *all, size_t i)
{
    const struct pollfd *one = &all->at[i];
#ifdef POLLRDHUP
    return one->revents;
#else
    char byte;
    return one->revents & ~POLLIN || (one->revents && recv(one->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
#endif
}
