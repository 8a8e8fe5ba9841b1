/* embedding.c — options that determine the vectors of texts. */
#include "cli/shared/embedding.h"

#include "cli/shared/unread.h"

rf_status cli_query_prompt(cli_io *io, rf_pipeline *p, const char *text, const char *name, rf_embed_options *o)
{
    rf_error inner = {0};
    if (!text && !name) return RF_OK;
    o->prompt = text;
    o->prompt_name = name;
    if (!rf_embed_resolve(p, o, o, &inner)) return RF_OK;
    return rf_fail(&io->why, inner.code, "query: %.300s", inner.text);
}

/* Another program would compute other vectors with this folder. */
static void note_causal(const cli_io *io, const rf_pipeline *p)
{
    const rf_sentence *s;
    if (rf_pipeline_sentence(p, &s, NULL) || s || !rf_model_config(rf_pipeline_model(p))->is_decoder) return;
    cli_note(io, "the model is causal, and vectors are means of all tokens, where sentence-transformers takes the last "
             "token's; --pooling mean says that this is meant");
}

/* sentence-transformers fails at the first text that is longer than the model's positions. */
static void note_limit(const cli_io *io, const rf_pipeline *p, int64_t length)
{
    const rf_sentence *s;
    if (rf_pipeline_sentence(p, &s, NULL) || !s || s->max_length <= length) return;
    cli_note(io, "max_seq_length is %lld, but the model has %lld positions: texts are cut to %lld tokens",
             (long long)s->max_length, (long long)length, (long long)length);
}

static void take_given(const cli_parsed *parsed, const cli_embedding *given, rf_embed_options *out)
{
    rf_embed_defaults(out);
    if (cli_given(parsed, "pooling")) out->pooling = (rf_pooling)given->pooling;
    if (cli_given(parsed, "dimensions")) out->dimensions = given->dimensions;
    out->max_length = given->max_length;
    out->batch_tokens = given->batch_tokens;
    out->skip_special_tokens = given->skip_special_tokens;
    out->layer_norm = given->layer_norm;
    out->prompt = given->prompt;
    out->prompt_name = given->prompt_name;
}

rf_status cli_embedding_resolve_tokens(cli_io *io, rf_pipeline *p, const cli_embedding *given, int role,
                                       rf_embed_options *out)
{
    take_given(io->parsed, given, out);
    out->role = role;
    return rf_embed_tokens_resolve(p, out, out, &io->why);
}

rf_status cli_embedding_resolve(cli_io *io, rf_pipeline *p, const cli_embedding *given, rf_embed_options *out)
{
    take_given(io->parsed, given, out);
    if (!cli_given(io->parsed, "pooling")) note_causal(io, p);
    const rf_status status = rf_embed_resolve(p, out, out, &io->why);
    if (!status && given->max_length == -1) note_limit(io, p, out->max_length);
    return status;
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
    return rf_fail(why, RF_EARG, "query: expected a text, got an empty one");
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
    const int64_t own = all->tokens - 2 * all->done;                                    /* without [CLS] and [SEP] */
    if (all->cut)
        cli_note(io, "%lld of %lld %s were longer than %lld tokens and were truncated (%s--max-length)",
                 (long long)all->cut, (long long)all->done, what, (long long)o->max_length,
                 by_index ? "set by the index: index " : "");
    if (all->unknown && 2 * all->unknown >= own)                    /* half, if each includes its space sign */
        cli_note(io, "%lld of the %lld tokens of these %s are unknown to the vocabulary, so their vectors have little "
                 "meaning; %s", (long long)all->unknown, (long long)own, what,
                 by_index ? "use an index by a model for this language"
                          : cli_unread_advice(rf_model_tokenizer(rf_pipeline_model(p))));
}
