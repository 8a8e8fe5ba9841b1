/* comm.h — small messages between ranks, besides gradients; they are rare. All ranks make all calls.
 *
 * NULL is a run of one rank: nothing is sent. */
#ifndef RF_TRAIN_COMM_H
#define RF_TRAIN_COMM_H

#include "base/base.h"
#include "roformer/inspect/comm.h"

enum { RF__RANKS = 4096 };                            /* at most                                                     */
enum { RF__TALK = 0, RF__FIRST_BUCKET = 1 };         /* numbers: everything here uses RF__TALK                        */

static inline int rf__ranks(const rf_comm *c) { return c ? c->size : 1; }
static inline int rf__rank(const rf_comm *c) { return c ? c->rank : 0; }

/* all[r * bytes ...] = rank r's `mine`; log2(ranks) messages. */
rf_status rf__gather_all(rf_comm *c, const void *mine, void *all, size_t bytes, rf_error *why);

/* Sends rank 0's data to all ranks, by a binary tree of messages. */
rf_status rf__broadcast(rf_comm *c, void *data, size_t bytes, rf_error *why);

/* *bits becomes the union of the bits of all ranks; *sum the exact sum over ranks. */
rf_status rf__any(rf_comm *c, unsigned *bits, rf_error *why);
rf_status rf__sum_whole(rf_comm *c, int64_t *sum, rf_error *why);

/* All ranks get the failure of the first rank that has one. The message is reported once, and all ranks end
 * together. */
rf_status rf__agree(rf_comm *c, rf_status status, rf_error *why);

/* RF_EARG, on every rank, if a number differs that all must share: "rank 1 has other options than rank 0". */
rf_status rf__same(rf_comm *c, uint64_t number, const char *what, rf_error *why);

#endif
