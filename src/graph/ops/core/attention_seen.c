/* attention_seen.c — attention where only the first tokens of a sequence are keys (rf_attention_spec.seen). */
#include "graph/ops/core/attention_work.h"

bool rf__attention_seen_fits(rf_graph *g, const rf_attention_spec *p)
{
    if (!p->seen) return true;
    const bool tables = p->relative_query || p->relative_key || p->relative_value || p->relative_bias || p->more_query;
    if (g->record || p->causal || tables || p->key_value || p->past) {
        rf__stop(g, RF_EUNSUPPORTED, "attention: tokens that no other token attends to: expected an encoder whose "
                 "positions are added or rotated, without gradients, got %s",
                 p->causal ? "a causal model" : tables ? "relative positions" : "another");
        return false;
    }
    for (int64_t b = 0; b < p->B; b++) {
        const int32_t n = p->start[b + 1] - p->start[b];
        if (p->seen[b] >= 0 && p->seen[b] <= n) continue;
        rf__stop(g, RF_ERANGE, "attention: keys of sequence %lld: expected 0 to %d, got %d", (long long)b, (int)n,
                 (int)p->seen[b]);
        return false;
    }
    return true;
}

static void run(const rfk_table *k, bool bf16, const rfk_attention *p, int64_t first, int64_t last, void *scratch)
{
    if (p->keys) (bf16 ? k->attention_bf16 : k->attention)(p, first, last, scratch);
    for (int64_t t = first; t < last && !p->keys; t++)
        memset(p->out + t * p->out_stride, 0, (size_t)p->width * sizeof *p->out);
}

/* The kernel counts a window from the last key, which is not the last query here: the keys are a problem of their own,
 * and each query after them is another, of the keys in its window. */
void rf__attention_head(const rfk_table *k, bool bf16, bool seen, const rfk_attention *p, int64_t first, int64_t last,
                        void *scratch)
{
    if (!seen || !p->window) {
        run(k, bf16, p, first, last, scratch);
        return;
    }
    rfk_attention keys = *p;
    keys.queries = p->keys;
    if (first < p->keys) run(k, bf16, &keys, first, rf__min64(last, p->keys), scratch);
    for (int64_t t = rf__max64(first, p->keys); t < last; t++) {
        const int64_t from = rf__min64(rf__max64(t - p->window, 0), p->keys);
        rfk_attention one = *p;
        one.q += t * p->q_stride;
        one.out += t * p->out_stride;
        one.k += from * p->k_stride;
        one.v += from * p->v_stride;
        if (p->q_row) one.q_row += t, one.k_row += from;
        one.lse = NULL;
        one.queries = 1;
        one.keys = p->keys - from;
        one.window = 0;
        run(k, bf16, &one, 0, 1, scratch);
    }
}
