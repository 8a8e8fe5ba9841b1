/* sockets_asked.h — what the files of the systems share of srv_asked; they have included the system's struct pollfd. */
#ifndef SRV_SOCKETS_ASKED_H
#define SRV_SOCKETS_ASKED_H

#include <stdlib.h>

#include "serve/http/sockets.h"

static inline bool srv_asked_put(srv_asked *all, struct pollfd one)
{
    if (all->n == all->space) {
        const size_t more = 2 * all->space + 16;
        struct pollfd *at = realloc(all->at, more * sizeof *at);
        if (!at) return false;
        all->at = at;
        all->space = more;
    }
    all->at[all->n++] = one;
    return true;
}

#endif
