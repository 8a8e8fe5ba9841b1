/* t.h — shared by all tests: contexts, fenced buffers, deterministic numbers, comparisons.
 *
 * Every test program is a cmocka group:
 *
 *     static void rotates_back(void **state) { ... }
 *     int main(void) {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(rotates_back)};
 *         return cmocka_run_group_tests_name("kernel/rope", tests, NULL, NULL);
 *     }                                                                                                              */
#ifndef T_H
#define T_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* fail and fail_msg end a test, which cmocka.h does not declare: compilers would consider the code after them
 * reachable. */
_Noreturn void _fail(const char *file, int line);

#include "base/base.h"
#include "roformer/context.h"
#include "roformer/kernel/kernels.h"

/* The default rung from the environment variable T_ISA.  NULL: the best. */
const char *t_isa(void);

/* A context of `threads` workers on rung `isa` (NULL: t_isa()); freed by the caller. */
rf_ctx *t_ctx(int threads, const char *isa);
const rf_ctx *t_shared(void);                   /* one of a single thread, which ends with the program */

/* A context whose allocator counts allocations after its creation, and fails allocation number `fail` (1 is the first;
 * 0: none), and all later ones if `forever`. */
typedef struct t_memory { long calls, live; size_t bytes, peak; long fail; bool forever; } t_memory;
rf_ctx *t_counting_ctx(int threads, const char *isa, t_memory *memory);

/* Calls `body` with contexts whose n-th allocation fails, alone or with all later ones, for n = 1, 2, ... until a call
 * has fewer.  A call whose allocations fail returns RF_ENOMEM; if only one fails, it may do without it and return
 * RF_OK.  Each call frees everything.  Returns how many succeeded without it. */
typedef rf_status t_body(const rf_ctx *ctx, void *arg, rf_error *why);
long t_fail_allocations(int threads, const char *isa, t_body *body, void *arg);

/* Buffers with fences at their ends: t_check_fences fails the test if something was written outside of one.  t_free_all
 * frees all of them (call it last in a test). */
float *t_floats(int64_t n);                                   /* filled with NaN                                    */
float *t_uniform(int64_t n, float low, float high);           /* a new deterministic stream for every call          */
float *t_normal(int64_t n);
void *t_bytes(size_t n);
void t_check_fences(void);
void t_free_all(void);

/* a b + c, rounded once. MinGW's fmaf rounds twice: there the sum is rounded to odd in double first. */
float t_fmaf(float a, float b, float c);

/* |got - expected| <= absolute + relative |expected| for all n; the message names the worst element. */
void t_close(const float *got, const float *expected, int64_t n, double absolute, double relative);
void t_close_to(const float *got, const double *expected, int64_t n, double absolute, double relative);
void t_near(double got, double expected, double absolute);

/* A failure with this code whose message contains `part`: where, the key and the values, with "..." for the words
 * between them. */
void t_failed(const rf_error *why, rf_status code, const char *part);

/* UTF-8 of one scalar by the standard (Unicode 15, table 3-6); returns its length. */
size_t t_put_scalar(uint32_t c, char *to);

/* The folder of real data, or NULL (then the test prints that it is skipped). */
const char *t_data(void);

/* A new folder in the build's temporary folder, removed at exit; static storage until the next call. */
const char *t_folder(void);
void t_write(const char *folder, const char *name, const void *data, size_t size);

#endif
