/* embedding.c — how the vectors of texts are made. */
#include <stdio.h>
#include <string.h>

#include "cli/shell/embedding.h"

/* The folder's pooling as rf_pooling; mean where it says nothing. */
static rf_pooling pooling_of(const rf_sentence *s)
{
    return !strcmp(s->pooling, "cls") ? RF_POOL_CLS : !strcmp(s->pooling, "max") ? RF_POOL_MAX : RF_POOL_MEAN;
}

static rf_status no_prompt(cli_io *io, const rf_sentence *s, const char *option, const char *name)
{
    char all[200] = "";
    size_t n = 0;
    for (int64_t i = 0; s && i < s->prompts && n + 40 < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%.30s", i ? ", " : "", s->prompt[i].name);
    return rf_fail(&io->why, RF_EARG, "--%s-name %.60s: the folder has no such prompt%s%s", option, name,
                   *all ? ", but " : "", all);
}

/* A prompt by its text, or by its name among the folder's; where neither is given, what *prompt is. */
static rf_status settle_prompt(cli_io *io, const rf_sentence *s, const char *option, const char *text,
                               const char *name, const char **prompt)
{
    if (text && name) return rf_fail(&io->why, RF_EARG, "--%s and --%s-name exclude one another", option, option);
    if (text) *prompt = text;
    if (name) {
        int64_t i = 0;
        while (s && i < s->prompts && strcmp(s->prompt[i].name, name)) i++;
        if (!s || i == s->prompts) return no_prompt(io, s, option, name);
        *prompt = s->prompt[i].text;
    }
    if (*prompt && **prompt && s && !s->include_prompt)
        return rf_fail(&io->why, RF_EUNSUPPORTED,
                       "include_prompt is false: this model leaves a prompt's tokens out of the pooling, which is not "
                       "here; --%s '' embeds without one", option);
    return RF_OK;
}

rf_status cli_query_prompt(cli_io *io, rf_pipeline *p, const char *text, const char *name, const char **prompt)
{
    const rf_sentence *s = NULL;
    const rf_status status = rf_pipeline_sentence(p, &s, &io->why);
    return status ? status : settle_prompt(io, s, "query-prompt", text, name, prompt);
}

rf_status cli_embedding_settle(cli_io *io, rf_pipeline *p, const cli_embedding *given, rf_embed_options *out)
{
    const rf_sentence *s = NULL;
    const cli_parsed *parsed = io->parsed;
    rf_embed_defaults(out);
    rf_status status = rf_pipeline_sentence(p, &s, &io->why);
    if (!status && s && s->default_prompt >= 0) out->prompt = s->prompt[s->default_prompt].text;
    if (!status) status = settle_prompt(io, s, "prompt", given->prompt, given->prompt_name, &out->prompt);
    if (status) return status;
    out->pooling = s && !cli_given(parsed, "pooling") ? pooling_of(s) : (rf_pooling)given->pooling;
    out->normalize = s && s->normalize;
    out->max_length = given->max_length;
    if (s && s->max_length && given->max_length < 0) out->max_length = s->max_length;
    out->batch_tokens = given->batch_tokens;
    out->dimensions = given->dimensions;
    const int64_t C = rf_model_config(rf_pipeline_model(p))->hidden_size;
    if (s && s->truncate_dim && s->truncate_dim < C && !cli_given(parsed, "dimensions")) {
        out->dimensions = s->truncate_dim;
        out->cut_last = 1;
    }
    return RF_OK;
}

rf_status cli_query_tokens(const cli_io *io, const rf_pipeline *p, const char *text, size_t size, size_t *tokens,
                           rf_error *why)
{
    rf_encoding e;
    rf_encoding_init(&e, io->ctx);
    const rf_status status = rf_encode(rf_model_tokenizer(rf_pipeline_model(p)), text, size, NULL, 0, 0,
                                       RF_ENCODE_PLAIN, &e, NULL, why);
    *tokens = e.n;
    rf_encoding_clear(&e);
    return status;
}

rf_status cli_query_empty(rf_error *why)
{
    return rf_fail(why, RF_EARG, "the query is empty: nothing is near to it");
}

void cli_embedding_count(rf_texts_report *all, const rf_texts_report *some)
{
    all->done += some->done;
    all->tokens += some->tokens;
    all->cut += some->cut;
    all->unknown += some->unknown;
}

void cli_embedding_note(const cli_io *io, const rf_pipeline *p, const rf_embed_options *o, const rf_texts_report *all,
                        const char *what, bool by_index)
{
    const int64_t most = rf_model_config(rf_pipeline_model(p))->max_position_embeddings;
    const int64_t own = all->tokens - 2 * all->done;                                    /* without [CLS] and [SEP] */
    if (all->cut)
        cli_note(io, "%lld of %lld %s were longer than %lld tokens and were cut (%s--max-length)", (long long)all->cut,
                 (long long)all->done, what, (long long)(o->max_length < 0 ? most : o->max_length),
                 by_index ? "as the index was made: index " : "");
    if (all->unknown && 2 * all->unknown >= own)                    /* half: where each has a sign of its space, too */
        cli_note(io, "%lld of the %lld tokens of these %s are unknown to the model's vocabulary: their vectors say "
                 "little; %s", (long long)all->unknown, (long long)own, what,
                 by_index ? "an index by a model of this language would find more"
                          : "a model of this language is given with -m");
}
