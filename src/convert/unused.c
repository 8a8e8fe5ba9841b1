/* unused.c — reads, and reads back, the tensors that a conversion only passes on. */
#include "convert/unused.h"
#include "store/store.h"

/* The numbers of a tensor, or (codes) the integers of one in int8; NULL: no memory, or *status. */
static float *numbers(const rf_ctx *ctx, const rf_weights *w, const rf_weight *t, bool codes, rf_status *status,
                      rf_error *why)
{
    float *x = rf__alloc(ctx, (t->count ? t->count : 1) * sizeof *x);
    int8_t *q = codes ? rf__alloc(ctx, t->count ? t->count : 1) : NULL;
    if (!x || (codes && !q)) *status = rf_fail(why, RF_ENOMEM, "out of memory: %zu numbers", t->count);
    else if (!codes) *status = rf__weights_read(w, t, x, 1, why);
    else rf__weights_codes(t, q);
    for (size_t i = 0; q && x && i < t->count; i++) x[i] = q[i];
    rf__free(ctx, q);
    if (!*status) return x;
    rf__free(ctx, x);
    return NULL;
}

bool rf__unused_whole(const rf_weights *w, const rf_weight *t)
{
    const rf__dtype *d = rf__dtype_of(t->dtype);
    return d && d->bits % 8 == 0 && !t->readable && !t->stride && !rf__quantized_scale(w, t) &&
           !rf__quantized_owner(w, t);
}

rf_status rf__unused_read(const rf_ctx *ctx, const rf_weights *w, const rf_type *type, rf__unused *u, rf_error *why)
{
    rf_status status = RF_OK;
    u->out = rf__calloc(ctx, u->n ? u->n : 1, sizeof *u->out);
    if (!u->out) return rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", u->n);
    for (size_t i = 0; i < u->n && !status; i++) {
        const rf_weight *t = u->tensor[i];
        const bool codes = !type && rf__quantized(t);
        if (type && rf__quantized_owner(w, t)) continue;                        /* its scales are multiplied          */
        rf_weight_out *out = &u->out[u->written];
        *out = (rf_weight_out){.name = t->name, .type = codes ? RF_I8 : type ? *type : t->type, .rank = t->rank};
        for (int k = 0; k < t->rank; k++) out->dim[k] = t->dim[k];
        if (rf__unused_whole(w, t)) {
            out->type = (rf_type)RF__AS_IT_IS;
            out->data = (const float *)(const void *)t;
            u->written++;
            continue;
        }
        out->data = numbers(ctx, w, t, codes, &status, why);
        u->written += !status;
    }
    return status;
}

void rf__unused_free(const rf_ctx *ctx, rf__unused *u)
{
    for (size_t i = 0; i < u->written; i++)
        if ((int)u->out[i].type != RF__AS_IT_IS) rf__free(ctx, (void *)(uintptr_t)u->out[i].data);
    rf__free(ctx, u->out);
    rf__free(ctx, (void *)u->tensor);
    *u = (rf__unused){0};
}

rf_status rf__unused_read_back(const rf_ctx *ctx, const rf_weights *w, const rf__unused *u, const char *path,
                               rf_error *why)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < u->written && !status; i++) {
        const rf_weight_out *out = &u->out[i];
        const rf_weight *t = rf__weights_find(w, out->name);
        if (!t)
            return rf_fail(why, RF_EDATA, "%s: expected %s in the file that was written, got none", path, out->name);
        if ((int)out->type == RF__AS_IT_IS) {
            const rf_weight *was = (const rf_weight *)(const void *)out->data;
            if (was->bytes != t->bytes || memcmp(was->data, t->data, t->bytes) != 0)
                status = rf_fail(why, RF_EDATA, "%s: %s: expected the bytes that were written, got others", path,
                                 out->name);
            continue;
        }
        float *x = numbers(ctx, w, t, out->type == RF_I8, &status, why);
        for (size_t k = 0; x && k < t->count && !status; k++)
            if (x[k] != rf__written(out->type, out->data[k]))
                status = rf_fail(why, RF_EDATA, "%s: %s: expected element %zu as it was written, got another value",
                                 path, out->name, k);
        rf__free(ctx, x);
    }
    return status;
}
