/* fuzz_tensorflow.c — arbitrary bytes as the index of a TensorFlow checkpoint.  A file with the magic number is used as
 * it is; otherwise the bytes are a block of entries, to which the checksum and the rest of a table are added. */
#include <stdlib.h>

#include "store/formats/tensorflow/tensorflow.h"

static void visit(const rf_ctx *ctx, const rf__bundle *b, rf__bytes data)
{
    rf__bundle_model m;
    rf_error why = {0};
    if (rf__bundle_examine(b, "index", &m, &why) && !*why.text) abort();
    for (uint64_t s = 0; s < b->shards && s < 3; s++) {
        rf__header h;
        if (!rf__bundle_values(b, "bert.", s, data, "data", &h, &why))
            for (size_t i = 0; i < h.count; i++) {
                const rf_weight *t = &h.tensor[i];
                const unsigned char *from = t->data;
                if (from < data.at || t->bytes > data.size || from > data.at + data.size - t->bytes) abort();
            }
        rf__header_clear(ctx, &h);
    }
}

static void parse(const unsigned char *at, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf__bundle b;
    rf_error why = {0};
    const rf_status s = rf__bundle_parse(ctx, (rf__bytes){at, size}, "index", &b, &why);
    if (s != why.code || (s && !*why.text)) abort();
    if (!s) visit(ctx, &b, (rf__bytes){at, size});
    rf__bundle_clear(&b);
}

static unsigned char *put32(unsigned char *to, uint32_t x)
{
    for (int i = 0; i < 4; i++) *to++ = (unsigned char)(x >> (8 * i));
    return to;
}

/* Type and checksum of the block that ends at `to`. */
static unsigned char *end_block(unsigned char *begin, unsigned char *to)
{
    *to++ = 0;
    return put32(to, rf__masked_crc(rf__crc32c(0, begin, (size_t)(to - begin))));
}

static unsigned char *varint(unsigned char *to, uint64_t x)
{
    for (; x > 127; x >>= 7) *to++ = (unsigned char)((x & 127) | 128);
    *to++ = (unsigned char)x;
    return to;
}

/* A table of which the first block is `size` bytes of data. */
static size_t make(unsigned char *file, const uint8_t *data, size_t size)
{
    if (size) memcpy(file, data, size);
    unsigned char *empty = end_block(file, file + size), *index = end_block(empty, put32(empty, 0)), handle[20];
    const size_t n = (size_t)(varint(varint(handle, 0), size) - handle);
    unsigned char *to = varint(varint(varint(index, 0), 0), n);
    memcpy(to, handle, n);
    unsigned char *end = put32(put32(to + n, 0), 1), *footer = end_block(index, end);
    to = varint(varint(varint(varint(footer, (uint64_t)(empty - file)), 4), (uint64_t)(index - file)),
                (uint64_t)(end - index));
    while (to < footer + 40) *to++ = 0;
    memcpy(to, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    return (size_t)(to + 8 - file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (rf__table_is(data, size)) {
        parse(data, size);
        return 0;
    }
    unsigned char *file = malloc(size + 256);
    if (!file) abort();
    parse(file, make(file, data, size));
    free(file);
    return 0;
}
