/* thread.c — starts threads that leave signals to the program. */
#define _GNU_SOURCE
#include "base/system/thread.h"

#include <signal.h>

#include "base/base.h"

int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed) return failed;
    failed = pthread_create(out, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}
