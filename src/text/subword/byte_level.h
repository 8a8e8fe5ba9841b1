/* byte_level.h — byte-level BPE: the 256 bytes as visible characters, and the regexes that cut a text into words. */
#ifndef RF_TEXT_BYTE_LEVEL_H
#define RF_TEXT_BYTE_LEVEL_H

#include "base/base.h"

/* A regex, by what differs between those that are known (byte_level.c). */
typedef struct rf__split {
    const char *regex;                  /* as a tokenizer.json has it; NULL: a text is one word                       */
    size_t digits;                      /* numbers of a word                                                          */
    bool gpt2;                          /* a word takes a blank in front; contractions are in small letters           */
} rf__split;

extern const rf__split rf__split_gpt2, rf__split_whole;
const rf__split *rf__split_of(const char *regex);                                     /* NULL: it is not known        */
/* The end of the word that begins at `at` < size, of checked UTF-8.  Cost: that of the word, of blanks of their run. */
size_t rf__split_end(const rf__split *s, const char *text, size_t at, size_t size);

/* GPT-2's alphabet: the visible characters of Latin-1 are themselves, other bytes follow from U+0100 on. */
uint32_t rf__byte_scalar(unsigned byte);
int rf__scalar_byte(uint32_t c);                                                      /* -1: none of the alphabet     */

/* Bytes of text[at, size), which is no UTF-8 at `at`, that become one U+FFFD (Unicode 15, section 3.9: the maximal
 * subpart of an ill-formed sequence). */
size_t rf__utf8_ill(const char *text, size_t at, size_t size);

#endif
