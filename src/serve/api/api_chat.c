/* api_chat.c — OpenAI's chat completions: the folder's chat template makes one text of the messages (text/chat.h),
 * which the model continues. Special tokens in that text are special tokens, and none is added. */
#include <stdlib.h>
#include <time.h>

#include "base/os/os.h"
#include "serve/api/writing.h"
#include "text/chat.h"
#include "text/tokenizer.h"

static const rf_chat *chat_of(const srv_request *r) { return rf__tokenizer_chat(r->model->tokenizer); }

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void put_content(srv_text *t, const char *text, size_t size)
{
    srv_puts(t, "\"content\":");
    srv_put_string(t, text, size);
}

/* The first event names the role. */
static void put_piece(srv_text *t, const writing *x, item *y, const char *text, size_t size, const char *reason)
{
    srv_put_openai_head(t, x->call.r, "chatcmpl", "chat.completion.chunk");
    srv_printf(t, ",\"choices\":[{\"index\":%lld,\"delta\":{", (long long)(y - x->item));
    if (!text) srv_puts(t, "\"role\":\"assistant\",\"content\":\"\"");
    else if (size || !reason) put_content(t, text, size);
    srv_puts(t, "}");
    if (text) srv_put_chat_logprobs(t, x, y, y->sent + size);
    else srv_puts(t, ",\"logprobs\":null");
    srv_put_piece_end(t, x, reason);
}

static void put_usage(srv_text *t, const writing *x)
{
    srv_put_usage_event(t, x, "chatcmpl", "chat.completion.chunk");
}

static void put_answers(srv_request *r, const writing *x)
{
    srv_text *t = &r->out;
    srv_put_openai_head(t, r, "chatcmpl", "chat.completion");
    srv_puts(t, ",\"choices\":[");
    for (int64_t i = 0; i < x->items; i++) {
        item *y = &x->item[i];
        srv_printf(t, "%s{\"index\":%lld,\"message\":{\"role\":\"assistant\",", i ? "," : "", (long long)i);
        put_content(t, y->text.at ? y->text.at : "", y->text.n);
        srv_puts(t, ",\"refusal\":null}");
        srv_put_chat_logprobs(t, x, y, y->text.n);
        srv_printf(t, ",\"finish_reason\":\"%s\"}", srv_finish_reason(y));
        t->failed |= y->text.failed;
    }
    srv_puts(t, "]");
    srv_put_usage(t, x);
    srv_puts(t, "}");
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void no_memory(srv_request *r) { srv_error(r, 503, "Overloaded", "out of memory: the messages"); }

/* The content of message i as templates know it: a string, or a list of parts. NULL: answered. */
static json_t *content_of(srv_request *r, size_t i, json_t *content)
{
    srv_text whole = {0};
    json_t *part;
    size_t k;
    if (json_is_string(content)) return json_incref(content);
    if (!json_is_array(content))
        return srv_error(r, 422, "Validation", "`messages[%zu].content`: expected a text or a list of texts", i), NULL;
    json_array_foreach(content, k, part) {
        const char *type = json_string_value(json_object_get(part, "type"));
        const json_t *text = json_object_get(part, "text");
        if (!type || strcmp(type, "text") || !json_is_string(text)) {
            srv_text_clear(&whole);
            srv_error(r, 422, "Validation", "`messages[%zu].content[%zu]`: expected type \"text\" with a text, as "
                      "models read nothing else here, got type \"%.40s\"", i, k, type ? type : "");
            return NULL;
        }
        if (k) srv_puts(&whole, "\n");
        srv_put(&whole, json_string_value(text), json_string_length(text));
    }
    json_t *v = rf__chat_takes_parts(chat_of(r)) ? json_incref(content)
                : whole.failed                            ? NULL
                                                          : json_stringn(whole.n ? whole.at : "", whole.n);
    srv_text_clear(&whole);
    if (!v) no_memory(r);
    return v;
}

/* OpenAI's arguments of a call are JSON as a string; templates write them as JSON. */
static void read_calls(json_t *calls)
{
    json_t *call;
    size_t i;
    json_array_foreach(calls, i, call) {
        json_t *function = json_object_get(call, "function");
        const char *text = json_string_value(json_object_get(function, "arguments"));
        json_t *v = text ? json_loads(text, 0, NULL) : NULL;
        if (json_is_object(v)) json_object_set(function, "arguments", v);
        json_decref(v);
    }
}

/* Message i, as transformers gives it to a template: without members that are null. false: answered. */
static bool read_message(srv_request *r, size_t i, json_t *m)
{
    const char *role = json_string_value(json_object_get(m, "role")), *name;
    json_t *v, *content;
    void *next;
    if (!role || !*role)
        return srv_error(r, 422, "Validation", "`messages[%zu]`: expected an object with role and content", i), false;
    json_object_foreach_safe(m, next, name, v) if (json_is_null(v)) json_object_del(m, name);
    if (!strcmp(role, "developer")) json_object_set_new(m, "role", json_string("system"));
    read_calls(json_object_get(m, "tool_calls"));
    content = json_object_get(m, "content");
    if (!content && json_object_get(m, "tool_calls")) return true;
    content = content_of(r, i, content);
    if (content && json_object_set_new(m, "content", content)) no_memory(r);
    return content && !r->status;
}

static bool read_messages(srv_request *r, json_t *list)
{
    json_t *m;
    size_t i;
    if (!json_array_size(list))
        return srv_error(r, 422, "Validation", "`messages`: expected a list of messages that is not empty"), false;
    json_array_foreach(list, i, m) if (!srv_go_on(r) || !read_message(r, i, m)) return false;
    return true;
}

/* The tools for the template; NULL: none, or answered. */
static const json_t *tools_of(srv_request *r)
{
    const json_t *tools = srv_member(r->in, "tools");
    const char *choice = srv_string(r->in, "tool_choice");
    if (!json_array_size(tools) || (choice && !strcmp(choice, "none"))) return NULL;
    if (!rf__chat_takes_tools(chat_of(r)))
        srv_error(r, 422, "Validation", "`tools`: expected none, as the model's chat template does not name tools");
    return tools;
}

/* What the model reads for the messages. false: answered. */
static bool read_prompt(srv_request *r, writing *x, json_t *messages)
{
    const rf_tokenizer *t = r->model->tokenizer;
    const time_t now = time(NULL);
    const json_t *tools = tools_of(r);
    struct tm date;
    char *text = NULL;
    size_t size = 0;
    rf_error why = {0};
    const json_t *more = srv_member(r->in, "chat_template_kwargs");
    if (!r->status && (srv_member(more, "messages") || srv_member(more, "tools")))
        srv_error(r, 422, "Validation", "`chat_template_kwargs`: expected no `messages` and no `tools`, members "
                                        "of the request");
    if (r->status) return false;
    const struct tm *local = rf__os_local(now, &date) ? &date : NULL;
    const rf_status status = rf__chat_text(chat_of(r), messages, tools, more,
                                           local, &text, &size, &why);
    if (status == RF_ENOMEM) srv_fail(r, &why);
    else if (status == RF_EARG) srv_error(r, 422, "Validation", "`messages`: %s", why.text);
    else if (status)
        srv_error(r, 422, "Validation", "`messages`: the model's chat template: %s; /v1/completions needs none",
                  why.text);
    else if (!(x->item[0].own = malloc(size + 1))) no_memory(r);
    if (!r->status) {
        x->item[0].prompt = memcpy(x->item[0].own, text, size + 1);
        x->item[0].bytes = size;
        r->characters += srv_length(text, size);
    }
    rf_text_free(t, text);
    return !r->status;
}

/* Its tokens. false: answered. */
static bool read_ids(srv_request *r, writing *x)
{
    item *y = x->item;
    rf_encoding e;
    if (srv_encode_prompt(r, y, "messages", &e)) srv_keep_ids(r, y, &e, 0);
    rf_encoding_clear(&e);
    for (int64_t i = 1; i < x->items; i++)
        x->item[i] = (item){.prompt = y->prompt, .bytes = y->bytes, .id = y->id, .ids = y->ids, .last = y->last};
    return !r->status;
}

/* The default is what the context has left. */
static void set_most(srv_request *r, writing *x)
{
    const int64_t context = r->model->config->max_position_embeddings, limit = r->s->o.limits.max_new_tokens;
    const int64_t left = context > 0 ? rf__min64(context - x->item[0].ids, limit) : limit;
    x->most = srv_int(r->in, "max_completion_tokens", srv_int(r->in, "max_tokens", left));
    x->o.max_new_tokens = x->most;
}

static const srv_form chat = {
    .piece = put_piece, .usage = put_usage, .whole = put_answers, .opens = true, .cuts = true,
    .most = "max_completion_tokens"};

/* Sampling is that of the folder, with a temperature. */
void srv_api_chat(srv_request *r)
{
    rf_error why = {0};
    writing *x = srv_read_body(r) ? srv_new_writing(r, srv_string(r->in, "model"), &chat) : NULL;
    json_t *messages = x ? json_object_get(r->in, "messages") : NULL;
    if (!x) return;
    if (rf__chat_check(chat_of(r), &why)) {
        srv_error(r, 422, "Validation", "%s; use /v1/completions", why.text);
        return;
    }
    if (!read_messages(r, messages) || !srv_new_items(r, x, "n", 1, srv_int(r->in, "n", 1)) ||
        !read_prompt(r, x, messages) || !read_ids(r, x) || !srv_read_stops(r, x, srv_member(r->in, "stop")) ||
        !srv_read_stream(r, x))
        return;
    if (srv_bool(r->in, "logprobs", false)) x->tops = srv_int(r->in, "top_logprobs", 0);
    else if (srv_member(r->in, "top_logprobs")) {
        srv_error(r, 422, "Validation", "`top_logprobs`: expected `logprobs`: true, too");
        return;
    }
    srv_set_openai(x);
    srv_set_sampling(r, x, r->in);
    set_most(r, x);
    srv_write(r, x);
}
