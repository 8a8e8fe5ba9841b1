/* context.h — the settings that all calls share: allocator, number of threads, instruction set. And the flag that
 * cancels a call.
 *
 * A context never changes after it is created. Free everything that was created with it before the context itself.
 *
 * threads   a context may be shared by any number of threads
 * fork      a child process has the context without its workers: its calls run on the calling thread, and it may free
 *           the context. A child that needs workers must create its own context. No other thread may be in a call with
 *           the context while the process forks */
#ifndef ROFORMER_CONTEXT_H
#define ROFORMER_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/status.h"
#include "roformer/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_ctx rf_ctx;

/* Types of elements. */
typedef enum rf_type { RF_F32, RF_BF16, RF_F16, RF_I8, RF_I32 } rf_type;

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
