/* finetune.h — a fine-tuning run: what it has beyond a run (run.h).
 *
 *     finetune.c         options, the job's hooks
 *     finetune_checks.c  examples against options and checkpoint
 *     finetune_form.c    what the folder that a run begins with says of vectors: length, prompt, pooling
 *     finetune_many.c    folds, grids
 *     finetune_step.c    batches, gradients (R-Drop, FGM), evaluation                                                */
#ifndef RF_TRAIN_FINETUNE_H
#define RF_TRAIN_FINETUNE_H

#include "data/example_files.h"
#include "task/objective.h"
#include "train/run.h"

typedef struct rf__finetune_run {
    const rf_ctx *ctx;
    const rf_finetune_options *asked;   /* as the caller gave them                                                    */
    rf_finetune_options o;              /* the same, settled, or as restored                                          */
    rf_arena strings;
    const char *base;                   /* the model that it began with, for the card; NULL: not known */
    const rf__task *task;
    rf__labelled source;                /* columns and labels                                                         */
    rf__items train, dev;
    rf_error failed;                    /* of gathering                                                               */
    rf_head head;
    const char **output;                /* names of outputs that are not the labels, or NULL                          */
    float *class_weight;                /* [K] or NULL                                                                */
    rf_graph *compared;                 /* vectors of a batch and their loss                                          */
    rf__item_batch *batch;              /* [gradient_accumulation_steps]                                              */
    int64_t least;                      /* the fewest examples of a batch (rf__task)                                  */
    size_t *which;                      /* [rf__finetune_largest]                                                     */
    float *words;                       /* FGM: the word embeddings as they were                                      */
    rf__answers answers;                /* of the last evaluation                                                     */
    rf_scores scores;
    int64_t scored;                     /* the step that `scores` are of; 0: none                                     */
    int64_t longest, longest_two;       /* tokens of an example, of two; with R-Drop or pairs of both                 */
    char metric[48];                    /* "eval_f1": what eval_accuracy of the state holds                           */
} rf__finetune_run;

/* FGM's copy of the word embeddings; evaluations, which may take larger batches; the longest example. */
void rf__finetune_memory(const rf__run *r, rf__memory_job *own);

/* Before weights are loaded, of which the labels decide the shape; and, when all is well, what is worth a note. */
rf_status rf__finetune_check(const rf__run *r, const rf__finetune_run *f, rf_error *why);
rf_status rf__finetune_report(rf__run *r, const rf__finetune_run *f, rf_error *why);
bool rf__finetune_same(const rf__run *r, const rf__finetune_run *f);    /* the examples that the checkpoint saw       */

/* Tokens of a text where nobody says: what the preset or the folder of sentence vectors does; a checkpoint has its own.
 * Then the prompt before each text, and how a text's vector is made. */
void rf__finetune_length(const rf_ctx *ctx, rf_finetune_options *o);
rf_status rf__finetune_prompt(rf__run *r, rf__finetune_run *f, rf_error *why);
rf_status rf__finetune_form(rf__run *r, rf__finetune_run *f, rf_error *why);

/* A copy that lives as long as the run; of "" NULL. */
rf_status rf__finetune_keep(rf__finetune_run *f, const char *text, const char **to, rf_error *why);

void rf__finetune_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);
rf_status rf__finetune_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                rf_error *why);

/* The scores of the weights as they are; with rf__finetune_evaluate they are this step's line of metrics.jsonl, too. */
rf_status rf__finetune_score(rf__run *r, rf_error *why);
rf_status rf__finetune_evaluate(rf__run *r, rf_error *why);

/* What a caller gave (NULL: nothing) over the defaults.  RF_EARG: it was not filled in. */
rf_status rf__finetune_options_read(rf_finetune_options *own, const rf_finetune_options *given, rf_error *why);

/* One run; `fold`: the part of the training file that is held out, with o->k_fold. */
rf_status rf__finetune_one(const rf_ctx *ctx, const rf_finetune_options *o, int64_t fold, rf_train_report *report,
                           void *user, rf_scores *scores, rf_error *why);

/* Micro-batches of an epoch from its example `at` on; the most examples that one has, of this epoch or a later one. */
int64_t rf__finetune_batches(const rf__finetune_run *f, int64_t at);
int64_t rf__finetune_largest(const rf__run *r, const rf__finetune_run *f);

#endif
