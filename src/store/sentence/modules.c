/* modules.c — the modules of sentence-transformers from Pooling on.
 *
 *     1_Pooling/config.json      pooling_mode, or pooling_mode_mean_tokens and the like before version 6
 *     2_Dense/config.json        in_features, out_features, bias, activation_function, use_residual; and weights
 *     2_LayerNorm/config.json    dimension; and weights
 *     2_Normalize/               no settings
 *     2_Dropout/                 of training alone */
#include <math.h>
#include <stdio.h>

#include "base/files/folder_keys.h"
#include "base/files/path.h"
#include "base/json.h"
#include "graph/tensor.h"
#include "kernel/acts.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"

/* Classes of other packages may compute anything, whatever their last name is. */
const char *rf__module_type(const json_t *module)
{
    static const char own[] = "sentence_transformers.";
    const char *type = json_string_value(json_object_get(module, "type"));
    return type && !strncmp(type, own, sizeof own - 1) ? strrchr(type, '.') + 1 : type;
}

rf_status rf__module_refuse(const char *path, size_t i, const char *expected, const char *type, rf_error *why)
{
    static const struct { const char *type, *remedy; } known[] = {
        {"StaticEmbedding", "vectors of words without a model of their context; sentence-transformers computes them"},
        {"Router", "queries and documents have modules of their own; write a folder with the modules of one route"},
        {"Asym", "queries and documents have modules of their own; write a folder with the modules of one route"},
        {"SpladePooling", "its vectors are sparse; /embed_sparse of the server (roformer serve) computes them"},
        {"MLMTransformer", "its vectors are sparse; /embed_sparse of the server (roformer serve) computes them"},
        {"WeightedLayerPooling", "the mean of several layers; sentence-transformers computes it"},
        {"CLIPModel", "it embeds images, too; sentence-transformers computes it"},
        {"WordEmbeddings", "vectors of words without a model of their context; sentence-transformers computes them"},
        {"BoW", "counts of words; sentence-transformers computes them"},
    };
    static const char *const foreign = "a class of another package, whose code is not run; if it computes the same, "
                                       "name that of sentence_transformers";
    const char *remedy = strchr(type, '.') ? foreign : NULL;
    for (size_t k = 0; k < RF_COUNT(known); k++)
        if (!strcmp(type, known[k].type)) remedy = known[k].remedy;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: module %zu: expected %s, got %s%s%s", path, i, expected,
                   rf__printable(type).text, remedy ? ": " : "", remedy ? remedy : "");
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static rf_status add_pooling(const char *path, const char *name, rf__module_list *m, rf_error *why)
{
    static const struct { const char *theirs, *name; } ours[] = {
        {"lasttoken", "last"}, {"mean_sqrt_len_tokens", "sqrtlen"}, {"weightedmean", "wmean"}};
    const char *own = name;
    for (size_t i = 0; i < RF_COUNT(ours); i++)
        if (!strcmp(name, ours[i].theirs)) own = ours[i].name;
    const int one = rf__pooling_of(own);
    if (one < 0)
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: pooling: expected cls, mean, max, lasttoken, "
                       "mean_sqrt_len_tokens or weightedmean, got \"%s\"", path, rf__printable(name).text);
    const rf_pooling before = m->pooling;
    m->pooling = before == RF_POOL_AUTO ? (rf_pooling)one : rf_pooling_join(before, (rf_pooling)one);
    if (m->pooling == RF_POOL_AUTO)
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: pooling: expected at most 7, got more", path);
    return RF_OK;
}

/* "pooling_mode": "mean" or ["cls", "mean"], or "pooling_mode_mean_tokens": true, in this order; the mean if all of
 * these are false. */
static rf_status add_poolings(const char *path, const json_t *root, rf__module_list *m, rf_error *why)
{
    static const struct { const char *key, *name; } old[] = {
        {"pooling_mode_cls_token", "cls"},
        {"pooling_mode_max_tokens", "max"},
        {"pooling_mode_mean_tokens", "mean"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean"},
        {"pooling_mode_lasttoken", "lasttoken"},
    };
    const json_t *now = json_object_get(root, "pooling_mode");
    const size_t n = json_is_array(now) ? json_array_size(now) : now ? 1 : 0;
    rf_status status = RF_OK;
    for (size_t i = 0; i < n && !status; i++) {
        const char *name = json_string_value(json_is_array(now) ? json_array_get(now, i) : now);
        if (!name)
            return rf_fail(why, RF_EDATA, "%.200s: pooling_mode: expected a string or a list of strings, got %s", path,
                           rf__json_shown(json_is_array(now) ? json_array_get(now, i) : now).text);
        status = add_pooling(path, name, m, why);
    }
    if (now && !n) return rf_fail(why, RF_EDATA, "%.200s: pooling_mode: expected a pooling, got none", path);
    for (size_t i = 0; i < RF_COUNT(old) && !now && !status; i++)
        if (json_is_true(json_object_get(root, old[i].key))) status = add_pooling(path, old[i].name, m, why);
    if (!status && m->pooling == RF_POOL_AUTO) m->pooling = RF_POOL_MEAN;
    return status;
}

/* The config.json of a module, which must be there. */
static rf_status load(const char *folder, const char *below, rf_key_file keys, const rf_sentence *s, char path[4096],
                      json_t **root, rf_error *why)
{
    rf_status status = rf__sentence_load(s->ctx, folder, below, RF_FILE_CONFIG, false, path, root, why);
    if (!status && !*root)
        status = rf_fail(why, RF_EIO, "%.200s: expected the file of a module in modules.json, got none", path);
    return status ? status : rf__folder_keys_all(keys, path, *root, why);
}

rf_status rf__pooling_read(const char *folder, const char *below, rf_sentence *s, rf__module_list *m, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = load(folder, below, RF_KEYS_POOLING, s, path, &root, why);
    if (!status) status = add_poolings(path, root, m, why);
    if (!status) {
        snprintf(s->pooling, sizeof s->pooling, "%s",
                 rf__pooling_count(m->pooling) > 1 ? "several" : rf__poolings[m->pooling]);
        s->include_prompt = !json_is_false(json_object_get(root, "include_prompt"));
    }
    json_decref(root);
    return status;
}

/* ---- after pooling ----------------------------------------------------------------------------------------------- */

static double softplus(double x) { return x > 20 ? x : log1p(exp(x)); }
double rf__module_identity(double x) { return x; }
static double of_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double of_elu(double x) { return x > 0 ? x : expm1(x); }
static double of_leaky(double x) { return x > 0 ? x : 0.01 * x; }
static double of_mish(double x) { return x * tanh(softplus(x)); }
static double of_relu6(double x) { return fmin(fmax(x, 0), 6); }
static double of_hardtanh(double x) { return fmin(fmax(x, -1), 1); }
static double of_softsign(double x) { return x / (1 + fabs(x)); }
static double of_selu(double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x)); }
static double of_hardswish(double x) { return x * of_relu6(x + 3) / 6; }

/* Functions of torch.nn with their default arguments, which are all that a folder can name. */
static rf_status read_act(const char *path, const json_t *root, rf__module *d, rf_error *why)
{
    static const struct { const char *name; double (*f)(double x); } known[] = {
        {"linear.Identity", rf__module_identity},     {"activation.Sigmoid", of_sigmoid},
        {"activation.ELU", of_elu},           {"activation.CELU", of_elu},
        {"activation.LeakyReLU", of_leaky},   {"activation.Mish", of_mish},
        {"activation.Softplus", softplus},    {"activation.ReLU6", of_relu6},
        {"activation.Hardtanh", of_hardtanh}, {"activation.Softsign", of_softsign},
        {"activation.SELU", of_selu},         {"activation.Hardswish", of_hardswish},
    };
    static const char package[] = "torch.nn.modules.";
    const json_t *v = json_object_get(root, "activation_function");
    const char *full = v ? json_string_value(v) : "torch.nn.modules.activation.Tanh";
    const char *name = full && !strncmp(full, package, sizeof package - 1) ? full + sizeof package - 1 : "";
    for (int i = RF_ACT_NONE + 1; i < RF__ACTS; i++) {
        const rf__activation *row = rf__act_row((rf_act)i);
        if (row->torch && !strcmp(name, row->torch)) return d->f = row->of, d->is.act = (rf_act)i, RF_OK;
    }
    for (size_t i = 0; i < RF_COUNT(known); i++)
        if (!strcmp(name, known[i].name)) return d->f = known[i].f, d->is.act = RF_ACT_NONE, RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: activation_function: expected Identity, Tanh, ReLU, GELU, SiLU or "
                   "another function of torch.nn of one number, got %s", path,
                   full ? rf__printable(full).text : rf__json_shown(v).text);
}

static rf_status read_flag(const char *path, const json_t *root, const char *key, bool *out, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    if (v && !json_is_boolean(v))
        return rf_fail(why, RF_EDATA, "%.200s: %s: expected true or false, got %s", path, key, rf__json_shown(v).text);
    if (v) *out = json_is_true(v);
    return RF_OK;
}

static rf_status read_width(const char *path, const json_t *root, const char *key, int64_t *out, rf_error *why)
{
    *out = json_integer_value(json_object_get(root, key));
    if (*out >= 1 && *out <= 65536) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.200s: %s: expected a width from 1 to 65536, got %s", path, key,
                   rf__json_shown(json_object_get(root, key)).text);
}

static rf_status read_dense(const char *path, const json_t *root, rf__module *d, rf_error *why)
{
    bool bias = true;
    rf_status status = read_act(path, root, d, why);
    if (!status) status = read_width(path, root, "in_features", &d->is.in, why);
    if (!status) status = read_width(path, root, "out_features", &d->is.out, why);
    if (!status) status = read_flag(path, root, "bias", &bias, why);
    if (!status) status = read_flag(path, root, "use_residual", &d->residual, why);
    d->is.bias = bias;
    return status;
}

/* The width of the vector before this module; 0: the first, which is checked where the weights are read. */
static int64_t width_before(const rf__module_list *m)
{
    for (int64_t i = m->n; i-- > 0;)
        if (m->module[i].kind != RF__MODULE_NORMALIZE) return m->module[i].is.out;
    return 0;
}

/* A module with weights. */
static rf_status read_weighted(const char *folder, const char *below, rf__module *d, const rf_sentence *s,
                               const rf__module_list *m, rf_error *why)
{
    const bool dense = d->kind == RF__MODULE_DENSE;
    const int64_t before = width_before(m);
    char path[4096];
    json_t *root;
    if (strlen(below) >= sizeof d->is.path || !rf__stays_below(below))
        return rf_fail(why, RF_EDATA, "%.150s: modules.json: path of %s: expected a folder below this one, got \"%s\"",
                       folder, dense ? "Dense" : "LayerNorm", rf__printable(below).text);
    snprintf(d->is.path, sizeof d->is.path, "%s", below);
    rf_status status = load(folder, below, dense ? RF_KEYS_DENSE : RF_KEYS_LAYER_NORM, s, path, &root, why);
    if (!status && dense) status = read_dense(path, root, d, why);
    if (!status && !dense) status = read_width(path, root, "dimension", &d->is.in, why);
    if (!dense) d->is.out = d->is.in;
    if (!status && before && d->is.in != before)
        status = rf_fail(why, RF_EDATA, "%.200s: %s: expected %lld, the width of the module before it, got %lld", path,
                         dense ? "in_features" : "dimension", (long long)before, (long long)d->is.in);
    json_decref(root);
    return status;
}

/* Folders of older versions have no such file. */
static rf_status read_normalize(const char *folder, const char *below, const rf_sentence *s, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = rf__sentence_load(s->ctx, folder, below, RF_FILE_CONFIG, false, path, &root, why);
    if (!status && root) status = rf__folder_keys_check(RF_KEYS_NORMALIZE, path, root, why);
    json_decref(root);
    return status;
}

static rf_status too_many(const char *folder, int most, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: modules.json: expected at most %d %s, got more", folder, most, what);
}

/* A Normalize that other modules follow is one of the steps. */
rf_status rf__module_read(const char *folder, const char *type, const char *below, rf_sentence *s, rf__module_list *m,
                          rf_error *why)
{
    if (!strcmp(type, "Dropout")) return RF_OK;
    if (m->n + 1 >= RF__MODULES) return too_many(folder, RF__MODULES, "modules", why);
    if (s->normalize) m->module[m->n++] = (rf__module){.kind = RF__MODULE_NORMALIZE};
    s->normalize = !strcmp(type, "Normalize");
    if (s->normalize) return read_normalize(folder, below, s, why);
    rf__module d = {.kind = strcmp(type, "Dense") ? RF__MODULE_LAYER_NORM : RF__MODULE_DENSE, .is = {.bias = 1}};
    if (d.kind == RF__MODULE_LAYER_NORM && strcmp(type, "LayerNorm"))
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: modules.json: expected Dense, LayerNorm, Normalize or Dropout "
                       "after Pooling, got %s", folder, rf__printable(type).text);
    if (d.kind == RF__MODULE_DENSE && s->denses == RF_MAX_DENSE)
        return too_many(folder, RF_MAX_DENSE, "Dense modules", why);
    const rf_status status = read_weighted(folder, below, &d, s, m, why);
    if (status) return status;
    if (d.kind == RF__MODULE_DENSE) s->dense[s->denses++] = d.is;
    m->module[m->n++] = d;
    return RF_OK;
}

rf_status rf__modules_none(const char *folder, const rf__module_list *m, const char *remedy, rf_error *why)
{
    static const char *const name[] = {"Dense", "LayerNorm", "Normalize before another module"};
    if (rf__pooling_count(m->pooling) > 1)
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: pooling: expected one, got %s; %s", folder,
                       rf__poolings_text(m->pooling).text, remedy);
    if (!m->n) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: modules.json: expected no module between Pooling and Normalize, got "
                   "%s; %s", folder, name[m->module[0].kind], remedy);
}

/* ---- sparse vectors ---------------------------------------------------------------------------------------------- */

/* One of two values of a key; the first is its default. */
static rf_status read_choice(const char *path, const json_t *root, const char *key, const char *first,
                             const char *second, bool *out, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    const char *name = v ? json_string_value(v) : first;
    *out = name && !strcmp(name, second);
    if (*out || (name && !strcmp(name, first))) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: %s: expected %s or %s, got %s", path, key, first, second,
                   name ? rf__printable(name).text : rf__json_shown(v).text);
}

static rf_status read_splade(const rf_ctx *ctx, const char *folder, const char *below, rf__sparse *out, rf_error *why)
{
    const rf_sentence of = {.ctx = ctx};
    char path[4096];
    json_t *root;
    rf_status status = load(folder, below, RF_KEYS_SPLADE, &of, path, &root, why);
    if (!status) status = read_choice(path, root, "pooling_strategy", "max", "sum", &out->sum, why);
    if (!status) status = read_choice(path, root, "activation_function", "relu", "log1p_relu", &out->twice, why);
    json_decref(root);
    return status;
}

rf_status rf__sparse_read(const rf_ctx *ctx, const char *folder, int64_t positions, rf__sparse *out, rf_error *why)
{
    char path[4096];
    json_t *list;
    *out = (rf__sparse){0};
    rf_status status = rf__sentence_load(ctx, folder, "", RF_FILE_MODULES, true, path, &list, why);
    const char *type = rf__module_type(json_array_get(list, 1)),
               *below = json_string_value(json_object_get(json_array_get(list, 1), "path"));
    if (!status && type && !strcmp(type, "SpladePooling")) {
        const char *third = rf__module_type(json_array_get(list, 2));
        if (json_array_size(list) > 2)
            status = rf__module_refuse(path, 2, "no module after SpladePooling", third ? third : "another", why);
        if (!status && (!below || (*below && !rf__stays_below(below))))
            status = rf_fail(why, RF_EDATA, "%.200s: path of SpladePooling: expected a folder below this one, got %s",
                             path, rf__json_shown(json_object_get(json_array_get(list, 1), "path")).text);
        if (!status) status = read_splade(ctx, folder, below, out, why);
        if (!status) status = rf__cross_encoder_limit(ctx, folder, &out->max_length, why);
        if (!status && !out->max_length) status = rf__tokenizer_limit(ctx, folder, positions, &out->max_length, why);
    }
    json_decref(list);
    return status;
}
