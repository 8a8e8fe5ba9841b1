/* run.h — a run of pre-training: everything it holds.
 *
 *     start.c      options, folder, lock, checkpoint, model, text: all that comes before the first step
 *     loop.c       steps, logging, evaluation, saving                                                                  */
#ifndef RF_TRAIN_RUN_H
#define RF_TRAIN_RUN_H

#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/metrics.h"
#include "train/options.h"
#include "train/tree.h"

typedef struct rf__run {
    const rf_ctx *ctx;
    rf_train_options o;                 /* as given, or as restored from the checkpoint                                 */
    rf_train_report *report;
    void *user;
    bool stop;                          /* the caller wants to save and stop                                            */
    bool save;                          /* the caller wants a checkpoint                                                */

    rf_arena strings;
    char folder[4096];                  /* output_dir                                                                   */
    char from[4096];                    /* the checkpoint that is resumed, or ""                                        */
    int lock;
    rf__metrics metrics;
    json_t *options;                    /* for checkpoints                                                              */

    rf_tokenizer *tokenizer;
    rf__vocab vocab;
    rf_params params;
    rf__optimizer optimizer;
    bool ema_loaded;                    /* the moving mean comes from the checkpoint                                    */
    rf__tree tree;                      /* gradients of the micro-batches of a step                                     */
    rf_encoder *encoder;
    uint16_t *rounded;                  /* the weights as a step's products see them, or NULL: to nearest               */
    rf_graph *graph;

    rf__tokens tokens[RF__SOURCES];
    int sources;
    rf__pieces pieces, held;            /* to train on, to evaluate on                                                  */
    rf_key order;
    rf__masking masking, eval_masking;
    rf__mlm_batch *batch;               /* [gradient_accumulation_steps]                                                */

    rf__state state;
    rf_train_progress progress;
    double began;                       /* when this run's first step began                                             */
    int64_t began_at;                   /* the step before it                                                           */
    double last_said;
} rf__run;

/* All up to the first step.  On failure rf__run_end is still to be called. */
rf_status rf__run_start(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, rf_train_report *report, void *user,
                        rf_error *why);
void rf__run_end(rf__run *r);

double rf__run_epoch(const rf__run *r);

/* Weights of a model folder or file into the optimizer's values. */
rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why);

/* Tells the caller; a sentence for "note" and "data", a path for "save", NULL otherwise. */
void rf__run_tell(rf__run *r, const char *event, const char *format, ...) RF_PRINTF(3, 4);

#endif
