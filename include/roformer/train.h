/* train.h — pre-training of masked and causal language models, and training of translation models.
 *
 * The names of the options are those of Hugging Face's Trainer. A run that is killed at any moment and resumed ends
 * with the same bits as an uninterrupted one: every random choice is a function of (seed, step, position), and
 * checkpoints are written atomically.
 *
 * threads   a run uses all workers of its context */
#ifndef ROFORMER_TRAIN_H
#define ROFORMER_TRAIN_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/comm.h"
#include "roformer/model.h"
#include "roformer/inspect/options.h"
#include "roformer/inspect/files.h"
#include "roformer/inspect/metrics.h"
#include "roformer/inspect/train_options.def"         /* the lists of words */

#ifdef __cplusplus
extern "C" {
#endif

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


#ifdef __cplusplus
}
#endif
#endif
