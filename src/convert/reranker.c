/* reranker.c — the files of a causal reranker (store/logit_score.c), for models whose folder has none of them.
 *
 *     score = sigmoid(logit of `yes` - logit of `no`) after the words of the template
 *
 * The words and tokens of a kind are those that its model card computes with. */
#include <stdio.h>

#include "base/base.h"
#include "base/json.h"
#include "reranker.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"
#include "train/checkpoint/folder.h"

#define MESSAGE(role, more)                                                                                            \
    "{{ messages | selectattr(\"role\", \"eq\", \"" role "\") | map(attribute=\"content\") | first" more " }}"
#define LOGIT_SCORE "1_LogitScore"

struct rf__reranker {
    const char *kind, *yes, *no;
    const char *token[3];               /* that the template is made of; NULL at the end                              */
    int64_t longest;                    /* tokens of a pair                                                           */
    const char *template;               /* Jinja removes the last line end                                            */
};

static const rf__reranker kinds[] = {
    {"qwen3", "yes", "no", {"<|im_start|>", "<|im_end|>", NULL}, 8192,
     "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
     "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n"
     "<Instruct>: " MESSAGE("system", " | default(\"Given a web search query, retrieve relevant passages that answer "
                                      "the query\")") "\n"
     "<Query>: " MESSAGE("query", "") "\n"
     "<Document>: " MESSAGE("document", "") "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n\n"},
};

static rf_status check(const rf__reranker *r, const char *from, const rf_config *c, const rf_tokenizer *t,
                       rf_error *why)
{
    rf_config copy = *c;
    const bool causal = c->is_decoder && rf_config_head(c) == RF_HEAD_MLM;
    if (causal) rf_config_set_head(&copy, RF_HEAD_SEQUENCE);
    if (!causal || rf_config_head(&copy) != RF_HEAD_SEQUENCE)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: reranker: expected a causal language model of a family with a head "
                       "for texts, got %s", from, *c->architecture ? c->architecture : c->family);
    if (rf__folder_has(from, RF_FILE_MODULES))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: reranker: expected a folder without " RF_FILE_MODULES ", got one "
                       "that says what its model computes; leave out the kind of reranker", from);
    if (!t) return rf_fail(why, RF_EDATA, "%s: reranker: expected a tokenizer, got none", from);
    const char *const needed[] = {r->yes, r->no, r->token[0], r->token[1], r->token[2]};
    for (size_t i = 0; i < RF_COUNT(needed) && needed[i]; i++)
        if (rf_tokenizer_id(t, needed[i]) < 0)
            return rf_fail(why, RF_EDATA, "%s: reranker %s: expected \"%s\" as a token of its tokenizer, got none; it "
                           "is not such a model", from, r->kind, needed[i]);
    return RF_OK;
}

rf_status rf__reranker_find(const char *kind, const char *from, const rf_config *c, const rf_tokenizer *t,
                            const rf__reranker **out, rf_error *why)
{
    for (size_t i = 0; i < RF_COUNT(kinds); i++) {
        if (strcmp(kind, kinds[i].kind) != 0) continue;
        *out = &kinds[i];
        return check(*out, from, c, t, why);
    }
    return rf_fail(why, RF_EARG, "reranker: expected qwen3, got \"%s\"", rf__printable(kind).text);
}

static json_t *module(int index, const char *path, const char *type)
{
    char name[8];
    snprintf(name, sizeof name, "%d", index);
    return json_pack("{s:i, s:s, s:s, s:s+}", "idx", index, "name", name, "path", path, "type",
                     "sentence_transformers.", type);
}

/* The logits of a text, and a message for each role instead of a conversation. */
static json_t *settings(const rf__reranker *r, const rf_config *c)
{
    const int64_t most = c->max_position_embeddings, n = most && most < r->longest ? most : r->longest;
    return json_pack("{s:s, s:s, s:{s:{s:s, s:s}, s:{s:s, s:s, s:s}}, s:I}", "transformer_task", "text-generation",
                     "module_output_name", "causal_logits", "modality_config", "text", "method", "forward",
                     "method_output_name", "logits", "message", "method", "forward", "method_output_name", "logits",
                     "format", "flat", "max_seq_length", (json_int_t)n);
}

rf_status rf__reranker_write(const rf_ctx *ctx, const rf__reranker *r, const rf_config *c, const rf_tokenizer *t,
                             const char *to, rf_error *why)
{
    char path[4096];
    json_t *modules = json_array();
    rf__json_add(&modules, module(0, "", "base.modules.transformer.Transformer"));
    rf__json_add(&modules, module(1, LOGIT_SCORE, "cross_encoder.modules.logit_score.LogitScore"));
    json_t *tokens = json_pack("{s:I, s:I, s:s}", "true_token_id", (json_int_t)rf_tokenizer_id(t, r->yes),
                               "false_token_id", (json_int_t)rf_tokenizer_id(t, r->no), "module_input_name",
                               "causal_logits");
    const struct { const char *name; json_t *value; } file[] = {
        {RF_FILE_MODULES, modules},
        {LOGIT_SCORE "/" RF_FILE_CONFIG, tokens},
        {RF_FILE_SENTENCE, settings(r, c)},
        {RF_FILE_PROMPTS,
         json_pack("{s:s, s:{}, s:n}", "model_type", "CrossEncoder", "prompts", "default_prompt_name")},
    };
    rf_status status = rf__path(path, sizeof path, to, RF_FILE_CHAT_TEMPLATE, why);
    if (!status) status = rf__replace_file(ctx, path, r->template, strlen(r->template), why);
    for (size_t i = 0; i < RF_COUNT(file); i++) {
        if (status) json_decref(file[i].value);
        else status = rf__sentence_save(ctx, to, file[i].name, file[i].value, why);
    }
    return status;
}
