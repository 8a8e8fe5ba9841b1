/* feature_maps.h — internal: the feature maps of linear attention, phi of queries and psi of keys, row by row.
 *
 *     out_m = sum_n <phi(q_m), psi(k_n)> v_n / sum_n <phi(q_m), psi(k_n)>                             RoFormer, Eq. 17
 *
 * A map is one constant in a file of maps/, with its equation.  Its hooks get u, a row of `features` numbers, and
 * convert it to features in place.  u is x itself, or W x if the map projects; x is the vector times scale.
 *
 * Exponentials.  Features of keys are exponentials.  A common factor prevents overflow; it cancels in the result, and
 * affects only `epsilon`.  The factor is 2^-E with the smallest integer E for which no exponential exceeds 1, so that
 * sums are converted from one E to another exactly.  `epsilon` is scaled by e^M with M the largest u of any key.  In a
 * causal model, E and M cover the keys so far (they never decrease), otherwise all keys. */
#ifndef RF_FEATURE_MAPS_H
#define RF_FEATURE_MAPS_H

#include "kernel/kernel.h"

/* What a map knows about its head. */
typedef struct rfk__mapping {
    const rfk_table *k;
    int64_t width, features;            /* widths of x and of u                                                       */
    float epsilon;
    float top;                          /* M                                                                          */
    int32_t exponent;                   /* E; 0 for maps without `grows`                                              */
    float *column;                      /* [3, features] of maps with `columns` if all keys are known, or NULL: */
} rfk__mapping;                         /* largest u, sum of exponentials, and in the backward pass <psi, d psi>      */

typedef struct rfk__feature_map {
    const char *name;                   /* feature_map in config.json                                                 */
    const char *equation, *source;
    bool projects;                      /* u = W x with random features W; else features = width                      */
    bool grows;                         /* features of keys are exponentials, in units of 2^E                         */
    bool columns;                       /* if all keys are known, their features are normalized over positions        */
    bool quarter;                       /* x = q / D^(1/4), k / D^(1/4); else x = q, k                                */
    double epsilon;                     /* added to features if config.json does not set it                           */

    void (*query)(const rfk__mapping *m, float *u, const float *x);
    void (*key)(const rfk__mapping *m, float *u, const float *x);

    /* Replaces dy by du, where y are the features.  Returns c of dx = W^T du + c x.  M is treated as a constant. */
    float (*query_back)(const rfk__mapping *m, float *dy, const float *y);
    float (*key_back)(const rfk__mapping *m, float *dy, const float *y);
} rfk__feature_map;

#define RFM(name) extern const rfk__feature_map rfk__map_##name;
#include "kernel/attention/linear/feature_maps.def"
#undef RFM

extern const rfk__feature_map *const rfk__feature_map_list[];           /* NULL past the end                          */
const rfk__feature_map *rfk__feature_map_named(const char *name);       /* NULL if there is no such map               */

/* d ln d, rounded down: the number of random features with which FAVOR+ approximates softmax well. */
int64_t rfk__default_features(int64_t width);

/* W [features, width]: rows of Gaussian length in directions that are orthogonal within each block of `width` rows; a
 * function of (seed, stream) alone.  work: width * width doubles.                  Choromanski et al. 2021, sec. 3.2 */
void rfk__random_features(uint64_t seed, uint64_t stream, int64_t features, int64_t width, float *w, double *work);

/* ---- what maps share --------------------------------------------------------------------------------------------- */

/* u becomes e^(u - h - largest u) + epsilon, and e^(u - h - E ln 2) + epsilon e^(M - E ln 2). */
void rfk__query_powers(const rfk__mapping *m, float *u, float h);
void rfk__key_powers(const rfk__mapping *m, float *u, float h);

/* Replaces dy by dy (y - epsilon), the contribution of each exponential.  Returns the sum of du. */
float rfk__query_powers_back(const rfk__mapping *m, float *dy, const float *y);
float rfk__key_powers_back(const rfk__mapping *m, float *dy, const float *y);
#endif
