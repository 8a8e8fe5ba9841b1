/* config_rope.c — how config.json defines the scaling of rotary positions: rope_scaling, or rope_parameters (the newer
 * name, which also has rope_theta and partial_rotary_factor), and this project's rope_theta_per_layer.
 *
 * One table holds the numbers. Types are checked here; values are checked where angles are computed
 * (src/model/positions). */
#include <stdlib.h>

#include "store.h"

static const struct { const char *name; rf_rope_type type;
} types[] = {
    {"default", RF_ROPE_DEFAULT}, {"linear", RF_ROPE_LINEAR}, {"ntk", RF_ROPE_NTK},
    {"dynamic", RF_ROPE_DYNAMIC}, {"yarn", RF_ROPE_YARN},     {"longrope", RF_ROPE_LONGROPE},
    {"llama3", RF_ROPE_LLAMA3},   {"su", RF_ROPE_LONGROPE},   {"mrope", RF_ROPE_DEFAULT}, /* older spellings */
};

const char *rf_rope_type_name(rf_rope_type t)
{
    for (size_t i = 0; i < RF_COUNT(types); i++)
        if (types[i].type == t) return types[i].name;
    return "default";
}


static const struct number { const char *name; size_t at;
} numbers[] = {
#define NUMBER(name) {#name, offsetof(rf_rope_scaling, name)}
    NUMBER(factor), NUMBER(attention_factor), NUMBER(beta_fast),       NUMBER(beta_slow),
    NUMBER(mscale), NUMBER(mscale_all_dim),   NUMBER(low_freq_factor), NUMBER(high_freq_factor),
#undef NUMBER
};

static const struct list { const char *name; size_t at, n; } lists[] = {
    {"short_factor", offsetof(rf_rope_scaling, short_factor), offsetof(rf_rope_scaling, shorts)},
    {"long_factor", offsetof(rf_rope_scaling, long_factor), offsetof(rf_rope_scaling, longs)},
};

static double *number_at(rf_rope_scaling *s, size_t at) { return (double *)(void *)((char *)s + at); }
static const double **list_at(rf_rope_scaling *s, size_t at) { return (const double **)(void *)((char *)s + at); }
static int64_t *whole_at(rf_rope_scaling *s, size_t at) { return (int64_t *)(void *)((char *)s + at); }

static rf_status wrong(const char *file, const char *key, const char *expected, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: %s: expected %s, got another value", file, key, expected);
}

static rf_status read_numbers(const char *file, const char *key, const json_t *v, double *to, int64_t *n, size_t most,
                              rf_error *why)
{
    if (!json_is_array(v)) return wrong(file, key, "a list of numbers", why);
    if (json_array_size(v) > most)
        return rf_fail(why, RF_EDATA, "%s: %s: expected at most %zu numbers, got %zu", file, key, most,
                       json_array_size(v));
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (!json_is_number(json_array_get(v, i))) return wrong(file, key, "a list of numbers", why);
        to[i] = json_number_value(json_array_get(v, i));
    }
    *n = (int64_t)json_array_size(v);
    return RF_OK;
}

/* The context keeps the numbers. */
static rf_status read_list(const rf_ctx *ctx, const char *file, const char *key, const json_t *v, const double **to,
                           int64_t *n, size_t most, rf_error *why)
{
    double x[RF_ROPE_LIST];
    const rf_status status = read_numbers(file, key, v, x, n, most, why);
    if (status) return status;
    *to = *n ? rf__ctx_keep(ctx, x, (size_t)*n * sizeof *x) : NULL;
    return *to || !*n ? RF_OK : rf_fail(why, RF_ENOMEM, "%s: out of memory for %s", file, key);
}

static rf_status read_type(const char *file, const json_t *o, rf_rope_scaling *s, rf_error *why)
{
    const json_t *v = json_object_get(o, "rope_type");
    if (!v) v = json_object_get(o, "type");
    if (!v || json_is_null(v)) return RF_OK;
    if (!json_is_string(v)) return wrong(file, "rope_type", "a string", why);
    for (size_t i = 0; i < RF_COUNT(types); i++)
        if (!strcmp(json_string_value(v), types[i].name)) {
            s->rope_type = types[i].type;
            return RF_OK;
        }
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: rope_type: expected default, linear, ntk, dynamic, yarn, longrope or llama3, got \"%s\"", file,
                   rf__printable(json_string_value(v)).text);
}

static rf_status read_whole(const char *file, const json_t *o, const char *key, int64_t *to, rf_error *why)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v)) return RF_OK;
    if (!json_is_integer(v)) return wrong(file, key, "an integer", why);
    *to = json_integer_value(v);
    return RF_OK;
}

static rf_status read_sections(const char *file, const json_t *v, rf_rope_scaling *s, rf_error *why)
{
    double n[RF_ROPE_SECTIONS] = {0};
    if (!v || json_is_null(v)) return RF_OK;
    const rf_status status = read_numbers(file, "mrope_section", v, n, &s->sections, RF_ROPE_SECTIONS, why);
    for (int i = 0; i < RF_ROPE_SECTIONS && !status; i++) {
        if (!(n[i] >= 0 && n[i] <= 65536 && n[i] == (double)(int64_t)n[i]))
            return wrong(file, "mrope_section", "a list of planes", why);
        s->mrope_section[i] = (int64_t)n[i];
    }
    return status;
}

static rf_status read_object(const rf_ctx *ctx, const char *file, const json_t *o, rf_config *c, rf_error *why)
{
    rf_rope_scaling *s = &c->rope_scaling;
    rf_status status = read_type(file, o, s, why);
    for (size_t i = 0; i < RF_COUNT(numbers) && !status; i++) {
        const json_t *v = json_object_get(o, numbers[i].name);
        if (!v || json_is_null(v)) continue;
        if (!json_is_number(v)) status = wrong(file, numbers[i].name, "a number", why);
        else *number_at(s, numbers[i].at) = json_number_value(v);
    }
    for (size_t i = 0; i < RF_COUNT(lists) && !status; i++) {
        const json_t *v = json_object_get(o, lists[i].name);
        if (v && !json_is_null(v))
            status = read_list(ctx, file, lists[i].name, v, list_at(s, lists[i].at), whole_at(s, lists[i].n),
                               RF_ROPE_LIST, why);
    }
    if (!status)
        status = read_whole(file, o, "original_max_position_embeddings", &s->original_max_position_embeddings, why);
    if (!status) status = read_whole(file, o, "final_length", &s->final_length, why);
    if (!status) status = read_sections(file, json_object_get(o, "mrope_section"), s, why);
    const json_t *truncate = json_object_get(o, "truncate"), *theta = json_object_get(o, "rope_theta");
    const json_t *partial = json_object_get(o, "partial_rotary_factor");
    if (!status && truncate && !json_is_boolean(truncate)) status = wrong(file, "truncate", "true or false", why);
    if (!status && truncate) s->no_truncate = !json_is_true(truncate);
    if (!status && theta && !json_is_number(theta)) status = wrong(file, "rope_theta", "a number", why);
    if (!status && theta) c->rope_theta = json_number_value(theta);
    if (!status && partial && !json_is_number(partial)) status = wrong(file, "partial_rotary_factor", "a number", why);
    if (!status && partial) c->partial_rotary_factor = json_number_value(partial);
    return status;
}

/* With both objects, transformers uses only rope_scaling, unless it is empty. */
rf_status rf__config_read_rope(const rf_ctx *ctx, const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    static const char *const names[] = {"rope_scaling", "rope_parameters"};
    rf_status status = read_whole(file, root, "original_max_position_embeddings",
                                  &c->rope_scaling.original_max_position_embeddings, why);
    for (size_t i = 0; i < RF_COUNT(names) && !status; i++) {
        const json_t *o = json_object_get(root, names[i]);
        if (!o || json_is_null(o)) continue;
        if (i && json_object_size(json_object_get(root, names[0]))) continue;
        status = json_is_object(o) ? read_object(ctx, file, o, c, why) : wrong(file, names[i], "an object", why);
    }
    const json_t *bases = json_object_get(root, "rope_theta_per_layer");
    if (!status && bases && !json_is_null(bases))
        status = read_list(ctx, file, "rope_theta_per_layer", bases, &c->rope_theta_per_layer, &c->rope_thetas,
                           RF_ROPE_LAYERS, why);
    return status;
}

/* ---- writing ---- */

static json_t *list_json(const double *x, int64_t n)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) rf__json_add(&list, json_real(x[i]));
    return list;
}

char *rf__config_rope_json(const rf_config *c)
{
    rf_rope_scaling s = c->rope_scaling;
    json_t *o = json_object();
    for (size_t i = 0; i < RF_COUNT(types); i++)
        if (types[i].type == s.rope_type) {
            rf__json_set(&o, "rope_type", json_string(types[i].name));
            break;
        }
    for (size_t i = 0; i < RF_COUNT(numbers); i++)
        if (*number_at(&s, numbers[i].at) != 0)
            rf__json_set(&o, numbers[i].name, json_real(*number_at(&s, numbers[i].at)));
    for (size_t i = 0; i < RF_COUNT(lists); i++)
        if (*whole_at(&s, lists[i].n))
            rf__json_set(&o, lists[i].name, list_json(*list_at(&s, lists[i].at), *whole_at(&s, lists[i].n)));
    if (s.original_max_position_embeddings)
        rf__json_set(&o, "original_max_position_embeddings", json_integer(s.original_max_position_embeddings));
    if (s.final_length) rf__json_set(&o, "final_length", json_integer(s.final_length));
    if (s.no_truncate) rf__json_set(&o, "truncate", json_false());
    if (s.sections) {
        json_t *list = json_array();
        for (int64_t i = 0; i < s.sections; i++) rf__json_add(&list, json_integer(s.mrope_section[i]));
        rf__json_set(&o, "mrope_section", list);
    }
    char *text = o ? rf__json_dump(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

bool rf__config_has_rope(const rf_config *c)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    return s->rope_type != RF_ROPE_DEFAULT || s->sections || s->original_max_position_embeddings;
}

char *rf__config_thetas_json(const rf_config *c)
{
    json_t *list = list_json(c->rope_theta_per_layer, c->rope_thetas);
    char *text = list ? rf__json_dump(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}

rf_status rf__no_rope_scaling(const char *file, const rf_config *c, rf_error *why)
{
    if (c->rope_scaling.rope_type == RF_ROPE_DEFAULT) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_scaling: expected null, got %s", file,
                   rf_rope_type_name(c->rope_scaling.rope_type));
}
