/* charsmap.h — the precompiled_charsmap of SentencePiece, which a .model and a tokenizer.json both have: texts and what
 * each becomes.
 *
 *     u32 size of the trie in bytes | a double-array trie (Darts-clone) | texts, each ended by a zero
 *
 * The value of a key of the trie is where its text begins.  All of it is checked when it is read. */
#ifndef RF_TEXT_CHARSMAP_H
#define RF_TEXT_CHARSMAP_H

#include "base/base.h"

typedef struct rf__charsmap {
    uint32_t *unit;                     /* [units]; NULL: there is no map                                             */
    size_t units;
    char *texts;
    size_t texts_size;
    size_t longest;                     /* bytes of the longest text                                                  */
} rf__charsmap;

/* From `size` bytes; `where` begins the messages.  RF_EDATA: it is not one of SentencePiece's, or damaged. */
rf_status rf__charsmap_read(rf__charsmap *m, const rf_ctx *ctx, const void *data, size_t size, const char *where,
                            rf_error *why);
void rf__charsmap_clear(const rf_ctx *ctx, rf__charsmap *m);

/* What the shortest key that begins text[0, size) becomes; NULL: none does.  A zero ends the text. */
const char *rf__charsmap_shortest(const rf__charsmap *m, const char *text, size_t size);
/* The same of the longest key, whose bytes are *length.  Of more than 32 keys the first 32 count. */
const char *rf__charsmap_longest(const rf__charsmap *m, const char *text, size_t size, size_t *length);

#endif
