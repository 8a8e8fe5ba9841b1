/* quantized.c — weights in int8 in the format of compressed-tensors: W8A8 or, without activations, W8A16, one scale for
 * each row; tables that are looked up (targets "Embedding"), too, without activations.
 *
 *     w[j,p] = weight_scale[j,0] weight[j,p]         weight [n,k] I8, weight_scale [n,1], positive; no zero point
 *
 * quantization_config in config.json defines the activations: also int8, with one scale for each token that is computed
 * at run time; or none of them, so that only weights are in int8. Other schemes are refused, and the message names the
 * key. The types of the tensors show which weights are in int8; `targets` and `ignore` are for programs that must
 * create a model before they read its file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"

#define KEY "quantization_config"

/* ---- config.json ------------------------------------------------------------------------------------------------- */

/* A key with its permitted values, as JSON; `optional`: it may be missing. */
struct rule { const char *key, *value, *other; bool optional; };

static const struct rule top_rules[] = {
    {"quant_method", "\"compressed-tensors\"", NULL, false},
    {"format", "\"int-quantized\"", "\"naive-quantized\"", false},
    {"quantization_status", "\"compressed\"", NULL, true},
    {"kv_cache_scheme", "null", NULL, true},
    {"transform_config", "null", "{}", true},
    {"sparsity_config", "null", "{}", true},
    {"moe_sparsity_config", "null", NULL, true},
    {0},
};
static const struct rule weight_rules[] = {
    {"num_bits", "8", NULL, false},      {"type", "\"int\"", NULL, true},  {"symmetric", "true", NULL, true},
    {"strategy", "\"channel\"", NULL, false}, {"group_size", "null", NULL, true}, {"dynamic", "false", NULL, true}, {0},
};
static const struct rule activation_rules[] = {
    {"num_bits", "8", NULL, false},      {"type", "\"int\"", NULL, true},  {"symmetric", "true", NULL, true},
    {"strategy", "\"token\"", NULL, false}, {"group_size", "null", NULL, true}, {"dynamic", "true", NULL, false}, {0},
};
static const struct rule group_rules[] = {
    {"output_activations", "null", NULL, true},
    {"format", "null", "\"int-quantized\"", true},
    {0},
};

static rf_status keep_rules(const char *file, const char *path, const json_t *object, const struct rule *r,
                            rf_error *why)
{
    for (; r->key; r++) {
        const json_t *v = json_object_get(object, r->key);
        if (!v && r->optional) continue;
        char *text = v ? rf__json_dump(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        if (v && !text) return rf_fail(why, RF_ENOMEM, "%s: out of memory", file);
        const bool fine = text && (!strcmp(text, r->value) || (r->other && !strcmp(text, r->other)));
        if (!fine)
            rf_fail(why, RF_EUNSUPPORTED,
                    "%s: %s.%s: expected %s, got %.60s; supported quantized weights are int8 with one scale per row, "
                    "for int8 activations with one scale per token or for none (W8A8 and W8A16 of compressed-tensors, "
                    "not packed)", file, path, r->key,
                    r->value, text ? rf__printable(text).text : "no value");
        free(text);
        if (!fine) return RF_EUNSUPPORTED;
    }
    return RF_OK;
}

static rf_status check_part(const char *file, const char *group, const json_t *scheme, const char *part,
                            const struct rule *rules, rf_error *why)
{
    char path[192];
    const json_t *v = json_object_get(scheme, part);
    snprintf(path, sizeof path, KEY ".config_groups.%.60s.%s", rf__printable(group).text, part);
    if (!v || json_is_null(v))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: %s: expected an 8-bit scheme, got %s; int8 for activations only, or for weights only in "
                       "some of the groups, is not supported", file, path, v ? "null" : "none");
    if (!json_is_object(v)) return rf_fail(why, RF_EDATA, "%s: %s is not an object", file, path);
    return keep_rules(file, path, v, rules, why);
}

static const char tables[] = "Embedding";

static bool has_activations(const json_t *scheme)
{
    const json_t *input = json_object_get(scheme, "input_activations");
    return input && !json_is_null(input);
}

/* Whether a group is of tables alone, which have no activations. */
static bool is_of_tables(const json_t *scheme)
{
    const json_t *targets = json_object_get(scheme, "targets");
    const char *one = json_string_value(json_array_get(targets, 0));
    return one && json_array_size(targets) == 1 && !strcmp(one, tables) && !has_activations(scheme);
}

/* Whether no group has activations, and one of them has matrices. */
static bool is_of_weights(const json_t *groups)
{
    bool matrices = false;
    const char *name;
    json_t *scheme;
    json_object_foreach((json_t *)(uintptr_t)groups, name, scheme) {
        if (has_activations(scheme)) return false;
        matrices = matrices || !is_of_tables(scheme);
    }
    return matrices;
}

static rf_status check_group(const char *file, const char *name, const json_t *scheme, bool weights_only, rf_error *why)
{
    char path[160];
    snprintf(path, sizeof path, KEY ".config_groups.%.60s", rf__printable(name).text);
    if (!json_is_object(scheme)) return rf_fail(why, RF_EDATA, "%s: %s is not an object", file, path);
    rf_status status = check_part(file, name, scheme, "weights", weight_rules, why);
    if (!status && !weights_only && !is_of_tables(scheme))
        status = check_part(file, name, scheme, "input_activations", activation_rules, why);
    return status ? status : keep_rules(file, path, scheme, group_rules, why);
}

rf_status rf__quantized_read_config(const char *file, const json_t *root, int *out, rf_error *why)
{
    const json_t *q = json_object_get(root, KEY), *groups = json_object_get(q, "config_groups");
    const char *name;
    json_t *scheme;
    *out = 0;
    if (!q || json_is_null(q)) return RF_OK;
    if (!json_is_object(q)) return rf_fail(why, RF_EDATA, "%s: " KEY " is not an object", file);
    rf_status status = keep_rules(file, KEY, q, top_rules, why);
    if (!status && (!json_is_object(groups) || !json_object_size(groups)))
        status = rf_fail(why, RF_EDATA, "%s: " KEY ".config_groups is not an object with a group in it", file);
    if (status) return status;
    const bool weights_only = is_of_weights(groups);
    json_object_foreach((json_t *)(uintptr_t)groups, name, scheme)
        if (!status) status = check_group(file, name, scheme, weights_only, why);
    *out = status ? 0 : weights_only ? RF__WEIGHTS_QUANTIZED : RF__ALL_QUANTIZED;
    return status;
}

static json_t *part_json(const struct rule *rules)
{
    json_t *part = json_object();
    for (const struct rule *r = rules; r->key; r++)
        rf__json_set(&part, r->key, json_loads(r->value, JSON_DECODE_ANY, NULL));
    return part;
}

/* The same rules define what is written. compressed-tensors packs weights without activations, unless a format is
 * given. */
static json_t *group_json(const char *target, bool activations)
{
    json_t *group = part_json(group_rules);
    rf__json_set(&group, "targets", json_pack("[s]", target));
    rf__json_set(&group, "weights", part_json(weight_rules));
    rf__json_set(&group, "input_activations", activations ? part_json(activation_rules) : json_null());
    if (!activations) rf__json_set(&group, "format", json_string("int-quantized"));
    return group;
}

json_t *rf__quantized_json(const char *const *ignore, size_t n, bool words, bool activations)
{
    json_t *all = json_object(), *q = json_object(), *groups = json_object(), *list = json_array();
    for (size_t i = 0; i < n; i++) rf__json_add(&list, json_string(ignore[i]));
    rf__json_set(&groups, "group_0", group_json("Linear", activations));
    if (words) rf__json_set(&groups, "group_1", group_json(tables, false));
    for (const struct rule *r = top_rules; r->key; r++)
        if (strcmp(r->value, "null")) rf__json_set(&q, r->key, json_loads(r->value, JSON_DECODE_ANY, NULL));
    rf__json_set(&q, "config_groups", groups);
    rf__json_set(&q, "ignore", list);
    rf__json_set(&all, KEY, q);
    return all;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const char scale_ending[] = "_scale", zero_ending[] = "_zero_point";

bool rf__quantized(const rf_weight *t) { return t && !strcmp(t->dtype, "I8") && t->rank == 2; }

static const rf_weight *tensor_with_ending(const rf_weights *w, const rf_weight *t, const char *ending)
{
    char name[256];
    if (!rf__quantized(t) || (size_t)snprintf(name, sizeof name, "%s%s", t->name, ending) >= sizeof name) return NULL;
    return rf__weights_find(w, name);
}

/* Whether s has one scale for each row of t, in a type that can be read. */
static bool is_scale_of(const rf_weight *s, const rf_weight *t)
{
    return s && s->readable && s->rank == 2 && s->dim[0] == t->dim[0] && s->dim[1] == 1;
}

const rf_weight *rf__quantized_scale(const rf_weights *w, const rf_weight *t)
{
    const rf_weight *s = tensor_with_ending(w, t, scale_ending);
    return is_scale_of(s, t) ? s : NULL;
}

const rf_weight *rf__quantized_owner(const rf_weights *w, const rf_weight *t)
{
    static const char *const endings[] = {scale_ending, zero_ending};
    char name[256];
    const size_t n = strlen(t->name);
    for (size_t i = 0; i < RF_COUNT(endings); i++) {
        const size_t m = strlen(endings[i]);
        if (n <= m || n - m >= sizeof name || strcmp(t->name + n - m, endings[i])) continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - m), t->name);
        const rf_weight *owner = rf__weights_find(w, name);
        return rf__quantized(owner) ? owner : NULL;
    }
    return NULL;
}

static rf_status check_scales(const rf_weights *w, const rf_weight *s, const rf_ctx *ctx, rf_error *why)
{
    const rf__label name = rf__printable(s->name);
    float *x = rf__alloc(ctx, (s->count ? s->count : 1) * sizeof *x);
    if (!x) return rf_fail(why, RF_ENOMEM, "out of memory: %zu scales", s->count);
    rf_status status = rf__weights_read(w, s, x, 0, why);
    for (size_t j = 0; j < s->count && !status; j++)
        if (!(x[j] > 0) || isinf(x[j]))
            status = rf_fail(why, RF_EDATA, "%s: %s: scale of row %zu: expected a positive number, got %g",
                             rf__weights_name(w), name.text, j, (double)x[j]);
    rf__free(ctx, x);
    return status;
}

/* The zero point of a symmetric scheme is a list of zeros, which has no effect, or a contradiction. */
static rf_status check_zero_points(const rf_weights *w, const rf_weight *z, rf_error *why)
{
    const unsigned char *byte = z ? z->data : NULL;
    for (size_t i = 0; z && i < z->bytes; i++)
        if (byte[i])
            return rf_fail(why, RF_EUNSUPPORTED,
                           "%s: %s: expected zeros, got others; weights with a zero point are not supported",
                           rf__weights_name(w), rf__printable(z->name).text);
    return RF_OK;
}

rf_status rf__quantized_check(const rf_ctx *ctx, const rf_weights *w, const rf_weight *t, bool promised, rf_error *why)
{
    if (!rf__quantized(t)) return RF_OK;
    const rf__label name = rf__printable(t->name);
    const rf_weight *s = tensor_with_ending(w, t, scale_ending);
    if (!promised)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: tensor \"%s\": int8 weights: expected " KEY " in config.json, got none",
                       rf__weights_name(w), name.text);
    if (!s)
        return rf_fail(why, RF_EDATA,
                       "%s: tensor \"%s\" is in int8: expected \"%s%s\" with the scales of its rows, got none",
                       rf__weights_name(w), name.text, name.text, scale_ending);
    if (!is_scale_of(s, t))
        return rf_fail(why, RF_EDATA,
                       "%s: tensor \"%s\": expected a scale for each row, [%lld,1] in F32, BF16 or F16, got %s of "
                       "rank %d with %zu numbers", rf__weights_name(w), rf__printable(s->name).text,
                       (long long)t->dim[0], s->dtype, s->rank, s->count);
    const rf_status status = check_zero_points(w, tensor_with_ending(w, t, zero_ending), why);
    return status ? status : check_scales(w, s, ctx, why);
}

rf_status rf__quantized_spread(const rf_ctx *ctx, const rf_weights *w, const rf_weight *t, float *to, rf_error *why)
{
    const rf_weight *s = rf__quantized_scale(w, t);
    const size_t n = (size_t)t->dim[0], k = (size_t)t->dim[1];
    float *scale = rf__alloc(ctx, (n ? n : 1) * sizeof *scale);
    if (!scale) return rf_fail(why, RF_ENOMEM, "out of memory: %zu scales", n);
    const rf_status status = rf__weights_read(w, s, scale, 1, why);
    for (size_t j = 0; j < n && !status; j++)
        for (size_t p = 0; p < k; p++) to[j * k + p] *= scale[j];
    rf__free(ctx, scale);
    return status;
}
