/* tokens.h — the whole text of a run as ids, in a file that is created once and mapped. */
#ifndef RF_TOKENS_H
#define RF_TOKENS_H

#include "data/corpus/encode_corpus.h"

#define RF__TOKENS_MAGIC "RFTOKENS"       /* how the file begins */

/*     header | ids of all documents, end to end | length of each document (RF__HELD: held out)                       */
typedef struct rf__tokens {
    rf_map map;
    rf__ids ids;
    size_t tokens, documents, held;     /* held: documents held out                                                   */
    const uint32_t *length;             /* [documents]                                                                */
    uint64_t hash;                      /* of ids and lengths: the same text with the same tokenizer                  */
} rf__tokens;

/* The texts that are tokenized. */
typedef struct rf__texts {
    const char *const *text, *const *validation;
    int texts, validations;
    double split;                       /* if there is no validation text                                             */
    const rf_reader_options *reader;
} rf__texts;

/* Called while the text is read; `share` is negative if it is unknown. A value other than 0 ends the reading. */
typedef int rf__reading_report(void *user, double share, size_t tokens, size_t documents);

/* Opens folder/tokens.cache if it contains these texts with this tokenizer, otherwise creates it.
 *
 *   expect          the hash in a checkpoint, or 0. A cache with this hash is used even if the texts themselves cannot
 *                   be read any more, or were standard input
 *   RF_ESTOPPED     `reading` ended the reading
 *   RF_EDATA        no document for training
 *   RF_EIO          a text cannot be read, or there is no space for the cache; no file is left */
rf_status rf__tokens_open(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *texts, const char *folder,
                          uint64_t expect, rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why);

/* Creates the cache `path` of these texts, unless it exists; an existing folder or other file is refused before any
 * text is read. */
rf_status rf__tokens_make(const rf_ctx *ctx, const rf_tokenizer *t, const rf__texts *texts, const char *path,
                          rf__reading_report *reading, void *user, rf__tokens *out, rf_error *why);

/* Opens a cache that was created with this tokenizer.
 *
 *   RF_EIO    it cannot be opened
 *   RF_EDATA  it is damaged, of another version, or of another tokenizer */
rf_status rf__tokens_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *path, rf__tokens *out, rf_error *why);
void rf__tokens_close(const rf_ctx *ctx, rf__tokens *t);

#endif
