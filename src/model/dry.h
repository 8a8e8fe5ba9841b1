/* dry.h — what a step of a model holds and computes, counted by the step's own code on a dry graph (graph/graph.h). */
#ifndef RF_MODEL_DRY_H
#define RF_MODEL_DRY_H

#include "model/params/params.h"
#include "roformer/kernel/gemm.h"

/* A batch of texts, or pairs, as long as possible: `longest` tokens each, the last text with the rest. */
typedef struct rf_dry {
    int64_t tokens, longest;
    int64_t source;                     /* of the tokens: those of the sources of a translation model                 */
    int64_t labels;                     /* predicted tokens of a language-model head, at most those of the targets    */
    bool train, recompute;              /* the backward pass follows; layers are recomputed in it                     */
    rf_type products;
} rf_dry;

typedef struct rf_dry_result {
    double bytes;                       /* peak of the graph's arena; scratch of products and tables that the encoder
                                           keeps between steps are not in it */
    double flops;                       /* of products and attention                                                  */
    double others, moved;               /* of the forward pass: other arithmetic; bytes of inputs, except parameters,
                                           and results of operations */
} rf_dry_result;

/* RF_ENOMEM; otherwise what the model's own forward pass refuses. */
rf_status rf__dry_step(const rf_params *p, const rf_dry *d, rf_dry_result *out, rf_error *why);

#endif
