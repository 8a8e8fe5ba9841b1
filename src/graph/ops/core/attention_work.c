/* attention_work.c — the arithmetic of an attention.
 *
 *     pairs (2 (D + E) + 2 D)         scores and sums of values of each head; the backward pass takes twice as much
 *     3 r                             rotation of a head's r columns, of each query and key
 *     2 D met + pairs                 vectors of offsets: a product for each offset that is met, a sum for each pair
 *     pairs                           a number for each offset */
#include "graph/ops/core/attention_work.h"

int64_t rf__attention_keys(const rf_attention_spec *p, int64_t b)
{
    if (p->seen) return p->seen[b];
    const int32_t *start = p->key_value ? p->key_start : p->start;
    return p->past ? p->past->count[b] : start[b + 1] - start[b];
}

/* Pairs of a query and a key that it sees, in sequence b. */
static double pairs_of(const rf_attention_spec *p, int64_t b)
{
    const int64_t T = p->start[b + 1] - p->start[b], K = rf__attention_keys(p, b);
    double sum = 0;
    if (!p->causal && !p->window) return (double)T * (double)K;
    for (int64_t t = 0; t < T; t++) {
        const int64_t n = p->seen ? t : K - T + t, first = p->window ? rf__max64(0, n - p->window) : 0;
        const int64_t last = p->causal ? rf__max64(n, (p->prefixes ? p->prefixes[b] : p->prefix) - 1) : n + p->window;
        sum += (double)rf__max64(rf__min64(last, K - 1) - first + 1, 0);
    }
    return sum;
}

void rf__attention_count(rf_graph *g, const rf_attention_spec *p, int64_t D, int64_t E, int times)
{
    const double H = (double)p->heads, G = (double)(p->kv_heads ? p->kv_heads : p->heads);
    const double rotated = p->rope ? 3 * (double)rf_rope_spec_of(p->rope)->rotary : 0;
    const int tables = (p->relative_query != NULL) + (p->relative_key != NULL) + (p->relative_value != NULL);
    for (int64_t b = 0; b < p->B; b++) {
        const double T = (double)(p->start[b + 1] - p->start[b]), pairs = pairs_of(p, b);
        const double met = (double)rf__min64(2 * p->clip + 1, rf__attention_keys(p, b));
        g->flops += times * pairs * H * (double)(4 * D + 2 * E);
        g->others += T * rotated * (H + G * (p->rotate_value ? 2 : 1));
        g->others += H * (tables * (2 * T * met * (double)D + pairs) + (p->relative_bias ? pairs : 0));
    }
}
