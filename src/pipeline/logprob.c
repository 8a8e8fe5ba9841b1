/* logprob.c — the log-probability of a text:
 *
 *     causal     log p(tokens | [CLS] context), [CLS] only if the tokenizer puts it before a text; with nothing before
 *                it, the first token has no probability
 *     masked     sum over the tokens t of the text: log p(t | all other tokens), the pseudo-log-likelihood */
#include "pipeline/masked.h"
#include "roformer/generate.h"

void rf_logprob_options_init(rf_logprob_options *o, size_t size)
{
    const rf_logprob_options own = {.max_length = 0, .stride = 0, .end = 0};
    rf__options_init(o, size, &own, sizeof own);
}

/* Appends the tokens of a text; SIZE_MAX bytes: the text ends at its zero. */
static rf_status add_tokens(rf_pipeline *p, const char *text, size_t bytes, size_t *n, rf_error *why)
{
    rf_encoding *e = &p->parts.window.e;
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    if (!text) return RF_OK;
    if (bytes == RF_STRING) bytes = strlen(text);
    const rf_status status = rf_encode(t, text, bytes, NULL, 0, 0, RF_ENCODE_PLAIN, e, NULL, why);
    if (status) return status;
    int32_t *more = rf__realloc(p->ctx, p->id, (*n + e->n + RF_FRAME_PARTS) * sizeof *more);
    if (!more) return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu tokens", *n + e->n);
    p->id = more;
    if (e->n) memcpy(p->id + *n, e->id, e->n * sizeof *p->id);
    *n += e->n;
    return RF_OK;
}

/* A masked model reads a whole text, and does not predict its end. */
static rf_status check_masked(const rf_pipeline *p, const rf_logprob_options *o, rf_error *why)
{
    if (o->end) return rf_fail(why, RF_EARG, "end: expected 0 with a masked model, got 1: it does not predict ends");
    if (o->max_length || o->stride)
        return rf_fail(why, RF_EARG,
                       "max_length, stride: expected 0 with a masked model, which reads a text whole, got "
                       "%lld and %lld",
                       (long long)o->max_length, (long long)o->stride);
    return rf__can_fill(p, why);
}

/* The terms of the tokens first .. n - 1, with the template's tokens around all. */
static rf_status score_masked(rf_pipeline *p, const rf__surroundings *around, size_t first, size_t n, double *logprob,
                              rf_error *why)
{
    const size_t all = n + around->ends;
    int32_t *type = rf__calloc(p->ctx, all, sizeof *type);
    if (!type) return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu tokens", all);
    for (size_t i = 0; i < n; i++) type[i] = i < around->opens ? around->before[i].type : around->type;
    for (size_t i = n; i < all; i++) {
        p->id[i] = around->after[i - n].token;
        type[i] = around->after[i - n].type;
    }
    const rf_status status = rf__pseudo_logprobs(p, p->id, type, (int64_t)all, (int64_t)first, (int64_t)(n - first),
                                                 2048, logprob + first, why);
    rf__free(p->ctx, type);
    return status;
}

rf_status rf_logprob_text(rf_pipeline *p, const char *context, size_t context_bytes, const char *text, size_t bytes,
                          const rf_logprob_options *options, const rf_text_logprob **out, rf_error *why)
{
    rf_logprob_options o;
    if (!(p && text && out)) return rf__missing("rf_logprob_text", "pipeline, text, out", why);
    rf_logprob_defaults(&o);
    rf_status status =
        rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_logprob_options, end), options, "rf_logprob_options", why);
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const int64_t most = o.max_length ? o.max_length : rf_model_config(p->model)->max_position_embeddings;
    size_t n, first;
    rf__surroundings around;
    rf__surroundings_of(t, &around);
    p->parts.window.n = 0;
    if (!status && o.stride && o.max_length && o.stride >= o.max_length)
        status = rf_fail(why, RF_EARG, "stride: expected less than max_length, %lld, got %lld", (long long)o.max_length,
                         (long long)o.stride);
    const size_t before = !context ? 0 : context_bytes == RF_STRING ? strlen(context) : context_bytes;
    const size_t bad = rf_utf8_check(context, before);
    if (!status && bad < before)
        status = rf_fail(why, RF_EDATA, "context: expected UTF-8, got byte 0x%02X at byte %zu",
                         (unsigned char)context[bad], bad + 1);
    const rf_config *c = rf_model_config(p->model);
    const bool masked = !c->is_decoder && !c->is_encoder_decoder && rf_model_has_head(p->model);
    if (!status && masked) status = check_masked(p, &o, why);
    n = masked ? around.opens : (size_t)rf__tokenizer_opens(t);
    if (!status) status = add_tokens(p, "", 0, &n, why);
    if (status) return status;
    for (size_t i = 0; i < n; i++) p->id[i] = masked ? around.before[i].token : rf_tokenizer_cls(t);
    status = add_tokens(p, context, before, &n, why);
    first = n;
    if (!status) status = add_tokens(p, text, bytes, &n, why);
    if (status) return status;
    if (o.end && p->sep < 0)
        return rf_fail(why, RF_EUNSUPPORTED, "end: expected a tokenizer with a token that ends a text, got one "
                       "without");
    if (o.end) p->id[n++] = rf_tokenizer_sep(t);
    const bool alone = !masked && !first && n;                             /* the first token follows nothing */
    first += alone;
    double *logprob = rf__realloc(p->ctx, p->logprob, (n + 1) * sizeof *logprob);
    if (!logprob) return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu tokens", n);
    p->logprob = logprob;
    const int64_t stride = o.stride ? o.stride : (most + 1) / 2;
    if (!masked && n) status = rf_session_logprobs(p->session, p->id, (int64_t)n, most, stride, logprob, 0, NULL, why);
    else if (masked) {
        status = score_masked(p, &around, first, n, logprob, why);
    }
    if (status) return status;
    rf_text_logprob *s = &p->text_logprob;
    *s = (rf_text_logprob){.n = (int64_t)(n - first), .id = p->id + first, .logprob = logprob + first,
                           .uncounted = alone};
    for (size_t i = first; i < n; i++) s->total += logprob[i];
    *out = s;
    return RF_OK;
}
