/* run.h — a run of pre-training: everything it holds.
 *
 *     start.c      all that comes before the first step; with start_folder.c (folder, lock, logs), start_checkpoint.c,
 *                  start_model.c and start_text.c
 *     loop.c       steps, logging, evaluation
 *     save.c       checkpoints, and the model at the end                                                             */
#ifndef RF_TRAIN_RUN_H
#define RF_TRAIN_RUN_H

#include "train/log/card.h"
#include "train/checkpoint/checkpoint.h"
#include "train/divergence.h"
#include "train/evaluate.h"
#include "train/log/events.h"
#include "dist/exchange.h"
#include "train/memory.h"
#include "train/log/metrics.h"
#include "train/options.h"
#include "train/rtd.h"
#include "train/checkpoint/saver.h"
#include "train/stages.h"

typedef struct rf__run rf__run;

/* What another task than predicting tokens does in its own way; all that is not here it shares with pre-training.  NULL
 * where a line says so, and of restore, keep and card: nothing to do. */
typedef struct rf__job {
    void (*usual)(rf_train_options *o);                            /* defaults, where they are not rf_train_defaults' */
    rf_status (*restore)(rf__run *r, const json_t *saved, rf_error *why);           /* options of a checkpoint        */
    void (*keep)(const rf__run *r, json_t **options);                              /* ... and into the next           */
    rf_status (*prepare)(rf__run *r, rf_error *why);                               /* the data; the tokenizer is open */
    rf_status (*learn)(rf__run *r, rf_error *why);              /* a tokenizer, where no folder has one; or NULL      */
    rf_status (*invent)(rf__run *r, rf_config *c, rf_error *why);   /* the config, where there is none; or NULL       */
    rf_status (*configure)(rf__run *r, rf_config *c, rf_head *head, rf_error *why);     /* the config of the model    */
    void (*memory)(const rf__run *r, rf__memory_job *own);                          /* what it needs besides          */
    rf_status (*begin)(rf__run *r, rf_error *why);                                  /* weights of the first step      */
    rf_status (*open)(rf__run *r, rf_error *why);                                 /* the place in the data, max_steps */
    void (*gather)(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);    /* the examples of a micro-batch  */
    rf_status (*gradient)(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why);
    rf_status (*evaluate)(rf__run *r, rf_error *why);                            /* eval_loss, eval_accuracy, metrics */
    double (*epoch)(const rf__run *r);
    const char *(*metric)(const rf__run *r);                                      /* name of what eval_accuracy holds */
    json_t *(*defaults)(void);                                                      /* options that nobody chose      */
    void (*card)(const rf__run *r, rf__card *c);                                    /* what the model card says       */
    rf_status (*finish)(rf__run *r, rf_error *why);                                 /* the trained model is in place  */
    bool ranks;                         /* several processes can do it: `gather` is asked for the micro-batches of
                                           all, and counts tokens of all, labels of its own                           */
    bool tokens;                        /* batches have a capacity of tokens, and losses are of one each: perplexity  */
} rf__job;

struct rf__run {
    const rf__job *job;                 /* NULL: pre-training                                                         */
    void *task;                         /* the job's own                                                              */
    const rf_ctx *ctx;
    rf_train_options o;                 /* as given, or as restored from the checkpoint                               */
    rf_train_options usual;             /* the defaults of such a run                                                 */
    rf_train_report *report;
    void *user;
    bool stop;                          /* the caller asks to save and stop                                           */
    bool save;                          /* the caller asks for a checkpoint                                           */

    rf_arena strings;
    char folder[4096];                  /* output_dir                                                                 */
    char from[4096];                    /* the checkpoint that is resumed, or ""                                      */
    bool own;                           /* that checkpoint is of this folder */
    bool lost;                          /* the last step's loss was not finite                                        */
    bool resized;                       /* it had batches of another size */
    bool ran;                           /* a run has been in this folder, and left its lock                           */
    bool fresh;                         /* the folder is ours and holds nothing but the lock yet                      */
    int lock;
    rf__metrics metrics;
    rf__events events;
    json_t *options;                    /* for checkpoints                                                            */
    json_t *base;                       /* of a resumed run: the folder that it began with, or NULL                   */

    rf_tokenizer *tokenizer;
    rf__kept_file prompts;              /* of a model that makes vectors: those that it began with                    */
    rf__kept_file generation;           /* of one that writes: the generation_config.json that it began with          */
    rf__token_kinds vocab;
    rf_params params;
    rf__optimizer optimizer;
    rf__saver saver;                    /* whoever changes the optimizer's slabs calls rf__saver_read first           */
    bool ema_loaded;                    /* the moving mean comes from the checkpoint                                  */
    rf__exchange exchange;              /* with the other ranks; of options.comm                                      */
    double *loss;                       /* [gradient_accumulation_steps] of this rank's micro-batches, then of all    */
    rf__tree tree;                      /* gradients of the micro-batches of a step                                   */
    rf_encoder *encoder;
    rf__rtd *rtd;                       /* objective rtd: the generator, and `encoder` is the discriminator; or NULL  */
    uint16_t *rounded;                  /* the weights as a step's products see them, or NULL: to nearest             */
    rf_graph *graph;

    rf__tokens tokens[RF__SOURCES];
    int sources;
    rf__pieces pieces, held;            /* to train on, to evaluate on                                                */
    rf_key order;
    rf__masking masking, eval_masking;
    rf__mlm_batch *batch;               /* [gradient_accumulation_steps]                                              */

    rf__stages stages;                  /* n 0: the run is one                                                        */
    int stage;                          /* the one that options are of                                                */
    rf_train_options given;             /* the options before a stage changed them: what checkpoints keep             */
    int64_t eval_at, save_at;           /* step mod eval_steps, save_steps at which that is due                       */
    rf__state state;
    int64_t train_samples, eval_samples;    /* examples, or pieces of documents                                       */
    struct { double loss, accuracy, bleu; bool known; } final;          /* pre-training, translators: evaluation of the
                                           weights that it leaves                                                     */
    int64_t zeros_told;                 /* queries without a denominator that a note told of                          */
    rf__losses losses;                  /* of the updates of this process                                             */
    double eval_seconds;                /* of the last evaluation of this process; 0: none                            */
    rf_train_progress progress;
    double began;                       /* when this run's first step began                                           */
    int64_t began_at;                   /* the step before it                                                         */
    double last_said;
};

/* Micro-batches of a step are counted over all ranks; `i` of this rank is number rf__run_first + i. */
static inline int64_t rf__run_first(const rf__run *r)
{
    return rf__rank(r->o.comm) * r->o.gradient_accumulation_steps;
}

/* Between two batches: does anybody ask to stop?  Weights, moments and random choices are still those of the step
 * before. */
rf_status rf__run_give_up(rf__run *r, bool *stop, rf_error *why);

/* The whole run, from start to end.  job NULL: rf_pretrain. */
rf_status rf__run_all(const rf_ctx *ctx, const rf_train_options *options, const rf__job *job, void *task,
                      rf_train_report *report, void *user, rf_error *why);

/* A line of metrics.jsonl; takes the reference.  A log that cannot be written is no reason to lose a run. */
void rf__run_line(rf__run *r, json_t *line);

/* All up to the first step.  On failure rf__run_end is still to be called. */
rf_status rf__run_start(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, const rf__job *job, void *task,
                        rf_train_report *report, void *user, rf_error *why);
void rf__run_end(rf__run *r);

double rf__run_epoch(const rf__run *r);

/* Whether the run predicts next tokens. */
static inline bool rf__run_next(const rf__run *r) { return !r->job && r->params.config.is_decoder; }

/* Settles which folder is written and which checkpoint is resumed; takes the lock (start_folder.c). */
rf_status rf__run_take_folder(rf__run *r, rf_error *why);

/* Options, stages and steps of the checkpoint that the run goes on from; stages of one that begins
 * (start_checkpoint.c). */
rf_status rf__run_open_checkpoint(rf__run *r, rf_error *why);
rf_status rf__run_begin_stages(rf__run *r, rf_error *why);

/* Tokenizer, config, weights, optimizer and encoder (start_model.c). */
rf_status rf__run_open_model(rf__run *r, rf_error *why);

/* Options of a checkpoint keep what the run began with.  RF_EARG: another model, chosen beside the checkpoint, that is
 * not the run's folder either; it would have no effect. */
void rf__run_keep_model(rf__run *r);
rf_status rf__run_compare_model(rf__run *r, const json_t *saved, rf_error *why);

/* Checkpoints of an abandoned future are set aside, then the logs are cut to what the checkpoint knows and opened. */
rf_status rf__run_open_logs(rf__run *r, rf_error *why);

/* Where gradients and losses of a step's micro-batches are summed. */
rf_status rf__run_open_exchange(rf__run *r, rf_error *why);

/* The next stage: its options, its pieces, its micro-batches. */
rf_status rf__run_next_stage(rf__run *r, rf_error *why);
static inline bool rf__run_stage_ends(const rf__run *r)
{
    return r->stages.n && r->state.step == r->stages.at[r->stage].end;
}
void rf__run_free_batches(rf__run *r);
void rf__run_score_stage(rf__run *r);                                 /* its end: the evaluation that it has          */

/* The last step, as max_steps says or the epochs: `all` steps for a whole run with these batches, `left` from here on,
 * by which a run goes on whose batches had another size before. */
void rf__run_settle_steps(rf__run *r, double all, double left);

/* Opens texts or caches, and settles the steps that they are enough for. */
rf_status rf__run_open_text(rf__run *r, rf_error *why);

/* Weights of a model folder or file into the optimizer's values. */
rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why);

/* Tells the caller; a sentence for "note" and "data", a path for "save", NULL otherwise. */
void rf__run_notify(rf__run *r, const char *event, const char *format, ...) RF_PRINTF(3, 4);

#endif
