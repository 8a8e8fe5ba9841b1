/* sequence.c — a session's sequences, one by one; see include/roformer/model.h.  Their cache is in cache.c. */
#include "roformer/model.h"

#include "decode/session.h"
#include "model/positions.h"

void rf_sequence_options_init(rf_sequence_options *o, size_t size)
{
    const rf_sequence_options own = {.type = RF_F32};
    rf__options_init(o, size, &own, sizeof own);
}

static rf_status read_options(const rf_sequence_options *options, rf_sequence_options *out, rf_error *why)
{
    rf_sequence_defaults(out);
    const rf_status status = rf__options_read(out, sizeof *out, sizeof *out, options, "rf_sequence_options", why);
    if (status || out->type == RF_F32 || out->type == RF_BF16) return status;
    return rf_fail(why, RF_EARG, "rf_sequence_options: type: expected RF_F32 or RF_BF16, got %d", (int)out->type);
}

rf_type rf__sequence_type(const rf_model *m, rf_type asked) { return m->type == RF_F32 ? asked : RF_BF16; }

rf_status rf_sequence_new(rf_session *s, const rf_sequence_options *options, rf_sequence *out, rf_error *why)
{
    rf_sequence_options o;
    rf_cache *cache;
    if (!(s && out)) return rf__missing("rf_sequence_new", "session, out", why);
    rf_status status = read_options(options, &o, why);
    if (!status) status = rf__session_cache(s, &cache, why);
    if (!status && rf__session_model(s)->config.is_encoder_decoder)
        status = rf_fail(why, RF_EUNSUPPORTED,
                         "sequence: expected a source for a decoder's sequence, got none; use rf_sequence_read");
    return status ? status : rf__cache_add(cache, rf__sequence_type(rf__session_model(s), o.type), out, why);
}

rf_status rf_sequence_read(rf_session *s, const rf_sequence_options *options, const rf_batch *source,
                           rf_sequence out[], rf_error *why)
{
    rf_sequence_options o;
    if (!(s && source && out)) return rf__missing("rf_sequence_read", "session, source, out", why);
    if (!rf__session_model(s)->config.is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "sequence: expected an encoder-decoder model for a source, got one without a decoder");
    const rf_status status = read_options(options, &o, why);
    return status ? status : rf__session_read(s, rf__sequence_type(rf__session_model(s), o.type), source, out, why);
}

rf_status rf_sequence_fork(rf_session *s, rf_sequence from, rf_sequence *out, rf_error *why)
{
    rf_cache *cache;
    if (!(s && out)) return rf__missing("rf_sequence_fork", "session, out", why);
    const rf_status status = rf__session_cache(s, &cache, why);
    return status ? status : rf__cache_fork(cache, from, rf__cache_tokens(cache, from), out, why);
}

rf_status rf_sequence_drop(rf_session *s, rf_sequence which, rf_error *why)
{
    rf_cache *cache;
    if (!s) return rf__missing("rf_sequence_drop", "session", why);
    const rf_status status = rf__session_cache(s, &cache, why);
    return status ? status : rf__cache_drop(cache, which, why);
}

int64_t rf_sequence_length(const rf_session *s, rf_sequence which)
{
    const rf_cache *cache = s ? rf__session_kept(s) : NULL;
    return cache ? rf__cache_tokens(cache, which) : -1;
}

static size_t bytes_of(const rf_model *m, const rf_sequence_options *options, int64_t tokens,
                       size_t (*of)(const rf_keeping *k, rf_type type, int64_t tokens))
{
    rf_sequence_options o;
    size_t sum = 0;
    if (!m || tokens < 0 || read_options(options, &o, NULL)) return SIZE_MAX;
    const rf_stack *stack = rf__model_writer(m);
    for (int64_t i = -1; i < stack->config.num_hidden_layers; i++) {
        const rf_keeping k = rf__position_keeping(m->ctx, stack->position, &stack->config, i);
        if (!rf__checked_add(sum, of(&k, rf__sequence_type(m, o.type), tokens), &sum)) return SIZE_MAX;
    }
    return sum;
}

size_t rf_sequence_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens)
{
    return bytes_of(m, options, tokens, rf__keeping_bytes);
}

size_t rf_sequence_source_bytes(const rf_model *m, const rf_sequence_options *options, int64_t tokens)
{
    return bytes_of(m, options, tokens, rf__source_bytes);
}

size_t rf_sequence_memory(const rf_session *s)
{
    const rf_cache *cache = s ? rf__session_kept(s) : NULL;
    return cache ? rf__cache_bytes(cache) : 0;
}

rf_status rf_sequence_limit(rf_session *s, size_t bytes, rf_error *why)
{
    rf_cache *cache;
    if (!s) return rf__missing("rf_sequence_limit", "session", why);
    const rf_status status = rf__session_cache(s, &cache, why);
    if (!status) rf__cache_limit(cache, bytes);
    return status;
}
