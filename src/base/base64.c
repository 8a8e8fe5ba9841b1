/* base64.c — see base64.h. */
#include "base64.h"

void rf__base64(const void *data, size_t size, char *to)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned second = left > 1 ? byte[i + 1] : 0, third = left > 2 ? byte[i + 2] : 0;
        const unsigned bits = (unsigned)byte[i] << 16 | second << 8 | third;
        *to++ = digit[bits >> 18];
        *to++ = digit[bits >> 12 & 63];
        *to++ = left > 1 ? digit[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? digit[bits & 63] : '=';
    }
}
