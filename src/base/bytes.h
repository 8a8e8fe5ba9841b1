/* bytes.h — numbers in bytes, checksums and names, shared by several file formats. */
#ifndef RF_BASE_BYTES_H
#define RF_BASE_BYTES_H

#include "base/base.h"

static inline uint32_t rf__little32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* CRC-32C in the masked form in which TensorFlow and LevelDB store it. */
static inline uint32_t rf__masked_crc(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

static inline bool rf__ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* Whether a NULL-terminated list contains the name; false if the list is NULL. */
static inline bool rf__is_among(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (!strcmp(*list, name)) return true;
    return false;
}

#endif
