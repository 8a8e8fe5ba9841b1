/* normalizer.h — the normalizer of a tokenizer.json: a sequence of steps over a text with offsets into the raw text. */
#ifndef RF_TEXT_NORMAL_H
#define RF_TEXT_NORMAL_H

#include "charsmap.h"
#include "text/tokenizer.h"

/* A text, and for each of its bytes the bytes [from, to) of the raw text that it comes from. */
typedef struct rf__mapped {
    const rf_ctx *ctx;
    char *at;
    uint32_t *from, *to;
    size_t n, capacity, from_capacity, to_capacity;
} rf__mapped;

bool rf__mapped_append(rf__mapped *m, const char *text, size_t size, uint32_t from, uint32_t to); /* false: no memory */
void rf__mapped_clear(rf__mapped *m);

/* Reads the character of valid text at *at and advances; its bytes are those passed. */
static inline uint32_t rf__mapped_next(const rf__mapped *m, size_t *at)
{
    return rf__utf8_get((const unsigned char *)m->at, at);
}

enum { RF_NORMAL_STEPS = 16 };

typedef struct rf__normalizer rf__normalizer;
typedef struct rf__normal_step rf__normal_step;
typedef bool rf__normal_do(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out);

struct rf__normal_step {
    rf__normal_do *go;
    char *from, *to;                    /* of a replacement                                                           */
    size_t from_size, to_size;
    int flags;                          /* utf8proc's                                                                 */
    bool left, right;
};

struct rf__normalizer {
    const rf_ctx *ctx;
    rf__normal_step step[RF_NORMAL_STEPS];
    size_t steps;
    rf__charsmap charsmap;              /* of Precompiled                                                             */
    rf_unicode *lower;                  /* or NULL                                                                    */
    bool prepends;                      /* one of the steps inserts U+2581 before a text                              */
};

/* From the member "normalizer", which may be null; `path` is the name of the file.  RF_EUNSUPPORTED names unsupported
 * parts. */
rf_status rf__normal_read(rf__normalizer *n, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why);
void rf__normal_clear(rf__normalizer *n);

/* Whether a quick check shows that all steps leave a text unchanged. */
bool rf__normal_keeps(const rf__normalizer *n, const char *text, size_t size);
bool rf__nfc_keeps(uint32_t c);         /* the same for NFC and a scalar, whatever characters are next to it          */

/* Runs all steps on *text; *spare is scratch.  False: no memory. */
bool rf__normal_run(const rf__normalizer *n, rf__mapped *text, rf__mapped *spare);

#endif
