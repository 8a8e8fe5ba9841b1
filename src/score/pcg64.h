/* pcg64.h — the random numbers of numpy's default_rng(seed), which sacreBLEU uses for intervals and tests. */
#ifndef RF_TRANSLATION_PCG64_H
#define RF_TRANSLATION_PCG64_H

#include <stdbool.h>
#include <stdint.h>

#include "roformer/context.h"

__extension__ typedef unsigned __int128 rf__uint128;

typedef struct rf__pcg64 {
    rf__uint128 state, increment;
    uint64_t word;                      /* if `half`, its upper half is unused                                        */
    bool half;
    uint32_t bits;                      /* remaining bits of 32 coin flips                                            */
    int left;
} rf__pcg64;

void rf__pcg64_init(rf__pcg64 *r, uint64_t seed);
uint32_t rf__pcg64_below(rf__pcg64 *r, uint32_t n);       /* Generator.choice, integers(n): n > 0                     */
bool rf__pcg64_flip(rf__pcg64 *r);                        /* integers(2, dtype=bool)                                  */

#endif
