/* rng.c — counter-based random numbers.
 *
 * Philox 4x32-10, Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten rounds of
 *
 *     (c0, c1, c2, c3) -> (hi(M1 c2) ^ c1 ^ k0, lo(M1 c2), hi(M0 c0) ^ c3 ^ k1, lo(M0 c0)),   k += (W0, W1)
 *
 * A draw is a function of (seed, stream, counter) alone, so nothing depends on scheduling and a run resumes exactly. */
#include <math.h>

#include "base.h"

void rf__philox(rf_key key, uint64_t counter, uint64_t stream, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = key.k[0], k1 = key.k[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (uint32_t)p1;
        c2 = n2;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

rf_key rf__make_key(uint64_t seed, uint64_t stream)
{
    uint32_t word[4];
    rf__philox((rf_key){{(uint32_t)seed, (uint32_t)(seed >> 32)}}, stream, 0x6b657973, word);
    return (rf_key){{word[0], word[1]}};
}

void rf_rng_init(rf_rng *r, uint64_t seed, uint64_t stream)
{
    *r = (rf_rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)}, .stream = stream};
}

uint32_t rf_rng_u32(rf_rng *r)
{
    if (!r->left) {
        rf__philox((rf_key){{r->key[0], r->key[1]}}, r->counter++, r->stream, r->word);
        r->left = 4;
    }
    return r->word[4 - r->left--];
}

uint32_t rf_rng_below(rf_rng *r, uint32_t n)
{
    /* Lemire 2019: the high word of a product. Rejects the few values that would make some results more likely. */
    const uint32_t reject = n ? -n % n : 0;
    uint64_t product;
    do product = (uint64_t)rf_rng_u32(r) * n;
    while ((uint32_t)product < reject);
    return (uint32_t)(product >> 32);
}

float rf_rng_uniform(rf_rng *r) { return (float)(rf_rng_u32(r) >> 8) * 0x1p-24f; }

float rf_rng_normal(rf_rng *r)
{
    const double u = ((double)rf_rng_u32(r) + 0.5) * 0x1p-32, v = (double)rf_rng_u32(r) * 0x1p-32;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}
