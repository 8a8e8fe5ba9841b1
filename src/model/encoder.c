/* encoder.c — the RoFormer encoder, as its equations.                       Su et al. 2021; BERT's post-norm layers
 *
 *     h_0     = norm(word[id] + type[tt])  ( W_p + b_p  when embeddings are narrower than the model )
 *               words times sqrt(E) with scale_embedding
 *     a       = softmax(R(m) q (R(n) k)^T / sqrt D) v,    q, k, v = h W_q, h W_k, h W_v
 *     h       = norm(h + drop(a W_o))
 *     h       = norm(h + drop(act(h W_1) W_2))
 *     logits  = norm(act(h W_t)) word^T + bias
 *
 * The softmax is over all tokens of a text, or, with is_decoder, over those up to m: then h_m is a function of tokens 0
 * .. m, and the logits at m are those of token m + 1.
 *
 * No position is added anywhere: it enters through R(m) alone.  Rotation rotates interleaved pairs, as the checkpoints
 * do. Other encodings put something else in R's place: the row that config.json names is asked where positions come in
 * (position.h). */
#include <math.h>

#include "graph/graph.h"
#include "model/encoder.h"
#include "model/position.h"

typedef struct layer_weights {
    rf_tensor *qkv, *qkv_bias, *out, *out_bias, *norm, *norm_bias;
    rf_tensor *up, *up_bias, *down, *down_bias, *norm2, *norm2_bias;
} layer_weights;

struct rf_encoder {
    const rf_ctx *ctx;
    const rf_params *params;
    float **value, **grad;                 /* one for each parameter; grad entries NULL: inference                    */
    const rf_packed **packed;              /* one for each parameter, or NULL                                         */
    const uint16_t *bf16;                  /* a slab like that of the values, rounded for products; or NULL           */
    bool still;                            /* values never change                                                     */
    int64_t frozen;                        /* embeddings and so many layers get no gradient                           */
    bool recompute;                        /* layers are computed again in the backward                               */
    rf_tensor *word, *type, *norm, *norm_bias, *project, *project_bias;
    rf_tensor *task[4];                    /* the parameters of another head than that                                */
    rf_tensor *transform, *transform_bias, *head_norm, *head_norm_bias, *decoder, *bias;
    layer_weights *layer;
    rf_tensor **position;                  /* the encoding's parameters: of the embeddings, then of each layer        */
    size_t per_embedding, per_layer;       /* how many                                                                */
    rf_positions *kept;
    rf__observer *observer;
    void *observer_user;
};

/* ---- binding ---- */

static rf_status make(const rf_params *params, rf_encoder **out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    const size_t layers = (size_t)params->config.num_hidden_layers;
    rf_encoder *e = rf__calloc(ctx, 1, sizeof *e);
    if (e) {
        e->ctx = ctx;
        e->params = params;
        e->value = rf__calloc(ctx, params->n, sizeof *e->value);
        e->grad = rf__calloc(ctx, params->n, sizeof *e->grad);
        e->packed = rf__calloc(ctx, params->n, sizeof *e->packed);
        e->layer = rf__calloc(ctx, layers, sizeof *e->layer);
        for (size_t i = 0; i < params->n; i++) {
            e->per_embedding += params->p[i].looked_up && params->p[i].layer == -1;
            e->per_layer += params->p[i].looked_up && params->p[i].layer == 0;
        }
        e->position = rf__calloc(ctx, e->per_embedding + layers * e->per_layer + 1, sizeof *e->position);
    }
    if (!e || !e->value || !e->grad || !e->packed || !e->layer || !e->position ||
        rf__positions_new(ctx, &params->config, &e->kept, why)) {
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

void rf__encoder_free(rf_encoder *e)
{
    if (!e) return;
    rf__positions_free(e->kept);
    rf__free(e->ctx, e->position);
    rf__free(e->ctx, e->value);
    rf__free(e->ctx, e->grad);
    rf__free(e->ctx, (void *)e->packed);
    rf__free(e->ctx, e->layer);
    rf__free(e->ctx, e);
}

static bool frozen(const rf_encoder *e, size_t i)
{
    const rf_param *p = &e->params->p[i];
    return e->frozen > 0 && !p->head && p->layer < e->frozen;
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

rf_tensor *rf__encoder_head(const rf_encoder *e, size_t i) { return e->task[i]; }
const rf_params *rf__encoder_params(const rf_encoder *e) { return e->params; }

void rf__encoder_freeze(rf_encoder *e, int64_t layers)
{
    e->frozen = layers;
    for (size_t i = 0; i < e->params->n; i++)
        if (frozen(e, i)) e->grad[i] = NULL;
}

/* The next parameter as a tensor; `joined` says how many rows of the table it spans (3 for query, key, value). */
static rf_tensor *next(rf_graph *g, const rf_encoder *e, size_t *at, int joined)
{
    const rf_param *p = &e->params->p[*at];
    const int64_t dim[2] = {p->dim[0] * joined, p->dim[1]};
    rf_tensor *t = rf_parameter(g, e->value[*at], e->grad[*at], p->rank, dim);
    if (t->rank) t->packed = e->packed[*at];
    if (t->rank && e->bf16) t->bf16 = e->bf16 + p->offset;
    *at += (size_t)joined;
    return t;
}

static void bind(rf_graph *g, rf_encoder *e)
{
    const rf_config *c = &e->params->config;
    size_t at = 0;
    e->word = next(g, e, &at, 1);
    e->type = next(g, e, &at, 1);
    e->norm = next(g, e, &at, 1);
    e->norm_bias = next(g, e, &at, 1);
    e->project = c->embedding_size != c->hidden_size ? next(g, e, &at, 1) : NULL;
    e->project_bias = e->project ? next(g, e, &at, 1) : NULL;
    rf_tensor **position = e->position;
    for (size_t i = 0; i < e->per_embedding; i++) *position++ = next(g, e, &at, 1);
    for (int64_t l = 0; l < c->num_hidden_layers; l++) {
        layer_weights *w = &e->layer[l];
        rf_tensor **const one[] = {&w->out, &w->out_bias, &w->norm, &w->norm_bias, &w->up, &w->up_bias,
                                   &w->down, &w->down_bias, &w->norm2, &w->norm2_bias};
        w->qkv = next(g, e, &at, 3);
        w->qkv_bias = next(g, e, &at, 3);
        for (size_t i = 0; i < RF_COUNT(one); i++) *one[i] = next(g, e, &at, 1);
        for (size_t i = 0; i < e->per_layer; i++) *position++ = next(g, e, &at, 1);
    }
    if (e->params->head != RF_HEAD_MLM) {
        for (size_t i = 0; at < e->params->n; i++) e->task[i] = next(g, e, &at, 1);
        return;
    }
    e->transform = next(g, e, &at, 1);
    e->transform_bias = next(g, e, &at, 1);
    e->head_norm = next(g, e, &at, 1);
    e->head_norm_bias = next(g, e, &at, 1);
    e->decoder = c->tie_word_embeddings ? e->word : next(g, e, &at, 1);
    e->bias = next(g, e, &at, 1);
}

/* ---- the equations ---- */

static rf_tensor *embed(rf_graph *g, const rf_encoder *e, const rf_layer_context *at, const rf_batch *b)
{
    const rf_config *c = &e->params->config;
    const rf_position *is = e->params->position;
    const float scale = sqrtf((float)c->embedding_size);
    const int32_t *const id[] = {b->id};
    rf_tensor *word = c->scale_embedding ? rf_mix(g, e->word, 1, &scale, id, b->N) : rf_embed(g, e->word, b->id, b->N);
    if (is->embed) word = is->embed(g, at, word);
    rf_tensor *type = rf_embed(g, e->type, at->type, b->N);
    rf_tensor *h =
        rf_norm(g, rf_spend(word), rf_spend(type), 0, e->norm, e->norm_bias, c->layer_norm_eps, RF_NORM_LAYER);
    h = rf_dropout(g, h, c->hidden_dropout_prob);
    return e->project ? rf_linear(g, h, e->project, e->project_bias, RF_ACT_NONE) : h;
}

typedef struct layer {
    const rf_config *c;
    const layer_weights *w;
    const rf_position *is;
    rf_layer_context at;
    rf_attention_spec spec;
    rf__observer *observer;
    void *observer_user;
    const int32_t *row;                 /* of the last layer: the tokens that are asked for; NULL: all                */
    int64_t rows;
} layer;

/* softmax(R(m) q (R(n) k)^T / sqrt D) v, or what the encoding makes of it. */
static rf_tensor *attend(rf_graph *g, const layer *l, rf_tensor *qkv)
{
    rf_attention_spec spec = l->spec;
    rf_tensor *rotated = l->is->rotate ? l->is->rotate(g, &l->at, qkv) : qkv;
    if (l->is->relate) l->is->relate(g, &l->at, qkv, &spec);
    if (l->observer && !g->error.code)
        l->observer(l->observer_user, g, &(rf__view){l->is, &l->at, qkv, rotated, &spec});
    if (l->at.cache) rf__cache_extend(g, l->at.cache, l->at.layer, rotated, &spec);
    rf_tensor *a = l->is->attend ? l->is->attend(g, &l->at, rotated, &spec) : rf_attention(g, rotated, &spec);
    return l->is->unrotate ? l->is->unrotate(g, &l->at, a) : a;
}

static rf_tensor *layer_of(rf_graph *g, rf_tensor *h, const void *arg)
{
    const layer *l = arg;
    const rf_config *c = l->c;
    const layer_weights *w = l->w;
    const double p = c->hidden_dropout_prob, eps = c->layer_norm_eps;
    rf_tensor *qkv = rf_linear(g, h, w->qkv, w->qkv_bias, RF_ACT_NONE);                          /* [N, 3C] */
    rf_tensor *a = attend(g, l, qkv);
    if (l->row) a = rf_rows(g, a, l->row, l->rows);
    if (l->row) h = rf_rows(g, h, l->row, l->rows);                                    /* N: those that are asked for */
    a = rf_linear(g, a, w->out, w->out_bias, RF_ACT_NONE);
    h = rf_norm(g, rf_spend(a), h, p, w->norm, w->norm_bias, eps, RF_NORM_LAYER);
    rf_tensor *f = rf_linear(g, h, w->up, w->up_bias, c->hidden_act);                            /* [N, F]  */
    f = rf_linear(g, rf_spend(f), w->down, w->down_bias, RF_ACT_NONE);
    return rf_norm(g, rf_spend(f), h, p, w->norm2, w->norm2_bias, eps, RF_NORM_LAYER);
}

static rf_tensor *encode(rf_graph *g, rf_encoder *e, const rf_batch *b, rf_cache *cache, const int32_t row[],
                         int64_t rows)
{
    const rf_config *c = &e->params->config;
    bind(g, e);
    const rf_position *is = e->params->position;
    const int64_t L = c->num_hidden_layers;
    rf_error why = {0};
    rf_layer_context at = {0};
    layer *l = rf__push(g, (size_t)L, sizeof *l);
    if (!rf__positions_bind(g, e->kept, c, b, &at)) return &g->nil.t;
    at.cache = cache;
    at.still = e->still;
    at.weight = at.shared = e->position;
    for (int64_t i = 0; i < L; i++) {
        l[i] = (layer){c,
                       &e->layer[i],
                       is,
                       at,
                       {
                           .heads = c->num_attention_heads,
                           .B = b->B,
                           .start = at.start,
                           .causal = c->is_decoder,
                           .drop = c->attention_probs_dropout_prob,
                       },
                       e->observer,
                       e->observer_user,
                       i + 1 == L ? row : NULL,
                       rows};
        l[i].at.layer = i;
        l[i].at.weight = e->position + e->per_embedding + (size_t)i * e->per_layer;
        l[i].at.qkv = e->layer[i].qkv;
        l[i].at.qkv_bias = e->layer[i].qkv_bias;
        if (!why.code && is->angles && is->angles(g, &l[i].at, &l[i].spec, &why)) rf__stop(g, why.code, "%s", why.text);
    }
    const rf_graph_mark mark = rf_graph_here(g);
    rf_tensor *h = embed(g, e, &at, b);
    for (int64_t i = 0; i < L; i++) {
        h = e->recompute ? rf_recompute(g, h, layer_of, &l[i], sizeof l[i]) : layer_of(g, h, &l[i]);
        h = rf_keep(g, mark, h);
    }
    return h;                                                                                    /* [N, C]  */
}

rf_tensor *rf__encoder_forward(rf_graph *g, rf_encoder *e, const rf_batch *b) { return encode(g, e, b, NULL, NULL, 0); }
rf_tensor *rf__encoder_forward_next(rf_graph *g, rf_encoder *e, const rf_batch *b, rf_cache *cache)
{
    return encode(g, e, b, cache, NULL, 0);
}

rf_tensor *rf__encoder_forward_rows(rf_graph *g, rf_encoder *e, const rf_batch *b, const int32_t row[], int64_t n)
{
    return encode(g, e, b, NULL, row, n);
}

rf_tensor *rf__mlm_transform(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n)
{
    const rf_config *c = &e->params->config;
    rf_tensor *x = rf_linear(g, rf_rows(g, h, row, n), e->transform, e->transform_bias, c->hidden_act);
    return rf_norm(g, x, NULL, 0, e->head_norm, e->head_norm_bias, c->layer_norm_eps, RF_NORM_LAYER);
}

rf_tensor *rf__mlm_loss(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], const int32_t label[], int64_t n,
                        double weight, double *loss_sum, int64_t *hits)
{
    rf_tensor *x = rf__mlm_transform(g, e, h, row, n);
    return rf_vocab_loss(g, x, e->decoder, e->bias, label, n, weight, loss_sum, hits);
}

rf_tensor *rf__mlm_logits(rf_graph *g, rf_encoder *e, rf_tensor *h, const int32_t row[], int64_t n)
{
    return rf_linear(g, rf__mlm_transform(g, e, h, row, n), e->decoder, e->bias, RF_ACT_NONE);
}
