/* train.h — pre-training of masked and causal language models, training of translation models, and fine-tuning on
 * labeled examples with evaluation and predictions of the result.
 *
 * The names of the options are those of Hugging Face's Trainer. A run that is killed at any moment and resumed ends
 * with the same bits as an uninterrupted one: every random choice is a function of (seed, step, position), and
 * checkpoints are written atomically.
 *
 * threads   a run uses all workers of its context; an rf_answerer may be used by one thread at a time; rows of options
 *           are constant */
#ifndef ROFORMER_TRAIN_H
#define ROFORMER_TRAIN_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/comm.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/train_options.def"         /* the lists of words */
#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pre-training ------------------------------------------------------------------------------------------------ */

/* For the structs of options below: the C type of a row's member, and the enum value for a word of a choice. */
#define RFO_TYPE_INT int64_t
#define RFO_TYPE_REAL double
#define RFO_TYPE_FLAG int
#define RFO_TYPE_SEED uint64_t
#define RFO_TYPE_BYTES size_t
#define RFO_TYPE_CHOICE(type) type
#define RFO_TYPE_TEXT const char *
#define RFO_TYPE_FILE const char *
#define RFO_TYPE_FOLDER const char *
#define RFO_TYPE_FILES(count) int count; const char *const *
#define RFO_TYPE_WEIGHTS(count) const double *
#define RFO_VALUE(id, word) RF_##id,

/* The values are the words of the rows, in the same order. */
typedef enum rf_schedule { RF_SCHEDULES(RFO_VALUE) } rf_schedule;
typedef enum rf_report_to { RF_REPORTS(RFO_VALUE) } rf_report_to;
typedef enum rf_optim { RF_OPTIMS(RFO_VALUE) } rf_optim;

/* The objective: masked tokens (mlm), the next token (clm), or replaced tokens (rtd: ELECTRA; a small generator, which
 * predicts masked tokens, is trained with the model and saved in the folder generator). AUTO: clm if is_decoder is
 * true in config.json, else mlm. */
typedef enum rf_objective { RF_OBJECTIVES(RFO_VALUE) } rf_objective;

/* The evaluation metric that selects the best checkpoint, and whether a larger value is better. AUTO: a smaller one is
 * better for losses and errors, a larger one for other metrics. */
typedef enum rf_metric { RF_METRICS(RFO_VALUE) } rf_metric;
typedef enum rf_greater { RF_GREATER(RFO_VALUE) } rf_greater;

/* Model and options of published translation experiments. */
typedef enum rf_recipe { RF_RECIPES(RFO_VALUE) } rf_recipe;

/* Each row of train_options.def is a member; the row has its default, limits and description. Lists of files (text,
 * validation_text, data) have a count (texts, validation_texts, datas); data_weight has the length of data. */
typedef struct rf_train_options {
    size_t size;                        /* of this struct, set by rf_train_defaults */
    rf_comm *comm;                      /* the processes that train together; NULL: one process. See below */
    /* Returns whether the caller chose the option of this name; called when a run is resumed. NULL: an option counts
       as chosen if it differs from the default. */
    int (*given)(void *user, const char *option);
    void *given_user;
    union {
        rf_reader_options reader;       /* how to read the text; with the defaults, detected from the files */
        unsigned char reader_may_grow[RF_READER_OPTIONS_MOST];
    };
#define RFO(kind, member, ...) RFO_TYPE_##kind member;
#define RFO_AS(name, kind, member, ...) RFO_TYPE_##kind member;
#define RFO_IN(name, kind, member, ...)
#include "roformer/inspect/train_options.def"
} rf_train_options;
enum { RF_TRAIN_OPTIONS_MOST = 2048 };      /* maximum size in later versions, reserved in structs that contain it */

/* Sets the defaults: those of transformers' Trainer where they apply; sizes for a small model on a few cores.
 *
 * A resumed run takes its options from the checkpoint. Options that the caller chose (see `given`) take precedence, and
 * a note reports them. stop_after, max_time, save_synchronously and allow_data_change are always taken from the
 * caller. */
void rf_train_options_init(rf_train_options *o, size_t size);
#define rf_train_defaults(o) rf_train_options_init((o), sizeof *(o))

/* Sets the defaults for rf_train_translation, which differ in Adam's beta2, schedule, warm-up, label smoothing and
 * maximum length: the usual values for training Transformers to translate. */
void rf_translation_options_init(rf_train_options *o, size_t size);
#define rf_translation_defaults(o) rf_translation_options_init((o), sizeof *(o))

typedef struct rf_train_progress {
    int64_t step, max_steps;
    double epoch, loss, grad_norm, learning_rate, tokens_per_second, seconds, eta_seconds;
    double save_wait;                   /* seconds that training waited for checkpoints, in this run */
    int64_t tokens;                     /* processed since the start of training */
    double eval_loss, eval_accuracy;    /* of the last evaluation; NaN before the first */
    const char *metric;                /* name of the metric in eval_accuracy: "eval_accuracy", or the task's metric */
    rf_objective objective;             /* RF_OBJECTIVE_MLM, _CLM or _RTD */
    const char *event;                  /* "step", "eval", "save", "note"; "data" while text is read before the first
                                           step; "best" at the end of a search for the learning rate, for each run of
                                           the best rate; "batch" between the batches of a step or an evaluation
                                           (stopping there discards the step or evaluation; a resumed run repeats it) */
    const char *note;                   /* with "note", "save", "best": a sentence or a path */
    double eval_bleu;                   /* of the last evaluation, in percent; NaN: nothing was translated */
} rf_train_progress;

/* Called for every step and event. Returns RF_TRAIN_GO to continue, RF_TRAIN_SAVE to write a checkpoint after this step
 * and continue, or any other value to save and stop (RF_ESTOPPED). */
enum { RF_TRAIN_GO = 0, RF_TRAIN_STOP = 1, RF_TRAIN_SAVE = 2 };
typedef int rf_train_report(void *user, const rf_train_progress *progress);

/* Pre-trains until max_steps, or until `report` stops it, which saves a checkpoint. Writes to output_dir
 *
 *     config.json model.safetensors vocab.txt ...   the trained model, at the end, with checksums.json
 *     checkpoint-<step>/                            complete model folders with the state of the optimizer
 *     all_results.json                              at the end, the results as transformers' Trainer writes them
 *     metrics.jsonl                                 a line for each logging interval and evaluation
 *     events.out.tfevents.roformer                  the same for TensorBoard, if report_to requests it
 *     tokens.cache                                  the tokenized text; may be deleted, and is recreated if needed
 *
 * Several processes (data parallel): each calls rf_pretrain with the same options, text and output_dir, and with a
 * comm. A step has (ranks x gradient_accumulation_steps) micro-batches. The bits of the weights depend only on this
 * product, so a checkpoint can be resumed with any number of ranks that divides it. Only rank 0 writes. The `report` of
 * every rank is called, and a request from any of them is honored.
 *
 *   RF_EARG      the options were not initialized, or one is out of range; output_dir has checkpoints and
 *                resume_from_checkpoint is not given; output_dir is not given and `model` has weights that would be
 *                overwritten
 *   RF_EBUSY     another run holds output_dir/.lock; the message names it
 *   RF_ESTOPPED  saved and stopped before the end; continue with resume_from_checkpoint
 *   RF_ENUMERIC  ten consecutive updates were not finite, or loss spikes (see max_loss_spike)
 *   RF_EDATA, RF_EIO, RF_ENOMEM as elsewhere */
rf_status rf_pretrain(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                      rf_error *why);

/* Tokenizes text into a cache file that many runs can use. It uses the options text, validation_text, validation_split,
 * model and reader.
 *
 *   path        the cache; if it already has the same text and tokenizer, it is left unchanged
 *   packing     fraction of tokens_per_batch that batches of pieces of at most max_length tokens fill
 *   RF_ESTOPPED the report requested it; no file is left */
typedef struct rf_prepared {
    int64_t tokens, documents, held, bytes;         /* held: documents held out for validation; bytes: size of the
                                                       file */
    int64_t pieces, piece_tokens;                   /* training pieces and their tokens, with [CLS] and [SEP] */
    double packing;
} rf_prepared;
rf_status rf_prepare(const rf_ctx *ctx, const rf_train_options *options, const char *path, rf_train_report *report,
                     void *user, rf_prepared *out, rf_error *why);

/* Computes loss (nats per token) and accuracy of a model folder on held-out text: of tokens masked with `seed`, or of
 * every next token for a causal model.
 *
 *   out     is also set after RF_EDATA, RF_EIO or RF_EUNSUPPORTED from a text, with the results for the text before it;
 *           labels is 0 if there was none */
typedef struct rf_mlm_metrics { double loss, accuracy; int64_t labels, tokens, documents; } rf_mlm_metrics;
rf_status rf_evaluate_mlm(const rf_ctx *ctx, const rf_train_options *options, rf_mlm_metrics *out, rf_error *why);

/* The same with matrices in `type` (rf_model_open_as). */
rf_status rf_evaluate_mlm_as(const rf_ctx *ctx, const rf_train_options *options, rf_type type, rf_mlm_metrics *out,
                             rf_error *why);

/* ---- training of translation models ------------------------------------------------------------------------------
 *
 * Line n of a source file and line n of the corresponding target file are a pair. A batch has tokens_per_batch tokens
 * of both sides together, packed without padding. The decoder predicts every token of the target and its end token.
 *
 *     source   s_1 .. s_m [SEP]      target   [CLS] t_1 .. t_n      predicted   t_1 .. t_n [SEP]
 *
 * A model that is trained further keeps its own decoder_start_token_id and eos_token_id. Pairs are dropped if a side is
 * empty or has more than max_length tokens, or if the lengths differ too much. A note counts them, and
 * output_dir/dropped.tsv lists them.
 *
 * Checkpoints, resuming, several processes and errors are as in rf_pretrain. A new model is that of `config` or of the
 * recipe, or else has 3 + 3 layers of width 256 with RoPE. Without `model`, its subword tokenizer is trained on the
 * text. */
rf_status rf_train_translation(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                               rf_error *why);

/* Computes loss and accuracy of a translation model on the pairs of `source` and `target`, with teacher forcing.
 * `documents` counts the pairs.
 *
 *   RF_EUNSUPPORTED  the model has no decoder */
rf_status rf_evaluate_pairs(const rf_ctx *ctx, const rf_train_options *options, rf_mlm_metrics *out, rf_error *why);

/* ---- fine-tuning ----
 *
 * Tasks ("cls", "qa", ...) are the rows of tasks.def; "glue/NAME" is a GLUE task with its columns and metric. Output
 * folder, checkpoints, log and resuming are as in rf_pretrain. */

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

/* ---- the options as a table, for programs that offer, display or check them ----
 *
 * train_options.def and finetune_options.def define every option once. Its row gives the member of rf_train_options or
 * rf_finetune_options, the default and limits, what checkpoints store, and the description here.
 *
 *     const rf_option *o;
 *     for (size_t i = 0; (o = rf_train_option(i)); i++) printf("%s: %s\n", o->name, o->help); */

typedef enum rf_option_kind {
    RF_OPTION_INT,                      /* int64_t in [low, high] */
    RF_OPTION_REAL,                     /* double in [low, high] */
    RF_OPTION_FLAG,                     /* int, 0 or 1; if `choices` is set, it has the words for 0 and 1 */
    RF_OPTION_SEED,                     /* uint64_t */
    RF_OPTION_BYTES,                    /* size_t in [low, high] */
    RF_OPTION_CHOICE,                   /* an enum: index into `choices`, from 0 */
    RF_OPTION_TEXT,                     /* const char *, NULL if not given */
    RF_OPTION_FILE,                     /* the same, path of a file */
    RF_OPTION_FOLDER,                   /* the same, path of a folder */
    RF_OPTION_FILES,                    /* const char *const *, paths; their number is the int at `count` */
    RF_OPTION_WEIGHTS                   /* const double *, as many as at `count`, or NULL */
} rf_option_kind;

/* The calls that read an option: rf_pretrain, rf_finetune, rf_evaluate_mlm, rf_evaluate_pairs and rf_answerer_evaluate,
 * rf_answerer_predict, rf_prepare, rf_train_translation. */
enum {
    RF_OPTION_PRETRAIN = 1,
    RF_OPTION_FINETUNE = 2,
    RF_OPTION_EVALUATE = 4,
    RF_OPTION_PREDICT = 8,
    RF_OPTION_PREPARE = 16,
    RF_OPTION_TRANSLATION = 32
};

enum {
    RF_OPTION_LOCAL = 1,                /* applies to one run: not stored in checkpoints */
    RF_OPTION_SOURCE = 2                /* training data: if one of these is given, none is taken from a checkpoint */
};

typedef struct rf_option {
    const char *name;                   /* on the command line and in checkpoints */
    rf_option_kind kind;
    size_t at, count;                   /* offsets in the struct of options */
    double pretrain, finetune;          /* defaults of rf_train_defaults and rf_finetune_defaults */
    double low, high;
    unsigned calls;                     /* flags RF_OPTION_PRETRAIN, ... */
    const char *value;                  /* name of the value in help, "N"; NULL: flags and choices */
    const char *help;                   /* one line, without the default */
    const char *choices;                /* "linear|cosine" */
    const char *text;                   /* default of a text */
    const char *alias;                  /* another name, or NULL */
    const char *json;                   /* name in checkpoints, if different */
    const char *group;                  /* heading in help */
    const char *depends;                /* another option on which the effect of this one depends, or NULL */
    unsigned values;                    /* its words with which this one has an effect: bit 0 for the first */
    unsigned flags;                     /* RF_OPTION_LOCAL, ... */
    char letter;                        /* 'o' for -o, or 0 */
    int differs;                        /* 1: the default for training translation models is `translation` */
    double translation;
} rf_option;

/* The options of rf_train_options, from 0; NULL past the last. */
const rf_option *rf_train_option(size_t i);

/* The additional options of rf_finetune_options; `at` is an offset in that struct. */
const rf_option *rf_finetune_option(size_t i);

#ifdef __cplusplus
}
#endif
#endif
