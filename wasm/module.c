/* module.c — roformer as a module of WebAssembly: the routes of `roformer serve`, each answered by a call.
 *
 * The code of the routes is that of the server (src/serve/api), so that requests and answers are the same. In place of
 * its sockets, threads and loader this file has:
 *
 *     roformer_name    a model that /v1/models lists, as one that is being loaded
 *     roformer_open    opens it, from files in memory
 *     roformer_close   closes it and takes its name off the list
 *     roformer_call    the answer of a route, valid until the next call
 *     roformer_threads how many threads compute, before the first of these; 1 if it is not called
 *
 * What a step of a request leaves for later waits in a queue, which roformer_call empties. An engine without a thread
 * computes a job when it is submitted, so that after the last step the request has its answer. roformer.js calls these
 * functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/inspect/files.h"
#include "serve/http/stream.h"
#include "serve/page.h"

#define EXPORT(name) __attribute__((export_name(#name)))

enum { MODELS = 16, NAME = 128 };

/* The files of a model, which it uses until it is closed. */
typedef struct holding {
    char name[NAME];
    rf_memory_folder *folder;
    rf_memory_file *file; /* [files] */
    int64_t files;
} holding;

/* What roformer.js reads. */
typedef struct reply {
    int status;
    const char *type, *headers, *text; /* headers: lines "name: value"                                        */
    size_t size;                       /* bytes of text                                                       */
} reply;

static int threads = 1;
static srv_server server;
static srv_model_option option[MODELS];
static holding held[MODELS];
static srv_queue waiting;
static rf_error failure;
static srv_request *answered; /* by the last call */
static srv_text headers;

const srv_page_file srv_page_files[] = {{0}}; /* those of the page are files of its folder */

/* ---- in place of workers.c, http.c and connections.c ------------------------------------------------------------- */

void srv_later(srv_request *r, srv_step *step, int which)
{
    srv_task *t = &r->task[which];
    atomic_fetch_add(&r->users, 1);
    *t = (srv_task){.r = r, .step = step};
    if (waiting.last) waiting.last->after = t;
    else waiting.first = t;
    waiting.last = t;
}

static void work(void)
{
    for (srv_task *t; (t = waiting.first);) {
        srv_request *r = t->r;
        waiting.first = t->after;
        if (!waiting.first) waiting.last = NULL;
        t->step(r); /* the step may use the task again */
        srv_request_release(r);
    }
}

void srv_http_resume(srv_request *r) { (void)r; }

int64_t srv_connections_count(srv_server *s)
{
    (void)s;
    return 0;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static rf_status start(void)
{
    rf_ctx_options c;
    rf_ctx *ctx = NULL;
    if (server.slot) return RF_OK;
    rf_ctx_defaults(&c);
    c.threads = threads;
    const rf_status status = rf_ctx_new(&c, &ctx, &failure);
    if (status) return status;
    srv_options o = {.ctx = ctx, .model = option, .auto_truncate = true, .inherited = -1};
    srv_limits_defaults(&o.limits);
    srv_init(&server, &o);
    server.workers.threads = 1;
    server.slot = calloc(MODELS, sizeof *server.slot);
    return server.slot ? RF_OK : rf_fail(&failure, RF_ENOMEM, "out of memory: models");
}

/* -1: there is none. */
static int find(const char *name)
{
    int i = server.o.models;
    while (i-- && strcmp(option[i].name, name)) {}
    return i;
}

static void free_files(rf_memory_file *file, int64_t n)
{
    for (int64_t i = 0; i < n; i++) free((void *)(uintptr_t)file[i].data);
    free(file);
}

/* The last request uses its model until it is released. */
static void forget_answer(void)
{
    if (answered) srv_request_release(answered);
    answered = NULL;
}

/* Closes the model; its name stays. */
static void close_slot(int i)
{
    forget_answer();
    if (server.slot[i].model) srv_model_release(server.slot[i].model);
    server.slot[i] = (srv_slot){0};
    rf_memory_folder_free(held[i].folder);
    free_files(held[i].file, held[i].files);
    held[i].folder = NULL;
    held[i].file = NULL;
    held[i].files = 0;
}

/* Takes the name of a closed model off the list; those after it keep their order. */
static void forget_name(int i)
{
    server.o.models--;
    for (; i < server.o.models; i++) {
        held[i] = held[i + 1];
        option[i] = option[i + 1];
        option[i].name = held[i].name;
        server.slot[i] = server.slot[i + 1];
        if (server.slot[i].model) server.slot[i].model->slot = i;
    }
    held[i] = (holding){.name = ""};
    option[i] = (srv_model_option){.name = ""};
    server.slot[i] = (srv_slot){0};
}

EXPORT(roformer_threads) void roformer_threads(int n) { threads = n; }
EXPORT(roformer_space) void *roformer_space(size_t size) { return malloc(size ? size : 1); }
EXPORT(roformer_free) void roformer_free(void *memory) { free(memory); }

/* NULL, or the reason why not. */
EXPORT(roformer_name) const char *roformer_name(const char *name)
{
    if (start()) return failure.text;
    if (find(name) >= 0) return NULL;
    const int i = server.o.models;
    if (i == MODELS) return "expected at most 16 models at a time, got another one; close one";
    if (!*name || strlen(name) >= NAME) return "expected a name of 1 to 127 bytes";
    snprintf(held[i].name, sizeof held[i].name, "%s", name);
    option[i] = (srv_model_option){.name = held[i].name, .folder = ""};
    server.o.models++;
    return NULL;
}

static rf_status open_slot(int i)
{
    holding *h = &held[i];
    const rf_status status = rf_memory_folder_new(server.o.ctx, h->file, h->files, &h->folder, &failure);
    if (status) return status;
    option[i].folder = rf_memory_folder_path(h->folder);
    srv_model_load(&server, i);
    failure = server.slot[i].failure;
    return failure.code;
}

/* NULL, or the reason why not. */
static const char *type_of(const char *dtype, rf_type *out)
{
    static const struct { const char *name; rf_type type; } types[] = {
        {"f32", RF_F32}, {"bf16", RF_BF16}, {"int8", RF_I8}, {"int8w", RF_I8W}};
    for (size_t i = 0; i < RF_COUNT(types); i++)
        if (!strcmp(types[i].name, dtype)) {
            *out = types[i].type;
            return NULL;
        }
    failure = (rf_error){0};
    rf_fail(&failure, RF_EARG, "dtype: expected f32, bf16, int8 or int8w, got '%.40s'", dtype);
    return failure.text;
}

/* Takes the list of files and their data, which roformer_space has given, also if it fails; their names remain the
 * caller's. NULL, or the reason why not: a name that was not listed before is not listed then. */
EXPORT(roformer_open) const char *roformer_open(const char *name, const char *dtype, rf_memory_file *file, int n)
{
    rf_type type = RF_F32;
    const char *refused = type_of(dtype, &type);
    const bool listed = find(name) >= 0;
    if (!refused) refused = roformer_name(name);
    if (refused) {
        free_files(file, n);
        return refused;
    }
    const int i = find(name);
    close_slot(i);
    held[i].file = file;
    held[i].files = n;
    option[i].type = type;
    if (!open_slot(i)) return NULL;
    close_slot(i);
    if (!listed) forget_name(i);
    return failure.text;
}

EXPORT(roformer_close) void roformer_close(const char *name)
{
    const int i = find(name);
    if (i < 0) return;
    close_slot(i);
    forget_name(i);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void compute(srv_request *r)
{
    if (r->route->where == SRV_INLINE) r->route->step(r);
    else {
        r->phase = SRV_WORK;
        atomic_fetch_add(&r->users, 1); /* until srv_answer */
        srv_later(r, r->route->step, 0);
        work();
    }
}

/* The whole of an answer that was written in parts. */
static void join_stream(srv_request *r)
{
    char part[4096];
    int64_t n;
    while ((n = srv_stream_read(r, part, sizeof part)) > 0) srv_put(&r->out, part, (size_t)n);
}

static void add_header(void *to, const char *name, const char *value) { srv_printf(to, "%s: %s\n", name, value); }

static reply make_reply(srv_request *r)
{
    static const char cut[] = "{\"error\":\"the answer is too long, or there is no memory for it\","
                              "\"error_type\":\"Overloaded\"}";
    srv_text_clear(&headers);
    srv_puts(&headers, "");
    if (*r->header) add_header(&headers, r->header, r->header_value);
    if (r->stream) join_stream(r);
    else if (r->inference) srv_each_time(r, add_header, &headers);
    if (r->out.failed || headers.failed)
        return (reply){.status = 503, .type = "application/json", .headers = "", .text = cut, .size = sizeof cut - 1};
    return (reply){.status = r->status,
                   .type = r->type ? r->type : "",
                   .headers = headers.at ? headers.at : "",
                   .text = r->out.at ? r->out.at : "",
                   .size = r->out.n};
}

/* Takes the body, which roformer_space has given; NULL: there is none. NULL: there is no memory. */
EXPORT(roformer_call) const reply *roformer_call(const char *method, const char *path, char *body, size_t size)
{
    static reply out;
    forget_answer();
    answered = start() ? NULL : srv_request_new(&server, path);
    if (!answered) {
        free(body);
        return NULL;
    }
    srv_request *r = answered;
    r->body = body;
    r->size = r->capacity = size;
    snprintf(r->method, sizeof r->method, "%s", method);
    snprintf(r->id, sizeof r->id, "%llx", (unsigned long long)atomic_fetch_add(&server.serial, 1));
    if (srv_find_route(r)) compute(r);
    out = make_reply(r);
    return &out;
}
