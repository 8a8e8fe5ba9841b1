/* server.h — what the files of the server share.
 *
 *     MHD's thread     headers, bodies, sending                            http.c
 *     workers          reading JSON, tokenizing, writing answers           workers.c
 *     a thread for each model, of its engine                               roformer/engine.h
 *     the watcher      deadlines, clients that left                        connections.c
 *     the loader       opens models                                        models.c
 *
 * A request goes from MHD's thread to a worker, which submits a job to an engine; when the job ends, the request goes
 * to a worker again, which writes the answer, and then back to MHD's thread. No thread waits for a result. */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "store/task.h"
#include "roformer/index.h"
#include "serve/counters.h"
#include "serve/http/sockets.h"
#include "serve/serve.h"
#include "serve/text.h"

struct MHD_Connection;
struct MHD_Daemon;
typedef struct srv_connection srv_connection;
typedef struct srv_request srv_request;
typedef struct srv_model srv_model;
typedef struct srv_field srv_field;
typedef void srv_step(srv_request *r);

/* A step that waits for a worker. */
typedef struct srv_task srv_task;
struct srv_task {
    srv_task *after;
    srv_request *r;
    srv_step *step;
};

/* ---- routes ------------------------------------------------------------------------------------------------------ */

/* The form of errors. */
typedef enum srv_dialect { SRV_TEI, SRV_OPENAI, SRV_COHERE, SRV_LIBRE } srv_dialect;

typedef struct srv_route {
    const char *method, *path;
    srv_dialect dialect;
    enum { SRV_PUBLIC, SRV_KEYED } access; /* SRV_KEYED: an API key is needed, if there are any              */
    enum { SRV_INLINE, SRV_WORKER } where; /* SRV_INLINE: answered by MHD's thread, also while models load   */
    srv_step *step;
    const char *step_name;
    const srv_field *field; /* members of the body; NULL: there is no body                    */
    const char *what;       /* one sentence for openapi.json and the documentation            */
} srv_route;
extern const srv_route srv_routes[]; /* a row without a path at the end                                */

/* Sets the route and its dialect. false: the path does not exist, or not with this method; answered with an error. */
bool srv_find_route(srv_request *r);

/* ---- inputs that are computed by one job after the other: pieces.c ----------------------------------------------- */

typedef struct srv_pieces {
    int64_t n, done, now;    /* inputs; computed ones; those of the job that is computed                           */
    int64_t columns;
    float *own;              /* [n, columns], if there are several jobs                                            */
    const float *result;     /* [n, columns]                                                                       */
    int64_t (*tokens)(const srv_request *r, int64_t i); /* of an input, estimated                                  */
    rf_status (*submit)(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o, rf_error *why);
    srv_step *finish;
} srv_pieces;

/* Takes permits for n inputs and computes them, in jobs that `submit` passes to the engine; then a worker calls
 * `finish` with r->pieces.result. */
void srv_compute(srv_request *r, int64_t n, int64_t (*tokens)(const srv_request *r, int64_t i),
                 rf_status (*submit)(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o,
                                     rf_error *why),
                 srv_step *finish);

/* Characters of a text in UTF-8. */
static inline int64_t srv_length(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

/* About the tokens of a text of this size, with [CLS] and [SEP]. */
static inline int64_t srv_tokens_of(size_t bytes) { return 3 + (int64_t)(bytes / 4); }

/* ---- a request --------------------------------------------------------------------------------------------------- */

struct srv_request {
    srv_server *s;
    atomic_int users;           /* MHD's part, and the part that computes                                     */
    pthread_mutex_t lock;       /* of `mhd`, `suspended`, `submitted` and `job`                               */
    struct MHD_Connection *mhd; /* NULL: the connection is closed                                             */
    srv_connection *connection;
    bool suspended;
    bool submitted;   /* `job` may be canceled by other threads                                     */
    bool complete;    /* the client has the whole answer                                            */
    atomic_bool gone; /* the client has left                                                        */
    enum { SRV_HEADER, SRV_BODY, SRV_WORK, SRV_ANSWERED } phase;
    char *path; /* as it was sent, with its query                                             */
    char method[16], id[64], address[64];
    const srv_route *route; /* NULL: not found yet                                                        */
    srv_dialect dialect;
    char *body;
    size_t size, capacity;
    json_t *in;            /* the body                                                                   */
    srv_task task[2];      /* in the queue of the workers; [1]: the end of a shared call's job           */
    srv_step *finish;      /* the function that a worker calls with the result                           */
    srv_request *whole;    /* of which this is a part without a connection, or NULL                      */
    srv_request *part;     /* that is computed now, or NULL; under `lock`                                */
    srv_step *over;        /* of a part: called when it has its answer                                   */
    atomic_int ends;       /* ends of jobs, and of the calls that submitted them                         */
    srv_pieces pieces;
    bool shared;           /* the job also computes other requests, so it is not canceled                */
    int64_t charged;       /* bytes of it in srv_server.memory                                           */
    int64_t swallowed;     /* bytes of the body that came                                                */
    bool form;             /* the body is a form, not JSON                                               */
    bool key_in_body;      /* the API key is member "api_key" of the body                                 */
    char key_name[33];     /* of the API key; "": it has none                                             */
    bool html;             /* the client accepts text/html: a browser                                    */
    bool counted;          /* in srv_server.active                                                       */
    int64_t permits, held; /* inputs; those that count as waiting or computed                            */
    int64_t beside;        /* inputs that the limit of inputs does not count                             */

    srv_model *model; /* taken, until the request is freed                                          */
    rf_engine_job *job;
    void *own; /* data of the route, freed with free_own                                     */
    void (*free_own)(void *own);

    int status;       /* of the answer; 0: none yet                                                 */
    const char *type; /* of its content                                                             */
    srv_text out;
    bool close;                         /* the connection is closed after the answer                                  */
    char header[64], header_value[128]; /* one more header of the answer                                              */
    struct srv_stream *stream;          /* an answer that comes in parts, or NULL                                     */

    double arrived, parsed, waited, computed, answered; /* seconds: a time, then durations                        */
    int64_t characters, tokens, sent;
    bool inference;      /* the answer has the x-compute headers                                       */
    srv_counted kind;    /* under which TEI counts its inputs                                          */
    const char *failure; /* label of te_request_failure, or NULL                                       */
};

/* request.c
 *
 *   answer       sends the answer in r->out: the request returns to MHD's thread. Called once
 *   error        sends an error instead; error_type is that of TEI
 *   fail         sends the error for a status of the library
 *   release      decrements the number of users
 *   refuse_full  answers 429
 *   hold         takes permits for n inputs, until let_go or the request's end; false: answered with 429. Of a large
 *                request, only --max-client-batch-size inputs are counted, since others are computed in between */
srv_request *srv_request_new(srv_server *s, const char *path);
void srv_request_release(srv_request *r);
void srv_request_take_part(srv_request *r, srv_request *part); /* which is canceled with the whole; NULL: none */
void srv_answer(srv_request *r, int status, const char *type);
void srv_answer_json(srv_request *r); /* 200 */
/* Calls `add` with each header of TEI's about the tokens and times of an answer. */
void srv_each_time(const srv_request *r, void (*add)(void *to, const char *name, const char *value), void *to);
/* 422: the answer has too many bytes (0: unknown) for --max-answer-bytes. fits: false: answered so. */
void srv_refuse_answer(srv_request *r, int64_t bytes, const char *what);
bool srv_answer_fits(srv_request *r, double bytes, const char *what);
void srv_error(srv_request *r, int status, const char *error_type, const char *format, ...)
    RF_PRINTF(4, 5);
void srv_fail(srv_request *r, const rf_error *why);
void srv_refuse_full(srv_request *r);
bool srv_hold(srv_request *r, int64_t inputs);
void srv_let_go(srv_request *r);

/* Sets the bytes that the request has of --max-memory. false: answered: there is no space. Bodies of more than
 * SRV_LARGE bytes get half of it, so that they do not keep out the others. */
bool srv_charge(srv_request *r, int64_t bytes);

/* Data of a route for a request: `size` zeroed bytes in r->own, freed with `free_own` when the request ends. NULL:
 * answered. */
void *srv_own(srv_request *r, size_t size, void (*free_own)(void *own));

/* Options of a job after which a worker calls `finish` for the request. */
rf_engine_job_options srv_job_options(srv_request *r, srv_step *finish);

/* In `finish`: the status of the job, its times and tokens in the request. RF_OK: rf_engine_result has the result,
 * until srv_job_free. Otherwise the request is answered. */
rf_status srv_job_end(srv_request *r);
void srv_job_free(srv_request *r);

/* Whether nobody needs the result any longer: the client has left, --request-timeout has passed, or the server ends.
 * Every loop of the routes looks at it. over: the error of such a request; go_on: false: answered with it. */
bool srv_is_over(const srv_request *r);
rf_error srv_over(const srv_request *r);
bool srv_go_on(srv_request *r);

/* After a call that submits a job: answers the request if the job was refused; cancels it if the client has left. The
 * request may end before it returns. cancelable: only the latter, for jobs with a `done` of their own. */
void srv_submitted(srv_request *r, rf_status status, const rf_error *why);
void srv_cancelable(srv_request *r);
/* Cancels the job, unless it may compute others' requests, too: then only the request's own call if it still waits, or
 * the calls that are computed if all of them are over. every: the job even then. */
void srv_request_cancel(srv_request *r, bool every);
/* The time of the request has passed: ends its own call. Engines end jobs by themselves. */
void srv_request_late(srv_request *r);

/* ---- workers.c --------------------------------------------------------------------------------------------------- */

/* Waiting steps. Large ones read bodies of more than SRV_LARGE bytes, which may take a second. At most half of the
 * threads execute large ones at the same time, so that other requests are not delayed. */
enum { SRV_LARGE = 1 << 16 };
typedef struct srv_queue {
    srv_task *first, *last;
} srv_queue;
typedef struct srv_workers {
    pthread_mutex_t lock;
    pthread_cond_t more;
    srv_queue small, large;
    int running, most; /* large ones                                                                 */
    pthread_t *thread;
    int threads;
    bool closing;
} srv_workers;
rf_status srv_workers_start(srv_server *s, int threads, rf_error *why);
void srv_workers_stop(srv_server *s);
/* Queues `step` for a worker; which: 0, or 1 for the second step that may wait at the same time. */
void srv_later(srv_request *r, srv_step *step, int which);
rf_status srv_thread(pthread_t *out, void *(*body)(void *), void *user, rf_error *why); /* without signals */

/* ---- framing.c --------------------------------------------------------------------------------------------------- */

/* Why it is doubtful where the request ends, or NULL. */
const char *srv_framing_fault(srv_request *r, const char *method, const char *version);

/* Whether it also knows what this version of libmicrohttpd leaves out of headers; other versions are asked to be strict
 * themselves. */
bool srv_framing_followed(void);

/* ---- connections.c ----------------------------------------------------------------------------------------------- */

struct srv_connection {
    srv_connection *before, *next;
    srv_socket fd;
    int64_t requests;
    double opened;
    double deadline; /* when it is closed                                                          */
    bool late;       /* it has been                                                                */
    bool above;      /* accepted when there were already --max-connections                         */
    bool asked;      /* by the watcher, at this tick                                               */
    bool left;       /* then: the client has closed or reset it, or its side of it                 */
    enum srv_connection_state { SRV_WAITS_HEADER, SRV_WAITS_BODY, SRV_WORKS, SRV_SENDS, SRV_IDLE } state;
    srv_request *request; /* that is computed                                                           */
};
typedef struct srv_connections {
    pthread_mutex_t lock;
    srv_connection *first, *last; /* the newest, the oldest                                               */
    int64_t n, late;              /* all, and those that are being closed                                 */
    srv_asked asked; /* by the watcher                                                             */
    atomic_bool closing;
    pthread_t watcher;
    bool watching;
} srv_connections;
rf_status srv_connections_start(srv_server *s, rf_error *why);
void srv_connections_stop(srv_server *s);
srv_connection *srv_connection_new(srv_server *s, srv_socket fd); /* NULL: no memory */
void srv_connection_end(srv_server *s, srv_connection *c);
/* Sets the state of a connection, which may last for at most `seconds`. */
void srv_connection_enter(srv_server *s, srv_connection *c, enum srv_connection_state state, double seconds,
                          srv_request *r);
int64_t srv_connections_count(srv_server *s);
bool srv_connection_is_above(srv_server *s, const srv_connection *c); /* it is one too many, still */

/* ---- models.c ---------------------------------------------------------------------------------------------------- */

/* A translation in task_specific_params of config.json, translation_SOURCE_to_TARGET: its settings and its prefix. */
typedef struct srv_translation {
    char source[16], target[16], prefix[256];
    rf_generate_options generate;
} srv_translation;

struct srv_model {
    atomic_int users;
    srv_server *s;
    int slot;
    rf_engine *engine;
    rf_pipeline *pipeline; /* used only for its settings, never for results, so any thread may use it    */
    const rf_config *config;
    const rf_tokenizer *tokenizer;
    rf_embed_options embed;    /* of the folder                                                              */
    rf__sparse sparse;         /* how it pools sparse vectors                                                */
    rf_error no_sparse;        /* the reason why these are not computed, or code 0                           */
    rf_sentence prompts;       /* only its prompts                                                           */
    rf_error no_prompts;       /* the reason why these cannot be read, or code 0                             */
    rf_error no_vectors;       /* the reason why the model computes no vectors, or code 0                    */
    int64_t max_length;        /* tokens of an input                                                         */
    struct srv_shared *shared; /* requests that are computed together (shared_call.c)                        */
    rf_index *index;           /* of its vectors, or NULL                                                    */
    pthread_mutex_t index_lock;
    char source_language[16], target_language[16]; /* of a translation model; "": unknown                          */
    srv_translation *task; /* [tasks] */
    int tasks;
    rf_embed_options query; /* of the index                                                               */
};

typedef struct srv_slot {
    const srv_model_option *option;
    srv_model *model; /* NULL: not loaded yet                                                       */
    rf_error failure; /* of the latest attempt                                                      */
    time_t created;
} srv_slot;

rf_status srv_models_start(srv_server *s, rf_error *why);
void srv_model_load(srv_server *s, int slot); /* opens it; after an error, slot->failure is the reason */
void srv_models_stop(srv_server *s);
/* The slot of a name or alias; NULL or "": the first. -1: there is none. */
int srv_model_slot(const srv_server *s, const char *name);
void srv_no_model(srv_request *r, const char *name); /* answers 404 with the names that there are */
srv_model *srv_model_acquire(srv_server *s, int slot); /* NULL: not loaded yet */
void srv_model_release(srv_model *m);
/* The name of the first model that can; NULL: there is none. */
const char *srv_model_that(srv_server *s, bool (*can)(const srv_model *m));

/* Finds the model of this name or alias; NULL: the one that member "model" of the body names, or the first one. Keeps
 * the model that the request already has. false: answered. */
bool srv_need_model(srv_request *r, const char *name);
/* 424: "the model is X, which WHAT; set `model` to 'Y', which can". Y is the first model for which `can` is true; the
 * sentence ends before it if there is none, or if `can` is NULL. */
void srv_wrong_model(srv_request *r, const char *what, bool (*can)(const srv_model *m));
bool srv_need_vectors(srv_request *r);          /* false: answered with 424 */
const char *srv_model_kind(const srv_model *m); /* "a masked language model" */
/* abilities.c: the head with which a model answers, RF_HEAD_EMBED for an encoder without one; what follows from it. */
rf_head srv_model_head(const srv_model *m);
bool srv_labels_texts(const srv_model *m);
bool srv_reranks(const srv_model *m);
bool srv_fills_masks(const srv_model *m);
bool srv_generates(const srv_model *m);
bool srv_compares(const srv_model *m);
bool srv_translates(const srv_model *m);
bool srv_attends(const srv_model *m); /* a single stack whose attention has weights for all pairs of tokens */
/* Whether a model has ability i, and its name in /v1/models. */
enum { SRV_ABILITIES = 13 };
const char *srv_ability_name(int i);
bool srv_model_can(const srv_model *m, int i);
const char *srv_dtype(rf_type type);                    /* "float32" */

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* An API key and its name in the log, or "". */
typedef struct srv_key {
    char key[128], name[33];
} srv_key;

/* The thread of libmicrohttpd's callbacks (loop_linux.c; loop_others.c needs none of this). */
typedef struct srv_loop {
    pthread_t thread;
    int wake;          /* -1: not open                                                               */
    bool runs;         /* the thread exists                                                          */
    bool freed;        /* a connection has ended: libmicrohttpd accepts others when it is called again */
    atomic_bool ends;
} srv_loop;

struct srv_server {
    srv_options o;
    struct MHD_Daemon *daemon;
    srv_loop loop;
    int port;
    srv_socket listener; /* -1: not open                                                              */
    bool bound;          /* the socket file is ours                                                   */
    bool disconnects;    /* the watcher ends clients that wait; under connections.lock                */
    bool loopback;      /* the socket has an address of this machine only                             */
    atomic_bool draining, closing;
    atomic_llong permits; /* inputs that are waiting or computed                                        */
    atomic_llong memory;  /* bytes of bodies and of answers that have not been read                     */
    atomic_llong released; /* bytes of them that were freed since malloc_trim                           */
    atomic_llong active;  /* requests for workers that were accepted and have not ended                 */
    atomic_llong unreadable; /* requests that libmicrohttpd refused by itself                             */
    atomic_llong serial;  /* of request ids and samples                                                 */
    double begun;
    srv_workers workers;
    srv_connections connections;
    srv_slot *slot; /* [o.models]                                                                 */
    pthread_rwlock_t slots;
    pthread_t loader;
    bool loading, reload;
    pthread_mutex_t load_lock;
    pthread_cond_t load_more;
    srv_metrics metrics;
    pthread_mutex_t log_lock;
    pthread_mutex_t key_lock; /* of `key` and `keys`                                                        */
    srv_key *key;             /* [keys]                                                                     */
    int keys;
    bool needs_key;
};

/* server.c: members of a zeroed server, before anything is started. */
void srv_init(srv_server *s, const srv_options *o);

/* http.c: MHD's part. listen: opens the socket; start: answers; quiesce: accepts no more clients; resume: a request
 * has its answer, or more of it. */
rf_status srv_http_listen(srv_server *s, rf_error *why);
rf_status srv_http_start(srv_server *s, rf_error *why);
void srv_http_quiesce(srv_server *s);
void srv_http_stop(srv_server *s);
void srv_http_resume(srv_request *r);
unsigned srv_loop_flags(void); /* of MHD_start_daemon */
rf_status srv_loop_start(srv_server *s, rf_error *why);
void srv_loop_wake(srv_server *s);
void srv_loop_stop(srv_server *s);

/* metrics.c: Prometheus' text format, under the names of text-embeddings-inference. batch: texts are computed
 * together. accept: a request has its permits. count: a request has been answered, or its client has left. */
void srv_metrics_init(srv_metrics *m);
void srv_metrics_free(srv_metrics *m);
void srv_metrics_batch(srv_server *s, int64_t texts, int64_t tokens);
void srv_metrics_accept(const srv_request *r, int64_t inputs);
void srv_metrics_count(srv_server *s, const srv_request *r);
void srv_metrics_write(srv_server *s, srv_text *out);

/* keys.c: read: replaces the keys; after an error, the old ones stay. matches: blanks around a key do not count; the
 * request then has the name of the key. */
rf_status srv_keys_read(srv_server *s, rf_error *why);
bool srv_key_matches(srv_request *r, const char *key);

/* origin.c: whether a request may come from the web page of another site, by its headers (NULL: missing). false: `why`
 * has the reason. */
bool srv_origin_is_right(const srv_request *r, const char *host, const char *origin, const char *site, char why[400]);

/* access_log.c */
void srv_log(srv_request *r, bool complete);
void srv_note(const srv_server *s, const char *format, ...) RF_PRINTF(2, 3);

/* openapi.c: the description of all routes. */
void srv_put_openapi(const srv_server *s, srv_text *out);

#endif
