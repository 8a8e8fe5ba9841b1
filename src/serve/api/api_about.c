/* api_about.c — routes about the server: health, models, limits, metrics, documentation. */
#include <stdlib.h>

#include "roformer/context.h"
#include "serve/api/answers.h"

/* ---- health ------------------------------------------------------------------------------------------------------ */

/* Whether an engine with jobs has ended no forward pass for longer than the watchdog allows. */
static bool is_stuck(srv_server *s)
{
    bool stuck = false;
    for (int i = 0; i < s->o.models && !stuck; i++) {
        srv_model *m = srv_model_acquire(s, i);
        if (!m) continue;
        rf_engine_state state = {.running = 0};
        rf_engine_get_state(m->engine, &state);
        stuck = state.running && state.stalled_seconds > (double)s->o.limits.watchdog;
        srv_model_release(m);
    }
    return stuck;
}

static void unhealthy(srv_request *r, const char *text) { srv_error(r, 503, "Unhealthy", "%s", text); }

void srv_api_health(srv_request *r)
{
    const int ready = srv_ready(r->s, NULL);
    if (atomic_load(&r->s->draining)) unhealthy(r, "the server is shutting down");
    else if (ready < 0) unhealthy(r, "a model cannot be loaded");
    else if (!ready) unhealthy(r, "the model is being loaded");
    else if (is_stuck(r->s)) unhealthy(r, "a model has computed nothing for longer than --watchdog");
    else srv_answer(r, 200, NULL);
}

/* Answers as long as the process runs, regardless of the models: for a liveness probe. */
void srv_api_ping(srv_request *r) { srv_answer(r, 200, NULL); }

/* ---- models ------------------------------------------------------------------------------------------------------ */

static void put_pooling(srv_text *t, const srv_model *m)
{
    static const char *const names[] = {[RF_POOL_CLS] = "cls", [RF_POOL_MEAN] = "mean", [RF_POOL_MAX] = "max",
                                        [RF_POOL_LAST] = "last_token"};
    const size_t how = (size_t)m->embed.pooling;
    srv_printf(t, "{\"embedding\":{\"pooling\":\"%s\"}}", how < RF_COUNT(names) && names[how] ? names[how] : "other");
}

static void put_labels(srv_text *t, const rf_labels *l, const char *kind)
{
    srv_printf(t, "{\"%s\":{\"id2label\":{", kind);
    for (int64_t i = 0; l && i < l->n; i++) {
        srv_printf(t, "%s\"%lld\":", i ? "," : "", (long long)i);
        srv_put_string(t, l->name[i], strlen(l->name[i]));
    }
    srv_puts(t, "},\"label2id\":{");
    for (int64_t i = 0; l && i < l->n; i++) {
        if (i) srv_puts(t, ",");
        srv_put_string(t, l->name[i], strlen(l->name[i]));
        srv_printf(t, ":%lld", (long long)i);
    }
    srv_puts(t, "}}}");
}

static void put_type(srv_text *t, const srv_model *m)
{
    const rf_labels *l = rf_engine_labels(m->engine);
    if (!m->no_vectors.code) put_pooling(t, m);
    else if (l) put_labels(t, l, srv_reranks(m) ? "reranker" : "classifier"); /* TEI's names */
    else {
        srv_puts(t, "{\"other\":");
        srv_put_string(t, srv_model_kind(m), strlen(srv_model_kind(m)));
        srv_puts(t, "}");
    }
}

static void put_member(srv_text *t, const char *name, const char *text)
{
    srv_printf(t, "\"%s\":", name);
    srv_put_string(t, text, strlen(text));
    srv_puts(t, ",");
}

static void put_limits(srv_text *t, const srv_limits *l)
{
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) \
    srv_printf(t, "\"%s\":%lld,", #member, (long long)l->member);
#include "serve/limits.def"
}

void srv_api_info(srv_request *r)
{
    const srv_options *o = &r->s->o;
    srv_text *t = &r->out;
    if (!srv_need_model(r, NULL)) return;
    const srv_model *m = r->model;
    srv_puts(t, "{");
    put_member(t, "model_id", o->model[m->slot].name);
    srv_puts(t, "\"model_sha\":null,");
    put_member(t, "model_dtype", srv_dtype(o->model[m->slot].type));
    put_member(t, "served_model_name", o->model[m->slot].name);
    srv_puts(t, "\"model_type\":");
    put_type(t, m);
    srv_puts(t, ",");
    put_member(t, "model_kind", srv_model_kind(m));
    srv_printf(t, "\"hidden_size\":%lld,\"max_input_length\":%lld,\"max_batch_requests\":null,",
               (long long)m->config->hidden_size, (long long)m->max_length);
    put_limits(t, &o->limits);
    srv_printf(t, "\"auto_truncate\":%s,\"tokenization_workers\":%d,", o->auto_truncate ? "true" : "false",
               r->s->workers.threads);
    put_member(t, "isa", rf_ctx_isa(o->ctx));
    srv_printf(t, "\"threads\":%d,\"version\":\"%s\",\"sha\":null,\"docker_label\":null}", rf_ctx_threads(o->ctx),
               ROFORMER_VERSION);
    srv_answer_json(r);
}

/* The properties of a model that the page needs. */
static void put_abilities(srv_text *t, const srv_model *m)
{
    const char *mask = rf_tokenizer_token(m->tokenizer, rf_tokenizer_mask(m->tokenizer));
    bool comma = false;
    put_member(t, "kind", srv_model_kind(m));
    srv_puts(t, "\"can\":[");
    for (int i = 0; i < SRV_ABILITIES; i++)
        if (srv_model_can(m, i)) {
            srv_printf(t, "%s\"%s\"", comma ? "," : "", srv_ability_name(i));
            comma = true;
        }
    srv_puts(t, "],");
    if (mask) put_member(t, "mask_token", mask);
    if (m->index) srv_printf(t, "\"index_texts\":%lld,", (long long)rf_index_count(m->index));
    if (*m->source_language) put_member(t, "source_language", m->source_language);
    if (*m->target_language) put_member(t, "target_language", m->target_language);
    srv_printf(t, "\"layers\":%lld,\"heads\":%lld,\"max_input_length\":%lld,", (long long)m->config->num_hidden_layers,
               (long long)m->config->num_attention_heads, (long long)m->max_length);
}

static void put_model(srv_text *t, srv_server *s, const char *name, int slot, bool alias)
{
    srv_model *m = alias ? NULL : srv_model_acquire(s, slot);
    srv_puts(t, "{");
    if (m) put_abilities(t, m);
    if (m) srv_model_release(m);
    srv_puts(t, "\"id\":");
    srv_put_string(t, name, strlen(name));
    pthread_rwlock_rdlock(&s->slots);
    const long long created = (long long)s->slot[slot].created;
    pthread_rwlock_unlock(&s->slots);
    srv_printf(t, ",\"object\":\"model\",\"created\":%lld,\"owned_by\":\"roformer\"}", created);
}

void srv_api_models(srv_request *r)
{
    const srv_options *o = &r->s->o;
    srv_puts(&r->out, "{\"object\":\"list\",\"data\":[");
    for (int i = 0; i < o->models; i++) {
        if (i) srv_puts(&r->out, ",");
        put_model(&r->out, r->s, o->model[i].name, i, false);
    }
    for (int i = 0; i < o->aliases; i++) {
        srv_puts(&r->out, ",");
        put_model(&r->out, r->s, o->alias[i].name, srv_model_slot(r->s, o->alias[i].name), true);
    }
    srv_puts(&r->out, "]}");
    srv_answer_json(r);
}

void srv_api_model(srv_request *r)
{
    char name[256];
    const char *given = r->path + strcspn(r->route->path, "{");
    const size_t size = srv_unescape(given, strcspn(given, "?"), name, sizeof name);
    const int slot = size && strlen(name) == size ? srv_model_slot(r->s, name) : -1;
    if (slot < 0) {
        srv_no_model(r, size && strlen(name) == size ? name : "");
        return;
    }
    put_model(&r->out, r->s, name, slot, strcmp(name, r->s->o.model[slot].name) != 0);
    srv_answer_json(r);
}

/* ---- documentation ----------------------------------------------------------------------------------------------- */

void srv_api_metrics(srv_request *r)
{
    srv_metrics_write(r->s, &r->out);
    srv_answer(r, 200, "text/plain; version=0.0.4; charset=utf-8");
}

void srv_api_openapi(srv_request *r)
{
    srv_put_openapi(r->s, &r->out);
    srv_answer_json(r);
}

static void put_fields(srv_text *t, const srv_field *f)
{
    for (; f && f->kind != SRV_END; f++)
        if (f->kind != SRV_IGNORED)
            srv_printf(t, "<li><code>%s</code>%s: %s</li>", f->name, f->required ? " (required)" : "",
                       f->what ? f->what : "");
}

/* A request to try; without its script, nothing happens. */
static void put_try(srv_text *t, const srv_route *x)
{
    const srv_answer_row *row = srv_answer_of(x);
    if (!row || (x->field && !row->example)) return;
    srv_printf(t, "<div class=\"try\" data-method=\"%s\" data-path=\"%s\">", x->method, x->path);
    if (strchr(x->path, '{')) srv_printf(t, "<input aria-label=\"path\" value=\"%s\">", x->path);
    if (x->field)
        srv_printf(t, "<textarea aria-label=\"body\" rows=\"2\" spellcheck=\"false\">%s</textarea>", row->example);
    srv_puts(t, "<button type=\"button\">Send</button> <output></output></div>");
}

void srv_api_docs(srv_request *r)
{
    srv_text *t = &r->out;
    srv_puts(t, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>roformer serve</title>"
                "<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"ui/page.css\">"
                "<link rel=\"icon\" href=\"ui/icon.svg\" type=\"image/svg+xml\">"
                "<script type=\"module\" src=\"ui/docs.js\"></script>"
                "<main class=\"docs\"><h1>Routes of roformer serve</h1><p>The same as JSON: "
                "<a href=\"openapi.json\">openapi.json</a>. For people: <a href=\"ui\">the page</a>.</p>");
    for (const srv_route *x = srv_routes; x->path; x++) {
        srv_printf(t, "<h2><code>%s %s</code></h2><p>%s</p>", x->method, x->path, x->what);
        if (x->field) {
            srv_puts(t, "<ul>");
            put_fields(t, x->field);
            srv_puts(t, "</ul>");
        }
        put_try(t, x);
    }
    srv_puts(t, "</main></html>\n");
    srv_answer(r, 200, "text/html; charset=utf-8");
}
