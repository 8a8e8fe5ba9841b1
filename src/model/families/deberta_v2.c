/* deberta_v2.c — DeBERTa, versions 2 and 3.              He et al. 2021, 2023; transformers' DebertaV2For...
 *
 * BERT's layers (bert_layer.c) with disentangled attention: the vectors of offsets are projected by matrices of each
 * layer and multiplied with queries and keys (positions/deberta.c). position_biased_input adds BERT's learned positions
 * to the words. With embeddings narrower than the model, the projection comes before the norm:
 *
 *     h_0     = norm((word[id] + type[tt] + P[m]) W_p)
 *     h_1     = norm(h_1 + act(drop(conv(h_0))))                 with conv_kernel_size (xlarge), zeros outside the text
 *     labels  = drop(act(drop(h_[CLS]) W_d + b_d)) W + b                     ContextPooler, act: pooler_hidden_act
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *
 * The last has two sets of names: those of BERT, which `legacy` (the default) stands for, and lm_predictions. The
 * authors' files have the second, and config.json does not say so; transformers then starts with a random head. Here
 * either is read. Their head for replaced tokens (mask_predictions) has no class and is not read. */
#include <ctype.h>

#include "base/json.h"
#include "graph/graph.h"
#include "model/families/deberta.h"
#include "store/store.h"

const rf_family_row rf__deberta_embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR_WHEN(rf__when_types, rf_bert_embedding, type, "embeddings.token_type_embeddings.weight", "TE", NORMAL,
                   true, RF_ROW_TABLE),
    RF_TENSOR_WHEN(rf__when_projected, rf_bert_embedding, project, "embeddings.embed_proj.weight", "CE", NORMAL, true,
                   0),
    RF_TENSOR(rf_bert_embedding, norm, "embeddings.LayerNorm.weight", "C", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, norm_bias, "embeddings.LayerNorm.bias", "C", ZEROS, false, 0),
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention.self.query_proj.weight", "CC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attention.self.key_proj.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.self.value_proj.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.self.query_proj.bias", "C", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attention.self.key_proj.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_BERT_ROW("attention.self.value_proj.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_DEBERTA_OUTPUT,
    {{0}, 0},
};

/* ---- heads ------------------------------------------------------------------------------------------------------- */

static bool is_new(const rf_config *c, int64_t number)
{
    (void)number;
    return c->deberta & RF_DEBERTA_NEW_HEAD;
}
static bool is_old(const rf_config *c, int64_t number) { return !is_new(c, number); }
static bool is_untied(const rf_config *c, int64_t number) { return is_old(c, number) && !c->tie_word_embeddings; }

#define OLD "cls.predictions."
#define NEW "lm_predictions.lm_head."
#define MASKED(when, transform, name)                                                                                  \
    RF_TENSOR_WHEN(when, rf_head_weights, dense, transform "dense.weight", "EC", NORMAL, true, 0),                     \
    RF_TENSOR_WHEN(when, rf_head_weights, dense_bias, transform "dense.bias", "E", ZEROS, false, 0),                   \
    RF_TENSOR_WHEN(when, rf_head_weights, norm, transform "LayerNorm.weight", "E", ONES, false, 0),                    \
    RF_TENSOR_WHEN(when, rf_head_weights, norm_bias, transform "LayerNorm.bias", "E", ZEROS, false, 0),                \
    RF_TENSOR_WHEN(when, rf_head_weights, out_bias, name "bias", "V", ZEROS, false, RF_ROW_TWICE)
static const rf_family_row masked[] = {
    RF_TENSOR_WHEN(is_untied, rf_head_weights, out, OLD "decoder.weight", "VE", NORMAL, true, 0),
    MASKED(is_old, OLD "transform.", OLD),
    MASKED(is_new, NEW, NEW),
    {{0}, 0},
};
#undef MASKED

const rf_spelling rf__deberta_spelling[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {OLD "bias", OLD "decoder.bias", true},
    {OLD "bias", NEW "bias", false},
    {OLD "transform.dense.weight", NEW "dense.weight", false},
    {OLD "transform.dense.bias", NEW "dense.bias", false},
    {OLD "transform.LayerNorm.weight", NEW "LayerNorm.weight", false},
    {OLD "transform.LayerNorm.bias", NEW "LayerNorm.bias", false},
    {0},
};
#undef OLD
#undef NEW

#define POOLER                                                                                                         \
    RF_HEAD_ROW("pooler.dense.weight", "CC", NORMAL, true, 0, dense),                                                  \
    RF_HEAD_ROW("pooler.dense.bias", "C", ZEROS, false, 0, dense_bias)
static const rf_family_row labels[] = {POOLER, RF_BERT_CLASSIFIER("KC", "K"), {{0}, 0}};
static const rf_family_row choice[] = {POOLER, RF_BERT_CLASSIFIER("1C", "1"), {{0}, 0}};
#undef POOLER

static rf_tensor *head_context(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    x = rf__dropout(g, x, c->pooler_dropout);
    x = rf__linear(g, x, w->dense, w->dense_bias, c->pooler_act ? c->pooler_act : RF_ACT_GELU);
    return rf__head_token(g, c, w, x);
}

/* cls_dropout belongs to the heads above. */
static rf_tensor *head_token(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__head_plain(g, c, w, rf__dropout(g, x, c->hidden_dropout_prob));
}

const rf_head_row rf__deberta_heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, labels, head_context},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, rf__rows_label, head_token},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, rf__head_plain},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, choice, head_context},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

const rf_silent rf__deberta_silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},        /* without position_biased_input, they are not used       */
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {"cls.predictions.decoder.bias", NULL},
    {"mask_predictions.dense.weight", NULL},
    {"mask_predictions.dense.bias", NULL},
    {"mask_predictions.LayerNorm.weight", NULL},
    {"mask_predictions.LayerNorm.bias", NULL},
    {"mask_predictions.classifier.weight", NULL},
    {"mask_predictions.classifier.bias", NULL},
    {0},
};

/* ---- config.json beyond its tables ------------------------------------------------------------------------------- */

rf_status rf__deberta_flag(const char *file, const json_t *root, const char *key, bool usual, bool *out, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    *out = v ? json_is_true(v) : usual;
    return !v || json_is_boolean(v) ? RF_OK : rf__wrong_type(file, key, v, "true or false", why);
}

/* A name of a text "a | B", without regard to case. */
static bool text_names(const char *text, const char *name)
{
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = text + strcspn(text, "|");
        while (text < end && isspace((unsigned char)*text)) text++;
        size_t n = (size_t)(end - text), i = 0;
        while (n && isspace((unsigned char)text[n - 1])) n--;
        while (i < n && name[i] && tolower((unsigned char)text[i]) == name[i]) i++;
        if (i == n && !name[i]) return true;
    }
    return false;
}

bool rf__deberta_names(const json_t *list, const char *name)
{
    size_t i;
    const json_t *v;
    json_array_foreach(list, i, v)
        if (json_is_string(v) && !strcmp(json_string_value(v), name)) return true;
    return json_is_string(list) && text_names(json_string_value(list), name);
}

static rf_status read_terms(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *kinds = json_object_get(root, "pos_att_type");
    if (kinds && !json_is_null(kinds) && !json_is_array(kinds) && !json_is_string(kinds))
        return rf__wrong_type(file, "pos_att_type", kinds, "a list of strings, or one", why);
    if (!rf__deberta_names(kinds, "c2p")) c->deberta |= RF_DEBERTA_NO_C2P;
    if (!rf__deberta_names(kinds, "p2c")) c->deberta |= RF_DEBERTA_NO_P2C;
    return RF_OK;
}

static rf_status read_pooler(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *width = json_object_get(root, "pooler_hidden_size");
    c->pooler_act = RF_ACT_GELU;
    const rf_status status = rf__config_read_act(file, root, "pooler_hidden_act", &c->pooler_act, why);
    if (status || !width || json_number_value(width) == (double)c->hidden_size) return status;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: pooler_hidden_size: expected hidden_size, %lld, got %s", file,
                   (long long)c->hidden_size, rf__json_shown(width).text);
}

rf_status rf__deberta_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    bool relative, absolute, legacy;
    rf_status status = rf__deberta_flag(file, root, "relative_attention", false, &relative, why);
    if (!status) status = rf__deberta_flag(file, root, "position_biased_input", true, &absolute, why);
    if (!status) status = rf__deberta_flag(file, root, "legacy", true, &legacy, why);
    if (status) return status;
    c->deberta = (relative ? 0 : RF_DEBERTA_NO_RELATIVE) | (absolute ? RF_DEBERTA_ABSOLUTE : 0);
    if (!legacy) c->deberta |= RF_DEBERTA_NEW_HEAD, c->tie_word_embeddings = 1;      /* it has the word embeddings */
    status = read_terms(file, root, c, why);
    return status ? status : read_pooler(file, root, c, why);
}

void rf__deberta_write(const rf_config *c, json_t **more)
{
    json_t *kinds = json_array();
    if (!(c->deberta & RF_DEBERTA_NO_C2P)) rf__json_add(&kinds, json_string("c2p"));
    if (!(c->deberta & RF_DEBERTA_NO_P2C)) rf__json_add(&kinds, json_string("p2c"));
    rf__json_set(more, "pos_att_type", kinds);
    rf__json_set(more, "relative_attention", json_boolean(!(c->deberta & RF_DEBERTA_NO_RELATIVE)));
    rf__json_set(more, "position_biased_input", json_boolean(c->deberta & RF_DEBERTA_ABSOLUTE));
    rf__json_set(more, "legacy", json_boolean(!(c->deberta & RF_DEBERTA_NEW_HEAD)));
    rf__json_set(more, "pooler_hidden_act", json_string(rf__config_act_name(c->pooler_act ? c->pooler_act
                                                                                           : RF_ACT_GELU)));
    json_object_del(*more, "position_embedding_type");
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *norm = json_object_get(root, "norm_rel_ebd");
    rf_status status = rf__deberta_read(file, root, c, why);
    if (!status) status = rf__usual_head_width(file, root, "attention_head_size", c, why);
    if (status) return status;
    if (norm && !json_is_string(norm)) return rf__wrong_type(file, "norm_rel_ebd", norm, "a string", why);
    if (!rf__deberta_names(norm, "layer_norm")) c->deberta |= RF_DEBERTA_NO_NORM;
    if (c->conv_kernel_size && c->conv_kernel_size % 2 == 0)
        return rf_fail(why, RF_EDATA, "%s: conv_kernel_size: expected an odd number, or 0, got %lld", file,
                       (long long)c->conv_kernel_size);
    c->conv_act = RF_ACT_TANH;
    return rf__config_read_act(file, root, "conv_act", &c->conv_act, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    rf__deberta_write(c, more);
    rf__json_set(more, "norm_rel_ebd", json_string(c->deberta & RF_DEBERTA_NO_NORM ? "none" : "layer_norm"));
    if (c->conv_kernel_size)
        rf__json_set(more, "conv_act", json_string(rf__config_act_name(c->conv_act ? c->conv_act : RF_ACT_TANH)));
    if (json_object_get(*more, "attention_head_size"))
        rf__json_set(more, "attention_head_size", json_integer(c->hidden_size / c->num_attention_heads));
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

rf_tensor *rf__deberta_embed(rf_graph *g, const rf_block *b)
{
    const rf_bert_embedding *w = b->weights;
    const rf_config *c = b->config;
    if (!w->project) return rf__bert_embed(g, b);
    rf_tensor *h = b->is->embed(g, &b->at, rf__embed(g, w->word, b->at.id, b->at.N));
    if (w->type) h = rf__add(g, h, rf__embed(g, w->type, b->at.type, b->at.N));
    h = rf__linear(g, h, w->project, NULL, RF_ACT_NONE);
    h = rf__norm(g, rf__spend(h), NULL, 0, w->norm, w->norm_bias, c->layer_norm_eps, b->family->norm);
    return rf__dropout(g, h, c->hidden_dropout_prob);
}

/* The first layer also gets what the convolution makes of its input. */
static rf_tensor *forward(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const rf_config *c = b->config;
    rf_tensor *const *w = b->at.layer ? NULL : rf__deberta_convolution(c, &b->at), *y = rf__bert_forward(g, b, h);
    if (!w) return y;
    const int64_t others = c->conv_kernel_size / 2;
    rf_tensor *x = rf__linear(g, rf__unfold(g, h, others, others, b->at.start, b->at.B), w[0], w[1], RF_ACT_NONE);
    if (b->row) x = rf__rows(g, x, b->row, b->rows);
    x = rf__activate(g, rf__dropout(g, x, c->hidden_dropout_prob), c->conv_act ? c->conv_act : RF_ACT_TANH);
    return rf__norm(g, x, y, 0, w[2], w[3], c->layer_norm_eps, b->family->norm);
}

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("DebertaV2", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "DebertaV2Model", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_DEBERTA_KEYS,
    RF_USUAL(vocab_size, 128100, 0),
    RF_USUAL(hidden_size, 1536, 0),
    RF_USUAL(num_hidden_layers, 24, 0),
    RF_USUAL(num_attention_heads, 24, 0),
    RF_USUAL(intermediate_size, 6144, 0),
    RF_CONFIG_KEY(conv_kernel_size, WHOLE, 0, 0, 63, RF_KEY_OURS),
    {0},
};

static const rf_known_key known[] = {
    RF_DEBERTA_KNOWN,
    RF_IDLE("norm_rel_ebd", "read by `read_config` above"),
    RF_IDLE("attention_head_size", "the same"),
    RF_IDLE("conv_act", "the same"),
    RF_ONLY("conv_groups", "1", "the convolution is of all columns"),
    {0},
};

const rf_family rf__family_deberta_v2 = {
    RF_DEBERTA("deberta_v2", "deberta-v2", "DeBERTa-v2", layer),
    .embedding_size = sizeof(rf_bert_embedding),
    .layer_size = sizeof(rf_bert_layer),
    .qkv = offsetof(rf_bert_layer, qkv),
    .qkv_bias = offsetof(rf_bert_layer, qkv_bias),
    .embed = rf__deberta_embed,
    .layer_forward = forward,
};
