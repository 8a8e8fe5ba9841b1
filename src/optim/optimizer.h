/* optimizer.h — update rules over the slabs.
 *
 *     adamw      p = p - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay p)        Loshchilov & Hutter 2019
 *     lamb       u as above;  p = p - rate |p| / |u| u  for each tensor that decays               You et al. 2020
 *     adafactor  second moments of a matrix as one row and one column (adafactor.c)               Shazeer & Stern 2018
 *     lion       p = p - rate (sign(b1 m + (1 - b1) g) + decay p);   m = b2 m + (1 - b2) g        Chen et al. 2023
 *     sgd        d = g + decay p;   m = mu m + d;   p = p - rate m, nesterov: p - rate (d + mu m)
 *     muon       the momentum of a layer's matrix, orthogonalised; adamw of the rest (muon.c)     Jordan et al. 2024
 *
 * Decay is of matrices alone.                                                                                        */
#ifndef RF_OPTIMIZER_H
#define RF_OPTIMIZER_H

#include "dist/shares.h"
#include "roformer/train.h"

/* A rule with its constants, under the names of transformers' options. */
typedef struct rf__rule {
    rf_optim optim;
    double beta1, beta2, epsilon, decay;    /* adafactor: beta1 0 keeps no first moment                               */
    bool bias_correction;                   /* lamb: RoFormerV2 was trained without                                   */
    double momentum;                        /* sgd, muon                                                              */
    bool nesterov;
    double clip_threshold, decay_rate;      /* adafactor                                                              */
    bool scale_parameter, relative_step, warmup_init;
    double ema_decay;                       /* above 0: a moving mean of the values is kept                           */
    bool bf16;                              /* muon: its products                                                     */
} rf__rule;

rf__rule rf__rule_of(const rf_train_options *o);
const char *rf__optim_name(rf_optim optim);

/* The learning rate that update `update` takes when the schedule says `rate`: its own with relative_step. */
double rf__rule_rate(const rf__rule *rule, double rate, int64_t update);

/* Slabs of params->total floats: values, gradients, moments (m, v: NULL when the rule has none). */
typedef struct rf__optimizer {
    const rf_params *params;
    rf__rule rule;
    float *value, *grad, *m, *v;
    float *ema;                         /* ema = d ema + (1 - d) value, from the first update's values on; or NULL    */
    double *factor;                  /* [params->n] the rate of a parameter is multiplied by this; 1; 0: it is frozen */
    rf__span *span;                     /* fixed blocks, each inside one parameter; whole rows of a matrix            */
    size_t spans, *first;               /* [params->n + 1] the first span of each parameter                           */
    double *square, *other;             /* [spans] sums                                                               */
    float *scratch;                     /* adafactor: sums of columns; muon: matrices between its products            */
    size_t *columns_at, *v_at;          /* adafactor: [spans], and where a parameter's second moments lie in v        */
    rf__shares shares;                  /* several ranks: who updates which spans                                     */
    bool partial;                       /* and keeps their moments, alone: m and v are indexed by the spans' slots    */
    struct rf__exchange *exchange;      /* with the other ranks, or NULL                                              */
} rf__optimizer;

/* The moments are zero; values and gradients are not set. */
rf_status rf__optimizer_new(const rf_params *params, const rf__rule *rule, rf__optimizer *out, rf_error *why);
void rf__optimizer_free(rf__optimizer *o);

/* The same for one of several ranks, each of which keeps the moments of its share of the spans.  Adafactor's are so few
 * that every rank keeps all.  o->exchange is to be set before the first use. */
rf_status rf__optimizer_new_shared(const rf_params *params, const rf__rule *rule, int ranks, int rank,
                                   rf__optimizer *out, rf_error *why);

/* Bytes of the slabs. */
double rf__optimizer_bytes(const rf_params *params, const rf__rule *rule, int ranks);

void rf__optimizer_zero_grad(rf__optimizer *o);

/* The 2-norm of the gradient over all parameters, in double, in one order whatever the number of workers. */
double rf__optimizer_norm(rf__optimizer *o);

typedef struct rf__step { double rate, scale; int64_t update; } rf__step;

/* Update number `update` (from 1) with the gradient times `scale`.  The gradients are used up.  RF_ENOMEM (muon): the
 * values are as they were. */
rf_status rf__optimizer_update(rf__optimizer *o, const rf__step *step, rf_error *why);

/* How many spans a parameter is cut into. */
size_t rf__spans_of(const rf_param *p);

/* optimizer.safetensors: the moments as "m.<name>" and "v.<name>", adafactor's matrices as "r.<name>" and "c.<name>";
 * the rule's name as metadata.  RF_EDATA when the file is another rule's. */
rf_status rf__optimizer_save(const rf__optimizer *o, const char *path, rf_error *why);
/* as rf__params_write */
rf_status rf__optimizer_write(const rf__optimizer *o, const char *path, int *fd, rf_error *why);
rf_status rf__optimizer_load(rf__optimizer *o, const char *path, rf_error *why);

/* Of several ranks the first one saves, and the others serve it the moments that they keep until it calls served; the
 * file is the same whatever the number of ranks.  The gradients are used up.  Every rank loads what it keeps. */
rf_status rf__optimizer_serve(const rf__optimizer *o, rf_error *why);
rf_status rf__optimizer_served(const rf__optimizer *o, rf_error *why);

/* ---- a second slab of values: means of weights ---- */

/* mean = mean + share (value - mean), for everything; share 1 copies. */
void rf__optimizer_blend(const rf__optimizer *o, float *mean, const float *value, double share);
void rf__optimizer_swap(const rf__optimizer *o, float *a, float *b);

/* ---- adafactor.c, muon.c: floats of second moments and of scratch; an update ---- */
size_t rf__adafactor_floats(const rf_param *p);
size_t rf__adafactor_scratch(const rf_params *params);
rf_status rf__adafactor_update(rf__optimizer *o, const rf__step *step, rf_error *why);
bool rf__muon_takes(const rf_param *p);                             /* a matrix of a layer                            */
size_t rf__muon_floats(const rf_param *p);
size_t rf__muon_scratch(const rf_params *params);
rf_status rf__muon_update(rf__optimizer *o, const rf__step *step, rf_error *why);

#endif
