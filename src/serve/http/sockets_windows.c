/* sockets_windows.c — the server's sockets (sockets.h) on Windows 10 and later. */
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <ws2tcpip.h>

#include "serve/http/sockets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/sockets_asked.h"

_Static_assert(sizeof(srv_socket) == sizeof(SOCKET) && INVALID_SOCKET == (SOCKET)-1, "a SOCKET as srv_socket");

/* ---- sockets that listen ----------------------------------------------------------------------------------------- */

static WORD started;

/* Until the process ends. */
static void start(void)
{
    WSADATA data;
    if (!WSAStartup(MAKEWORD(2, 2), &data)) started = data.wVersion;
}

static const char *text_of(int code, char out[64])
{
    switch (code) {
    case WSAEADDRINUSE: return "Address already in use";
    case WSAEACCES: return "Permission denied";
    case WSAHOST_NOT_FOUND:
    case WSANO_DATA: return "Name or service not known";
    }
    snprintf(out, 64, "the error %d of Windows", code);
    return out;
}

/* Windows' SO_REUSEADDR would let two servers have one port, and any program take it away. */
static SOCKET try_address(const struct addrinfo *a, int *failed)
{
    const int one = 1;
    SOCKET s = WSASocketW(a->ai_family, SOCK_STREAM, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (s != INVALID_SOCKET) {
        setsockopt(s, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&one, sizeof one);
        if (!bind(s, a->ai_addr, (int)a->ai_addrlen) && !listen(s, SOMAXCONN)) return s;
    }
    *failed = WSAGetLastError();
    if (s != INVALID_SOCKET) closesocket(s);
    return INVALID_SOCKET;
}

rf_status srv_listen_port(const char *host, int port, srv_socket *out, rf_error *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char number[16], text[64];
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    int failed = 0;
    *out = -1;
    pthread_once(&once, start);
    if (!started) return rf_fail(why, RF_EIO, "server: expected Windows Sockets 2.2, got none");
    snprintf(number, sizeof number, "%d", port);
    const int code = getaddrinfo(host, number, &hints, &list);
    if (code)
        return rf_fail(why, RF_EARG, "--host %.200s: expected an address, got: %s", host, text_of(code, text));
    for (const struct addrinfo *a = list; a && *out < 0; a = a->ai_next) *out = (srv_socket)try_address(a, &failed);
    freeaddrinfo(list);
    if (*out >= 0) return RF_OK;
    if (failed == WSAEADDRNOTAVAIL)
        return rf_fail(why, RF_EARG, "--host %.200s: expected an address of this machine, got another one", host);
    return rf_fail(why, RF_EIO, "%.200s port %d: expected a free port, got: %s; choose another one with --port", host,
                   port, text_of(failed, text));
}

rf_status srv_listen_file(const char *path, srv_socket *out, bool *bound, rf_error *why)
{
    *out = -1;
    *bound = false;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "--unix %.200s: Unix sockets are not supported on Windows; use --host 127.0.0.1 and --port", path);
}

rf_status srv_listen_inherited(int fd, srv_socket *out, rf_error *why)
{
    *out = -1;
    return rf_fail(why, RF_EUNSUPPORTED, "descriptor %d: inherited sockets are not supported on Windows", fd);
}

void srv_socket_place(srv_socket s, int *port, bool *loopback)
{
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    int size = sizeof a;
    if (getsockname((SOCKET)s, (struct sockaddr *)&a, &size)) return;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a;
    const bool is_four = a.ss_family == AF_INET;
    *loopback = is_four ? ntohl(four->sin_addr.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    *port = ntohs(is_four ? four->sin_port : six->sin6_port);
}

/* libmicrohttpd has set FIONBIO. */
bool srv_socket_refuse(srv_socket s)
{
    for (SOCKET client; (client = accept((SOCKET)s, NULL, NULL)) != INVALID_SOCKET;) closesocket(client);
    return false;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void srv_socket_end(srv_socket s) { shutdown((SOCKET)s, SD_BOTH); }
void srv_socket_close(srv_socket s) { closesocket((SOCKET)s); }
void srv_socket_send(srv_socket s, const char *text, size_t size) { send((SOCKET)s, text, (int)size, 0); }

bool srv_socket_has_unread(srv_socket s)
{
    u_long n = 0;
    return !ioctlsocket((SOCKET)s, FIONREAD, &n) && n > 0;
}

void srv_socket_address(const struct sockaddr *a, char *out, size_t size)
{
    const int bytes = !a ? 0 : a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (!a || getnameinfo(a, bytes, out, (DWORD)size, NULL, 0, NI_NUMERICHOST)) snprintf(out, size, "-");
}

bool srv_asked_add(srv_asked *all, srv_socket s)
{
    return srv_asked_put(all, (struct pollfd){.fd = (SOCKET)s, .events = POLLRDNORM});
}

bool srv_asked_ask(srv_asked *all) { return all->n && WSAPoll(all->at, (ULONG)all->n, 0) > 0; }

/* What can be read is looked at: nothing is the end. */
bool srv_asked_left(const srv_asked *all, size_t i)
{
    const struct pollfd *one = &all->at[i];
    char byte;
    return one->revents & ~POLLRDNORM || (one->revents && recv(one->fd, &byte, 1, MSG_PEEK) == 0);
}
