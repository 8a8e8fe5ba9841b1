/* encode_corpus.h — documents as ids, in order, tokenized by all workers. */
#ifndef RF_FEED_H
#define RF_FEED_H

#include "base/base.h"
#include "roformer/reader.h"
#include "roformer/tokenizer.h"

/* Ids are kept in 2 bytes when the vocabulary allows it. */
typedef struct rf__ids { const void *at; int width; } rf__ids;
static inline int rf__id_width(const rf_tokenizer *t) { return rf_tokenizer_size(t) <= 65536 ? 2 : 4; }
static inline int32_t rf__id(rf__ids ids, size_t i)
{
    return ids.width == 2 ? (int32_t)((const uint16_t *)ids.at)[i] : ((const int32_t *)ids.at)[i];
}

/* Some documents end to end.  The length of a held-out document carries RF__HELD. */
#define RF__HELD 0x80000000u
typedef struct rf__part {
    rf__ids ids;
    size_t tokens, documents;
    const uint32_t *length;
} rf__part;

/* `share` of the text is behind this part (negative: unknown).  Any status but RF_OK ends the feeding with it. */
typedef rf_status rf__feed_sink(void *user, const rf__part *part, double share, rf_error *why);

enum { RF__HOLD_NONE = 0, RF__HOLD_ALL = 1 };

/* Feeds all documents of a reader to `sink`.  Held out are those whose hash falls below `held` in [0, 1): a document
 * that was cut stays on one side.  The parts do not depend on the number of workers. */
rf_status rf__feed(const rf_ctx *ctx, const rf_tokenizer *t, rf_reader *r, double held, rf__feed_sink *sink, void *user,
                   rf_error *why);

#endif
