/* config_rope.c — how config.json defines the scaling of rotary positions: rope_scaling, or rope_parameters (the newer
 * name, which also has rope_theta and partial_rotary_factor), and this project's rope_theta_per_layer. Families some of
 * whose layers see near tokens alone (`by_kind`) have an object of rope_parameters for each kind of layer.
 *
 * One table holds the numbers. Types are checked here; values are checked where angles are computed
 * (src/model/positions). */
#include <stdlib.h>

#include "store/family.h"
#include "store/store.h"

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

static rf_status wrong(const char *file, const char *key, const char *expected, const json_t *got, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: %s: expected %s, got %s", file, key, expected, rf__json_shown(got).text);
}

static rf_status read_numbers(const char *file, const char *key, const json_t *v, double *to, int64_t *n, size_t most,
                              rf_error *why)
{
    if (!json_is_array(v)) return wrong(file, key, "a list of numbers", v, why);
    if (json_array_size(v) > most)
        return rf_fail(why, RF_EDATA, "%s: %s: expected at most %zu numbers, got %zu", file, key, most,
                       json_array_size(v));
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *x = json_array_get(v, i);
        if (!json_is_number(x)) return wrong(file, key, "a list of numbers", x, why);
        to[i] = json_number_value(x);
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
    if (!json_is_string(v)) return wrong(file, "rope_type", "a string", v, why);
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
    if (!json_is_integer(v)) return wrong(file, key, "an integer", v, why);
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
            return wrong(file, "mrope_section", "a list of planes", v, why);
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
        const bool zero = json_is_number(v) && !(json_number_value(v) > 0 || json_number_value(v) < 0);
        if (!json_is_number(v)) status = wrong(file, numbers[i].name, "a number", v, why);
        else if (zero && numbers[i].at == offsetof(rf_rope_scaling, attention_factor))
            status = rf_fail(why, RF_EDATA, "%s: attention_factor: expected a number above 0, got 0, with which all "
                             "rotated queries and keys are zeros; remove it", file);
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
    if (!status && truncate && !json_is_boolean(truncate))
        status = wrong(file, "truncate", "true or false", truncate, why);
    if (!status && truncate) s->no_truncate = !json_is_true(truncate);
    if (!status && theta && !json_is_number(theta)) status = wrong(file, "rope_theta", "a number", theta, why);
    if (!status && theta) c->rope_theta = json_number_value(theta);
    if (!status && partial && !json_is_number(partial))
        status = wrong(file, "partial_rotary_factor", "a number", partial, why);
    if (!status && partial) c->partial_rotary_factor = json_number_value(partial);
    return status;
}

static const char *const names[] = {"rope_scaling", "rope_parameters"};

/* With both objects, transformers uses rope_scaling alone, unless it is empty. The original length next to them takes
 * precedence over the one inside. */
static rf_status read_flat(const rf_ctx *ctx, const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    int64_t beside = 0;
    rf_status status = RF_OK;
    for (size_t i = 0; i < RF_COUNT(names) && !status; i++) {
        const json_t *o = json_object_get(root, names[i]);
        if (i && json_object_size(json_object_get(root, names[0]))) continue;
        if (o && !json_is_null(o)) status = read_object(ctx, file, o, c, why);
    }
    if (!status) status = read_whole(file, root, "original_max_position_embeddings", &beside, why);
    if (!status && beside) c->rope_scaling.original_max_position_embeddings = beside;
    return status;
}

static const char *const kinds[] = {"full_attention", "sliding_attention"};

/* What the objects say about one kind of layer: the flat rope_scaling takes precedence. Of its type, transformers 5
 * reads the newer name alone, transformers 4 both. */
static rf_status read_kind(const rf_ctx *ctx, const char *file, const json_t *root, size_t kind, bool flat,
                           rf_config *part, rf_error *why)
{
    const json_t *both = json_object_get(root, names[1]), *own = json_object_get(both, kinds[kind]);
    const json_t *scaling = flat ? json_object_get(root, names[0]) : NULL;
    rf_status status = RF_OK;
    if (own && !json_is_null(own) && !json_is_object(own)) return wrong(file, kinds[kind], "an object", own, why);
    if (json_object_get(scaling, "type") && !json_object_get(scaling, "rope_type"))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_scaling: expected rope_type, got type, which not all versions "
                       "of transformers read for this model; rename it", file);
    if (own && !json_is_null(own)) status = read_object(ctx, file, own, part, why);
    if (!status && scaling && !json_is_null(scaling)) status = read_object(ctx, file, scaling, part, why);
    part->rope_scaling.no_truncate = json_is_false(json_object_get(both, "truncate"));
    return status;
}

static rf_status read_kinds(const rf_ctx *ctx, const rf_family_config *f, const char *file, const json_t *root,
                            rf_config *c, rf_error *why)
{
    rf_config part[2] = {*c, *c};
    rf_status status = RF_OK;
    part[1].rope_theta = c->local_rope_theta;
    for (size_t k = 0; k < RF_COUNT(kinds) && !status; k++)
        status = read_kind(ctx, file, root, k, !k || f->flat == RF_ROPE_OF_ALL, &part[k], why);
    if (status) return status;
    const rf_rope_scaling *s = &part[0].rope_scaling, *near = &part[1].rope_scaling;
    const bool all = s->rope_type != RF_ROPE_DEFAULT, some = near->rope_type != RF_ROPE_DEFAULT;
    char *one = rf__config_rope_json(&part[0]), *other = rf__config_rope_json(&part[1]);
    if (!one || !other) status = rf_fail(why, RF_ENOMEM, "%s: out of memory", file);
    else if (all && some && strcmp(one, other) != 0)
        status = rf_fail(why, RF_EUNSUPPORTED, "%s: rope_parameters: expected one scaling for full_attention and "
                         "sliding_attention, got two", file);
    free(one);
    free(other);
    c->rope_theta = part[0].rope_theta;
    c->local_rope_theta = part[1].rope_theta;
    c->rope_scaled_layers = all && some ? RF_ROPE_OF_ALL : some ? RF_ROPE_OF_LOCAL : RF_ROPE_OF_GLOBAL;
    if (all || some) c->rope_scaling = all ? *s : *near;
    else c->rope_scaled_layers = f->flat;
    return status;
}

rf_status rf__config_read_rope(const rf_ctx *ctx, const rf_family_config *f, const char *file, const json_t *root,
                               rf_config *c, rf_error *why)
{
    rf_status status = RF_OK;
    const bool rotates = f->any_position || !strcmp(f->position, "rotary");
    if (!rotates || rf__config_idle(f, names[0])) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        const json_t *o = json_object_get(root, names[i]);
        if (o && !json_is_null(o) && !json_is_object(o)) return wrong(file, names[i], "an object", o, why);
    }
    status = f->by_kind ? read_kinds(ctx, f, file, root, c, why) : read_flat(ctx, file, root, c, why);
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

/* scaled: 0: of layers that the scaling is not of. */
static json_t *rope_object(const rf_config *c, bool scaled)
{
    rf_rope_scaling s = scaled ? c->rope_scaling : (rf_rope_scaling){0};
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
    return o;
}

static char *text_of(json_t *o)
{
    char *text = o ? rf__json_dump(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

char *rf__config_rope_json(const rf_config *c) { return text_of(rope_object(c, true)); }

char *rf__config_kinds_json(const rf_config *c)
{
    json_t *both = json_object();
    for (size_t k = 0; k < RF_COUNT(kinds); k++) {
        json_t *o = rope_object(c, c->rope_scaled_layers == RF_ROPE_OF_ALL ||
                                       k == (c->rope_scaled_layers == RF_ROPE_OF_LOCAL));
        rf__json_set(&o, "rope_theta", json_real(k ? c->local_rope_theta : c->rope_theta));
        rf__json_set(&both, kinds[k], o);
    }
    return text_of(both);
}

bool rf__config_has_rope(const rf_config *c)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    return s->rope_type != RF_ROPE_DEFAULT || s->sections || s->original_max_position_embeddings;
}

char *rf__config_thetas_json(const rf_config *c)
{
    return text_of(list_json(c->rope_theta_per_layer, c->rope_thetas));
}
