/* random.h — random numbers that are the same on every machine: Philox 4x32-10 (Salmon et al. 2011).
 *
 * A number is a function of the seed, the stream and the count of numbers drawn before it. Streams of one seed are
 * independent. Initial weights, masks and dropout are drawn with it.
 *
 * threads   an rf_rng belongs to one thread; a copy continues from the state that was copied */
#ifndef ROFORMER_RANDOM_H
#define ROFORMER_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The members are the library's. */
typedef struct rf_rng {
    uint32_t key[2];
    uint64_t stream, counter;
    uint32_t word[4];
    int left;
} rf_rng;

void rf_rng_init(rf_rng *r, uint64_t seed, uint64_t stream);
uint32_t rf_rng_u32(rf_rng *r);
uint32_t rf_rng_below(rf_rng *r, uint32_t n);                  /* uniform in [0, n), unbiased; 0 for n = 0 */
float rf_rng_uniform(rf_rng *r);                               /* [0, 1), 24 bits */
float rf_rng_normal(rf_rng *r);                                /* mean 0, variance 1 (Box-Muller) */

#ifdef __cplusplus
}
#endif
#endif
