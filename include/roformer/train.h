/* train.h — pre-training, of masked or of next tokens: documents in, checkpoints out; and training of translators, on
 * parallel text.
 *
 * The option names are those of Hugging Face's Trainer.  Killed at any moment and resumed, a run ends with the same
 * bits as one that was never stopped: every random choice is a function of (seed, step, place), and a checkpoint is
 * complete or invisible.
 *
 * threads   one run owns its context's workers                                                                       */
#ifndef ROFORMER_TRAIN_H
#define ROFORMER_TRAIN_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/comm.h"
#include "roformer/model.h"
#include "roformer/inspect/options.h"
#include "roformer/reader.h"
#include "roformer/inspect/mt_score.h"
#include "roformer/inspect/train_options.def"         /* the lists of words */

#ifdef __cplusplus
extern "C" {
#endif

/* The values are the words of the rows, in their order. */
typedef enum rf_schedule { RF_SCHEDULES(RFO_VALUE) } rf_schedule;
typedef enum rf_report_to { RF_REPORTS(RFO_VALUE) } rf_report_to;
typedef enum rf_optim { RF_OPTIMS(RFO_VALUE) } rf_optim;

/* What is predicted: masked tokens (mlm), or the next one (clm).  AUTO: what config.json's is_decoder says. */
typedef enum rf_objective { RF_OBJECTIVES(RFO_VALUE) } rf_objective;

/* Which held-out number tells the best checkpoint, and whether more of it is better: AUTO knows. */
typedef enum rf_metric { RF_METRICS(RFO_VALUE) } rf_metric;
typedef enum rf_greater { RF_GREATER(RFO_VALUE) } rf_greater;

/* Model and options of known experiments with translators (rf_recipe_text). */
typedef enum rf_recipe { RF_RECIPES(RFO_VALUE) } rf_recipe;

/* A member for each row of train_options.def, which has its default, its limits and what it means.  Lists of files
 * (text, validation_text, data) have their number beside them (texts, validation_texts, datas); data_weight is as long
 * as data. */
typedef struct rf_train_options {
    size_t size;                        /* of this struct, set by rf_train_defaults                                   */
    rf_comm *comm;                      /* the processes that train together; NULL: one.  See below                   */
    int (*given)(void *user, const char *option);   /* whether the caller chose the option of this row's name; NULL:  */
    void *given_user;                               /* when it differs from the default.  Asked when a run is resumed */
    union {
        rf_reader_options reader;       /* how the text is read; as given by the defaults, by the files' looks        */
        unsigned char reader_may_grow[RF_READER_OPTIONS_MOST];
    };
#define RFO(kind, member, ...) RFO_TYPE_##kind member;
#define RFO_AS(name, kind, member, ...) RFO_TYPE_##kind member;
#define RFO_IN(name, kind, member, ...)
#include "roformer/inspect/train_options.def"
} rf_train_options;
enum { RF_TRAIN_OPTIONS_MOST = 2048 };      /* bytes that they may grow to in a struct that holds them */

/* The defaults of transformers' Trainer where a user would expect them; sizes for a small model on a few cores.
 *
 * A resumed run takes its options from the checkpoint.  What the caller chose (see `given`) takes precedence, and a
 * note names it; stop_after, max_time, save_synchronously and allow_data_change are always the caller's.             */
void rf_train_options_init(rf_train_options *o, size_t size);
#define rf_train_defaults(o) rf_train_options_init((o), sizeof *(o))

/* The same for rf_train_translation: Adam's second moment, schedule, warm-up, label smoothing and lengths are those of
 * Transformers that translate. */
void rf_translation_options_init(rf_train_options *o, size_t size);
#define rf_translation_defaults(o) rf_translation_options_init((o), sizeof *(o))

typedef struct rf_train_progress {
    int64_t step, max_steps;
    double epoch, loss, grad_norm, learning_rate, tokens_per_second, seconds, eta_seconds;
    double save_wait;                   /* seconds of this run that training waited for checkpoints                   */
    int64_t tokens;                     /* seen since the very start                                                  */
    double eval_loss, eval_accuracy;    /* of the last evaluation; NaN before the first                               */
    const char *metric;                /* what eval_accuracy is: "eval_accuracy", of a fine-tuning run its own metric */
    rf_objective objective;             /* MLM or CLM                                                                 */
    const char *event;                  /* "step", "eval", "save", "data" (reading, before the first step), "note";
                                           "best", at the end of a grid of learning rates: each run of the best one;
                                           "batch" between two batches of a step or of an evaluation: who stops there
                                           gives it up; a resumed run begins with it */
    const char *note;                   /* with "note", "save", "best": a sentence, or a path                         */
    double eval_bleu;                   /* of the last evaluation, in per cent; NaN: nothing was translated           */
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
 *     checkpoint-<step>/                            complete model folders with the optimizer's state
 *     all_results.json                              at the end: results as transformers' Trainer writes them
 *     metrics.jsonl                                 a line for each logging interval and evaluation
 *     events.out.tfevents.roformer                  the same for TensorBoard, when report_to asks for it
 *     tokens.cache                                  the text as ids; may be deleted, is made again when needed
 *
 *   RF_EARG      options that were not filled in, or outside their limits; output_dir holds checkpoints and
 *                resume_from_checkpoint is not given; no output_dir is given and `model` holds weights, which the new
 *                ones would overwrite
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

/* The same with matrices in `type` (rf_model_open_as). */
rf_status rf_evaluate_mlm_as(const rf_ctx *ctx, const rf_train_options *options, rf_type type, rf_mlm_score *out,
                             rf_error *why);

/* ---- translators: models of an encoder and a decoder, trained on parallel text -------------------------------------
 *
 * Line n of a source file is the source of line n of the target file beside it.  A batch is pairs, both sides packed
 * without padding, of tokens_per_batch tokens together; the decoder predicts every token of the target and its end.
 *
 *     source   s_1 .. s_m [SEP]      target   [CLS] t_1 .. t_n      predicted   t_1 .. t_n [SEP]
 *
 * (a model's decoder_start_token_id and eos_token_id, where it has been trained before).  Pairs with an empty side,
 * with a side of more than max_length tokens, or of too different lengths are left out: a note counts them, and
 * output_dir/dropped.tsv lists them.
 *
 * Everything else is as in rf_pretrain: checkpoints, resuming to the same bits, several processes, errors.  A new model
 * is that of `config`, of the recipe, or 3 + 3 layers of 256 with RoPE; without `model` its sub-words are learned from
 * the text.                                                                                                          */
rf_status rf_train_translation(const rf_ctx *ctx, const rf_train_options *options, rf_train_report *report, void *user,
                               rf_error *why);

/* Loss and accuracy of a translator's folder on the pairs of `source` and `target`, every token given those before it;
 * `documents` are the pairs.
 *
 *   RF_EUNSUPPORTED  the model has no decoder */
rf_status rf_evaluate_pairs(const rf_ctx *ctx, const rf_train_options *options, rf_mlm_score *out, rf_error *why);

/* A recipe as a JSON object: "about", "config" (of config.json) and "options" (by the names of train_options.def).
 * NULL: there is no such recipe, or it is RF_RECIPE_NONE. */
const char *rf_recipe_text(rf_recipe recipe);

#ifdef __cplusplus
}
#endif
#endif
