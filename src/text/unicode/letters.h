/* letters.h — selects the characters of a text for a vocabulary. */
#ifndef RF_TEXT_LETTERS_H
#define RF_TEXT_LETTERS_H

#include "base/base.h"

enum { RF_SCALARS = 0x110000 };                           /* Unicode's code points                                    */

typedef struct rf_letter { uint32_t c; uint64_t count; } rf_letter;

/* The `limit` most frequent scalars that count[RF_SCALARS] has at least `least` times (1 or more), ties by scalar,
 * sorted by scalar.  Freed with rf__free; NULL: no memory. */
rf_letter *rf__letters(const rf_ctx *ctx, const uint64_t count[], size_t limit, uint64_t least, size_t *n);

#endif
