/* masked.c — pieces of text as a batch, masked as in an evaluation: roformer/inspect/positions.h, based on batch.c. */
#include "data/corpus/batch.h"
#include "roformer/inspect/positions.h"
#include "train/evaluate.h"

struct rf_masked {
    const rf_ctx *ctx;
    rf__token_kinds vocab;
    rf__masking masking;
    rf__mlm_batch batch;
    rf_masked_batch view;
};

static rf__ids ids_of(const int32_t id[]) { return (rf__ids){id, sizeof *id}; }

rf_status rf_masked_new(const rf_ctx *ctx, const rf_tokenizer *t, int64_t capacity, uint64_t seed,
                        double mlm_probability, rf_masked **out, rf_error *why)
{
    if (!(ctx && t && out)) return rf__missing("rf_masked_new", "ctx, tokenizer, out", why);
    if (capacity < RF__TEMPLATE || capacity > INT32_MAX || !(mlm_probability >= 0 && mlm_probability <= 1))
        return rf_fail(why, RF_EARG,
                       "rf_masked_new: capacity, mlm_probability: expected at least %d and 0 to 1, got %lld "
                       "and %g", (int)RF__TEMPLATE, (long long)capacity, mlm_probability);
    rf_masked *m = rf__calloc(ctx, 1, sizeof *m);
    if (!m) return rf_fail(why, RF_ENOMEM, "out of memory: a batch");
    m->ctx = ctx;
    rf_status status = rf__vocab_new(ctx, t, &m->vocab, why);
    if (!status) status = rf__vocab_needs_mask(&m->vocab, why);
    if (!status) status = rf__mlm_batch_new(ctx, capacity, &m->batch, why);
    m->masking = (rf__masking){rf__evaluation_key(seed), mlm_probability, false, &m->vocab, false};
    if (status) rf_masked_free(m);
    else *out = m;
    return status;
}

void rf_masked_free(rf_masked *m)
{
    if (!m) return;
    rf__mlm_batch_free(m->ctx, &m->batch);
    rf__vocab_free(m->ctx, &m->vocab);
    rf__free(m->ctx, m);
}

int64_t rf_masked_cut(const rf_masked *m, const int32_t id[], int64_t n, int64_t most)
{
    if (!(m && id) || n < 1 || most < 1) return 0;
    return (int64_t)rf__piece_length(ids_of(id), 0, (size_t)n, (size_t)most, m->vocab.kind);
}

int rf_masked_add(rf_masked *m, const int32_t id[], int64_t n, uint64_t stream)
{
    if (!(m && id) || n < 1 || !rf__fits(&m->batch, (size_t)n)) return 0;
    for (int64_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= m->vocab.size) return -1;
    rf__mlm_batch_add(&m->batch, ids_of(id), 0, (size_t)n, true, &m->masking, stream);
    return 1;
}

const rf_masked_batch *rf_masked_view(rf_masked *m)
{
    if (!m) return NULL;
    const rf__mlm_batch *b = &m->batch;
    m->view = (rf_masked_batch){rf__mlm_batch_view(b), b->row, b->label, b->n};
    return &m->view;
}

void rf_masked_clear(rf_masked *m)
{
    if (m) rf__mlm_batch_clear(&m->batch);
}
