/* optimizer.h — optimizers over the slabs.
 *
 *     adamw      p = p - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay p)        Loshchilov & Hutter 2019
 *     lamb       u as above;  p = p - rate |p| / |u| u  for each tensor that decays               You et al. 2020
 *     adafactor  second moments of a matrix as one row and one column (adafactor.c)               Shazeer & Stern 2018
 *     lion       p = p - rate (sign(b1 m + (1 - b1) g) + decay p);   m = b2 m + (1 - b2) g        Chen et al. 2023
 *     sgd        d = g + decay p;   m = mu m + d;   p = p - rate m, nesterov: p - rate (d + mu m)
 *     muon       the momentum of a layer's matrix, orthogonalized; adamw for the rest (muon.c)    Jordan et al. 2024
 *
 * Weight decay applies only to matrices. */
#ifndef RF_OPTIMIZER_H
#define RF_OPTIMIZER_H

#include "dist/shares.h"
#include "roformer/train.h"

/* An optimizer with its constants, under the names of transformers' options. */
typedef struct rf__rule {
    rf_optim optim;
    double beta1, beta2, epsilon, decay;    /* adafactor: beta1 0: no first moment                                    */
    bool bias_correction;                   /* lamb: RoFormerV2 was trained without it                                */
    double momentum;                        /* sgd, muon                                                              */
    bool nesterov;
    double clip_threshold, decay_rate;      /* adafactor                                                              */
    bool scale_parameter, relative_step, warmup_init;
    double ema_decay;                       /* above 0: decay rate of a moving average of the values                  */
    bool bf16;                              /* muon: products in bf16                                                 */
} rf__rule;

rf__rule rf__rule_of(const rf_train_options *o);
const char *rf__optim_name(rf_optim optim);

/* The learning rate of update `update` if the schedule gives `rate`; with relative_step, the optimizer's own. */
double rf__rule_rate(const rf__rule *rule, double rate, int64_t update);

/* Slabs of params->total floats: values, gradients, moments (m, v: NULL if the optimizer has none). */
typedef struct rf__optimizer {
    const rf_params *params;
    rf__rule rule;
    float *value, *grad, *m, *v;
    float *ema;              /* ema = d ema + (1 - d) value, starting with the values after the first update; or NULL */
    double *factor;                  /* [params->n] factor of the learning rate of a parameter; 1; 0: it is frozen */
    rf__span *span;                     /* fixed blocks, each inside one parameter; whole rows of a matrix            */
    size_t spans, *first;               /* [params->n + 1] the first span of each parameter                           */
    double *square, *other;             /* [spans] sums                                                               */
    float *scratch;                     /* adafactor: sums of columns; muon: matrices of its products                 */
    size_t *columns_at, *v_at;          /* adafactor: [spans], and the offset of a parameter's second moments in v    */
    rf__shares shares;                  /* several ranks: which rank updates which spans                              */
    bool partial;                      /* this rank keeps only their moments: m and v are indexed by the spans' slots */
    struct rf__exchange *exchange;      /* connection to the other ranks, or NULL                                     */
} rf__optimizer;

/* The moments are zero; values and gradients are not initialized. */
rf_status rf__optimizer_new(const rf_params *params, const rf__rule *rule, rf__optimizer *out, rf_error *why);
void rf__optimizer_free(rf__optimizer *o);

/* The same for one of several ranks, each of which keeps the moments of its share of the spans. Adafactor has so few
 * moments that every rank keeps all. o->exchange must be set before the first use. */
rf_status rf__optimizer_new_shared(const rf_params *params, const rf__rule *rule, int ranks, int rank,
                                   rf__optimizer *out, rf_error *why);

/* Bytes of the slabs. */
double rf__optimizer_bytes(const rf_params *params, const rf__rule *rule, int ranks);

void rf__optimizer_zero_grad(rf__optimizer *o);

/* The 2-norm of the gradient over all parameters, in double, in an order that does not depend on the number of
 * workers. */
double rf__optimizer_norm(rf__optimizer *o);

typedef struct rf__step { double rate, scale; int64_t update; } rf__step;

/* Performs update `update` (from 1) with the gradient times `scale`. The gradients are destroyed. RF_ENOMEM (muon): the
 * values are unchanged. */
rf_status rf__optimizer_update(rf__optimizer *o, const rf__step *step, rf_error *why);

/* The number of spans of a parameter. */
size_t rf__spans_of(const rf_param *p);

/* optimizer.safetensors: the moments as "m.<name>" and "v.<name>", adafactor's matrices as "r.<name>" and "c.<name>";
 * the optimizer's name as metadata. RF_EDATA: the file belongs to another optimizer. */
rf_status rf__optimizer_save(const rf__optimizer *o, const char *path, rf_error *why);
/* as rf__params_write */
rf_status rf__optimizer_write(const rf__optimizer *o, const char *path, int *fd, rf_error *why);
rf_status rf__optimizer_load(rf__optimizer *o, const char *path, rf_error *why);

/* Of several ranks, rank 0 saves. The others serve it the moments that they keep, until it calls served. The file is
 * the same for any number of ranks. The gradients are destroyed. Every rank loads the moments that it keeps. */
rf_status rf__optimizer_serve(const rf__optimizer *o, rf_error *why);
rf_status rf__optimizer_served(const rf__optimizer *o, rf_error *why);

/* ---- a second slab of values: averages of weights ---- */

/* mean = mean + share (value - mean) for all values; share 1 copies. */
void rf__optimizer_blend(const rf__optimizer *o, float *mean, const float *value, double share);
void rf__optimizer_swap(const rf__optimizer *o, float *a, float *b);

/* ---- adafactor.c, muon.c: floats of second moments and of scratch; an update ---- */
size_t rf__adafactor_floats(const rf_param *p);
size_t rf__adafactor_scratch(const rf_params *params);
rf_status rf__adafactor_update(rf__optimizer *o, const rf__step *step, rf_error *why);
size_t rf__muon_floats(const rf_param *p);
size_t rf__muon_scratch(const rf_params *params);
rf_status rf__muon_update(rf__optimizer *o, const rf__step *step, rf_error *why);

#endif
