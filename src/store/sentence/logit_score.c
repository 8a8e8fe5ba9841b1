/* logit_score.c — a causal model whose next token is a score: module LogitScore of sentence-transformers.
 *
 *     z = x . (W[true] - W[false])          x: last hidden state of the last token, W: the matrix of the logits
 *
 * Such a model is opened as one with the head for texts and one output, whose row is that difference
 * (model/params/answer_row.c). */
#include "base/files/path.h"
#include "base/json.h"
#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/store.h"
#include "store/task.h"

static bool is_module(const json_t *module, const char *name)
{
    const char *type = rf__module_type(module);
    return type && !strcmp(type, name);
}

/* An id of the vocabulary; null is -1 where it may be missing. */
static rf_status read_id(const char *path, const json_t *root, const char *key, bool may_lack, const rf_config *c,
                         int64_t *out, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    *out = -1;
    if (may_lack && (!v || json_is_null(v))) return RF_OK;
    if (json_is_integer(v)) *out = json_integer_value(v);
    if (*out >= 0 && *out < c->vocab_size) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.200s: %s: expected an id below vocab_size, %lld, got %lld", path, key,
                   (long long)c->vocab_size, (long long)*out);
}

static rf_status read_module(const rf_ctx *ctx, const char *folder, const char *below, rf_config *c, rf_error *why)
{
    char path[4096];
    json_t *root;
    rf_status status = rf__sentence_load(ctx, folder, below, RF_FILE_CONFIG, false, path, &root, why);
    if (status) return status;
    const char *input = json_string_value(json_object_get(root, "module_input_name"));
    if (!root) status = rf_fail(why, RF_EIO, "%.200s: expected the file of a module in modules.json, got none", path);
    else if (input && strcmp(input, "causal_logits"))
        status = rf_fail(why, RF_EUNSUPPORTED, "%.200s: module_input_name: expected causal_logits, got \"%s\"", path,
                         rf__printable(input).text);
    if (!status) status = read_id(path, root, "true_token_id", false, c, &c->true_token_id, why);
    if (!status) status = read_id(path, root, "false_token_id", true, c, &c->false_token_id, why);
    json_decref(root);
    return status;
}

static rf_status become_reranker(const char *path, rf_config *c, rf_error *why)
{
    const bool causal = c->is_decoder && rf_config_head(c) == RF_HEAD_MLM;
    if (causal) rf_config_set_head(c, RF_HEAD_SEQUENCE);
    if (!causal || rf_config_head(c) != RF_HEAD_SEQUENCE)
        return rf_fail(why, RF_EUNSUPPORTED, "%.200s: LogitScore: expected a causal language model of a family with a "
                       "head for texts, got %s", path, *c->architecture ? c->architecture : c->family);
    c->logit_score = 1;
    c->num_labels = 1;
    return RF_OK;
}

rf_status rf__logit_score_read(const rf_ctx *ctx, const char *folder, rf_config *c, rf_error *why)
{
    char path[4096];
    json_t *list;
    rf_status status = rf__sentence_load(ctx, folder, "", RF_FILE_MODULES, true, path, &list, why);
    const json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
    if (!status && is_module(second, "LogitScore")) {
        const char *here = json_string_value(json_object_get(first, "path")),
                   *below = json_string_value(json_object_get(second, "path"));
        if (json_array_size(list) != 2 || !is_module(first, "Transformer") || !here || *here || !below ||
            (*below && !rf__stays_below(below)))
            status = rf_fail(why, RF_EUNSUPPORTED, "%.200s: LogitScore: expected the modules Transformer, in the "
                             "folder itself, and LogitScore, in one below it, got others", path);
        else status = become_reranker(path, c, why);
        if (!status) status = read_module(ctx, folder, below, c, why);
    }
    json_decref(list);
    return status;
}
