/* letters.c — the most frequent characters, sorted twice (heapsort): by frequency for the selection, then by scalar. */
#include "letters.h"

/* Whether p comes after q: by count (largest first, then by scalar), or by scalar. */
static bool after(const rf_letter *p, const rf_letter *q, bool by_count)
{
    return by_count && p->count != q->count ? p->count < q->count : p->c > q->c;
}

static void sift(rf_letter *x, size_t i, size_t n, bool by_count)
{
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        if (k + 1 < n && after(&x[k + 1], &x[k], by_count)) k++;
        if (!after(&x[k], &x[i], by_count)) break;
        const rf_letter t = x[i];
        x[i] = x[k];
        x[k] = t;
    }
}

static void sort(rf_letter *x, size_t n, bool by_count)
{
    for (size_t i = n / 2; i-- > 0;) sift(x, i, n, by_count);
    for (size_t m = n; m > 1;) {
        const rf_letter t = x[0];
        x[0] = x[--m];
        x[m] = t;
        sift(x, 0, m, by_count);
    }
}

rf_letter *rf__letters(const rf_ctx *ctx, const uint64_t count[], size_t limit, uint64_t least, size_t *n)
{
    size_t all = 0, k = 0;
    for (size_t c = 0; c < RF_SCALARS; c++) all += count[c] >= least;
    rf_letter *x = rf__alloc(ctx, (all + 1) * sizeof *x);
    if (!x) return NULL;
    for (uint32_t c = 0; c < RF_SCALARS; c++)
        if (count[c] >= least) x[k++] = (rf_letter){c, count[c]};
    sort(x, all, true);
    *n = all < limit ? all : limit;
    sort(x, *n, false);
    return x;
}
