/* late.c — settings of late-interaction models: folders of PyLate and of Stanford's ColBERT (rf__late in store/task.h).
 *
 *     PyLate     modules.json                         [Transformer, Dense ...]; Pooling and Normalize are not computed
 *                config_sentence_transformers.json    query_prefix, document_prefix, query_length, document_length,
 *                                                     do_query_expansion, attend_to_expansion_tokens, skiplist_words
 *     Stanford   config.json                          architectures ["HF_ColBERT"]
 *                model.safetensors                    linear.weight [width, hidden_size]
 *                artifact.metadata                    query_token_id, doc_token_id, query_maxlen, doc_maxlen,
 *                                                     attend_to_mask_tokens
 *
 * Missing keys have PyLate's defaults (pylate 1.6, models/colbert.py). */
#include <stdio.h>

#include "base/files/path.h"
#include "base/json.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"

static const char metadata[] = "artifact.metadata", stanford_class[] = "HF_ColBERT", weight[] = "linear.weight";

/* The names of the settings in one of the two files; NULL: the file has none. */
typedef struct names {
    const char *prefix[RF__ROLES], *length[RF__ROLES], *attend, *expand, *skip;
    const char *usual_prefix[RF__ROLES];
} names;
static const names pylate = {{"document_prefix", "query_prefix"}, {"document_length", "query_length"},
                             "attend_to_expansion_tokens", "do_query_expansion", "skiplist_words", {"[D] ", "[Q] "}};
static const names stanford = {{"doc_token_id", "query_token_id"}, {"doc_maxlen", "query_maxlen"},
                               "attend_to_mask_tokens", NULL, NULL, {"[unused1]", "[unused0]"}};

/* ---- which kind of folder ---------------------------------------------------------------------------------------- */

static bool is_pylate(const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type"));
    return type && !strncmp(type, "pylate.", 7);
}

static bool has_text(const json_t *root, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && !strcmp(text, value);
}

/* The list of modules of a PyLate folder; *out NULL: it is none. */
static rf_status pylate_modules(const rf_ctx *ctx, const char *folder, char path[4096], json_t **out, rf_error *why)
{
    char own[4096];
    json_t *root = NULL;
    bool late = false;
    rf_status status = rf__sentence_load(ctx, folder, "", RF_FILE_MODULES, true, path, out, why);
    if (!status && *out) status = rf__sentence_load(ctx, folder, "", RF_FILE_PROMPTS, false, own, &root, why);
    for (size_t i = 0; !status && i < json_array_size(*out); i++) late = late || is_pylate(json_array_get(*out, i));
    late = late || has_text(root, "model_type", "ColBERT") || has_text(root, "similarity_fn_name", "MaxSim");
    json_decref(root);
    if (late && !status) return RF_OK;
    json_decref(*out);
    *out = NULL;
    return status;
}

/* Code that opens the model reports errors in its config.json. */
static bool is_stanford(const rf_ctx *ctx, const char *folder)
{
    char path[RF_CONFIG_PATH];
    json_t *root = NULL;
    if (rf__config_root(ctx, folder, path, &root, NULL)) return false;
    const char *name = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    const bool late = name && !strcmp(name, stanford_class);
    json_decref(root);
    return late;
}

rf_status rf__late_refuse(const rf_ctx *ctx, const char *folder, rf_error *why)
{
    char path[4096];
    json_t *list;
    const rf_status status = pylate_modules(ctx, folder, path, &list, why);
    const bool late = list || (!status && is_stanford(ctx, folder));
    json_decref(list);
    if (status || !late) return status;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s: expected a model with a vector for each text, got one for late "
                   "interaction (ColBERT), which has a vector for each token; use roformer embed --tokens or roformer "
                   "rank", folder);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static rf_status out_of_memory(const char *path, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: %.200s", path);
}

/* A missing key and null have the default. */
static const json_t *value_of(const json_t *root, const char *key)
{
    const json_t *v = key ? json_object_get(root, key) : NULL;
    return v && !json_is_null(v) ? v : NULL;
}

static rf_status read_prefix(const char *path, const json_t *root, const char *key, const char *usual, rf__late *l,
                             char **out, rf_error *why)
{
    const json_t *v = value_of(root, key);
    if (v && !json_is_string(v))
        return rf_fail(why, RF_EDATA, "%.200s: %s: expected a token, got %s; write its text, or \"\" for none", path,
                       key, rf__json_shown(v).text);
    *out = rf__strdup(l->ctx, v ? json_string_value(v) : usual);
    return *out ? RF_OK : out_of_memory(path, why);
}

static rf_status read_length(const char *path, const json_t *root, const char *key, int64_t usual, int64_t *out,
                             rf_error *why)
{
    const json_t *v = value_of(root, key);
    *out = v ? json_integer_value(v) : usual;
    if ((!v || json_is_integer(v)) && *out >= 1 && *out <= 1 << 20) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.200s: %s: expected a number of tokens from 1 to %d, got %s", path, key, 1 << 20,
                   rf__json_shown(v).text);
}

static rf_status read_flag(const char *path, const json_t *root, const char *key, bool usual, bool *out, rf_error *why)
{
    const json_t *v = value_of(root, key);
    *out = v ? json_is_true(v) : usual;
    if (!v || json_is_boolean(v)) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.200s: %s: expected true or false, got %s", path, key, rf__json_shown(v).text);
}

/* Without the key, Python's string.punctuation. */
static rf_status read_skip(const char *path, const json_t *root, const char *key, rf__late *l, rf_error *why)
{
    static const char punctuation[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
    const json_t *list = value_of(root, key);
    const size_t n = list ? json_array_size(list) : sizeof punctuation - 1;
    if (list && !json_is_array(list))
        return rf_fail(why, RF_EDATA, "%.200s: %s: expected a list of words, got %s", path, key,
                       rf__json_shown(list).text);
    if (n && !(l->skip = rf__calloc(l->ctx, n, sizeof *l->skip))) return out_of_memory(path, why);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (list && !json_is_string(v))
            return rf_fail(why, RF_EDATA, "%.200s: %s: expected words, got %s", path, key, rf__json_shown(v).text);
        char *word = rf__strdup(l->ctx, list ? json_string_value(v) : (const char[]){punctuation[i], 0});
        if (!word) return out_of_memory(path, why);
        l->skip[l->skips++] = word;
    }
    return RF_OK;
}

static rf_status read_settings(const char *path, const json_t *root, const names *is, rf__late *l, rf_error *why)
{
    static const int64_t usual_length[RF__ROLES] = {180, 32};
    rf_status status = RF_OK;
    for (int r = 0; r < RF__ROLES && !status; r++) {
        status = read_prefix(path, root, is->prefix[r], is->usual_prefix[r], l, &l->prefix[r], why);
        if (!status) status = read_length(path, root, is->length[r], usual_length[r], &l->length[r], why);
    }
    if (!status) status = read_flag(path, root, is->attend, false, &l->attend, why);
    if (!status) status = read_flag(path, root, is->expand, true, &l->expand, why);
    return status ? status : read_skip(path, root, is->skip, l, why);
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

/* PyLate computes Transformer and Dense, and passes over Pooling and Normalize. */
static rf_status read_pylate(const char *folder, const char *path, const json_t *list, rf_sentence *s,
                             rf__module_list *m, rf__late *l, rf_error *why)
{
    rf_status status = RF_OK;
    char own[4096];
    json_t *root = NULL;
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        const json_t *module = json_array_get(list, i);
        const char *type = rf__module_type(module), *below = json_string_value(json_object_get(module, "path"));
        if (!type || !below)
            return rf_fail(why, RF_EDATA, "%.200s: module %zu: expected type and path, got none", path, i);
        const bool dense = !strcmp(type, "Dense") || !strcmp(type, "pylate.models.Dense.Dense");
        const bool passed = i && (!strcmp(type, "Pooling") || !strcmp(type, "Normalize"));
        if (!i && strcmp(type, "Transformer")) status = rf__module_refuse(path, i, "Transformer", type, why);
        else if (!i) status = rf__transformer_read(folder, below, s, why);
        else if (dense) status = rf__module_read(folder, "Dense", below, s, m, why);
        else if (!passed) status = rf__module_refuse(path, i, "Dense", type, why);
    }
    if (!status && !m->n)
        status = rf_fail(why, RF_EDATA, "%.200s: expected a Dense after Transformer, got none; add the trained "
                         "projection of the tokens' vectors", path);
    if (!status) status = rf__prompts_read(folder, false, s, why);
    s->truncate_dim = 0;                                                    /* PyLate keeps all components            */
    if (!status) status = rf__sentence_load(s->ctx, folder, "", RF_FILE_PROMPTS, false, own, &root, why);
    if (!status) status = read_settings(own, root, &pylate, l, why);
    json_decref(root);
    return status;
}

/* linear.weight, among the weights of the model. */
static rf_status read_linear(const char *folder, rf_sentence *s, rf__module_list *m, rf_error *why)
{
    rf_weights *w = NULL;
    rf_status status = rf_weights_open(s->ctx, folder, &w, why);
    const rf_weight *t = status ? NULL : rf__weights_find(w, weight);
    if (!status && (!t || t->rank != 2))
        status = rf_fail(why, RF_EDATA, "%.200s: %s: expected the matrix of a model of class %s, got %s", folder,
                         weight, stanford_class, t ? "another shape" : "none");
    if (!status) {
        m->module[0] = (rf__module){.kind = RF__MODULE_DENSE,
                                    .f = rf__module_identity,
                                    .is = {.in = t->dim[1], .out = t->dim[0], .act = RF_ACT_NONE}};
        m->n = 1;
        s->dense[s->denses++] = m->module[0].is;
    }
    rf_weights_close(w);
    return status;
}

static rf_status read_stanford(const char *folder, rf_sentence *s, rf__module_list *m, rf__late *l, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = rf__sentence_load(s->ctx, folder, "", metadata, false, path, &root, why);
    if (!status) status = read_settings(path, root, &stanford, l, why);
    if (!status) status = read_linear(folder, s, m, why);
    json_decref(root);
    return status;
}

rf_status rf__late_read(const rf_ctx *ctx, const char *folder, rf_sentence *s, rf__module_list *m, rf__late **out,
                        rf_error *why)
{
    char path[4096];
    json_t *list;
    *out = NULL;
    rf_status status = pylate_modules(ctx, folder, path, &list, why);
    if (status || (!list && !is_stanford(ctx, folder))) return status;
    *s = (rf_sentence){.ctx = ctx, .include_prompt = 1, .default_prompt = -1, .similarity = "MaxSim"};
    *m = (rf__module_list){.pooling = RF_POOL_MEAN};
    rf__late *l = rf__calloc(ctx, 1, sizeof *l);
    if (!l) status = out_of_memory(folder, why);
    else l->ctx = ctx;
    if (!status)
        status = list ? read_pylate(folder, path, list, s, m, l, why) : read_stanford(folder, s, m, l, why);
    json_decref(list);
    if (!status) s->normalize = 1;
    if (!status) return *out = l, RF_OK;
    rf__late_free(l);
    rf_sentence_free(s);
    return status;
}

void rf__late_free(rf__late *l)
{
    if (!l) return;
    for (int r = 0; r < RF__ROLES; r++) rf__free(l->ctx, l->prefix[r]);
    for (int64_t i = 0; i < l->skips; i++) rf__free(l->ctx, l->skip[i]);
    rf__free(l->ctx, l->skip);
    rf__free(l->ctx, l);
}
