/* byte_level.h — byte-level BPE: the 256 bytes as printable characters, and the regexes that split a text into
 * words. */
#ifndef RF_TEXT_BYTE_LEVEL_H
#define RF_TEXT_BYTE_LEVEL_H

#include "base/base.h"

/* A supported regex, by the properties in which they differ (byte_level.c). */
typedef struct rf__split {
    const char *regex;                  /* as in tokenizer.json; NULL: a text is one word                             */
    size_t digits;                      /* digits of a word                                                           */
    bool gpt2;                          /* a word includes a leading blank; contractions in lower case only           */
} rf__split;

extern const rf__split rf__split_gpt2, rf__split_qwen2, rf__split_whole;
const rf__split *rf__split_of(const char *regex);                                     /* NULL: not supported          */
/* The end of the word that begins at `at` < size, in valid UTF-8.  Takes time proportional to the word, or to its run
 * of blanks. */
size_t rf__split_end(const rf__split *s, const char *text, size_t at, size_t size);

/* GPT-2's alphabet: the printable characters of Latin-1 are themselves; other bytes are numbered from U+0100 on. */
uint32_t rf__byte_scalar(unsigned byte);
int rf__scalar_byte(uint32_t c);                                                      /* -1: not in the alphabet      */

/* Length of the part of text[at, size), which is not UTF-8 at `at`, that becomes one U+FFFD (Unicode 15, section 3.9:
 * the maximal subpart of an ill-formed sequence). */
size_t rf__utf8_ill(const char *text, size_t at, size_t size);

#endif
