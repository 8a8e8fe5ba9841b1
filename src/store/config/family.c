/* family.c — determines the family of a config.json.
 *
 * It uses model_type or, if it is missing (as in BERT's first folders), the class named by architectures; then the keys
 * that distinguish families with the same model_type. A file with neither is a RoFormer. */
#include <stdio.h>

#include "store/family.h"
#include "store/store.h"

const rf_family_config *rf__config_family(const rf_config *c)
{
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        if (!strcmp((*f)->name, c->family)) return *f;
    return NULL;
}

int64_t rf__config_longest(const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    return f && f->endless ? INT32_MAX : c->max_position_embeddings;
}

char *rf__config_family_names(char *to, size_t size, bool types)
{
    *to = 0;
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        const char *name = types ? (*f)->model_type : (*f)->name;
        bool said = false;
        for (const rf_family_config *const *e = rf__config_families; e < f; e++)
            said |= types && !strcmp((*e)->model_type, name);
        if (!said) rf__list_add(to, size, name);
    }
    return to;
}

const char *rf__config_class_now(const rf_family_config *f, const char *name, char *to, size_t size)
{
    const size_t n = f->older.class ? strlen(f->older.class) : 0;
    if (!n || strncmp(name, f->older.class, n) != 0) return name;
    snprintf(to, size, "%s%s", f->older.now, name + n);
    return to;
}

/* The class that the file names, as f calls it today; NULL: none. */
static const char *class_of(const rf_family_config *f, const json_t *root, char *to, size_t size)
{
    const char *name = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    return name ? rf__config_class_now(f, name, to, size) : NULL;
}

static bool has_class(const rf_family_config *f, const json_t *root)
{
    char now[sizeof ((rf_config *)0)->architecture];
    const char *name = class_of(f, root, now, sizeof now);
    for (const rf_class_row *is = f->class; name && is->name; is++)
        if (!strcmp(is->name, name)) return true;
    return false;
}

/* Whether a class without a row belongs to f by its beginning: BertModel, BertForNextSentencePrediction. */
static bool has_stem(const rf_family_config *f, const json_t *root)
{
    char now[sizeof ((rf_config *)0)->architecture];
    const char *name = class_of(f, root, now, sizeof now), *first = f->class->name, *end = strstr(first, "For");
    const size_t n = end ? (size_t)(end - first) : 0;
    if (!name || !n || strncmp(name, first, n) != 0) return false;
    return !strncmp(name + n, "For", 3) || !strncmp(name + n, "LMHead", 6) || !strcmp(name + n, "Model");
}

/* Whether any family's class is that of the file. */
static bool is_known(bool (*has)(const rf_family_config *f, const json_t *root), const json_t *root)
{
    for (const rf_family_config *const *e = rf__config_families; *e; e++)
        if (has(*e, root)) return true;
    return false;
}

/* Whether model_type or, if it is missing, the class leads to f. */
static bool is_called(const rf_family_config *f, const json_t *root)
{
    const json_t *type = json_object_get(root, "model_type");
    if (type && !json_is_null(type))
        return json_is_string(type) &&
               (!strcmp(json_string_value(type), f->model_type) ||
                (f->older.type && !strcmp(json_string_value(type), f->older.type)));
    if (is_known(has_class, root)) return has_class(f, root);
    if (is_known(has_stem, root)) return has_stem(f, root);
    return !strcmp(f->model_type, rf__config_families[0]->model_type);
}

/* A file without model_type is not a RoFormer if it names another model's class. */
static rf_status check_class(const char *file, const json_t *root, rf_error *why)
{
    const json_t *type = json_object_get(root, "model_type");
    const char *name = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    if (!name || (type && !json_is_null(type)) || is_known(has_class, root) || is_known(has_stem, root)) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: architectures: expected the class of a supported model, as there is no "
                   "model_type, got \"%s\"", file, rf__printable(name).text);
}

static bool agrees(const rf_config_sign *s, const json_t *root)
{
    const json_t *v = json_object_get(root, s->key);
    if (!v || json_is_null(v)) return !s->required;
    return s->text ? json_is_string(v) && !strcmp(json_string_value(v), s->text)
                   : json_is_boolean(v) && json_is_true(v) == s->truth;
}

static bool names_code(const json_t *root, const char *text)
{
    json_t *map = json_object_get(root, "auto_map"), *value;
    const char *key;
    json_object_foreach(map, key, value)
        if (json_is_string(value) && strstr(json_string_value(value), text)) return true;
    return false;
}

/* Code that transformers downloads and runs with trust_remote_code computes something else than its own class. */
static rf_status check_code(const rf_family_config *f, const char *file, const json_t *root, rf_error *why)
{
    static const char model[] = "AutoModel";
    json_t *map = json_object_get(root, "auto_map"), *value;
    const char *key;
    if (f->coded) return RF_OK;
    json_object_foreach(map, key, value)
        if (!strncmp(key, model, sizeof model - 1) && json_is_string(value))
            return rf_fail(why, RF_EUNSUPPORTED, "%s: auto_map: %s: expected none for a %s, got \"%.100s\": what this "
                           "code computes is unknown here; remove auto_map if it is what transformers' own class "
                           "computes", file, rf__printable(key).text, f->title,
                           rf__printable(json_string_value(value)).text);
    return RF_OK;
}

/* The first key of f that does not match; NULL: all match. */
static const rf_config_sign *stranger(const rf_family_config *f, const json_t *root)
{
    for (const rf_config_sign *s = f->sign; s && s->key; s++)
        if (!agrees(s, root)) return s;
    return NULL;
}

static rf_status unknown_type(const char *file, const json_t *type, rf_error *why)
{
    char names[200];
    if (!json_is_string(type)) return rf__wrong_type(file, "model_type", type, "a string", why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: model_type: expected one of %s, got \"%s\"", file,
                   rf__config_family_names(names, sizeof names, true), rf__printable(json_string_value(type)).text);
}

rf_status rf__config_pick(const char *file, const json_t *root, const rf_family_config **out, rf_error *why)
{
    const rf_config_sign *s = NULL;                     /* of the first family of this model_type                     */
    const rf_status status = check_class(file, root, why);
    if (status) return status;
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        if (!is_called(*f, root)) continue;
        if ((*f)->code.text && names_code(root, (*f)->code.text) != (*f)->code.named) continue;
        const rf_config_sign *unlike = stranger(*f, root);
        if (!unlike) {
            *out = *f;
            return check_code(*f, file, root, why);
        }
        if (!s) s = unlike;
    }
    if (!s) return unknown_type(file, json_object_get(root, "model_type"), why);
    const json_t *v = json_object_get(root, s->key);
    if (!v)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected a value that identifies a supported model, got none",
                       file, s->key);
    if (!json_is_string(v) && s->text) return rf__wrong_type(file, s->key, v, "a string", why);
    if (!json_is_boolean(v) && !s->text) return rf__wrong_type(file, s->key, v, "true or false", why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected a value that identifies a supported model, got %s", file,
                   s->key,
                   json_is_string(v) ? rf__printable(json_string_value(v)).text : json_is_true(v) ? "true" : "false");
}
