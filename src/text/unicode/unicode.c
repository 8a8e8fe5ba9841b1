/* unicode.c — character classes of the two sets of rules; UTF-8.
 *
 * Categories come from our own table, mappings from utf8proc if the table permits it (tools/unicode_tables.py). */
#include <utf8proc.h>

#include "unicode.h"
#include "unicode_tables.inc"

enum { DOTTED_CAPITAL_I = 0x130, DOT_ABOVE = 0x307 };

void rf__unicode_init(rf_unicode *u, rf_rules rules)
{
    const bool python = rules != RF_RULES_RUST;
    u->range = python ? python_ranges : rust_ranges;
    u->ranges = python ? RF_COUNT(python_ranges) : RF_COUNT(rust_ranges);
    u->lower = python ? python_lower : rust_lower;
    u->lowers = (python ? RF_COUNT(python_lower) : RF_COUNT(rust_lower)) / 2;
    for (size_t i = 0; i < u->ranges; i++) {
        const uint32_t from = u->range[i] >> 8, to = i + 1 < u->ranges ? u->range[i + 1] >> 8 : 0x10000;
        if (from >= 0x10000) break;
        memset(u->flags + from, (int)(u->range[i] & 255), (to < 0x10000 ? to : 0x10000) - from);
    }
}

unsigned rf__unicode_astral(const rf_unicode *u, uint32_t c)
{
    size_t low = 0, high = u->ranges;                     /* range[low] starts at or before c, range[high] after it   */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (u->range[middle] >> 8 <= c) low = middle;
        else high = middle;
    }
    return u->range[low] & 255;
}

int rf__unicode_lower(const rf_unicode *u, uint32_t c, unsigned flags, uint32_t to[2])
{
    to[0] = c;
    if (flags & RF_MAPS) {
        if (c == DOTTED_CAPITAL_I) {
            to[0] = 'i';
            to[1] = DOT_ABOVE;
            return 2;
        }
        to[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    } else {
        for (size_t low = 0, high = u->lowers; low < high;) {
            const size_t middle = low + (high - low) / 2;
            if (u->lower[2 * middle] == c) return to[0] = u->lower[2 * middle + 1], 1;
            if (u->lower[2 * middle] < c) low = middle + 1;
            else high = middle;
        }
    }
    return 1;
}

int rf__unicode_decompose(uint32_t c, unsigned flags, uint32_t to[4])
{
    to[0] = c;
    if (!(flags & RF_MAPS) || c < 0xC0) return 1;
    utf8proc_int32_t part[4];
    int bound = 0;
    const utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, part, 4, UTF8PROC_DECOMPOSE, &bound);
    if (n < 1 || n > 4) return 1;                         /* no canonical decomposition is longer than four           */
    for (int i = 0; i < (int)n; i++) to[i] = (uint32_t)part[i];
    return (int)n;
}

unsigned rf__unicode_class(uint32_t c, unsigned flags)
{
    if (!(flags & RF_MAPS) || c < 0x300) return 0;
    return (unsigned)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

size_t rf__unicode_compose(uint32_t c[], size_t n)
{
    const utf8proc_ssize_t left = utf8proc_normalize_utf32((utf8proc_int32_t *)c, (utf8proc_ssize_t)n,
                                                           UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    return left < 0 ? n : (size_t)left;
}

char rf__unicode_group(uint32_t c) { return utf8proc_category_string((utf8proc_int32_t)c)[0]; }

bool rf__unicode_cased(uint32_t c)
{
    const utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return is == UTF8PROC_CATEGORY_LU || is == UTF8PROC_CATEGORY_LL || is == UTF8PROC_CATEGORY_LT || c == 0xAA ||
           c == 0xBA || (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9);
}

bool rf__unicode_ignorable(uint32_t c)
{
    static const uint32_t mid[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                   0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    const utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    for (size_t i = 0; i < RF_COUNT(mid); i++)
        if (mid[i] == c) return true;
    return is == UTF8PROC_CATEGORY_MN || is == UTF8PROC_CATEGORY_ME || is == UTF8PROC_CATEGORY_CF ||
           is == UTF8PROC_CATEGORY_LM || is == UTF8PROC_CATEGORY_SK;
}

bool rf__unicode_control(uint32_t c)
{
    const utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF;
}

bool rf__unicode_white(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool rf__python_white(uint32_t c) { return (c >= 0x1C && c <= 0x1F) || rf__unicode_white(c); }

/* Length of the scalar at `p` if it is well-formed (Unicode 15, table 3-7), otherwise 0. */
static size_t well_formed(const unsigned char *p, size_t left)
{
    const unsigned char a = p[0];
    if (a < 0x80) return 1;
    const size_t n = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
    if (a < 0xC2 || a > 0xF4 || left < n) return 0;
    const unsigned char low = a == 0xE0   ? 0xA0
                              : a == 0xF0 ? 0x90
                                          : 0x80,
                        high = a == 0xED   ? 0x9F
                               : a == 0xF4 ? 0x8F
                                           : 0xBF;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return n;
}

size_t rf_utf8_check(const char *text, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    if (!text) return 0;
    while (i < bytes) {
        uint64_t eight;
        if (bytes - i >= 8 && (memcpy(&eight, p + i, 8), !(eight & 0x8080808080808080))) {
            i += 8;
            continue;
        }
        if (bytes - i >= 3 && p[i] > 0xE0 && p[i] < 0xED && (p[i + 1] & 0xC0) == 0x80 && (p[i + 2] & 0xC0) == 0x80) {
            i += 3;                                       /* most Han characters                                      */
            continue;
        }
        const size_t n = well_formed(p + i, bytes - i);
        if (!n) return i;
        i += n;
    }
    return bytes;
}

int rf_utf8_blank(const char *text, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0;
    while (p && i < bytes && well_formed(p + i, bytes - i)) {
        const uint32_t c = rf__utf8_get(p, &i);
        if (!rf__unicode_white(c) && !rf__unicode_control(c)) return 0;
    }
    return !p || i == bytes;
}

size_t rf__utf8_encode(uint32_t c, char to[4])
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3F)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 0x3F)),
               to[2] = (char)(0x80 | (c & 0x3F)), 3;
    to[0] = (char)(0xF0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (char)(0x80 | (c >> 6 & 0x3F));
    to[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}
