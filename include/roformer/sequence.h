/* sequence.h — texts that a causal model or a decoder goes on with: begun, forked, continued and dropped one by one.
 *
 *     rf_sequence_new(session, NULL, &a, &why);                                   a text
 *     rf_session_continue(session, &a, &prompt, last, 1, &logits, &why);          its first tokens
 *     rf_sequence_fork(session, a, &b, &why);                                     another that begins with the same
 *     rf_session_continue(session, (rf_sequence[]){a, b}, &two, last, 2, &logits, &why);   a token for each
 *     rf_sequence_drop(session, a, &why);
 *
 * A session keeps the keys and values of a sequence's tokens, so that a token costs one pass of its own and attention
 * over those before it.  They lie in pages of 64 tokens; a fork shares all pages, and copies the last one when either
 * goes on.  Any of a session's sequences, in any order, go on together in one packed batch, each with as many tokens as
 * it likes.  The logits have the bits of the whole text seen at once (rf_session_mlm_logits), whatever else is in the
 * batch and however the text was cut into calls.
 *
 * A RoFormer-Sim (rf_config.linear_pooler) sees a prompt as a whole: the first call of a sequence has all of it, in a
 * batch of prompts alone; what follows has token type 1.
 *
 * threads   as the session's: one at a time                                                                          */
#ifndef ROFORMER_SEQUENCE_H
#define ROFORMER_SEQUENCE_H

#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A number that a session gives out once: a sequence that was dropped is told from all others.  0 is none. */
typedef int64_t rf_sequence;

typedef struct rf_sequence_options {
    size_t size;                /* of this struct, set by rf_sequence_defaults */

    /* What keys and values are kept in: RF_F32, or RF_BF16 for half the memory.  Rounded to bf16, once, scores move by
     * about 2^-9 of themselves; the bits are still those of any other cut into calls.  A model whose products are in
     * bf16 (rf_model_open_as) rounds keys and values anyway: it keeps them in bf16 whatever is asked for. */
    rf_type type;
} rf_sequence_options;

/* RF_F32. */
void rf_sequence_options_init(rf_sequence_options *o, size_t size);
#define rf_sequence_defaults(o) rf_sequence_options_init((o), sizeof *(o))

/* A sequence without tokens.
 *
 *   options          or NULL
 *   RF_EUNSUPPORTED  config.json's is_decoder is false; an encoding whose keys cannot be kept (the message says why);
 *                    a decoder that looks at a source                                                               */
rf_status rf_sequence_new(rf_session *s, const rf_sequence_options *options, rf_sequence *out, rf_error *why);

/* Models of an encoder and a decoder: the encoder reads the sources, one batch, and what each layer of the decoder
 * looks at, keys and values of every token of theirs, is kept: out[b], a sequence without tokens, looks at sequence b
 * of `source`.  Its first token is decoder_start_token_id.  Forks share the source.  A call that fails leaves no
 * sequence.
 *
 *   options          or NULL; the type is that of the source's keys, too
 *   RF_EUNSUPPORTED  the model has no decoder; an encoding whose keys cannot be kept
 *   RF_ERANGE        as rf_session_continue                                                                          */
rf_status rf_sequence_read(rf_session *s, const rf_sequence_options *options, const rf_batch *source,
                           rf_sequence out[], rf_error *why);

/* A sequence of the same tokens; from then on each goes its own way.  RF_EARG: `from` was dropped, or never begun. */
rf_status rf_sequence_fork(rf_session *s, rf_sequence from, rf_sequence *out, rf_error *why);

/* Gives back what no other sequence shares.  RF_EARG: dropped already, or never begun. */
rf_status rf_sequence_drop(rf_session *s, rf_sequence which, rf_error *why);

/* Tokens so far; -1: dropped, or never begun. */
int64_t rf_sequence_length(const rf_session *s, rf_sequence which);

/* The tokens of the batch are the next ones of the sequences which[0..batch->B), each of which is there once.
 * Positions go on counting (batch->position is NULL).  Logits [n,V] of the tokens at row[0..n) of this batch are lent
 * until the next call on this session.  A call that fails leaves all sequences as they were.
 *
 *   RF_EUNSUPPORTED  no head
 *   RF_EARG          a sequence that is not there, or twice; positions
 *   RF_ERANGE        a position that a learned table does not hold, or beyond 2^31 - 1; more memory than
 *                    rf_sequence_limit allows, which is found before anything is computed
 *   RF_ENOMEM        the same where memory itself ends                                                               */
rf_status rf_session_continue(rf_session *s, const rf_sequence which[], const rf_batch *batch, const int32_t row[],
                              int64_t n, const float **logits, rf_error *why);

/* ---- memory ----
 *
 * A sequence of T tokens that shares nothing keeps, of L layers of C columns, 2 L C numbers of 4 bytes (bf16: 2) for
 * each of its tokens, rounded up to whole pages, and the further columns and states of those encodings that have
 * them. */

/* What a sequence of so many tokens keeps; SIZE_MAX when no size_t holds it.  options: or NULL. */
size_t rf_sequence_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens);

/* What is kept of a source of so many tokens, once for all sequences that look at it: 2 L C numbers a token. */
size_t rf_sequence_source_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens);

/* What all sequences of a session keep together; and the most that they may, from now on (0: no limit). */
size_t rf_sequence_memory(const rf_session *s);
rf_status rf_sequence_limit(rf_session *s, size_t bytes, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
