/* feature_maps.h — the feature maps of linear attention: phi of queries and psi of keys, row by row.  Internal.
 *
 *     out_m = sum_n <phi(q_m), psi(k_n)> v_n / sum_n <phi(q_m), psi(k_n)>                             RoFormer, Eq. 17
 *
 * A map is one constant in a file of maps/, with its equation.  Its hooks are given u, a row of `features` numbers:
 * the vector itself, or W x where the map projects, and make features of it in place; x is the vector, times scale.
 *
 * Exponentials.  Features of keys are powers of e, which a common factor may keep from overflowing without any effect
 * but on `epsilon`: it cancels.  Here it is 2^-E with E the smallest integer for which no power is above 1, so that
 * sums are brought from one E to another exactly.  M, the largest u of any key, is what `epsilon` goes by.  In a
 * causal model both are of the keys so far (they rise from key to key), else of all keys. */
#ifndef RF_FEATURE_MAPS_H
#define RF_FEATURE_MAPS_H

#include "kernel/kernel.h"

/* What a map knows of the head that it works on. */
typedef struct rfk__mapping {
    const rfk_table *k;
    int64_t width, features;            /* of x and of u                                                              */
    float epsilon;
    float top;                          /* M                                                                          */
    int32_t exponent;                   /* E; 0 for maps without `grows`                                              */
    float *column;                      /* [3, features] of maps with `columns` when all keys are known, else NULL:   */
} rfk__mapping;                         /* largest u, sum of powers, and in the backward <psi, d psi>                 */

typedef struct rfk__feature_map {
    const char *name;                   /* feature_map in config.json                                                 */
    const char *equation, *source;
    bool projects;                      /* u = W x with random features W; else features = width                      */
    bool grows;                         /* features of keys are powers, in units of 2^E                               */
    bool columns;                       /* where all keys are known, their features are normalised over positions     */
    bool quarter;                       /* x = q / D^(1/4), k / D^(1/4); else x = q, k                                */
    double epsilon;                     /* added to features, when config.json does not say                           */

    void (*query)(const rfk__mapping *m, float *u, const float *x);
    void (*key)(const rfk__mapping *m, float *u, const float *x);

    /* du in dy's place, y being the features; what is returned is c of dx = W^T du + c x.  M is a constant. */
    float (*query_back)(const rfk__mapping *m, float *dy, const float *y);
    float (*key_back)(const rfk__mapping *m, float *dy, const float *y);
} rfk__feature_map;

#define RFM(name) extern const rfk__feature_map rfk__map_##name;
#include "kernel/attention/linear/feature_maps.def"
#undef RFM

extern const rfk__feature_map *const rfk__feature_map_list[];           /* NULL at the end                            */
const rfk__feature_map *rfk__feature_map_named(const char *name);       /* NULL: no such map                          */

/* d ln d, rounded down: the number of random features that makes FAVOR+ as good as softmax. */
int64_t rfk__default_features(int64_t width);

/* W [features, width]: rows of Gaussian length in directions that are orthogonal within each block of `width` rows; a
 * function of (seed, stream) alone.  work: width * width doubles.                  Choromanski et al. 2021, sec. 3.2 */
void rfk__random_features(uint64_t seed, uint64_t stream, int64_t features, int64_t width, float *w, double *work);

/* ---- what maps share --------------------------------------------------------------------------------------------- */

/* u becomes e^(u - h - largest u) + epsilon, and e^(u - h - E ln 2) + epsilon e^(M - E ln 2). */
void rfk__query_powers(const rfk__mapping *m, float *u, float h);
void rfk__key_powers(const rfk__mapping *m, float *u, float h);

/* dy becomes dy (y - epsilon), its share; returns the sum of du. */
float rfk__query_powers_back(const rfk__mapping *m, float *dy, const float *y);
float rfk__key_powers_back(const rfk__mapping *m, float *dy, const float *y);
#endif
