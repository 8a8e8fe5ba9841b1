/* model.h — a RoFormer encoder and what one asks of it.
 *
 * A model is opened once and never changes; a session is one thread's workspace over it.  A batch is N tokens laid end
 * to end with B+1 starts: no padding, any mixture of lengths.  The answer for a text is the same bits whatever else is
 * in the batch and however many threads work.
 *
 * threads   rf_model may be shared; an rf_session belongs to one thread at a time.  Sessions of one context may compute
 *           at the same time, but share its workers, and their products take turns (gemm.h): for throughput one session
 *           with larger batches is better, or a context for each                                                     */
#ifndef ROFORMER_MODEL_H
#define ROFORMER_MODEL_H

#include "roformer/cancel.h"
#include "roformer/checkpoint.h"
#include "roformer/memory_folder.h"
#include "roformer/kernel/tensor.h"
#include "roformer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_model rf_model;
typedef struct rf_session rf_session;

/* Opens a model folder (config.json; model.safetensors or its shards; vocab.txt or tokenizer.json, when it has one), on
 * disk or in memory (memory_folder.h).
 *
 *   RF_EDATA   a file is not what it must be; missing or misshapen tensors are listed together; also RF_EUNSUPPORTED
 *   RF_ENUMERIC a weight is not finite           RF_EIO a file cannot be opened           RF_ENOMEM                  */
rf_status rf_model_open(const rf_ctx *ctx, const char *folder, rf_model **out, rf_error *why);

/* The same with the type that matrices are kept and multiplied in (docs/numerics.md says what becomes of the answers):
 *
 *   RF_F32
 *   RF_BF16    half the memory and, where the processor has AVX512_BF16, about twice the speed
 *   RF_I8      matrices of the layers in int8, quantized while they are read: a quarter of the memory and, with
 *              AVX512_VNNI, up to twice the speed of bf16; attention and the other matrices are as with RF_BF16, all
 *              else f32.  RF_ENUMERIC names a tensor that has no scale: all zero, or too large or small
 *
 * RF_EUNSUPPORTED: another type.                                                                                     */
rf_status rf_model_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_model **out, rf_error *why);

/* A model of this shape with random weights and no tokenizer, for benchmarks. */
rf_status rf_model_random(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_model **out, rf_error *why);
rf_status rf_model_random_as(const rf_ctx *ctx, const rf_config *config, uint64_t seed, rf_type type, rf_model **out,
                             rf_error *why);
void rf_model_close(rf_model *m);

const rf_config *rf_model_config(const rf_model *m);
const rf_tokenizer *rf_model_tokenizer(const rf_model *m);      /* NULL when the folder has none                      */
int rf_model_has_head(const rf_model *m);                       /* 1: masked-language-model head present              */
rf_head rf_model_task(const rf_model *m);                       /* RF_HEAD_MLM unless a fine-tuned head is present    */
const char *rf_model_ignored(const rf_model *m);                /* tensors of the file that are not used, "" if none  */

typedef struct rf_batch {
    int64_t N, B;
    const int32_t *id;          /* [N]                                                                                */
    const int32_t *type;        /* [N] token types, NULL: all 0                                                       */
    const int32_t *position;    /* [N] any int32, NULL: 0, 1, ... within each sequence                                */
    const int32_t *start;       /* [B+1], start[0] = 0, start[B] = N                                                  */
} rf_batch;

rf_status rf_session_open(const rf_model *m, rf_session **out, rf_error *why);
void rf_session_close(rf_session *s);

/* From now on the session's calls look at `cancel`, which the caller keeps (cancel.h); NULL: at none. */
void rf_session_set_cancel(rf_session *s, const rf_cancel *cancel);

/* Last hidden states [N,C], lent until the next call on this session. */
rf_status rf_session_hidden(rf_session *s, const rf_batch *batch, const float **hidden, rf_error *why);

/* One vector of C for each sequence, lent until the next call. */
rf_status rf_session_embed(rf_session *s, const rf_batch *batch, rf_pooling how, const float **vectors, rf_error *why);

/* Logits [n,V] of the masked-language-model head for the tokens at row[0..n), lent until the next call; of a causal
 * model those of the token that follows each.  RF_EUNSUPPORTED without a head. */
rf_status rf_session_mlm_logits(rf_session *s, const rf_batch *batch, const int32_t row[], int64_t n,
                                const float **logits, rf_error *why);

/* Models of an encoder and a decoder: logits [n,V] of what follows the tokens at row[0..n) of the targets, lent until
 * the next call.  Pair b is sequence b of `source` and sequence b of `target`, which begins with
 * decoder_start_token_id.  RF_EUNSUPPORTED: the model has no decoder. */
rf_status rf_session_pair_logits(rf_session *s, const rf_batch *source, const rf_batch *target, const int32_t row[],
                                 int64_t n, const float **logits, rf_error *why);

/* Logits of a fine-tuned head, [rows,K], lent until the next call: K is the config's num_labels (1 for choices), rows
 * are the sequences of the batch, or its tokens for RF_HEAD_TOKEN and RF_HEAD_SPAN.  RF_EUNSUPPORTED without such a
 * head. */
rf_status rf_session_logits(rf_session *s, const rf_batch *batch, const float **logits, int64_t *rows, rf_error *why);

/* Bytes of the session's workspace and of its sequences (sequence.h). */
size_t rf_session_memory(const rf_session *s);

#ifdef __cplusplus
}
#endif
#endif
