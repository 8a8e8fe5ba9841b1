/* config_attention.c — how config.json defines the attention of a layer:
 *
 *     attention_type    "softmax", "linear", or a list with one of them for each layer
 *     feature_map       for linear attention: a row of feature_maps.def
 *     rotation_order    "eq19": features are rotated, in the numerator only; "before": queries and keys; "none"
 *
 * The values are checked here. Whether they can be combined is checked when the model is created
 * (src/model/layers/linear_attention.c). */
#include <stdio.h>

#include "kernel/attention/linear/feature_maps.h"
#include "store/store.h"

static const char *const types[] = {[RF_ATTENTION_SOFTMAX] = "softmax", [RF_ATTENTION_LINEAR] = "linear", NULL};
static const char *const orders[] = {
    [RF_ROTATE_FEATURES] = "eq19", [RF_ROTATE_BEFORE] = "before", [RF_ROTATE_NONE] = "none", NULL};

/* The index of v in a list that ends with NULL. */
static rf_status read_word(const char *file, const char *key, const json_t *v, const char *const words[], int *out,
                           rf_error *why)
{
    char all[200] = "", one[64];
    if (!json_is_string(v)) return rf__wrong_type(file, key, v, "a string", why);
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], json_string_value(v))) {
            *out = i;
            return RF_OK;
        }
        snprintf(one, sizeof one, "\"%s\"", words[i]);
        rf__list_add(all, sizeof all, one);
    }
    return rf_fail(why, RF_EDATA, "%s: %s: expected one of %s, got \"%s\"", file, key, all,
                   rf__printable(json_string_value(v)).text);
}

rf_status rf__config_wrong_layers(int64_t n, const rf_config *c, const char *name, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: attention_type: expected %lld layers (num_hidden_layers), got a list of %lld",
                   name, (long long)c->num_hidden_layers, (long long)n);
}

static rf_status read_types(const rf_ctx *ctx, const char *file, const json_t *v, rf_config *c, rf_error *why)
{
    int type = 0;
    if (!json_is_array(v)) {
        const rf_status s = read_word(file, "attention_type", v, types, &type, why);
        c->attention_type = (rf_attention_type)type;
        return s;
    }
    const size_t n = json_array_size(v);
    unsigned char each[1024];                           /* num_hidden_layers has been checked: at most 1,024 */
    if ((int64_t)n != c->num_hidden_layers || n > sizeof each) return rf__config_wrong_layers((int64_t)n, c, file, why);
    for (size_t i = 0; i < n; i++) {
        const rf_status s = read_word(file, "attention_type", json_array_get(v, i), types, &type, why);
        if (s) return s;
        each[i] = (unsigned char)type;
    }
    c->attention_type_per_layer = rf__ctx_keep(ctx, each, n);
    if (!c->attention_type_per_layer) return rf_fail(why, RF_ENOMEM, "out of memory: the list attention_type");
    c->attention_types = (int64_t)n;
    return RF_OK;
}

static rf_status read_map(const char *file, const json_t *v, rf_config *c, rf_error *why)
{
    const char *names[32] = {NULL};
    int at = 0;
    for (size_t i = 0; rfk__feature_map_list[i] && i + 1 < RF_COUNT(names); i++)
        names[i] = rfk__feature_map_list[i]->name;
    const rf_status s = read_word(file, "feature_map", v, names, &at, why);
    if (!s) snprintf(c->feature_map, sizeof c->feature_map, "%s", names[at]);
    return s;
}

rf_status rf__config_read_attention(const rf_ctx *ctx, const char *file, const json_t *root, rf_config *c,
                                    rf_error *why)
{
    const json_t *type = json_object_get(root, "attention_type"), *map = json_object_get(root, "feature_map");
    const json_t *order = json_object_get(root, "rotation_order");
    int at = (int)c->rotation_order;
    rf_status s = type ? read_types(ctx, file, type, c, why) : RF_OK;
    if (!s && map) s = read_map(file, map, c, why);
    if (!s && order) s = read_word(file, "rotation_order", order, orders, &at, why);
    c->rotation_order = (rf_rotation_order)at;
    return s;
}

bool rf__config_linear_attention(const rf_config *c, int64_t layer)
{
    bool any = c->attention_type == RF_ATTENTION_LINEAR;
    if (!c->attention_types) return any;
    if (layer >= 0) return c->attention_type_per_layer[layer] == RF_ATTENTION_LINEAR;
    any = false;
    for (int64_t l = 0; l < c->attention_types; l++) any = any || c->attention_type_per_layer[l] == RF_ATTENTION_LINEAR;
    return any;
}

json_t *rf__config_attention_json(const rf_config *c)
{
    json_t *o = json_object();
    if (c->attention_types) {
        json_t *list = json_array();
        for (int64_t l = 0; l < c->attention_types; l++)
            rf__json_add(&list, json_string(types[c->attention_type_per_layer[l]]));
        rf__json_set(&o, "attention_type", list);
    } else if (c->attention_type) {
        rf__json_set(&o, "attention_type", json_string(types[c->attention_type]));
    }
    if (rf__config_linear_attention(c, -1)) rf__json_set(&o, "feature_map", json_string(c->feature_map));
    if (c->rotation_order) rf__json_set(&o, "rotation_order", json_string(orders[c->rotation_order]));
    return o;
}

char *rf__config_attention_text(const rf_config *c)
{
    json_t *all = rf__config_attention_json(c);
    char *text = all ? rf__json_dump(all, JSON_SORT_KEYS) : NULL;
    json_decref(all);
    return text;
}
