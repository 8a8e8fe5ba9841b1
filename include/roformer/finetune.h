/* finetune.h — a model folder, labeled examples, and a folder that answers: training, evaluating, predicting.
 *
 * Tasks ("cls", "qa", ...) are the rows of tasks.def; "glue/NAME" is one of GLUE's, with its columns and metric.
 *
 * Option names are those of Hugging Face's Trainer.  A run shares its folder, checkpoints, log and resuming with
 * rf_pretrain (train.h): killed at any moment and resumed it ends with the same bits.                                */
#ifndef ROFORMER_FINETUNE_H
#define ROFORMER_FINETUNE_H

#include "roformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_strategy { RF_STRATEGIES(RFO_VALUE) } rf_strategy;

/* What vectors of texts (--task embed) are trained for; AUTO: COSENT where examples have scores, else INFONCE. */
typedef enum rf_embed_loss { RF_EMBED_LOSSES(RFO_VALUE) } rf_embed_loss;

/* Besides those of every run (texts, masking and tokens_per_batch are not used) a member for each row of
 * finetune_options.def.  A folder in place of a file, of train and dev, stands for its train.* or dev.* (val.*). */
typedef struct rf_finetune_options {
    size_t size;                        /* of this struct, set by rf_finetune_defaults                                */
    union {
        rf_train_options t;             /* max_length 0: what the task's preset says, 128, of GLUE 512                */
        unsigned char t_may_grow[RF_TRAIN_OPTIONS_MOST];
    };
#define RFO(kind, member, ...) RFO_TYPE_##kind member;
#define RFO_AS(name, kind, member, ...) RFO_TYPE_##kind member;
#include "roformer/inspect/finetune_options.def"
} rf_finetune_options;
void rf_finetune_options_init(rf_finetune_options *o, size_t size);
#define rf_finetune_defaults(o) rf_finetune_options_init((o), sizeof *(o))

/* What an evaluation says, in the order in which it is shown: "loss", "accuracy", "f1", ... */
enum { RF_SCORES = 24 };
typedef struct rf_score { char name[40]; double value; } rf_score;
typedef struct rf_scores { int n; rf_score score[RF_SCORES]; } rf_scores;

/* Trains on o->train, beginning with o->t.model, and leaves in o->t.output_dir what rf_pretrain leaves, but with the
 * head of the task, and labels in config.json.  `scores` (or NULL) receives the final model's on o->dev; with k_fold,
 * means and (as "<name>_std") standard deviations over the folds, whose folders are output_dir/fold-1, ...; with
 * learning_rates those of the best rate, in output_dir/lr-2e-05 (lr-2e-05-seed-42).  The same call with
 * resume_from_checkpoint "latest" goes on.
 *
 *   RF_EDATA     a line of a file is not what it must be: the message names file and line; a label of dev that training
 *                has not; fewer than two classes
 *   others       as rf_pretrain                                                                                      */
rf_status rf_finetune(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                      rf_scores *scores, rf_error *why);

/* ---- a fine-tuned folder answers --------------------------------------------------------------------------------- */

typedef struct rf_answerer rf_answerer;

/*   RF_EUNSUPPORTED  the folder has no head for a task                                                               */
rf_status rf_answerer_open(const rf_ctx *ctx, const char *folder, rf_answerer **out, rf_error *why);

/* The same with matrices in `type` (rf_model_open_as). */
rf_status rf_answerer_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_answerer **out, rf_error *why);
void rf_answerer_close(rf_answerer *a);
const char *rf_answerer_task(const rf_answerer *a);          /* its name, a row of tasks.def                          */
const rf_labels *rf_answerer_labels(const rf_answerer *a);

/* What was read since the folder was opened, or of the last file: a caller tells what an answer does not. */
typedef struct rf_reading {
    int64_t examples, cut, max_length;  /* cut: examples that were longer than max_length tokens                      */
    int windows;                        /* questions: those examples were asked of several windows                    */
    int64_t empty, bad;                 /* lines that were passed over: empty ones between examples, bad ones         */
    char first[256];                    /* what is wrong with the first bad one                                       */
    char remark[256];                   /* on scores that are left out; or ""                                         */
} rf_reading;
const rf_reading *rf_answerer_reading(const rf_answerer *a);

/* One text, or a pair: probabilities of the labels (cls: softmax, multilabel: each by itself; reg: the numbers), [K],
 * lent until the next call. */
rf_status rf_answerer_classify(rf_answerer *a, const char *text, size_t size, const char *pair, size_t pair_size,
                               const float **probability, rf_error *why);

/* A line for every example of a file, labeled or not, without its end; text lent until `line` returns.  Where the file
 * says what its examples are called, that comes first: a column or member "id".
 *
 *   TSV     a header, then label and probability; number; labels with commas; tags with spaces; answer; choice
 *   JSONL   {"label": .., "score": ..}, {"labels": [..]}, {"tags": [..]}, {"answer": .., "score": ..}, ...
 *           tags: one for every word, "-" (JSONL: null) where the tokenizer leaves nothing of it or it was cut off
 *   GLUE    "index<TAB>prediction", as GLUE's server takes them; the index is the file's own, or else the place from 0
 *   SQUAD   {"<id>": "<answer>", ...}, one object over all lines, as SQuAD's script reads it: "" when there is no
 *           answer
 *
 * Tables have no quotes: what would read back as something else is refused, and JSONL holds it.
 *
 *   RF_EARG  SQUAD of another task than qa
 *   RF_EDATA SQUAD, and a question has no id, or that of another; TSV, GLUE: an id, label or answer with a tab or
 *            a line end, a label with a comma among labels, a tag with a space */
typedef enum rf_prediction_format {
    RF_PREDICTIONS_TSV,
    RF_PREDICTIONS_JSONL,
    RF_PREDICTIONS_GLUE,
    RF_PREDICTIONS_SQUAD
} rf_prediction_format;
typedef rf_status rf_prediction_line(void *user, const char *line, size_t size, rf_error *why);
rf_status rf_answerer_predict(rf_answerer *a, const rf_finetune_options *o, const char *file,
                              rf_prediction_format format, rf_prediction_line *line, void *user, rf_error *why);

/* Scores on a labeled file, read as o->task (NULL: the folder's own) says, with the columns of `o`, or those that the
 * folder was fine-tuned with, cut to o->t.max_length tokens (0: as in fine-tuning).  rf_answerer_predict reads in the
 * same way, and in both `o` NULL means the defaults, of which the task is no part.  The loss is the first score; class
 * weights and R-Drop of the training are no part of it. */
rf_status rf_answerer_evaluate(rf_answerer *a, const rf_finetune_options *o, const char *file, rf_scores *out,
                               rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
