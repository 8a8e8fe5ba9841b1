/* tied_head.c — whether logits have a matrix of their own, where the weights decide (rf_family_config.head_in_file).
 *
 * transformers' classes of T5 tie the matrix of logits to the word embeddings whatever tie_word_embeddings says, unless
 * the file has such a matrix with other numbers. */
#include "store/family.h"
#include "store/store.h"
#include "store/tensors.h"

rf_status rf__weights_equal(const rf_ctx *ctx, const rf_weights *w, const rf_weight *a, const rf_weight *b, bool *same,
                            rf_error *why)
{
    *same = a->rank == b->rank;
    for (int i = 0; *same && i < a->rank; i++) *same = a->dim[i] == b->dim[i];
    if (!*same || a->data == b->data) return RF_OK;
    if (!a->stride && !b->stride && !strcmp(a->dtype, b->dtype) && a->bytes == b->bytes) {
        *same = !memcmp(a->data, b->data, a->bytes);
        return RF_OK;
    }
    float *x = rf__alloc(ctx, a->count * sizeof *x), *y = rf__alloc(ctx, b->count * sizeof *y);
    rf_status status = x && y ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: two tables of %zu numbers", a->count);
    if (!status) status = rf__weights_read(w, a, x, 0, why);
    if (!status) status = rf__weights_read(w, b, y, 0, why);
    if (!status) *same = !memcmp(x, y, a->count * sizeof *x);
    rf__free(ctx, x);
    rf__free(ctx, y);
    return status;
}

/* Weights that cannot be opened are reported by the code that loads them. */
rf_status rf__tied_head_read(const rf_ctx *ctx, const char *folder, rf_config *c, rf_error *why)
{
    const rf_family_config *f = rf__config_family(c);
    rf_weights *w;
    bool same = true;
    if (!f->head_in_file || !c->is_encoder_decoder || rf_weights_open(ctx, folder, &w, NULL)) return RF_OK;
    const rf_weight *head = rf__weights_find(w, f->head_in_file), *word = NULL;
    for (const char *const *name = f->word_names; head && *name && !word; name++) word = rf__weights_find(w, *name);
    const rf_status status = head && word ? rf__weights_equal(ctx, w, head, word, &same, why) : RF_OK;
    rf_weights_close(w);
    c->tie_word_embeddings = same;
    return status;
}
