/* positions.c — the registry of position encodings, roformer/inspect/positions.h, and the checks of a config's
 * encoding. */
#include "model/family.h"
#include "model/layers/linear_attention.h"
#include "model/positions.h"
#include "store/store.h"

#include <stdio.h>

#define RFP(name) &rf__position_##name,
const rf_position *const rf__position_list[] = {
#include "model/positions.def"
    NULL
};
#undef RFP

/* ---- look-up ----------------------------------------------------------------------------------------------------- */

/* Names in other programs and papers. */
static const struct { const char *name, *ours;
} elsewhere[] = {
    {"", "rotary"},           {"rope", "rotary"},
    {"roformer", "rotary"},   {"nope", "none"},
    {"learned", "absolute"},  {"learnable", "absolute"},
    {"bert", "absolute"},     {"relative", "shaw"},
    {"transfo_xl", "transformer_xl"},
    {"bloom", "alibi"},       {"mpt", "alibi"},
    {"kerple", "kerple_log"}, {"disentangled", "deberta"},
    {"conv", "convolution"},  {"rnn", "recurrent"},
    {"integer", "index"},     {"concatenated", "concat"},
    {"normalized", "unit"},   {"normalised", "unit"},
};

static int distance(const char *a, const char *b) { return rf__edit_distance(a, strlen(a), b, strlen(b)); }

/* The most similar name, ignoring case. */
static const char *nearest(const char *given)
{
    char name[sizeof ((rf_config *)0)->position_embedding_type];
    size_t n = 0;
    for (; given[n] && n + 1 < sizeof name; n++)
        name[n] = (char)(given[n] >= 'A' && given[n] <= 'Z' ? given[n] - 'A' + 'a' : given[n]);
    name[n] = 0;
    const char *best = rf__position_list[0]->name;
    for (const rf_position *const *p = rf__position_list; *p; p++)
        if (distance(name, (*p)->name) < distance(name, best)) best = (*p)->name;
    for (size_t i = 0; i < RF_COUNT(elsewhere); i++)
        if (!strcmp(name, elsewhere[i].name)) best = elsewhere[i].ours;
    return best;
}

static rf_status unknown(const char *name, rf_error *why)
{
    char clean[32];
    snprintf(clean, sizeof clean, "%s", name);
    for (char *s = clean; *s; s++)
        if ((unsigned char)*s < 32 || *s == 127) *s = '?';
    return rf_fail(why, RF_EDATA, "config.json: position_embedding_type: expected a known encoding, got \"%s\"; the "
                   "nearest is \"%s\" (`roformer positions` lists all)", clean, nearest(name));
}

/* Refuses keys that have no meaning with the encoding; then calls its own check. */
static rf_status check(const rf_position *p, const rf_config *c, rf_error *why)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    if (p->flags & RF_POSITION_CAUSAL && !c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: position_embedding_type: \"%s\": expected causal attention "
                       "(is_decoder true), got an encoder (is_decoder false)", p->name);
    if (!(p->flags & RF_POSITION_ROPE) && (s->rope_type != RF_ROPE_DEFAULT || s->sections || c->rope_thetas))
        return rf_fail(why, RF_EDATA, "config.json: rope_scaling, rope_theta_per_layer: expected a "
                       "position_embedding_type that rotates, got \"%s\"", p->name);
    if (!(p->flags & RF_POSITION_ROPE) &&
        (c->use_logn_attn || c->rotary_value || c->rotary_heads || c->partial_rotary_factor < 1))
        return rf_fail(why, RF_EDATA, "config.json: %s: expected a position_embedding_type that rotates, got \"%s\"",
                       c->use_logn_attn  ? "use_logn_attn"
                       : c->rotary_value ? "rotary_value"
                       : c->rotary_heads ? "rotary_heads"
                                         : "partial_rotary_factor",
                       p->name);
    const rf_status status = p->check ? p->check(c, why) : RF_OK;
    return status ? status : rf__linear_attention_check(p, c, why);
}

rf_status rf__position_find(const rf_config *c, const rf_position **out, rf_error *why)
{
    const rf_family *family;
    rf_status status = rf__family_find(c, &family, why);
    if (status) return status;
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        if (strcmp((*p)->name, c->position_embedding_type)) continue;
        status = rf__family_allows(family, *p, why);
        if (!status) status = check(*p, c, why);
        if (!status) *out = *p;
        return status;
    }
    return unknown(c->position_embedding_type, why);
}

/* ---- for tools: roformer/inspect/positions.h ----------------------------------------------------------------- */

const rf_position *rf_position_at(int i)
{
    const int n = (int)RF_COUNT(rf__position_list) - 1;
    return i >= 0 && i < n ? rf__position_list[i] : NULL;
}

rf_status rf_position_of(const rf_config *c, const char *path, const rf_position **out, rf_error *why)
{
    if (!(c && out)) return rf__missing("rf_position_of", "config, out", why);
    const rf_status status = rf__position_find(c, out, why);
    if (status && path) rf__config_named(NULL, path, why);
    return status;
}

const char *rf_position_name(const rf_position *p) { return p ? p->name : ""; }
const char *rf_position_equation(const rf_position *p) { return p ? p->equation : ""; }
const char *rf_position_source(const rf_position *p) { return p ? p->source : ""; }
int rf_position_flags(const rf_position *p)
{
    return p ? p->flags | (p->relate ? RF_POSITION_RELATIVE : 0) : 0;
}

rf_status rf__position_caches(const rf_position *p, const rf_config *c, rf_error *why)
{
    if (p->attend)
        return rf_fail(why, RF_EUNSUPPORTED, "position_embedding_type: expected an encoding with which keys can be "
                       "cached, got \"%s\", which rotates a key anew for every distance", p->name);
    if (p->flags & RF_POSITION_ROPE && rf__rope_by_length(c))
        return rf_fail(why, RF_EUNSUPPORTED, "rope_scaling: expected angles with which keys can be cached, got angles "
                       "that depend on the length of the whole text; set final_length next to rope_type");
    if (p->flags & RF_POSITION_LENGTH)
        return rf_fail(why, RF_EUNSUPPORTED, "position_embedding_type: expected an encoding with which keys can be "
                       "cached, got \"%s\", which depends on the length of the whole text", p->name);
    return RF_OK;
}

rf_status rf__position_reaches(const rf_config *c, int64_t tokens, rf_error *why)
{
    const rf_position *p;
    const rf_status status = rf__position_find(c, &p, why);
    const bool extrapolates = p->flags & RF_POSITION_EXTRAPOLATES && !(c->deberta & RF_DEBERTA_ABSOLUTE);
    if (status || extrapolates || tokens <= c->max_position_embeddings) return status;
    return rf_fail(why, RF_EARG, "max_length: expected at most the model's %lld positions (max_position_embeddings, "
                   "position_embedding_type \"%s\"), got a text of %lld tokens; a smaller max_length cuts it",
                   (long long)c->max_position_embeddings, p->name, (long long)tokens);
}

int64_t rf__position_limit(const rf_config *c, int64_t tokens)
{
    return rf__position_reaches(c, tokens, NULL) ? c->max_position_embeddings : tokens;
}

rf_keeping rf__position_keeping(const rf_ctx *ctx, const rf_position *p, const rf_config *c, int64_t layer)
{
    if (layer < 0) return (rf_keeping){.state[RF_STATE_POSITION] = p->state ? p->state(c) : 0};
    if (rf__config_linear_attention(c, layer))
        return (rf_keeping){.state[RF_STATE_ATTENTION] = rf__linear_attention_sequence(ctx, c)};
    return (rf_keeping){.columns = 2 * rf__config_key_columns(c) + (p->key_columns ? p->key_columns(c) : 0),
                        .source = c->is_encoder_decoder ? 2 * rf__config_key_columns(c) : 0};
}
