/* config_keys.c — checks whether each key of a config.json that was written for a new model is known.
 *
 * A published folder may have any key; unknown keys are ignored, as in transformers. In a config.json that was written
 * by hand, an unknown key is usually a typing error, and the trained model would not be the intended one. */
#include <stdio.h>

#include "base/files/folder_keys.h"
#include "store/family.h"
#include "store/store.h"

/* Names of other models for keys of RoFormer's family. */
static const struct { const char *name, *ours; } elsewhere[] = {
    {"d_ff", "intermediate_size"}, {"d_model", "hidden_size"},          {"ffn_dim", "intermediate_size"},
    {"n_embd", "hidden_size"},     {"n_head", "num_attention_heads"},   {"n_heads", "num_attention_heads"},
    {"n_inner", "intermediate_size"}, {"n_layer", "num_hidden_layers"}, {"n_layers", "num_hidden_layers"},
    {"n_positions", "max_position_embeddings"}, {"num_heads", "num_attention_heads"},
    {"num_layers", "num_hidden_layers"}, {"rope_base", "rope_theta"},   {"rotary_base", "rope_theta"},
};

typedef struct looking_for { const char *key, *best; int distance; bool exact; } looking_for;

static void consider(looking_for *f, const char *name)
{
    const int d = rf__edit_distance(f->key, strlen(f->key), name, strlen(name));
    f->exact = f->exact || !strcmp(f->key, name);
    if (f->best && d >= f->distance) return;
    f->best = name;
    f->distance = d;
}

static void compare_all_keys(looking_for *find, const rf_family_config *f)
{
    for (size_t i = 0; i < rf__config_key_count(f); i++)
        if (rf__config_key_of(f, i)) consider(find, rf__config_key_of(f, i)->name);
    for (const rf_config_sign *s = f->sign; s && s->key; s++) consider(find, s->key);
    if (f->act) consider(find, f->act);
    for (const rf_config_alias *a = f->alias; a && a->name; a++) consider(find, a->name);
    for (const rf_known_key *k = f->known; k && k->name; k++) consider(find, k->name);
    for (const rf_known_key *k = rf__folder_keys; k->name; k++)
        if (k->file == RF_KEYS_CONFIG && k->state != RF_KEY_IDLE) consider(find, k->name);
}

static bool is_similar(const looking_for *f) { return f->distance <= rf__min64(3, (int64_t)strlen(f->key) / 4); }

static rf_status check_key(const char *path, const char *key, const rf_family_config *f, char *strange, size_t size,
                           rf_error *why)
{
    looking_for find = {.key = key};
    const rf_known_key *known = rf__folder_key(RF_KEYS_CONFIG, key);
    if (*key == '_' || (known && known->state == RF_KEY_IDLE)) return RF_OK;         /* "_": internal to transformers */
    compare_all_keys(&find, f);
    if (find.exact) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(elsewhere) && !f->pairs; i++)
        if (!strcmp(key, elsewhere[i].name)) find = (looking_for){.key = key, .best = elsewhere[i].ours};
    if (is_similar(&find))
        return rf_fail(why, RF_EDATA, "%s: no key is called %s; did you mean %s?", path, rf__printable(key).text,
                       find.best);
    rf__list_add(strange, size, rf__printable(key).text);
    return RF_OK;
}

/* Keys for features require linear attention. */
static rf_status check_features(const char *path, const json_t *root, rf_error *why)
{
    static const char *const theirs[] = {"feature_map",  "num_random_features",     "feature_seed", "feature_draw",
                                         "feature_epsilon", "feature_redraw_interval", "rotation_order"};
    if (json_object_get(root, "attention_type")) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(theirs); i++)
        if (json_object_get(root, theirs[i]))
            return rf_fail(why, RF_EDATA,
                           "%s: %s: expected \"attention_type\": \"linear\" beside it, got no attention_type; add "
                           "it, or \"softmax\" to ignore this key", path, theirs[i]);
    return RF_OK;
}

static rf_status check_root(const char *path, json_t *root, char *strange, size_t size, rf_error *why)
{
    const rf_family_config *f = NULL;
    const char *key;
    json_t *value;
    rf_status status = rf__config_pick(path, root, &f, why);
    json_object_foreach(root, key, value)
        if (!status) status = check_key(path, key, f, strange, size, why);
    return status ? status : check_features(path, root, why);
}

rf_status rf_config_read_new_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, char *strange,
                                   size_t strange_size, rf_error *why)
{
    if (!(ctx && path && out && strange && strange_size))
        return rf__missing("rf_config_read_new", "ctx, path, out, strange, strange_size", why);
    char file[RF_CONFIG_PATH];
    json_t *root;
    rf_error local = {0};
    if (!why) why = &local;
    *strange = 0;
    rf_status status = rf__config_root(ctx, path, file, &root, why);
    if (status) return status;
    status = check_root(file, root, strange, strange_size, why);
    if (!status) status = rf__config_of_path(ctx, path, file, root, out, size, why);
    json_decref(root);
    return status;
}

/* ---- published folders ------------------------------------------------------------------------------------------- */

typedef struct strange { const char *file; char *text; size_t size; } strange;

static void report_unknown_key(const strange *s, const char *key, const char *nearest)
{
    const size_t have = strlen(s->text), left = s->size - have;
    const int all = snprintf(s->text + have, left, "%s%s: unknown key %s; did you mean %s?", have ? " " : "", s->file,
                             rf__printable(key).text, nearest);
    if (all < 0 || (size_t)all >= left) s->text[have] = 0;
}

static void check_config_keys(const strange *s, json_t *root, const rf_family_config *f)
{
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        looking_for find = {.key = key};
        if (*key == '_' || rf__folder_key(RF_KEYS_CONFIG, key) || rf__folder_key(RF_KEYS_GENERATION, key)) continue;
        compare_all_keys(&find, f);
        if (!find.exact && is_similar(&find)) report_unknown_key(s, key, find.best);
    }
}

rf_status rf_config_unknown_keys(const rf_ctx *ctx, const char *folder, char *text, size_t size, rf_error *why)
{
    if (!(ctx && folder && text && size)) return rf__missing("rf_config_unknown_keys", "ctx, folder, text, size", why);
    char path[RF_CONFIG_PATH];
    json_t *root;
    const rf_family_config *f = NULL;
    rf_error local = {0};
    if (!why) why = &local;
    *text = 0;
    rf_status status = rf__config_root(ctx, folder, path, &root, why);
    if (status) return status;
    status = rf__config_pick(path, root, &f, why);
    if (!status) check_config_keys(&(strange){path, text, size}, root, f);
    json_decref(root);
    return status;
}
