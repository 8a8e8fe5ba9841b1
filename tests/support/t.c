/* t.c — see t.h. */
#define _GNU_SOURCE
#include "t.h"

#include <pthread.h>
#ifdef _WIN32
#include <malloc.h>
#endif
#if !defined(_WIN32) && !defined(__wasi__)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "base/os/os.h"

const char *t_isa(void) { return getenv("T_ISA"); }

rf_ctx *t_ctx(int threads, const char *isa)
{
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    if (!isa) isa = t_isa();
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = threads, .isa = isa}, &ctx, &why))
        fail_msg("%s", why.text);
    return ctx;
}

const rf_ctx *t_shared(void)
{
    static rf_ctx *ctx;
    if (!ctx) ctx = t_ctx(1, NULL);
    return ctx;
}

/* 64-byte aligned; NULL: out of memory. */
static void *new_block(size_t size)
{
#ifdef _WIN32
    return _aligned_malloc(size, 64);
#else
    void *p = NULL;
    return posix_memalign(&p, 64, size) ? NULL : p;
#endif
}

static void free_block(void *memory)
{
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

/* Several threads may allocate from a context at the same time. */
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *counting_alloc(void *user, size_t size)
{
    t_memory *m = user;
    void *p = NULL;
    pthread_mutex_lock(&counting);
    const long call = ++m->calls;
    if (m->fail && (call == m->fail || (m->forever && call > m->fail))) goto out;
    p = new_block(size);
    if (!p) goto out;
    m->live++;
    m->bytes += size;
    if (m->bytes > m->peak) m->peak = m->bytes;
out:
    pthread_mutex_unlock(&counting);
    return p;
}

static void counting_release(void *user, void *memory, size_t size)
{
    t_memory *m = user;
    pthread_mutex_lock(&counting);
    m->live--;
    m->bytes -= size;
    pthread_mutex_unlock(&counting);
    free_block(memory);
}

rf_ctx *t_counting_ctx(int threads, const char *isa, t_memory *memory)
{
    const rf_allocator a = {counting_alloc, counting_release, memory};
    const long fail = memory->fail;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    memory->fail = 0;
    if (!isa) isa = t_isa();
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .allocator = a, .threads = threads, .isa = isa},
                   &ctx, &why))
        fail_msg("no context: %s", why.text);
    memory->fail = fail;
    memory->calls = 0;
    return ctx;
}

/* One call whose n-th allocation fails; false: it has fewer than n. */
static bool fail_one(long n, bool forever, int threads, const char *isa, t_body *body, void *arg, long *without)
{
    t_memory memory = {.fail = n, .forever = forever};
    rf_error why = {0};
    rf_ctx *ctx = t_counting_ctx(threads, isa, &memory);
    const rf_status status = body(ctx, arg, &why);
    const bool failed = memory.calls >= n;
    rf_ctx_free(ctx);
    if (memory.live) fail_msg("allocation %ld: %ld blocks are lost", n, memory.live);
    if (status && (!failed || status != RF_ENOMEM)) fail_msg("allocation %ld: status %d, \"%s\"", n, status, why.text);
    if (forever && failed && !status) fail_msg("allocation %ld and all after it fail, the call does not", n);
    *without += failed && !status;
    return failed;
}

long t_fail_allocations(int threads, const char *isa, t_body *body, void *arg)
{
    long without = 0;
    for (int forever = 0; forever < 2; forever++)
        for (long n = 1; fail_one(n, forever, threads, isa, body, arg, &without); n++) continue;
    return without;
}

/* ---- fenced buffers ---- */

enum { FENCE = 64, BUFFERS = 4096 };
static struct { unsigned char *block; size_t size; } buffer[BUFFERS];
static int buffers;
static uint64_t streams;

void *t_bytes(size_t n)
{
    if (buffers == BUFFERS) fail_msg("more than %d test buffers", BUFFERS);
    void *block = new_block(n + 2 * FENCE);
    if (!block) fail_msg("out of memory");
    memset(block, 0xA5, n + 2 * FENCE);
    buffer[buffers].block = block;
    buffer[buffers++].size = n;
    return (unsigned char *)block + FENCE;
}

void t_check_fences(void)
{
    for (int i = 0; i < buffers; i++)
        for (size_t j = 0; j < FENCE; j++) {
            const unsigned char *b = buffer[i].block;
            if (b[j] != 0xA5) fail_msg("buffer %d: byte %zu before its start was written", i, FENCE - j);
            if (b[FENCE + buffer[i].size + j] != 0xA5) fail_msg("buffer %d: byte %zu after its end was written", i, j);
        }
}

void t_free_all(void)
{
    t_check_fences();
    while (buffers) free_block(buffer[--buffers].block);
}

float *t_floats(int64_t n)
{
    float *x = t_bytes((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = NAN;
    return x;
}

float *t_uniform(int64_t n, float low, float high)
{
    rf_rng r;
    rf_rng_init(&r, 42, ++streams);
    float *x = t_floats(n);
    for (int64_t i = 0; i < n; i++) x[i] = low + (high - low) * rf_rng_uniform(&r);
    return x;
}

float *t_normal(int64_t n)
{
    rf_rng r;
    rf_rng_init(&r, 42, ++streams);
    float *x = t_floats(n);
    for (int64_t i = 0; i < n; i++) x[i] = rf_rng_normal(&r);
    return x;
}

/* ---- comparisons ---- */

static void compare(double got, double expected, int64_t i, double absolute, double relative, double *worst,
                    int64_t *at)
{
    const double d = fabs(got - expected) / (absolute + relative * fabs(expected) + 1e-300);
    if (got == expected || (isnan(got) && isnan(expected))) return;
    if (!(d <= *worst)) {
        *worst = isnan(d) ? INFINITY : d;
        *at = i;
    }
}

void t_close_to(const float *got, const double *expected, int64_t n, double absolute, double relative)
{
    double worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) compare(got[i], expected[i], i, absolute, relative, &worst, &at);
    if (worst > 1)
        fail_msg("element %lld of %lld: got %.9g, expected %.9g, %.3g times the tolerance", (long long)at, (long long)n,
                 (double)got[at], expected[at], worst);
}

void t_close(const float *got, const float *expected, int64_t n, double absolute, double relative)
{
    double worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) compare(got[i], expected[i], i, absolute, relative, &worst, &at);
    if (worst > 1)
        fail_msg("element %lld of %lld: got %.9g, expected %.9g, %.3g times the tolerance", (long long)at, (long long)n,
                 (double)got[at], (double)expected[at], worst);
}

void t_near(double got, double expected, double absolute)
{
    if (!(fabs(got - expected) <= absolute)) fail_msg("got %.17g, expected %.17g within %.3g", got, expected, absolute);
}

/* Whether the text holds the parts between "..." in their order. */
static bool holds(const char *text, const char *part)
{
    const char *dots = strstr(part, "...");
    const size_t n = dots ? (size_t)(dots - part) : strlen(part);
    while (*text && strncmp(text, part, n) != 0) text++;
    return !strncmp(text, part, n) && (!dots || holds(text + n, dots + 3));
}

void t_failed(const rf_error *why, rf_status code, const char *part)
{
    if (why->code != code)
        fail_msg("status %d (%s: %s), expected %d", (int)why->code, rf_status_text(why->code), why->text, (int)code);
    if (!holds(why->text, part)) fail_msg("the message \"%s\" does not contain \"%s\"", why->text, part);
}

float t_fmaf(float a, float b, float c)
{
#ifdef __MINGW32__
    const double p = (double)a * (double)b, s = p + (double)c, t = s - p, lost = (p - (s - t)) + ((double)c - t);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    return (float)(isfinite(s) && lost != 0 && !(bits & 1) ? nextafter(s, lost > 0 ? INFINITY : -INFINITY) : s);
#else
    return fmaf(a, b, c);
#endif
}

/* ---- data and folders ---- */

const char *t_data(void)
{
    static const char *found;
    static bool looked;
    if (!looked) {
        const char *named = getenv("ROFORMER_DATA");
        const char *const places[] = {named, "../shared/data", "../../shared/data"};
        for (size_t i = 0; i < RF_COUNT(places) && !found; i++)
            if (places[i] && rf__os_readable(places[i])) found = places[i];
        if (!found) print_message("[  SKIPPED ] no data: set ROFORMER_DATA to the folder of data sets\n");
        looked = true;
    }
    return found;
}

enum { FOLDERS = 512 };
static char folder[FOLDERS][128];
static int folders;

static void remove_folders(void)
{
    for (int i = 0; i < folders; i++) rf__os_remove_tree(folder[i]);
}

#if defined(_WIN32) || defined(__wasi__)
static void watch_signals(void) {}                      /* a test that is interrupted leaves its folders */
#else
/* Ctrl-C and CTest's time limit leave no folder.  Not in a forked child: the folders belong to its parent. */
static pid_t owner;

static void interrupted(int signal_number)
{
    static char *rm[FOLDERS + 4] = {"rm", "-rf", "--"};
    if (getpid() == owner) {
        for (int i = 0; i < folders; i++) rm[3 + i] = folder[i];
        const pid_t child = vfork();                                        /* all that a handler may do */
        if (!child) {
            execv("/bin/rm", rm);
            _exit(127);
        }
        if (child > 0) waitpid(child, NULL, 0);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void)
{
    static const int heard[] = {SIGINT, SIGTERM, SIGHUP};
    owner = getpid();
    for (size_t i = 0; i < RF_COUNT(heard); i++)
        if (signal(heard[i], interrupted) == SIG_IGN) signal(heard[i], SIG_IGN);
}
#endif

const char *t_folder(void)
{
    if (!folders) {
        atexit(remove_folders);
        watch_signals();
    }
    if (folders == FOLDERS) fail_msg("more than %d folders", FOLDERS);
    char *path = folder[folders++];
    const char *where = getenv("TMPDIR");
    snprintf(path, sizeof folder[0], "%s/roformer-test-XXXXXX",
             where && strlen(where) < 24 ? where : rf__os_temporary_place());
    if (rf__os_temporary_folder(path)) fail_msg("cannot make the folder %s", path);
    return path;
}

void t_write(const char *where, const char *name, const void *data, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", where, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) fail_msg("cannot write %s", path);
}

size_t t_put_scalar(uint32_t c, char *to)
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3F)), 2;
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3F)), to[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (char)(0x80 | (c >> 6 & 0x3F)), to[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}
