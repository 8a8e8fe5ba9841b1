/* t5_layer.c — an encoder and a decoder with T5's relative positions, or the encoder alone.
 *                                          Raffel et al. 2020; Xue et al. 2021 (mT5); Chung et al. 2023 (UMT5)
 *
 *     h_0    = word[id]                                  one table of words for source, target and, if tied, logits
 *     h      = h + softmax(q k^T + b[bucket(n - m)]) v W_o,   q, k, v = norm(h) W_q, norm(h) W_k, norm(h) W_v
 *     h      = h + softmax(q k^T) v W_o,                      the decoder to the encoder's last states s, k, v = s W
 *     h      = h + act(norm(h) W_i) W_o,                 or with a gate  h + (act(x W_0) * (x W_1)) W_o,  x = norm(h)
 *     logits = norm(h_L) lm^T                            or norm(h_L) / sqrt(C) lm^T
 *     labels = tanh(h_</s> W_d + b_d) W_o + b_o          of a text that both read, its last </s>, with dropout
 *     spans  = h W + b                                   of a text that both read
 *     tags   = drop(h) W + b                             of the encoder alone
 *
 * Norms are of the root mean square; there are no biases, and scores are not divided by sqrt(d_kv). H d_kv may differ
 * from C. The numbers b of a bucket are those of positions/t5.c: each stack has one table, which the names put into its
 * first layer, or (UMT5) each layer its own. The decoder's buckets are all of earlier tokens. */
#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "kernel/acts.h"
#include "model/layers/seq2seq.h"
#include "model/layers/t5_layer.h"
#include "store/store.h"

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static bool is_gated(const rf_config *c, int64_t layer) { return (void)layer, c->is_gated_act != 0; }
static bool is_plain(const rf_config *c, int64_t layer) { return !is_gated(c, layer); }

const rf_family_row rf__t5_embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "shared.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "encoder.final_layer_norm.weight", "C", ONES, false, 0),
    {{0}, 0},
};
static const rf_family_row target_embedding[] = {
    RF_TENSOR(rf_bert_embedding, last, "decoder.final_layer_norm.weight", "C", ONES, false, 0),
    {{0}, 0},
};

#define SELF                                                                                                           \
    RF_BERT_ROW("layer.0.layer_norm.weight", "C", ONES, false, 0, norm),                                               \
    RF_BERT_ROW("layer.0.SelfAttention.q.weight", "qC", QUERY, true, 0, qkv),                                          \
    RF_BERT_ROW("layer.0.SelfAttention.k.weight", "kC", WIDTH, true, RF_ROW_JOINED, qkv),                              \
    RF_BERT_ROW("layer.0.SelfAttention.v.weight", "kC", WIDTH, true, RF_ROW_JOINED, qkv),                              \
    RF_BERT_ROW("layer.0.SelfAttention.o.weight", "Cq", WIDTH, true, 0, out)
#define CROSS                                                                                                          \
    RF_BERT_ROW("layer.1.layer_norm.weight", "C", ONES, false, 0, cross_norm),                                         \
    RF_BERT_ROW("layer.1.EncDecAttention.q.weight", "qC", QUERY, true, 0, cross_query),                                \
    RF_BERT_ROW("layer.1.EncDecAttention.k.weight", "kC", WIDTH, true, 0, cross_keys),                                 \
    RF_BERT_ROW("layer.1.EncDecAttention.v.weight", "kC", WIDTH, true, RF_ROW_JOINED, cross_keys),                     \
    RF_BERT_ROW("layer.1.EncDecAttention.o.weight", "Cq", WIDTH, true, 0, cross_out)
#define UP(when, name, flags)                                                                                          \
    RF_TENSOR_WHEN(when, rf_bert_layer, up, name ".weight", "FC", WIDTH, true, flags)
#define FEED_FORWARD(at)                                                                                               \
    RF_BERT_ROW(at ".layer_norm.weight", "C", ONES, false, 0, norm2),                                                  \
    UP(is_plain, at ".DenseReluDense.wi", 0),                                                                          \
    UP(is_gated, at ".DenseReluDense.wi_0", RF_ROW_GATED),                                                             \
    UP(is_gated, at ".DenseReluDense.wi_1", RF_ROW_GATED | RF_ROW_JOINED),                                             \
    RF_BERT_ROW(at ".DenseReluDense.wo.weight", "CF", WIDTH, true, 0, down)
const rf_family_row rf__t5_layer[] = {SELF, FEED_FORWARD("layer.1"), {{0}, 0}};
static const rf_family_row target_layer[] = {SELF, CROSS, FEED_FORWARD("layer.2"), {{0}, 0}};

const rf_family_decoder rf__t5_decoder = {"decoder.block.", target_embedding, target_layer,
                                          offsetof(rf_bert_embedding, word)};

#define BIAS "layer.0.SelfAttention.relative_attention_bias.weight", "BH", RF_INIT_ZEROS, false, 0, NULL
const rf_param_row rf__t5_bias_of_stack[] = {{"block.0." BIAS}, {0}};
const rf_param_row rf__t5_bias_of_layer[] = {{BIAS}, {0}};

static const rf_family_row which[] = {RF_HEAD_UNTIED("lm_head.weight", NORMAL), {{0}, 0}};

const char *const rf__t5_words[] = {"shared.weight", "encoder.embed_tokens.weight", NULL};

/* Encoders that were saved alone may have the second name alone. */
const rf_spelling rf__t5_spelling[] = {{"shared.weight", "encoder.embed_tokens.weight", false}, {0}};

const rf_silent rf__t5_silent[] = {
    {"encoder.embed_tokens.weight", "share_encoder_decoder_embeddings"},
    {"decoder.embed_tokens.weight", "share_encoder_decoder_embeddings"},
    {"lm_head.weight", "tie_word_embeddings"},
    {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", NULL},      /* of older files, unused  */
    {0},
};

/* ---- the equations ----------------------------------------------------------------------------------------------- */

rf_tensor *rf__t5_finish(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    return rf__dropout(g, rf__bert_finish(g, b, h), b->config->hidden_dropout_prob);
}

static rf_tensor *scaled(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    (void)w;
    if (!c->scale_decoder_outputs || g->error.code) return x;
    const float scale = (float)(1 / sqrt((double)c->hidden_size));
    int32_t *row = rf__push(g, (size_t)x->dim[0], sizeof *row);
    for (int32_t i = 0; row && i < x->dim[0]; i++) row[i] = i;
    return row ? rf__mix(g, x, 1, &scale, (const int32_t *const[]){row}, x->dim[0]) : &g->nil.t;
}

const rf_head_row rf__t5_heads[] = {
    {RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, which, scaled},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_END, rf__rows_text_labels, rf__head_dense_tanh},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, rf__rows_label, rf__head_token},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, rf__head_plain},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

/* ---- config.json ------------------------------------------------------------------------------------------------- */

const rf_config_alias rf__t5_aliases[] = {
    {"hidden_size", "d_model", false},
    {"num_attention_heads", "num_heads", false},
    {"num_hidden_layers", "num_layers", false},
    {"head_dim", "d_kv", false},
    {0},
};

const rf_known_key rf__t5_known[] = {
    RF_IDLE("feed_forward_proj", "read by rf__t5_read"),
    RF_IDLE("output_past", "what a call returns"),
    RF_IDLE("task_specific_params", "read by rf__generation_task"),
    RF_ONE_POSITION,
    {0},
};

#define GATED "gated-"

/* "relu" or "gated-gelu", which means gelu_new; is_gated_act and dense_act_fn take precedence. */
static rf_status read_feed_forward(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *v = json_object_get(root, "feed_forward_proj");
    const char *name = json_string_value(v);
    if (!v) return RF_OK;
    if (!name) return rf__wrong_type(file, "feed_forward_proj", v, "a string", why);
    const bool gated = !strncmp(name, GATED, sizeof GATED - 1);
    rf_act act = RF_ACT_NONE;
    if (!strcmp(name, GATED "gelu")) act = RF_ACT_GELU_TANH;
    else rf__act_named(gated ? name + sizeof GATED - 1 : name, &act);
    if (!json_object_get(root, "is_gated_act")) c->is_gated_act = gated;
    if (json_object_get(root, "dense_act_fn")) return RF_OK;
    c->hidden_act = act;
    if (act != RF_ACT_NONE) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: feed_forward_proj: expected relu, gated-gelu, gated-silu or another "
                   "known activation, got \"%s\"", file, rf__printable(name).text);
}

rf_status rf__t5_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    const json_t *layers = json_object_get(root, "num_decoder_layers");
    if (class) c->is_encoder_decoder = !strstr(class, "EncoderModel") && !strstr(class, "ForTokenClassification");
    if (!layers || json_is_null(layers)) c->decoder_layers = c->num_hidden_layers;
    c->attention_probs_dropout_prob = c->activation_dropout = c->hidden_dropout_prob;
    if (rf__config_lacks(rf__config_family(c), "scale_decoder_outputs")) c->scale_decoder_outputs = 0;
    else if (!json_object_get(root, "scale_decoder_outputs"))
        c->scale_decoder_outputs = !json_is_false(json_object_get(root, "tie_word_embeddings"));
    return read_feed_forward(file, root, c, why);
}

void rf__t5_write(const rf_config *c, json_t **more)
{
    const bool usual = c->hidden_act == RF_ACT_GELU_TANH && c->is_gated_act;
    const char *act = usual ? "gelu" : rf__config_act_name(c->hidden_act);
    rf__json_set(more, "feed_forward_proj", json_sprintf("%s%s", c->is_gated_act ? GATED : "", act));
}
