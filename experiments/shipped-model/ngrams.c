/* ngrams.c — see ngrams.h.  A trigram is a 48-bit number (a, b, w): when sorted, all successors of (a, b) are
 * adjacent. */
#include "ngrams.h"

#include <stdlib.h>
#include <string.h>

/* Distinct keys in ascending order with their counts. */
typedef struct table { uint64_t *key; uint32_t *count; size_t n; } table;

struct ngrams { int32_t V; double tokens; double *unigram; table pair, triple; };

static void radix_sort(uint64_t *x, uint64_t *spare, size_t n, int bits)
{
    static size_t at[65536];
    for (int shift = 0; shift < bits; shift += 16) {
        memset(at, 0, sizeof at);
        for (size_t i = 0; i < n; i++) at[x[i] >> shift & 0xffff]++;
        size_t sum = 0;
        for (size_t d = 0; d < 65536; d++) {
            const size_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++) spare[at[x[i] >> shift & 0xffff]++] = x[i];
        uint64_t *swap = x;
        x = spare;
        spare = swap;
    }
    if (bits / 16 % 2) memcpy(spare, x, n * sizeof *x);      /* an odd number of passes ends in the other array */
}

static int tabulate(table *t, uint64_t *key, size_t n, int bits)
{
    uint64_t *spare = malloc((n ? n : 1) * sizeof *spare);
    if (!spare) return 0;
    radix_sort(key, spare, n, bits);
    free(spare);
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) distinct += !i || key[i] != key[i - 1];
    t->key = malloc((distinct ? distinct : 1) * sizeof *t->key);
    t->count = calloc(distinct ? distinct : 1, sizeof *t->count);
    if (!t->key || !t->count) return 0;
    for (size_t i = 0; i < n; i++) {
        if (!i || key[i] != key[i - 1]) t->key[t->n++] = key[i];
        t->count[t->n - 1]++;
    }
    return 1;
}

ngrams *ngrams_count(const uint16_t *token, const size_t *start, size_t documents, int32_t V, int reversed)
{
    const size_t N = start[documents];
    ngrams *n = calloc(1, sizeof *n);
    uint64_t *key = malloc((N ? N : 1) * sizeof *key);
    if (!n || !key || !(n->unigram = calloc((size_t)V, sizeof *n->unigram))) goto failed;
    n->V = V;
    n->tokens = (double)N;
    for (size_t i = 0; i < N; i++) n->unigram[token[i]]++;
    for (int32_t w = 0; w < V; w++) n->unigram[w] = (n->unigram[w] + 1) / (n->tokens + V);

    for (int order = 2; order <= 3; order++) {
        size_t m = 0;
        for (size_t d = 0; d < documents; d++) {
            const size_t T = start[d + 1] - start[d];
            const uint16_t *x = token + start[d];
            for (size_t i = (size_t)order - 1; i < T; i++) {
                uint64_t k = 0;
                for (size_t j = 0; j < (size_t)order; j++) {
                    const size_t at = i - ((size_t)order - 1) + j;
                    k = k << 16 | x[reversed ? T - 1 - at : at];
                }
                key[m++] = k;
            }
        }
        if (!tabulate(order == 2 ? &n->pair : &n->triple, key, m, 16 * order)) goto failed;
    }
    free(key);
    return n;
failed:
    free(key);
    ngrams_free(n);
    return NULL;
}

void ngrams_free(ngrams *n)
{
    if (!n) return;
    free(n->unigram);
    free(n->pair.key);
    free(n->pair.count);
    free(n->triple.key);
    free(n->triple.count);
    free(n);
}

static size_t lower_bound(const table *t, uint64_t key)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->key[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* p = (counts after `context` + T p) / (c + T) */
static void refine(const table *t, uint64_t context, int32_t V, double *p)
{
    const size_t first = lower_bound(t, context << 16), last = lower_bound(t, (context + 1) << 16);
    if (first == last) return;
    double c = 0;
    const double T = (double)(last - first);
    for (size_t i = first; i < last; i++) c += t->count[i];
    for (int32_t w = 0; w < V; w++) p[w] *= T / (c + T);
    for (size_t i = first; i < last; i++) p[t->key[i] & 0xffff] += t->count[i] / (c + T);
}

void ngrams_predict(const ngrams *n, int order, int32_t a, int32_t b, double *p)
{
    memcpy(p, n->unigram, (size_t)n->V * sizeof *p);
    if (order < 2 || b < 0) return;
    refine(&n->pair, (uint64_t)b, n->V, p);
    if (order < 3 || a < 0) return;
    refine(&n->triple, (uint64_t)a << 16 | (uint64_t)b, n->V, p);
}
