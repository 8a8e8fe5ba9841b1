/* distilbert.c — DistilBERT.                                       Sanh et al. 2019; transformers' DistilBertFor...
 *
 * BERT (bert.c) without token types and pooler, under other names of keys and tensors. All norms have eps 1e-12.
 *
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     labels  = drop(relu(h_[CLS] W_d + b_d)) W_o + b_o           also of choices
 *
 * In training, the heads for texts and choices have seq_classif_dropout, that for tokens has `dropout`. Answers have
 * `dropout` instead of qa_dropout, whose default is the same. */
#include "graph/graph.h"
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_BERT_WORDS_NORM,
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention.q_lin.weight", "CC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attention.k_lin.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.v_lin.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.q_lin.bias", "C", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attention.k_lin.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_BERT_ROW("attention.v_lin.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_BERT_ROW("attention.out_lin.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("attention.out_lin.bias", "C", ZEROS, false, 0, out_bias),
    RF_BERT_ROW("sa_layer_norm.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("sa_layer_norm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("ffn.lin1.weight", "FC", NORMAL, true, 0, up),
    RF_BERT_ROW("ffn.lin1.bias", "F", ZEROS, false, 0, up_bias),
    RF_BERT_ROW("ffn.lin2.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("ffn.lin2.bias", "C", ZEROS, false, 0, down_bias),
    RF_BERT_ROW("output_layer_norm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("output_layer_norm.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("vocab_transform.weight", "CC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("vocab_transform.bias", "C", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("vocab_layer_norm.weight", "C", ONES, false, 0, norm),
    RF_HEAD_ROW("vocab_layer_norm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("vocab_projector.weight", NORMAL),
    RF_HEAD_ROW("vocab_projector.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

#define DENSE                                                                                                          \
    RF_HEAD_ROW("pre_classifier.weight", "CC", NORMAL, true, 0, dense),                                                \
    RF_HEAD_ROW("pre_classifier.bias", "C", ZEROS, false, 0, dense_bias)
static const rf_family_row labels[] = {DENSE, RF_BERT_CLASSIFIER("KC", "K"), {{0}, 0}};
static const rf_family_row choice[] = {DENSE, RF_BERT_CLASSIFIER("1C", "1"), {{0}, 0}};
#undef DENSE

static rf_tensor *dropped(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__head_plain(g, c, w, rf__dropout(g, x, c->hidden_dropout_prob));
}

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, labels, rf__head_dense_relu},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, choice, rf__head_dense_relu},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, rf__rows_label, dropped},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, dropped},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("DistilBert", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "DistilBertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(hidden_size),
    RF_LACKS(num_hidden_layers),
    RF_LACKS(num_attention_heads),
    RF_LACKS(intermediate_size),
    RF_LACKS(hidden_dropout_prob),
    RF_LACKS(attention_probs_dropout_prob),
    RF_LACKS(layer_norm_eps),
    RF_LACKS(type_vocab_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_USUAL_AS("dim", hidden_size, 768, 0),
    RF_USUAL_AS("n_layers", num_hidden_layers, 6, 0),
    RF_USUAL_AS("n_heads", num_attention_heads, 12, 0),
    RF_USUAL_AS("hidden_dim", intermediate_size, 3072, 0),
    RF_USUAL_AS("dropout", hidden_dropout_prob, 0.1, 0),
    RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0.1, 0),
    RF_USUAL_AS("seq_classif_dropout", classifier_dropout, 0.2, 0),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_USUAL(vocab_size, 30522, 0),
    {0},
};

/* Names that transformers accepts as well. */
static const rf_config_alias aliases[] = {
    {"hidden_size", "dim", false},
    {"num_hidden_layers", "n_layers", false},
    {"num_attention_heads", "n_heads", false},
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("sinusoidal_pos_embds", "the first weights of transformers: files have the table"),
    RF_IDLE("qa_dropout", "training: `dropout` is used"),
    RF_ONE_POSITION,
    {0},
};

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"vocab_projector.weight", "tie_word_embeddings"},
    {0},
};

const rf_family rf__family_distilbert = {
    .config = {.name = "distilbert",
               .model_type = "distilbert",
               .title = "DistilBERT",
               .key = keys,
               .alias = aliases,
               .known = known,
               .class = classes,
               .position = "absolute",
               .act = "activation",
               .one_width = true},
    .prefix = "distilbert.",
    .layers = "transformer.layer.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
