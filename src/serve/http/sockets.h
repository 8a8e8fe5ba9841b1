/* sockets.h — what the server itself asks of sockets; libmicrohttpd asks for the rest. sockets_posix.c: Linux, macOS
 * and other POSIX systems; sockets_windows.c: Windows 10 and later. */
#ifndef SRV_SOCKETS_H
#define SRV_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct sockaddr;
struct pollfd;

typedef intptr_t srv_socket; /* a descriptor, or a SOCKET of Windows; -1: none */

/* ---- sockets that listen ----------------------------------------------------------------------------------------- */

/* port         of this address; 0: any free port
 * file         a Unix socket; one of a server that has ended is replaced. *bound: the file is ours, also after an error
 * inherited    a descriptor that another program has opened
 *
 * Windows: RF_EUNSUPPORTED for the last two. After an error, *out is to be closed unless it is -1. */
rf_status srv_listen_port(const char *host, int port, srv_socket *out, rf_error *why);
rf_status srv_listen_file(const char *path, srv_socket *out, bool *bound, rf_error *why);
rf_status srv_listen_inherited(int fd, srv_socket *out, rf_error *why);

void srv_socket_place(srv_socket s, int *port, bool *loopback); /* loopback: only this machine reaches it */

/* Refuses clients. true: from now on. false: only those that wait now, who are disconnected. */
bool srv_socket_refuse(srv_socket s);

/* ---- connections ------------------------------------------------------------------------------------------------- */

void srv_socket_end(srv_socket s); /* both directions; it stays open */
void srv_socket_close(srv_socket s);
void srv_socket_send(srv_socket s, const char *text, size_t size); /* without waiting: the rest is lost */
bool srv_socket_has_unread(srv_socket s);
void srv_socket_address(const struct sockaddr *a, char *out, size_t size); /* as numbers; "-": it has none, or a NULL */

/* Connections that are asked at once, without waiting, whether the other side has closed or reset them, or closed its
 * half of them. `add` begins with the first one, after zeroing: false: there is no memory. `ask`: whether any has. */
typedef struct srv_asked {
    struct pollfd *at; /* [space] of free() */
    size_t n, space;
} srv_asked;
bool srv_asked_add(srv_asked *all, srv_socket s);
bool srv_asked_ask(srv_asked *all);
bool srv_asked_left(const srv_asked *all, size_t i);

#endif
