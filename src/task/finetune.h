/* finetune.h — a fine-tuning run: what it adds to a run (run.h).
 *
 *     finetune.c         options, the job's hooks
 *     finetune_checks.c  checks examples against options and checkpoint
 *     finetune_form.c    settings of vectors in the initial folder: length, prompt, pooling
 *     finetune_many.c    folds, grids
 *     finetune_step.c    batches, gradients (R-Drop, FGM), evaluation */
#ifndef RF_TRAIN_FINETUNE_H
#define RF_TRAIN_FINETUNE_H

#include "data/examples/example_files.h"
#include "task/objective.h"
#include "train/run.h"

typedef struct rf__finetune_run {
    const rf_ctx *ctx;
    const rf_finetune_options *asked;   /* as the caller gave them                                                    */
    rf_finetune_options o;              /* the same, completed, or as restored                                        */
    rf_arena strings;
    const char *base;                   /* the initial model, for the card; NULL: unknown */
    const rf__task *task;
    rf__labeled source;                /* columns and labels                                                         */
    rf_labels unnamed;                  /* LABEL_0, ... of the head that the initial folder has for the task; or none */
    rf__items train, dev;
    rf_error failed;                    /* of gathering                                                               */
    rf_head head;
    const char **output;                /* names of outputs, if they are not the labels; or NULL                      */
    bool of_sim;                        /* a RoFormer-Sim becomes an encoder                                          */
    float *class_weight;                /* [K] or NULL                                                                */
    rf_graph *compared;                 /* vectors of a batch and their loss                                          */
    rf__item_batch *batch;              /* [gradient_accumulation_steps]                                              */
    rf__masking masking;                /* of a RoFormer-Sim's second texts                                           */
    int64_t least;                      /* minimum number of examples of a batch (rf__task)                           */
    size_t *which;                      /* [rf__finetune_largest]                                                     */
    float *words;                       /* FGM: a copy of the original word embeddings                                */
    rf__answers answers;                /* of the last evaluation                                                     */
    rf_metric_values metrics;
    int64_t evaluated;                  /* the step of `metrics`; 0: none                                             */
    int64_t longest, longest_two;       /* tokens of the longest example, of the two longest; with R-Drop or pairs of
                                           both texts */
    char metric[48];                    /* for example "eval_f1": the metric that eval_accuracy of the state contains */
} rf__finetune_run;

/* The additional memory: FGM's copy of the word embeddings; evaluations, which may have larger batches; the longest
 * example. */
void rf__finetune_memory(const rf__run *r, rf__memory_job *own);

/* Checks the examples before weights are loaded, whose shapes depend on the labels; then reports remarkable ones. */
rf_status rf__finetune_check(const rf__run *r, const rf__finetune_run *f, rf_error *why);
rf_status rf__finetune_report(rf__run *r, const rf__finetune_run *f, rf_error *why);
bool rf__finetune_same(const rf__run *r, const rf__finetune_run *f);    /* whether the examples are those of the
                                                                           checkpoint */

/* The length of texts if no option gives it: that of the preset or of the folder of sentence vectors; a checkpoint has
 * its own. Then the prompt before each text, and how a text's vector is computed. */
void rf__finetune_length(const rf_ctx *ctx, rf_finetune_options *o);
rf_status rf__finetune_prompt(rf__run *r, rf__finetune_run *f, rf_error *why);
rf_status rf__finetune_form(rf__run *r, rf__finetune_run *f, rf_error *why);

/* The head of the task in a model of this config; its labels in the initial folder, if they have no names of their own:
 * examples may give their numbers. */
rf_head rf__finetune_head(const rf__finetune_run *f, const rf_config *c);
rf_status rf__finetune_labels(const rf__run *r, rf__finetune_run *f, rf_error *why);

/* A copy that lives as long as the run; NULL for "". */
rf_status rf__finetune_keep(rf__finetune_run *f, const char *text, const char **to, rf_error *why);

void rf__finetune_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);
rf_status rf__finetune_gradient(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum,
                                rf_error *why);

/* Computes the metrics of the current weights; rf__finetune_evaluate also writes them to this step's line of
 * metrics.jsonl. */
rf_status rf__finetune_metrics(rf__run *r, rf_error *why);
rf_status rf__finetune_evaluate(rf__run *r, rf_error *why);

/* Copies the caller's options (NULL: none) over the defaults. RF_EARG: they were not initialized. */
rf_status rf__finetune_options_read(rf_finetune_options *own, const rf_finetune_options *given, rf_error *why);

/* One run; `fold`: the part of the training file that is held out, with o->k_fold. */
rf_status rf__finetune_one(const rf_ctx *ctx, const rf_finetune_options *o, int64_t fold, rf_train_report *report,
                           void *user, rf_metric_values *metrics, rf_error *why);

/* Micro-batches of an epoch from example `at` on; the maximum number of examples in a micro-batch, in this or a later
 * epoch. */
int64_t rf__finetune_batches(const rf__finetune_run *f, int64_t at);
int64_t rf__finetune_largest(const rf__run *r, const rf__finetune_run *f);

#endif
