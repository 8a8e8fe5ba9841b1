/* finetune.h — fine-tunes a model folder on labeled examples, and evaluates and predicts with the result.
 *
 * Tasks ("cls", "qa", ...) are the rows of tasks.def; "glue/NAME" is a GLUE task with its columns and metric. The names
 * of the options are those of Hugging Face's Trainer. Output folder, checkpoints, log and resuming are as in
 * rf_pretrain (train.h): a run that is killed at any moment and resumed ends with the same bits.
 *
 * threads   a run uses all workers of its context; an rf_answerer may be used by one thread at a time */
#ifndef ROFORMER_FINETUNE_H
#define ROFORMER_FINETUNE_H

#include "roformer/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_strategy { RF_STRATEGIES(RFO_VALUE) } rf_strategy;

/* The loss for sentence embeddings (--task embed) and cross-encoders (--task cross). AUTO: embed COSENT if the examples
 * have scores, else INFONCE; cross LAMBDA for lists of documents, else BCE. */
typedef enum rf_loss { RF_LOSSES(RFO_VALUE) } rf_loss;

/* The options of every run (texts, masking and tokens_per_batch are not used), and a member for each row of
 * finetune_options.def. If train or dev is a folder, its file train.* or dev.* (or val.*) is used. */
typedef struct rf_finetune_options {
    size_t size;                        /* of this struct, set by rf_finetune_defaults */
    union {
        rf_train_options t;             /* max_length 0: that of the task's preset, else 128; GLUE: 512 */
        unsigned char t_may_grow[RF_TRAIN_OPTIONS_MOST];
    };
#define RFO(kind, member, ...) RFO_TYPE_##kind member;
#define RFO_AS(name, kind, member, ...) RFO_TYPE_##kind member;
#include "roformer/inspect/finetune_options.def"
} rf_finetune_options;
void rf_finetune_options_init(rf_finetune_options *o, size_t size);
#define rf_finetune_defaults(o) rf_finetune_options_init((o), sizeof *(o))

/* The results of an evaluation in the order of display: "loss", "accuracy", "f1", ... */
enum { RF_METRIC_VALUES = 24 };
typedef struct rf_metric_value { char name[40]; double value; } rf_metric_value;
typedef struct rf_metric_values { int n; rf_metric_value metric[RF_METRIC_VALUES]; } rf_metric_values;

/* Trains on o->train, starting from o->t.model. Writes to o->t.output_dir the same files as rf_pretrain, with the head
 * of the task, and the labels in config.json. Call it again with resume_from_checkpoint "latest" to continue a run.
 *
 *   metrics      may be NULL; receives the results of the final model on o->dev. With k_fold: means and standard
 *                deviations ("<name>_std") over the folds, whose folders are output_dir/fold-1, ...; with
 *                learning_rates: the results of the best rate, whose folder is output_dir/lr-2e-05 (lr-2e-05-seed-42)
 *   RF_EDATA     a line is malformed (the message names file and line); dev has a label that train does not have; there
 *                are fewer than two classes
 *   others       as rf_pretrain */
rf_status rf_finetune(const rf_ctx *ctx, const rf_finetune_options *o, rf_train_report *report, void *user,
                      rf_metric_values *metrics, rf_error *why);

/* ---- predictions of a fine-tuned model --------------------------------------------------------------------------- */

typedef struct rf_answerer rf_answerer;

/* Opens a fine-tuned model folder.
 *
 *   ctx              must outlive the answerer
 *   out              closed with rf_answerer_close; unchanged on error
 *   RF_EUNSUPPORTED  the folder has no fine-tuned head
 *   others           as rf_model_open */
rf_status rf_answerer_open(const rf_ctx *ctx, const char *folder, rf_answerer **out, rf_error *why);

/* The same with matrices in `type` (rf_model_open_as). */
rf_status rf_answerer_open_as(const rf_ctx *ctx, const char *folder, rf_type type, rf_answerer **out, rf_error *why);
void rf_answerer_close(rf_answerer *a);                       /* NULL is allowed */

/* What was read since the folder was opened, or from the last file, for warnings to the user. */
typedef struct rf_reading {
    int64_t examples, cut, max_length;  /* cut: number of examples that were longer than max_length tokens */
    int windows;                        /* questions: number of examples whose context was split into several windows */
    int64_t empty, bad;                 /* skipped lines: empty lines between examples, malformed lines */
    char first[256];                    /* what is wrong with the first malformed line */
    char remark[256];                   /* a note about results that are not available, or about metrics that
                                         * sentence-transformers' CrossEncoder would show otherwise; or "" */
    int64_t unread;                     /* examples of which no token is in the vocabulary */
} rf_reading;
const rf_reading *rf_answerer_reading(const rf_answerer *a);

/* Scores pairs of a query and each of n texts by a model that reads both at once (a reranker), as CrossEncoder of
 * sentence-transformers does: out[i] = f(the model's one output), f being the folder's activation_fn, else the sigmoid.
 * A score does not depend on the other texts.
 *
 *   text, bytes      [n] UTF-8 texts and their sizes in bytes; the caller's
 *   max_length       tokens of a pair, the longer text of which is truncated first; 0: never truncated; -1: as the
 *                    folder says
 *   out              [n]
 *   RF_EUNSUPPORTED  the model has another number of outputs, or none for texts; an activation_fn other than Sigmoid,
 *                    Identity and Tanh
 *
 * Cost: a forward pass over the tokens of all pairs. */
rf_status rf_answerer_cross(rf_answerer *a, const char *query, size_t query_bytes, const char *const text[],
                            const size_t bytes[], int64_t n, int64_t max_length, double out[], rf_error *why);

/* Predicts every example of a file, labeled or not, and calls `line` with each line of output, without its end; the
 * text is valid until `line` returns. If the file has ids (a column or member "id"), they come first.
 *
 *   TSV     a header, then for each example label and probability; number; labels with commas; tags with spaces;
 *           answer; or choice
 *   JSONL   {"label": .., "score": ..}, {"labels": [..]}, {"tags": [..]}, {"answer": .., "score": ..}, ... tags: one
 *           for every word, "-" (JSONL: null) if the tokenizer removes the word or it was truncated
 *   GLUE    "index<TAB>prediction", as GLUE's server expects it; the index is that of the file, else the number from 0
 *   SQUAD   {"<id>": "<answer>", ...}, one object over all lines, as SQuAD's script reads it: "" if there is no answer
 *
 * Tables have no quoting. A value that would be read back differently is refused; use JSONL for such values.
 *
 *   RF_EARG  SQUAD with a task other than qa
 *   RF_EDATA SQUAD: a question has no id, or a duplicate one. TSV, GLUE: an id, label or answer has a tab or line end;
 *   one of several labels has a comma; a tag has a space */
typedef enum rf_prediction_format {
    RF_PREDICTIONS_TSV,
    RF_PREDICTIONS_JSONL,
    RF_PREDICTIONS_GLUE,
    RF_PREDICTIONS_SQUAD
} rf_prediction_format;
typedef rf_status rf_prediction_line(void *user, const char *line, size_t bytes, rf_error *why);
rf_status rf_answerer_predict(rf_answerer *a, const rf_finetune_options *o, const char *file,
                              rf_prediction_format format, rf_prediction_line *line, void *user, rf_error *why);

/* Evaluates on a labeled file, read as o->task (NULL: the folder's task) describes. Columns are those of `o`, or else
 * those of fine-tuning; texts are truncated to o->t.max_length tokens (0: as in fine-tuning). rf_answerer_predict reads
 * files in the same way. In both, `o` NULL means the defaults and the folder's task. The first result is the loss,
 * without the class weights and R-Drop of training. */
rf_status rf_answerer_evaluate(rf_answerer *a, const rf_finetune_options *o, const char *file, rf_metric_values *out,
                               rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
