/* charsmap.h — the precompiled_charsmap of SentencePiece, which .model files and tokenizer.json contain: texts and
 * their replacements.
 *
 *     u32 size of the trie in bytes | a double-array trie (Darts-clone) | texts, each terminated by a zero
 *
 * The value of a key of the trie is the offset of its replacement.  All of it is checked when it is read. */
#ifndef RF_TEXT_CHARSMAP_H
#define RF_TEXT_CHARSMAP_H

#include "base/base.h"

typedef struct rf__charsmap {
    uint32_t *unit;                     /* [units]; NULL: no map                                                      */
    size_t units;
    char *texts;
    size_t texts_size;
    size_t longest;                     /* bytes of the longest text                                                  */
} rf__charsmap;

/* Reads `size` bytes; messages begin with `where`.  RF_EDATA: not a map of SentencePiece, or damaged. */
rf_status rf__charsmap_read(rf__charsmap *m, const rf_ctx *ctx, const void *data, size_t size, const char *where,
                            rf_error *why);
void rf__charsmap_clear(const rf_ctx *ctx, rf__charsmap *m);

/* The replacement of the shortest key that text[0, size) begins with; NULL: none.  A zero ends the text. */
const char *rf__charsmap_shortest(const rf__charsmap *m, const char *text, size_t size);
/* The same for the longest key, with its length in *length.  Only the first 32 keys are considered. */
const char *rf__charsmap_longest(const rf__charsmap *m, const char *text, size_t size, size_t *length);

#endif
