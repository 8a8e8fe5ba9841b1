/* embedding.c — how the vectors of texts are made. */
#include <stdio.h>
#include <string.h>

#include "cli/shell/embedding.h"

/* The folder's pooling as rf_pooling: the words of --pooling are in its order. */
static rf_pooling pooling_of(const rf_sentence *s)
{
    return !strcmp(s->pooling, "cls") ? RF_POOL_CLS : !strcmp(s->pooling, "max") ? RF_POOL_MAX : RF_POOL_MEAN;
}

static rf_status no_prompt(cli_io *io, const rf_sentence *s, const char *name)
{
    char all[200] = "";
    size_t n = 0;
    for (int64_t i = 0; s && i < s->prompts && n + 40 < sizeof all; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%.30s", i ? ", " : "", s->prompt[i].name);
    return rf_fail(&io->why, RF_EARG, "--prompt-name %.60s: the folder has no such prompt%s%s", name,
                   *all ? ", but " : "", all);
}

static rf_status settle_prompt(cli_io *io, const rf_sentence *s, const cli_embedding *given, const char **prompt)
{
    *prompt = given->prompt;
    if (given->prompt && given->prompt_name)
        return rf_fail(&io->why, RF_EARG, "--prompt and --prompt-name exclude one another");
    if (given->prompt_name) {
        int64_t i = 0;
        while (s && i < s->prompts && strcmp(s->prompt[i].name, given->prompt_name)) i++;
        if (!s || i == s->prompts) return no_prompt(io, s, given->prompt_name);
        *prompt = s->prompt[i].text;
    } else if (!given->prompt && s && s->default_prompt >= 0) {
        *prompt = s->prompt[s->default_prompt].text;
    }
    if (*prompt && **prompt && s && !s->include_prompt)
        return rf_fail(&io->why, RF_EUNSUPPORTED,
                       "include_prompt is false: this model leaves a prompt's tokens out of the pooling, which is not "
                       "here; --prompt '' embeds without one");
    return RF_OK;
}

rf_status cli_embedding_settle(cli_io *io, rf_pipeline *p, const cli_embedding *given, rf_embed_options *out)
{
    const rf_sentence *s = NULL;
    const cli_parsed *parsed = io->parsed;
    rf_embed_defaults(out);
    rf_status status = rf_pipeline_sentence(p, &s, &io->why);
    if (!status) status = settle_prompt(io, s, given, &out->prompt);
    if (status) return status;
    out->pooling = s && !cli_given(parsed, "pooling") ? pooling_of(s) : (rf_pooling)given->pooling;
    out->normalize = s && !cli_given(parsed, "normalize") ? s->normalize : given->normalize;
    out->max_length = given->max_length;
    if (s && s->max_length && given->max_length < 0) out->max_length = s->max_length;
    out->batch_tokens = given->batch_tokens;
    out->dimensions = given->dimensions;
    return RF_OK;
}
