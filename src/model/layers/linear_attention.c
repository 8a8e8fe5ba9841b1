/* linear_attention.c — layers with linear attention (attention_type "linear"):
 *
 *     out_m = sum_n <R(m) phi(q_m), R(n) psi(k_n)> v_n / sum_n <phi(q_m), psi(k_n)>      RoFormer, Eqs. 17-19
 *
 * with the feature map, the order of map and rotation, and the number of random features that config.json names.
 *
 * Random features are W = W(feature_seed, layer, draw), the same for all heads of a layer. In training, a new draw
 * begins every feature_redraw_interval steps; feature_draw records which one a model uses.
 *
 * Positions. Encodings that are added to the words act before attention. Rotation is that of rotary positions, with
 * angles for the columns of a row of features if these are rotated, or that of xPos, whose decay the sums over keys
 * carry from chunk to chunk. Encodings that change scores are not possible, because there are no scores; nor are angles
 * that depend on the length of the whole text, since they would have to change after the sum over its keys. */
#include "model/layers/linear_attention.h"

#include "base/context.h"
#include "kernel/attention/linear/linear_attention.h"
#include "store/store.h"

static int64_t width_of(const rf_config *c) { return c->hidden_size / c->num_attention_heads; }

int64_t rf__linear_attention_columns(const rf_config *c)
{
    return rf__linear_attention_features(c->feature_map, c->num_random_features, width_of(c));
}

/* (0.4 / 1.4)^-(127 / 4) = 2e17 is the largest factor of a key in its chunk. */
enum { LEAST_SCALE = 4 };

static bool is_xpos(const rf_config *c) { return !strcmp(c->position_embedding_type, "xpos"); }

static bool rotates(const rf_config *c)
{
    return (!strcmp(c->position_embedding_type, "rotary") || is_xpos(c)) && c->rotation_order == RF_ROTATE_FEATURES;
}

int64_t rf__linear_attention_rotary(const rf_config *c, int64_t layer)
{
    return rf__config_linear_attention(c, layer) && rotates(c) ? rf__linear_attention_columns(c) : 0;
}

int64_t rf__linear_attention_sequence(const rf_ctx *ctx, const rf_config *c)
{
    return rf__linear_attention_state(ctx->k, c->num_attention_heads, rf__linear_attention_columns(c), width_of(c));
}

/* Panels of the random features, and the scratch memory of all workers. */
static double scratch_of(const rf_ctx *ctx, const rf_config *c, int64_t T, size_t (*needs)(const rfk__linear *))
{
    if (!rf__config_linear_attention(c, -1)) return 0;
    const rfk__feature_map *map = rfk__feature_map_named(c->feature_map);
    const rfk__linear a = {.k = ctx->k, .map = map, .width = width_of(c), .features = rf__linear_attention_columns(c),
                           .causal = c->is_decoder, .tokens = T};
    const double panels = map->projects ? 4 * (double)rfk__linear_panels(ctx->k, a.features, a.width) : 0;
    return panels + (double)rf_ctx_threads(ctx) * (double)needs(&a);
}

double rf__linear_attention_scratch(const rf_ctx *ctx, const rf_config *c, int64_t T)
{
    return scratch_of(ctx, c, T, rfk__linear_back_scratch);
}

double rf__linear_attention_kept(const rf_config *c, int64_t T)
{
    if (!rf__config_linear_attention(c, -1)) return 0;
    const double f = (double)rf__linear_attention_columns(c), L = (double)c->num_hidden_layers;
    const double random = rfk__feature_map_named(c->feature_map)->projects ? L * (f + 1) * (double)width_of(c) : 0;
    return 4 * (random + (rotates(c) ? f * (double)rf__max64(T, 512) : 0));
}

double rf__linear_attention_left(const rf_ctx *ctx, const rf_config *c, int64_t T)
{
    if (!rf__config_linear_attention(c, -1) || !c->is_decoder || T < 1) return 0;
    const size_t head = rfk__linear_left_bytes(ctx->k, rf__linear_attention_columns(c), width_of(c), T);
    return (double)c->num_attention_heads * (double)head / (double)T;
}

rf_status rf__linear_attention_fits(const rf_ctx *ctx, const rf_config *c, double left, rf_error *why)
{
    const double kept = rf__linear_attention_kept(c, 1), work = scratch_of(ctx, c, 1, rfk__linear_scratch);
    if (left <= 0 || kept + work <= left) return RF_OK;
    return rf_fail(why, RF_ENOMEM,
                   "out of memory: linear attention with %lld features (num_random_features) needs %.2f GB (%.2f GB "
                   "that all layers keep, %.2f GB for %d threads at work), %.2f GB available",
                   (long long)rf__linear_attention_columns(c), 1e-9 * (kept + work), 1e-9 * kept, 1e-9 * work,
                   rf_ctx_threads(ctx), 1e-9 * left);
}

bool rf__linear_attention_slower(const rf_config *c, int64_t T)
{
    enum { FAR = 16 };                                  /* about three times the multiplications of all causal pairs */
    return rf__config_linear_attention(c, -1) && rf__linear_attention_columns(c) / FAR >= T;
}

void rf__linear_attention_draw(rf_config *c, int64_t steps)
{
    if (c->feature_redraw_interval <= 0 || !rf__config_linear_attention(c, -1)) return;
    const int64_t draw = rf__max64(steps - 1, 0) / c->feature_redraw_interval;
    if (c->feature_draw != draw) c->feature_draw = draw;
}

/* ---- checks of combinations -------------------------------------------------------------------------------------- */

/* The first key of rotary positions that linear attention does not support; NULL: none. */
static const char *odd_key(const rf_config *c)
{
    if (c->rotary_value) return "rotary_value";
    if (!rotates(c)) return NULL;
    return c->rotary_heads                ? "rotary_heads"
           : c->use_logn_attn             ? "use_logn_attn"
           : c->partial_rotary_factor < 1 ? "partial_rotary_factor"
           : c->rope_scaling.sections     ? "mrope_section"
                                          : NULL;
}

static rf_status check_position(const rf_position *p, const rf_config *c, rf_error *why)
{
    const bool axial = !strcmp(p->name, "rotary_axial"), rotary = axial || !strcmp(p->name, "rotary") || is_xpos(c);
    if (p->relate || p->attend || ((p->angles || p->rotate || p->unrotate) && !rotary))
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: position_embedding_type: expected \"rotary\", \"xpos\" or "
                       "an encoding that is added to the words with attention_type \"linear\", got \"%s\", which acts "
                       "on scores", p->name);
    if (rotary && rf__rope_by_length(c))
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: rope_scaling: expected angles that do not depend on the "
                       "length of the text with attention_type \"linear\", got \"%s\"; set final_length next to "
                       "rope_type", rf_rope_type_name(c->rope_scaling.rope_type));
    if (rotates(c) && c->rope_scaling.rope_type == RF_ROPE_LONGROPE)
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: rotation_order: expected \"before\" with rope_scaling "
                       "\"longrope\", whose lists are for the planes of a head, got \"eq19\"");
    if (axial && c->rotation_order == RF_ROTATE_FEATURES)
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: rotation_order: expected \"before\" with "
                       "position_embedding_type \"rotary_axial\", got \"eq19\"");
    if (is_xpos(c) && !rotates(c))
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: rotation_order: expected \"eq19\" with "
                       "position_embedding_type \"xpos\", got \"%s\", which makes queries and keys grow with their "
                       "position", c->rotation_order == RF_ROTATE_BEFORE ? "before" : "none");
    if (is_xpos(c) && c->xpos_scale_base < LEAST_SCALE)
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: xpos_scale_base: expected at least %d with attention_type "
                       "\"linear\", got %g, whose powers within a chunk of keys leave f32", LEAST_SCALE,
                       c->xpos_scale_base);
    if (rotary && odd_key(c))
        return rf_fail(why, RF_EUNSUPPORTED, "config.json: %s: expected to be unset with attention_type \"linear\"%s",
                       odd_key(c), c->rotary_value ? "" : " and rotation_order \"eq19\"");
    return RF_OK;
}

rf_status rf__linear_attention_check(const rf_position *p, const rf_config *c, rf_error *why)
{
    if (!rf__config_linear_attention(c, -1)) return RF_OK;
    const rfk__feature_map *map = rfk__feature_map_named(c->feature_map);
    const int64_t f = rf__linear_attention_columns(c), D = width_of(c);
    rfk_table ref;
    if (!map)
        return rf_fail(why, RF_EDATA, "config.json: feature_map: expected a known feature map, got \"%s\"",
                       c->feature_map);
    if (map->projects && c->feature_seed < 0)
        return rf_fail(why, RF_EDATA, "config.json: feature_seed: expected the seed of the random features of "
                       "feature_map \"%s\", got none; a new model takes any whole number, a trained one its own",
                       map->name);
    if (rfk_rung(0, &ref) && !rfk__linear_fits(&ref, f, D, c->max_position_embeddings))
        return rf_fail(why, RF_ERANGE, "config.json: num_random_features: expected at most as many as can be computed "
                       "for heads of at most %d columns, got %lld for heads of %lld", RFK__WIDEST, (long long)f,
                       (long long)D);
    if (rotates(c) && f % 2)
        return rf_fail(why, RF_EDATA, "config.json: num_random_features: expected an even number with rotation_order "
                       "\"eq19\", got %lld", (long long)f);
    return check_position(p, c, why);
}

/* ---- a layer ----------------------------------------------------------------------------------------------------- */

/* The layer's random features are kept between batches, with one more row for the number of their draw. */
static const float *random_features(rf_graph *g, const rf_layer_context *at)
{
    const rf_config *c = at->config;
    const int64_t f = rf__linear_attention_columns(c), D = width_of(c);
    const rf_kept *kept = rf__positions_kept(at, at->layer, 0);
    int64_t draw;
    if (kept->rows == f + 1) {
        memcpy(&draw, kept->x + f * D, sizeof draw);
        if (draw == c->feature_draw) return kept->x;
    }
    const rf_mark mark = rf__scratch(g);
    float *w = rf__values(g, (size_t)((f + 1) * D), sizeof *w);
    double *work = rf__values(g, (size_t)(D * D), sizeof *work);
    if (g->error.code) return NULL;
    if (g->dry) {
        rf__scratch_end(g, mark);
        return w;
    }
    memset(w + f * D, 0, (size_t)D * sizeof *w);
    memcpy(w + f * D, &c->feature_draw, sizeof c->feature_draw);
    rfk__random_features((uint64_t)c->feature_seed, (uint64_t)c->feature_draw << 16 | (uint64_t)at->layer, f, D, w,
                         work);
    const bool fine = rf__positions_keep(g, at, at->layer, 0, f + 1, D, w);
    rf__scratch_end(g, mark);
    return fine ? rf__positions_kept(at, at->layer, 0)->x : NULL;
}

/* Binds the states of this layer in the cache's sequences. */
static bool states(rf_graph *g, const rf_layer_context *at, rf_linear_attention_spec *spec)
{
    const float **past = rf__push(g, (size_t)at->B, sizeof *past);
    float **next = rf__push(g, (size_t)at->B, sizeof *next);
    for (int64_t b = 0; !g->error.code && b < at->B; b++) {
        past[b] = rf__cache_state(at->cache, b, at->layer, RF_STATE_ATTENTION);
        next[b] = rf__cache_next_state(g, at->cache, b, at->layer, RF_STATE_ATTENTION);
    }
    spec->past = past;
    spec->next = next;
    return !g->error.code;
}

rf_tensor *rf__linear_attention_forward(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv,
                                        const rf_attention_spec *spec, int64_t *underflows)
{
    const rf_config *c = at->config;
    const bool angles = c->rotation_order != RF_ROTATE_NONE;
    rf_linear_attention_spec is = {
        .heads = c->num_attention_heads,
        .B = at->B,
        .start = at->start,
        .rope = angles ? spec->rope : NULL,
        .row = angles ? spec->row : NULL,
        .rotate_features = rotates(c),
        .causal = c->is_decoder,
        .feature_map = c->feature_map,
        .features = rf__linear_attention_columns(c),
        .epsilon = c->feature_epsilon,
        .underflows = underflows,
        .decay = at->decay,
    };
    if (g->error.code) return &g->nil.t;
    if (rfk__feature_map_named(c->feature_map)->projects && !(is.random = random_features(g, at))) return &g->nil.t;
    if (at->cache && !states(g, at, &is)) return &g->nil.t;
    return rf__linear_attention(g, qkv, &is);
}
