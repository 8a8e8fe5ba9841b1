/* values.c — the tensors of one shard of a checkpoint, under transformers' names; nothing is copied. */
#include <stdio.h>
#include <stdlib.h>

#include "store/formats/tensorflow/tensorflow.h"

enum { LONGER = 64 };                   /* a name in transformers, than in TensorFlow: at most */

/* A variable's bytes are in the shard, and as many as its shape and type say. */
static rf_status check(const rf__variable *v, size_t size, const char *file, size_t *count, rf_error *why)
{
    const rf__label name = rf__printable(v->name);
    size_t bits;
    *count = 1;
    for (int d = 0; d < v->rank; d++)
        if ((uint64_t)v->dim[d] > SIZE_MAX || !rf__checked_mul(*count, (size_t)v->dim[d], count))
            return rf_fail(why, RF_EDATA, "%s: variable \"%s\": expected a shape of at most 2^64 elements, got more",
                           file, name.text);
    if (v->offset > size || v->size > size - v->offset)
        return rf_fail(why, RF_EDATA, "%s: variable \"%s\": expected %llu bytes at byte %llu, got a file of %zu bytes",
                       file, name.text, (unsigned long long)v->size, (unsigned long long)v->offset, size);
    if (!v->dtype || v->sliced) return RF_OK;
    if (!rf__checked_mul(*count, v->dtype->bits, &bits) || bits / 8 != v->size)
        return rf_fail(why, RF_EDATA, "%s: variable \"%s\": expected %zu elements of %s, got %llu bytes", file,
                       name.text, *count, v->dtype->name, (unsigned long long)v->size);
    return RF_OK;
}

static void describe(const rf__variable *v, const unsigned char *data, size_t count, bool transpose, int64_t *stride,
                     rf_weight *t)
{
    t->dtype = v->sliced ? "a variable in slices" : v->dtype ? v->dtype->name : "another type of TensorFlow";
    t->readable = !v->sliced && v->dtype && v->dtype->readable;
    t->type = t->readable ? v->dtype->type : RF_F32;
    t->rank = v->rank;
    for (int d = 0; d < v->rank; d++) t->dim[d] = v->dim[transpose ? v->rank - 1 - d : d];
    t->count = count;
    t->bytes = (size_t)v->size;
    t->data = data + v->offset;
    if (!transpose) return;
    stride[0] = 1;
    stride[1] = v->dim[1];
    t->stride = stride;
}

static bool allocate(const rf__bundle *b, size_t n, size_t letters, rf__header *out)
{
    out->tensor = rf__calloc(b->ctx, n + 1, sizeof *out->tensor);
    out->names = rf__alloc(b->ctx, letters + 1);
    out->stride = rf__calloc(b->ctx, (n + 1) * RF_MAX_RANK, sizeof *out->stride);
    out->crc = rf__calloc(b->ctx, n + 1, sizeof *out->crc);
    return out->tensor && out->names && out->stride && out->crc;
}

rf_status rf__bundle_values(const rf__bundle *b, const char *prefix, uint64_t shard, rf__bytes data, const char *file,
                            rf__header *out, rf_error *why)
{
    size_t n = 0, letters = 0, at = 0;
    for (size_t i = 0; i < b->count; i++)
        if (b->variable[i].shard == shard && rf__bundle_is_tensor(&b->variable[i]))
            n++, letters += strlen(b->variable[i].name) + LONGER;
    *out = (rf__header){0};
    rf_status status =
        allocate(b, n, letters, out) ? RF_OK : rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu names", file, n);
    for (size_t i = 0; i < b->count && !status; i++) {
        const rf__variable *v = &b->variable[i];
        if (v->shard != shard || !rf__bundle_is_tensor(v)) continue;
        size_t count;
        bool transpose;
        rf_weight *t = &out->tensor[out->count];
        status = check(v, data.size, file, &count, why);
        t->name = out->names + at;
        rf__bundle_name(v, prefix, out->names + at, strlen(v->name) + LONGER, &transpose);
        at += strlen(t->name) + 1;
        if (!status) describe(v, data.at, count, transpose, out->stride + out->count * RF_MAX_RANK, t);
        out->crc[out->count++] = v->crc;
    }
    if (status) rf__header_clear(b->ctx, out);
    return status;
}
