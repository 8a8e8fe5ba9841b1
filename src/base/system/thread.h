/* thread.h — starts the threads of the library. */
#ifndef RF_BASE_THREAD_H
#define RF_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that blocks all signals, which belong to the program, except SIGBUS: that of a mapped file that
 * shrinks is delivered to the thread that reads it. Returns 0, or the number of the error (strerror); ENOTSUP: the
 * system has no threads (WASI). */
int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user);

/* The same for a worker of parallel.c, whose caller computes, too. In a browser there are only these. */
int rf__worker_start(pthread_t *out, void *(*body)(void *user), void *user);

#endif
