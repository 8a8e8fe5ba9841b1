/* exp.c: exponentials of queries and keys.                                         RoFormer, sec. 3.3; Shen et al. 2021
 *
 *     phi(x) = psi(x) = e^x */
#include "kernel/attention/linear/feature_maps.h"

static void query(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    rfk__query_powers(m, u, 0);
}

static void key(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    rfk__key_powers(m, u, 0);
}

static float query_back(const rfk__mapping *m, float *dy, const float *y)
{
    rfk__query_powers_back(m, dy, y);
    return 0;
}

static float key_back(const rfk__mapping *m, float *dy, const float *y)
{
    rfk__key_powers_back(m, dy, y);
    return 0;
}

const rfk__feature_map rfk__map_exp = {
    .name = "exp",
    .equation = "phi(x) = psi(x) = e^x",
    .source = "Su et al. 2021 (RoFormer), sec. 3.3",
    .grows = true,
    .query = query,
    .key = key,
    .query_back = query_back,
    .key_back = key_back,
};
