/* sequence.h — incremental decoding with a KV cache: create, fork, continue and drop the sequences of a causal model or
 * a decoder.
 *
 *     rf_sequence_new(session, NULL, &a, &why);                                   a new sequence
 *     rf_session_continue(session, &a, &prompt, last, 1, &logits, &why);          its first tokens
 *     rf_sequence_fork(session, a, &b, &why);                                     a copy with the same tokens
 *     rf_session_continue(session, (rf_sequence[]){a, b}, &two, last, 2, &logits, &why);   one more token for each
 *     rf_sequence_drop(session, a, &why);
 *
 * A session keeps the keys and values of all tokens of a sequence. A new token therefore costs one forward pass for
 * itself and attention to the earlier tokens. The cache is stored in pages of 64 tokens. A fork shares all pages; the
 * last page is copied when one of the two continues. One call may continue any of a session's sequences in one packed
 * batch, each by any number of tokens. The logits have the same bits as those for the whole text in one call
 * (rf_session_mlm_logits), whatever else is in the batch and however the text was divided into calls.
 *
 * In a RoFormer-Sim model (rf_config.linear_pooler) the tokens of a prompt attend to the whole prompt. The first call
 * for a sequence therefore has to contain the complete prompt, in a batch of prompts only. Later tokens have token type
 * 1.
 *
 * threads   as for the session: one at a time */
#ifndef ROFORMER_SEQUENCE_H
#define ROFORMER_SEQUENCE_H

#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of a sequence. A session never reuses a number, so a dropped sequence is always detected. 0 is never used. */
typedef int64_t rf_sequence;

typedef struct rf_sequence_options {
    size_t size;                /* of this struct, set by rf_sequence_defaults */

    /* Type in which keys and values are stored: RF_F32 (default), or RF_BF16 for half the memory. Rounding to bf16
       changes scores by a factor of about 1 +- 2^-9; the bits still do not depend on the division into calls. A
       model with bf16 products (rf_model_open_as) always stores them in bf16. */
    rf_type type;
} rf_sequence_options;

/* Sets the defaults: RF_F32. */
void rf_sequence_options_init(rf_sequence_options *o, size_t size);
#define rf_sequence_defaults(o) rf_sequence_options_init((o), sizeof *(o))

/* Creates an empty sequence.
 *
 *   options          may be NULL
 *   RF_EUNSUPPORTED  is_decoder is false in config.json; the keys of the position encoding cannot be cached (the
 *                    message says why); an encoder-decoder model (use rf_sequence_read) */
rf_status rf_sequence_new(rf_session *s, const rf_sequence_options *options, rf_sequence *out, rf_error *why);

/* Encoder-decoder models: encodes the batch `source` and keeps the keys and values that the decoder's cross-attention
 * needs. out[b] is an empty sequence that attends to sequence b of `source`; its first token must be
 * decoder_start_token_id. Forks share the source. A call that fails creates no sequence.
 *
 *   options          may be NULL; the type also applies to the keys and values of the source
 *   RF_EUNSUPPORTED  the model has no decoder; the keys of the position encoding cannot be cached
 *   RF_ERANGE        as rf_session_continue */
rf_status rf_sequence_read(rf_session *s, const rf_sequence_options *options, const rf_batch *source,
                           rf_sequence out[], rf_error *why);

/* Creates a sequence with the same tokens. After that the two are independent. RF_EARG: `from` does not exist. */
rf_status rf_sequence_fork(rf_session *s, rf_sequence from, rf_sequence *out, rf_error *why);

/* Frees a sequence and all memory that no other sequence shares. RF_EARG: the sequence does not exist. */
rf_status rf_sequence_drop(rf_session *s, rf_sequence which, rf_error *why);

/* Number of tokens; -1: the sequence does not exist. */
int64_t rf_sequence_length(const rf_session *s, rf_sequence which);

/* Appends tokens: sequence b of the batch continues the sequence which[b]. Positions are counted automatically
 * (batch->position must be NULL). The logits [n,V] are those after the tokens with the indices row[0..n) in this batch;
 * they are valid until the session's next call. A call that fails leaves all sequences as they were.
 *
 *   RF_EUNSUPPORTED  the model has no language-model head
 *   RF_EARG          a sequence does not exist or is given twice; positions are given
 *   RF_ERANGE        a position beyond the model's position table or beyond 2^31 - 1; the memory would exceed
 *                    rf_sequence_limit (checked before anything is computed)
 *   RF_ENOMEM        out of memory */
rf_status rf_session_continue(rf_session *s, const rf_sequence which[], const rf_batch *batch, const int32_t row[],
                              int64_t n, const float **logits, rf_error *why);

/* ---- memory ----
 *
 * Without sharing, a sequence keeps 2 L C numbers for each token (L layers, C columns) of 4 bytes, or 2 bytes in bf16,
 * rounded up to whole pages. Some position encodings add columns or a state. */

/* Bytes that a sequence of this many tokens keeps; SIZE_MAX if the number does not fit in a size_t. `options` may be
 * NULL. */
size_t rf_sequence_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens);

/* Bytes kept for a source of this many tokens: 2 L C numbers for each token, once for all sequences that share it. */
size_t rf_sequence_source_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens);

/* rf_sequence_memory: bytes that all sequences of a session keep. rf_sequence_limit: sets the maximum from now on (0:
 * no limit). */
size_t rf_sequence_memory(const rf_session *s);
rf_status rf_sequence_limit(rf_session *s, size_t bytes, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
