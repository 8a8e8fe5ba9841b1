/* translation_job.h — training of a translator: what it has beyond a run (run.h).
 *
 *     translation_job.c          files, limits, the model; the job's hooks
 *     translation_step.c     batches, gradients, evaluation
 *     translation_bleu.c     evaluation by translating
 *     translation_sides.c    whether the sides are what they are taken for
 *     recipes.c              model and options of known experiments                                                  */
#ifndef RF_TRAIN_TRANSLATION_H
#define RF_TRAIN_TRANSLATION_H

#include "data/pairs.h"
#include "train/run.h"

typedef struct rf__pair_training {
    const rf_ctx *ctx;
    rf__pairs train, held;
    rf__pair_marks marks;
    rf__pair_sampling sampling;         /* with subword_sampling                                                      */
    rf__pair_batch *batch;              /* [batches], of this rank's micro-batches                                    */
    int64_t batches;
    rf__pair_batch evaluated;
} rf__pair_training;

/* Tokens of all pairs, with those that mark their ends; *source: of the sources. */
int64_t rf__translation_tokens(const rf__pairs *p, int64_t *source);

void rf__translation_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);
rf_status rf__translation_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                   rf_error *why);

/* eval_loss and eval_accuracy of the weights as they are; with rf__translation_evaluate they are this step's line of
 * metrics.jsonl, too.  alone: by this rank, while the others wait for it. */
rf_status rf__translation_score(rf__run *r, bool alone, rf__scorer *out, rf_error *why);
rf_status rf__translation_evaluate(rf__run *r, rf_error *why);

/* Whether evaluations translate, too; BLEU of those that were held out, in per cent, by the weights as they are, NaN
 * when the weights give nothing finite (translation_bleu.c). */
static inline bool rf__translation_scored(const rf_train_options *o)
{
    return o->eval_bleu || o->metric_for_best_model == RF_METRIC_BLEU;
}
rf_status rf__translation_bleu(rf__run *r, bool alone, double *bleu, rf_error *why);

/* Notes where the sides seem to be exchanged; trained: the weights are of a model that translated before. */
rf_status rf__translation_sides(rf__run *r, bool trained, rf_error *why);

/* Options of o->recipe where the caller chose none, strings in `arena`; its config.json.  No recipe: nothing, and 3 + 3
 * layers of 256. */
rf_status rf__recipe_options(rf_train_options *o, const rf_train_options *usual, rf_arena *arena, rf_error *why);
rf_status rf__recipe_config(const rf_ctx *ctx, rf_recipe recipe, rf_config *out, rf_error *why);

#endif
