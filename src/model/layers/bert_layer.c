/* bert_layer.c — embeddings and layers of BERT.                      Devlin et al. 2019; Su et al. 2021 (RoFormer)
 *
 *     h_0 = norm(word[id] + type[tt] + task[0])  ( W_p + b_p  if embeddings are narrower than the model )
 *           words times sqrt(E) with scale_embedding; encodings with learned positions add them to the words
 *     a   = softmax(R(m) q (R(n) k)^T / sqrt D) v,    q, k, v = h W_q, h W_k, h W_v
 *     h   = norm(h + drop(a W_o))
 *     h   = norm(h + drop(act(h W_1) W_2)),  or with a gate  norm(h + drop((act(h W_g) * (h W_1)) W_2))
 *
 * The rows of the family decide whether there are biases and scales of norms; the family also selects the norm.
 *
 * Layers of a decoder have attention to the source s between the two, without rotation       Vaswani et al. 2017, 3.1
 *
 *     h   = norm(h + drop(softmax(q k^T / sqrt D) v W_o)),   q = h W_q,   k, v = s W_k, s W_v
 *
 * With normalize_before, the norm is before each sub-layer f, and once after the last       Xiong et al. 2020
 *
 *     h   = h + drop(f(norm(h))),  or with a norm of what is added  h = h + drop(norm(f(norm(h))))
 *
 * and with use_parallel_residual both sub-layers get the same h                           Black et al. 2022 (GPT-NeoX)
 *
 *     h   = h + drop(attention(norm(h))) + drop(feed_forward(norm_2(h)))
 *
 * Grouped queries have fewer heads of keys and values; norms of their own may stand between h W_q, h W_k and R.
 *
 * If each sub-layer's result is divided by s, h = h + drop(f(norm(h))) / s, the code has s h in place of h: it begins
 * with s h_0, the results are added as they are, and norm(h) is norm(s h) with s^2 eps for eps. */
#include <math.h>

#include "graph/graph.h"
#include "model/layers/bert_layer.h"

/* s, and eps for the norm of s h. */
static double stretch(const rf_block *b) { return b->family->divisor ? b->family->divisor(b->config) : 1; }
static double stretched_eps(const rf_block *b) { return b->config->layer_norm_eps * stretch(b) * stretch(b); }

/* The vector of task 0, which transformers gives every token unless the caller names another. */
static rf_tensor *add_task(rf_graph *g, rf_tensor *task, rf_tensor *word, int64_t N)
{
    int32_t *zero = rf__push(g, (size_t)N, sizeof *zero);
    if (!zero) return &g->nil.t;
    memset(zero, 0, (size_t)N * sizeof *zero);
    return rf__add(g, word, rf__embed(g, task, zero, N));
}

rf_tensor *rf__bert_embed(rf_graph *g, const rf_block *b)
{
    const rf_config *c = b->config;
    const rf_bert_embedding *w = b->weights;
    const float scale = (float)((c->scale_embedding ? sqrt((double)c->embedding_size) : 1) * stretch(b));
    const int64_t N = b->at.N;
    const int32_t *const id[] = {b->at.id};
    rf_tensor *word = scale != 1 ? rf__mix(g, w->word, 1, &scale, id, N) : rf__embed(g, w->word, b->at.id, N);
    if (b->is->embed) word = b->is->embed(g, &b->at, word);
    if (w->task) word = add_task(g, w->task, word, N);
    if (!w->type && !w->norm) return rf__dropout(g, word, c->hidden_dropout_prob);
    rf_tensor *type = w->type ? rf__spend(rf__embed(g, w->type, b->at.type, N)) : NULL;
    rf_tensor *h = rf__norm(g, rf__spend(word), type, 0, w->norm, w->norm_bias, c->layer_norm_eps, b->family->norm);
    h = rf__dropout(g, h, c->hidden_dropout_prob);
    return w->project ? rf__linear(g, h, w->project, w->project_bias, RF_ACT_NONE) : h;
}

static rf_tensor *norm(rf_graph *g, const rf_block *b, rf_tensor *h, rf_tensor *gamma, rf_tensor *beta)
{
    return rf__norm(g, h, NULL, 0, gamma, beta, stretched_eps(b), b->family->norm);
}

/* The input of a sub-layer, computed from h. */
static rf_tensor *before(rf_graph *g, const rf_block *b, rf_tensor *h, rf_tensor *gamma, rf_tensor *beta)
{
    return b->config->normalize_before ? norm(g, b, h, gamma, beta) : h;
}

/* The new h, computed from the result x of the sub-layer. */
static rf_tensor *finish_sublayer(rf_graph *g, const rf_block *b, rf_tensor *x, rf_tensor *h, rf_tensor *gamma,
                                  rf_tensor *beta, rf_tensor *after)
{
    const rf_config *c = b->config;
    if (after) x = norm(g, b, x, after, NULL);
    if (c->normalize_before) return rf__add(g, rf__dropout(g, x, c->hidden_dropout_prob), h);
    return rf__norm(g, rf__spend(x), h, c->hidden_dropout_prob, gamma, beta, c->layer_norm_eps, b->family->norm);
}

/* Both, in one pass, between two sub-layers with norms before them: h becomes the new h; returns the input. */
static rf_tensor *between(rf_graph *g, const rf_block *b, rf_tensor *x, rf_tensor **h)
{
    const rf_config *c = b->config;
    const rf_bert_layer *w = b->weights;
    if (w->after) x = norm(g, b, x, w->after, NULL);
    x = rf__dropout(g, x, c->hidden_dropout_prob);
    return rf__norm_and_sum(g, x, *h, w->norm2, w->norm2_bias, stretched_eps(b), b->family->norm, h);
}

rf_tensor *rf__bert_source_keys(rf_graph *g, const rf_block *b)
{
    const rf_bert_layer *w = b->weights;
    return rf__linear(g, b->source, w->cross_keys, w->cross_keys_bias, RF_ACT_NONE);             /* [M, 2C] */
}

static rf_tensor *attend_to_source(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const rf_bert_layer *w = b->weights;
    rf_tensor *x = before(g, b, h, w->cross_norm, w->cross_norm_bias);
    rf_tensor *q = rf__linear(g, x, w->cross_query, w->cross_query_bias, RF_ACT_NONE);           /* [N, C]  */
    rf_tensor *a = rf__block_cross_attention(g, b, q);
    a = rf__linear(g, a, w->cross_out, w->cross_out_bias, RF_ACT_NONE);
    return finish_sublayer(g, b, a, h, w->cross_norm, w->cross_norm_bias, NULL);
}

rf_tensor *rf__bert_feed(rf_graph *g, const rf_block *b, rf_tensor *x)
{
    const rf_bert_layer *w = b->weights;
    const rf_config *c = b->config;
    const rf_act act = c->hidden_act;
    rf_tensor *f = rf__feed_forward(g, x, w->up, w->up_bias, act, w->down, w->down_bias);
    if (f) return f;
    f = rf__family_gated(b->family, c) ? rf__gated_linear(g, x, w->up, w->up_bias, act, b->family->gate)
                         : rf__linear(g, x, w->up, w->up_bias, act);                             /* [N, F]  */
    if (c->activation_dropout > 0) f = rf__dropout(g, f, c->activation_dropout);
    return rf__linear(g, rf__spend(f), w->down, w->down_bias, RF_ACT_NONE);
}

/* Norms of each head, or of the whole width, as the length of the scales says. */
static rf_tensor *norm_queries(rf_graph *g, const rf_block *b, rf_tensor *qkv)
{
    const rf_config *c = b->config;
    const rf_bert_layer *w = b->weights;
    const int64_t D = w->query_norm->dim[0];
    return rf__head_norm(g, qkv, w->query_norm, w->query_norm_bias, w->key_norm, w->key_norm_bias,
                         rf__config_query_columns(c) / D, rf__config_key_columns(c) / D, c->layer_norm_eps,
                         b->family->norm);
}

rf_tensor *rf__bert_forward(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const rf_config *c = b->config;
    const rf_bert_layer *w = b->weights;
    rf_tensor *x = b->at.layer || !b->family->first_bare ? before(g, b, h, w->norm, w->norm_bias) : h;
    rf_tensor *qkv = rf__linear(g, x, w->qkv, w->qkv_bias, RF_ACT_NONE);                         /* [N, 3C] */
    if (w->query_norm) qkv = norm_queries(g, b, qkv);
    rf_tensor *a = rf__block_attention(g, b, qkv);
    if (b->row) a = rf__rows(g, a, b->row, b->rows);
    if (b->row) h = rf__rows(g, h, b->row, b->rows);                       /* only the requested ones of the N tokens */
    a = rf__linear(g, a, w->out, w->out_bias, RF_ACT_NONE);
    const bool attends = b->source || b->cross.past;
    if (c->use_parallel_residual) {
        x = before(g, b, h, w->norm2, w->norm2_bias);
        h = finish_sublayer(g, b, a, h, w->norm, w->norm_bias, w->after);
    } else if (c->normalize_before && !attends) {
        x = between(g, b, a, &h);
    } else {
        rf_tensor *in = h;
        h = finish_sublayer(g, b, a, in, w->norm, w->norm_bias, w->after);
        if (w->again)
            h = rf__norm(g, rf__spend(h), in, 0, w->again, w->again_bias, c->layer_norm_eps, b->family->norm);
        if (attends) h = attend_to_source(g, b, h);
        x = before(g, b, h, w->norm2, w->norm2_bias);
    }
    x = (b->family->feed ? b->family->feed : rf__bert_feed)(g, b, x);
    return finish_sublayer(g, b, x, h, w->norm2, w->norm2_bias, w->after2);
}

rf_tensor *rf__bert_finish(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const rf_bert_embedding *w = b->weights;
    return b->config->normalize_before ? norm(g, b, h, w->last, w->last_bias) : h;
}

rf_tensor *rf__bert_vector(rf_graph *g, const void *embedding, rf_tensor *x)
{
    const rf_bert_embedding *e = embedding;
    return rf__linear(g, x, e->pooler, e->pooler_bias, RF_ACT_NONE);
}

const rf_family_row rf__rows_bert_embedding[] = {RF_BERT_WORDS, RF_BERT_WORDS_NORM, {{0}, 0}};
const rf_family_row rf__rows_pooled[] = {RF_BERT_POOLED("KC", "K", RF_ROW_PRETRAINED), {{0}, 0}};
const rf_family_row rf__rows_pooled_choice[] = {RF_BERT_POOLED("1C", "1", RF_ROW_PRETRAINED), {{0}, 0}};

#define DENSE                                                                                                          \
    RF_HEAD_ROW("dense.weight", "CC", NORMAL, true, 0, dense),                                                         \
    RF_HEAD_ROW("dense.bias", "C", ZEROS, false, 0, dense_bias)
const rf_family_row rf__rows_dense_labels[] = {DENSE, RF_BERT_CLASSIFIER("KC", "K"), {{0}, 0}};
const rf_family_row rf__rows_dense_choice[] = {DENSE, RF_BERT_CLASSIFIER("1C", "1"), {{0}, 0}};
#undef DENSE

const char *const rf__positions_bert[] = {"relative_key", "relative_key_query", NULL};

const rf_silent rf__silent_bert[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.token_type_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},        /* with relative positions, the classes do not use them   */
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {"cls.predictions.decoder.bias", NULL},
    {0},
};

const rf_family_row rf__rows_bert_layer[] = {
    RF_BERT_ATTENTION,
    RF_BERT_FEED_FORWARD,
    {{0}, 0},
};
