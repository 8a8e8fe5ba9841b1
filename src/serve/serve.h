/* serve.h — the HTTP server: options, start, reload and end.
 *
 *     srv_open(&options, &server, &why);            the socket is open; models are loaded in the background
 *     while (!stop && !srv_failed(server, &why)) ...
 *     srv_close(server);                            answers what was accepted, at most for drain_timeout
 *
 *     server.c             opens and closes all of it
 *     models.c             the models, reloading
 *     shared_call.c        requests that a model computes together
 *     pieces.c             requests with many inputs, a job after the other
 *     fields.c             members of a JSON body: types and ranges from one table for each route
 *     http/http.c          connections, headers, bodies and answers, with libmicrohttpd
 *     http/connections.c   deadlines, clients that left
 *     http/origin.c        requests of web pages of other sites
 *     http/request.c       a request: its members, its answer, its errors
 *     http/workers.c       threads that read bodies and write answers
 *     api/api.def          every route; api/routes.c has their bodies
 *     api/answers.def      the types of their answers, for openapi.json
 *     api/api_*.c          the answers of the routes
 *     abilities.c          the abilities of a model
 *     page/                the page for people, which the program contains; api/api_page.c
 *
 * Nothing here prints or exits. Lines of the access log go to a function of the caller. */
#ifndef SRV_SERVE_H
#define SRV_SERVE_H

#include <stdbool.h>

#include "roformer/engine.h"

typedef struct srv_server srv_server;

typedef struct srv_limits {
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) int64_t member;
#include "serve/limits.def"
} srv_limits;
void srv_limits_defaults(srv_limits *l);

typedef struct srv_model_option {
    const char *name; /* under which requests ask for it                                                    */
    const char *folder;
    rf_type type;
} srv_model_option;

typedef struct srv_alias {
    const char *name, *model;
} srv_alias;

typedef struct srv_options {
    const rf_ctx *ctx; /* shared by all models                                                               */
    const srv_model_option *model; /* [models]; the first one answers requests that name none                    */
    int models;
    const srv_alias *alias; /* [aliases]                                                                          */
    int aliases;
    bool any_model; /* any other name is answered by the first model                                      */
    const char *languages;   /* "en:de", for all translation models; NULL: as their folders say                    */
    const char *index;       /* folder of an index of the first model's vectors, or NULL                           */
    const char *host;        /* address to listen on                                                               */
    int port;                /* 0: any free one (srv_port)                                                         */
    const char *unix_path;   /* path of a Unix socket instead of host and port, or NULL                            */
    int inherited;           /* a listening socket that the caller has already opened, or -1                       */
    const char *key_file;    /* one API key in each line, or NULL                                                  */
    const char *key;         /* one more, or NULL; without any, none is needed                                     */
    const char *cors_origin; /* of Access-Control-Allow-Origin, or NULL                                            */
    const char *const *allowed_host; /* [allowed_hosts] names in the header Host besides this machine's; *: all    */
    int allowed_hosts;
    bool auto_truncate;      /* default of a request's "truncate"                                                  */
    srv_limits limits;
    int log_json; /* 1: lines of JSON; 0: the common log format                                         */
    /* Called with each line of the access log, with its line feed, by any thread, one at a time. NULL: no log. */
    void (*log)(void *user, const char *line, size_t size);
    /* Called with a message about the server itself: a model is loaded, a reload failed. */
    void (*note)(void *user, const char *sentence);
    void *user;
} srv_options;

/* Opens the socket and starts loading the models. The strings must outlive the server.
 *
 *   RF_EARG   names are not unique; an alias of no model; an unusable key file
 *   RF_EIO    the socket cannot be opened (the message names the port), or a thread not be started */
rf_status srv_open(const srv_options *options, srv_server **out, rf_error *why);
int srv_port(const srv_server *s); /* 0: a Unix socket */

/* Reads the API keys and loads all models again. Each old model answers until its successor has been opened and has
 * computed a vector. */
void srv_reload(srv_server *s);

/* 1: all models are loaded. -1: one of them cannot be loaded, and the server cannot answer; `why` has the reason. */
int srv_ready(const srv_server *s, rf_error *why);

/* Stops accepting requests and waits until all accepted requests are answered, or until `hurry` (may be NULL) returns
 * true. Returns the number of requests that were not answered. */
int64_t srv_drain(srv_server *s, bool (*hurry)(void *user));
void srv_close(srv_server *s); /* NULL is allowed */

#endif
