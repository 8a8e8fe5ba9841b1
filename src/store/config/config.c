/* config.c — config.json as transformers' classes read and write it.
 *
 * One table holds the keys that families have in common, with member, default and range. The row of a family
 * (store/family.h) replaces some of them and adds others. Reading, checking (config_check.c) and writing
 * (config_write.c) go through both. Keys that are in neither are ignored, except those that would change the
 * mathematics. These are refused by name: a model that loads and computes something else is worse than one that does
 * not load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/files/json_file.h"
#include "kernel/acts.h"
#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/generation.h"
#include "store/store.h"
#include "store/task.h"
#include "store/formats/tensorflow/tensorflow.h"

/* ---- the keys ---------------------------------------------------------------------------------------------------- */

static const rf_config_key keys[] = {
#define OUR(name, kind, normal, low, high, flags) RF_CONFIG_KEY(name, kind, normal, low, high, (flags) | RF_KEY_OURS)
#define WIDE(name, kind, normal, low, high, flags) OUR(name, kind, normal, low, high, (flags) | RF_KEY_ANY_POSITION)
    RF_USUAL(attention_probs_dropout_prob, 0.1, 0),
    RF_USUAL(embedding_size, 768, 0),
    RF_USUAL(hidden_dropout_prob, 0.1, 0),
    RF_USUAL(hidden_size, 768, 0),
    RF_CONFIG_KEY(initializer_range, NUMBER, 0.02, 0, 100, RF_KEY_OPEN_LOW),
    RF_USUAL(intermediate_size, 3072, 0),
    RF_USUAL(layer_norm_eps, 1e-12, 0),
    RF_USUAL(max_position_embeddings, 1536, 0),           /* [CLS] and [SEP] */
    RF_USUAL(num_attention_heads, 12, 0),
    RF_USUAL(num_hidden_layers, 12, 0),
    RF_USUAL(pad_token_id, 0, 0),
    RF_USUAL(rope_theta, 10000, RF_KEY_OURS),
    RF_CONFIG_KEY(rotary_value, TRUTH, 0, 0, 1, 0),
    RF_USUAL(tie_word_embeddings, 1, 0),
    RF_CONFIG_KEY(type_vocab_size, WHOLE, 2, 1, 65536, 0),
    RF_USUAL(vocab_size, 50000, 0),
    OUR(cape_max_global_scaling, NUMBER, 1.03, 1, 10, 0),
    OUR(cape_max_global_shift, NUMBER, 5, 0, 1e6, 0),
    OUR(cape_max_local_shift, NUMBER, 0.5, 0, 0.5, 0),
    OUR(clamp_len, WHOLE, -1, -1, 16777216, 0),
    OUR(concat_width, WHOLE, 0, 0, 65536, 0),
    OUR(conv_kernel_size, WHOLE, 3, 1, 63, 0),
    OUR(is_decoder, TRUTH, 0, 0, 1, 0),
    OUR(feature_draw, WHOLE, 0, 0, 1e12, RF_KEY_STATE),
    OUR(feature_epsilon, NUMBER, -1, 0, 1, RF_KEY_NULL),
    OUR(feature_redraw_interval, WHOLE, 0, 0, 1e15, 0),
    OUR(feature_seed, WHOLE, -1, 0, 9007199254740991, RF_KEY_NULL),
    OUR(hierarchical_alpha, NUMBER, 0.4, 0, 1, RF_KEY_OPEN_LOW | RF_KEY_OPEN_HIGH),
    RF_USUAL(max_relative_position, 64, RF_KEY_OURS),
    OUR(max_relative_positions, WHOLE, -1, -1, 1048576, 0),
    OUR(num_random_features, WHOLE, -1, 1, 16777216, RF_KEY_NULL),
    WIDE(partial_rotary_factor, NUMBER, 1, 0, 1, RF_KEY_OPEN_LOW),
    OUR(position_buckets, WHOLE, -1, -1, 1048576, 0),
    OUR(position_grid_height, WHOLE, 0, 0, 65536, 0),
    OUR(position_grid_width, WHOLE, 0, 0, 65536, 0),
    OUR(position_step, NUMBER, 0.1, 0, 10, RF_KEY_OPEN_LOW),
    OUR(relative_attention_max_distance, WHOLE, 128, 1, 1048576, 0),
    OUR(relative_attention_num_buckets, WHOLE, 32, 2, 65536, 0),
    OUR(rerope_leak, NUMBER, 0, 0, 1e6, 0),
    OUR(rerope_window, WHOLE, 512, 1, 1048576, 0),
    OUR(rope_interleave, TRUTH, 1, 0, 1, 0),
    WIDE(rotary_heads, WHOLE, 0, 0, 4096, 0),
    WIDE(rotary_value_inverse, TRUTH, 0, 0, 1, 0),
    OUR(sandwich_width, WHOLE, 128, 2, 65536, 0),
    WIDE(scale_embedding, TRUTH, 0, 0, 1, 0),
    OUR(share_att_key, TRUTH, 0, 0, 1, 0),
    OUR(sinusoidal_base, NUMBER, 10000, 1, 1e18, RF_KEY_OPEN_LOW),
    WIDE(use_logn_attn, TRUTH, 0, 0, 1, 0),
    OUR(xpos_scale_base, NUMBER, 512, 0, 1e9, RF_KEY_OPEN_LOW),
#undef WIDE
#undef OUR
};

const char *rf__config_act_name(rf_act act)
{
    const rf__activation *row = rf__act_row(act);
    return row ? row->name[0] : NULL;
}

double rf__config_value(const rf_config *c, const rf_config_key *k)
{
    const void *at = (const char *)c + k->at;
    return k->kind == RF_KEY_WHOLE    ? (double)*(const int64_t *)at
           : k->kind == RF_KEY_NUMBER ? *(const double *)at
                                      : *(const int *)at;
}

static void set_at(rf_config *c, const rf_config_key *k, double x)
{
    void *at = (char *)c + k->at;
    if (k->kind == RF_KEY_WHOLE) *(int64_t *)at = (int64_t)x;
    else if (k->kind == RF_KEY_NUMBER) *(double *)at = x;
    else *(int *)at = x != 0;
}

int64_t rf__config_first_position(const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    for (const rf_config_key *own = f ? f->key : NULL; own && own->name; own++)
        if (own->flags & RF_KEY_AFTER_PAD) return c->pad_token_id + 1;
    return 0;
}

bool rf__config_idle(const rf_family_config *f, const char *key)
{
    for (const rf_known_key *k = f->known; k && k->name; k++)
        if (!strcmp(k->name, key)) return k->state == RF_KEY_IDLE;
    return false;
}

bool rf__config_lacks(const rf_family_config *f, const char *key)
{
    for (const rf_config_key *own = f->key; own && own->name; own++)
        if (!strcmp(own->name, key)) return own->kind == RF_KEY_NONE;
    return false;
}

/* Whether a file without embedding_size has hidden_size there: the family has no default of its own. */
static bool follows_width(const rf_family_config *f)
{
    for (const rf_config_key *own = f->key; own && own->name; own++)
        if (!strcmp(own->name, "embedding_size")) return own->kind == RF_KEY_NONE;
    return true;
}

size_t rf__config_key_count(const rf_family_config *f)
{
    size_t n = RF_COUNT(keys);
    for (const rf_config_key *own = f->key; own && own->name; own++) n++;
    return n;
}

const rf_config_key *rf__config_key_of(const rf_family_config *f, size_t i)
{
    const rf_config_key *own = f->key;
    if (i < RF_COUNT(keys)) {
        for (; own && own->name; own++)
            if (!strcmp(own->name, keys[i].name)) return own->kind == RF_KEY_NONE ? NULL : own;
        return keys[i].flags & RF_KEY_ANY_POSITION && !f->any_position ? NULL : &keys[i];
    }
    for (size_t j = RF_COUNT(keys); own && own->name; own++, j++) {
        if (j < i) continue;
        for (size_t k = 0; k < RF_COUNT(keys); k++)
            if (!strcmp(own->name, keys[k].name)) return NULL;
        return own->kind == RF_KEY_NONE ? NULL : own;
    }
    return NULL;
}

static void set_defaults(const rf_family_config *f, rf_config *c)
{
    const rf_act act = f->usual_act ? f->usual_act : RF_ACT_GELU;
    *c = (rf_config){.size = sizeof *c, .hidden_act = act, .classifier_dropout = -1, .num_labels = 2,
                       .summary_activation = RF_ACT_GELU};
    snprintf(c->family, sizeof c->family, "%s", f->name);
    snprintf(c->architecture, sizeof c->architecture, "%s", f->class->name);
    snprintf(c->position_embedding_type, sizeof c->position_embedding_type, "%s", f->position);
    snprintf(c->feature_map, sizeof c->feature_map, "favor");
    for (size_t i = 0; i < RF_COUNT(keys); i++) set_at(c, &keys[i], keys[i].normal);
    for (size_t i = 0; i < rf__config_key_count(f); i++)
        if (rf__config_key_of(f, i)) set_at(c, rf__config_key_of(f, i), rf__config_key_of(f, i)->normal);
    if (f->one_width || follows_width(f)) c->embedding_size = c->hidden_size;
    if (f->summarizes) c->summary = RF_SUMMARY_FIRST;
    if (!f->pairs && rf__config_lacks(f, "type_vocab_size")) c->type_vocab_size = 0;
    c->rope_scaled_layers = f->flat;
}

_Static_assert(sizeof(rf_rope_scaling) <= RF_ROPE_SCALING_MOST, "it stays within what a config keeps free for it");

static void begin(const rf_family_config *f, rf_config *c, size_t size)
{
    rf_config own;
    set_defaults(f, &own);
    own.max_position_embeddings -= rf__config_first_position(&own);
    rf__options_init(c, size, &own, sizeof own);
}

void rf_config_init(rf_config *c, size_t size) { begin(rf__config_families[0], c, size); }

rf_status rf_config_defaults_of_sized(const char *family, rf_config *c, size_t size, rf_error *why)
{
    char names[200];
    if (!(family && c)) return rf__missing("rf_config_defaults_of", "family, config", why);
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        if (!strcmp((*f)->name, family)) {
            begin(*f, c, size);
            return RF_OK;
        }
    return rf_fail(why, RF_EARG, "family: expected one of %s, got \"%s\"",
                   rf__config_family_names(names, sizeof names, false), rf__printable(family).text);
}

bool rf__config_same_positions(const rf_config *a, const rf_config *b)
{
    char *text[4] = {rf__config_rope_json(a), rf__config_rope_json(b), rf__config_attention_text(a),
                     rf__config_attention_text(b)};
    bool same = !strcmp(a->position_embedding_type, b->position_embedding_type) && a->rope_thetas == b->rope_thetas &&
                a->rope_scaled_layers == b->rope_scaled_layers && a->deberta == b->deberta;
    for (size_t i = 0; i < RF_COUNT(text); i += 2)
        same = same && !strcmp(text[i] ? text[i] : "", text[i + 1] ? text[i + 1] : "");
    for (size_t i = 0; i < RF_COUNT(keys) && same; i++) {
        const double x = rf__config_value(a, &keys[i]), y = rf__config_value(b, &keys[i]);
        same = !(keys[i].flags & RF_KEY_OURS) || keys[i].flags & RF_KEY_STATE || (x <= y && x >= y);
    }
    for (int64_t l = 0; l < a->rope_thetas && same; l++)
        same = a->rope_theta_per_layer[l] == b->rope_theta_per_layer[l];
    for (size_t i = 0; i < RF_COUNT(text); i++) free(text[i]);
    return same;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *type_of(const json_t *v)
{
    static const char *const name[] = {"an object",  "a list", "a string", "an integer",
                                       "a fraction", "true",   "false",    "null"};
    return name[json_typeof(v)];
}

rf_status rf__wrong_type(const char *file, const char *key, const json_t *v, const char *expected, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: %s: expected %s, got %s", file, key, expected, type_of(v));
}

rf_status rf__config_read_key(const char *file, const rf_config_key *k, const json_t *v, rf_config *c, rf_error *why)
{
    if (k->flags & RF_KEY_NULL && json_is_null(v)) {
        set_at(c, k, -1);
    } else if (k->flags & RF_KEY_OURS && json_is_null(v)) {
        return RF_OK;
    } else if (k->kind == RF_KEY_TRUTH) {
        if (!json_is_boolean(v)) return rf__wrong_type(file, k->name, v, "true or false", why);
        set_at(c, k, json_is_true(v));
    } else if (k->kind == RF_KEY_NUMBER) {
        if (!json_is_number(v)) return rf__wrong_type(file, k->name, v, "a number", why);
        set_at(c, k, json_number_value(v));
    } else {
        if (!json_is_integer(v)) return rf__wrong_type(file, k->name, v, "an integer", why);
        const int64_t n = json_integer_value(v);
        const bool narrows = k->flags & RF_KEY_UNGATED && n > 0 && n <= INT32_MAX;
        *(int64_t *)(void *)((char *)c + k->at) = narrows ? (2 * n / 3 + 7) / 8 * 8 : n;
    }
    return rf__config_check_key(c, k, file, why);
}

/* Refuses keys of models that the family does not have: decoders that attend to an encoder, or decoders at all. */
static rf_status refuse_relatives(const rf_family_config *f, const char *file, const json_t *root, rf_error *why)
{
    static const char *const keys_of_pairs[] = {"add_cross_attention", "is_encoder_decoder"};
    for (size_t i = 0; i < RF_COUNT(keys_of_pairs); i++) {
        const char *key = keys_of_pairs[i];
        const json_t *v = json_object_get(root, key);
        if (!v || json_is_null(v) || json_is_false(v) || (f->pairs && !strcmp(key, "is_encoder_decoder"))) continue;
        if (!json_is_true(v)) return rf__wrong_type(file, key, v, "true or false", why);
        return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected false, got true; models with this key are not supported",
                       file, key);
    }
    if (!f->pairs && rf__config_lacks(f, "is_decoder") && json_is_true(json_object_get(root, "is_decoder")))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: is_decoder: expected false, got true; %s has no causal model", file,
                       f->title);
    return RF_OK;
}

/* transformers 5 lets this key choose which tokens see later ones; transformers 4 does not know it. */
static rf_status check_causal(const rf_family_config *f, const char *file, const json_t *root, const rf_config *c,
                              rf_error *why)
{
    const json_t *v = json_object_get(root, "is_causal");
    if (!v || json_is_null(v) || f->pairs) return RF_OK;
    if (!json_is_boolean(v)) return rf__wrong_type(file, "is_causal", v, "true or false", why);
    if (json_is_true(v) == (c->is_decoder != 0)) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: is_causal: expected %s, got %s: in this model, tokens see %s; remove it, "
                   "or write the expected value", file, c->is_decoder ? "true" : "false",
                   c->is_decoder ? "false" : "true", c->is_decoder ? "earlier ones alone" : "all others");
}

const char *rf__config_act_key(const rf_family_config *f) { return f->act ? f->act : "hidden_act"; }

bool rf__act_named(const char *name, rf_act *out)
{
    for (int i = RF_ACT_NONE + 1; i < RF__ACTS; i++)
        for (const char *const *one = rf__act_row((rf_act)i)->name; *one; one++)
            if (!strcmp(name, *one)) return *out = (rf_act)i, true;
    return false;
}

rf_status rf__config_read_act(const char *file, const json_t *root, const char *key, rf_act *out, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    if (!v) return RF_OK;
    if (!json_is_string(v)) return rf__wrong_type(file, key, v, "a string", why);
    if (rf__act_named(json_string_value(v), out)) return RF_OK;
    static const char names[] =
#define RFA(constant, kernel, torch, y, ...) #__VA_ARGS__ ", "
#include "roformer/kernel/acts.def"
#undef RFA
        ;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected one of %sgot \"%s\"", file, key, names,
                   rf__printable(json_string_value(v)).text);
}

static rf_status read_act(const rf_family_config *f, const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const char *key = rf__config_act_key(f), *name = json_string_value(json_object_get(root, key));
    if (rf__config_idle(f, key)) return RF_OK;
    if (f->act_name && name && !strcasecmp(name, f->act_name)) return c->hidden_act = f->usual_act, RF_OK;
    return rf__config_read_act(file, root, key, &c->hidden_act, why);
}

/* Reads the name of an encoding into one of the two texts of a config. Where a family's class has one encoding and does
 * not read the key (RF_KEY_IDLE), it may have the names that older classes wrote. */
static rf_status read_position(const rf_family_config *f, const char *file, const json_t *root, const char *key,
                               char *to, size_t size, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    if (!v || json_is_null(v)) return RF_OK;
    if (!json_is_string(v)) return rf__wrong_type(file, key, v, "a string", why);
    const char *name = json_string_value(v);
    if (rf__config_idle(f, key) && (!strcmp(name, "absolute") || !strcmp(name, "rope"))) return RF_OK;
    if (strlen(name) >= size)
        return rf_fail(why, RF_EDATA,
                       "%s: %s: expected a position encoding that `roformer positions` lists, got \"%s\"", file, key,
                       rf__printable(name).text);
    memcpy(to, name, strlen(name) + 1);
    return RF_OK;
}

/* The pooler of RoFormer-Sim, SimBERT and other models of PyPI's roformer. "tanh" is the usual one, which the heads
 * contain. */
static rf_status read_pooler(const rf_family_config *f, const char *file, const json_t *root, rf_config *c,
                             rf_error *why)
{
    const json_t *x = f->vectors ? json_object_get(root, RF_POOLER_KEY) : NULL;
    const char *act = json_string_value(x);
    c->linear_pooler = act && !strcmp(act, "linear");
    if (!x || json_is_null(x) || c->linear_pooler || (act && !strcmp(act, "tanh"))) return RF_OK;
    if (!act) return rf__wrong_type(file, RF_POOLER_KEY, x, "a string", why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: " RF_POOLER_KEY ": expected tanh or linear, got \"%s\"", file,
                   rf__printable(act).text);
}

static rf_status read_positions(const rf_family_config *f, const char *file, const json_t *root, rf_config *c,
                                rf_error *why)
{
    rf_status s = read_position(f, file, root, "position_embedding_type", c->position_embedding_type,
                                sizeof c->position_embedding_type, why);
    if (!s && f->pairs)
        s = read_position(f, file, root, "decoder_position_embedding_type", c->decoder_position_embedding_type,
                          sizeof c->decoder_position_embedding_type, why);
    return s;
}

/* Keys of DeBERTa's own config.json that would change the mathematics of a RoFormer with its encoding. Where they are
 * missing, their defaults are what this library computes. */
static rf_status refuse_debertas(const rf_family_config *f, const char *file, const json_t *root, const rf_config *c,
                                 rf_error *why)
{
    if (!f->any_position || strcmp(c->position_embedding_type, "deberta")) return RF_OK;
    const json_t *norm = json_object_get(root, "norm_rel_ebd"), *kinds = json_object_get(root, "pos_att_type");
    const json_t *kernel = json_object_get(root, "conv_kernel_size");
    if (norm && !(json_is_string(norm) && !strcmp(json_string_value(norm), "layer_norm")))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: norm_rel_ebd: expected \"layer_norm\", got %s; position embeddings "
                       "without a norm are not supported", file, rf__json_shown(norm).text);
    char *text = kinds ? rf__json_dump(kinds, JSON_ENCODE_ANY) : NULL;
    const bool both = !kinds || (text && strstr(text, "c2p") && strstr(text, "p2c") && !strstr(text, "p2p"));
    free(text);
    if (!both)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: pos_att_type: expected \"p2c|c2p\", got %s; attention with one of "
                       "the terms is not supported", file, rf__json_shown(kinds).text);
    if (kernel && json_integer_value(kernel) > 0)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: conv_kernel_size: expected 0, got %lld; the convolution of DeBERTa's first layer is not "
                       "supported", file, (long long)json_integer_value(kernel));
    return RF_OK;
}

static rf_status read_architecture(const rf_family_config *f, const char *file, const json_t *v, rf_config *c,
                                   rf_error *why)
{
    char now[sizeof c->architecture];
    if (!v || json_is_null(v) || (json_is_array(v) && !json_array_size(v))) return RF_OK;
    if (!json_is_array(v) || !json_is_string(json_array_get(v, 0)))
        return rf__wrong_type(file, "architectures", v, "a list of strings", why);
    const char *name = json_string_value(json_array_get(v, 0));
    if (strlen(name) >= sizeof c->architecture)
        return rf_fail(why, RF_EDATA, "%s: architectures[0]: expected at most %zu bytes, got %zu", file,
                       sizeof c->architecture - 1, strlen(name));
    name = rf__config_class_now(f, name, now, sizeof now);
    memcpy(c->architecture, name, strlen(name) + 1);
    return RF_OK;
}

/* Converts the number of rows of the table to the number of positions. */
static rf_status read_first_position(const char *file, rf_config *c, rf_error *why)
{
    const int64_t first = rf__config_first_position(c), rows = c->max_position_embeddings;
    if (!first) return RF_OK;
    if (rows < first + 2)
        return rf_fail(why, RF_EDATA,
                       "%s: max_position_embeddings: expected at least %lld, pad_token_id %lld + 1 and two positions, "
                       "got %lld", file, (long long)first + 2, (long long)c->pad_token_id, (long long)rows);
    c->max_position_embeddings = rows - first;
    return RF_OK;
}

static rf_status read_root(const rf_ctx *ctx, const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    bool embedding;
    const rf_family_config *f = NULL;
    rf_status s = rf__config_pick(file, root, &f, why);
    if (!s) s = refuse_relatives(f, file, root, why);
    if (!s) s = rf__known_keys_check(f->known, file, root, why);
    if (s) return s;
    set_defaults(f, c);
    embedding = !follows_width(f);
    s = rf__config_aliases_read(f, file, root, c, why);
    for (size_t i = 0; i < rf__config_key_count(f) && !s; i++) {
        const rf_config_key *k = rf__config_key_of(f, i);
        const json_t *v = k ? json_object_get(root, k->name) : NULL;
        if (!v || (json_is_null(v) && !embedding && !strcmp(k->name, "embedding_size"))) continue;
        if (rf__config_idle(f, k->name)) continue;
        s = rf__config_read_key(file, k, v, c, why);
        if (!strcmp(k->name, "embedding_size")) embedding = true;
    }
    if (!s) s = read_first_position(file, c, why);
    if (!s) s = read_act(f, file, root, c, why);
    if (!s) s = rf__config_read_rope(ctx, f, file, root, c, why);
    if (!s) s = rf__config_read_attention(ctx, file, root, c, why);
    if (!s) s = read_positions(f, file, root, c, why);
    if (!s) s = refuse_debertas(f, file, root, c, why);
    if (!s) s = read_architecture(f, file, json_object_get(root, "architectures"), c, why);
    if (!s && f->read) s = f->read(file, root, c, why);
    if (!s) s = check_causal(f, file, root, c, why);
    if (!s) s = rf__config_aliases_agree(f, file, root, c, why);
    if (!s) s = read_pooler(f, file, root, c, why);
    if (!s) s = rf__task_read(file, root, c, why);
    if (!s) s = rf__quantized_read_config(file, root, &c->quantized, why);
    if (!embedding) c->embedding_size = c->hidden_size;
    return s ? s : rf__config_check_all(c, file, why);
}

rf_status rf__config_of_root(const rf_ctx *ctx, const char *name, const json_t *root, rf_config *out, size_t size,
                             rf_error *why)
{
    rf_config c;
    const rf_status status = read_root(ctx, name, root, &c, why);
    if (!status) rf__options_init(out, size, &c, sizeof c);
    return status;
}

rf_status rf__config_of_path(const rf_ctx *ctx, const char *path, const char *name, const json_t *root, rf_config *out,
                             size_t size, rf_error *why)
{
    rf_config c;
    rf_status status = read_root(ctx, name, root, &c, why);
    if (!status && rf__holds_folder(ctx, path)) status = rf__tied_head_read(ctx, path, &c, why);
    if (!status) rf__options_init(out, size, &c, sizeof c);
    return status;
}

rf_status rf_config_parse_sized(const rf_ctx *ctx, const char *json, size_t bytes, const char *name, rf_config *out,
                                size_t size, rf_error *why)
{
    if (!(ctx && json && name && out)) return rf__missing("rf_config_parse", "ctx, json, name, out", why);
    rf_error local = {0};
    if (!why) why = &local;
    json_t *root = rf__json_parse(json, bytes, 0, name, why);
    if (!root) return why->code;
    const rf_status status = rf__config_of_root(ctx, name, root, out, size, why);
    json_decref(root);
    return status;
}

/* transformers adds the numbers of an adapter to the weights, which may be in another folder. */
static rf_status check_adapter(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char path[RF_CONFIG_PATH];
    const rf_status status = rf__path(path, sizeof path, folder, RF_FILE_ADAPTER, why);
    if (status || !rf__is_there(ctx, path)) return status;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%.200s: the folder holds an adapter (LoRA and the like), and its weights alone are not the model: "
                   "expected a whole model, got an adapter; write one with PEFT's merge_and_unload and save_pretrained",
                   path);
}

/* For a folder without config.json: it has weights that need another file, or that cannot be read. */
static rf_status check_checkpoint(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char path[RF_CONFIG_PATH];
    if (!rf__path(path, sizeof path, folder, RF_FILE_TF_INDEX, NULL) && rf__is_there(ctx, path))
        return rf_fail(why, RF_EDATA, "%.200s: expected %s beside %s, got none; it came with the checkpoint", folder,
                       RF_FILE_TF_CONFIG, RF_FILE_TF_INDEX);
    return rf__weights_foreign(ctx, folder, why);
}

bool rf__config_there(const rf_ctx *ctx, const char *folder)
{
    char path[RF_CONFIG_PATH], below[4096];
    folder = rf__model_folder(ctx, folder, below);
    if (!rf__path(path, sizeof path, folder, RF_FILE_CONFIG, NULL) && rf__is_there(ctx, path)) return true;
    if (!rf__path(path, sizeof path, folder, RF_FILE_TF_CONFIG, NULL) && rf__is_there(ctx, path)) return true;
    return rf__bundle_index(ctx, folder, path, sizeof path);
}

rf_status rf__config_root(const rf_ctx *ctx, const char *given, char path[RF_CONFIG_PATH], json_t **root, rf_error *why)
{
    enum { MOST = 16 << 20 };
    char *text = NULL, below[4096];
    size_t bytes = 0;
    const bool folder = rf__holds_folder(ctx, given);
    if (folder) given = rf__model_folder(ctx, given, below);
    rf_status status = folder ? check_adapter(ctx, given, why) : RF_OK;
    if (!status && folder) status = rf__path(path, RF_CONFIG_PATH, given, RF_FILE_CONFIG, why);
    char index[RF_CONFIG_PATH];
    const bool lacks = !status && folder && !rf__is_there(ctx, path);
    if (lacks && rf__bundle_index(ctx, given, index, sizeof index))
        return rf__bundle_config(ctx, given, path, root, why);
    if (lacks) {
        status = rf__bert_config(ctx, given, index, root, why);
        if (status || *root) return memcpy(path, index, sizeof index), status;
        status = check_checkpoint(ctx, given, why);
    }
    if (!folder && (size_t)snprintf(path, RF_CONFIG_PATH, "%s", given) >= RF_CONFIG_PATH)
        status = rf_fail(why, RF_EARG, "%.60s...: the path is too long", given);
    if (!status && folder) {
        status = rf__json_shared(ctx, path, MOST, 0, root, why);
        if (status == RF_EIO) rf__name_folders_below(given, RF_FILE_CONFIG, why);
        return status;
    }
    if (!status) status = rf__read_named(ctx, path, MOST, &text, &bytes, why);
    if (status) return status;
    *root = rf__json_parse(text, bytes, 0, path, why);
    rf__free(ctx, text);
    return *root ? RF_OK : why->code;
}

rf_status rf_config_read_sized(const rf_ctx *ctx, const char *path, rf_config *out, size_t size, rf_error *why)
{
    if (!(ctx && path && out)) return rf__missing("rf_config_read", "ctx, path, out", why);
    char file[RF_CONFIG_PATH];
    json_t *root;
    rf_error local = {0};
    if (!why) why = &local;
    rf_status status = rf__config_root(ctx, path, file, &root, why);
    if (status) return status;
    status = rf__config_of_path(ctx, path, file, root, out, size, why);
    json_decref(root);
    return status;
}

rf_status rf__config_kept(const rf_ctx *ctx, const char *folder, bool without_ids, json_t **out, rf_error *why)
{
    static const char *const anew[] = {"dtype", "torch_dtype", "quantization_config", "rope_parameters"};
    char path[RF_CONFIG_PATH];
    const char *name;
    json_t *value;
    void *next;
    json_t *all;
    const rf_status status = rf__config_root(ctx, folder, path, &all, why);
    if (status) return status;
    *out = json_deep_copy(all);
    json_decref(all);
    if (!*out) return rf_fail(why, RF_ENOMEM, "%.200s: out of memory", path);
    json_object_foreach_safe(*out, next, name, value) {
        const char *id = strstr(name, "_token_id");
        if (rf__generation_key(name) || (without_ids && id && !strcmp(id, "_token_id"))) json_object_del(*out, name);
    }
    for (size_t i = 0; i < RF_COUNT(anew); i++) json_object_del(*out, anew[i]);
    return RF_OK;
}

/* The end of a long name is more informative than its beginning. */
void rf__config_named(const rf_ctx *ctx, const char *path, rf_error *why)
{
    static const char usual[] = "config.json:";
    char text[sizeof why->text];
    const size_t n = strlen(path);
    if (!why || strncmp(why->text, usual, sizeof usual - 1)) return;
    const bool folder = rf__holds_folder(ctx, path);
    snprintf(text, sizeof text, "%s%s:%s", n > 100 ? path + n - 100 : path, folder ? "/" RF_FILE_CONFIG : "",
             why->text + sizeof usual - 1);
    memcpy(why->text, text, sizeof text);
}
