/* random.h — random numbers that are the same on every machine: Philox 4x32-10 (Salmon et al. 2011).
 *
 * A number is a function of the seed, the stream and the count of numbers drawn before it. Streams of one seed are
 * independent. Initial weights, masks and dropout are drawn with it.
 *
 *     rf_rng r;
 *     rf_rng_init(&r, 42, 0);                     seed 42, stream 0
 *     const uint32_t first = rf_rng_u32(&r);
 *
 * No function here allocates memory or fails. `r` must not be NULL.
 *
 * threads   an rf_rng belongs to one thread; a copy continues from the state that was copied */
#ifndef ROFORMER_RANDOM_H
#define ROFORMER_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a generator, 48 bytes. The caller owns it and does not read or write its members. */
typedef struct rf_rng {
    uint32_t key[2];
    uint64_t stream, counter;
    uint32_t word[4];
    int left;
} rf_rng;

/* Starts at the first number of a stream. */
void rf_rng_init(rf_rng *r, uint64_t seed, uint64_t stream);

/* The next number:
 *
 *   u32       32 random bits
 *   below     uniform in 0 to n-1, without bias (Lemire 2019), 0 for n = 0; draws again with a probability below
 *             n / 2^32
 *   uniform   uniform in [0, 1), a multiple of 2^-24
 *   normal    normal with mean 0 and variance 1 (Box and Muller 1958); draws two 32-bit words */
uint32_t rf_rng_u32(rf_rng *r);
uint32_t rf_rng_below(rf_rng *r, uint32_t n);
float rf_rng_uniform(rf_rng *r);
float rf_rng_normal(rf_rng *r);

#ifdef __cplusplus
}
#endif
#endif
