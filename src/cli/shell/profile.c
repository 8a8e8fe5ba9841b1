/* profile.c — a trace in Chrome's format: one event for each operation, in microseconds since the first.
 *
 *     {"traceEvents": [
 *     {"name":"linear","cat":"forward","ph":"X","pid":1,"tid":1,"ts":12.3,"dur":45.6,"args":{"shape":"[128,384]",...}},
 *
 * ui.perfetto.dev, chrome://tracing and speedscope.app show it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/profile.h"

static const char head[] = "{\"traceEvents\": [";

static struct {
    FILE *file;
    const char *name;
    rf__os_state state;                 /* of the new file, if is_file                                                */
    bool is_file;
    pthread_mutex_t lock;
    double zero;                        /* the first operation's begin                                                */
    int threads;
    bool begun;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int thread;        /* number of this thread in the trace; 0: none yet                            */

static rf_status refused(const char *name, rf_error *why)
{
    return rf_fail(why, RF_EIO, "--profile: %.200s: cannot write: %s", name, rf__os_reason(errno));
}

/* An existing file must not be what the command prints to, and be an earlier trace if it is not empty: any other may be
 * what the command reads. */
static rf_status check_existing(const char *name, rf_error *why)
{
    rf__os_state state, out;
    char begin[sizeof head] = "";
    if (rf__os_look(name, &state) || state.kind != RF__OS_FILE) return RF_OK;
    for (int fd = 1; fd <= 2; fd++)
        if (!rf__os_look_file(fd, &out) && rf__os_same(&out, &state))
            return rf_fail(why, RF_EARG, "--profile: %.200s: expected another file than that of standard %s, got the "
                           "same", name, fd == 1 ? "output" : "error");
    if (!state.size) return RF_OK;
    FILE *f = rf__os_stream(name, "r");
    const size_t n = f ? fread(begin, 1, sizeof head - 1, f) : 0;
    if (f) fclose(f);
    if (n == sizeof head - 1 && !strcmp(begin, head)) return RF_OK;
    return rf_fail(why, RF_EARG, "--profile: %.200s: expected a new file or an earlier profile, got another file, "
                   "which would be overwritten; choose another name", name);
}

rf_status cli_profile_open(const char *name, rf_error *why)
{
    const rf_status status = check_existing(name, why);
    if (status) return status;
    trace.name = name;
    trace.file = rf__os_stream(name, "w");
    if (!trace.file || fputs(head, trace.file) < 0) return refused(name, why);
    trace.is_file = !rf__os_look(name, &trace.state) && trace.state.kind == RF__OS_FILE;
    return RF_OK;
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

/* Whether the name still leads to the trace, if that is a file. */
static bool in_place(void)
{
    rf__os_state now;
    return !trace.is_file || (!rf__os_look(trace.name, &now) && rf__os_same(&now, &trace.state));
}

rf_status cli_profile_close(rf_error *why)
{
    if (!trace.file) return RF_OK;
    fputs("\n]}\n", trace.file);
    const bool whole = !ferror(trace.file) && !fflush(trace.file), kept = in_place();
    const int e = errno;
    const bool closed = !fclose(trace.file);
    trace.file = NULL;
    if (!whole) errno = e;
    if (!whole || !closed) return refused(trace.name, why);
    return kept ? RF_OK
                : rf_fail(why, RF_EIO, "--profile: %.200s: the command has written or removed a file with this name: "
                          "the profile is lost; choose another name", trace.name);
}
