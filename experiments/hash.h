/* hash.h — a number of some bytes, the same everywhere: by which rows are held out. */
#ifndef EXPERIMENTS_HASH_H
#define EXPERIMENTS_HASH_H

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

static inline uint64_t hash64(const void *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

#endif
