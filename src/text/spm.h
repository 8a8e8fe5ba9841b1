/* spm.h — SentencePiece (Kudo and Richardson 2018) for C: what subwords.c needs of the C++ library, in spm.cc.
 *
 * Nothing is thrown or printed.  A build without the library has spm_none.c instead, which says what to install. */
#ifndef RF_TEXT_SPM_H
#define RF_TEXT_SPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf__spm rf__spm;         /* immutable once it is loaded                                                */

/* From a serialised model; `name` is the file's, in messages. */
rf_status rf__spm_load(const void *data, size_t size, const char *name, rf__spm **out, rf_error *why);
void rf__spm_free(rf__spm *m);

int32_t rf__spm_size(const rf__spm *m);
const char *rf__spm_piece(const rf__spm *m, int32_t id);
int32_t rf__spm_id(const rf__spm *m, const char *piece);              /* -1: none                                     */
bool rf__spm_control(const rf__spm *m, int32_t id);                   /* no text becomes it: <s>, </s>                */
typedef enum rf__spm_role { RF_SPM_UNK, RF_SPM_BOS, RF_SPM_EOS, RF_SPM_PAD } rf__spm_role;
int32_t rf__spm_reserved(const rf__spm *m, rf__spm_role role);        /* -1: none                                     */

/* The pieces of a text, by calls of `put`, which returns false to stop: no memory.  With alpha above 0 others than the
 * likeliest: one of the nbest best with probability p^alpha (unigram; nbest < 0: of all), or merges left out with
 * probability alpha (BPE).  The same seed gives the same pieces. */
typedef bool rf__spm_put(void *user, const char *piece, int32_t id, uint32_t begin, uint32_t end);
rf_status rf__spm_encode(const rf__spm *m, const char *text, size_t size, int nbest, float alpha, uint32_t seed,
                         rf__spm_put *put, void *user, rf_error *why);

typedef bool rf__spm_take(void *user, const char *data, size_t size); /* false: no memory                             */
rf_status rf__spm_decode(const rf__spm *m, const int32_t *id, size_t n, rf__spm_take *take, void *user, rf_error *why);
rf_status rf__spm_join(const rf__spm *m, const char *const *piece, size_t n, rf__spm_take *take, void *user,
                       rf_error *why);                                /* the text of pieces, also of those of others  */

/* As rf__spm_train, in a process of its own (spm_child.c): one that crashes or exits is a status here. */
rf_status rf__spm_learn(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why);

/* Learns from lines of text; `option` are names and values of spm_train, NULL at the end.  `take` gets the serialised
 * model. */
rf_status rf__spm_train(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
