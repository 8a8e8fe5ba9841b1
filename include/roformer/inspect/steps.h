/* steps.h — single steps of training, for benchmarks and for inspecting their results. kernel/kernels.h
 * measures the machine's limits, with which they can be compared.
 *
 * threads   a step belongs to one thread at a time */
#ifndef ROFORMER_STEPS_H
#define ROFORMER_STEPS_H

#include "roformer/inspect/comm.h"
#include "roformer/model.h"
#include "roformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a training step --------------------------------------------------------------------------------------------- */

/* A model with random weights and its optimizer: computes gradients for batches of the caller, and updates the
 * weights. */
typedef struct rf_train_step rf_train_step;

/* Creates the model and its optimizer.
 *
 *   options   optim and its constants, max_grad_norm, bf16, gradient_checkpointing and seed are used
 *   out       closed with rf_train_step_close; unchanged on error
 *   RF_EDATA  the config is not that of a model
 *   RF_ENOMEM out of memory */
rf_status rf_train_step_open(const rf_ctx *ctx, const rf_config *c, const rf_train_options *options,
                             rf_train_step **out, rf_error *why);
void rf_train_step_close(rf_train_step *s);

/* Adds the gradient of scale * sum_i -log p(label[i] | token row[i]) over the n labels, with the config's dropout.
 *
 *   loss       that sum; may be NULL
 *   RF_EARG    n is below 1, or a row is out of range */
rf_status rf_train_step_gradient(rf_train_step *s, const rf_batch *batch, const int32_t row[], const int32_t label[],
                                 int64_t n, double scale, double *loss, rf_error *why);

/* Clips the gradient to max_grad_norm (0: no clipping), updates the weights with this learning rate and sets the
 * gradient to zero.
 *
 *   norm       norm of the gradient before clipping; may be NULL */
rf_status rf_train_step_update(rf_train_step *s, double rate, double *norm, rf_error *why);

/* Only the update, without clipping; the gradient is consumed. */
rf_status rf_train_step_apply(rf_train_step *s, double rate, rf_error *why);

/* Arithmetic of products and attention in all gradients so far, a multiply-add as two. */
double rf_train_step_flops(const rf_train_step *s);

/* All weights and their gradients, [*n] each, in memory of the step; padding between parameters is 0. */
float *rf_train_step_values(rf_train_step *s, size_t *n);
float *rf_train_step_gradients(rf_train_step *s);

/* ---- what a pass would hold and compute -------------------------------------------------------------------------- */

/* A pass over `texts` texts of `tokens` tokens each; of an encoder-decoder model, over as many pairs of such texts. */
typedef struct rf_pass {
    int64_t texts, tokens;
    rf_type type;               /* of products: RF_F32 or RF_BF16 */
    int train;                  /* 1: forward and backward of pre-training, 15 % of the tokens masked; 0: forward */
    double bytes, flops;        /* results: peak of the activations in memory; arithmetic of products and attention */
} rf_pass;

/* Counts it with the pass's own code, without weights and without computing. What products and kernels use for a moment
 * is not counted.
 *
 *   RF_ERANGE  no tokens, or more than INT32_MAX of them
 *   RF_ENOMEM  out of memory
 *   others     what the model's forward pass refuses, such as texts that are too long */
rf_status rf_pass_count(const rf_ctx *ctx, const rf_config *c, rf_pass *pass, rf_error *why);

/* ---- the gradient between ranks ---------------------------------------------------------------------------------- */

/* Measures the exchange of a gradient, best of `rounds`, in seconds: each rank sends its parts to their owners, these
 * are summed, and the updated values are sent to all. Called by all ranks at the same time.
 *
 *   numbers    size of the gradient in numbers; may be NULL
 *   others     errors of the transport */
rf_status rf_exchange_seconds(const rf_ctx *ctx, rf_comm *comm, const rf_config *c, int rounds, double *seconds,
                              double *numbers, rf_error *why);

/* ---- attention with a position encoding -------------------------------------------------------------------------- */

/* Attention of one layer on B sequences of T tokens, with random queries, keys and values. */
typedef struct rf_attention_pass rf_attention_pass;

/*   type      RF_F32 or RF_BF16
 *   others    as rf_position_of */
rf_status rf_attention_pass_open(const rf_ctx *ctx, const rf_config *c, rf_type type, int32_t B, int32_t T,
                                 rf_attention_pass **out, rf_error *why);
void rf_attention_pass_close(rf_attention_pass *p);

/* Runs it once.
 *
 *   keep       1: keep the tables of the encoding between passes, as a session does; 0: recompute them
 *   back       1: also run the backward pass
 *   seconds    times of the tables, the attention and the backward pass */
rf_status rf_attention_pass_run(rf_attention_pass *p, int keep, int back, double seconds[3], rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
