/* letters.h — the characters of a text: which of them a vocabulary takes. */
#ifndef RF_TEXT_LETTERS_H
#define RF_TEXT_LETTERS_H

#include "base/base.h"

enum { RF_SCALARS = 0x110000 };                           /* Unicode's code points                                    */

typedef struct rf_letter { uint32_t c; uint64_t count; } rf_letter;

/* Of the scalars that count[RF_SCALARS] has at least `least` (1 or more) times the `limit` most frequent, of equals the
 * smaller ones, in the order of scalars.  Freed with rf__free; NULL: no memory. */
rf_letter *rf__letters(const rf_ctx *ctx, const uint64_t count[], size_t limit, uint64_t least, size_t *n);

#endif
