/* albert.c — ALBERT.                                                Lan et al. 2020; transformers' AlbertFor...
 *
 * BERT (bert.c) whose embeddings are narrower than its layers. Layers are divided into num_hidden_groups groups of
 * consecutive ones, and the layers of a group have the same tensors; the published models have one group. Gradients of
 * the layers of a group are summed.
 *
 *     h_0     = norm(word[id] + type[tt] + P[m]) W_p + b_p
 *     group   = floor(l / (L / G))                                    of layer l of L, with G groups
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     labels  = drop(tanh(h_[CLS] W_p + b_p)) W + b
 *
 * The head of pre-training for the order of sentences (sop_classifier) is not used. */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {
    RF_BERT_WORDS,
    RF_BERT_WORDS_NORM,
    RF_BERT_PROJECT("encoder.embedding_hidden_mapping_in", NULL),
    {{0}, 0},
};

#define LAYER(name, ...) RF_BERT_ROW("albert_layers.0." name, __VA_ARGS__)
static const rf_family_row layer[] = {
    LAYER("attention.query.weight", "CC", NORMAL, true, 0, qkv),
    LAYER("attention.key.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    LAYER("attention.value.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    LAYER("attention.query.bias", "C", ZEROS, false, 0, qkv_bias),
    LAYER("attention.key.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    LAYER("attention.value.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    LAYER("attention.dense.weight", "CC", NORMAL, true, 0, out),
    LAYER("attention.dense.bias", "C", ZEROS, false, 0, out_bias),
    LAYER("attention.LayerNorm.weight", "C", ONES, false, 0, norm),
    LAYER("attention.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias),
    LAYER("ffn.weight", "FC", NORMAL, true, 0, up),
    LAYER("ffn.bias", "F", ZEROS, false, 0, up_bias),
    LAYER("ffn_output.weight", "CF", NORMAL, true, 0, down),
    LAYER("ffn_output.bias", "C", ZEROS, false, 0, down_bias),
    LAYER("full_layer_layer_norm.weight", "C", ONES, false, 0, norm2),
    LAYER("full_layer_layer_norm.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};
#undef LAYER

static int64_t group_of(const rf_config *c, int64_t number)
{
    return (int64_t)((double)number / ((double)c->num_hidden_layers / (double)c->num_hidden_groups));
}

static int64_t first_of_group(const rf_config *c, int64_t number)
{
    const int64_t group = group_of(c, number);
    while (number > 0 && group_of(c, number - 1) == group) number--;
    return number;
}

static const rf_family_row masked[] = {
    RF_HEAD_ROW("predictions.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("predictions.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("predictions.LayerNorm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("predictions.LayerNorm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("predictions.decoder.weight", NORMAL),
    RF_HEAD_ROW("predictions.bias", "V", ZEROS, false, RF_ROW_TWICE, out_bias),
    {{0}, 0},
};

#define POOLER                                                                                                         \
    RF_HEAD_ROW("pooler.weight", "CC", NORMAL, true, RF_ROW_BASE | RF_ROW_PRETRAINED, dense),                          \
    RF_HEAD_ROW("pooler.bias", "C", ZEROS, false, RF_ROW_BASE | RF_ROW_PRETRAINED, dense_bias)
static const rf_family_row labels[] = {POOLER, RF_BERT_CLASSIFIER("KC", "K"), {{0}, 0}};
static const rf_family_row choice[] = {POOLER, RF_BERT_CLASSIFIER("1C", "1"), {{0}, 0}};
#undef POOLER

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked},
    {RF_HEAD_POOLED, RF_HEAD_INPUT_FIRST, labels, rf__head_pooled},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, choice, rf__head_pooled},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Albert", RF_HEAD_POOLED),
    {RF_HEAD_MLM, "AlbertForPreTraining", false, false},
    {RF_HEAD_MLM, "AlbertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_USUAL(attention_probs_dropout_prob, 0, 0),
    RF_USUAL(hidden_dropout_prob, 0, 0),
    RF_USUAL(embedding_size, 128, 0),
    RF_USUAL(hidden_size, 4096, 0),
    RF_USUAL(intermediate_size, 16384, 0),
    RF_USUAL(num_attention_heads, 64, 0),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_USUAL(vocab_size, 30000, 0),
    RF_USUAL_AS("classifier_dropout_prob", classifier_dropout, 0.1, 0),
    RF_CONFIG_KEY(num_hidden_groups, WHOLE, 1, 1, 1024, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("inner_group_num", "1", "a group has one layer, which is repeated"),
    {0},
};

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    (void)root;
    if (c->num_hidden_groups <= c->num_hidden_layers) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: num_hidden_groups: expected at most num_hidden_layers, %lld, got %lld", file,
                   (long long)c->num_hidden_layers, (long long)c->num_hidden_groups);
}

static const rf_spelling spelling[] = {{"predictions.bias", "predictions.decoder.bias", true}, {0}};

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.token_type_ids", NULL},
    {"predictions.decoder.weight", "tie_word_embeddings"},
    {"predictions.decoder.bias", NULL},
    {0},
};

const rf_family rf__family_albert = {
    .config = {.name = "albert",
               .model_type = "albert",
               .title = "ALBERT",
               .key = keys,
               .known = known,
               .read = read_config,
               .class = classes,
               .position = "absolute",
               .usual_act = RF_ACT_GELU_TANH},
    .prefix = "albert.",
    .layers = "encoder.albert_layer_groups.",
    .layer_like = first_of_group,
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = spelling,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
