/* sentence.c — the files in which sentence-transformers stores how a sentence vector is computed.
 *
 *     modules.json                         [Transformer, Pooling, Dense ..., Normalize]: types and folders in order
 *     sentence_bert_config.json            of the Transformer, in its folder: max_seq_length
 *     1_Pooling/config.json                and the modules after it (modules.c)
 *     config_sentence_transformers.json    prompts, default_prompt_name */
#include <stdio.h>
#include <stdlib.h>

#include "base/files/folder_keys.h"
#include "base/files/json_file.h"
#include "base/files/path.h"
#include "base/json.h"
#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/store.h"
#include "store/task.h"

enum { LARGEST = RF__SENTENCE_LARGEST, PROMPTS = 1000 };

/* A list or an object, which is not to be changed: it is shared while the folder is held. */
static rf_status load(const rf_ctx *ctx, const char *path, size_t flags, json_t **out, rf_error *why)
{
    const rf__held h = rf__held_of(ctx, path);
    char *text;
    size_t size;
    bool memory;
    json_error_t bad;
    if ((*out = rf__held_json(&h, flags))) return RF_OK;
    const rf_status status = rf__read_file(ctx, path, LARGEST, &text, &size, why);
    if (status) return status;
    *out = rf__json_load(text, size, flags, &bad, &memory);
    rf__free(ctx, text);
    if (!*out && memory) return rf_fail(why, RF_ENOMEM, "%.200s: out of memory for its JSON", path);
    if (!*out) return rf_fail(why, RF_EDATA, "%.200s:%d: %.120s", path, bad.line, bad.text);
    rf__held_keep_json(&h, flags, *out);
    return RF_OK;
}

rf_status rf__sentence_load(const rf_ctx *ctx, const char *folder, const char *below, const char *name, bool list,
                            char path[4096], json_t **out, rf_error *why)
{
    char inner[4096];
    /* a tokenizer without a limit has 10^30 there */
    const size_t number = strcmp(name, RF_FILE_TOKENIZER_CONFIG) ? 0 : JSON_DECODE_INT_AS_REAL;
    *out = NULL;
    rf_status status = *below ? rf__path(inner, sizeof inner, folder, below, why) : RF_OK;
    if (!status) status = rf__path(path, 4096, *below ? inner : folder, name, why);
    if (status) return status;
    if (!rf__is_there(ctx, path)) return RF_OK;
    status = load(ctx, path, JSON_REJECT_DUPLICATES | number, out, why);
    if (status) return status;
    if (list ? json_is_array(*out) : json_is_object(*out)) return RF_OK;
    json_decref(*out);
    *out = NULL;
    return rf_fail(why, RF_EDATA, "%.200s: expected %s, got another JSON value", path, list ? "a list" : "an object");
}

/* model_max_length of tokenizer_config.json; 0: there is none. */
static rf_status model_max_length(const rf_ctx *ctx, const char *folder, const char *below, double *out, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = rf__sentence_load(ctx, folder, below, RF_FILE_TOKENIZER_CONFIG, false, path, &root, why);
    const json_t *length = json_object_get(root, "model_max_length"), *old = json_object_get(root, "max_len");
    if (!length || json_is_null(length)) length = old;              /* the older name in transformers               */
    *out = json_number_value(length);
    if (!status && length && !json_is_null(length) && !(json_is_number(length) && *out >= 1))
        status = rf_fail(why, RF_EDATA, "%.200s: model_max_length: expected a number from 1 on, got %s; write the "
                         "number of tokens that texts are cut to", path, rf__json_shown(length).text);
    json_decref(root);
    return status;
}

/* Without max_seq_length, the limit is the tokenizer's model_max_length, but at most max_position_embeddings (if the
 * family limits texts), which is the limit if max_length is 0. */
static rf_status tokenizer_length(const char *folder, const char *below, rf_sentence *s, rf_error *why)
{
    char inner[4096];
    double most;
    rf_config c;
    rf_status status = model_max_length(s->ctx, folder, below, &most, why);
    if (!status && *below) status = rf__path(inner, sizeof inner, folder, below, why);
    if (!status && most > 0 && !rf_config_read(s->ctx, *below ? inner : folder, &c, NULL) &&
        most < (double)rf__config_longest(&c))
        s->max_length = (int64_t)most;
    return status;
}

rf_status rf__tokenizer_limit(const rf_ctx *ctx, const char *folder, int64_t positions, int64_t *out, rf_error *why)
{
    double most;
    const rf_status status = model_max_length(ctx, folder, "", &most, why);
    *out = !status && most > 0 && most < (double)positions ? (int64_t)most : positions;
    return status;
}

/* Arguments with which sentence-transformers loads tokenizer, model and config. Those that say where files are, how
 * fast something is, or how numbers are rounded, change nothing here. */
static bool is_idle(const char *key)
{
    static const char *const idle[] = {
        "use_fast", "local_files_only", "trust_remote_code", "token", "use_auth_token", "revision", "code_revision",
        "cache_dir", "force_download", "resume_download", "proxies", "low_cpu_mem_usage", "device_map", "max_memory",
        "offload_folder", "offload_state_dict", "use_safetensors", "safe_serialization", "weights_only",
        "attn_implementation", "_attn_implementation", "torch_dtype", "dtype", "add_pooling_layer",
        "ignore_mismatched_sizes", "output_attentions", "output_hidden_states", "return_dict", "use_cache",
        "unpad_inputs", "use_memory_efficient_attention", "gradient_checkpointing", "hidden_dropout_prob",
        "attention_probs_dropout_prob", "classifier_dropout", "clean_up_tokenization_spaces", "padding_side",
    };
    for (size_t i = 0; i < RF_COUNT(idle); i++)
        if (!strcmp(key, idle[i])) return true;
    return false;
}

/* The tokenizer's model_max_length takes precedence over max_seq_length; what could change tokens or numbers is
 * refused. */
static rf_status loading_args(const char *path, const json_t *root, const json_t **length, rf_error *why)
{
    static const struct { const char *name, *file; } rows[] = {
        {"tokenizer_args", RF_FILE_TOKENIZER_CONFIG}, {"processor_kwargs", RF_FILE_TOKENIZER_CONFIG},
        {"model_args", RF_FILE_CONFIG}, {"model_kwargs", RF_FILE_CONFIG},
        {"config_args", RF_FILE_CONFIG}, {"config_kwargs", RF_FILE_CONFIG},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        const bool tokenizes = !strcmp(rows[i].file, RF_FILE_TOKENIZER_CONFIG);
        const char *key;
        json_t *value, *args = json_object_get(root, rows[i].name);
        if (args && !json_is_null(args) && !json_is_object(args))
            return rf_fail(why, RF_EDATA, "%.200s: %s: expected an object, got %s; leave it out", path, rows[i].name,
                           rf__json_shown(args).text);
        json_object_foreach(args, key, value) {
            const bool limit = tokenizes && !strcmp(key, "model_max_length");
            if (limit && !json_is_null(value)) *length = value;
            if (!limit && !json_is_null(value) && !is_idle(key))
                return rf_fail(why, RF_EUNSUPPORTED, "%.200s: %s.%s: expected arguments that change neither tokens nor "
                               "numbers, got one that may; set it in %s instead", path, rows[i].name,
                               rf__printable(key).text, rows[i].file);
        }
    }
    return RF_OK;
}

/* The first of these files that exists and has a setting counts; its name was once that of the model. */
rf_status rf__transformer_load(const rf_ctx *ctx, const char *folder, const char *below, char path[4096], json_t **out,
                               rf_error *why)
{
    rf_status status = RF_OK;
    *out = NULL;
    for (const char *const *name = rf__transformer_settings; *name && !status && !json_object_size(*out); name++) {
        json_decref(*out);
        status = rf__sentence_load(ctx, folder, below, *name, false, path, out, why);
    }
    return status;
}

rf_status rf__cross_encoder_limit(const rf_ctx *ctx, const char *folder, int64_t *out, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = rf__transformer_load(ctx, folder, "", path, &root, why);
    const json_t *length = json_object_get(root, "max_seq_length"), *ways = json_object_get(root, "processing_kwargs");
    if (!status) status = loading_args(path, root, &length, why);
    if (!status && json_object_size(ways))
        status = rf_fail(why, RF_EUNSUPPORTED, "%.200s: processing_kwargs: expected {}, got %s: texts are read as the "
                         "tokenizer's own settings say; remove it", path, rf__json_shown(ways).text);
    if (length && json_is_null(length)) length = NULL;
    *out = json_integer_value(length);
    if (!status && length && (!json_is_integer(length) || *out < 1 || *out > 1 << 20))
        status = rf_fail(why, RF_EDATA, "%.200s: max_seq_length: expected an integer from 1 to %d, got %s", path,
                         1 << 20, rf__json_shown(length).text);
    json_decref(root);
    return status;
}

rf_status rf__transformer_read(const char *folder, const char *below, rf_sentence *s, rf_error *why)
{
    char path[4096];
    json_t *root;
    if (strlen(below) >= sizeof s->transformer || (*below && !rf__stays_below(below)))
        return rf_fail(why, RF_EDATA,
                       "%.150s: modules.json: path of the transformer: expected a folder below this one, got \"%s\"",
                       folder, rf__printable(below).text);
    snprintf(s->transformer, sizeof s->transformer, "%s", below);
    rf_status status = rf__transformer_load(s->ctx, folder, below, path, &root, why);
    if (status) return status;
    if (!root) return tokenizer_length(folder, below, s, why);
    status = rf__folder_keys_all(RF_KEYS_SENTENCE, path, root, why);
    if (status) return json_decref(root), status;
    const json_t *length = json_object_get(root, "max_seq_length");
    status = loading_args(path, root, &length, why);
    if (status || !length || json_is_null(length)) {
        if (!status) status = tokenizer_length(folder, below, s, why);
        length = NULL;
    }
    if (json_is_integer(length)) s->max_length = json_integer_value(length);
    if (status) return json_decref(root), status;
    if ((length && !json_is_integer(length)) || s->max_length < 0 || s->max_length > 1 << 20)
        status = rf_fail(why, RF_EDATA, "%.200s: max_seq_length: expected an integer from 0 to %d, got %s", path,
                         1 << 20, rf__json_shown(length).text);
    json_decref(root);
    return status;
}

static rf_status read_modules(const char *folder, const char *path, const json_t *list, rf_sentence *s,
                              rf__module_list *modules, rf_error *why)
{
    const size_t n = json_array_size(list);
    const char *second = rf__module_type(json_array_get(list, 1));
    rf_status status = RF_OK;
    if (second && !strcmp(second, "SpladePooling")) return rf__module_refuse(path, 1, "Pooling", second, why);
    for (size_t i = 0; i < n && !status; i++) {
        const json_t *module = json_array_get(list, i);
        const char *type = rf__module_type(module), *below = json_string_value(json_object_get(module, "path"));
        if (!type || !below)
            return rf_fail(why, RF_EDATA, "%.200s: module %zu: expected type and path, got none", path, i);
        const char *expected = i == 0 ? "Transformer" : "Pooling";
        if (i < 2 && strcmp(type, expected)) return rf__module_refuse(path, i, expected, type, why);
        status = i == 0   ? rf__transformer_read(folder, below, s, why)
                 : i == 1 ? rf__pooling_read(folder, below, s, modules, why)
                          : rf__module_read(folder, type, below, s, modules, why);
    }
    if (!status && n < 2) status = rf_fail(why, RF_EDATA,
                                           "%.200s: expected the modules Transformer and Pooling, got %zu modules",
                                           path, n);
    return status;
}

static rf_status read_similarity(const char *path, const json_t *root, rf_sentence *s, rf_error *why)
{
    const json_t *value = json_object_get(root, "similarity_fn_name");
    if (!value || json_is_null(value)) return RF_OK;
    const char *name = json_string_value(value);
    if (!name || !*name || strlen(name) >= sizeof s->similarity)
        return rf_fail(why, RF_EDATA, "%.200s: similarity_fn_name: expected \"cosine\" or another function's name, got "
                                      "%s; write \"cosine\", or remove it", path, rf__json_shown(value).text);
    snprintf(s->similarity, sizeof s->similarity, "%s", name);
    return RF_OK;
}

rf_status rf__prompts_read(const char *folder, bool vectors, rf_sentence *s, rf_error *why)
{
    char path[4096];
    const char *name;
    json_t *root, *text;
    rf_status status = rf__sentence_load(s->ctx, folder, "", RF_FILE_PROMPTS, false, path, &root, why);
    if (!status && root && vectors) status = rf__folder_keys_check(RF_KEYS_PROMPTS, path, root, why);
    if (!status && root && vectors) status = read_similarity(path, root, s, why);
    if (status || !root) return json_decref(root), status;
    json_t *all = json_object_get(root, "prompts");
    const json_t *cut = json_object_get(root, "truncate_dim");
    s->truncate_dim = json_integer_value(cut);
    if (cut && !json_is_null(cut) && (!json_is_integer(cut) || s->truncate_dim < 1)) {
        status = rf_fail(why, RF_EDATA, "%.200s: truncate_dim: expected null or a whole number from 1 on, got %s; "
                         "write the number of dimensions that are kept", path, rf__json_shown(cut).text);
        json_decref(root);
        return status;
    }
    const char *usual = json_string_value(json_object_get(root, "default_prompt_name"));
    const size_t n = json_object_size(all);
    if (all && !json_is_object(all) && !json_is_null(all))
        status = rf_fail(why, RF_EDATA, "%.200s: prompts: expected an object, got %s", path, rf__json_shown(all).text);
    if (n > PROMPTS) status = rf_fail(why, RF_EDATA, "%.200s: prompts: expected at most %d, got %zu", path,
                                      (int)PROMPTS, n);
    if (!status && n && !(s->prompt = rf__calloc(s->ctx, n, sizeof *s->prompt)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: %zu prompts", n);
    if (!status && s->prompt) json_object_foreach(all, name, text) {
        if (json_is_null(text)) continue;
        if (!json_is_string(text)) {
            status = rf_fail(why, RF_EDATA, "%.200s: prompt \"%s\" is not a string", path, rf__printable(name).text);
            break;
        }
        rf_sentence_prompt *p = &s->prompt[s->prompts++];
        *p = (rf_sentence_prompt){rf__strdup(s->ctx, name), rf__strdup(s->ctx, json_string_value(text))};
        if (!p->name || !p->text) status = rf_fail(why, RF_ENOMEM, "out of memory: %zu prompts", n);
        if (usual && !strcmp(name, usual)) s->default_prompt = s->prompts - 1;
    }
    if (!status && usual && s->default_prompt < 0)
        status = rf_fail(why, RF_EDATA, "%.200s: default_prompt_name: expected one of the %zu prompts, got \"%s\"",
                         path, n, rf__printable(usual).text);
    json_decref(root);
    return status;
}

rf_status rf__sentence_prompts(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf_error *why)
{
    rf_sentence s = {.ctx = ctx, .default_prompt = -1};
    const rf_status status = rf__prompts_read(folder, false, &s, why);
    if (status) rf_sentence_free(&s);
    else *out = s;
    return status;
}

/* For a folder without modules.json: a checkpoint of a run that trains such a model, or a RoFormer-Sim, whose pooler
 * uses the first token. For all other folders, also of T5EncoderModel, which has no pooling of its own, the tokenizer's
 * limit applies, as in sentence-transformers. Code that opens the model reports errors in its config.json. */
static rf_status of_config(const rf_ctx *ctx, const char *folder, rf_sentence *s, rf_error *why)
{
    rf_config c;
    if (rf_config_read(ctx, folder, &c, NULL)) return RF_OK;
    if (rf_config_head(&c) == RF_HEAD_EMBED && *c.sentence_pooling) {
        snprintf(s->pooling, sizeof s->pooling, "%s", c.sentence_pooling);
        s->normalize = c.sentence_normalize;
        s->max_length = c.task_max_length;
        return rf__prompts_read(folder, true, s, why);
    }
    if (c.linear_pooler) snprintf(s->pooling, sizeof s->pooling, "cls");
    return c.linear_pooler ? RF_OK : tokenizer_length(folder, "", s, why);
}

rf_status rf__vector_modules(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf__module_list *m,
                             rf_error *why)
{
    *m = (rf__module_list){.pooling = RF_POOL_AUTO};
    rf_sentence s = {.ctx = ctx, .include_prompt = 1, .default_prompt = -1, .similarity = "cosine"};
    char path[4096];
    json_t *list;
    rf_status status = rf__sentence_load(ctx, folder, "", RF_FILE_MODULES, true, path, &list, why);
    if (!status && list) status = read_modules(folder, path, list, &s, m, why);
    if (!status && list) status = rf__prompts_read(folder, true, &s, why);
    if (!status && !list) status = of_config(ctx, folder, &s, why);
    if (!status && !list && *s.pooling) m->pooling = rf__poolings_of(s.pooling);
    json_decref(list);
    if (status) rf_sentence_free(&s);
    else *out = s;
    return status;
}

rf_status rf__sentence_modules(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf__module_list *m,
                               rf_error *why)
{
    const rf_status status = rf__late_refuse(ctx, folder, why);
    return status ? status : rf__vector_modules(ctx, folder, out, m, why);
}

rf_status rf_sentence_read(const rf_ctx *ctx, const char *folder, rf_sentence *out, rf_error *why)
{
    if (!(ctx && folder && out)) return rf__missing("rf_sentence_read", "ctx, folder, out", why);
    rf__module_list unused;
    return rf__sentence_modules(ctx, folder, out, &unused, why);
}

rf_status rf_sentence_poolings(const rf_ctx *ctx, const char *folder, char *out, size_t size, rf_error *why)
{
    rf_sentence s;
    rf__module_list m;
    if (!(ctx && folder && out && size)) return rf__missing("rf_sentence_poolings", "ctx, folder, out", why);
    const rf_status status = rf__sentence_modules(ctx, folder, &s, &m, why);
    if (status) return status;
    snprintf(out, size, "%s", m.pooling == RF_POOL_AUTO ? "" : rf__poolings_text(m.pooling).text);
    rf_sentence_free(&s);
    return RF_OK;
}

void rf_sentence_free(rf_sentence *s)
{
    if (!s || !s->ctx) return;
    for (int64_t i = 0; i < s->prompts; i++) {
        rf__free(s->ctx, s->prompt[i].name);
        rf__free(s->ctx, s->prompt[i].text);
    }
    rf__free(s->ctx, s->prompt);
    *s = (rf_sentence){0};
}

rf_status rf_sentence_cosines(const rf_sentence *s, rf_error *why)
{
    if (!s) return rf__missing("rf_sentence_cosines", "s", why);
    if (!strcmp(s->similarity, "cosine")) return RF_OK;
    if (!strcmp(s->similarity, "dot") && s->normalize && !s->truncate_dim) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: similarity_fn_name: expected \"cosine\", got \"%s\": vectors are compared by their cosines; "
                   "write \"cosine\" to have these compared so",
                   RF_FILE_PROMPTS, rf__printable(s->similarity).text);
}

/* "Sigmoid" from "torch.nn.modules.activation.Sigmoid"; CrossEncoder accepts only functions of torch from a file. */
static const char *torch_function(const json_t *value)
{
    const char *name = json_string_value(value), *dot = name ? strrchr(name, '.') : NULL;
    return dot && !strncmp(name, "torch.", 6) ? dot + 1 : NULL;
}

/* The text of the default prompt of a CrossEncoder; NULL: there is none. */
static const char *cross_encoder_prompt(const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "default_prompt_name"));
    const char *text = name ? json_string_value(json_object_get(json_object_get(root, "prompts"), name)) : NULL;
    return text && *text ? text : NULL;
}

rf_status rf__cross_encoder_read(const rf_ctx *ctx, const char *folder, int64_t outputs, char function[32],
                                 char **prompt, rf_error *why)
{
    char modules[4096], path[4096], config_path[RF_CONFIG_PATH];
    json_t *config = NULL, *own = NULL;
    *function = 0;
    *prompt = NULL;
    rf_status status = rf__path(modules, sizeof modules, folder, RF_FILE_MODULES, why);
    if (!status && rf__is_there(ctx, modules))
        status = rf__sentence_load(ctx, folder, "", RF_FILE_PROMPTS, false, path, &own, why);
    if (!status) status = rf__config_root(ctx, folder, config_path, &config, why);
    if (!status) {
        const char *kind = json_string_value(json_object_get(own, "model_type"));
        const bool saved = kind && !strcmp(kind, "CrossEncoder");
        const json_t *key = rf__cross_encoder_key(config);
        const char *name = torch_function(json_object_get(own, "activation_fn")),
                   *text = saved ? cross_encoder_prompt(own) : NULL;
        if (!name) name = torch_function(key);
        if (!name && (saved || key)) name = outputs == 1 ? "Sigmoid" : "Identity";
        if (name) snprintf(function, 32, "%s", name);
        if (text && !(*prompt = rf__strdup(ctx, text))) status = rf_fail(why, RF_ENOMEM, "out of memory: a prompt");
    }
    json_decref(config);
    json_decref(own);
    return status;
}

const char *rf__sentence_default_prompt(const rf_sentence *s)
{
    return s->prompts && s->default_prompt >= 0 ? s->prompt[s->default_prompt].text : "";
}
