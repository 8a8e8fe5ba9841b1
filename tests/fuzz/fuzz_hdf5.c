/* fuzz_hdf5.c — arbitrary bytes as tf_model.h5: an error with a message, or tensors inside the file.  Bytes without the
 * signature are placed after one. */
#include <stdlib.h>

#include "store/store.h"

static void parse(const unsigned char *at, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf__header h;
    rf_error why = {0};
    const rf_status s = rf__hdf5_read(ctx, at, size, "file", &h, &why);
    if (s != why.code || (s && !*why.text)) abort();
    for (size_t i = 0; !s && i < h.count; i++) {
        const unsigned char *from = h.tensor[i].data;
        if (from < at || h.tensor[i].bytes > size || from > at + size - h.tensor[i].bytes) abort();
        if (!*h.tensor[i].dtype) abort();
        const rf__dtype *type = rf__dtype_of(h.tensor[i].dtype);
        if (h.tensor[i].readable && (!type || h.tensor[i].bytes / (type->bits / 8) != h.tensor[i].count)) abort();
    }
    if (!s) rf__header_clear(ctx, &h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char begin[24] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n', 0, 0, 0, 0, 0, 8, 8, 0,
                                            4,    0,   16,  0,   0,    0,    0,    0};
    if (rf__hdf5_is(data, size)) {
        parse(data, size);
        return 0;
    }
    unsigned char *file = malloc(size + sizeof begin);
    if (!file) abort();
    memcpy(file, begin, sizeof begin);
    if (size) memcpy(file + sizeof begin, data, size);
    parse(file, size + sizeof begin);
    free(file);
    return 0;
}
