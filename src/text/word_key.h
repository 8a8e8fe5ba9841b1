/* word_key.h — short words as keys of a cache: their bytes as three numbers, padded with zeros. */
#ifndef RF_TEXT_WORD_KEY_H
#define RF_TEXT_WORD_KEY_H

#include "base/base.h"

enum { RF_KEY = 24 };                   /* longest word, in bytes                                                     */

static inline uint64_t rf__first_bytes(uint64_t x, size_t n)
{
    return n >= 8 ? x : x & ((UINT64_C(1) << 8 * n) - 1);
}

/* The key of `size` bytes, at most RF_KEY; `readable` bytes may be read. */
static inline void rf__word_key(const void *text, size_t size, size_t readable, uint64_t key[RF_KEY / 8])
{
    memset(key, 0, RF_KEY);
    if (readable < RF_KEY) {
        memcpy(key, text, size);
        return;
    }
    memcpy(key, text, RF_KEY);
    key[0] = rf__first_bytes(key[0], size);
    key[1] = size > 8 ? rf__first_bytes(key[1], size - 8) : 0;
    key[2] = size > 16 ? rf__first_bytes(key[2], size - 16) : 0;
}

static inline bool rf__same_key(const uint64_t a[RF_KEY / 8], const uint64_t b[RF_KEY / 8])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* The place of a key in a table of 2^bits. */
static inline size_t rf__key_slot(const uint64_t key[RF_KEY / 8], unsigned bits)
{
    const uint64_t h = (key[0] ^ (key[1] * 0x9FB21C651E98DF25) ^ (key[2] * 0xD6E8FEB86659FD93)) * 0x9E3779B97F4A7C15;
    return (size_t)((h ^ h << 17) >> (64 - bits));
}

#endif
