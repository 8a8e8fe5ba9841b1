/* tokens.h — all text of a run as ids, in a file that is made once and mapped. */
#ifndef RF_TOKENS_H
#define RF_TOKENS_H

#include "data/encode_corpus.h"

#define RF__TOKENS_MAGIC "RFTOKENS"       /* how the file begins */

/*     header | ids of all documents, end to end | length of each document (RF__HELD: held out)                       */
typedef struct rf__tokens {
    rf_map map;
    rf__ids ids;
    size_t tokens, documents, held;     /* held: documents held out                                                   */
    const uint32_t *length;             /* [documents]                                                                */
    uint64_t hash;                      /* of ids and lengths: the same text under the same tokenizer                 */
} rf__tokens;

/* What the ids are made of. */
typedef struct rf__texts {
    const char *const *text, *const *validation;
    int texts, validations;
    double split;                       /* when there is no validation text                                           */
    const rf_reader_options *reader;
} rf__texts;

/* Called while the text is read; `share` is negative when it is not known.  Non-zero ends the reading. */
typedef int rf__reading_report(void *user, double share, size_t tokens, size_t documents);

/* Opens folder/tokens.cache when it holds these texts under this tokenizer, otherwise makes it.
 *
 *   expect          the hash that a checkpoint names, or 0.  A cache that has it is used even when the texts themselves
 *                   cannot be read any more, or were standard input
 *   RF_ESTOPPED     `reading` asked for it
 *   RF_EDATA        no document for training
 *   RF_EIO          a text cannot be read, or there is no space for the cache; nothing is left behind                */
rf_status rf__tokens_open(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *texts, const char *folder,
                          uint64_t expect, rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why);

/* Makes the cache `path` of these texts, unless it is there already; a folder or file in its way is refused before any
 * text is read. */
rf_status rf__tokens_make(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *texts, const char *path,
                          rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why);

/* Opens a cache that was made with this tokenizer.
 *
 *   RF_EIO    it cannot be opened
 *   RF_EDATA  it is damaged, of another version, or another tokenizer's                                              */
rf_status rf__tokens_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf__tokens *out, rf_error *why);
void rf__tokens_close(const rf_ctx *ctx, rf__tokens *t);

#endif
