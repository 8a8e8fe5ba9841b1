/* classes.c — classes and scripts of characters, from the tables of classes.inc. */
#include "classes.h"
#include "classes.inc"
#include "text/unicode/unicode.h"

/* The lower 8 bits of the range that contains c. */
static unsigned value_of(const uint32_t range[], size_t n, uint32_t c)
{
    size_t low = 0, high = n;                             /* range[low] starts at or before c, range[high] after it   */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (range[middle] >> 8 <= c) low = middle;
        else high = middle;
    }
    return range[low] & 255;
}

unsigned rf__classes_of(uint32_t c)
{
    if ((c | 0x20) - 'a' < 26) return RF_CLASS_WORD;                                       /* most characters         */
    if (c == ' ') return RF_CLASS_WHITE;
    const unsigned own = value_of(class_ranges, RF_COUNT(class_ranges), c);
    return rf__unicode_white(c) ? own | RF_CLASS_WHITE : own;
}

unsigned rf__script_of(uint32_t c) { return value_of(script_ranges, RF_COUNT(script_ranges), c); }
