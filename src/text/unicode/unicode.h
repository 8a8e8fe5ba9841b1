/* unicode.h — scalars: their classes in a set of rules, their decompositions, and UTF-8. */
#ifndef RF_TEXT_UNICODE_H
#define RF_TEXT_UNICODE_H

#include "base/base.h"
#include "roformer/tokenizer.h"

/* The class of a scalar in a set of rules; the bits of unicode_tables.inc. */
enum {
    RF_DROP = 1,      /* removed by cleaning                                                                          */
    RF_SPACE = 2,     /* ends a word                                                                                  */
    RF_HAN = 4,       /* a separate word, on request                                                                  */
    RF_PUNCT = 8,     /* a separate word                                                                              */
    RF_MARK = 16,     /* nonspacing: removed with the accents                                                         */
    RF_MAPS = 32      /* utf8proc's decomposition, combining class and lower case are valid                           */
};

typedef struct rf_unicode {
    const uint32_t *range, *lower;      /* unicode_tables.inc                                                        */
    size_t ranges, lowers;
    uint8_t flags[0x10000];             /* of the first plane, expanded from the ranges                              */
} rf_unicode;

void rf__unicode_init(rf_unicode *u, rf_rules rules);
unsigned rf__unicode_astral(const rf_unicode *u, uint32_t c);
static inline unsigned rf__unicode_flags(const rf_unicode *u, uint32_t c)
{
    return c < 0x10000 ? u->flags[c] : rf__unicode_astral(u, c);
}

/* Writes the decomposition of c to `to` and returns its number of scalars; `flags` are those of c. */
int rf__unicode_lower(const rf_unicode *u, uint32_t c, unsigned flags, uint32_t to[2]);
int rf__unicode_decompose(uint32_t c, unsigned flags, uint32_t to[4]);
unsigned rf__unicode_class(uint32_t c, unsigned flags);               /* canonical combining class                   */
size_t rf__unicode_compose(uint32_t c[], size_t n);                   /* canonical composition, in place             */
char rf__unicode_group(uint32_t c);                                   /* the category without its second letter      */
bool rf__unicode_cased(uint32_t c);                                   /* Cased, Case_Ignorable of Final_Sigma        */
bool rf__unicode_ignorable(uint32_t c);
bool rf__unicode_control(uint32_t c);                                 /* categories Cc and Cf                        */
bool rf__unicode_white(uint32_t c);                                   /* the property White_Space                    */
bool rf__python_white(uint32_t c);                                    /* that of Python's str.split and str.strip    */

/* Reads one scalar of valid text and advances; writes one and returns its length. */
static inline uint32_t rf__utf8_get(const unsigned char *text, size_t *at)
{
    const unsigned char *p = text + *at;
    if (p[0] < 0x80) return *at += 1, p[0];
    if (p[0] < 0xE0) return *at += 2, (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    if (p[0] < 0xF0) return *at += 3, (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    return *at += 4, (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
}
size_t rf__utf8_encode(uint32_t c, char to[4]);

#endif
