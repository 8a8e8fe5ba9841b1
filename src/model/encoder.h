/* encoder.h — the encoder; its equations are in encoder.c. */
#ifndef RF_ENCODER_H
#define RF_ENCODER_H

#include "model/params/params.h"
#include "model/position.h"
#include "roformer/model.h"
#include "graph/tensor.h"

typedef struct rf_encoder rf_encoder;

/* Binds a slab of values (and gradients, or NULL for inference) to the model. The slabs must outlive the encoder. */
rf_status rf__encoder_new(const rf_params *params, float *value, float *grad, rf_encoder **out, rf_error *why);

/* The same with one pointer for each parameter, and weights packed for inference (entries may be NULL). The packed
 * matrix of a layer's query contains query, key and value. Values must not change while the encoder exists, since
 * tables computed from them are kept. */
rf_status rf__encoder_view(const rf_params *params, float *const value[], const rf_packed *const packed[],
                           rf_encoder **out, rf_error *why);
void rf__encoder_free(rf_encoder *e);

/* Sets word embeddings that stay in a file; `words` must outlive the encoder, and their entry of `value` is NULL. */
void rf__encoder_word_embeddings(rf_encoder *e, const rf_file_rows *words);

/* Gradients go to another slab, starting with the next batch. */
void rf__encoder_grad(rf_encoder *e, float *grad);

/* For training: a copy of the values that products in bf16 read (must outlive the encoder; NULL: none), and whether the
 * activations of a layer are recomputed in the backward pass. */
void rf__encoder_bf16(rf_encoder *e, const uint16_t *slab);
void rf__encoder_recompute(rf_encoder *e, bool on);

/* Number of queries of linear attention with denominator 0 so far, in all batches and layers; their results are
 * zero. */
int64_t rf__encoder_underflows(const rf_encoder *e);

void rf__encoder_observe(rf_encoder *e, rf__observer *observer, void *user);   /* NULL: none; see attention_probe.h */

/* Last hidden states [N,C] of a packed batch. The encoder keeps the table of angles, which grows as needed. */
/* RoFormer-Sim's vector of the first tokens' h [B,C]; for other models x itself. */
rf_tensor *rf__encoder_vector(rf_graph *g, rf_encoder *e, rf_tensor *x);
rf_tensor *rf__encoder_forward(rf_graph *g, rf_encoder *e, const rf_batch *batch);

/* The same where only the first seen[b] tokens of sequence b [B] are attended to; the others attend to these.
 * RF_EUNSUPPORTED: the family or its position encoding cannot. */
rf_tensor *rf__encoder_forward_seen(rf_graph *g, rf_encoder *e, const rf_batch *batch, const int32_t seen[]);

/* Last hidden states of the tokens row[0..n), [n,C]; row must stay valid until reset. Projection and feed-forward of
 * the last layer, three quarters of its work, are computed only for these. Without dropout, the bits are those of
 * rf__encoder_forward. */
rf_tensor *rf__encoder_forward_rows(rf_graph *g, rf_encoder *e, const rf_batch *batch, const int32_t row[], int64_t n);

/* The states that a head uses, of all tokens (row NULL) or of row[0..n): those of the decoder, if there is one. */
rf_tensor *rf__encoder_forward_head(rf_graph *g, rf_encoder *e, const rf_batch *batch, const int32_t row[], int64_t n);

/* The same for tokens that continue the cache's b->B sequences; they count when the caller commits. */
rf_tensor *rf__encoder_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *batch, rf_cache *cache);

/* Last hidden states of the decoder, [N of the target, C]: pair b reads sequence b of `source`, and each token of its
 * sequence of `target` attends to those before it. Both are packed; lengths may differ. RF_EUNSUPPORTED: the family has
 * no decoder. */
rf_tensor *rf__pair_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, const rf_batch *target);

/* The same in two steps. rf__source_forward stores what the decoder's layers need of sources in the cache's sequences,
 * which rf__cache_read has created. rf__target_forward_next computes tokens that continue such sequences. The bits are
 * those of rf__pair_forward. */
void rf__source_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, rf_cache *cache);
rf_tensor *rf__target_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *target, rf_cache *cache);

/* The family's transform of the tokens at row[0..n) before the decoder, [n,E]; for BERT LayerNorm(act(h W^T + b)). */
rf_tensor *rf__mlm_transform(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n);

/* The matrix and bias of the logits, x table^T + bias, in the current batch; bias may be NULL. */
void rf__mlm_decoder(const rf_encoder *e, rf_tensor **table, rf_tensor **bias);

/* Masked-language-model loss of the tokens at row[i] with label[i]; see rf__vocab_loss for weight and sums. */
rf_tensor *rf__mlm_loss(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], const int32_t label[], int64_t n,
                        double weight, double *loss_sum, int64_t *hits);

/* Logits [n,V] of the tokens at row[0..n). */
rf_tensor *rf__mlm_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n);

/* Logits of the other heads (heads.c): [B,K] for sequences, [N,K] for tokens, [B,1] for candidates; from hidden states
 * [N,C], or from a batch, encoded as far as the head needs it. For a batch, RoFormer-Sim gives vectors [B,C]. */
rf_tensor *rf__task_forward(rf_graph *g, rf_encoder *e, const rf_batch *batch);
rf_tensor *rf__task_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const rf_batch *batch);
bool rf__task_rows(const rf_params *params);                          /* the head uses one token of each sequence */
struct rf_head_weights;
const struct rf_head_weights *rf__encoder_head(const rf_encoder *e);    /* of the current batch                       */
const rf_params *rf__encoder_params(const rf_encoder *e);

/* The embeddings and the first `layers` layers get no gradient from now on; 0: everything gets one. */
void rf__encoder_freeze(rf_encoder *e, int64_t layers);

#endif
