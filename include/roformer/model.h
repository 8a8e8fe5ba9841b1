/* model.h — opens a model and computes hidden states, embeddings and logits for batches.
 *
 * An open model never changes. A session is the workspace of one thread for this model. A batch holds N tokens of B
 * sequences, one after the other without padding; the array `start` says where each begins. The result for a sequence
 * has the same bits whatever else is in the batch and however many threads work.
 *
 * threads   an rf_model may be shared by threads; an rf_session may be used by one thread at a time. Sessions of one
 *           context may compute at the same time, but they share its workers: a product that finds them busy runs on
 *           the calling thread alone (gemm.h). For throughput, use one session with larger batches, or one context for
 *           each session */
#ifndef ROFORMER_MODEL_H
#define ROFORMER_MODEL_H

#include "roformer/context.h"
#include "roformer/checkpoint.h"
#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_model rf_model;
typedef struct rf_session rf_session;

/* Opens a model folder, on disk or in memory (inspect/files.h). The folder holds config.json,
 * model.safetensors or its shards, and usually a tokenizer (vocab.txt or tokenizer.json).
 *
 *   ctx        must outlive the model
 *   out        closed with rf_model_close, after all sessions and pipelines on it; unchanged on error
 *   RF_EDATA   a file is malformed; missing tensors and tensors of a wrong shape are listed in one message
 *   RF_EUNSUPPORTED  a file uses a feature that is not supported
 *   RF_ENUMERIC  a weight is not finite
 *   RF_EIO     a file cannot be opened
 *   RF_ENOMEM  out of memory */
rf_status rf_model_open(const rf_ctx *ctx, const char *folder, rf_model **out, rf_error *why);

/* Opens a model with the type in which its matrices are stored and multiplied. docs/numerics.md states the effect on
 * the results.
 *
 *   RF_F32     32-bit floating point, as rf_model_open
 *   RF_BF16    half the memory. Faster on processors with a fast bf16 instruction (rungs avx512bf16, amx, neonbf16); on
 *              others as fast as RF_F32 or slower
 *   RF_I8      weight matrices of the layers in int8, quantized while they are read: a quarter of the memory. Faster on
 *              processors with an int8 instruction (rungs avxvnni, avx512vnni, amx, neondot, neoni8mm). Attention and
 *              the other matrices use bf16, everything else f32. RF_ENUMERIC names a tensor that cannot be scaled: all
 *              zero, too large or too small
 *   RF_I8W     the same weights, but products in f32, or in bf16 where the rung has a fast bf16 instruction: the memory
 *              of RF_I8 and about the speed of RF_F32 or RF_BF16. More accurate than RF_I8, because activations are
 *              not quantized. Attention and the other matrices as with RF_I8
 *   RF_EUNSUPPORTED  any other type */
rf_status rf_model_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_model **out, rf_error *why);

/* Creates a model of this shape with random weights and no tokenizer, for benchmarks. The weights are a function of the
 * seed. Errors as for rf_model_open_as; RF_EARG, RF_EDATA also if the config is not acceptable. */
rf_status rf_model_random(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_model **out, rf_error *why);
rf_status rf_model_random_as(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_type type, rf_model **out,
                             rf_error *why);
void rf_model_close(rf_model *m);                               /* NULL is allowed */

/* Properties of the model. Pointers belong to the model; m must not be NULL. */
const rf_config *rf_model_config(const rf_model *m);
const rf_tokenizer *rf_model_tokenizer(const rf_model *m);      /* NULL if the folder has none */
int rf_model_has_head(const rf_model *m);                       /* 1: the model has a language-model head */
rf_head rf_model_task(const rf_model *m);                       /* RF_HEAD_MLM unless there is a fine-tuned head */

typedef struct rf_batch {
    int64_t N, B;
    const int32_t *id;          /* [N] token ids */
    const int32_t *type;        /* [N] token types; NULL: all 0 */
    const int32_t *position;    /* [N] any int32; NULL: 0, 1, ... within each sequence */
    const int32_t *start;       /* [B+1]; sequence b is tokens start[b] to start[b+1]-1; start[0] = 0, start[B] = N */
} rf_batch;

/* Opens a session.
 *
 *   out        closed with rf_session_close, before the model; unchanged on error
 *   cost       little; the workspace grows with the largest batch and is kept between calls
 *   RF_ENOMEM  out of memory */
rf_status rf_session_open(const rf_model *m, rf_session **out, rf_error *why);
void rf_session_close(rf_session *s);                           /* NULL is allowed */

/* From now on, the session's calls check the flag `cancel` (context.h). The caller owns the flag. NULL: no flag is
 * checked. */
void rf_session_set_cancel(rf_session *s, const rf_cancel *cancel);

/* Hidden states [N,C] of the last layer, C = hidden_size. They belong to the session and are valid until its next
 * call.
 *
 *   RF_ERANGE  an id, a token type or a position is beyond its table
 *   RF_EARG    a sequence has no token, or the starts do not run from 0 to N */
rf_status rf_session_hidden(rf_session *s, const rf_batch *batch, const float **hidden, rf_error *why);

/* Arithmetic of products and attention in all calls of the session so far, a multiply-add as two. */
double rf_session_flops(const rf_session *s);

/* One vector of C numbers for each sequence, pooled as `how` says. They are valid until the session's next call. */
rf_status rf_session_embed(rf_session *s, const rf_batch *batch, rf_pooling how, const float **vectors, rf_error *why);

/* Logits [n,V] of the language-model head, V = vocab_size, for the tokens with the indices row[0..n) in the batch. A
 * masked language model predicts the token itself, a causal model the token that follows it. The logits are valid until
 * the session's next call. RF_EUNSUPPORTED: the model has no language-model head. */
rf_status rf_session_mlm_logits(rf_session *s, const rf_batch *batch, const int32_t row[], int64_t n,
                                const float **logits, rf_error *why);

/* Encoder-decoder models: logits [n,V] for the token that follows each of the target tokens with the indices row[0..n).
 * Sequence b of `source` is the source of sequence b of `target`, which begins with decoder_start_token_id. The logits
 * are valid until the session's next call. RF_EUNSUPPORTED: the model has no decoder. */
rf_status rf_session_pair_logits(rf_session *s, const rf_batch *source, const rf_batch *target, const int32_t row[],
                                 int64_t n, const float **logits, rf_error *why);

/* Logits [rows,K] of a fine-tuned head, valid until the session's next call. K is num_labels of the config, or 1 for
 * multiple choice. There is one row for each sequence of the batch, or for each token with RF_HEAD_TOKEN and
 * RF_HEAD_SPAN. RF_EUNSUPPORTED: the model has no such head. */
rf_status rf_session_logits(rf_session *s, const rf_batch *batch, const float **logits, int64_t *rows, rf_error *why);

/* ---- sequences: incremental decoding with a KV cache ----
 *
 * Create, fork, continue and drop the sequences of a causal model or a decoder:
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
 * Without sharing, a sequence keeps 2 L C numbers for each token (L layers, C columns), each of 4 bytes, or 2 in bf16.
 * The total is rounded up to whole pages. Some position encodings add columns or a state. */

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
