/* status.h — the status that every call that can fail returns, and the error message.
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
 * initialized has no defined content after a call.
 *
 * threads   only values: safe everywhere */
#ifndef ROFORMER_STATUS_H
#define ROFORMER_STATUS_H

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "big endian: roformer reads and writes numbers in the processor's order; build for a little-endian machine"
#endif

#ifdef __cplusplus
extern "C" {
#endif

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

#if defined(__GNUC__)
#define RF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define RF_PRINTF(fmt, args)
#endif

/* Fills in `why` (if not NULL) and returns `code`, so that a failing line reads `return rf_fail(why, RF_EDATA, ...)`.
 * If `why` already holds a failure, it is kept: the first failure is the cause. */
rf_status rf_fail(rf_error *why, rf_status code, const char *format, ...) RF_PRINTF(3, 4);

#ifdef __cplusplus
}
#endif
#endif
