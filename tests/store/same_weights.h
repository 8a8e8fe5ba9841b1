/* same_weights.h — weights that another program wrote, compared with the same ones in safetensors. */
#ifndef T_SAME_WEIGHTS_H
#define T_SAME_WEIGHTS_H

#include "one_context.h"
#include "store/store.h"

static rf_weights *opened(const char *path)
{
    rf_weights *w = NULL;
    rf_error why = {0};
    if (rf_weights_open(ctx, path, &w, &why)) fail_msg("%s: %s", path, why.text);
    return w;
}

/* Every tensor of `expected` is in `w` with the same shape and the same bits, except copies of the words and tensors
 * whose names contain `computed`, which may be left out. Returns the number of tensors that were compared. */
static int same_tensors(const char *name, rf_weights *w, rf_weights *expected, const char *computed)
{
    int found = 0;
    for (size_t k = 0; k < rf_weights_count(expected); k++) {
        const rf_weight *e = rf_weights_at(expected, k), *t = rf__weights_find(w, e->name);
        if (!t && (strstr(e->name, computed) || strstr(e->name, "cls.predictions.decoder"))) continue;
        if (!t) fail_msg("%s: no %s", name, e->name);
        assert_int_equal(t->rank, e->rank);
        for (int d = 0; d < e->rank; d++) assert_int_equal(t->dim[d], e->dim[d]);
        float *x = t_floats((int64_t)e->count), *y = t_floats((int64_t)e->count);
        rf_error why = {0};
        if (rf__weights_read(w, t, x, 1, &why) || rf__weights_read(expected, e, y, 1, &why)) fail_msg("%s", why.text);
        assert_memory_equal(x, y, e->count * sizeof *x);
        rf__weights_forget(w, t);
        found++;
    }
    return found;
}

#endif
