/* reader_in_memory.h — readers of data in memory, their documents, compressed data; of test_reader.c, test_source.c. */
#ifndef READER_IN_MEMORY_H
#define READER_IN_MEMORY_H

#include <zlib.h>
#include <zstd.h>

#include "roformer/inspect/files.h"
#include "one_context.h"
#include "data/documents/reader.h"

static inline rf_reader *reader(const void *data, size_t size, const char *name, const rf_reader_options *o)
{
    rf_reader *r = NULL;
    rf_error why = {0};
    if (rf__reader_from_memory(ctx, data, size, name, o, &r, &why)) fail_msg("%s", why.text);
    return r;
}

/* All documents, each in brackets; a piece that continues one begins with '+'. */
static inline const char *all(rf_reader *r, rf_error *why)
{
    static char text[1 << 16];
    size_t n = 0;
    rf_document d;
    text[0] = 0;
    while (!rf_reader_next(r, &d, why) && d.text)
        if (n + d.size + 4 < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s]", d.continues ? "+[" : "[", (int)d.size, d.text);
    return text;
}

static inline void gives(const char *data, const char *name, const rf_reader_options *o, const char *expected)
{
    rf_error why = {0};
    rf_reader *r = reader(data, strlen(data), name, o);
    const char *got = all(r, &why);
    if (why.code) fail_msg("%s: %s", data, why.text);
    assert_string_equal(got, expected);
    rf_reader_close(r);
}

static inline void refuses_bytes(const void *data, size_t size, const char *name, const rf_reader_options *o,
                                 rf_status code, const char *part)
{
    rf_error why = {0}, again = {0};
    rf_reader *r = reader(data, size, name, o);
    rf_document d;
    all(r, &why);
    t_failed(&why, code, part);
    assert_int_equal(rf_reader_next(r, &d, &again), code);         /* the failure stays */
    assert_string_equal(again.text, why.text);
    assert_null(d.text);
    rf_reader_close(r);
}

static inline void refuses(const char *data, const char *name, const rf_reader_options *o, rf_status code,
                           const char *part)
{
    refuses_bytes(data, strlen(data), name, o, code, part);
}

static inline void *gzipped(const char *text, size_t n, size_t *size)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    *size = deflateBound(&z, n);
    unsigned char *to = t_bytes(*size);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = to;
    z.avail_out = (uInt)*size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return to;
}

static inline void *zstandard(const char *text, size_t n, size_t *size)
{
    const size_t capacity = ZSTD_compressBound(n);
    void *to = t_bytes(capacity);
    *size = ZSTD_compress(to, capacity, text, n, 3);
    assert_false(ZSTD_isError(*size));
    return to;
}

#endif
