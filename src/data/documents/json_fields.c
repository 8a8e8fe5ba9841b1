/* json_fields.c — members of an object of JSON by name; see roformer/inspect/records.h. */
#include <stdio.h>

#include "base/json.h"
#include "roformer/inspect/records.h"

typedef struct field { char *name; const char *text; size_t bytes; char digits[24]; } field;

struct rf_json_fields {
    const rf_ctx *ctx;
    json_t *object;                     /* that the texts belong to */
    int n;
    field field[RF_MAX_JSON_FIELDS];
};

rf_status rf_json_fields_new(const rf_ctx *ctx, const char *const name[], int n, rf_json_fields **out, rf_error *why)
{
    if (!(ctx && name && out)) return rf__missing("rf_json_fields_new", "ctx, name, out", why);
    if (n < 1 || n > RF_MAX_JSON_FIELDS)
        return rf_fail(why, RF_EARG, "fields: expected 1 to %d names, got %d", RF_MAX_JSON_FIELDS, n);
    rf_json_fields *f = rf__calloc(ctx, 1, sizeof *f);
    if (!f) return rf_fail(why, RF_ENOMEM, "out of memory: names of fields");
    f->ctx = ctx;
    rf_status status = RF_OK;
    for (int i = 0; i < n && !status; i++) {
        if (!name[i] || !*name[i]) status = rf_fail(why, RF_EARG, "field: expected a name, got an empty one");
        else if (!(f->field[f->n++].name = rf__strdup(ctx, name[i])))
            status = rf_fail(why, RF_ENOMEM, "out of memory: names of fields");
    }
    if (status) rf_json_fields_free(f);
    else *out = f;
    return status;
}

void rf_json_fields_free(rf_json_fields *f)
{
    if (!f) return;
    for (int i = 0; i < f->n; i++) rf__free(f->ctx, f->field[i].name);
    json_decref(f->object);
    rf__free(f->ctx, f);
}

/* The member of this name, which may be a path with dots; a name with dots has priority. */
static const json_t *find(const json_t *object, char *name)
{
    const json_t *value = json_object_get(object, name);
    for (char *dot = strchr(name, '.'); dot && !value; dot = strchr(dot + 1, '.')) {
        *dot = 0;
        const json_t *outer = json_object_get(object, name);
        *dot = '.';
        value = find(outer, dot + 1);
    }
    return value;
}

static rf_status read_field(field *f, const json_t *value, const char *where, rf_error *why)
{
    json_int_t whole;
    if (json_is_string(value)) {
        f->text = json_string_value(value);
        f->bytes = json_string_length(value);
    } else if (rf__json_whole(value, &whole)) {
        f->bytes = (size_t)snprintf(f->digits, sizeof f->digits, "%lld", (long long)whole);
        f->text = f->digits;
    } else {
        return rf_fail(why, RF_EDATA, "%s: \"%s\": expected a string, got %s", where, rf__printable(f->name).text,
                       rf__json_shown(value).text);
    }
    return RF_OK;
}

rf_status rf_json_fields_read(rf_json_fields *f, const char *text, size_t bytes, const char *where, rf_error *why)
{
    if (!(f && (text || !bytes) && where)) return rf__missing("rf_json_fields_read", "fields, text, where", why);
    json_decref(f->object);
    for (int i = 0; i < f->n; i++) f->field[i].text = NULL;
    rf_error inner = {0};
    f->object = rf__json_parse(text ? text : "", bytes, 0, where, &inner);
    if (!f->object) return rf_fail(why, inner.code, "%s", inner.text);
    rf_status status = RF_OK;
    for (int i = 0; i < f->n && !status; i++)
        status = read_field(&f->field[i], find(f->object, f->field[i].name), where, why);
    return status;
}

const char *rf_json_field(const rf_json_fields *f, int i, size_t *bytes)
{
    if (!f || i < 0 || i >= f->n) return NULL;
    if (bytes) *bytes = f->field[i].bytes;
    return f->field[i].text;
}
