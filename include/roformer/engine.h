/* engine.h — one model for many callers: a queue of jobs, and a thread that computes them together.
 *
 *     rf_engine_open(NULL, "folder", NULL, &engine, &why);                     once
 *     rf_engine_embed(engine, text, NULL, n, NULL, NULL, &job, &why);          any thread, at any time
 *     if (rf_engine_wait(job, -1, &why) == RF_OK) use(rf_engine_result(job, &n, &D));
 *     rf_engine_job_free(job);
 *
 * A pipeline (pipeline.h) belongs to one thread. An engine takes jobs from any number of threads. Texts are tokenized
 * by the thread that submits them. The engine's thread takes the waiting jobs in their order and computes the texts of
 * several jobs together, up to max_batch_tokens, without padding and without waiting for more jobs. If there are enough
 * texts for all workers of the context, each worker computes its own texts; a worker that has no text left then takes
 * the jobs that wait, while the others are still computing. A single short job is computed by all workers together. A
 * result has the same bits as that of rf_embed_texts, whatever else is computed with it.
 *
 * threads    all functions may be called by any thread at any time, except that rf_engine_close and rf_engine_job_free
 *            must be the last use of their object. An engine belongs to the process that opened it: in a forked child
 *            its functions fail with RF_EUNSUPPORTED or do nothing
 * owner      the caller that submits a job frees it. Texts and options are not needed after the submitting call */
#ifndef ROFORMER_ENGINE_H
#define ROFORMER_ENGINE_H

#include "roformer/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_engine rf_engine;
typedef struct rf_engine_job rf_engine_job;

typedef struct rf_engine_options {
    size_t size;                /* of this struct, set by rf_engine_defaults */
    rf_type type;               /* type of the matrices (rf_pipeline_open); default RF_F32 */
    int64_t max_batch_tokens;   /* maximum number of tokens that are computed together; a single job may have more,
                                   since jobs are never divided; default 2048. Larger batches hardly speed up a base
                                   model, and each batch delays the next jobs */
    double max_wait;            /* in seconds: a job is refused if the jobs before it will take longer; 0 (default): no
                                   limit. Until the engine has computed some hundreds of tokens, it does not know its
                                   speed and refuses nothing */
    int64_t max_queue_tokens;   /* a job is refused if more than this number of tokens would wait; 0: no limit; default
                                   4194304 */
} rf_engine_options;
void rf_engine_options_init(rf_engine_options *o, size_t size);
#define rf_engine_defaults(o) rf_engine_options_init((o), sizeof *(o))

/* Opens a model folder and starts the engine's thread. Where there are no threads (WASI), the call that submits a job
 * also computes it.
 *
 *   ctx        NULL: the engine creates its own context. A context may be shared with other engines; the workers then
 *              serve one of them at a time
 *   options    NULL: rf_engine_defaults
 *   out        closed with rf_engine_close; unchanged on error
 *   RF_EARG    `folder` or `out` is NULL; an option is out of range
 *   others     as rf_pipeline_open */
rf_status rf_engine_open(const rf_ctx *ctx, const char *folder, const rf_engine_options *options, rf_engine **out,
                         rf_error *why);

/* Closes the engine. Jobs that are being computed are completed first; waiting jobs end with RF_ECANCELED. Jobs may be
 * freed afterwards. It must not be called from `done`, or from a function of rf_engine_call. NULL is allowed. */
void rf_engine_close(rf_engine *e);

const rf_model *rf_engine_model(const rf_engine *e);

/* The current state of the engine. */
typedef struct rf_engine_state {
    int64_t waiting, waiting_tokens;    /* waiting jobs, and their tokens */
    int64_t running, running_tokens;    /* jobs that are being computed, and their tokens */
    int64_t done, batches;              /* ended jobs; batches, each of one or more jobs */
    double tokens_per_second;           /* speed of the latest batches with some hundreds of tokens; 0: not known yet */
    double wait;                        /* estimated seconds until a new job would begin */
    double running_seconds;             /* seconds since the oldest running batch began; 0: there is none */
    double stalled_seconds;             /* seconds since the last forward pass of the model ended, or since that batch
                                           began, whichever is later; 0: there is none */
} rf_engine_state;
void rf_engine_get_state_sized(const rf_engine *e, rf_engine_state *out, size_t size);
#define rf_engine_get_state(e, out) rf_engine_get_state_sized((e), (out), sizeof *(out))

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

typedef struct rf_engine_job_options {
    size_t size;                /* of this struct, set by rf_engine_job_defaults */
    double timeout;             /* seconds from now after which a job without a result is canceled, as by
                                   rf_engine_cancel; 0 (default): none */
    /* Called once when the job ends: by a thread that computes, which computes nothing meanwhile, or by the thread that
       ends a waiting job (rf_engine_cancel, rf_engine_wait after the timeout, rf_engine_close). `done` may submit jobs
       and free this one. In other threads, rf_engine_wait and rf_engine_job_free return after `done` has returned.
       Default NULL */
    void (*done)(void *user, rf_engine_job *job);
    void *user;
    const char *prompt;         /* only rf_engine_classify and rf_engine_cross: text that is put before each text, or
                                   the first text of each pair; NULL (default): the default prompt of a CrossEncoder
                                   folder; "": none. RF_EUNSUPPORTED: the folder's chat template places the prompt */
    int admitted;               /* 1: the job is a part of work that has been accepted, so that max_wait and
                                   max_queue_tokens do not refuse it; default 0 */
    int cut_side;               /* only rf_engine_classify and rf_engine_cross: as in rf_embed_options; default 0 */
    int raw;                    /* only rf_engine_classify: 1: the outputs of the model, [n, num_labels], in place of
                                   the scores of the labels; default 0 */
    int zero_shot;              /* only rf_engine_classify: 1: pairs of a text and a hypothesis, which are read as
                                   rf_zero_shot does: only the text is truncated, and there is no prompt; default 0 */
} rf_engine_job_options;
void rf_engine_job_options_init(rf_engine_job_options *o, size_t size);
#define rf_engine_job_defaults(o) rf_engine_job_options_init((o), sizeof *(o))

/* Submits texts for vectors. The result is [n,D], one row of D components for each text, as rf_embed_texts computes it.
 *
 *   job_options  NULL: rf_engine_job_defaults
 *   out          freed with rf_engine_job_free; unchanged on error
 *   RF_EBUSY     too much is waiting (max_wait, max_queue_tokens): try again later
 *   others       as rf_embed_texts; a text that cannot be encoded is reported here and does not affect other jobs */
rf_status rf_engine_embed(rf_engine *e, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why);

/* Submits texts as token ids, for example those of rf_encode. Text i is id[start[i]] to
 * id[start[i + 1] - 1], including the tokens that the tokenizer adds ([CLS], [SEP]). The prompt of the options is not
 * used.
 *
 *   start      [n + 1] from 0, increasing
 *   RF_ERANGE  an id is not in the vocabulary; a text has no token, or more than max_length of the options
 *   others     as rf_engine_embed */
rf_status rf_engine_embed_ids(rf_engine *e, const int32_t id[], const int64_t start[], int64_t n,
                              const rf_embed_options *options, const rf_engine_job_options *job_options,
                              rf_engine_job **out, rf_error *why);

/* Submits texts, or pairs of texts (`pair` not NULL), for the scores of their labels. The result is [n, labels] in the
 * order of rf_engine_labels, with the scores of rf_classify. If pair[i] is NULL, text i has no second text.
 *
 *   RF_EUNSUPPORTED  the model does not label texts
 *   RF_EARG          the model was fine-tuned on pairs, and `pair` is NULL
 *   others           as rf_engine_embed */
rf_status rf_engine_classify(rf_engine *e, const char *const text[], const size_t bytes[], const char *const pair[],
                             const size_t pair_bytes[], int64_t n, const rf_engine_job_options *job_options,
                             rf_engine_job **out, rf_error *why);

/* The labels of the model, owned by the engine. NULL: the model has no fine-tuned head. */
const rf_labels *rf_engine_labels(const rf_engine *e);

/* Submits a query and texts for scores by a reranker. The result is [n, 1], the scores of rf_answerer_cross rounded to
 * float.
 *
 *   raw              1: the outputs of the model, without the folder's activation_fn
 *   RF_EUNSUPPORTED  as rf_answerer_cross
 *   others           as rf_engine_embed */
rf_status rf_engine_cross(rf_engine *e, const char *query, size_t query_bytes, const char *const text[],
                          const size_t bytes[], int64_t n, int raw, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why);

/* Submits a function that the engine's thread calls with its pipeline, for everything else that a pipeline computes
 * (masked tokens, generated text, translations). No other job is computed meanwhile, so the function can use all
 * workers. The job ends with the status that the function returns. Results belong to the pipeline; the function must
 * copy what is needed later. */
typedef rf_status rf_engine_function(void *user, rf_pipeline *p, rf_error *why);
rf_status rf_engine_call(rf_engine *e, rf_engine_function *function, void *user,
                         const rf_engine_job_options *job_options, rf_engine_job **out, rf_error *why);

/* Waits until the job has ended.
 *
 *   seconds    maximum wait; below 0: no limit; 0: return immediately
 *   returns    the status of the job, with its message; RF_EBUSY: it has not ended yet
 *   RF_ECANCELED  the job was ended by rf_engine_cancel, its timeout or rf_engine_close */
rf_status rf_engine_wait(rf_engine_job *job, double seconds, rf_error *why);

/* Ends the job with RF_ECANCELED. A waiting job ends immediately. A job that is being computed alone ends within one
 * operation of the model; one that is being computed with others ends together with them. */
void rf_engine_cancel(rf_engine_job *job);

/* The result [n, columns] of a job that has ended with RF_OK, and its report (rf_texts_report; `bad` is -1). NULL: the
 * job has no result, for example because it is a function. Both are valid until rf_engine_job_free. */
const float *rf_engine_result(const rf_engine_job *job, int64_t *n, int64_t *columns);
const rf_texts_report *rf_engine_report(const rf_engine_job *job);

/* Times of a job that has ended, in seconds: from its submission until its computation began, and until its end. */
void rf_engine_times(const rf_engine_job *job, double *waited, double *total);

/* Frees a job, after canceling it if it has not ended; `done` is not called then. NULL is allowed. */
void rf_engine_job_free(rf_engine_job *job);

#ifdef __cplusplus
}
#endif
#endif
