/* openapi.c — the description of all routes: OpenAPI 3.0, from the tables of routes.c. */
#include <stdlib.h>

#include "roformer/version.h"
#include "serve/api/api.h"

static json_t *schema_of(const srv_field *f, bool closed);

static json_t *text(const char *type) { return json_pack("{s:s}", "type", type); }

static json_t *list_of(json_t *item) { return json_pack("{s:s, s:o}", "type", "array", "items", item); }

static json_t *either(json_t *a, json_t *b) { return json_pack("{s:[o, o]}", "oneOf", a, b); }

static json_t *choice(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words; at;) {
        const size_t n = strcspn(at, "|");
        rf__json_add(&list, json_stringn(at, n));
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

static json_t *only(const char *value)
{
    json_t *v = json_loads(value, JSON_DECODE_ANY, NULL), *list = json_array();
    rf__json_add(&list, v);
    return json_pack("{s:o}", "enum", list);
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

static json_t *responses(const srv_route *x)
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
        if (*what) rf__json_set(&out, rows[i].code, json_pack("{s:s}", "description", what));
    }
    return out;
}

static json_t *operation(const srv_route *x)
{
    json_t *out = json_pack("{s:s, s:o}", "summary", x->what, "responses", responses(x));
    if (strchr(x->path, '{'))
        rf__json_set(&out, "parameters", json_pack("[{s:s, s:s, s:b, s:o}]", "name", "model", "in", "path", "required",
                                                   1, "schema", text("string")));
    if (!x->field) return out;
    json_t *schema = schema_of(x->field, srv_dialect_is_strict(x->dialect));
    rf__json_set(&out, "requestBody",
                 json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content", "application/json", "schema", schema));
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
    if (all && s->keys) {
        rf__json_set(&all, "components",
                     json_pack("{s:{s:{s:s, s:s}}}", "securitySchemes", "key", "type", "http", "scheme", "bearer"));
        rf__json_set(&all, "security", json_pack("[{s:[]}]", "key"));
    }
    char *text = rf__json_dump(all, JSON_INDENT(1));
    if (text) srv_puts(out, text);
    else out->failed = true;
    free(text);
    json_decref(all);
}
