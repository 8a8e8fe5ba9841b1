/* state.h — the state of a run between two steps, without weights and moments, and its file, trainer_state.json. */
#ifndef RF_TRAIN_STATE_H
#define RF_TRAIN_STATE_H

#include "base/json.h"

#include "data/corpus/batch.h"
#include "roformer/train.h"

enum { RF__KERNELS = 32, RF__STAGES = 64 };

typedef struct rf__state {
    int64_t step, max_steps;
    int64_t updates;                    /* steps that changed the weights: t of Adam                                  */
    int64_t skipped, skipped_in_a_row;  /* steps whose loss or gradient was not finite                                */
    int64_t tokens;                     /* tokens that the model has read                                             */
    int64_t metrics_bytes;              /* length of metrics.jsonl                                                    */
    int64_t events_bytes;               /* length of the event file                                                   */
    int64_t metrics_crc, events_crc;    /* CRC-32C of those bytes; 0: an older file */
    double seconds;                     /* seconds spent in steps                                                     */
    double eval_loss, eval_accuracy;    /* of the last evaluation, at eval_step; NaN before the first                 */
    double eval_bleu;                   /* likewise, in percent; NaN: nothing was translated                          */
    int64_t eval_step;
    int64_t eval_owed;                  /* 1: the evaluation of `step` was discarded because the run had to stop      */
    double best_metric;                 /* metric_for_best_model of the best checkpoint                               */
    int64_t best_step;                  /* the best checkpoint; 0: none                                               */
    uint64_t data;                      /* hash of the ids and of the length of the pieces that `position` refers to  */
    int64_t data_length;
    uint64_t held;                      /* hash of the evaluation examples; 0: none, or an older file                 */
    int64_t micro_batches;              /* of a step, of all ranks; 0: an older file                                  */
    int64_t good_step;                  /* the last step whose weights gave a finite loss                             */
    double steps_moved;                 /* difference between the last step and that of the options, because batches
                                           have had other sizes */
    int64_t epoch_ends;                 /* step modulo the steps of an epoch at which an epoch ends, likewise         */
    struct { double mean, variance; int64_t seen; } loss;               /* of the updates, for max_loss_spike         */
    struct { double best; int64_t seen, stale; } patience;              /* evaluations, for early stopping            */
    struct { double loss; int64_t steps; } total;       /* of steps that were not skipped: sum of their mean losses   */
    char version[24];                   /* of the program that wrote the file; "" for a run that is not resumed       */
    char kernels[RF__KERNELS];          /* the kernels in use (rf__state_kernels), likewise                           */
    rf__data_position position;
    struct { double loss, accuracy; } stage[RF__STAGES];    /* of the evaluation at the end of each stage; NaN: none */
    int64_t stages;                     /* number of finished stages                                                  */
    /* since the last line of metrics.jsonl */
    struct { double loss, seconds, wait; int64_t labels, tokens, capacity; } interval;
} rf__state;

void rf__state_init(rf__state *s);

/* The metric of the last evaluation that selects the best model. */
double rf__state_metric(const rf__state *s, rf_metric metric);

/* The rung and the backend of products: "avx512, built-in". Others may round differently. */
void rf__state_kernels(const rf_ctx *ctx, char out[RF__KERNELS]);

/* Writes `path`, with the options and, for human readers, the epoch. */
rf_status rf__state_save(const rf_ctx *ctx, const rf__state *s, json_t *options, double epoch, const char *path,
                         rf_error *why);

/* `*options` gets a new reference. RF_EDATA names the key that is missing or out of range. */
rf_status rf__state_parse(const char *text, size_t size, const char *name, rf__state *out, json_t **options,
                          rf_error *why);
rf_status rf__state_load(const rf_ctx *ctx, const char *path, rf__state *out, json_t **options, rf_error *why);

#endif
