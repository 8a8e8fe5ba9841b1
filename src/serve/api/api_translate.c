/* api_translate.c — translations: LibreTranslate's routes and the translation pipeline.
 *
 * Requests with the same options are translated in one running batch: the texts of each join it when there is space,
 * and the request is answered when they have been translated (rf_translate_texts_from). Others wait until the batch has
 * ended (srv_call_may_join). */
#include <stdlib.h>

#include "serve/api/api.h"
#include "serve/shared_call.h"
#include "text/languages.h"

typedef struct translating {
    srv_call call; /* first, because a call is cast to this type                                 */
    struct translating *next; /* in the batch                                                               */
    bool pipeline, alignments;
    bool detects; /* the answer names the language of the texts                                 */
    const char *source, *target; /* languages that the request names, for tokenizers that have them, or NULL       */
    const srv_translation *task; /* of the model, for the languages that the request names, or NULL             */
    srv_texts texts;
    int64_t first, given, left; /* number of its first text in the batch; texts given to the model; to come   */
    char **out;                 /* [texts.n]                                                                  */
    size_t *bytes;
    srv_text *pair; /* [texts.n] pairs of aligned words, or NULL                                */
    rf_error why;
} translating;

static void free_translating(void *own)
{
    translating *x = own;
    for (int64_t i = 0; x->out && i < x->texts.n; i++) free(x->out[i]);
    for (int64_t i = 0; x->pair && i < x->texts.n; i++) srv_text_clear(&x->pair[i]);
    free(x->pair);
    free(x->out);
    free(x->bytes);
    srv_texts_clear(&x->texts);
    free(x);
}

/* ---- the batch, in the engine's thread --------------------------------------------------------------------------- */

typedef struct batch {
    translating *first, *all; /* all: those that are being translated                                       */
    translating *now;         /* the request whose texts are added to the batch, or NULL                    */
    int64_t n;                /* texts given                                                                */
    double begun;
} batch;

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool same(const srv_call *a, const srv_call *b)
{
    const translating *x = (const translating *)a, *y = (const translating *)b;
    return x->alignments == y->alignments && x->task == y->task && same_text(x->source, y->source) &&
           same_text(x->target, y->target);
}

/* [[word of the source, word of the translation], ...], words being counted from 0. */
static void put_pairs(srv_text *t, const rf_text_translation *of)
{
    srv_puts(t, "[");
    for (int64_t i = 0; i < of->alignments; i++)
        srv_printf(t, "%s[%lld,%lld]", i ? "," : "", (long long)of->alignment[i].source,
                   (long long)of->alignment[i].target);
    srv_puts(t, "]");
}

static void leave(batch *b, translating *x, const rf_error *why)
{
    translating **at = &b->all;
    while (*at && *at != x) at = &(*at)->next;
    if (*at) *at = x->next;
    if (b->now == x) b->now = NULL;
    srv_call_end(&x->call, why);
}

static bool may_join(const batch *b)
{
    int64_t joined = 0;
    for (const translating *x = b->all; x; x = x->next) joined += !x->call.leads;
    return srv_call_may_join(&b->first->call, joined, b->n, b->begun);
}

static void join(batch *b, translating *x)
{
    x->first = b->n;
    x->left = x->texts.n;
    x->next = b->all;
    b->all = b->now = x;
}

/* If a client has left, texts of its request that have not begun are not translated; those that have begun are
 * translated to their ends. */
static void drop_rest(batch *b)
{
    translating *x = b->now;
    x->why = srv_over(x->call.r);
    x->left -= x->texts.n - x->given;
    b->now = NULL;
    if (!x->left) leave(b, x, &x->why);
}

static int next_text(void *user, int idle, rf_text_prompt *out)
{
    batch *b = user;
    (void)idle;
    if (b->now && srv_is_over(b->now->call.r)) drop_rest(b);
    if (!b->now) {
        if (b->n && !may_join(b)) return 0;
        translating *x = (translating *)srv_call_next(&b->first->call);
        if (!x) return 0;
        join(b, x);
    }
    translating *x = b->now;
    *out = (rf_text_prompt){.text = x->texts.text[x->given], .bytes = x->texts.bytes[x->given]};
    b->n++;
    if (++x->given == x->texts.n) b->now = NULL;
    return 1;
}

static translating *find(const batch *b, int64_t text)
{
    translating *x = b->all;
    while (x && (text < x->first || text >= x->first + x->given)) x = x->next;
    return x;
}

static int done(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    batch *b = user;
    translating *x = find(b, text);
    if (!x || (t && t->of.rank)) return 0;
    const int64_t i = text - x->first;
    if (why && !x->why.code) x->why = *why;
    if (t) {
        x->call.r->tokens += t->source_tokens + t->of.n;
        x->bytes[i] = t->bytes;
        x->out[i] = malloc(t->bytes + 1);
        if (x->out[i]) memcpy(x->out[i], t->text, t->bytes);
        else rf_fail(&x->why, RF_ENOMEM, "out of memory: a translation");
        if (x->pair) put_pairs(&x->pair[i], t);
    }
    if (!--x->left) leave(b, x, x->why.code ? &x->why : NULL);
    return 0;
}

static void compute(srv_call *first, rf_pipeline *p)
{
    translating *x = (translating *)first;
    rf_translate_options o;
    rf_error why = {0};
    /* The first request may end before the batch does; the batch reads its options and its model until then. */
    srv_request *r = x->call.r;
    atomic_fetch_add(&r->users, 1);
    batch b = {.first = x, .begun = rf__seconds()};
    join(&b, x);
    rf_translate_text_defaults(&o);
    o.alignments = x->alignments;
    o.source_lang = x->source;
    o.target_lang = x->target;
    if (x->task) o.generate = &x->task->generate, o.source_prefix = x->task->prefix;
    if (!rf_translate_texts_from(p, next_text, &o, done, &b, &why) && b.all)
        rf_fail(&why, RF_ECANCELED, "canceled: the batch ended");
    while (b.all) leave(&b, b.all, &why);
    srv_request_release(r);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void put_text(srv_text *t, const translating *x, int64_t i)
{
    srv_put_string(t, x->out[i] ? x->out[i] : "", x->bytes[i]);
}

static void put_alignment(srv_text *t, const translating *x, int64_t i)
{
    if (x->pair[i].n) srv_put(t, x->pair[i].at, x->pair[i].n);
    else srv_puts(t, "[]");
    if (x->pair[i].failed) t->failed = true;
}

/* [{"translation_text": ...}, ...] */
static void put_pipeline(srv_text *t, const translating *x)
{
    srv_puts(t, "[");
    for (int64_t i = 0; i < x->texts.n; i++) {
        srv_puts(t, i ? ",{\"translation_text\":" : "{\"translation_text\":");
        put_text(t, x, i);
        if (x->pair) srv_puts(t, ",\"alignments\":");
        if (x->pair) put_alignment(t, x, i);
        srv_puts(t, "}");
    }
    srv_puts(t, "]");
}

/* Writes one result for a single text, or a list of results. */
static void put_each(srv_text *t, const translating *x, void (*put)(srv_text *t, const translating *x, int64_t i))
{
    if (!x->texts.one) srv_puts(t, "[");
    for (int64_t i = 0; i < x->texts.n; i++) {
        if (i) srv_puts(t, ",");
        put(t, x, i);
    }
    if (!x->texts.one) srv_puts(t, "]");
}

/* The one language that the model or the task reads, with the percentage of the text's tokens that are in its
 * vocabulary. */
static bool put_language(srv_request *r, const char *code, const char *text, size_t size)
{
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, r->s->o.ctx);
    const rf_status status = rf_encode(r->model->tokenizer, text, size, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why);
    size_t known = 0;
    for (size_t i = 0; i < e.n && !status; i++) known += e.id[i] != rf_tokenizer_unk(r->model->tokenizer);
    if (status) srv_fail(r, &why);
    else
        srv_printf(&r->out, "{\"confidence\":%.1f,\"language\":\"%s\"}",
                   e.n ? 100.0 * (double)known / (double)e.n : 0, code);
    rf_encoding_clear(&e);
    return !status;
}

/* For the source language "auto". */
static bool put_detected(srv_request *r, const char *code, const srv_texts *texts)
{
    bool good = true;
    srv_puts(&r->out, texts->one ? ",\"detectedLanguage\":" : ",\"detectedLanguage\":[");
    for (int64_t i = 0; i < texts->n && good; i++) {
        if (i) srv_puts(&r->out, ",");
        good = srv_go_on(r) && put_language(r, code, texts->text[i], texts->bytes[i]);
    }
    if (!texts->one) srv_puts(&r->out, "]");
    return good;
}

/* {"translatedText": ...} */
static void put_libre(srv_text *t, const translating *x)
{
    srv_puts(t, "{\"translatedText\":");
    put_each(t, x, put_text);
    if (x->pair) srv_puts(t, ",\"alignments\":");
    if (x->pair) put_each(t, x, put_alignment);
}

static void finish(srv_request *r)
{
    const translating *x = r->own;
    (x->pipeline ? put_pipeline : put_libre)(&r->out, x);
    if (x->detects && !put_detected(r, x->task ? x->task->source : r->model->source_language, &x->texts)) return;
    if (!x->pipeline) srv_puts(&r->out, "}");
    srv_answer_json(r);
}

static bool is_translator(srv_request *r)
{
    if (srv_translates(r->model)) return true;
    srv_wrong_model(r, "does not translate", srv_translates);
    return false;
}

/* Whether the tokenizer of the model has tokens for languages, of which a request may name any. */
static bool has_languages(const srv_model *m)
{
    char code[RF_LANGUAGE_CODE];
    return rf__language_at(m->tokenizer, 0, code);
}

/* The only task of the model with this target and source; source "auto": any. */
static const srv_translation *find_task(const srv_model *m, const char *source, const char *target)
{
    const srv_translation *found = NULL;
    for (int i = 0; source && target && i < m->tasks; i++) {
        const srv_translation *task = &m->task[i];
        if (strcmp(task->target, target) != 0 || (strcmp(source, "auto") && strcmp(task->source, source))) continue;
        if (found) return NULL;
        found = task;
    }
    return found;
}

static void translate(srv_request *r, const json_t *list, const char *name, const json_t *options, bool pipeline)
{
    translating *x = srv_own(r, sizeof *x, free_translating);
    if (!x) return;
    x->call = (srv_call){.r = r, .compute = compute, .same = same};
    x->pipeline = pipeline;
    x->alignments = srv_bool(options, "alignments", false);
    const char *source = srv_string(pipeline ? options : r->in, pipeline ? "src_lang" : "source");
    const char *target = srv_string(pipeline ? options : r->in, pipeline ? "tgt_lang" : "target");
    const bool automatic = !pipeline && source && !strcmp(source, "auto");
    x->task = find_task(r->model, source, target);
    x->detects = automatic && (x->task || *r->model->source_language);
    if (has_languages(r->model)) {
        x->source = automatic ? NULL : source;
        x->target = target;
    }
    if (!srv_read_texts(r, list, name, &x->texts)) return;
    x->out = calloc((size_t)x->texts.n, sizeof *x->out);
    x->bytes = calloc((size_t)x->texts.n, sizeof *x->bytes);
    if (x->alignments) x->pair = calloc((size_t)x->texts.n, sizeof *x->pair);
    if (!x->out || !x->bytes || (x->alignments && !x->pair))
        srv_error(r, 503, "Overloaded", "out of memory: a request");
    else if (srv_hold(r, x->texts.n)) srv_call_submit(&x->call, finish);
}

/* Whether the tokenizer has the language; false: answered. */
static bool knows(srv_request *r, int status, const char *name, const char *got)
{
    rf_error why = {0};
    int32_t id;
    if (!rf__language_find(r->model->tokenizer, name, got, &id, &why)) return true;
    srv_error(r, status, "Validation", "%s", why.text);
    return false;
}

/* The request's languages are those of no task. */
static bool refuse_languages(srv_request *r, int status)
{
    char pairs[200] = "";
    for (int i = 0; i < r->model->tasks; i++) {
        char one[40];
        snprintf(one, sizeof one, "%s:%s", r->model->task[i].source, r->model->task[i].target);
        rf__list_add(pairs, sizeof pairs, one);
    }
    srv_error(r, status, "Validation", "languages: expected a source and a target for which config.json has a task "
              "(%s), got others; POST / takes a text that begins with another prefix", pairs);
    return false;
}

/* A language that the client names must be the model's. false: answered. */
static bool names_language(srv_request *r, const json_t *options, const char *name, const char *own)
{
    const char *got = srv_string(options, name);
    if (got && has_languages(r->model)) return knows(r, 422, name, got);
    if (!got || !strcmp(got, own)) return true;
    if (r->model->tasks) return refuse_languages(r, 422);
    srv_error(r, 422, "Validation", "`%s`: expected %s, got %.20s%s", name, *own ? own : "null", got,
              *own ? "" : "; start the server with --languages SOURCE:TARGET");
    return false;
}

void srv_translate_text(srv_request *r)
{
    if (srv_need_model(r, NULL) && is_translator(r)) {
        const json_t *options = srv_member(r->in, "parameters");
        if (find_task(r->model, srv_string(options, "src_lang"), srv_string(options, "tgt_lang")) ||
            (names_language(r, options, "src_lang", r->model->source_language) &&
             names_language(r, options, "tgt_lang", r->model->target_language)))
            translate(r, json_object_get(r->in, "inputs"), "inputs", options, true);
    }
}

/* ---- LibreTranslate ---------------------------------------------------------------------------------------------- */

/* false: answered. */
static bool right_language(srv_request *r, const char *name, const char *own, bool automatic)
{
    const char *got = srv_string(r->in, name);
    if (!strcmp(got, own) || (automatic && !strcmp(got, "auto"))) return true;
    if (has_languages(r->model)) return knows(r, 400, name, got);
    srv_error(r, 400, "Validation", "`%s`: expected %s, which the model knows, got %.20s", name, own, got);
    return false;
}

static bool languages_are_known(srv_request *r)
{
    if (*r->model->source_language && *r->model->target_language) return true;
    srv_error(r, 424, "Backend", "the model's folder does not name its languages; start the server with --languages "
              "SOURCE:TARGET, or send the text as the model expects it, with its prefix, to POST /");
    return false;
}

/* Whether the model translates between the languages of the request; false: answered. */
static bool has_right_languages(srv_request *r)
{
    const srv_model *m = r->model;
    if (find_task(m, srv_string(r->in, "source"), srv_string(r->in, "target"))) return true;
    if (m->tasks && !*m->source_language) return refuse_languages(r, 400);
    return (has_languages(m) || languages_are_known(r)) && right_language(r, "source", m->source_language, true) &&
           right_language(r, "target", m->target_language, false);
}

void srv_api_translate(srv_request *r)
{
    if (!srv_read_body(r) || !srv_need_model(r, NULL) || !is_translator(r) || !has_right_languages(r)) return;
    translate(r, json_object_get(r->in, "q"), "q", r->in, false);
}

void srv_api_detect(srv_request *r)
{
    srv_texts texts = {0};
    if (!srv_read_body(r) || !srv_need_model(r, NULL) || !is_translator(r) || !languages_are_known(r)) return;
    bool good = srv_read_texts(r, json_object_get(r->in, "q"), "q", &texts);
    if (good) srv_puts(&r->out, texts.one ? "[" : "[[");
    for (int64_t i = 0; i < texts.n && good; i++) {
        if (i) srv_puts(&r->out, "],[");
        good = srv_go_on(r) && put_language(r, r->model->source_language, texts.text[i], texts.bytes[i]);
    }
    if (good) {
        srv_puts(&r->out, texts.one ? "]" : "]]");
        srv_answer_json(r);
    }
    srv_texts_clear(&texts);
}

/* Each language of the tokenizer, with all others as its targets. */
static void put_languages(srv_text *t, const rf_tokenizer *of)
{
    char code[RF_LANGUAGE_CODE], other[RF_LANGUAGE_CODE];
    srv_puts(t, "[");
    for (int64_t i = 0; rf__language_at(of, i, code); i++) {
        srv_printf(t, "%s{\"code\":\"%s\",\"name\":\"%s\",\"targets\":[", i ? "," : "", code, code);
        for (int64_t k = 0, n = 0; rf__language_at(of, k, other); k++)
            if (k != i) srv_printf(t, "%s\"%s\"", n++ ? "," : "", other);
        srv_puts(t, "]}");
    }
    srv_puts(t, "]");
}

/* The targets of the tasks from a language. */
static void put_targets(srv_text *t, const srv_model *m, const char *code)
{
    srv_printf(t, "{\"code\":\"%s\",\"name\":\"%s\",\"targets\":[", code, code);
    for (int i = 0, n = 0; i < m->tasks; i++)
        if (!strcmp(m->task[i].source, code)) srv_printf(t, "%s\"%s\"", n++ ? "," : "", m->task[i].target);
    srv_puts(t, "]}");
}

/* Whether one of the first n languages of the tasks, the source and then the target of each, is the same. */
static bool is_among(const srv_model *m, int n, const char *code)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(i % 2 ? m->task[i / 2].target : m->task[i / 2].source, code)) return true;
    return false;
}

static void put_tasks(srv_text *t, const srv_model *m)
{
    srv_puts(t, "[");
    for (int i = 0; i < 2 * m->tasks; i++) {
        const char *code = i % 2 ? m->task[i / 2].target : m->task[i / 2].source;
        if (is_among(m, i, code)) continue;
        if (i) srv_puts(t, ",");
        put_targets(t, m, code);
    }
    srv_puts(t, "]");
}

void srv_api_languages(srv_request *r)
{
    if (!srv_need_model(r, NULL) || !is_translator(r)) return;
    const srv_model *m = r->model;
    const bool tokens = has_languages(m);
    if (tokens || (m->tasks && !*m->source_language)) {
        if (tokens) put_languages(&r->out, m->tokenizer);
        else put_tasks(&r->out, m);
        srv_answer_json(r);
        return;
    }
    if (!languages_are_known(r)) return;
    srv_printf(&r->out,
               "[{\"code\":\"%s\",\"name\":\"%s\",\"targets\":[\"%s\"]},"
               "{\"code\":\"%s\",\"name\":\"%s\",\"targets\":[]}]",
               m->source_language, m->source_language, m->target_language, m->target_language, m->target_language);
    srv_answer_json(r);
}
