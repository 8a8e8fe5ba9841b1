/* hash.c — CRC-32C for checkpoints (Castagnoli polynomial, reflected 0x82F63B78), XXH3 for tables. */
#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include "base.h"
#include "base/system/processor.h"

uint64_t rf__hash64(const void *data, size_t size, uint64_t seed) { return XXH3_64bits_withSeed(data, size, seed); }

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2,crc32"))) static uint32_t crc_hardware(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t c = crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = _mm_crc32_u64(c, w);
    }
    for (; n; n--, p++) c = _mm_crc32_u8((uint32_t)c, *p);
    return (uint32_t)c;
}
#endif

static uint32_t crc_bitwise(uint32_t crc, const unsigned char *p, size_t n)
{
    for (; n; n--, p++) {
        crc ^= *p;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return crc;
}

uint32_t rf__crc32c(uint32_t crc, const void *data, size_t size)
{
#if defined(__x86_64__)
    if (rf__processor_has("sse4.2")) return ~crc_hardware(~crc, data, size);
#endif
    return ~crc_bitwise(~crc, data, size);
}
