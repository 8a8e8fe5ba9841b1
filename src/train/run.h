/* run.h — the complete state of a training run.
 *
 *     start.c      everything before the first step; with start_folder.c (folder, lock, logs), start_checkpoint.c and
 *                  start_model.c
 *     loop.c       steps, logging, evaluation
 *     save.c       checkpoints, and the model at the end
 *
 * What is trained on what is a job: text_job.h, pairs/translation_job.h, task/finetune.h. */
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
#include "train/checkpoint/saver.h"
#include "train/stages.h"

typedef struct rf__run rf__run;

/* The parts in which one kind of training differs from another; everything else is shared. "or NULL": there is nothing
 * to do. */
typedef struct rf__job {
    void (*usual)(rf_train_options *o);                                                                   /* defaults */
    rf_status (*restore)(rf__run *r, const json_t *saved, rf_error *why);  /* options from a checkpoint; or NULL      */
    void (*keep)(const rf__run *r, json_t **options);                      /* ... and into the next one; or NULL      */
    rf_status (*prepare)(rf__run *r, rf_error *why);                       /* reads data, with the tokenizer; or NULL */
    rf_status (*learn)(rf__run *r, rf_error *why);              /* learns a tokenizer, if no folder has one; or NULL  */
    rf_status (*invent)(rf__run *r, rf_config *c, rf_error *why);   /* creates the config, if there is none; or NULL  */
    rf_status (*admit)(rf__run *r, rf_config *c, bool trained, rf_error *why);        /* changes or refuses a config
                                                        that was read or created; trained: it has weights; or NULL    */
    rf_status (*configure)(rf__run *r, rf_config *c, rf_head *head, rf_error *why);     /* the config of the model    */
    rf_status (*settle)(rf__run *r, rf_error *why);                     /* the model's parameters are listed; or NULL */
    void (*memory)(const rf__run *r, rf__memory_job *own);               /* memory that it needs in addition; or NULL */
    rf_status (*begin)(rf__run *r, bool trained, rf_error *why);            /* sets the weights of the first step;
                                                                               trained: the folder has weights        */
    rf_status (*open)(rf__run *r, rf_error *why);                     /* sets the position in the data, and max_steps */
    void (*gather)(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);    /* the examples of a micro-batch  */
    rf_status (*gradient)(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why);
    void (*log)(const rf__run *r, json_t **line);          /* adds to the line of a step in metrics.jsonl; or NULL    */
    rf_status (*evaluate)(rf__run *r, rf_error *why);      /* sets eval_loss, eval_accuracy and eval_step, and logs
                                                              them; nothing without held-out data                     */
    rf_status (*advance)(rf__run *r, rf_error *why);       /* begins the next stage; NULL: there can be no stages     */
    double (*epoch)(const rf__run *r);
    const char *(*metric)(const rf__run *r);                                   /* name of the metric in eval_accuracy */
    json_t *(*defaults)(void);                                                      /* options that were not given    */
    void (*card)(const rf__run *r, rf__card *c);                                    /* adds to the model card         */
    rf_status (*finish)(rf__run *r, rf_error *why);                   /* before the trained model is written; or NULL */
    rf_status (*save)(rf__run *r, rf_error *why);             /* writes more into the trained model's folder; or NULL */
    void (*end)(rf__run *r);                            /* frees the job's state; NULL: the caller of the run does it */
    bool ranks;                         /* several processes are supported: `gather` is called for the micro-batches
                                           of all ranks, and counts tokens of all, labels of its own */
    bool tokens;                        /* batches have a capacity of tokens, and losses are per token: perplexity    */
} rf__job;

struct rf__run {
    const rf__job *job;                 /* a job may hand over to another one when it restores its options            */
    void *task;                         /* state of the job                                                           */
    const rf_ctx *ctx;
    rf_train_options o;                 /* as given, or as restored from the checkpoint                               */
    rf_train_options usual;             /* the defaults of such a run                                                 */
    rf_train_report *report;
    void *user;
    bool stop;                          /* the caller requests a checkpoint and a stop                                */
    bool save;                          /* the caller requests a checkpoint                                           */

    rf_arena strings;
    char folder[4096];                  /* output_dir                                                                 */
    char from[4096];                    /* the checkpoint that the run resumes from, or ""                            */
    bool own;                           /* that checkpoint belongs to this folder */
    bool lost;                          /* the last step's loss was not finite                                        */
    bool resized;                       /* its batches had another size */
    bool ran;                           /* a run has used this folder before, and left its lock                       */
    bool unused;                        /* it did not start: it leaves no files                                       */
    bool fresh;                         /* this run created the folder's lock, and nothing else is in it yet          */
    int lock;
    rf__metrics metrics;
    rf__events events;
    json_t *options;                    /* for checkpoints                                                            */
    json_t *base;                       /* for a resumed run: the folder that it started from, or NULL                */

    rf_tokenizer *tokenizer;
    rf__kept_file prompts;              /* for sentence models: the prompts that the run started with                 */
    rf__kept_file generation;          /* for generating models: the generation_config.json that the run started with */
    rf__token_kinds vocab;
    rf_params params;
    const rf_params *model;             /* those of `encoder` and of the saved model: all, or the first   */
    rf__optimizer optimizer;
    rf__saver saver;                    /* code that changes the optimizer's slabs calls rf__saver_read first         */
    bool ema_loaded;                    /* the moving average comes from the checkpoint                               */
    rf__exchange exchange;              /* connection to the other ranks, of options.comm                             */
    double *loss;                   /* [gradient_accumulation_steps] losses of this rank's micro-batches, then of all */
    rf__tree tree;                      /* gradients of the micro-batches of a step                                   */
    float *leaf;                        /* that of the micro-batch that is being computed                             */
    rf_encoder *encoder;
    uint16_t *rounded;                  /* the weights rounded for a step's products, or NULL: round to nearest       */
    rf_graph *graph;

    rf_key order;                       /* of the training data in each epoch                                         */
    rf__stages stages;                  /* n 0: no stages                                                             */
    int stage;                          /* the stage that the options belong to                                       */
    rf_train_options given;             /* the options before a stage changed them, as checkpoints store them         */
    int64_t eval_at, save_at;           /* step mod eval_steps, save_steps at which they are due                      */
    rf__state state;
    int64_t train_samples, eval_samples;    /* examples, or pieces of documents                                       */
    struct { double loss, accuracy, bleu; bool known; } final;          /* pre-training, translation: evaluation of
                                                                           the weights that are saved */
    int64_t zeros_reported;             /* number of queries without a denominator at the last note                   */
    rf__losses losses;                  /* of the updates of this process                                             */
    double eval_seconds;                /* seconds of the last evaluation of this process; 0: none                    */
    rf_train_progress progress;
    double began;                       /* time of the first step of this run                                         */
    int64_t began_at;                   /* the step before it                                                         */
    double last_said;
};

/* The micro-batches of a step are numbered over all ranks; number i of this rank is rf__run_first + i. */
static inline int64_t rf__run_first(const rf__run *r)
{
    return rf__rank(r->o.comm) * r->o.gradient_accumulation_steps;
}

/* Called between two batches: whether anyone requests a stop. Weights, moments and random choices are still those of
 * the previous step. */
rf_status rf__run_give_up(rf__run *r, bool *stop, rf_error *why);

/* The whole run, from start to end. */
rf_status rf__run_all(const rf_ctx *ctx, const rf_train_options *options, const rf__job *job, void *task,
                      rf_train_report *report, void *user, rf_error *why);

/* Adds a line to metrics.jsonl; takes ownership of it. A log that cannot be written does not end the run. */
void rf__run_line(rf__run *r, json_t *line);

/* Everything before the first step. After a failure, rf__run_end must still be called. */
rf_status rf__run_start(rf__run *r, const rf_ctx *ctx, const rf_train_options *o, const rf__job *job, void *task,
                        rf_train_report *report, void *user, rf_error *why);
void rf__run_end(rf__run *r);

double rf__run_epoch(const rf__run *r);

/* Whether this micro-batch of all ranks, not the first of its update, would begin after the last epoch: it stays empty,
 * and the last update is smaller. */
bool rf__run_past_end(const rf__run *r, int64_t micro);

/* Determines which folder is written and which checkpoint is resumed; takes the lock (start_folder.c). */
rf_status rf__run_lock_folder(rf__run *r, rf_error *why);

/* Options, stages and steps of the checkpoint that the run resumes from; or the stages of a new run
 * (start_checkpoint.c). */
rf_status rf__run_open_checkpoint(rf__run *r, rf_error *why);
rf_status rf__run_begin_stages(rf__run *r, rf_error *why);

/* Tokenizer, config, weights, optimizer and encoder (start_model.c). */
rf_status rf__run_open_model(rf__run *r, rf_error *why);

/* Options restored from a checkpoint keep the model that the run started from. RF_EARG: the caller chose another model
 * that is not the run's folder; it would have no effect. */
void rf__run_keep_model(rf__run *r);
rf_status rf__run_compare_model(rf__run *r, const json_t *saved, rf_error *why);

/* Renames checkpoints of later steps, then cuts the logs to the length that the checkpoint records and opens them. */
rf_status rf__run_open_logs(rf__run *r, rf_error *why);

/* Prepares the sums of gradients and losses over a step's micro-batches. */
rf_status rf__run_open_exchange(rf__run *r, rf_error *why);

static inline bool rf__run_stage_ends(const rf__run *r)
{
    return r->stages.n && r->state.step == r->stages.at[r->stage].end;
}

/* Sets the last step, from max_steps or the epochs: `all` steps for a whole run with these batches, `left` from here
 * on, for a resumed run whose batches had another size. */
void rf__run_resolve_steps(rf__run *r, double all, double left);

/* Reads the weights of a model folder or file into the optimizer's values. */
rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why);

/* Notifies the caller; the text is a message for "note" and "data", a path for "save", NULL otherwise. */
void rf__run_notify(rf__run *r, const char *event, const char *format, ...) RF_PRINTF(3, 4);

#endif
