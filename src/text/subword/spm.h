/* spm.h — models of SentencePiece (Kudo and Richardson 2018): reading, encoding and decoding in C, as in version 0.1.97
 * of the C++ library; that library trains them.
 *
 *     spm_model.c     the file: pieces, scores, settings, with all checks
 *     spm_normalizer.c    the normalizer
 *     spm_encode.c    text to pieces: unigram, words, characters, bytes of unknown text
 *     spm_bpe.c       BPE
 *     spm_sample.c    segmentations other than the likeliest
 *     spm_decode.c    pieces to text
 *     spm_learn.cc    training, by the library; spm_learn_none.c in a build without it
 *     spm_child.c     the process in which it trains
 *
 * Nothing throws or prints. */
#ifndef RF_TEXT_SPM_H
#define RF_TEXT_SPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf__spm rf__spm;         /* immutable after loading                                                    */

/* From a serialized model; `name` is the name of the file in messages. */
rf_status rf__spm_load(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf__spm **out,
                       rf_error *why);
void rf__spm_free(rf__spm *m);

typedef enum rf__spm_kind { RF_SPM_UNIGRAM = 1, RF_SPM_BPE, RF_SPM_WORD, RF_SPM_CHAR } rf__spm_kind;
rf__spm_kind rf__spm_kind_of(const rf__spm *m);
int32_t rf__spm_size(const rf__spm *m);
const char *rf__spm_piece(const rf__spm *m, int32_t id);
int32_t rf__spm_id(const rf__spm *m, const char *piece);              /* -1: none                                     */
bool rf__spm_control(const rf__spm *m, int32_t id);                   /* no text becomes it: <s>, </s>                */
typedef enum rf__spm_role { RF_SPM_UNK, RF_SPM_BOS, RF_SPM_EOS, RF_SPM_PAD } rf__spm_role;
int32_t rf__spm_reserved(const rf__spm *m, rf__spm_role role);        /* -1: none                                     */

/* Scratch for texts that are encoded one after another. */
typedef struct rf__spm_work rf__spm_work;
rf__spm_work *rf__spm_work_new(const rf_ctx *ctx);                    /* NULL: no memory                              */
void rf__spm_work_free(rf__spm_work *w);

/* Parameters of sampling: of the nbest likeliest segmentations, one with probability p^alpha (unigram; nbest < 0: of
 * all), or merges skipped with probability alpha (BPE).  The same seed gives the same pieces. */
typedef struct rf__spm_sample { int nbest; float alpha; uint32_t seed; } rf__spm_sample;

/* The pieces of a text of UTF-8, by calls of `put`: `size` bytes of the normalized text (or the name of a byte's
 * piece), from bytes [begin, end) of the text.  `put` returns false to stop.  `sample` may be NULL: the likeliest
 * pieces.  False: no memory, or `put` returned false. */
typedef bool rf__spm_sink(void *user, const char *piece, size_t size, int32_t id, size_t begin, size_t end);
bool rf__spm_encode(const rf__spm *m, rf__spm_work *w, const char *text, size_t size, const rf__spm_sample *sample,
                    rf__spm_sink *put, void *user);

/* The text of pieces, given by id, or by name even if the model does not have them.  False: no memory. */
typedef bool rf__spm_take(void *user, const char *data, size_t size); /* false: no memory                             */
bool rf__spm_decode(const rf__spm *m, const int32_t *id, size_t n, rf__spm_take *take, void *user);
bool rf__spm_join(const rf__spm *m, const char *const *piece, size_t n, rf__spm_take *take, void *user);

/* Like rf__spm_train, in a separate process (spm_child.c): if that crashes or exits, the result is a status. */
rf_status rf__spm_learn(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why);

/* Trains on lines of text; `option` has names and values of spm_train, terminated by NULL.  `take` gets the serialized
 * model. */
rf_status rf__spm_train(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
