/* encoder.h — the encoder as its equations; see encoder.c. */
#ifndef RF_ENCODER_H
#define RF_ENCODER_H

#include "model/params.h"
#include "model/position.h"
#include "roformer/model.h"
#include "roformer/kernel/tensor.h"

typedef struct rf_encoder rf_encoder;

/* Binds a slab of values (and gradients, or NULL for inference) to the model.  The slabs must outlive the encoder. */
rf_status rf__encoder_new(const rf_params *params, float *value, float *grad, rf_encoder **out, rf_error *why);

/* The same over one pointer for each parameter, with weights packed for inference (entries may be NULL).  The packed
 * matrix of a layer's query stands for query, key and value together.  Values may not change while the encoder is
 * there: what positions make of them is kept. */
rf_status rf__encoder_view(const rf_params *params, float *const value[], const rf_packed *const packed[],
                           rf_encoder **out, rf_error *why);
void rf__encoder_free(rf_encoder *e);

/* The word embeddings are rows of bf16, which must outlive the encoder; their entry of `value` is NULL. */
void rf__encoder_word_embeddings(rf_encoder *e, const uint16_t *words);

/* Gradients go to another slab from the next batch on. */
void rf__encoder_grad(rf_encoder *e, float *grad);

/* For training: a copy of the values that products in bf16 read (it must outlive the encoder; NULL: none), and whether
 * a layer's activations are computed again in the backward instead of kept.                                          */
void rf__encoder_bf16(rf_encoder *e, const uint16_t *slab);
void rf__encoder_recompute(rf_encoder *e, bool on);

/* Queries of linear attention that had no denominator so far, in all batches and layers; their results are zeros. */
int64_t rf__encoder_underflows(const rf_encoder *e);

void rf__encoder_observe(rf_encoder *e, rf__observer *observer, void *user);   /* NULL: nobody; see attention_probe.h */

/* Last hidden states [N,C] of a packed batch.  The angles' table grows as needed and is kept by the encoder. */
/* What RoFormer-Sim makes of the first tokens' h [B,C]; of other models x itself. */
rf_tensor *rf__encoder_vector(rf_graph *g, rf_encoder *e, rf_tensor *x);
rf_tensor *rf__encoder_forward(rf_graph *g, rf_encoder *e, const rf_batch *batch);

/* Those of the tokens row[0..n), which lives until reset, [n,C]: the last layer's projection and feed-forward, three
 * quarters of its work, run for no others.  Without dropout the bits are those of rf__encoder_forward. */
rf_tensor *rf__encoder_forward_rows(rf_graph *g, rf_encoder *e, const rf_batch *batch, const int32_t row[], int64_t n);

/* The same for tokens that continue the cache's sequences, of which b->B there are; they are counted there when the
 * caller commits. */
rf_tensor *rf__encoder_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *batch, rf_cache *cache);

/* Last hidden states of the decoder, [N of the target, C]: pair b reads sequence b of `source`, and each token of its
 * sequence of `target` sees those before it.  Both are packed; lengths differ as they like.  RF_EUNSUPPORTED: the
 * family has no decoder. */
rf_tensor *rf__pair_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, const rf_batch *target);

/* The same in two: what the decoder's layers look at of sources is kept by the cache's sequences, which rf__cache_read
 * has made; and tokens that continue such sequences.  The bits are those of rf__pair_forward. */
void rf__source_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, rf_cache *cache);
rf_tensor *rf__target_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *target, rf_cache *cache);

/* What the family makes of the tokens at row[0..n) before the decoder, [n,E]; in BERT LayerNorm(act(h W^T + b)). */
rf_tensor *rf__mlm_transform(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n);

/* What logits are made with, x table^T + bias, in the batch that is computed; bias may be NULL. */
void rf__mlm_decoder(const rf_encoder *e, rf_tensor **table, rf_tensor **bias);

/* Masked-language-model loss of the tokens at row[i] against label[i]; see rf_vocab_loss for weight and sums. */
rf_tensor *rf__mlm_loss(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], const int32_t label[], int64_t n,
                        double weight, double *loss_sum, int64_t *hits);

/* Logits [n,V] of the tokens at row[0..n). */
rf_tensor *rf__mlm_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n);

/* Logits of the other heads (heads.c): [B,K] of sequences, [N,K] of tokens, [B,1] of candidates; of hidden states
 * [N,C], or of a batch, encoded as far as the head looks at it.  Of a batch RoFormer-Sim gives vectors [B,C]. */
rf_tensor *rf__task_forward(rf_graph *g, rf_encoder *e, const rf_batch *batch);
rf_tensor *rf__task_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const rf_batch *batch);
bool rf__task_rows(const rf_params *params);                          /* the head looks at one token of each sequence */
struct rf_head_weights;
const struct rf_head_weights *rf__encoder_head(const rf_encoder *e);    /* of the batch that is computed              */
const rf_params *rf__encoder_params(const rf_encoder *e);

/* Embeddings and the first `layers` layers get no gradient any more; 0: everything gets one. */
void rf__encoder_freeze(rf_encoder *e, int64_t layers);

#endif
