/* encoder.c — an encoder of any family: binds its tensors to struct members and runs its layers in order; for families
 * with a decoder, the decoder that attends to the result.
 *
 *     h_0     = embed(batch)
 *     h_l+1   = layer(h_l)                      as the family's row defines it (family.h); BERT's is in bert_layer.c
 *     logits  = head(h) word^T + bias           of masked tokens; those of other heads are in heads.c
 *
 * The softmax of attention is over all tokens of a text or, with is_decoder, over those up to m: then h_m is a function
 * of tokens 0 .. m, and the logits at m are those of token m + 1.
 *
 * The row that config.json names is called wherever positions matter (position.h). RoFormer does not add positions: it
 * only rotates by R(m), with interleaved pairs, as in the published checkpoints. */
#include <math.h>

#include "graph/graph.h"
#include "model/encoder.h"
#include "model/family.h"
#include "model/layers/linear_attention.h"
#include "store/store.h"

/* One stack: its tensors, and what its position encoding keeps. */
typedef struct side {
    const rf_stack *is;
    char *embedding, *layer;               /* the family's structs: of the embeddings, of each layer                  */
    rf_tensor **position;                  /* the encoding's parameters: of the embeddings, then of each layer        */
    size_t per_embedding, per_layer;       /* how many                                                                */
    rf_positions *kept;
} side;

struct rf_encoder {
    const rf_ctx *ctx;
    const rf_params *params;
    float **value, **grad;                 /* one for each parameter; grad entries NULL: inference                    */
    const rf_packed **packed;              /* one for each parameter, or NULL                                         */
    const uint16_t *bf16;                  /* a slab like that of the values, rounded for products; or NULL           */
    const rf_file_rows *words;             /* the word embeddings, if they are not f32 in memory; or NULL             */
    bool still;                            /* values never change                                                     */
    int64_t frozen;                        /* the embeddings and this number of layers get no gradient                */
    bool recompute;                        /* layers are recomputed in the backward pass                              */
    rf_tensor *word;
    rf_head_weights head;
    side side[RF_STACKS];
    rf__observer *observer;
    void *observer_user;
    int64_t underflows;                    /* zero denominators of linear attention, in all batches                   */
};

/* ---- binding ---- */

static rf_status make_side(const rf_params *params, int number, side *out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    const rf_stack *is = &params->stack[number];
    const size_t layers = (size_t)is->config.num_hidden_layers;
    *out = (side){.is = is};
    out->embedding = rf__calloc(ctx, 1, params->family->embedding_size);
    out->layer = rf__calloc(ctx, layers, params->family->layer_size);
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        out->per_embedding += p->position && p->stack == number && p->layer == -1;
        out->per_layer += p->position && p->stack == number && p->layer == is->first;
    }
    out->position = rf__calloc(ctx, out->per_embedding + layers * out->per_layer + 1, sizeof(rf_tensor *));
    if (!out->embedding || !out->layer || !out->position) return RF_ENOMEM;
    return rf__positions_new(ctx, &is->config, &out->kept, why);
}

/* Features of linear attention may need more memory than all weights. */
static rf_status features_fit(const rf_params *params, rf_error *why)
{
    for (int s = 0; s < params->stacks; s++) {
        const rf_config *c = &params->stack[s].config;
        if (rf__config_linear_attention(c, -1) &&
            rf__linear_attention_fits(params->ctx, c, rf__memory_left(), why))
            return RF_ENOMEM;
    }
    return RF_OK;
}

static rf_status make(const rf_params *params, rf_encoder **out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    if (features_fit(params, why)) return RF_ENOMEM;
    rf_encoder *e = rf__calloc(ctx, 1, sizeof *e);
    bool whole = e != NULL;
    if (e) {
        e->ctx = ctx;
        e->params = params;
        e->value = rf__calloc(ctx, params->n, sizeof *e->value);
        e->grad = rf__calloc(ctx, params->n, sizeof *e->grad);
        e->packed = rf__calloc(ctx, params->n, sizeof *e->packed);
        whole = e->value && e->grad && e->packed;
    }
    for (int s = 0; s < params->stacks && whole; s++) whole = !make_side(params, s, &e->side[s], why);
    if (!whole) {
        rf__encoder_free(e);
        return rf_fail(why, RF_ENOMEM, "out of memory: an encoder of %zu parameters", params->n);
    }
    *out = e;
    return RF_OK;
}

rf_status rf__encoder_new(const rf_params *params, float *value, float *grad, rf_encoder **out, rf_error *why)
{
    rf_encoder *e = NULL;
    if (make(params, &e, why)) return RF_ENOMEM;
    for (size_t i = 0; i < params->n; i++) {
        e->value[i] = value + params->p[i].offset;
        e->grad[i] = grad ? grad + params->p[i].offset : NULL;
    }
    *out = e;
    return RF_OK;
}

rf_status rf__encoder_view(const rf_params *params, float *const value[], const rf_packed *const packed[],
                           rf_encoder **out, rf_error *why)
{
    rf_encoder *e = NULL;
    if (make(params, &e, why)) return RF_ENOMEM;
    for (size_t i = 0; i < params->n; i++) {
        e->value[i] = value[i];
        e->packed[i] = packed[i];
    }
    e->still = true;
    *out = e;
    return RF_OK;
}

void rf__encoder_word_embeddings(rf_encoder *e, const rf_file_rows *words) { e->words = words; }

void rf__encoder_free(rf_encoder *e)
{
    if (!e) return;
    for (int i = 0; i < RF_STACKS; i++) {
        rf__positions_free(e->side[i].kept);
        rf__free(e->ctx, e->side[i].position);
        rf__free(e->ctx, e->side[i].embedding);
        rf__free(e->ctx, e->side[i].layer);
    }
    rf__free(e->ctx, e->value);
    rf__free(e->ctx, e->grad);
    rf__free(e->ctx, (void *)e->packed);
    rf__free(e->ctx, e);
}

static bool frozen(const rf_encoder *e, size_t i)
{
    const rf_param *p = &e->params->p[i];
    return e->frozen > 0 && !rf__param_on_top(p) && p->layer < e->frozen;
}

void rf__encoder_grad(rf_encoder *e, float *grad)
{
    for (size_t i = 0; i < e->params->n; i++) e->grad[i] = frozen(e, i) ? NULL : grad + e->params->p[i].offset;
}

void rf__encoder_bf16(rf_encoder *e, const uint16_t *slab) { e->bf16 = slab; }
void rf__encoder_recompute(rf_encoder *e, bool on) { e->recompute = on; }

void rf__encoder_observe(rf_encoder *e, rf__observer *observer, void *user)
{
    e->observer = observer;
    e->observer_user = user;
}

const rf_head_weights *rf__encoder_head(const rf_encoder *e) { return &e->head; }
const rf_params *rf__encoder_params(const rf_encoder *e) { return e->params; }

void rf__encoder_freeze(rf_encoder *e, int64_t layers)
{
    e->frozen = layers;
    for (size_t i = 0; i < e->params->n; i++)
        if (frozen(e, i)) e->grad[i] = NULL;
}

/* Parameter i and those that are joined to it, as one tensor. */
static rf_tensor *tensor_of(rf_graph *g, const rf_encoder *e, size_t i, size_t span)
{
    const rf_param *p = &e->params->p[i];
    const bool flat = p->flags & RF_ROW_FLAT;
    int64_t dim[2] = {flat ? p->dim[1] : 0, p->dim[1]};
    for (size_t j = 0; j < span && !flat; j++) dim[0] += p[j].dim[0];
    rf_tensor *t = rf__parameter(g, e->value[i], e->grad[i], flat ? 1 : p->rank, dim);
    if (t->rank) t->packed = e->packed[i];
    if (t->rank && e->bf16) t->bf16 = e->bf16 + p->offset;
    if (t->rank && e->words && i == e->params->word) t->rows = e->words;
    return t;
}

/* The struct that p belongs to. */
static void *owner_of(rf_encoder *e, const rf_param *p)
{
    const side *s = &e->side[p->stack];
    if (p->head) return &e->head;
    return p->layer < 0 ? s->embedding : s->layer + (size_t)(p->layer - s->is->first) * e->params->family->layer_size;
}

static rf_tensor **member(void *weights, size_t at) { return (rf_tensor **)(void *)((char *)weights + at); }

static void bind_weights(rf_graph *g, rf_encoder *e)
{
    const rf_params *params = e->params;
    rf_tensor **position[RF_STACKS] = {e->side[0].position, e->side[1].position};
    for (size_t i = 0, span; i < params->n; i += span) {
        const rf_param *p = &params->p[i];
        span = rf__params_span(params, i);
        rf_tensor *t = tensor_of(g, e, i, span);
        if (i == params->word) e->word = t;
        if (p->position) *position[p->stack]++ = t;
        else *member(owner_of(e, p), p->member) = t;
    }
    if (params->stacks > 1) *member(e->side[1].embedding, params->family->decoder->word) = e->word;
}

/* ---- the equations ---- */

rf_tensor *rf__block_attention(rf_graph *g, const rf_block *b, rf_tensor *qkv)
{
    const rf_position *is = b->is;
    rf_attention_spec spec = b->spec;
    if (spec.prefixes && (rf__config_linear_attention(b->config, b->at.layer) || is->attend))
        return rf__stop(g, RF_EUNSUPPORTED, "token types: expected one in each text with linear attention "
                        "(attention_type) or position_embedding_type \"%s\", got 0 and 1", is->name);
    if (spec.seen && (rf__config_linear_attention(b->config, b->at.layer) || is->attend))
        return rf__stop(g, RF_EUNSUPPORTED, "expansion tokens: expected softmax attention, got linear attention "
                        "(attention_type) or position_embedding_type \"%s\"; a folder with attend_to_expansion_tokens "
                        "true can be computed", is->name);
    rf_tensor *rotated = is->rotate ? is->rotate(g, &b->at, qkv) : qkv;
    if (rf__config_linear_attention(b->config, b->at.layer)) {
        if (b->observer)
            return rf__stop(g, RF_EUNSUPPORTED,
                            "layer %lld: expected softmax attention for its probabilities, got linear (attention_type)",
                            (long long)b->at.layer);
        rf_tensor *a = rf__linear_attention_forward(g, &b->at, rotated, &spec, b->underflows);
        return is->unrotate ? is->unrotate(g, &b->at, a) : a;
    }
    if (is->relate) is->relate(g, &b->at, qkv, &spec);
    if (b->observer && !g->error.code)
        b->observer(b->observer_user, g,
                    &(rf__view){.is = is, .at = &b->at, .qkv = qkv, .rotated = rotated, .spec = &spec});
    if (b->at.cache) rf__cache_extend(g, b->at.cache, b->at.layer, rotated, &spec);
    rf_tensor *a = is->attend ? is->attend(g, &b->at, rotated, &spec) : rf__attention(g, rotated, &spec);
    return is->unrotate ? is->unrotate(g, &b->at, a) : a;
}

rf_tensor *rf__block_cross_attention(rf_graph *g, const rf_block *b, rf_tensor *q)
{
    rf_attention_spec spec = b->cross;
    if (!spec.past) spec.key_value = b->family->source_keys(g, b);
    if (b->observer && !spec.past && !g->error.code)
        b->observer(b->observer_user, g,
                    &(rf__view){.is = b->is, .at = &b->at, .qkv = q, .rotated = q, .spec = &spec, .cross = true});
    return rf__attention(g, q, &spec);
}

static rf_tensor *layer_of(rf_graph *g, rf_tensor *h, const void *arg)
{
    const rf_block *b = arg;
    return b->family->layer_forward(g, b, h);
}

/* The source of the decoder: the encoder's last h, and where its sequences begin. */
typedef struct source_states { rf_tensor *h; const rf_layer_context *at; } source_states;

/* local_attention counts the tokens that a layer sees, on both sides or, in a causal model, up to each. */
static int64_t window_of(const rf_config *c)
{
    return c->is_decoder ? rf__max64(c->local_attention - 1, 1) : c->local_attention / 2;
}

/* What scores of a layer are multiplied by; 0: 1 / sqrt D. */
static double scale_of(const rf_config *c, int64_t layer)
{
    const double scalar = (double)c->query_pre_attn_scalar;
    if (!c->scale_attn_by_inverse_layer_idx) return scalar > 0 ? 1 / sqrt(scalar) : 0;
    return 1 / (sqrt(scalar > 0 ? scalar : (double)rf_config_head_width(c)) * (double)(layer + 1));
}

/* Layer i, completed from what all layers share. */
static rf_block block_of(const side *s, const rf_block *common, int64_t i)
{
    rf_block b = *common;
    char *weights = s->layer + (size_t)rf__family_layer(b.family, b.config, i) * b.family->layer_size;
    b.weights = weights;
    b.at.layer = i;
    b.at.weight = s->per_layer ? s->position + s->per_embedding + (size_t)i * s->per_layer : s->position;
    b.at.qkv = *member(weights, b.family->qkv);
    b.at.qkv_bias = *member(weights, b.family->qkv_bias);
    b.at.features = rf__linear_attention_rotary(b.config, i);
    b.spec = (rf_attention_spec){.heads = b.config->num_attention_heads,
                                 .B = b.at.B,
                                 .start = b.at.start,
                                 .causal = b.config->is_decoder && !b.whole,
                                 .prefixes = b.prefixes,
                                 .seen = b.seen,
                                 .window = rf__config_local(b.config, i) ? window_of(b.config) : 0,
                                 .kv_heads = b.config->num_key_value_heads > 0 ? b.config->num_key_value_heads : 0,
                                 .scale = scale_of(b.config, i),
                                 .drop = b.config->attention_probs_dropout_prob};
    if (i + 1 < b.config->num_hidden_layers) b.row = NULL;
    return b;
}

/* Prepares attention to the source: not rotated, or rotated by the angles of self-attention, at the positions on each
 * side. `source` NULL: its keys are cached, rotated. */
static void prepare_cross_attention(rf_graph *g, rf_block *b, const source_states *source)
{
    b->cross = (rf_attention_spec){.heads = b->config->num_attention_heads,
                                   .B = b->at.B,
                                   .start = b->at.start,
                                   .scale = scale_of(b->config, b->at.layer),
                                   .drop = b->config->attention_probs_dropout_prob};
    if (source) b->source = source->h, b->cross.key_start = source->at->start;
    else b->cross.past = rf__cache_source(g, b->at.cache, b->at.layer);
    if (!b->config->rotary_cross_attention) return;
    if (!b->spec.rope || b->spec.row != b->at.position) {
        rf__stop(g, RF_EUNSUPPORTED,
                 "rotary_cross_attention: expected a decoder's encoding that rotates all heads by the position only, "
                 "got another");
        return;
    }
    b->cross.rope = b->spec.rope;
    b->cross.row = b->spec.row;
    if (source) b->cross.key_row = source->at->position;
}

/* Layer i with its angles, which attention to the source may use as well. */
static rf_block rotated_layer(rf_graph *g, const side *s, const rf_block *common, int64_t i)
{
    rf_error why = {0};
    rf_block b = block_of(s, common, i);
    if (!g->error.code && b.is->angles && b.is->angles(g, &b.at, &b.spec, &why)) rf__stop(g, why.code, "%s", why.text);
    return b;
}

/* Runs the layers of a stack; `source` NULL: no attention to a source, or to a cached one. */
static rf_tensor *run(rf_graph *g, const rf_encoder *e, const side *s, const rf_block *common,
                      const source_states *source)
{
    const rf_family *family = common->family;
    const int64_t L = common->config->num_hidden_layers;
    const bool kept = common->config->is_encoder_decoder && common->at.cache;
    rf_block *l = rf__push(g, (size_t)L, sizeof *l);
    for (int64_t i = 0; i < L && l; i++) {
        l[i] = rotated_layer(g, s, common, i);
        if (source || kept) prepare_cross_attention(g, &l[i], source);
    }
    if (!l || g->error.code) return &g->nil.t;
    const rf_graph_mark mark = rf__graph_here(g);
    rf_tensor *h = family->embed(g, common);
    for (int64_t i = 0; i < L; i++) {
        h = e->recompute ? rf__recompute(g, h, layer_of, &l[i], sizeof l[i]) : layer_of(g, h, &l[i]);
        h = rf__keep(g, mark, h);
    }
    return family->finish ? family->finish(g, common, h) : h;                                    /* [N, C]  */
}

/* Sets what the layers of a stack share. false: the graph has stopped. */
static bool common_of(rf_graph *g, rf_encoder *e, side *s, const rf_batch *b, rf_block *out)
{
    *out = (rf_block){.config = &s->is->config,
                      .family = e->params->family,
                      .is = s->is->position,
                      .weights = s->embedding,
                      .observer = e->observer,
                      .observer_user = e->observer_user,
                      .underflows = &e->underflows};
    if (!rf__positions_bind(g, s->kept, out->config, b, &out->at)) return false;
    out->at.still = e->still;
    out->at.weight = out->at.shared = s->position;
    return true;
}

/* Whether the tokens are the first of their sequences: without a cache, or at position 0. */
static bool begins(const rf_batch *b, const rf_cache *cache) { return !cache || !b->position[0]; }

/* RoFormer-Sim's mask (UniLM's, Dong et al. 2019): token m attends to n iff s_n <= s_m, where s is the sum of the
 * types up to a token. The tokens of type 0 at the beginning are seen by the whole sequence, those after them by
 * later ones. */
static void see_first_parts(rf_graph *g, const rf_batch *b, rf_block *common)
{
    int32_t *prefix = b->type ? rf__push(g, (size_t)b->B, sizeof *prefix) : NULL;
    common->whole = true;
    for (int64_t i = 0; prefix && i < b->B; i++) {
        const int32_t begin = b->start[i], end = b->start[i + 1];
        int32_t n = begin;
        while (n < end && !b->type[n]) n++;
        prefix[i] = n - begin;
        common->whole = common->whole && n == end;
    }
    if (!common->whole) common->prefixes = prefix;
}

static rf_tensor *run_pairs(rf_graph *g, rf_encoder *e, const rf_batch *source, const rf_batch *target)
{
    rf_block from, to;
    bind_weights(g, e);
    if (!common_of(g, e, &e->side[0], source, &from) || !common_of(g, e, &e->side[1], target, &to)) return &g->nil.t;
    if (to.config->rotary_cross_attention && from.at.highest > to.at.highest) to.at.highest = from.at.highest;
    const source_states seen = {run(g, e, &e->side[0], &from, NULL), &from.at};
    return run(g, e, &e->side[1], &to, &seen);
}

/* A text alone: it is the source, and, one token later, the target. */
static rf_tensor *run_twice(rf_graph *g, rf_encoder *e, const rf_batch *b, const int32_t row[], int64_t rows)
{
    const rf_config *c = &e->params->config;
    int32_t *id = rf__push(g, (size_t)b->N, sizeof *id);
    if (!id) return &g->nil.t;
    for (int64_t s = 0; s < b->B; s++) {
        const int32_t begin = b->start[s], n = b->start[s + 1] - begin;
        int32_t last = n - 1;
        while (last > 0 && b->id[begin + last] == c->pad_token_id) last--;
        memcpy(id + begin + 1, b->id + begin, (size_t)(n - 1) * sizeof *id);
        id[begin] = e->params->family->wraps ? b->id[begin + last] : (int32_t)c->decoder_start_token_id;
    }
    const rf_batch target = {.N = b->N, .B = b->B, .id = id, .start = b->start};
    rf_tensor *h = run_pairs(g, e, b, &target);
    return row ? rf__rows(g, h, row, rows) : h;
}

static rf_tensor *encode(rf_graph *g, rf_encoder *e, const rf_batch *b, rf_cache *cache, const int32_t row[],
                         int64_t rows, const int32_t seen[])
{
    rf_block common;
    if (seen && (e->params->family->both || e->params->config.token_dropout))
        return rf__stop(g, RF_EUNSUPPORTED, "expansion tokens: expected an encoder that reads each token alone before "
                        "attention, got an encoder-decoder model or token_dropout");
    if (e->params->family->both) return run_twice(g, e, b, row, rows);
    bind_weights(g, e);
    if (!common_of(g, e, &e->side[0], b, &common)) return &g->nil.t;
    common.at.cache = cache;
    if (common.config->is_decoder && common.config->linear_pooler && begins(b, cache))
        see_first_parts(g, b, &common);
    common.row = row;
    common.rows = rows;
    common.seen = seen;
    return run(g, e, &e->side[0], &common, NULL);
}

rf_tensor *rf__encoder_vector(rf_graph *g, rf_encoder *e, rf_tensor *x)
{
    if (!e->params->config.linear_pooler || g->error.code) return x;
    return e->params->family->vector(g, e->side[0].embedding, x);
}

int64_t rf__encoder_underflows(const rf_encoder *e) { return e->underflows; }

rf_tensor *rf__encoder_forward(rf_graph *g, rf_encoder *e, const rf_batch *b)
{
    return encode(g, e, b, NULL, NULL, 0, NULL);
}
rf_tensor *rf__encoder_forward_seen(rf_graph *g, rf_encoder *e, const rf_batch *b, const int32_t seen[])
{
    return encode(g, e, b, NULL, NULL, 0, seen);
}
rf_tensor *rf__encoder_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *b, rf_cache *cache)
{
    return encode(g, e, b, cache, NULL, 0, NULL);
}

rf_tensor *rf__pair_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, const rf_batch *target)
{
    if (e->params->stacks < 2)
        return rf__stop(g, RF_EUNSUPPORTED,
                        "model: expected an encoder-decoder model for pairs, got one without a decoder");
    if (source->B != target->B)
        return rf__stop(g, RF_EARG,
                        "pairs: expected as many targets as the %lld sources, got %lld", (long long)source->B,
                        (long long)target->B);
    return run_pairs(g, e, source, target);
}

/* The keys and values of a layer in the form that attention reads. */
static rf_tensor *keys_to_keep(rf_graph *g, const rf_block *b)
{
    rf_tensor *kv = b->family->source_keys(g, b);
    if (!b->cross.rope) return kv;
    const rf_rotate_parts_spec rotate = {.parts = 2,
                                         .heads = b->cross.heads,
                                         .rotated = b->cross.heads,
                                         .row = {b->cross.key_row},
                                         .rope = {b->cross.rope}};
    return rf__rotate_parts(g, kv, &rotate);
}

void rf__source_forward(rf_graph *g, rf_encoder *e, const rf_batch *source, rf_cache *cache)
{
    rf_block from, to;
    bind_weights(g, e);
    if (!common_of(g, e, &e->side[0], source, &from) || !common_of(g, e, &e->side[1], source, &to)) return;
    const source_states seen = {run(g, e, &e->side[0], &from, NULL), &from.at};
    for (int64_t i = 0; i < to.config->num_hidden_layers && !g->error.code; i++) {
        const rf_mark mark = rf__scratch(g);
        rf_block b = to.config->rotary_cross_attention ? rotated_layer(g, &e->side[1], &to, i)
                                                       : block_of(&e->side[1], &to, i);
        prepare_cross_attention(g, &b, &seen);
        if (rf__cache_put_source(g, cache, i, keys_to_keep(g, &b))) rf__scratch_end(g, mark);
    }
}

rf_tensor *rf__target_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *target, rf_cache *cache)
{
    rf_block to;
    bind_weights(g, e);
    if (!common_of(g, e, &e->side[1], target, &to)) return &g->nil.t;
    to.at.cache = cache;
    return run(g, e, &e->side[1], &to, NULL);
}

rf_tensor *rf__encoder_forward_rows(rf_graph *g, rf_encoder *e, const rf_batch *b, const int32_t row[], int64_t n)
{
    return encode(g, e, b, NULL, row, n, NULL);
}

rf_tensor *rf__encoder_forward_head(rf_graph *g, rf_encoder *e, const rf_batch *b, const int32_t row[], int64_t n)
{
    return e->params->stacks > 1 ? run_twice(g, e, b, row, n) : encode(g, e, b, NULL, row, n, NULL);
}

rf_tensor *rf__mlm_transform(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n)
{
    const rf_params *p = e->params;
    return p->family->head->forward(g, &p->config, &e->head, rf__rows(g, h, row, n));
}

static rf_tensor *decoder(const rf_encoder *e) { return e->head.out ? e->head.out : e->word; }

void rf__mlm_decoder(const rf_encoder *e, rf_tensor **table, rf_tensor **bias)
{
    *table = decoder(e);
    *bias = e->head.out_bias;
}

rf_tensor *rf__mlm_loss(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], const int32_t label[], int64_t n,
                        double weight, double *loss_sum, int64_t *hits)
{
    rf_tensor *x = rf__mlm_transform(g, e, h, row, n);
    return rf__vocab_loss(g, x, decoder(e), e->head.out_bias, label, n, weight, loss_sum, hits);
}

rf_tensor *rf__mlm_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n)
{
    return rf__linear(g, rf__mlm_transform(g, e, h, row, n), decoder(e), e->head.out_bias, RF_ACT_NONE);
}
