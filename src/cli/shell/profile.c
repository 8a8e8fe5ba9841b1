/* profile.c — a trace in Chrome's format: one event for each operation, in microseconds since the first.
 *
 *     {"traceEvents": [
 *     {"name":"linear","cat":"forward","ph":"X","pid":1,"tid":1,"ts":12.3,"dur":45.6,"args":{"shape":"[128,384]",...}},
 *
 * ui.perfetto.dev, chrome://tracing and speedscope.app show it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/os/os.h"
#include "cli/shell/profile.h"

static struct {
    FILE *file;
    pthread_mutex_t lock;
    double zero;                        /* the first operation's begin                                                */
    int threads;
    bool begun;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int thread;        /* number of this thread in the trace; 0: none yet                            */

bool cli_profile_open(const char *name)
{
    trace.file = rf__os_stream(name, "w");
    return trace.file && fputs("{\"traceEvents\": [", trace.file) >= 0;
}

static void shape_of(const rf_operation *o, char text[96])
{
    int n = 0;
    for (int i = 0; i < o->rank && i < 4; i++)
        n += snprintf(text + n, 96 - (size_t)n, "%s%lld", i ? "," : "[", (long long)o->dim[i]);
    snprintf(text + n, 96 - (size_t)n, n ? "]" : "[]");
}

void cli_profile_add(void *user, const rf_operation *o)
{
    char shape[96];
    (void)user;
    shape_of(o, shape);
    pthread_mutex_lock(&trace.lock);
    if (!thread) thread = ++trace.threads;
    if (!trace.begun) trace.zero = o->begin;
    const double seconds = o->end - o->begin;
    fprintf(trace.file, "%s\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"shape\":\"%s\"", trace.begun ? "," : "", o->name,
            o->back ? "backward" : "forward", thread, 1e6 * (o->begin - trace.zero), 1e6 * seconds, shape);
    if (o->flops > 0 && seconds > 0) fprintf(trace.file, ",\"gflops\":%.4g", 1e-9 * o->flops / seconds);
    fputs("}}", trace.file);
    trace.begun = true;
    pthread_mutex_unlock(&trace.lock);
}

bool cli_profile_close(void)
{
    if (!trace.file) return true;
    fputs("\n]}\n", trace.file);
    const bool whole = !ferror(trace.file) && !fflush(trace.file);
    const int e = errno;
    const bool closed = !fclose(trace.file);
    trace.file = NULL;
    if (!whole) errno = e;
    return whole && closed;
}
