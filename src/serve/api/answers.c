/* answers.c — the types of answers.def as schemas of OpenAPI 3.0. */
#include <ctype.h>

#include "serve/api/answers.h"

static const srv_answer_row rows[] = {
#define SRV_TYPE(name, type)
#define SRV_ANSWER(step, tag, answer, example) {#step, tag, answer, example},
#include "serve/api/answers.def"
};

const srv_answer_row *srv_answer_of(const srv_route *x)
{
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        if (!strcmp(rows[i].step, x->step_name)) return &rows[i];
    return NULL;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static json_t *type_at(const char **at);

static void skip_blanks(const char **at)
{
    while (**at == ' ') ++*at;
}

static bool skip(const char **at, char c)
{
    skip_blanks(at);
    if (**at != c) return false;
    ++*at;
    return true;
}

/* {a: T, b?: T}, after the brace. */
static json_t *object_at(const char **at)
{
    json_t *members = json_object(), *required = json_array();
    do {
        char name[64];
        size_t n = 0;
        skip_blanks(at);
        while (isalnum((unsigned char)**at) || **at == '_') {
            if (n < sizeof name - 1) name[n++] = **at;
            ++*at;
        }
        name[n] = 0;
        if (!skip(at, '?')) rf__json_add(&required, json_string(name));
        skip(at, ':');
        rf__json_set(&members, name, type_at(at));
    } while (skip(at, ','));
    skip(at, '}');
    json_t *out = json_pack("{s:s, s:o}", "type", "object", "properties", members);
    if (json_array_size(required)) rf__json_set(&out, "required", required);
    else json_decref(required);
    return out;
}

static json_t *name_at(const char **at)
{
    static const char *const simple[] = {"string", "number", "integer", "boolean", "object"};
    const char *name = *at;
    while (isalnum((unsigned char)**at)) ++*at;
    const size_t n = (size_t)(*at - name);
    for (size_t i = 0; i < RF_COUNT(simple); i++)
        if (strlen(simple[i]) == n && !memcmp(simple[i], name, n)) return json_pack("{s:s}", "type", simple[i]);
    if (n == 3 && !memcmp(name, "any", n)) return json_object();
    char path[96];
    snprintf(path, sizeof path, "#/components/schemas/%.*s", (int)n, name);
    return json_pack("{s:s}", "$ref", path);
}

static json_t *one_at(const char **at)
{
    json_t *out;
    skip_blanks(at);
    if (skip(at, '[')) {
        out = json_pack("{s:s, s:o}", "type", "array", "items", type_at(at));
        skip(at, ']');
    } else out = skip(at, '{') ? object_at(at) : name_at(at);
    if (skip(at, '?')) rf__json_set(&out, "nullable", json_true());
    return out;
}

/* T | U; an empty list may be of several of them. */
static json_t *type_at(const char **at)
{
    json_t *one = one_at(at);
    if (!skip(at, '|')) return one;
    json_t *all = json_array();
    rf__json_add(&all, one);
    do rf__json_add(&all, one_at(at));
    while (skip(at, '|'));
    return json_pack("{s:o}", "anyOf", all);
}

json_t *srv_schema_of_type(const char *type) { return type_at(&type); }

json_t *srv_types(void)
{
    json_t *out = json_object();
#define SRV_TYPE(name, type) rf__json_set(&out, #name, srv_schema_of_type(type));
#define SRV_ANSWER(step, tag, answer, example)
#include "serve/api/answers.def"
    json_t *info = json_object_get(json_object_get(out, "Info"), "properties");
#define SRV_LIMIT(member, option, variable, initial, least, most, unit, what) \
    if (info) json_object_set_new(info, #member, json_pack("{s:s}", "type", "integer"));
#include "serve/limits.def"
    return out;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static bool is_content_type(const char *part, size_t n) { return memchr(part, '/', n) != NULL; }

json_t *srv_content(const srv_answer_row *row)
{
    json_t *out = json_object();
    for (const char *part = row->answer; *part; part += strspn(part, "; ")) {
        const size_t n = strcspn(part, ";");
        char type[64];
        snprintf(type, sizeof type, "%.*s", (int)n, part);
        if (!strcmp(type, "text/event-stream")) rf__json_set(&out, type, json_object()); /* events have the types */
        else if (is_content_type(part, n))
            rf__json_set(&out, type, json_pack("{s:{s:s}}", "schema", "type", "string"));
        else if (strncmp(part, "error ", 6))
            rf__json_set(&out, "application/json", json_pack("{s:o}", "schema", srv_schema_of_type(part)));
        part += n;
    }
    return out;
}

json_t *srv_error_content(const srv_route *x, const srv_answer_row *row)
{
    static const char *const forms[] = {
        [SRV_TEI] = "Error", [SRV_OPENAI] = "OpenAIError", [SRV_COHERE] = "CohereError", [SRV_LIBRE] = "LibreError"};
    const char *own = row ? strstr(row->answer, "error ") : NULL;
    return json_pack("{s:{s:o}}", "application/json", "schema", srv_schema_of_type(own ? own + 6 : forms[x->dialect]));
}
