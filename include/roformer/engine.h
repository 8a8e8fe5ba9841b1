/* engine.h — one model for many callers: a queue of jobs, and a thread that computes them together.
 *
 *     rf_engine_open(NULL, "folder", NULL, &engine, &why);                     once
 *     rf_engine_embed(engine, text, NULL, n, NULL, NULL, &job, &why);          any thread, at any time
 *     if (rf_engine_wait(job, -1, &why) == RF_OK) use(rf_engine_result(job, &n, &D));
 *     rf_engine_job_free(job);
 *
 * A pipeline (pipeline.h) belongs to one thread. An engine takes jobs from any number of threads. Texts are tokenized
 * by the thread that submits them. The engine's thread takes the jobs that wait, in their order, and computes the
 * texts of several jobs together, up to max_batch_tokens, without padding and without waiting for more. If there is
 * enough for all workers of the context, each computes texts of its own; a single short job is computed by all of them
 * together. A result has the same bits whatever else is computed with it: those of rf_embed_texts.
 *
 * threads    all functions may be called by any thread at any time, except that rf_engine_close and rf_engine_job_free
 *            must be the last use of their object. An engine belongs to the process that opened it: in a forked child
 *            its functions fail with RF_EUNSUPPORTED or do nothing
 * owner      whoever submits a job frees it. Texts and options are not needed after the call that submits them */
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
    rf_type type;               /* of the matrices (rf_pipeline_open); default RF_F32 */
    int64_t max_batch_tokens;   /* tokens that are computed together, except that a job is never divided; default 2048.
                                   A base model gains little from more, and each batch delays the next jobs */
    double max_wait;            /* seconds: a job is refused if those before it will take longer; 0 (default): no limit.
                                   Until it has computed some hundreds of tokens, the engine does not know its speed
                                   and refuses nothing */
    int64_t max_queue_tokens;   /* a job is refused if more tokens than this would wait; 0: no limit; default 4194304 */
} rf_engine_options;
void rf_engine_options_init(rf_engine_options *o, size_t size);
#define rf_engine_defaults(o) rf_engine_options_init((o), sizeof *(o))

/* Opens a model folder and starts the engine's thread.
 *
 *   ctx        NULL: the engine creates its own context. A context may be shared with other engines; the workers then
 *              serve one of them at a time
 *   options    NULL: rf_engine_defaults
 *   out        closed with rf_engine_close; unchanged on error
 *   RF_EARG    `folder` or `out` is NULL; an option is out of range
 *   others     as rf_pipeline_open */
rf_status rf_engine_open(const rf_ctx *ctx, const char *folder, const rf_engine_options *options, rf_engine **out,
                         rf_error *why);

/* Waits for the job that is computed; the jobs that wait end with RF_ECANCELED. Jobs may be freed afterwards. It must
 * not be called by the engine's thread (`done`, or a function of rf_engine_call). NULL is allowed. */
void rf_engine_close(rf_engine *e);

const rf_model *rf_engine_model(const rf_engine *e);

/* What the engine does at this moment. */
typedef struct rf_engine_state {
    int64_t waiting, waiting_tokens;    /* jobs that wait, and their tokens */
    int64_t running, running_tokens;    /* jobs that are computed together */
    int64_t done, batches;              /* jobs that ended, and how often jobs were computed together */
    double tokens_per_second;           /* of the latest batches with some hundreds of tokens; 0: not known yet */
    double wait;                        /* seconds until a new job would begin, by that speed */
    double running_seconds;             /* since the jobs that are computed began; 0: none are */
} rf_engine_state;
void rf_engine_look_sized(const rf_engine *e, rf_engine_state *out, size_t size);
#define rf_engine_look(e, out) rf_engine_look_sized((e), (out), sizeof *(out))

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

typedef struct rf_engine_job_options {
    size_t size;                /* of this struct, set by rf_engine_job_defaults */
    double timeout;             /* seconds from now after which the job ends with RF_ECANCELED, unless its result is
                                   there; as rf_engine_cancel. 0 (default): none */
    /* Called once when the job ends: by the engine's thread, which computes nothing meanwhile, or by the thread that
       ends a job that waits (rf_engine_cancel, rf_engine_wait after the timeout, rf_engine_close). It may submit jobs
       and free this one. In other threads, rf_engine_wait and rf_engine_job_free return after it. Default NULL */
    void (*done)(void *user, rf_engine_job *job);
    void *user;
} rf_engine_job_options;
void rf_engine_job_options_init(rf_engine_job_options *o, size_t size);
#define rf_engine_job_defaults(o) rf_engine_job_options_init((o), sizeof *(o))

/* Submits texts for vectors: result [n,D], as rf_embed_texts computes them.
 *
 *   job_options  NULL: rf_engine_job_defaults
 *   out          freed with rf_engine_job_free; unchanged on error
 *   RF_EBUSY     too much is waiting (max_wait, max_queue_tokens): try again later
 *   others       as rf_embed_texts; a text that cannot be encoded is named here, and no other job suffers from it */
rf_status rf_engine_embed(rf_engine *e, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why);

/* Submits texts that are tokens already, for example those of rf_encode. Text i is id[start[i]] to
 * id[start[i + 1] - 1], including the tokens that the tokenizer adds ([CLS], [SEP]). The prompt of the options is not
 * used.
 *
 *   start      [n + 1] from 0, rising
 *   RF_ERANGE  an id is not in the vocabulary; a text has no token, or more than max_length of the options
 *   others     as rf_engine_embed */
rf_status rf_engine_embed_ids(rf_engine *e, const int32_t id[], const int64_t start[], int64_t n,
                              const rf_embed_options *options, const rf_engine_job_options *job_options,
                              rf_engine_job **out, rf_error *why);

/* Submits texts, or pairs of texts (`pair` not NULL), for the scores of their labels: result [n, labels], in the order
 * of rf_engine_labels, with the numbers of rf_answerer_classify. pair[i] may be NULL: text i is a single one.
 *
 *   RF_EUNSUPPORTED  the model does not label texts
 *   RF_EARG          the model was fine-tuned on pairs, and `pair` is NULL
 *   others           as rf_engine_embed */
rf_status rf_engine_classify(rf_engine *e, const char *const text[], const size_t bytes[], const char *const pair[],
                             const size_t pair_bytes[], int64_t n, const rf_engine_job_options *job_options,
                             rf_engine_job **out, rf_error *why);

/* The labels of the model, owned by the engine. NULL: the model has no fine-tuned head. */
const rf_labels *rf_engine_labels(const rf_engine *e);

/* Submits a query and texts for scores by a reranker: result [n, 1], the numbers of rf_answerer_cross rounded to float.
 *
 *   raw              1: the outputs of the model, without the folder's activation_fn
 *   RF_EUNSUPPORTED  as rf_answerer_cross
 *   others           as rf_engine_embed */
rf_status rf_engine_cross(rf_engine *e, const char *query, size_t query_bytes, const char *const text[],
                          const size_t bytes[], int64_t n, int raw, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why);

/* Submits a function that the engine's thread calls with its pipeline: for everything else that a pipeline computes
 * (masked tokens, generated text, translations). It is alone then, and all workers are its own. The job ends with what
 * the function returns. Results belong to the pipeline; the function copies what is to be kept. */
typedef rf_status rf_engine_function(void *user, rf_pipeline *p, rf_error *why);
rf_status rf_engine_call(rf_engine *e, rf_engine_function *function, void *user,
                         const rf_engine_job_options *job_options, rf_engine_job **out, rf_error *why);

/* Waits until the job has ended.
 *
 *   seconds    below 0: as long as it takes; 0: only looks
 *   returns    the status of the job, with its message; RF_EBUSY: it has not ended yet
 *   RF_ECANCELED  rf_engine_cancel, its timeout, or rf_engine_close ended it */
rf_status rf_engine_wait(rf_engine_job *job, double seconds, rf_error *why);

/* Ends the job with RF_ECANCELED: at once if it waits; if it is computed, within one operation of the model if no other
 * job is computed with it, otherwise together with these. */
void rf_engine_cancel(rf_engine_job *job);

/* The result of a job that has ended with RF_OK, [n, columns], and how many tokens were computed (rf_texts_report;
 * `bad` is -1). NULL: there is none, as of a function. Valid until rf_engine_job_free. */
const float *rf_engine_result(const rf_engine_job *job, int64_t *n, int64_t *columns);
const rf_texts_report *rf_engine_report(const rf_engine_job *job);

/* Seconds from submitting to beginning, and to the end, of a job that has ended. */
void rf_engine_times(const rf_engine_job *job, double *waited, double *total);

/* Frees a job, after canceling it if it has not ended; `done` is not called then. NULL is allowed. */
void rf_engine_job_free(rf_engine_job *job);

#ifdef __cplusplus
}
#endif
#endif
