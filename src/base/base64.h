/* base64.h — base 64 of bytes (RFC 4648). */
#ifndef RF_BASE64_H
#define RF_BASE64_H

#include "base/base.h"

/* The bytes that `size` bytes take in base 64. */
static inline size_t rf__base64_size(size_t size) { return (size + 2) / 3 * 4; }

/* Writes them to `to`, without a zero at the end. */
void rf__base64(const void *data, size_t size, char *to);

#endif
