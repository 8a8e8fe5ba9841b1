/* train.h — pre-training, of masked or of next tokens: documents in, checkpoints out.
 *
 * The option names are those of Hugging Face's Trainer.  Killed at any moment and resumed, a run ends with the same
 * bits as one that was never stopped: every random choice is a function of (seed, step, place), and a checkpoint is
 * complete or invisible.
 *
 * threads   one run owns its context's workers                                                                       */
#ifndef ROFORMER_TRAIN_H
#define ROFORMER_TRAIN_H
/* home: src/data */

#include "roformer/checkpoint.h"
#include "roformer/comm.h"
#include "roformer/model.h"
#include "roformer/reader.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_schedule {
    RF_SCHEDULE_LINEAR, RF_SCHEDULE_COSINE, RF_SCHEDULE_CONSTANT, RF_SCHEDULE_CONSTANT_WITH_WARMUP,
    RF_SCHEDULE_COSINE_WITH_RESTARTS, RF_SCHEDULE_POLYNOMIAL, RF_SCHEDULE_INVERSE_SQRT, RF_SCHEDULE_PIECEWISE,
    RF_SCHEDULE_ONE_CYCLE
} rf_schedule;
typedef enum rf_report_to { RF_REPORT_NONE, RF_REPORT_TENSORBOARD } rf_report_to;
typedef enum rf_optim { RF_OPTIM_ADAMW, RF_OPTIM_LAMB, RF_OPTIM_ADAFACTOR, RF_OPTIM_LION, RF_OPTIM_SGD } rf_optim;

/* What is predicted: masked tokens (mlm), or the next one (clm).  AUTO: what config.json's is_decoder says. */
typedef enum rf_objective { RF_OBJECTIVE_AUTO, RF_OBJECTIVE_MLM, RF_OBJECTIVE_CLM } rf_objective;

/* Which held-out number tells the best checkpoint, and whether more of it is better: AUTO knows. */
typedef enum rf_metric { RF_METRIC_LOSS, RF_METRIC_ACCURACY } rf_metric;
typedef enum rf_greater { RF_GREATER_AUTO, RF_GREATER_TRUE, RF_GREATER_FALSE } rf_greater;

typedef struct rf_train_options {
    const char *const *text;            /* files to read, in order; "-" is standard input                             */
    int texts;
    const char *const *validation_text; /* held-out files; with none, `validation_split` of the documents by hash     */
    int validation_texts;
    double validation_split;            /* share of documents held out by a hash of their text                        */
    const char *const *data;            /* caches that rf_prepare made, in place of texts                             */
    int datas;                          /* at most 16                                                                 */
    const double *data_weight;        /* [datas] shares of the tokens to draw from each; NULL: one corpus of them all */
    const char *model;              /* folder with vocab.txt (and config.json, weights when they are to be continued) */
    const char *config;                 /* config.json of a new model (the folder's weights are not used), or NULL    */
    const char *output_dir;             /* checkpoints, metrics.jsonl; NULL: `model`, or where the checkpoint lies    */
    const char *resume_from_checkpoint; /* folder of a checkpoint, or "latest": the newest intact one; NULL: start    */
    int64_t max_steps;
    double num_train_epochs;            /* used when max_steps is 0; as many steps as this many times all tokens fill */
    int64_t tokens_per_batch;           /* tokens of one micro-batch, packed                                          */
    int64_t max_length;                 /* longest piece of a document, [CLS] and [SEP] included                      */
    int64_t gradient_accumulation_steps;
    double learning_rate, weight_decay, adam_beta1, adam_beta2, adam_epsilon, max_grad_norm;
    /* share of each label that goes to all classes, in training: cls, tag and tokens; 0: none */
    double label_smoothing_factor;
    rf_optim optim;
    int lamb_bias_correction;           /* off: LAMB as RoFormerV2 was trained                                        */
    double momentum;                    /* sgd                                                                        */
    int nesterov;
    double adafactor_beta1, clip_threshold, decay_rate;         /* adafactor; beta1 0: without first moment           */
    int scale_parameter, relative_step, warmup_init;            /* adafactor, off as in transformers' Trainer         */
    rf_schedule lr_scheduler_type;
    double num_cycles, lr_end, lr_power;        /* cosine_with_restarts; polynomial                                   */
    const char *lr_schedule;            /* piecewise: "32000:1,320000:0.5", shares of learning_rate at updates        */
    double ema_decay;                 /* above 0: evaluations and the final model are of a moving mean of the weights */
    int64_t average_last;               /* above 0: the final model is the mean of the last so many checkpoints       */
    rf_report_to report_to;             /* besides metrics.jsonl                                                      */
    double max_loss_spike;              /* skip updates whose loss is so many deviations above its mean; 0: never     */
    int64_t warmup_steps;               /* 0: none; below 0: as warmup_ratio says                                     */
    double warmup_ratio;                /* of all steps                                                               */
    rf_objective objective;             /* CLM makes a causal model of a new one                                      */
    double mlm_probability;             /* of mlm                                                                     */
    int whole_word_mask;
    int64_t logging_steps, eval_steps, save_steps, save_total_limit;
    int load_best_model_at_end;         /* the trained model is that of the best checkpoint, not the last             */
    rf_metric metric_for_best_model;    /* the best checkpoint is kept besides the last save_total_limit              */
    rf_greater greater_is_better;
    int64_t early_stopping_patience;    /* end after so many evaluations in a row without a better one; 0: never      */
    int64_t eval_documents;             /* held-out documents per evaluation; 0: all                                  */
    int bf16;                           /* products in bf16, sums and all else in f32; weights stay f32               */
    int bf16_stochastic_rounding;       /* products see weights rounded at random, anew for each step                 */
    int gradient_checkpointing;         /* a layer's activations are computed again in the backward: less memory      */
    uint64_t seed;
    int64_t stop_after;                 /* stop (resumable) after this many steps of this run; 0: never               */
    double max_time;                    /* seconds after which the run saves and stops; 0: never                      */
    rf_type save_type;                  /* of model.safetensors in the final folder: RF_F32 or RF_BF16                */
    int save_synchronously;       /* training waits until a checkpoint is on the disk; otherwise it goes on meanwhile */
    int allow_data_change;              /* resume on other text; the next epoch begins                                */
    rf_reader_options reader;           /* how the text is read; all zero: by the files' looks                        */
    rf_comm *comm;                      /* the processes that train together; NULL: one.  See below                   */
    int (*given)(void *user, const char *option); /* whether the caller chose this option; NULL: when it differs from */
    void *given_user;                               /* the default.  Asked when a run is resumed                      */
} rf_train_options;

/* The defaults of transformers' Trainer where a user would expect them; sizes for a small model on a few cores.
 *
 * A resumed run takes its options from the checkpoint.  What the caller chose (see `given`) takes precedence, and a
 * note names it; stop_after, max_time, save_synchronously and allow_data_change are always the caller's.             */
void rf_train_defaults(rf_train_options *o);

typedef struct rf_train_progress {
    int64_t step, max_steps;
    double epoch, loss, grad_norm, learning_rate, tokens_per_second, seconds, eta_seconds;
    double save_wait;                   /* seconds of this run that training waited for checkpoints                   */
    int64_t tokens;                     /* seen since the very start                                                  */
    double eval_loss, eval_accuracy;    /* of the last evaluation; NaN before the first                               */
    const char *metric;                /* what eval_accuracy is: "eval_accuracy", of a fine-tuning run its own metric */
    rf_objective objective;             /* MLM or CLM                                                                 */
    const char *event;                  /* "step", "eval", "save", "data" (reading, before the first step), "note";
                                           "batch" between two batches of a step or of an evaluation: who stops there
                                           gives it up; a resumed run begins with it */
    const char *note;                   /* with "note", "save": a sentence or a path                                  */
} rf_train_progress;

/* Called once per step and event; returns RF_TRAIN_GO, RF_TRAIN_SAVE (a checkpoint after this step, then on), or
 * anything else to save and stop (RF_ESTOPPED). */
enum { RF_TRAIN_GO = 0, RF_TRAIN_STOP = 1, RF_TRAIN_SAVE = 2 };
typedef int rf_train_report(void *user, const rf_train_progress *progress);

/* Several processes (data parallel): all call rf_pretrain with the same options and a comm, and see the same text and
 * output_dir.  A step has ranks x gradient_accumulation_steps micro-batches; the weights have the same bits however
 * these are divided, and a checkpoint of any number of ranks is resumed by any other that divides them.  Rank 0 alone
 * writes; every rank's `report` is called, and what any of them asks for counts.
 *
 * Runs until max_steps, or saves and stops on request.  Leaves in output_dir
 *
 *     config.json model.safetensors vocab.txt ...   the trained model, at the end, with checksums.json
 *     checkpoint-<step>/                            complete model folders with the optimiser's state
 *     all_results.json                              at the end: results as transformers' Trainer writes them
 *     metrics.jsonl                                 a line for each logging interval and evaluation
 *     events.out.tfevents.roformer                  the same for TensorBoard, when report_to asks for it
 *     tokens.cache                                  the text as ids; may be deleted, is made again when needed
 *
 *   RF_EARG      an option outside its limits; output_dir holds checkpoints and resume_from_checkpoint is not given;
 *                no output_dir is given and `model` holds weights, which the new ones would overwrite
 *   RF_EBUSY     another run holds output_dir/.lock; the message names it
 *   RF_ESTOPPED  saved and stopped before the end; resume_from_checkpoint goes on
 *   RF_ENUMERIC  ten updates in a row were not finite (or spikes, see max_loss_spike)
 *   RF_EDATA, RF_EIO, RF_ENOMEM as elsewhere                                                                         */
rf_status rf_pretrain(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                      rf_error *why);

/* Text as ids in one file, made once for many runs: text, validation_text, validation_split, model and reader say of
 * what.
 *
 *   path        the cache; one that is of the same text and tokenizer already is left as it is
 *   packing     the share of tokens_per_batch that batches of pieces of max_length will fill
 *   RF_ESTOPPED the report asked for it; nothing is left behind                                                      */
typedef struct rf_prepared {
    int64_t tokens, documents, held, bytes;         /* held: documents held out; bytes of the file                    */
    int64_t pieces, piece_tokens;                   /* to train on, with [CLS] and [SEP]                              */
    double packing;
} rf_prepared;
rf_status rf_prepare(const rf_ctx *ctx, const rf_train_options *options, const char *path, rf_train_report *report,
                     void *user, rf_prepared *out, rf_error *why);

/* Held-out loss and accuracy of a model folder on texts: of tokens masked by `seed`, or, of a causal model, of every
 * next one.
 *
 *   out     also after RF_EDATA, RF_EIO or RF_EUNSUPPORTED of a text: the scores of what was read before; labels 0 when
 *           that is nothing */
typedef struct rf_mlm_score { double loss, accuracy; int64_t labels, tokens, documents; } rf_mlm_score;
rf_status rf_evaluate_mlm(const rf_ctx *ctx, const rf_train_options *options, rf_mlm_score *out, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
