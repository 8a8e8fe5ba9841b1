/* context.h — what all calls share: the version, statuses and error messages, types, the context, the flag that cancels
 * a call, random numbers.
 *
 * threads   the comment of each part says what may be shared; versions, statuses and types are only values */
#ifndef ROFORMER_CONTEXT_H
#define ROFORMER_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "big endian: roformer reads and writes numbers in the processor's order; build for a little-endian machine"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the version of these headers ----
 *
 * CMakeLists.txt reads the project's version from here. */

#define ROFORMER_VERSION_MAJOR 0
#define ROFORMER_VERSION_MINOR 3
#define ROFORMER_VERSION_PATCH 0

/* #if ROFORMER_VERSION_NUMBER >= ROFORMER_VERSION_MAKE(0, 3, 0) */
#define ROFORMER_VERSION_MAKE(major, minor, patch) ((major) * 1000000 + (minor) * 1000 + (patch))
#define ROFORMER_VERSION_NUMBER \
    ROFORMER_VERSION_MAKE(ROFORMER_VERSION_MAJOR, ROFORMER_VERSION_MINOR, ROFORMER_VERSION_PATCH)

/* The version of the library in use, "0.3.0", which may be later than that of the headers. Static storage. */
const char *rf_version(void);

/* ---- statuses and error messages ----
 *
 * A call that can fail returns an rf_status and takes an optional `rf_error *why`, usually on the caller's stack. On
 * failure, `why` (if not NULL) receives the status and one sentence that names the file, key, line or byte, the value
 * and the limit. On success it is not changed. The library never prints, aborts or exits, and an error needs no memory.
 *
 *     rf_error why = {0};                                         RF_OK and no text
 *     if (rf_pipeline_open(NULL, folder, RF_F32, &p, &why))
 *         fprintf(stderr, "%s\n", why.text);
 *
 * A call does not overwrite a failure that `why` already holds. Several calls can therefore share one `why`, which then
 * holds the first failure, its cause. To use it again after a failure, set it to (rf_error){0}. One that was never
 * initialized has no defined content after a call. */

/* One row for each status: enumerator and sentence. */
#define RF_STATUSES(X)                                                    \
    X(RF_OK,           "success")                                         \
    X(RF_EARG,         "an argument is not acceptable")                   \
    X(RF_ESHAPE,       "shapes do not fit together")                      \
    X(RF_ERANGE,       "a value is outside its limits")                   \
    X(RF_EDATA,        "a file or text does not hold what it must")       \
    X(RF_EUNSUPPORTED, "well-formed, but of a kind that is not supported")\
    X(RF_EIO,          "the operating system refused to read or write")   \
    X(RF_ENOMEM,       "out of memory")                                   \
    X(RF_ENUMERIC,     "a result is not finite")                          \
    X(RF_EBUSY,        "held by another process")                         \
    X(RF_ESTOPPED,     "stopped on request")                              \
    X(RF_ECANCELED,    "canceled by the caller")

typedef enum rf_status {
#define RF_STATUS_ROW(name, sentence) name,
    RF_STATUSES(RF_STATUS_ROW)
#undef RF_STATUS_ROW
    RF_STATUS_COUNT
} rf_status;

typedef struct rf_error {
    rf_status code;
    char text[320];             /* ends with a zero byte; longer messages end with " ..." */
} rf_error;

/* The sentence of a status; "unknown status" for any other value. Static storage. */
const char *rf_status_text(rf_status status);

#if defined(__MINGW32__) && !defined(__clang__)                         /* the formats of C11, not of Windows */
#define RF_PRINTF(fmt, args) __attribute__((format(gnu_printf, fmt, args)))
#elif defined(__GNUC__)
#define RF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RF_PRINTF(fmt, args)
#endif

/* Fills in `why` (if not NULL) and returns `code`, so that a failing line reads `return rf_fail(why, RF_EDATA, ...)`.
 * If `why` already holds a failure, it is kept: the first failure is the cause. */
rf_status rf_fail(rf_error *why, rf_status code, const char *format, ...) RF_PRINTF(3, 4);

/* ---- types that several headers share ---------------------------------------------------------------------------- */

/* Types of elements. */
typedef enum rf_type { RF_F32, RF_BF16, RF_F16, RF_I8, RF_I32, RF_I8W } rf_type;

/* The vector of a text is that of its first token, the mean, the maximum of each column, the vector of its last token,
 * the sum over the square root of the number of tokens, or the mean with the weights 1, 2, 3, ... */
typedef enum rf_pooling {
    RF_POOL_AUTO = -1,                  /* only in rf_embed_options: as the folder says */
    RF_POOL_CLS,
    RF_POOL_MEAN,
    RF_POOL_MAX,
    RF_POOL_LAST,
    RF_POOL_SQRT,                       /* mean_sqrt_len_tokens of sentence-transformers */
    RF_POOL_WEIGHTED,                   /* weightedmean of sentence-transformers */
    RF_POOL_SEVERAL = 0x40000000        /* in the values that rf_pooling_join returns */
} rf_pooling;

/* ---- the context: allocator, number of threads, instruction set ----
 *
 * A context never changes after it is created. Free everything that was created with it before the context itself.
 *
 * threads   a context may be shared by any number of threads
 * fork      a child process has the context without its workers: its calls run on the calling thread, and it may free
 *           the context. A child that needs workers must create its own context. No other thread may be in a call with
 *           the context while the process forks */

typedef struct rf_ctx rf_ctx;

/* Memory functions. `alloc` returns `size` bytes aligned to 64, or NULL; `release` receives what alloc returned. Both
 * may be called from several threads at once: those that share the context, and the thread that writes the checkpoints
 * of a training run. */
typedef struct rf_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} rf_allocator;

enum { RF_MAX_THREADS = 1024 };

/* An operation of a model (linear, attention, norm, ...), as a tracer sees it when it ends. */
typedef struct rf_operation {
    const char *name;         /* static storage */
    int back;                 /* 1: its backward pass */
    double begin, end;        /* seconds of CLOCK_MONOTONIC */
    double flops;             /* of products and attention, a multiply-add as two; 0: other arithmetic */
    int rank;                 /* of the result, or of the result that the backward pass starts from */
    int64_t dim[4];
} rf_operation;

/* Called in the thread that ran the operation, at its end; from several threads at once if several use the context. It
 * must not call the library. Operations of a recomputed layer are also within the backward pass that recomputes it. */
typedef void rf_tracer(void *user, const rf_operation *o);

/* Structs of options begin with their size. The call that sets the defaults also sets the size, for example
 * rf_ctx_defaults(&o). A program therefore still works with a later library whose struct has more members at its end. A
 * struct that was not initialized is refused (RF_EARG). */
typedef struct rf_ctx_options {
    size_t size;              /* of this struct, set by rf_ctx_defaults */
    rf_allocator allocator;   /* both functions, or both NULL: those of the C library */
    int threads;              /* workers inside one call; 0: rf_processors(), at most RF_MAX_THREADS */
    const char *isa;          /* highest rung to use: "ref" or a name in rungs.def; NULL: the best */
    const char *dictionary;   /* compiled dictionary of Chinese words for tokenizers whose folder has none; NULL:
                                 none */
    rf_tracer *tracer;        /* called for each operation of each model; NULL: none */
    void *tracer_user;
} rf_ctx_options;

void rf_ctx_options_init(rf_ctx_options *o, size_t size);
#define rf_ctx_defaults(o) rf_ctx_options_init((o), sizeof *(o))

/* Creates a context.
 *
 *   options    copied; NULL: all defaults
 *   out        freed with rf_ctx_free; unchanged on error
 *   RF_EARG    the options were not initialized; one of the allocator's functions is NULL; threads is below 0 or above
 *              RF_MAX_THREADS; isa is not a rung that this machine supports
 *   RF_ENOMEM  out of memory */
rf_status rf_ctx_new(const rf_ctx_options *options, rf_ctx **out, rf_error *why);
void rf_ctx_free(rf_ctx *ctx);

int rf_ctx_threads(const rf_ctx *ctx);

/* Number of processors that this process may use, at least 1: those that it may run on, and no more than the quota of
 * its cgroup allows (rounded up), as in a container with a limit. */
int rf_processors(void);

const char *rf_ctx_isa(const rf_ctx *ctx);     /* the rung in use; static storage */

/* ---- canceling a long call ----
 *
 *     rf_cancel_new(ctx, &cancel, &why);
 *     rf_pipeline_set_cancel(p, cancel);          from now on, p's calls check it
 *     ...
 *     rf_cancel_set(cancel);                      another thread, or a signal handler
 *     rf_cancel_after(cancel, 2.5);               or a time limit
 *
 * A session checks its flag before every operation of the model, that is, every few milliseconds. All sessions of a
 * pipeline check the pipeline's flag. When the flag is set, the call returns RF_ECANCELED: it gives no result, its
 * sinks and `done` functions are not called again, sequences are as before the call, and all memory of the call is
 * freed. Until the flag is cleared, further calls return immediately. After that, calls give the same bits as if
 * nothing had been canceled.
 *
 * Training is stopped with its report function (rf_train_report), which is called between batches. It saves a
 * checkpoint, so that the run can be resumed.
 *
 * threads   any number of threads may set, clear and check a flag at any time; when it is freed, no other thread may
 *           use it */

typedef struct rf_cancel rf_cancel;

/* Creates a flag that is not set.
 *
 *   ctx        its allocator provides the memory; NULL: the C library's
 *   out        freed with rf_cancel_free, after the sessions and pipelines that check it are closed or have been given
 *              another flag; unchanged on error
 *   RF_ENOMEM  out of memory */
rf_status rf_cancel_new(const rf_ctx *ctx, rf_cancel **out, rf_error *why);
void rf_cancel_free(rf_cancel *c);                      /* NULL is allowed */

/* A signal handler may call these. NULL is allowed and counts as not set.
 *
 *   set        until it is cleared
 *   after      the flag is set from `seconds` from now on, as a time limit needs it; replaces an earlier time.
 *              0 or less: now; INFINITY: never
 *   clear      neither set nor set later */
void rf_cancel_set(rf_cancel *c);
void rf_cancel_after(rf_cancel *c, double seconds);
void rf_cancel_clear(rf_cancel *c);
int rf_cancel_is_set(const rf_cancel *c);

/* ---- random numbers that are the same on every machine: Philox 4x32-10 (Salmon et al. 2011) ----
 *
 * A number is a function of the seed, the stream and the count of numbers drawn before it. Streams of one seed are
 * independent. Initial weights, masks and dropout are drawn with it.
 *
 *     rf_rng r;
 *     rf_rng_init(&r, 42, 0);                     seed 42, stream 0
 *     const uint32_t first = rf_rng_u32(&r);
 *
 * No function here allocates memory or fails. `r` must not be NULL.
 *
 * threads   an rf_rng belongs to one thread; a copy continues from the state that was copied */

/* The state of a generator, 48 bytes. The caller owns it and does not read or write its members. */
typedef struct rf_rng {
    uint32_t key[2];
    uint64_t stream, counter;
    uint32_t word[4];
    int left;
} rf_rng;

/* Starts at the first number of a stream. */
void rf_rng_init(rf_rng *r, uint64_t seed, uint64_t stream);

/* The next number:
 *
 *   u32       32 random bits
 *   below     uniform in 0 to n-1, without bias (Lemire 2019), 0 for n = 0; draws again with a probability below
 *             n / 2^32
 *   uniform   uniform in [0, 1), a multiple of 2^-24
 *   normal    normal with mean 0 and variance 1 (Box and Muller 1958); draws two 32-bit words */
uint32_t rf_rng_u32(rf_rng *r);
uint32_t rf_rng_below(rf_rng *r, uint32_t n);
float rf_rng_uniform(rf_rng *r);
float rf_rng_normal(rf_rng *r);

#ifdef __cplusplus
}
#endif
#endif
