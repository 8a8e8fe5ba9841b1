/* context.h — what all calls share: allocator, number of threads, instruction set.
 *
 * A context is made once and never changes.  Everything made from it must be freed before it.
 *
 * threads   immutable after rf_ctx_new: any number of threads may share one
 * fork      a child has the context without its workers: what the child computes runs on the calling thread, and it may
 *           free the context.  A child that needs workers makes a context of its own.  No other thread may be in a call
 *           with the context while the process forks                                                            */
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

/* Where memory comes from.  `alloc` returns `size` bytes aligned to 64, or NULL; `release` gets what alloc returned.
 * Both may be called from several threads at once: those that share the context, and the one that writes a training
 * run's checkpoints. */
typedef struct rf_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} rf_allocator;

enum { RF_MAX_THREADS = 1024 };

/* Structs of options begin with their size, which the one call that fills in the defaults sets: rf_ctx_defaults(&o) and
 * its like.  So a program goes on working with a later library whose struct has more members at its end; a struct that
 * was not filled in is refused (RF_EARG). */
typedef struct rf_ctx_options {
    size_t size;              /* of this struct, set by rf_ctx_defaults                                        */
    rf_allocator allocator;   /* of both functions; both NULL: the C library's                                 */
    int threads;              /* workers inside one call; 0, rf_processors(), at most RF_MAX_THREADS           */
    const char *isa;          /* highest rung of the kernel ladder: "ref", or a name of rungs.def; NULL: the best   */
    const char *products;     /* NULL or "built-in", which mean the same; programs of 0.2 may name it             */
    const char *dictionary;   /* of Chinese words, compiled, for tokenizers whose folder has none; NULL: none    */
} rf_ctx_options;

void rf_ctx_options_init(rf_ctx_options *o, size_t size);
#define rf_ctx_defaults(o) rf_ctx_options_init((o), sizeof *(o))

/* Makes a context.
 *
 *   options    NULL means all defaults; copied
 *   out        the context, freed with rf_ctx_free; untouched on error
 *   RF_EARG    options that were not filled in, half an allocator, threads < 0 or > RF_MAX_THREADS, an isa that is no
 *              rung of this machine, or products other than "built-in"
 *   RF_ENOMEM  the allocator gave nothing                                                                      */
rf_status rf_ctx_new(const rf_ctx_options *options, rf_ctx **out, rf_error *why);
void rf_ctx_free(rf_ctx *ctx);

int rf_ctx_threads(const rf_ctx *ctx);

/* Processors that this process may run on, at least 1, on machines of any size. */
int rf_processors(void);

const char *rf_ctx_isa(const rf_ctx *ctx);     /* the rung in use, static storage */

#ifdef __cplusplus
}
#endif
#endif
