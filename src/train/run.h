/* run.h — the complete state of a training run.
 *
 *     start.c      everything before the first step; with start_folder.c (folder, lock, logs), start_checkpoint.c,
 *                  start_model.c and start_text.c
 *     loop.c       steps, logging, evaluation
 *     save.c       checkpoints, and the model at the end */
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

/* The parts in which another kind of training differs from predicting tokens; everything else is shared with
 * pre-training. NULL is allowed where a line says so; for restore, keep and card it means that there is nothing to
 * do. */
typedef struct rf__job {
    void (*usual)(rf_train_options *o);                /* defaults, where they differ from those of rf_train_defaults */
    rf_status (*restore)(rf__run *r, const json_t *saved, rf_error *why);           /* options from a checkpoint      */
    void (*keep)(const rf__run *r, json_t **options);                              /* ... and into the next one       */
    rf_status (*prepare)(rf__run *r, rf_error *why);                         /* reads the data; the tokenizer is open */
    rf_status (*learn)(rf__run *r, rf_error *why);              /* learns a tokenizer, if no folder has one; or NULL  */
    rf_status (*invent)(rf__run *r, rf_config *c, rf_error *why);   /* creates the config, if there is none; or NULL  */
    rf_status (*configure)(rf__run *r, rf_config *c, rf_head *head, rf_error *why);     /* the config of the model    */
    void (*memory)(const rf__run *r, rf__memory_job *own);                        /* memory that it needs in addition */
    rf_status (*begin)(rf__run *r, rf_error *why);                              /* sets the weights of the first step */
    rf_status (*open)(rf__run *r, rf_error *why);                     /* sets the position in the data, and max_steps */
    void (*gather)(rf__run *r, int64_t micro, int64_t *labels, int64_t *tokens);    /* the examples of a micro-batch  */
    rf_status (*gradient)(rf__run *r, int64_t micro, uint64_t stream, double weight, double *loss_sum, rf_error *why);
    rf_status (*evaluate)(rf__run *r, rf_error *why);                   /* computes eval_loss, eval_accuracy, metrics */
    double (*epoch)(const rf__run *r);
    const char *(*metric)(const rf__run *r);                                   /* name of the metric in eval_accuracy */
    json_t *(*defaults)(void);                                                      /* options that were not given    */
    void (*card)(const rf__run *r, rf__card *c);                                    /* adds to the model card         */
    rf_status (*finish)(rf__run *r, rf_error *why);                 /* called when the trained model has been written */
    bool ranks;                         /* several processes are supported: `gather` is called for the micro-batches
                                           of all ranks, and counts tokens of all, labels of its own */
    bool tokens;                        /* batches have a capacity of tokens, and losses are per token: perplexity    */
} rf__job;

struct rf__run {
    const rf__job *job;                 /* NULL: pre-training                                                         */
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
    rf__optimizer optimizer;
    rf__saver saver;                    /* code that changes the optimizer's slabs calls rf__saver_read first         */
    bool ema_loaded;                    /* the moving average comes from the checkpoint                               */
    rf__exchange exchange;              /* connection to the other ranks, of options.comm                             */
    double *loss;                   /* [gradient_accumulation_steps] losses of this rank's micro-batches, then of all */
    rf__tree tree;                      /* gradients of the micro-batches of a step                                   */
    rf_encoder *encoder;
    rf__rtd *rtd;                /* objective rtd: the generator; `encoder` is then the discriminator; otherwise NULL */
    uint16_t *rounded;                  /* the weights rounded for a step's products, or NULL: round to nearest       */
    rf_graph *graph;

    rf__tokens tokens[RF__SOURCES];
    int sources;
    rf__pieces pieces, held;            /* training data, held-out data                                               */
    rf_key order;
    rf__masking masking, eval_masking;
    rf__mlm_batch *batch;               /* [gradient_accumulation_steps]                                              */

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

/* The whole run, from start to end. job NULL: rf_pretrain. */
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

/* Whether the run predicts next tokens. */
static inline bool rf__run_next(const rf__run *r) { return !r->job && r->params.config.is_decoder; }

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

/* The next stage: its options, its pieces, its micro-batches. */
rf_status rf__run_next_stage(rf__run *r, rf_error *why);
static inline bool rf__run_stage_ends(const rf__run *r)
{
    return r->stages.n && r->state.step == r->stages.at[r->stage].end;
}
void rf__run_free_batches(rf__run *r);
void rf__run_evaluate_stage(rf__run *r);                              /* the end of a stage: its evaluation           */

/* Sets the last step, from max_steps or the epochs: `all` steps for a whole run with these batches, `left` from here
 * on, for a resumed run whose batches had another size. */
void rf__run_resolve_steps(rf__run *r, double all, double left);

/* Opens texts or caches, and sets the number of steps by their size. */
rf_status rf__run_open_text(rf__run *r, rf_error *why);

/* Reads the weights of a model folder or file into the optimizer's values. */
rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why);

/* Notifies the caller; the text is a message for "note" and "data", a path for "save", NULL otherwise. */
void rf__run_notify(rf__run *r, const char *event, const char *format, ...) RF_PRINTF(3, 4);

#endif
