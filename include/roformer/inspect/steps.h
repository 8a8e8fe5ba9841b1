/* steps.h — single steps of what the library does in training, for who times them or looks at what they leave.
 *
 * What they are to be compared with is in work.h.
 *
 * threads   a step belongs to one thread at a time                                                                   */
#ifndef ROFORMER_STEPS_H
#define ROFORMER_STEPS_H

#include "roformer/inspect/comm.h"
#include "roformer/model.h"
#include "roformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a training step --------------------------------------------------------------------------------------------- */

/* A model with random weights and what it takes to train it: forward and backward of batches that the caller makes,
 * then an update. */
typedef struct rf_train_step rf_train_step;

/*   options   optim and its constants, max_grad_norm, bf16, gradient_checkpointing, seed; the rest is not used
 *   out       closed with rf_train_step_close; untouched on error
 *   RF_EDATA  the config names no model                                    RF_ENOMEM                                 */
rf_status rf_train_step_open(const rf_ctx *ctx, const rf_config *c, const rf_train_options *options,
                             rf_train_step **out, rf_error *why);
void rf_train_step_close(rf_train_step *s);

/* Adds the gradient of scale * sum_i -log p(label[i] | token row[i]) over the n labels, with dropout as configured.
 *
 *   loss       (or NULL) that sum                                          RF_EARG   n < 1, or a row outside         */
rf_status rf_train_step_gradient(rf_train_step *s, const rf_batch *batch, const int32_t row[], const int32_t label[],
                                 int64_t n, double scale, double *loss, rf_error *why);

/* Clips the gradient to max_grad_norm (0: not), updates with this learning rate, and zeroes it.
 *
 *   norm       (or NULL) the gradient's, before                                                                      */
rf_status rf_train_step_update(rf_train_step *s, double rate, double *norm, rf_error *why);

/* The update alone: the gradient is taken as it is, and used up. */
rf_status rf_train_step_apply(rf_train_step *s, double rate, rf_error *why);

/* All values and their gradient, [*n] each, the step's own; padding between parameters is 0. */
float *rf_train_step_values(rf_train_step *s, size_t *n);
float *rf_train_step_gradients(rf_train_step *s);

/* ---- the gradient between ranks ---------------------------------------------------------------------------------- */

/* Seconds that a gradient's whole way takes, best of `rounds`: every rank's parts to their owners, sums, and the values
 * back to everybody.  Called by all ranks at the same time.
 *
 *   numbers    (or NULL) of the gradient                                   others   as the transport                 */
rf_status rf_exchange_seconds(const rf_ctx *ctx, rf_comm *comm, const rf_config *c, int rounds, double *seconds,
                              double *numbers, rf_error *why);

/* ---- attention with a position encoding -------------------------------------------------------------------------- */

/* One layer's attention on B sequences of T tokens, with random queries, keys and values. */
typedef struct rf_attention_pass rf_attention_pass;

/*   type      RF_F32 or RF_BF16                                            others    as rf_position_of               */
rf_status rf_attention_pass_open(const rf_ctx *ctx, const rf_config *c, rf_type type, int32_t B, int32_t T,
                                 rf_attention_pass **out, rf_error *why);
void rf_attention_pass_close(rf_attention_pass *p);

/* Runs it once.
 *
 *   keep       1: tables of the encoding are kept from pass to pass, as a session keeps them; 0: made anew
 *   back       1: the backward, too
 *   seconds    of making tables, of attention, of the backward                                                       */
rf_status rf_attention_pass_run(rf_attention_pass *p, int keep, int back, double seconds[3], rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
