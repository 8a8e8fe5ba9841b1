/* translation_job.h — training of a translation model: what it adds to a run (run.h).
 *
 *     translation_job.c      files, limits, the model; the job's hooks
 *     translation_step.c     batches, gradients, evaluation
 *     translation_bleu.c     evaluation by translating
 *     translation_sides.c    checks whether the sides are exchanged
 *     recipes.c              model and options of published experiments */
#ifndef RF_TRAIN_TRANSLATION_H
#define RF_TRAIN_TRANSLATION_H

#include "data/pairs.h"
#include "train/run.h"

typedef struct rf__pair_training {
    const rf_ctx *ctx;
    rf__pairs train, held;
    rf_translation_frame frame;         /* tokens around the sides                                                    */
    rf__pair_marks marks;
    rf__pair_sampling sampling;         /* with subword_sampling                                                      */
    rf__pair_batch *batch;              /* [batches], of this rank's micro-batches                                    */
    int64_t batches;
    rf__pair_batch evaluated;
} rf__pair_training;

void rf__translation_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);
rf_status rf__translation_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                   rf_error *why);

/* eval_loss and eval_accuracy of the current weights; rf__translation_evaluate also writes them to this step's line of
 * metrics.jsonl. alone: computed by this rank, while the others wait for it. */
rf_status rf__translation_loss(rf__run *r, bool alone, rf__evaluator *out, rf_error *why);
rf_status rf__translation_evaluate(rf__run *r, rf_error *why);

/* Whether evaluations also translate. BLEU of the held-out pairs, in percent, with the current weights; NaN if the
 * weights give no finite result (translation_bleu.c). */
static inline bool rf__translation_has_bleu(const rf_train_options *o)
{
    return o->eval_bleu || o->metric_for_best_model == RF_METRIC_BLEU;
}
rf_status rf__translation_bleu(rf__run *r, bool alone, double *bleu, rf_error *why);

/* Reports in a note if the sides seem to be exchanged; trained: the weights are those of a trained translation
 * model. */
rf_status rf__translation_sides(rf__run *r, bool trained, rf_error *why);

/* Sets the options of o->recipe that the caller did not choose, with strings in `arena`, and the config.json of the
 * recipe. Without a recipe: no options, and 3 + 3 layers of width 256. */
rf_status rf__recipe_options(rf_train_options *o, const rf_train_options *usual, rf_arena *arena, rf_error *why);
rf_status rf__recipe_config(const rf_ctx *ctx, rf_recipe recipe, rf_config *out, rf_error *why);

/* A recipe as a JSON object with "about", "config" (keys of config.json) and "options" (names of train_options.def).
 * NULL for RF_RECIPE_NONE and unknown values. */
const char *rf__recipe_text(rf_recipe recipe);

#endif
