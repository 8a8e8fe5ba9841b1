/* chat.c — see chat.h. */
#include "text/chat.h"

#include "base/json.h"
#include "roformer/inspect/files.h"
#include "text/template/template.h"

enum { DEFAULT, TOOLS, KINDS };

struct rf_chat {
    rf_template *template[KINDS]; /* NULL: there is none                                  */
    rf_error why;                 /* why there is no default one                          */
    char *token[RF_CHAT_TOKENS];  /* by rf__chat_tokens; NULL: none                       */
};

const char *const rf__chat_tokens[RF_CHAT_TOKENS] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                     "pad_token", "cls_token", "mask_token"};

/* A template that is missing or cannot be read is none. */
static rf_status take(const rf_ctx *ctx, rf_chat *c, const char *name, int kind, const json_t *text, rf_error *why)
{
    if (!json_is_string(text)) return RF_OK;
    rf_error own = {0};
    const rf_status status = rf__template_new(ctx, name, json_string_value(text), json_string_length(text),
                                              &c->template[kind], &own);
    if (status == RF_ENOMEM) return rf_fail(why, status, "%s", own.text);
    if (status && kind == DEFAULT) c->why = own;
    return RF_OK;
}

rf_status rf__chat_new(const rf_ctx *ctx, const char *name, const json_t *source, const json_t *tokens, rf_chat **out,
                       rf_error *why)
{
    rf_chat *c = *out = rf__calloc(ctx, 1, sizeof *c);
    json_t *x;
    size_t i;
    if (!c) return rf_fail(why, RF_ENOMEM, "%s: out of memory for its chat template", name);
    rf_fail(&c->why, RF_EUNSUPPORTED, "%s: chat_template: expected a string, or a list with a template of the name "
            "\"default\", got %s", name, rf__json_shown(source).text);
    rf_status status = take(ctx, c, name, DEFAULT, source, why);
    json_array_foreach(source, i, x) {
        const char *own = json_string_value(json_object_get(x, "name"));
        const bool usual = own && !strcmp(own, "default"), tools = own && !strcmp(own, "tool_use");
        if (!status && (usual || tools) && !c->template[tools ? TOOLS : DEFAULT])
            status = take(ctx, c, name, tools ? TOOLS : DEFAULT, json_object_get(x, "template"), why);
    }
    for (i = 0; i < RF_CHAT_TOKENS && !status; i++) {
        const char *text = json_string_value(json_object_get(tokens, rf__chat_tokens[i]));
        if (text && !(c->token[i] = rf__strdup(ctx, text)))
            status = rf_fail(why, RF_ENOMEM, "%s: out of memory for its special tokens", name);
    }
    if (!status) return RF_OK;
    rf__chat_free(ctx, c);
    *out = NULL;
    return status;
}

void rf__chat_free(const rf_ctx *ctx, rf_chat *c)
{
    if (!c) return;
    for (int i = 0; i < KINDS; i++) rf__template_free(c->template[i]);
    for (int i = 0; i < RF_CHAT_TOKENS; i++) rf__free(ctx, c->token[i]);
    rf__free(ctx, c);
}

rf_status rf__chat_check(const rf_chat *c, rf_error *why)
{
    if (!c)
        return rf_fail(why, RF_EUNSUPPORTED, "the model's folder has no chat template (%s, or chat_template in %s)",
                       RF_FILE_CHAT_TEMPLATE, RF_FILE_TOKENIZER_CONFIG);
    return c->template[DEFAULT] ? RF_OK : rf_fail(why, c->why.code, "%s", c->why.text);
}

static const rf_template *template_for(const rf_chat *c, bool tools)
{
    return tools && c->template[TOOLS] ? c->template[TOOLS] : c->template[DEFAULT];
}

bool rf__chat_takes_parts(const rf_chat *c) { return rf__template_takes_parts(template_for(c, false)); }
bool rf__chat_takes_tools(const rf_chat *c) { return rf__template_uses(template_for(c, true), "tools"); }

rf_status rf__chat_text(const rf_chat *c, const json_t *messages, const json_t *tools, const json_t *more,
                        const struct tm *now, char **text, size_t *size, rf_error *why)
{
    json_t *x = json_pack("{s:O, s:b, s:o, s:o}", "messages", messages, "add_generation_prompt", 1, "tools",
                          tools ? json_incref((json_t *)(uintptr_t)tools) : json_null(), "documents", json_null());
    for (int i = 0; i < RF_CHAT_TOKENS; i++)
        if (c->token[i]) rf__json_set(&x, rf__chat_tokens[i], json_string(c->token[i]));
    if (x && more && json_object_update(x, (json_t *)(uintptr_t)more)) {
        json_decref(x);
        x = NULL;
    }
    const rf_status status = x ? rf__template_render(template_for(c, tools != NULL), x, now, text, size, why)
                               : rf_fail(why, RF_ENOMEM, "out of memory: the variables of a chat template");
    json_decref(x);
    return status;
}
