/* text_job.h — pre-training on texts: what it adds to a run (run.h). Each objective is a job of its own.
 *
 *     text_job.c       masked or next tokens; what the objectives share; which job an objective is
 *     rtd_job.c        replaced tokens
 *     start_text.c     tokens, pieces, batches, stages, and the position at which the run continues */
#ifndef RF_TRAIN_TEXT_JOB_H
#define RF_TRAIN_TEXT_JOB_H

#include "train/run.h"

typedef struct rf__pretraining {
    const rf_ctx *ctx;
    rf__tokens tokens[RF__SOURCES];
    int sources;
    rf__pieces pieces, held;            /* training data, held-out data                                               */
    rf__masking masking, eval_masking;
    rf__mlm_batch *batch;               /* [batches], of this rank's micro-batches                                    */
    int64_t batches;
    void *own;                          /* state of the objective                                                     */
} rf__pretraining;

/* The job of each objective, rf__<word>_job. Masked and next tokens are one job; the config says which of them. */
#define rf__auto_job rf__text_job
#define rf__mlm_job rf__text_job
#define rf__clm_job rf__text_job
#define RF__JOB_OF(value, word) extern const rf__job rf__##word##_job;
RF_OBJECTIVES(RF__JOB_OF)
#undef RF__JOB_OF

/* The hooks of rf__job that all objectives share. */
#define RF__ON_TEXT                                                                                                    \
    .usual = rf__pretrain_usual, .restore = rf__pretrain_restore, .invent = rf__pretrain_create_config,                \
    .admit = rf__pretrain_admit, .advance = rf__pretrain_advance, .epoch = rf__pretrain_epoch,                         \
    .metric = rf__pretrain_metric, .defaults = rf__pretrain_defaults, .card = rf__pretrain_card, .ranks = true,        \
    .tokens = true

void rf__pretrain_usual(rf_train_options *o);
rf_status rf__pretrain_restore(rf__run *r, const json_t *saved, rf_error *why);
rf_status rf__pretrain_create_config(rf__run *r, rf_config *c, rf_error *why);
rf_status rf__pretrain_admit(rf__run *r, rf_config *c, bool trained, rf_error *why);
rf_status rf__pretrain_advance(rf__run *r, rf_error *why);
double rf__pretrain_epoch(const rf__run *r);
const char *rf__pretrain_metric(const rf__run *r);
json_t *rf__pretrain_defaults(void);
void rf__pretrain_card(const rf__run *r, rf__card *c);

/* Hooks to call from those of an objective: pieces of text must fit the model; opens texts or caches, and sets the
 * number of steps by their size; packs a micro-batch into rf__pretraining.batch; frees the state besides `own`. */
rf_status rf__pretrain_check_lengths(const rf__run *r, rf_error *why);
rf_status rf__pretrain_open(rf__run *r, rf_error *why);
void rf__pretrain_gather(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);
void rf__pretrain_end(rf__run *r);

/* Scores the held-out text, with s->score_batch and s->user of the caller, and sets eval_loss, eval_accuracy and
 * eval_step; s->labels 0: there is none. rf__pretrain_line: the line of metrics.jsonl, for an evaluation that began at
 * `begin`. */
rf_status rf__pretrain_score(rf__run *r, rf__evaluator *s, rf_error *why);
json_t *rf__pretrain_line(rf__run *r, const rf__evaluator *s, double begin);

/* Whether the run predicts next tokens. */
static inline bool rf__pretrain_next(const rf__run *r) { return r->params.config.is_decoder; }

#endif
