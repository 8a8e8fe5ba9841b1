/* sentence_write.c — writes and copies the files of sentence-transformers that sentence.c reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"

static const char *const every[] = {RF_FILE_NORMALIZE, RF_FILE_MODULES, RF_FILE_SENTENCE,
                                    RF_FILE_PROMPTS,   RF_FILE_POOLING, NULL};

const char *const *rf__sentence_files(const rf_config *c)
{
    if (!c || rf_config_head(c) != RF_HEAD_EMBED) return every + RF_COUNT(every) - 1;
    return every + !c->sentence_normalize;
}

static json_t *module(const char *type, int index, const char *path)
{
    char name[8], whole[80];
    snprintf(name, sizeof name, "%d", index);
    snprintf(whole, sizeof whole, "sentence_transformers.models.%s", type);
    return json_pack("{s:i, s:s, s:s, s:s}", "idx", index, "name", name, "path", path, "type", whole);
}

static json_t *modules(const rf_config *c)
{
    json_t *all = json_array();
    rf__json_add(&all, module("Transformer", 0, ""));
    rf__json_add(&all, module("Pooling", 1, "1_Pooling"));
    if (c->sentence_normalize) rf__json_add(&all, module("Normalize", 2, "2_Normalize"));
    return all;
}

static json_t *pooling(const rf_config *c)
{
    const char *how = c->sentence_pooling;
    return json_pack("{s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "word_embedding_dimension",
                     (json_int_t)c->hidden_size, "pooling_mode_cls_token", !strcmp(how, "cls"),
                     "pooling_mode_mean_tokens", !strcmp(how, "mean"), "pooling_mode_max_tokens", !strcmp(how, "max"),
                     "pooling_mode_mean_sqrt_len_tokens", !strcmp(how, "sqrtlen"),
                     "pooling_mode_weightedmean_tokens", !strcmp(how, "wmean"),
                     "pooling_mode_lasttoken", !strcmp(how, "last"), "include_prompt", 1);
}

/* Creates the subfolder that the name begins with. */
static rf_status put_text(const rf_ctx *ctx, const char *folder, const char *name, const char *text, size_t size,
                          rf_error *why)
{
    char path[4096], below[4096];
    rf_status status = rf__path(path, sizeof path, folder, name, why);
    snprintf(below, sizeof below, "%s", path);
    if (!status && strchr(name, '/')) {
        *strrchr(below, '/') = 0;
        if (rf__os_make_folder(below) && errno != EEXIST)
            status = rf_fail(why, RF_EIO, "%.200s: cannot make the folder: %s", below, rf__os_reason(errno));
    }
    return status ? status : rf__replace_file(ctx, path, text, size, why);
}

rf_status rf__sentence_save(const rf_ctx *ctx, const char *folder, const char *name, json_t *value, rf_error *why)
{
    char *text = value ? rf__json_dump(value, JSON_INDENT(2)) : NULL;
    json_decref(value);
    const rf_status status = text ? put_text(ctx, folder, name, text, strlen(text), why)
                                  : rf_fail(why, RF_ENOMEM, "out of memory: %s", name);
    free(text);
    return status;
}

/* *text stays NULL if there is no such file. */
static rf_status take(const rf_ctx *ctx, const char *folder, const char *name, char **text, size_t *size, rf_error *why)
{
    char path[4096];
    const rf_status status = rf__path(path, sizeof path, folder, name, why);
    if (status || !rf__is_there(ctx, path)) return status;
    return rf__read_file(ctx, path, RF__SENTENCE_LARGEST, text, size, why);
}

static rf_status copy(const rf_ctx *ctx, const char *from, const char *to, const char *name, rf_error *why)
{
    char *text = NULL;
    size_t size;
    rf_status status = take(ctx, from, name, &text, &size, why);
    if (!status && text) status = put_text(ctx, to, name, text, size, why);
    rf__free(ctx, text);
    return status;
}

/* A limit that only the tokenizer's files have is written where every version of sentence-transformers finds it, with
 * the other settings of the Transformer. *out: the settings with it; NULL: they have one, or there is none. */
static rf_status with_length(const rf_ctx *ctx, const char *from, json_t **out, rf_error *why)
{
    char path[4096];
    rf_sentence s;
    json_t *root;
    *out = NULL;
    rf_status status = rf__sentence_load(ctx, from, "", RF_FILE_MODULES, true, path, &root, why);
    const bool named = root != NULL;
    json_decref(root);
    if (status || !named || rf_sentence_read(ctx, from, &s, NULL)) return status;
    const int64_t length = *s.transformer ? 0 : s.max_length;
    rf_sentence_free(&s);
    if (length) status = rf__transformer_load(ctx, from, "", path, &root, why);
    if (status || !length) return status;
    if (!json_is_integer(json_object_get(root, "max_seq_length"))) {
        *out = root ? json_copy(root) : json_object();
        rf__json_set(out, "max_seq_length", json_integer(length));
        if (!*out) status = rf_fail(why, RF_ENOMEM, "out of memory: %s", RF_FILE_SENTENCE);
    }
    json_decref(root);
    return status;
}

rf_status rf__sentence_adds_length(const rf_ctx *ctx, const char *from, bool *out, rf_error *why)
{
    json_t *settings;
    const rf_status status = with_length(ctx, from, &settings, why);
    *out = settings != NULL;
    json_decref(settings);
    return status;
}

rf_status rf__sentence_copy(const rf_ctx *ctx, const char *from, const char *to, rf_error *why)
{
    if (!(ctx && from && to)) return rf__missing("rf__sentence_copy", "ctx, from, to", why);
    rf_status status = RF_OK;
    for (const char *const *name = every; *name && !status; name++) status = copy(ctx, from, to, *name, why);
    json_t *settings = NULL;
    if (!status) status = with_length(ctx, from, &settings, why);
    return settings ? rf__sentence_save(ctx, to, RF_FILE_SENTENCE, settings, why) : status;
}

rf_status rf__sentence_prompts_read(const rf_ctx *ctx, const char *folder, rf__kept_file *out, rf_error *why)
{
    return take(ctx, folder, RF_FILE_PROMPTS, &out->text, &out->size, why);
}

rf_status rf__sentence_prompts_write(const rf_ctx *ctx, const char *folder, const rf__kept_file *p, rf_error *why)
{
    return p->text ? put_text(ctx, folder, RF_FILE_PROMPTS, p->text, p->size, why) : RF_OK;
}

rf_status rf__sentence_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why)
{
    if (!(ctx && folder && c)) return rf__missing("rf__sentence_write", "ctx, folder, config", why);
    const int64_t length = c->task_max_length ? c->task_max_length : c->max_position_embeddings;
    rf_status status = rf__sentence_save(ctx, folder, RF_FILE_POOLING, pooling(c), why);
    if (!status && c->sentence_normalize)
        status = rf__sentence_save(ctx, folder, RF_FILE_NORMALIZE, json_object(), why);
    if (!status)
        status = rf__sentence_save(
            ctx, folder, RF_FILE_SENTENCE,
            json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)length, "do_lower_case", 0), why);
    if (!status)
        status = rf__sentence_save(
            ctx, folder, RF_FILE_PROMPTS,
            json_pack("{s:{}, s:n, s:s}", "prompts", "default_prompt_name", "similarity_fn_name", "cosine"), why);
    return status ? status : rf__sentence_save(ctx, folder, RF_FILE_MODULES, modules(c), why);
}
