/* vocab.h — tables of the properties of ids that masking needs. */
#ifndef RF_TRAIN_VOCAB_H
#define RF_TRAIN_VOCAB_H

#include "base/base.h"
#include "roformer/tokenizer.h"

enum { RF__SPECIAL = 1, RF__CONTINUES = 2, RF__ENDS = 4 };

/* Asks a tokenizer whose words do not follow from the names of its tokens. */
typedef struct rf__word_finder {
    const rf_ctx *ctx;
    const rf_tokenizer *tokenizer;
    const struct rf_tokenizer_row *row; /* its row: scratch may be freed after it                                     */
    void *scratch;
    uint8_t *joined;
    size_t capacity;
    bool failed;                        /* out of memory: single tokens were treated as words                         */
} rf__word_finder;

typedef struct rf__token_kinds {
    int32_t size, cls, sep, mask;
    uint8_t *kind;                      /* [size]                                                                     */
    int32_t *plain, plains;             /* the ids that are not special                                               */
    rf__word_finder *finder;            /* NULL: RF__CONTINUES is sufficient                                          */
} rf__token_kinds;

/* RF_EDATA: the vocabulary has no [CLS] or [SEP], or no other tokens.  `mask` is -1 if it has no [MASK]. */
rf_status rf__vocab_new(const rf_ctx *ctx, const rf_tokenizer *t, rf__token_kinds *out, rf_error *why);
/* RF_EDATA: it has no [MASK], which a masked language model needs. */
rf_status rf__vocab_needs_mask(const rf__token_kinds *v, rf_error *why);

/* Which of the tokens continue the word of the previous one; NULL: those with RF__CONTINUES. */
const uint8_t *rf__vocab_joined(const rf__token_kinds *v, const int32_t id[], size_t n);
/* RF_ENOMEM: words could not be found. */
rf_status rf__vocab_words_found(const rf__token_kinds *v, rf_error *why);

/* Marks ends of sentences as RF__ENDS, at which pieces are then cut. */
void rf__vocab_sentences(rf__token_kinds *v, const rf_tokenizer *t);
void rf__vocab_free(const rf_ctx *ctx, rf__token_kinds *v);

#endif
