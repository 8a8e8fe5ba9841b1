/* encode_corpus.h — converts documents to ids, in order, with all workers. */
#ifndef RF_FEED_H
#define RF_FEED_H

#include "base/base.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

/* Ids are stored in 2 bytes if the vocabulary allows it. */
typedef struct rf__ids { const void *at; int width; } rf__ids;
static inline int rf__id_width(const rf_tokenizer *t) { return rf_tokenizer_size(t) <= 65536 ? 2 : 4; }
static inline int32_t rf__id(rf__ids ids, size_t i)
{
    return ids.width == 2 ? (int32_t)((const uint16_t *)ids.at)[i] : ((const int32_t *)ids.at)[i];
}

/* Some documents, end to end. RF__HELD is set in the length of a held-out document. */
#define RF__HELD 0x80000000u
typedef struct rf__part {
    rf__ids ids;
    size_t tokens, documents;
    const uint32_t *length;
} rf__part;

/* `share`: the fraction of the text that has been read (negative: unknown). Any status other than RF_OK ends the
 * reading with that status. */
typedef rf_status rf__feed_sink(void *user, const rf__part *part, double share, rf_error *why);

enum { RF__HOLD_NONE = 0, RF__HOLD_ALL = 1 };

/* Passes all documents of a reader to `sink`. Those whose hash is below `held`, in [0, 1), are held out; the parts of a
 * document that was cut stay together. The parts do not depend on the number of workers. */
rf_status rf__feed(const rf_ctx *ctx, const rf_tokenizer *t, rf_reader *r, double held, rf__feed_sink *sink, void *user,
                   rf_error *why);

#endif
