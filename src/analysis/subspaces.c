/* subspaces.c — angles between the subspaces of word vectors and of position vectors: roformer/inspect/positions.h.
 *
 *     A = sum_i a_i a_i^T = Q diag(l) Q^T,   l_1 >= l_2 >= ...       [E,E] of the vectors a_i; the same for b_i
 *     U = the first k columns of Q, the fewest with l_1 + ... + l_k >= share tr A
 *     cos t_1 >= cos t_2 >= ...                                     singular values of U_a^T U_b        (Jordan 1875)
 *     overlap = mean of cos^2 t_i                                   1: one contains the other, 0: orthogonal
 *
 * For a uniformly random subspace of k_a dimensions, E overlap = max(k_a, k_b) / E.  Eigenvalues are computed by Jacobi
 * rotations. */
#include <math.h>
#include <stdlib.h>

#include "analysis/subspaces.h"
#include "base/base.h"
#include "model/model.h"
#include "roformer/context.h"

/* ---- eigenvalues ------------------------------------------------------------------------------------------------- */

/* Rotates rows p and q of the symmetric a [n,n], and its columns with v, so that a_pq becomes zero. */
static void rotate(double *a, double *v, int64_t n, int64_t p, int64_t q)
{
    const double off = a[p * n + q], tau = (a[q * n + q] - a[p * n + p]) / (2 * off),
                 t = (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau)), c = 1 / sqrt(1 + t * t), s = t * c;
    double *x = a + p * n, *y = a + q * n;
    for (int64_t i = 0; i < n; i++) {
        const double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double old = a[i * n + p];
        a[i * n + p] = c * old - s * a[i * n + q];
        a[i * n + q] = s * old + c * a[i * n + q];
    }
    for (int64_t i = 0; i < n && v; i++) {                          /* rows of v are eigenvectors */
        const double old = v[p * n + i];
        v[p * n + i] = c * old - s * v[q * n + i];
        v[q * n + i] = s * old + c * v[q * n + i];
    }
}

/* Makes a [n,n] diagonal; the rows of v [n,n], or NULL, become its eigenvectors. */
static void diagonalise(double *a, double *v, int64_t n)
{
    double whole = 0, off = INFINITY;
    for (int64_t i = 0; i < n * n; i++) whole += a[i] * a[i];
    for (int64_t i = 0; i < n * n && v; i++) v[i] = i % (n + 1) ? 0 : 1;
    for (int sweep = 0; sweep < 60 && off > 1e-28 * whole; sweep++) {
        off = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                const double x = a[p * n + q];
                off += x * x;
                if (x * x > 1e-34 * whole) rotate(a, v, n, p, q);
            }
    }
}

/* ---- subspaces --------------------------------------------------------------------------------------------------- */

typedef struct ranked { double value; int64_t at; } ranked;

static int larger(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return x > y ? -1 : x < y;
}

/* basis [k,E] of the vectors x [n,E], k of them; -1: out of memory. */
static int64_t principal(const rf_ctx *ctx, const float *x, int64_t n, int64_t E, double share, double *basis)
{
    double *a = rf__calloc(ctx, (size_t)(E * E), sizeof *a), *v = rf__calloc(ctx, (size_t)(E * E), sizeof *v);
    ranked *order = rf__calloc(ctx, (size_t)E, sizeof *order);
    int64_t k = -1;
    if (a && v && order) {
        double trace = 0, held = 0;
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < E; i++) {
                const double xi = (double)x[r * E + i];
                for (int64_t j = i; j < E && (xi > 0 || xi < 0); j++) a[i * E + j] += xi * (double)x[r * E + j];
            }
        for (int64_t i = 0; i < E; i++)
            for (int64_t j = 0; j < i; j++) a[i * E + j] = a[j * E + i];
        diagonalise(a, v, E);
        for (int64_t i = 0; i < E; i++) {
            order[i] = (ranked){fmax(a[i * E + i], 0), i};
            trace += order[i].value;
        }
        qsort(order, (size_t)E, sizeof *order, larger);
        for (k = 0; k < E && trace > 0 && held < share * trace * (1 - 1e-12); k++) {
            held += order[k].value;
            memcpy(basis + k * E, v + order[k].at * E, (size_t)E * sizeof *basis);
        }
    }
    rf__free(ctx, order);
    rf__free(ctx, v);
    rf__free(ctx, a);
    return k;
}

/* cosine [min(ka, kb)], largest first, of the subspaces that the rows of a and b span; workspace: ka kb + k k
 * numbers. */
static void angles(const double *a, int64_t ka, const double *b, int64_t kb, int64_t E, double *workspace,
                   double *cosine)
{
    const bool swap = ka > kb;
    const double *few = swap ? b : a, *many = swap ? a : b;
    const int64_t k = swap ? kb : ka, others = swap ? ka : kb;
    double *c = workspace, *square = workspace + k * others;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < others; j++) {
            double sum = 0;
            for (int64_t e = 0; e < E; e++) sum += few[i * E + e] * many[j * E + e];
            c[i * others + j] = sum;
        }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = 0;
            for (int64_t e = 0; e < others; e++) sum += c[i * others + e] * c[j * others + e];
            square[i * k + j] = sum;
        }
    diagonalise(square, NULL, k);
    for (int64_t i = 0; i < k; i++) cosine[i] = sqrt(fmin(fmax(square[i * (k + 1)], 0), 1));
    for (int64_t i = 1; i < k; i++)
        for (int64_t j = i; j > 0 && cosine[j] > cosine[j - 1]; j--) {
            const double t = cosine[j];
            cosine[j] = cosine[j - 1];
            cosine[j - 1] = t;
        }
}

static double overlap(const double *cosine, int64_t k)
{
    double sum = 0;
    for (int64_t i = 0; i < k; i++) sum += cosine[i] * cosine[i];
    return k ? sum / (double)k : 0;
}

/* A uniformly random subspace: normal rows, orthonormalized (Gram-Schmidt, twice). */
static void draw(rf_rng *random, int64_t k, int64_t E, double *basis)
{
    for (int64_t i = 0; i < k; i++) {
        double *x = basis + i * E, norm = 0;
        for (int64_t e = 0; e < E; e++) x[e] = (double)rf_rng_normal(random);
        for (int64_t j = 0; j < 2 * i; j++) {
            const double *y = basis + j % i * E;
            double sum = 0;
            for (int64_t e = 0; e < E; e++) sum += x[e] * y[e];
            for (int64_t e = 0; e < E; e++) x[e] -= sum * y[e];
        }
        for (int64_t e = 0; e < E; e++) norm += x[e] * x[e];
        for (int64_t e = 0; e < E; e++) x[e] /= sqrt(norm);
    }
}

/* The result for random subspaces of the same dimensions.  Only one of the two is drawn; the other may be arbitrary. */
static void compare(const double *b, int64_t ka, int64_t kb, int64_t E, double *basis, double *workspace,
                    double *cosine, rf_subspaces *out)
{
    enum { DRAWS = 32 };
    const int64_t k = out->angles;
    double sum = 0, square = 0;
    for (int d = 0; d < DRAWS && k; d++) {
        rf_rng random;
        rf_rng_init(&random, 1, (uint64_t)d);
        draw(&random, ka, E, basis);
        angles(basis, ka, b, kb, E, workspace, cosine);
        const double one = overlap(cosine, k);
        sum += one / DRAWS;
        square += one * one / DRAWS;
        for (int64_t i = 0; i < k; i++) out->random_cosine[i] += cosine[i] / DRAWS;
    }
    out->random_overlap = sum;
    out->random_deviation = sqrt(fmax(square - sum * sum, 0));
}

rf_status rf__subspace_angles(const rf_ctx *ctx, const float *a, int64_t na, const float *b, int64_t nb, int64_t E,
                              double share, rf_subspaces *out, rf_error *why)
{
    *out = (rf_subspaces){.positions = na, .words = nb, .width = E, .share = share};
    const size_t square = (size_t)(E * E);
    double *one = rf__calloc(ctx, square, sizeof *one), *other = rf__calloc(ctx, square, sizeof *other),
           *workspace = rf__calloc(ctx, 2 * square, sizeof *workspace),
           *cosine = rf__calloc(ctx, (size_t)E, sizeof *cosine);
    out->cosine = rf__calloc(ctx, (size_t)E, sizeof *out->cosine);
    out->random_cosine = rf__calloc(ctx, (size_t)E, sizeof *out->random_cosine);
    bool fits = one && other && workspace && cosine && out->cosine && out->random_cosine;
    if (fits) {
        out->position_dimensions = principal(ctx, a, na, E, share, one);
        out->word_dimensions = principal(ctx, b, nb, E, share, other);
        fits = out->position_dimensions >= 0 && out->word_dimensions >= 0;
    }
    if (fits) {
        const int64_t ka = out->position_dimensions, kb = out->word_dimensions;
        out->angles = ka < kb ? ka : kb;
        angles(one, ka, other, kb, E, workspace, out->cosine);
        out->overlap = overlap(out->cosine, out->angles);
        compare(other, ka, kb, E, one, workspace, cosine, out);
    }
    rf__free(ctx, cosine);
    rf__free(ctx, workspace);
    rf__free(ctx, other);
    rf__free(ctx, one);
    if (fits) return RF_OK;
    rf_subspaces_free(ctx, out);
    return rf_fail(why, RF_ENOMEM, "out of memory: subspaces of %lld columns", (long long)E);
}

void rf_subspaces_free(const rf_ctx *ctx, rf_subspaces *s)
{
    if (!s) return;
    rf__free(ctx, s->cosine);
    rf__free(ctx, s->random_cosine);
    *s = (rf_subspaces){.width = 0};
}

rf_status rf_probe_subspaces(const rf_probe *p, int64_t T, rf_subspaces *out, rf_error *why)
{
    if (!(p && p->ctx && p->model && out)) return rf__missing("rf_probe_subspaces", "probe, its model, out", why);
    const rf_model *m = p->model;
    const int64_t E = m->config.embedding_size;
    size_t floats;
    if (T < 1 || !rf__checked_mul((size_t)T, (size_t)E, &floats) || floats > SIZE_MAX / sizeof(float))
        return rf_fail(why, RF_EARG, "rf_probe_subspaces: positions: expected at least 1, got %lld", (long long)T);
    float *vectors = rf__alloc(p->ctx, floats * sizeof *vectors);
    rf_subspaces found;
    if (!vectors) return rf_fail(why, RF_ENOMEM, "out of memory: %lld positions", (long long)T);
    float *own = NULL;
    rf_status status = rf_position_vectors(m, T, vectors, why);
    const float *words = status ? NULL : rf__model_word_embeddings(m, &own, why);
    if (!status && !words) status = RF_ENOMEM;
    if (!status)
        status = rf__subspace_angles(p->ctx, vectors, T, words, m->config.vocab_size, E, RF_SUBSPACE_SHARE, &found,
                                     why);
    if (!status) *out = found;
    rf__free(m->ctx, own);
    rf__free(p->ctx, vectors);
    return status;
}
