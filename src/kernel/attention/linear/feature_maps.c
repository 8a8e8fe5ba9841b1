/* feature_maps.c — the list of feature maps, random features, and the exponentials that several maps use. */
#include <math.h>

#include "kernel/attention/linear/feature_maps.h"

const rfk__feature_map *const rfk__feature_map_list[] = {
#define RFM(name) &rfk__map_##name,
#include "kernel/attention/linear/feature_maps.def"
#undef RFM
    NULL,
};

const rfk__feature_map *rfk__feature_map_named(const char *name)
{
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        if (!strcmp((*m)->name, name)) return *m;
    return NULL;
}

int64_t rfk__default_features(int64_t width)
{
    return rf__max64(1, (int64_t)((double)width * log((double)width)));
}

/* ---- random features --------------------------------------------------------------------------------------------- */

static double inner(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Makes a Gaussian row orthogonal to the rows before it and normalizes it.  Orthogonalization runs twice, because one
 * pass leaves a rounding error.  In the rare case that nothing of the row is left, the next random numbers are used. */
static void orthogonal_row(rf_rng *r, double *basis, int64_t i, int64_t width)
{
    double *row = basis + i * width, length = 0;
    while (!(length > 1e-6)) {
        for (int64_t j = 0; j < width; j++) row[j] = (double)rf_rng_normal(r);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t before = 0; before < i; before++) {
                const double along = inner(row, basis + before * width, width);
                for (int64_t j = 0; j < width; j++) row[j] -= along * basis[before * width + j];
            }
        length = sqrt(inner(row, row, width));
    }
    for (int64_t j = 0; j < width; j++) row[j] /= length;
}

void rfk__random_features(uint64_t seed, uint64_t stream, int64_t features, int64_t width, float *w, double *work)
{
    rf_rng r;
    rf_rng_init(&r, seed, stream);
    for (int64_t i = 0; i < features; i++) {
        orthogonal_row(&r, work, i % width, width);
        double squares = 0;
        for (int64_t j = 0; j < width; j++) {
            const double x = (double)rf_rng_normal(&r);
            squares += x * x;
        }
        for (int64_t j = 0; j < width; j++)
            w[i * width + j] = (float)(sqrt(squares) * work[i % width * width + j]);
    }
}

/* ---- powers ------------------------------------------------------------------------------------------------------ */

static const double ln2 = 0.693147180559945309;

void rfk__query_powers(const rfk__mapping *m, float *u, float h)
{
    m->k->exp(u, u, h + m->k->largest(u, m->features), m->epsilon, m->features);
}

/* epsilon in the unit of the key. */
static float epsilon_of(const rfk__mapping *m)
{
    return m->epsilon > 0 ? (float)(m->epsilon * exp(m->top - m->exponent * ln2)) : 0;
}

void rfk__key_powers(const rfk__mapping *m, float *u, float h)
{
    m->k->exp(u, u, (float)(h + m->exponent * ln2), epsilon_of(m), m->features);
}

float rfk__query_powers_back(const rfk__mapping *m, float *dy, const float *y)
{
    return m->k->mul_less(dy, y, m->epsilon, m->features);
}

float rfk__key_powers_back(const rfk__mapping *m, float *dy, const float *y)
{
    return m->k->mul_less(dy, y, epsilon_of(m), m->features);
}
