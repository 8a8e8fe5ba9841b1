/* models.c — loads models in the background, reloads them without losing a request, and finds them by name.
 *
 * A request uses the model of its slot until it ends. A reload puts another model into the slot; the last request that
 * uses the old one closes it. */
#include <stdlib.h>
#include <time.h>

#include "base/files/json_file.h"
#include "pipeline/engine/engine.h"
#include "roformer/inspect/files.h"
#include "serve/fields.h"
#include "serve/server.h"
#include "serve/shared_call.h"
#include "task/answerer.h"
#include "text/languages.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void close_model(srv_model *m)
{
    rf_index_close(m->index);
    srv_shared_free(m->shared);
    rf_pipeline_close(m->pipeline);
    rf_engine_close(m->engine);
    rf_sentence_free(&m->prompts);
    free(m->task);
    pthread_mutex_destroy(&m->index_lock);
    free(m);
}

void srv_model_release(srv_model *m)
{
    if (atomic_fetch_sub(&m->users, 1) == 1) close_model(m);
}

/* The reason why the model computes no vectors of texts. */
static rf_status can_embed(const srv_model *m, rf_error *why)
{
    const rf_head head = srv_model_head(m);
    if (head == RF_HEAD_MLM || head == RF_HEAD_EMBED || head == RF_HEAD_SEQ2SEQ) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "the model is %s, which gives no embeddings", srv_model_kind(m));
}

static void read_settings(srv_model *m, const char *folder)
{
    const rf_config *c = m->config;
    const rf_sentence *s = NULL;
    if (!can_embed(m, &m->no_vectors)) rf_embed_defaults_of(m->pipeline, &m->embed, &m->no_vectors);
    const rf_answerer *a = rf_pipeline_answerer(m->pipeline);
    (void)rf__sentence_prompts(m->s->o.ctx, folder, &m->prompts, &m->no_prompts);
    if (srv_fills_masks(m))
        (void)rf__sparse_read(m->s->o.ctx, folder, c->max_position_embeddings, &m->sparse, &m->no_sparse);
    m->max_length = a && a->max_length > 0 ? a->max_length
                    : !m->no_vectors.code && m->embed.max_length > 0 ? m->embed.max_length
                    : m->sparse.max_length                           ? m->sparse.max_length
                    : c->task_max_length > 0                       ? c->task_max_length
                                                                   : c->max_position_embeddings;
    if (!m->no_vectors.code && !rf_pipeline_sentence(m->pipeline, &s, NULL) && s && s->max_length > m->max_length)
        srv_note(m->s, "max_seq_length is %lld, but the model has %lld positions: texts are cut to %lld tokens",
                 (long long)s->max_length, (long long)m->max_length, (long long)m->max_length);
}

/* Letters and digits, - and _ of a code such as "en" or "zh-Hans". */
static void set_language(char out[16], const char *code)
{
    const size_t n = code ? strlen(code) : 0;
    if (!n || n > 15 || strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != n) return;
    memcpy(out, code, n + 1);
}

/* Languages from --languages, or from Marian's tokenizer_config.json. */
static void read_languages(srv_model *m, const char *folder)
{
    char path[4096], source[16] = "", target[16] = "";
    json_t *config;
    if (!m->config->is_encoder_decoder) return;
    if (m->s->o.languages && sscanf(m->s->o.languages, "%15[^:]:%15s", source, target) == 2) {
        set_language(m->source_language, source);
        set_language(m->target_language, target);
        return;
    }
    if (rf__path(path, sizeof path, folder, RF_FILE_TOKENIZER_CONFIG, NULL) || !rf__is_there(m->s->o.ctx, path) ||
        rf__json_shared(m->s->o.ctx, path, 1 << 24, 0, &config, NULL))
        return;
    set_language(m->source_language, json_string_value(json_object_get(config, "source_lang")));
    set_language(m->target_language, json_string_value(json_object_get(config, "target_lang")));
    json_decref(config);
}

/* The languages of translation_SOURCE_to_TARGET. */
static bool names_task(const char *name, srv_translation *task)
{
    const char begin[] = "translation_", between[] = "_to_", *to = strstr(name, between);
    char source[16];
    const size_t from = sizeof begin - 1, n = to && to > name + from ? (size_t)(to - name) - from : sizeof source;
    if (strncmp(name, begin, from) != 0 || n >= sizeof source) return false;
    snprintf(source, sizeof source, "%.*s", (int)n, name + from);
    set_language(task->source, source);
    set_language(task->target, to + sizeof between - 1);
    return *task->source && *task->target;
}

/* The translations among the tasks of config.json; those with settings that are not supported are noted. */
static void read_tasks(srv_model *m, const char *folder)
{
    char path[4096];
    const char *name;
    char code[RF_LANGUAGE_CODE];
    json_t *config, *unused;
    if (!srv_translates(m) || rf__language_at(m->tokenizer, 0, code) ||
        rf__path(path, sizeof path, folder, RF_FILE_CONFIG, NULL) ||
        rf__json_shared(m->s->o.ctx, path, 1 << 24, 0, &config, NULL))
        return;
    json_t *all = json_object_get(config, "task_specific_params");
    m->task = calloc(json_object_size(all) + 1, sizeof *m->task);
    json_object_foreach(all, name, unused) {
        const rf_model *model = rf_engine_model(m->engine);
        srv_translation task = {.source = ""};
        rf_error why = {0};
        if (!m->task || !names_task(name, &task)) continue;
        rf_translate_defaults(model, &task.generate);
        if (rf_translate_task(model, name, &task.generate, task.prefix, sizeof task.prefix, &why))
            srv_note(m->s, "%s", why.text);
        else m->task[m->tasks++] = task;
    }
    json_decref(config);
}

static int ignore_translation(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    rf_error *first = user;
    (void)text, (void)t;
    if (why) *first = *why;
    return 0;
}

/* A token of a text or a translation: the matrix of the vocabulary is packed when logits are first requested. */
static rf_status first_token(void *user, rf_pipeline *p, rf_error *why)
{
    const srv_model *m = user;
    const char *const text[] = {"a"};
    rf_generate_options g;
    rf_translate_options o;
    const rf_generation *out;
    rf_error own = {0};
    if (m->config->is_encoder_decoder) {
        rf_translate_defaults(rf_engine_model(m->engine), &g);
        rf_translate_text_defaults(&o);
        o.generate = &g;
        g.max_new_tokens = 1;
        rf_error whole = {0};
        if (rf_translate_texts(p, text, NULL, 1, &o, ignore_translation, &own, &whole)) own = whole;
    } else {
        rf_generate_defaults(&g);
        g.max_new_tokens = 1;
        rf_generate(p, *text, RF_STRING, &g, NULL, NULL, &out, &own);
    }
    /* A request receives any other error as its answer. */
    if (own.code == RF_ENUMERIC || own.code == RF_ENOMEM) return rf_fail(why, own.code, "%s", own.text);
    return RF_OK;
}

/* Computes first results before the model answers requests, to run its kernels and to check that its numbers are
 * finite. */
static rf_status try_model(srv_model *m, rf_error *why)
{
    const char *text[] = {"a"};
    rf_engine_job *job = NULL;
    rf_status status = RF_OK;
    if (srv_generates(m) || m->config->is_encoder_decoder)
        status = rf_engine_call(m->engine, first_token, m, NULL, &job, why);
    else if (!m->no_vectors.code) status = rf_engine_embed(m->engine, text, NULL, 1, NULL, NULL, &job, why);
    if (!status && job) status = rf_engine_wait(job, -1, why);
    rf_engine_job_free(job);
    return status;
}

static rf_status open_index(srv_model *m, const char *folder, rf_error *why)
{
    uint64_t own;
    rf_status status = rf_index_open(m->s->o.ctx, folder, &m->index, why);
    if (!status && m->no_vectors.code) status = rf_fail(why, m->no_vectors.code, "%s", m->no_vectors.text);
    if (!status) status = rf_pipeline_fingerprint(m->pipeline, &own, why);
    if (status) return status;
    if (own != rf_index_made_with(m->index)->fingerprint)
        return rf_fail(why, RF_EDATA,
                       "%s: expected an index of the first model's vectors (%016llx), got one of %016llx; "
                       "index the lines anew",
                       folder, (unsigned long long)own, (unsigned long long)rf_index_made_with(m->index)->fingerprint);
    rf_index_query_options(m->index, m->pipeline, &m->query);
    return rf_embed_resolve(m->pipeline, &m->query, &m->query, why);
}

static void note_batch(void *user, int64_t texts, int64_t tokens) { srv_metrics_batch(user, texts, tokens); }

static rf_status open_model(srv_server *s, int slot, srv_model **out, rf_error *why)
{
    const srv_model_option *option = &s->o.model[slot];
    rf_engine_options o;
    srv_model *m = calloc(1, sizeof *m);
    if (!m) return rf_fail(why, RF_ENOMEM, "out of memory: a model");
    atomic_init(&m->users, 1);
    pthread_mutex_init(&m->index_lock, NULL);
    m->s = s;
    m->slot = slot;
    rf_engine_defaults(&o);
    o.type = option->type;
    o.max_batch_tokens = s->o.limits.max_batch_tokens;
    o.max_wait = (double)s->o.limits.max_wait;
    o.max_queue_tokens = s->o.limits.max_queue_tokens;
    rf_held_folder *held = NULL;
    rf_status status = rf_folder_hold(s->o.ctx, option->folder, &held, why);
    if (!status) status = rf_engine_open(s->o.ctx, option->folder, &o, &m->engine, why);
    if (!status) status = rf_pipeline_on(rf_engine_model(m->engine), &m->pipeline, why);
    if (!status && !(m->shared = srv_shared_new())) status = rf_fail(why, RF_ENOMEM, "out of memory: a model");
    if (!status) {
        m->config = rf_model_config(rf_engine_model(m->engine));
        m->tokenizer = rf_model_tokenizer(rf_engine_model(m->engine));
        read_settings(m, option->folder);
        read_languages(m, option->folder);
        read_tasks(m, option->folder);
    }
    status = rf_folder_release(&held, status, why);
    if (!status) status = try_model(m, why);
    if (!status && !slot && s->o.index) status = open_index(m, s->o.index, why);
    if (!status) rf__engine_on_batch(m->engine, note_batch, s);
    if (status) close_model(m);
    else *out = m;
    return status;
}

/* ---- the loader -------------------------------------------------------------------------------------------------- */

static bool residues_apart(const srv_model *m)
{
    rf_residues how;
    return !rf_tokenizer_residues(m->tokenizer, &how, NULL) && how == RF_RESIDUES_APART;
}

void srv_model_load(srv_server *s, int i)
{
    rf_error why = {0};
    srv_model *m = NULL;
    const double begin = rf__seconds();
    const rf_status status = open_model(s, i, &m, &why);
    const srv_model_option *option = &s->o.model[i];
    pthread_rwlock_wrlock(&s->slots);
    srv_slot *slot = &s->slot[i];
    srv_model *old = slot->model;
    slot->failure = (rf_error){0};
    if (status) rf_fail(&slot->failure, status, "model %s: %.400s", option->name, why.text);
    if (!status) {
        slot->model = m;
        slot->created = time(NULL);
    }
    pthread_rwlock_unlock(&s->slots);
    if (!status) srv_note(s, "model %s: %s loaded in %.2f s", option->name, option->folder, rf__seconds() - begin);
    if (!status && residues_apart(m))
        srv_note(s, "model %s: the vocabulary has single letters: put a blank between two of them (M K T V)",
                 option->name);
    if (status && old) srv_note(s, "model %s: %s; the model loaded before answers", option->name, why.text);
    if (!status && old) srv_model_release(old);
}

static void *load_models(void *user)
{
    srv_server *s = user;
    for (;;) {
        pthread_mutex_lock(&s->load_lock);
        while (!s->reload && !atomic_load(&s->closing)) pthread_cond_wait(&s->load_more, &s->load_lock);
        s->reload = false;
        pthread_mutex_unlock(&s->load_lock);
        for (int i = 0; i < s->o.models && !atomic_load(&s->closing); i++) srv_model_load(s, i);
        if (atomic_load(&s->closing)) return NULL;
    }
}

static void wake_loader(srv_server *s)
{
    pthread_mutex_lock(&s->load_lock);
    s->reload = true;
    pthread_cond_signal(&s->load_more);
    pthread_mutex_unlock(&s->load_lock);
}

void srv_reload(srv_server *s)
{
    rf_error why = {0};
    if (srv_keys_read(s, &why)) srv_note(s, "%s; the API keys read before are used", why.text);
    wake_loader(s);
}

rf_status srv_models_start(srv_server *s, rf_error *why)
{
    s->slot = calloc((size_t)s->o.models, sizeof *s->slot);
    if (!s->slot) return rf_fail(why, RF_ENOMEM, "out of memory: %d models", s->o.models);
    s->reload = true;
    const rf_status status = srv_thread(&s->loader, load_models, s, why);
    s->loading = !status;
    return status;
}

void srv_models_stop(srv_server *s)
{
    atomic_store(&s->closing, true);
    wake_loader(s);
    if (s->loading) pthread_join(s->loader, NULL);
    for (int i = 0; s->slot && i < s->o.models; i++)
        if (s->slot[i].model) srv_model_release(s->slot[i].model);
    free(s->slot);
    s->slot = NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

int srv_model_slot(const srv_server *s, const char *name)
{
    if (!name || !*name) return s->o.models ? 0 : -1;
    for (int i = 0; i < s->o.aliases; i++)
        if (!strcmp(s->o.alias[i].name, name)) name = s->o.alias[i].model;
    for (int i = 0; i < s->o.models; i++)
        if (!strcmp(s->o.model[i].name, name)) return i;
    return s->o.any_model ? 0 : -1;
}

srv_model *srv_model_acquire(srv_server *s, int slot)
{
    pthread_rwlock_rdlock(&s->slots);
    srv_model *m = s->slot[slot].model;
    if (m) atomic_fetch_add(&m->users, 1);
    pthread_rwlock_unlock(&s->slots);
    return m;
}

void srv_no_model(srv_request *r, const char *name)
{
    const srv_options *o = &r->s->o;
    srv_text names = {0};
    if (!o->models) {                   /* only in the module for JavaScript */
        srv_error(r, 404, "NotFound", "no model is open");
        return;
    }
    for (int i = 0; i < o->models; i++) srv_printf(&names, "%s%.60s", i ? ", " : "", o->model[i].name);
    for (int i = 0; i < o->aliases; i++) srv_printf(&names, ", %.60s", o->alias[i].name);
    srv_error(r, 404, "NotFound",
              "model '%.60s': expected one of %.200s; start the server with --model-alias '%.60s', or with --any-model",
              name, names.at ? names.at : "the models", name);
    srv_text_clear(&names);
}

bool srv_need_model(srv_request *r, const char *name)
{
    if (r->model) return true;
    if (!name) name = srv_string(r->in, "model");
    const int slot = srv_model_slot(r->s, name);
    if (slot < 0) {
        srv_no_model(r, name);
        return false;
    }
    r->model = srv_model_acquire(r->s, slot);
    if (!r->model) srv_error(r, 503, "Unhealthy", "the model is being loaded");
    return r->model;
}

const char *srv_model_kind(const srv_model *m)
{
#define RFH(name, pipeline, card, kind, use) [RF_HEAD_##name] = kind,
    static const char *const kinds[] = {
#include "store/config/heads.def"
    };
#undef RFH
    const rf_head head = rf_model_task(rf_engine_model(m->engine));
    if (head != srv_model_head(m)) return "an encoder without a head";
    return srv_generates(m) ? "a causal language model" : kinds[head];
}

const char *srv_model_that(srv_server *s, bool (*can)(const srv_model *m))
{
    for (int i = 0; can && i < s->o.models; i++) {
        srv_model *m = srv_model_acquire(s, i);
        const bool found = m && can(m);
        if (m) srv_model_release(m);
        if (found) return s->o.model[i].name;
    }
    return NULL;
}

static void refuse_model(srv_request *r, const char *sentence, bool (*can)(const srv_model *m))
{
    rf_error why = {0};
    const char *name = srv_model_that(r->s, can);
    rf_fail(&why, RF_EUNSUPPORTED, "%.300s%s%.100s%s", sentence, name ? "; set `model` to '" : "", name ? name : "",
            name ? "', which can" : "");
    srv_fail(r, &why);
}

void srv_wrong_model(srv_request *r, const char *what, bool (*can)(const srv_model *m))
{
    char sentence[256];
    snprintf(sentence, sizeof sentence, "the model is %s, which %s", srv_model_kind(r->model), what);
    refuse_model(r, sentence, can);
}

bool srv_need_vectors(srv_request *r)
{
    if (r->model->no_vectors.code) refuse_model(r, r->model->no_vectors.text, srv_compares);
    return !r->model->no_vectors.code;
}

const char *srv_dtype(rf_type type)
{
    return type == RF_I8W ? "int8w" : type == RF_I8 ? "int8" : type == RF_BF16 ? "bfloat16" : "float32";
}
