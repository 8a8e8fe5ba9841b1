/* pcg64.c — PCG XSL RR 128/64 (O'Neill 2014), seeded by numpy's SeedSequence.
 *
 *     s <- a s + c mod 2^128,   out = (upper(s) xor lower(s)) rotated right by the 6 highest bits of s
 *
 * Numbers below n are computed by Lemire's method (2019) from 32 bits; a 64-bit word gives its lower half first. */
#include "pcg64.h"

static uint64_t next(rf__pcg64 *r)
{
    const rf__uint128 a = (rf__uint128)2549297995355413924 << 64 | 4865540595714422341;
    r->state = r->state * a + r->increment;
    const uint64_t x = (uint64_t)(r->state >> 64) ^ (uint64_t)r->state;
    const unsigned by = (unsigned)(r->state >> 122);
    return x >> by | x << ((64 - by) & 63);
}

static uint32_t next32(rf__pcg64 *r)
{
    r->half = !r->half;
    if (!r->half) return (uint32_t)(r->word >> 32);
    r->word = next(r);
    return (uint32_t)r->word;
}

/* ---- SeedSequence ------------------------------------------------------------------------------------------------ */

enum { POOL = 4 };

static uint32_t hashed(uint32_t x, uint32_t *by)
{
    x ^= *by;
    *by *= 0x931e8875;
    x *= *by;
    return x ^ x >> 16;
}

static uint32_t mixed(uint32_t x, uint32_t y)
{
    const uint32_t z = 0xca01f9dd * x - 0x4973f715 * y;
    return z ^ z >> 16;
}

void rf__pcg64_init(rf__pcg64 *r, uint64_t seed)
{
    const uint32_t entropy[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t pool[POOL], by = 0x43b0d7e5;
    uint64_t word[4] = {0};
    for (int i = 0; i < POOL; i++) pool[i] = hashed(entropy[i], &by);
    for (int i = 0; i < POOL; i++)
        for (int k = 0; k < POOL; k++)
            if (i != k) pool[k] = mixed(pool[k], hashed(pool[i], &by));
    by = 0x8b51f9dd;
    for (int i = 0; i < 8; i++) {
        uint32_t x = pool[i % POOL] ^ by;
        by *= 0x58f38ded;
        x *= by;
        x ^= x >> 16;
        word[i / 2] |= (uint64_t)x << 32 * (i % 2);
    }
    *r = (rf__pcg64){.increment = ((rf__uint128)word[2] << 64 | word[3]) << 1 | 1};
    next(r);
    r->state += (rf__uint128)word[0] << 64 | word[1];
    next(r);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

uint32_t rf__pcg64_below(rf__pcg64 *r, uint32_t n)
{
    if (n == 1) return 0;
    uint64_t m = (uint64_t)next32(r) * n;
    if ((uint32_t)m < n)
        for (const uint32_t least = (0u - n) % n; (uint32_t)m < least;) m = (uint64_t)next32(r) * n;
    return (uint32_t)(m >> 32);
}

bool rf__pcg64_flip(rf__pcg64 *r)
{
    if (r->left) {
        r->bits >>= 1;
        r->left--;
    } else {
        r->bits = next32(r);
        r->left = 31;
    }
    return r->bits & 1;
}
