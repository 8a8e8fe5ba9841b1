/* ranks.h — runs ranks as threads of this process.  The transport copies messages to a list.
 *
 * The checks of cmocka use longjmp and are allowed only in the first thread.  Therefore the function that a rank runs
 * returns a status. */
#ifndef RANKS_H
#define RANKS_H

#include <pthread.h>

#include "roformer/inspect/comm.h"
#include "t.h"

enum { RANKS_MOST = 8 };

typedef struct ranks_message {
    struct ranks_message *next;
    int from, to, number;
    size_t bytes;
    char data[];
} ranks_message;
typedef struct ranks_pending { struct ranks_pending *next; int from, number; void *data; size_t bytes; } ranks_pending;

typedef struct ranks_team {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ranks_message *first;               /* sent, not yet received; oldest first                                       */
    bool gone[RANKS_MOST];              /* ended with a failure: ranks that wait for it fail, too                     */
    int sent;
} ranks_team;

typedef struct ranks_comm {
    rf_comm c;
    ranks_team *team;
    ranks_pending *pending;             /* oldest first                                                               */
} ranks_comm;

static inline rf_status ranks_send(rf_comm *c, int number, int to, const void *data, size_t bytes, rf_error *why)
{
    (void)why;
    ranks_team *t = ((ranks_comm *)c)->team;
    ranks_message *m = malloc(sizeof *m + bytes), **at = &t->first;
    *m = (ranks_message){.from = c->rank, .to = to, .number = number, .bytes = bytes};
    if (bytes) memcpy(m->data, data, bytes);
    pthread_mutex_lock(&t->lock);
    while (*at) at = &(*at)->next;
    *at = m;
    t->sent++;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return RF_OK;
}

static inline rf_status ranks_receive(rf_comm *c, int number, int from, void *data, size_t bytes, rf_error *why)
{
    (void)why;
    ranks_pending *w = malloc(sizeof *w), **at = &((ranks_comm *)c)->pending;
    *w = (ranks_pending){NULL, from, number, data, bytes};
    while (*at) at = &(*at)->next;
    *at = w;
    return RF_OK;
}

/* With the lock held: takes what has arrived; returns how much is missing; *gone: from a rank that has ended; -1: a
 * message of an unexpected size. */
static inline int ranks_match(ranks_comm *c, int number, bool *gone)
{
    int open = 0;
    *gone = false;
    for (ranks_pending **w = &c->pending; *w;) {
        ranks_message **m = &c->team->first;
        while (*m && ((*m)->to != c->c.rank || (*m)->from != (*w)->from || (*m)->number != (*w)->number))
            m = &(*m)->next;
        if (!*m) {
            open += (*w)->number == number;
            if ((*w)->number == number && c->team->gone[(*w)->from]) *gone = true;
            w = &(*w)->next;
            continue;
        }
        ranks_message *got = *m;
        ranks_pending *done = *w;
        if (got->bytes != done->bytes) return -1;
        if (got->bytes) memcpy(done->data, got->data, got->bytes);
        *m = got->next;
        *w = done->next;
        free(got);
        free(done);
    }
    return open;
}

static inline rf_status ranks_some(rf_comm *c, int number, bool wait, int *done, rf_error *why)
{
    ranks_comm *r = (ranks_comm *)c;
    pthread_mutex_lock(&r->team->lock);
    bool gone;
    int open = ranks_match(r, number, &gone);
    while (wait && open > 0 && !gone) {
        pthread_cond_wait(&r->team->changed, &r->team->lock);
        open = ranks_match(r, number, &gone);
    }
    pthread_mutex_unlock(&r->team->lock);
    *done = open == 0;
    if (open < 0) return rf_fail(why, RF_EIO, "a message of another size than was expected");
    return wait && open ? rf_fail(why, RF_EIO, "another rank is gone") : RF_OK;
}

static inline rf_status ranks_progress(rf_comm *c, int number, int *done, rf_error *why)
{
    return ranks_some(c, number, false, done, why);
}

static inline rf_status ranks_wait(rf_comm *c, int number, rf_error *why)
{
    int done;
    return ranks_some(c, number, true, &done, why);
}

typedef rf_status ranks_body(rf_comm *c, void *arg, rf_error *why);
typedef struct ranks_one {
    ranks_comm comm;
    ranks_body *body;
    void *arg;
    rf_status status;
    rf_error why;
    pthread_t thread;
} ranks_one;

static inline void *ranks_main(void *arg)
{
    ranks_one *r = arg;
    r->status = r->body(&r->comm.c, r->arg, &r->why);
    if (r->status) {
        pthread_mutex_lock(&r->comm.team->lock);
        r->comm.team->gone[r->comm.c.rank] = true;
        pthread_cond_broadcast(&r->comm.team->changed);
        pthread_mutex_unlock(&r->comm.team->lock);
    }
    return NULL;
}

/* Runs body(comm, arg + rank * step) on n ranks; out (or NULL) receives the result of each. */
static inline rf_status ranks_run(int n, ranks_body *body, void *arg, size_t stride, ranks_one out[RANKS_MOST])
{
    ranks_team team = {.first = NULL, .sent = 0};
    ranks_one own[RANKS_MOST], *r = out ? out : own;
    rf_status first = RF_OK;
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.changed, NULL);
    for (int i = 0; i < n; i++) {
        r[i] = (ranks_one){.body = body, .arg = (char *)arg + (size_t)i * stride};
        r[i].comm = (ranks_comm){{i, n, n, 0, ranks_send, ranks_receive, ranks_progress, ranks_wait}, &team, NULL};
        if (pthread_create(&r[i].thread, NULL, ranks_main, &r[i])) abort();
    }
    for (int i = 0; i < n; i++) pthread_join(r[i].thread, NULL);
    for (int i = n - 1; i >= 0; i--) {
        if (r[i].status) first = r[i].status;
        while (r[i].comm.pending) {
            ranks_pending *next = r[i].comm.pending->next;
            free(r[i].comm.pending);
            r[i].comm.pending = next;
        }
    }
    while (team.first) {
        ranks_message *next = team.first->next;
        free(team.first);
        team.first = next;
    }
    pthread_mutex_destroy(&team.lock);
    pthread_cond_destroy(&team.changed);
    return first;
}

#endif
