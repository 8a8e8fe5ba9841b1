/* weights.h — the property of an accepted file of weights: every tensor is inside it and can be read. */
#ifndef RF_FUZZ_WEIGHTS_H
#define RF_FUZZ_WEIGHTS_H

#include <stdlib.h>

#include "store/store.h"

static inline void visit(const rf_weights *w, const uint8_t *data, size_t size)
{
    static float values[4096];
    for (size_t i = 0; i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        const uint8_t *from = t->data;
        if (from < data || t->bytes > size || from > data + size - t->bytes) abort();
        if (rf__weights_find(w, t->name) != t) abort();
        if (t->count > RF_COUNT(values)) continue;
        rf_error why = {0};
        const rf_status s = rf__weights_read(w, t, values, 1, &why);
        if (s != why.code || (s && s != RF_ENUMERIC && s != RF_EUNSUPPORTED)) abort();
        rf__weights_forget(w, t);
    }
    (void)rf__weights_metadata(w, "format");
}

/* Opens the bytes as a file of weights: rejected with a message, or all tensors are read. */
static inline void open_and_visit(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx && rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
    rf_weights *w = NULL;
    rf_error why = {0};
    const rf_status s = rf__weights_from_memory(ctx, data, size, "input", &w, &why);
    if (s != why.code || !s != (w != NULL) || (s && !*why.text)) abort();
    if (w) visit(w, data, size);
    rf_weights_close(w);
}

#endif
