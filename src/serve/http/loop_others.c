/* loop_others.c — on systems other than Linux, libmicrohttpd has a thread of its own for its callbacks. It waits with
 * poll, for any number of connections, and wakes itself when a connection is resumed. */
#include <microhttpd.h>

#include "serve/server.h"

unsigned srv_loop_flags(void) { return MHD_USE_POLL_INTERNAL_THREAD; }

rf_status srv_loop_start(srv_server *s, rf_error *why)
{
    (void)s, (void)why;
    return RF_OK;
}

void srv_loop_wake(srv_server *s) { (void)s; }
void srv_loop_stop(srv_server *s) { (void)s; }
