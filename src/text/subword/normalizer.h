/* normalizer.h — the normalizer of a tokenizer.json: a sequence of steps over a text with offsets into the raw text.
 *
 *     normalizer_read.c         reads the member
 *     normalizer.c              the steps
 *     precompiled.c             SentencePiece's charsmap */
#ifndef RF_TEXT_NORMAL_H
#define RF_TEXT_NORMAL_H

#include "charsmap.h"
#include "text/pipeline/mapped.h"
#include "text/pipeline/regex.h"
#include "text/tokenizer.h"

typedef struct rf__normalizer rf__normalizer;
typedef struct rf__normal_step rf__normal_step;
/* False: no memory, or a reason in `why`. */
typedef bool rf__normal_do(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                           rf_error *why);

/* What rf__normal_by_characters does. */
enum { RF_NMT, RF_LOWER, RF_NO_COMBINING, RF_CLEAN, RF_HAN_APART, RF_NO_NONSPACING };

struct rf__normal_step {
    rf__normal_do *go;
    char *from, *to;                    /* of a replacement                                                           */
    size_t from_size, to_size;
    rf__regex *regex;
    rf__charsmap charsmap;              /* of Precompiled                                                             */
    int flags;                          /* of a normal form utf8proc's; of characters RF_NMT ...                      */
    bool left, right;
};

struct rf__normalizer {
    const rf_ctx *ctx;
    rf__normal_step *step;
    size_t steps, capacity;
    rf_unicode *rust;                   /* NULL: there are no steps                                                   */
    bool prepends;                      /* one of the steps inserts text before a text                                */
};

/* From the member "normalizer", which may be null; `path` is the name of the file.  RF_EUNSUPPORTED names unsupported
 * parts. */
rf_status rf__normal_read(rf__normalizer *n, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why);
void rf__normal_clear(rf__normalizer *n);

/* Whether a quick check shows that all steps leave a text unchanged. */
bool rf__normal_keeps(const rf__normalizer *n, const char *text, size_t size);
bool rf__nfc_keeps(uint32_t c);         /* the same for NFC and a scalar, whatever characters are next to it          */

/* Runs all steps on *text; *spare is scratch.  False: no memory, or a reason in `why`. */
bool rf__normal_run(const rf__normalizer *n, rf__mapped *text, rf__mapped *spare, rf_error *why);

/* ---- steps ------------------------------------------------------------------------------------------------------- */

rf__normal_do rf__normal_by_characters, rf__normal_byte_level, rf__normal_collapse, rf__normal_form,
    rf__normal_precompiled, rf__normal_prepend, rf__normal_replace, rf__normal_replace_regex, rf__normal_strip;
rf_status rf__normal_read_charsmap(rf__charsmap *map, const rf_ctx *ctx, const json_t *x, const char *path,
                                   rf_error *why);
/* Whether a text is not longer than its limit; otherwise the reason is in `why`. */
bool rf__normal_fits(const rf__mapped *m, rf_error *why);

#endif
