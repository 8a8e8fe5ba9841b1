/* regex.h — regular expressions of a tokenizer.json, by Oniguruma, which Hugging Face's tokenizers uses.
 *
 * A pattern is somebody else's.  It is compiled once and may be used by several threads at once.  Searching is limited
 * in backtracking steps, in the memory of its stack, and in time: a pattern that explodes fails with a message.
 *
 * tokenizers has a later version of Unicode than Oniguruma 6.9.8.  A character that this does not know is searched as
 * another one of the same length that has its properties (newer.inc). */
#ifndef RF_TEXT_REGEX_H
#define RF_TEXT_REGEX_H

#include "base/base.h"

typedef struct rf__regex rf__regex;

/* `where` names the place of the pattern in messages.  RF_EDATA: not a regular expression. */
rf_status rf__regex_compile(rf__regex **out, const rf_ctx *ctx, const char *pattern, size_t size, const char *where,
                            rf_error *why);
void rf__regex_free(rf__regex *r, const rf_ctx *ctx);

/* A search for all matches in texts, one after the other.  Oniguruma allocates with malloc. */
typedef struct rf__regex_scan {
    const rf__regex *regex;
    void *region, *limits;
    double until;                       /* the time at which it fails                                                 */
    unsigned searches;
    const char *text;
    size_t size, at, last;              /* where the next search starts; the end of the last match                    */
    char *known;                        /* a copy of the text without newer characters                                */
    size_t capacity;
} rf__regex_scan;

bool rf__regex_scan_begin(rf__regex_scan *s, const rf__regex *r);                     /* false: no memory             */
bool rf__regex_scan_text(rf__regex_scan *s, const char *text, size_t size);           /* what to search next; same    */
void rf__regex_scan_end(rf__regex_scan *s);
/* The next match: 1 and its bytes [*from, *to), which may be none; 0: there are no more; -1: a limit was exceeded, the
 * reason is in `why`.  An empty match at the end of the last one is passed over. */
int rf__regex_next(rf__regex_scan *s, size_t *from, size_t *to, rf_error *why);

/* The stand-in of a character that Oniguruma does not know; 0: it needs none. */
uint32_t rf__known_as(uint32_t c);

#endif
