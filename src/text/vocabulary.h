/* vocabulary.h — the vocabulary and the merges of a tokenizer.json, which are nearly all of its bytes.
 *
 * They are read from its text into lists, because a JSON value for each of them takes most of the time in which a small
 * model opens. What is not of the usual shape is left to jansson, whose errors name line and byte. */
#ifndef RF_TEXT_VOCABULARY_H
#define RF_TEXT_VOCABULARY_H

#include "text/text_index.h"

typedef struct rf__piece { const char *name; size_t size; double value; } rf__piece;          /* its id, or its log p */
typedef struct rf__piece_pair { const char *a, *b; size_t a_size, b_size; } rf__piece_pair; /* b NULL: "x y" in a    */

typedef struct rf__vocabulary {
    const rf_ctx *ctx;
    char *strings;                      /* terminated by zeros                                                        */
    rf__piece *piece;                   /* in the order of the file; NULL: no vocabulary was read                     */
    size_t n, capacity;
    rf__piece_pair *merge;
    size_t merges, merges_capacity;
    rf__text_index index;               /* of an object's pieces by name                                              */
    bool lost;                          /* no memory                                                                  */
} rf__vocabulary;

/* Reads model.vocab, {"piece": id, ...} or [["piece", log p], ...], and model.merges, ["a b", ...] or
 * [["a", "b"], ...].  *rest: the text of the document with both empty, freed with rf__free; NULL: they have another
 * shape, and nothing was read.  Numbers are as tokenizers reads them: the digits as an integer, rounded to a double,
 * divided by a power of ten, which is rounded once more (serde_json without float_roundtrip); this decides between
 * segmentations that are equally likely.  RF_ENOMEM: no memory. */
rf_status rf__vocabulary_read(rf__vocabulary *p, const rf_ctx *ctx, const char *text, size_t size, char **rest,
                              size_t *rest_size);
void rf__vocabulary_clear(rf__vocabulary *p);

/* The piece of an object with this name; NULL: none. */
const rf__piece *rf__vocabulary_find(const rf__vocabulary *p, const char *name);

#endif
