/* openapi.c — the description of all routes: OpenAPI 3.0, from api.def, the tables of routes.c and answers.def. */
#include <stdlib.h>
#include <strings.h>

#include "roformer/context.h"
#include "serve/api/answers.h"

static json_t *schema_of(const srv_field *f, bool closed);

static json_t *text(const char *type) { return json_pack("{s:s}", "type", type); }

static json_t *list_of(json_t *item) { return json_pack("{s:s, s:o}", "type", "array", "items", item); }

static json_t *either(json_t *a, json_t *b) { return json_pack("{s:[o, o]}", "oneOf", a, b); }

/* Whether a word of this size occurs before, in other letters: programs make one name of both. */
static bool has_word(const json_t *list, const char *word, size_t n)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (json_string_length(one) == n && !strncasecmp(json_string_value(one), word, n)) return true;
    }
    return false;
}

static json_t *choice(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words; at;) {
        const size_t n = strcspn(at, "|");
        if (!has_word(list, at, n)) rf__json_add(&list, json_stringn(at, n));
        at = at[n] ? at + n + 1 : NULL;
    }
    return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *number(const srv_field *f)
{
    if (f->kind == SRV_INT)
        return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)f->low, "maximum",
                         (json_int_t)f->high);
    return json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", f->low, "maximum", f->high);
}

/* The only value of a member; programs make no types of a single truth value. */
static json_t *only(const char *value)
{
    json_t *v = json_loads(value, JSON_DECODE_ANY, NULL);
    json_t *out = text(json_is_string(v) ? "string" : json_is_boolean(v) ? "boolean" : "integer");
    if (json_is_boolean(v)) rf__json_set(&out, "default", v);
    else rf__json_set(&out, "enum", json_pack("[o]", v));
    return out;
}

/* Members that may only be missing, null, a list or an object are not described. */
static bool is_described(const srv_field *f)
{
    return f->kind != SRV_ONLY || !strchr("n[{", *f->choices);
}

static json_t *ids(void) { return list_of(json_pack("{s:s, s:i}", "type", "integer", "minimum", 0)); }

static json_t *kind_of(const srv_field *f)
{
    switch (f->kind) {
    case SRV_BOOL: return text("boolean");
    case SRV_INT:
    case SRV_REAL: return number(f);
    case SRV_STRING: return text("string");
    case SRV_CHOICE: return choice(f->choices);
    case SRV_STRINGS: return either(text("string"), list_of(text("string")));
    case SRV_TEXTS: return list_of(text("string"));
    case SRV_INPUTS:
        return json_pack("{s:[o, o, o, o]}", "oneOf", text("string"), list_of(text("string")), ids(), list_of(ids()));
    case SRV_PAIRS:
    case SRV_TEXTS_OR_PAIRS:
        return json_pack("{s:[o, o, o]}", "oneOf", text("string"), list_of(text("string")),
                         list_of(list_of(text("string"))));
    case SRV_IDS: return either(ids(), list_of(ids()));
    case SRV_OBJECT: return f->members ? schema_of(f->members, true) : text("object");
    case SRV_OBJECTS: return list_of(text("object"));
    case SRV_DOCUMENTS: return list_of(either(text("string"), text("object")));
    case SRV_ONLY: return only(f->choices);
    case SRV_LABELED:
    case SRV_ANY:
    case SRV_IGNORED:
    case SRV_END: break;
    }
    return json_object();
}

/* An object with these members. closed: others are refused. */
static json_t *schema_of(const srv_field *f, bool closed)
{
    json_t *members = json_object(), *required = json_array();
    for (; f->kind != SRV_END; f++) {
        if (!is_described(f)) continue;
        json_t *one = kind_of(f);
        if (f->what) rf__json_set(&one, "description", json_string(f->what));
        if (!f->required) rf__json_set(&one, "nullable", json_true());
        rf__json_set(&members, f->name, one);
        if (f->required) rf__json_add(&required, json_string(f->name));
    }
    json_t *out = json_pack("{s:s, s:o}", "type", "object", "properties", members);
    if (json_array_size(required)) rf__json_set(&out, "required", required);
    else json_decref(required);
    if (closed) rf__json_set(&out, "additionalProperties", json_false());
    return out;
}

static json_t *responses(const srv_route *x, const srv_answer_row *row)
{
    static const struct {
        const char *code, *what;
        bool body, model;
        const char *openai; /* on OpenAI's routes; NULL: the same as `what`, "": not there */
    } rows[] = {
        {"200", "the answer", false, false, NULL},
        {"400", "the body is not valid JSON, or an input is empty", true, false,
         "the request is not valid, or the model cannot answer it"},
        {"401", "the API key is missing or wrong", false, false, NULL},
        {"404", "there is no such model", true, false, NULL},
        {"413", "the body is too large", true, false, NULL},
        {"415", "the body is compressed", true, false, NULL},
        {"422", "a member of the body has the wrong type or value", true, false, ""},
        {"424", "the model cannot answer this", false, true, ""},
        {"429", "too much is waiting; see Retry-After", true, false, NULL},
        {"503", "a model is being loaded, or the server is shutting down", false, false, NULL},
        {"504", "no result within --request-timeout", true, false, NULL},
    };
    json_t *out = json_object();
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        const bool keyed = strcmp(rows[i].code, "401") || x->access == SRV_KEYED;
        const bool named = !strcmp(rows[i].code, "404") && strchr(x->path, '{');
        if (!keyed || (rows[i].body && !x->field && !named) || (rows[i].model && x->access == SRV_PUBLIC)) continue;
        const char *what = x->dialect == SRV_OPENAI && rows[i].openai ? rows[i].openai : rows[i].what;
        if (!*what) continue;
        json_t *content = i ? srv_error_content(x, row) : row ? srv_content(row) : json_object();
        json_t *one = json_pack("{s:s}", "description", what);
        if (json_object_size(content)) rf__json_set(&one, "content", content);
        else json_decref(content);
        rf__json_set(&out, rows[i].code, one);
    }
    return out;
}

/* "post_v1_embeddings" */
static void put_id(srv_text *t, const srv_route *x)
{
    srv_puts(t, strcmp(x->method, "GET") ? "post" : "get");
    for (const char *p = x->path; *p; p++)
        if (*p == '/' || *p == '-' || *p == '.') srv_puts(t, "_");
        else if (*p != '{' && *p != '}') srv_put(t, p, 1);
    if (!x->path[1]) srv_puts(t, "root");
}

static json_t *operation(const srv_route *x)
{
    const srv_answer_row *row = srv_answer_of(x);
    srv_text id = {0};
    put_id(&id, x);
    json_t *out = json_pack("{s:s, s:s, s:[s], s:o}", "operationId", id.at ? id.at : "", "summary", x->what, "tags",
                            row ? row->tag : "others", "responses", responses(x, row));
    srv_text_clear(&id);
    if (strchr(x->path, '{'))
        rf__json_set(&out, "parameters", json_pack("[{s:s, s:s, s:b, s:o}]", "name", "model", "in", "path", "required",
                                                   1, "schema", text("string")));
    if (!x->field) return out;
    json_t *schema = schema_of(x->field, srv_dialect_is_strict(x->dialect));
    json_t *content = json_pack("{s:o}", "schema", schema);
    if (row && row->example) rf__json_set(&content, "example", json_loads(row->example, 0, NULL));
    rf__json_set(&out, "requestBody",
                 json_pack("{s:b, s:{s:o}}", "required", 1, "content", "application/json", content));
    return out;
}

void srv_put_openapi(const srv_server *s, srv_text *out)
{
    json_t *paths = json_object();
    for (const srv_route *x = srv_routes; x->path; x++) {
        json_t *path = json_object_get(paths, x->path);
        if (path) json_incref(path);
        else path = json_object();
        rf__json_set(&path, strcmp(x->method, "GET") ? "post" : "get", operation(x));
        rf__json_set(&paths, x->path, path);
    }
    json_t *all = json_pack("{s:s, s:{s:s, s:s, s:s}, s:o}", "openapi", "3.0.3", "info", "title", "roformer serve",
                            "description", "Embeddings, reranking, labels, masked tokens, text and translations.",
                            "version", ROFORMER_VERSION, "paths", paths);
    json_t *components = json_pack("{s:o}", "schemas", srv_types());
    if (s->keys)
        rf__json_set(&components, "securitySchemes",
                     json_pack("{s:{s:s, s:s}}", "key", "type", "http", "scheme", "bearer"));
    if (s->keys) rf__json_set(&all, "security", json_pack("[{s:[]}]", "key"));
    rf__json_set(&all, "components", components);
    char *text = rf__json_dump(all, JSON_INDENT(1));
    if (text) srv_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(all);
}
