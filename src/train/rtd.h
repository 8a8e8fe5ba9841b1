/* rtd.h — pre-training by replaced-token detection, ELECTRA's objective; see rtd.c. */
#ifndef RF_TRAIN_RTD_H
#define RF_TRAIN_RTD_H

#include "data/corpus/batch.h"
#include "model/encoder.h"
#include "roformer/tokenizer.h"

typedef struct rf__rtd {
    const rf_ctx *ctx;
    rf_params discriminator;            /* the first of the run's parameters; the run owns their list                 */
    rf_params generator;                /* slots in the same slab; the embeddings are the discriminator's             */
    rf_encoder *encoder;                /* the generator's                                                            */
    double weight;                      /* of the discriminator's loss                                                */
    int64_t tokens;                     /* of the step that is being computed, over all of its micro-batches          */
} rf__rtd;

/* Sums over batches: losses of masked tokens and of all tokens; numbers of masked tokens that the generator predicts,
 * tokens that the discriminator classifies correctly, replaced tokens, and replaced tokens that it finds. */
typedef struct rf__rtd_sums {
    double generator, detection;
    int64_t found, right, replaced, detected, tokens;
} rf__rtd_sums;

/* The generator of a model: `size` times its width, heads and feed-forward width, the same number of layers, the same
 * embeddings. RF_EUNSUPPORTED: the family has no such head, or the encoding has parameters; RF_EARG: the numbers do not
 * divide. */
rf_status rf__rtd_config(const rf_config *model, double size, rf_config *generator, rf_error *why);

/* `all` is the discriminator's list and becomes that of both models, with the names "generator.<name>" for the
 * generator's own parameters. */
rf_status rf__rtd_new(rf_params *all, const rf_config *generator, double weight, rf__rtd **out, rf_error *why);
void rf__rtd_free(rf__rtd *t);

/* Initial weights of both, or only of the generator and the new head. */
void rf__rtd_init(const rf__rtd *t, float *slab, bool whole, uint64_t seed);

/* The weights of a model folder, and of the generator in it.  *generator: whether there is one. */
rf_status rf__rtd_load(const rf__rtd *t, const char *folder, float *slab, bool *generator, rf_error *why);

/* Tokens sampled from the softmax of x[i,:] table^T + bias: row i with random number i of (seed, stream). */
void rf__rtd_draw(rf_graph *g, rf_encoder *generator, const rf_tensor *x, uint64_t seed, uint64_t stream,
                  int32_t drawn[]);

/* The loss  weight_g (sum of the generator's) + weight_d (sum of the discriminator's), on the tape g. */
rf_tensor *rf__rtd_loss(rf_graph *g, const rf__rtd *t, rf_encoder *discriminator, const rf__mlm_batch *b, uint64_t seed,
                        uint64_t stream, const double weight[2], rf__rtd_sums *sums);

/* The gradient of a micro-batch; *loss_sum: its contribution to the loss of the step, divided by `weight`. */
rf_status rf__rtd_gradient(const rf__rtd *t, rf_graph *g, rf_encoder *discriminator, const rf__mlm_batch *b,
                           uint64_t seed, uint64_t stream, double weight, double *loss_sum, rf_error *why);

/* Writes a folder `generator` in the model's folder, which is a masked language model. */
rf_status rf__rtd_save_generator(const rf__rtd *t, const float *slab, const rf_tokenizer *tokenizer, rf_type type,
                                 const char *folder, rf_error *why);

#endif
