/* encoder.c — the RoFormer encoder, as its equations.                       Su et al. 2021; BERT's post-norm layers
 *
 *     h_0     = norm(word[id] + type[tt])  ( W_p + b_p  when embeddings are narrower than the model )
 *     a       = softmax(R(m) q (R(n) k)^T / sqrt D) v,    q, k, v = h W_q, h W_k, h W_v
 *     h       = norm(h + drop(a W_o))
 *     h       = norm(h + drop(act(h W_1) W_2))
 *     logits  = norm(act(h W_t)) word^T + bias
 *
 * No position is added anywhere: it enters through R(m) alone.  Rotation turns interleaved pairs, as the checkpoints do. */
#include "graph/graph.h"
#include "model/encoder.h"

typedef struct layer_weights {
    rf_tensor *qkv, *qkv_bias, *out, *out_bias, *norm, *norm_bias;
    rf_tensor *up, *up_bias, *down, *down_bias, *norm2, *norm2_bias;
} layer_weights;

/* Tables of angles for 512, 1024, ... positions, made when first needed and kept.  Positions that the caller chose and
 * that lie beyond FAR get a table of their own. */
enum { TABLES = 23, SMALLEST = 9, FAR = 1 << 17 };

struct rf_encoder {
    const rf_ctx *ctx;
    const rf_params *params;
    float **value, **grad;                 /* one for each parameter; grad entries NULL: inference                      */
    const rf_packed **packed;              /* one for each parameter, or NULL                                           */
    const uint16_t *bf16;                  /* a slab like that of the values, rounded for products; or NULL             */
    bool checkpoints;                      /* layers are computed again in the backward                                 */
    rf_tensor *word, *type, *norm, *norm_bias, *project, *project_bias;
    rf_tensor *transform, *transform_bias, *head_norm, *head_norm_bias, *decoder, *bias;
    layer_weights *layer;
    rf_rope *table[TABLES];
    rf_rope *custom;                       /* for the positions of one batch that no table covers                       */
};

/* ---- binding ---- */

static rf_status make(const rf_params *params, rf_encoder **out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    rf_encoder *e = rf__calloc(ctx, 1, sizeof *e);
    if (e) {
        e->ctx = ctx;
        e->params = params;
        e->value = rf__calloc(ctx, params->n, sizeof *e->value);
        e->grad = rf__calloc(ctx, params->n, sizeof *e->grad);
        e->packed = rf__calloc(ctx, params->n, sizeof *e->packed);
        e->layer = rf__calloc(ctx, (size_t)params->config.num_hidden_layers, sizeof *e->layer);
    }
    if (!e || !e->value || !e->grad || !e->packed || !e->layer) {
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
    *out = e;
    return RF_OK;
}

void rf__encoder_free(rf_encoder *e)
{
    if (!e) return;
    for (int i = 0; i < TABLES; i++) rf_rope_free(e->table[i]);
    rf_rope_free(e->custom);
    rf__free(e->ctx, e->value);
    rf__free(e->ctx, e->grad);
    rf__free(e->ctx, (void *)e->packed);
    rf__free(e->ctx, e->layer);
    rf__free(e->ctx, e);
}

void rf__encoder_bf16(rf_encoder *e, const uint16_t *slab) { e->bf16 = slab; }
void rf__encoder_checkpoints(rf_encoder *e, bool on) { e->checkpoints = on; }

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
    for (int64_t l = 0; l < c->num_hidden_layers; l++) {
        layer_weights *w = &e->layer[l];
        rf_tensor **const one[] = {&w->out, &w->out_bias, &w->norm, &w->norm_bias, &w->up, &w->up_bias,
                                   &w->down, &w->down_bias, &w->norm2, &w->norm2_bias};
        w->qkv = next(g, e, &at, 3);
        w->qkv_bias = next(g, e, &at, 3);
        for (size_t i = 0; i < RF_COUNT(one); i++) *one[i] = next(g, e, &at, 1);
    }
    e->transform = next(g, e, &at, 1);
    e->transform_bias = next(g, e, &at, 1);
    e->head_norm = next(g, e, &at, 1);
    e->head_norm_bias = next(g, e, &at, 1);
    e->decoder = c->tie_word_embeddings ? e->word : next(g, e, &at, 1);
    e->bias = next(g, e, &at, 1);
}

/* ---- angles ---- */

static rf_status table_for(rf_encoder *e, int64_t positions, const rf_rope **out, rf_error *why)
{
    const rf_config *c = &e->params->config;
    const rf_rope_spec spec = {c->hidden_size / c->num_attention_heads, c->rope_theta, RF_ROPE_PAIRS};
    int i = 0;
    while (positions > (int64_t)1 << (SMALLEST + i)) i++;
    if (!e->table[i]) {
        const rf_status status = rf_rope_new(e->ctx, &spec, (int64_t)1 << (SMALLEST + i), &e->table[i], why);
        if (status) return status;
    }
    *out = e->table[i];
    return RF_OK;
}

/* Fills row[N], the table row of each token, and finds a table that has them all. */
static rf_status place(rf_encoder *e, const rf_batch *b, int32_t row[], const rf_rope **rope, rf_error *why)
{
    int64_t lowest = 0, highest = 0;
    for (int64_t s = 0; s < b->B; s++)
        for (int32_t n = b->start[s]; n < b->start[s + 1]; n++) {
            row[n] = b->position ? b->position[n] : n - b->start[s];
            lowest = rf__min64(lowest, row[n]);
            highest = rf__max64(highest, row[n]);
        }
    if (!b->position || (lowest >= 0 && highest < FAR)) return table_for(e, highest + 1, rope, why);

    const rf_config *c = &e->params->config;
    const rf_rope_spec spec = {c->hidden_size / c->num_attention_heads, c->rope_theta, RF_ROPE_PAIRS};
    rf_rope_free(e->custom);
    e->custom = NULL;
    const rf_status status = rf_rope_at(e->ctx, &spec, b->position, b->N, &e->custom, why);
    for (int64_t n = 0; n < b->N; n++) row[n] = (int32_t)n;
    *rope = e->custom;
    return status;
}

/* ---- the equations ---- */

static rf_tensor *embed(rf_graph *g, const rf_encoder *e, const rf_batch *b)
{
    const rf_config *c = &e->params->config;
    int32_t *zero = rf__push(g, (size_t)b->N, sizeof *zero);
    if (zero) memset(zero, 0, (size_t)b->N * sizeof *zero);
    rf_tensor *word = rf_embed(g, e->word, b->id, b->N);
    rf_tensor *type = rf_embed(g, e->type, b->type ? b->type : zero, zero ? b->N : 0);
    rf_tensor *h = rf_norm(g, rf_spend(word), rf_spend(type), 0, e->norm, e->norm_bias, c->layer_norm_eps, RF_NORM_LAYER);
    h = rf_dropout(g, h, c->hidden_dropout_prob);
    return e->project ? rf_linear(g, h, e->project, e->project_bias, RF_ACT_NONE) : h;
}

typedef struct layer { const rf_config *c; const layer_weights *w; rf_attention_spec spec; } layer;

static rf_tensor *layer_of(rf_graph *g, rf_tensor *h, const void *arg)
{
    const layer *l = arg;
    const rf_config *c = l->c;
    const layer_weights *w = l->w;
    const double p = c->hidden_dropout_prob, eps = c->layer_norm_eps;
    rf_tensor *qkv = rf_linear(g, h, w->qkv, w->qkv_bias, RF_ACT_NONE);                          /* [N, 3C] */
    rf_tensor *a = rf_linear(g, rf_attention(g, qkv, &l->spec), w->out, w->out_bias, RF_ACT_NONE);
    h = rf_norm(g, rf_spend(a), h, p, w->norm, w->norm_bias, eps, RF_NORM_LAYER);
    rf_tensor *f = rf_linear(g, h, w->up, w->up_bias, c->hidden_act);                            /* [N, F]  */
    f = rf_linear(g, rf_spend(f), w->down, w->down_bias, RF_ACT_NONE);
    return rf_norm(g, rf_spend(f), h, p, w->norm2, w->norm2_bias, eps, RF_NORM_LAYER);
}

rf_tensor *rf__encode(rf_graph *g, rf_encoder *e, const rf_batch *b)
{
    const rf_config *c = &e->params->config;
    bind(g, e);
    int32_t *row = rf__push(g, (size_t)b->N, sizeof *row);
    const rf_rope *rope = NULL;
    rf_error why = {0};
    if (row && place(e, b, row, &rope, &why)) rf__stop(g, why.code, "%s", why.text);

    const int32_t *start = e->checkpoints ? rf__copy(g, b->start, (size_t)b->B + 1, sizeof *start) : b->start;
    layer l = {c, NULL, {
        .heads = c->num_attention_heads, .B = b->B, .start = start, .rope = rope, .row = row,
        .rotate_value = c->rotary_value, .drop = c->attention_probs_dropout_prob,
    }};
    const rf_graph_mark mark = rf_graph_here(g);
    rf_tensor *h = embed(g, e, b);
    for (int64_t i = 0; i < c->num_hidden_layers; i++) {
        l.w = &e->layer[i];
        h = e->checkpoints ? rf_checkpoint(g, h, layer_of, &l, sizeof l) : layer_of(g, h, &l);
        h = rf_keep(g, mark, h);
    }
    return h;                                                                                    /* [N, C]  */
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
