/* server.c — opens, drains and closes the server. */
#include "serve/serve.h"

#include <stdlib.h>
#include <time.h>

#include "base/os/os.h"
#include "serve/server.h"

void srv_limits_defaults(srv_limits *l)
{
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) l->member = initial;
#include "serve/limits.def"
}

static rf_status check(const srv_options *o, rf_error *why)
{
    for (int i = 0; i < o->models; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(o->model[i].name, o->model[j].name))
                return rf_fail(why, RF_EARG,
                               "--model %s: expected names that are unique, got this one twice; use "
                               "--model NAME=DIR",
                               o->model[i].name);
    for (int i = 0; i < o->aliases; i++) {
        bool found = false;
        for (int j = 0; j < o->models; j++) found |= !strcmp(o->alias[i].model, o->model[j].name);
        if (!found)
            return rf_fail(why, RF_EARG,
                           "--model-alias %s=%s: expected the name of a model that is served (-m), got another",
                           o->alias[i].name, o->alias[i].model);
    }
    return RF_OK;
}

void srv_init(srv_server *s, const srv_options *o)
{
    s->o = *o;
    s->listener = -1;
    s->loop.wake = -1;
    s->begun = rf__wall_seconds();
    pthread_mutex_init(&s->workers.lock, NULL);
    pthread_cond_init(&s->workers.more, NULL);
    pthread_mutex_init(&s->connections.lock, NULL);
    pthread_rwlock_init(&s->slots, NULL);
    pthread_mutex_init(&s->load_lock, NULL);
    pthread_cond_init(&s->load_more, NULL);
    pthread_mutex_init(&s->log_lock, NULL);
    pthread_mutex_init(&s->key_lock, NULL);
    srv_metrics_init(&s->metrics);
}

rf_status srv_open(const srv_options *options, srv_server **out, rf_error *why)
{
    const int threads = rf_ctx_threads(options->ctx);
    rf_status status = check(options, why);
    srv_server *s = status ? NULL : calloc(1, sizeof *s);
    if (status) return status;
    if (!s) return rf_fail(why, RF_ENOMEM, "out of memory: a server");
    srv_init(s, options);
    status = srv_keys_read(s, why);
    s->needs_key = s->keys > 0; /* they may be read again, but there are always some then */
    if (!status) status = srv_http_listen(s, why);
    if (!status) status = srv_workers_start(s, threads < 2 ? 2 : threads, why);
    if (!status) status = srv_models_start(s, why);
    if (!status) status = srv_connections_start(s, why);
    if (!status) status = srv_http_start(s, why);
    if (status) srv_close(s);
    else *out = s;
    return status;
}

int srv_port(const srv_server *s) { return s->port; }

/* Refuses --languages if no model translates; it would be ignored without a message. Called when all models are
 * loaded. */
static int check_languages(const srv_server *s, rf_error *why)
{
    for (int i = 0; i < s->o.models; i++)
        if (s->slot[i].model->config->is_encoder_decoder) return 1;
    rf_fail(why, RF_EARG, "--languages %.40s: expected a translation model, got none", s->o.languages);
    return -1;
}

int srv_ready(const srv_server *given, rf_error *why)
{
    srv_server *s = (srv_server *)(uintptr_t)given; /* the lock is not constant */
    int ready = 1;
    pthread_rwlock_rdlock(&s->slots);
    for (int i = 0; i < s->o.models; i++) {
        const srv_slot *slot = &s->slot[i];
        if (slot->model) continue;
        if (slot->failure.code) {
            if (why) *why = slot->failure;
            ready = -1;
            break;
        }
        ready = 0;
    }
    if (ready > 0 && s->o.languages) ready = check_languages(s, why);
    pthread_rwlock_unlock(&s->slots);
    return ready;
}

int64_t srv_drain(srv_server *s, bool (*hurry)(void *user))
{
    const double end = rf__seconds() + (double)s->o.limits.drain_timeout;
    atomic_store(&s->draining, true);
    if (s->daemon) srv_http_quiesce(s);
    while (atomic_load(&s->active) && rf__seconds() < end && !(hurry && hurry(s->o.user))) rf__os_sleep(0.005);
    return atomic_load(&s->active);
}

/* Cancels the remaining jobs until their requests are answered, so that no connection stays suspended. */
static void end_requests(srv_server *s)
{
    while (atomic_load(&s->active)) {
        pthread_mutex_lock(&s->connections.lock);
        for (srv_connection *c = s->connections.first; c; c = c->next) {
            c->deadline = 0; /* the watcher closes it */
            if (!c->request) continue;
            atomic_store(&c->request->gone, true);
            srv_request_cancel(c->request, true);
        }
        pthread_mutex_unlock(&s->connections.lock);
        rf__os_sleep(0.001);
    }
}

void srv_close(srv_server *s)
{
    if (!s) return;
    atomic_store(&s->draining, true);
    if (s->daemon) srv_http_quiesce(s);
    end_requests(s);
    srv_http_stop(s);
    srv_connections_stop(s);
    if (s->slot) srv_models_stop(s);
    srv_workers_stop(s);
    pthread_mutex_destroy(&s->workers.lock);
    pthread_cond_destroy(&s->workers.more);
    pthread_mutex_destroy(&s->connections.lock);
    pthread_rwlock_destroy(&s->slots);
    pthread_mutex_destroy(&s->load_lock);
    pthread_cond_destroy(&s->load_more);
    pthread_mutex_destroy(&s->log_lock);
    pthread_mutex_destroy(&s->key_lock);
    srv_metrics_free(&s->metrics);
    free(s->key);
    free(s);
}
