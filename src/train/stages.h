/* stages.h — the stages of a run: consecutive lengths, batch sizes and learning rates, as in Table 4 of the paper.
 *
 *     {"stages": [{"length": 512, "batch": 256, "steps": 200000, "learning_rate": 1e-5, "warmup_steps": 20000,
 *                  "precision": "bf16"}, ...]}
 *
 * An update of a stage has length x batch tokens, in as many micro-batches as tokens_per_batch requires. If a stage
 * does not set rate, warm-up or precision, the options apply. Weights and moments carry over; the schedule starts
 * again. */
#ifndef RF_TRAIN_STAGES_H
#define RF_TRAIN_STAGES_H

#include "base/json.h"
#include "train/checkpoint/state.h"
#include "train/options.h"

typedef struct rf__stage {
    int64_t length, batch, steps, end;          /* end: the last step of the run that belongs to the stage            */
    int64_t warmup_steps, tokens_per_batch, micro_batches;          /* of all ranks                                   */
    double learning_rate;
    bool bf16;
} rf__stage;

typedef struct rf__stages { rf__stage at[RF__STAGES]; int n; } rf__stages;

/* Reads a file; missing values are taken from the options. RF_EDATA names stage and key. */
rf_status rf__stages_read(const rf_ctx *ctx, const char *path, const rf_train_options *o, int ranks, rf__stages *out,
                          rf_error *why);
rf_status rf__stages_parse(const json_t *all, const char *name, const rf_train_options *o, int ranks, rf__stages *out,
                           rf_error *why);
json_t *rf__stages_json(const rf__stages *s);                         /* all settings, for checkpoints                */

/* Rows like those of Table 4 of the paper for the finished stages: length, batch, steps; loss and accuracy of the
 * held-out text, cut to the stage's length, if it was evaluated. */
json_t *rf__stages_metrics(const rf__stages *s, const rf__state *state);

/* The stage of a step: `step` is after the last step of the previous stage. */
int rf__stage_of(const rf__stages *s, int64_t step);
static inline int64_t rf__stage_begin(const rf__stages *s, int i) { return i ? s->at[i - 1].end : 0; }
void rf__stage_apply(const rf__stages *s, int i, int ranks, rf_train_options *o);

#endif
