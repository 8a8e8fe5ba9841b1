/* xlnet.c — XLNet.                                                 Yang et al. 2019; transformers' XLNetFor...
 *
 * BERT's layers (bert_layer.c) without vectors and a norm in front: scores have Transformer-XL's terms for offsets and
 * a term for segments (positions/transformer_xl.c). Queries, keys and values have no biases but u, v and s of these
 * terms.
 * Matrices of the attention are transposed in files, with heads as a dimension.
 *
 *     h_0     = word[id]
 *     logits  = h word^T + b                       every token sees all others; permuted targets have a second stream,
 *                                                  which pre-training alone computes
 *     labels  = drop(act(h_last W_s + b_s)) W + b           h_last: the last token, <cls>; the first; or the mean;
 *                                                           act: tanh, or summary_activation
 *
 * mask_emb, the first vector of the second stream, is read and written, not used. */
#include "base/json.h"
#include "graph/graph.h"
#include "model/layers/bert_layer.h"
#include "store/store.h"
#include "store/task.h"

enum { U = 4 };                         /* r_w_bias among the parameters of the encoding                              */

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "word_embedding.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, contact, "mask_emb", "1C", NORMAL, false,
              RF_ROW_TABLE | RF_ROW_HEADS | RF_ROW_MAY_LACK),
    {{0}, 0},
};

enum { HEADS = RF_ROW_HEADS | RF_ROW_TRANSPOSED };      /* [C,H,D] in files, [HD,C] here */

static const rf_family_row layer[] = {
    RF_BERT_ROW("rel_attn.q", "CC", NORMAL, true, HEADS, qkv),
    RF_BERT_ROW("rel_attn.k", "CC", NORMAL, true, HEADS | RF_ROW_JOINED, qkv),
    RF_BERT_ROW("rel_attn.v", "CC", NORMAL, true, HEADS | RF_ROW_JOINED, qkv),
    RF_BERT_ROW("rel_attn.o", "CC", NORMAL, true, RF_ROW_HEADS, out),
    RF_BERT_ROW("rel_attn.layer_norm.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("rel_attn.layer_norm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("ff.layer_1.weight", "FC", NORMAL, true, 0, up),
    RF_BERT_ROW("ff.layer_1.bias", "F", ZEROS, false, 0, up_bias),
    RF_BERT_ROW("ff.layer_2.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("ff.layer_2.bias", "C", ZEROS, false, 0, down_bias),
    RF_BERT_ROW("ff.layer_norm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("ff.layer_norm.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

static rf_tensor *forward(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    rf_bert_layer own = *(const rf_bert_layer *)b->weights;
    rf_block block = *b;
    own.qkv_bias = block.at.qkv_bias = rf__apart(g, b->at.weight[U], NULL);
    block.weights = &own;
    return rf__bert_forward(g, &block, h);
}

/* ---- heads: the class drops the last h for all of them ----------------------------------------------------------- */

static const rf_family_row words[] = {
    RF_HEAD_UNTIED("lm_loss.weight", NORMAL),
    RF_HEAD_ROW("lm_loss.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

#define SUMMARY(labels, label)                                                                                         \
    RF_SUMMARY_ROWS,                                                                                                   \
    RF_HEAD_ROW("logits_proj.weight", labels, NORMAL, true, 0, out),                                                   \
    RF_HEAD_ROW("logits_proj.bias", label, ZEROS, false, 0, out_bias)
static const rf_family_row labels[] = {SUMMARY("KC", "K"), {{0}, 0}};
static const rf_family_row choice[] = {SUMMARY("1C", "1"), {{0}, 0}};
#undef SUMMARY

static rf_tensor *dropped(rf_graph *g, const rf_config *c, rf_tensor *x)
{
    return rf__dropout(g, x, c->hidden_dropout_prob);
}

static rf_tensor *head_words(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    (void)w;
    return dropped(g, c, x);
}

static rf_tensor *head_summary(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__head_summary(g, c, w, dropped(g, c, x));
}

static rf_tensor *head_plain(rf_graph *g, const rf_config *c, const rf_head_weights *w, rf_tensor *x)
{
    return rf__head_plain(g, c, w, dropped(g, c, x));
}

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, words, head_words},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_SUMMARY, labels, head_summary},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, rf__rows_label, head_plain},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, head_plain},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_SUMMARY, choice, head_summary},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "XLNetLMHeadModel", false, false},
    {RF_HEAD_SEQUENCE, "XLNetForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "XLNetForTokenClassification", false, false},
    {RF_HEAD_SPAN, "XLNetForQuestionAnsweringSimple", false, false},
    {RF_HEAD_CHOICE, "XLNetForMultipleChoice", false, false},
    {RF_HEAD_EMBED, "XLNetForSentenceEmbedding", false, true},
    {RF_HEAD_MLM, "XLNetModel", false, false},
    {0},
};

/* ---- config.json ------------------------------------------------------------------------------------------------- */

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(hidden_size),
    RF_LACKS(intermediate_size),
    RF_LACKS(num_hidden_layers),
    RF_LACKS(num_attention_heads),
    RF_LACKS(hidden_dropout_prob),
    RF_LACKS(attention_probs_dropout_prob),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    /* types of the texts of a pair, of <cls>, of padding; the class has no limit of either                           */
    RF_CONFIG_KEY(type_vocab_size, WHOLE, 4, 1, 65536, RF_KEY_OURS),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 16384, 1, 16777216, RF_KEY_OURS),
    RF_FIXED(sinusoidal_base, NUMBER, 10000),
    RF_USUAL_AS("d_model", hidden_size, 1024, 0),
    RF_USUAL_AS("d_inner", intermediate_size, 4096, 0),
    RF_USUAL_AS("n_layer", num_hidden_layers, 24, 0),
    RF_USUAL_AS("n_head", num_attention_heads, 16, 0),
    RF_USUAL_AS("dropout", hidden_dropout_prob, 0.1, 0),
    RF_USUAL_AS("summary_last_dropout", classifier_dropout, 0.1, 0),
    RF_USUAL(vocab_size, 32000, 0),
    RF_USUAL(pad_token_id, 5, 0),
    RF_CONFIG_KEY(summary_use_proj, TRUTH, 1, 0, 1, 0),
    {0},
};

static const rf_config_alias aliases[] = {
    {"hidden_size", "d_model", false},
    {"num_hidden_layers", "n_layer", false},
    {"num_attention_heads", "n_head", false},
    {"n_token", "vocab_size", false},
    {0},
};

static const rf_known_key known[] = {
    RF_ONE_POSITION,
    RF_ONLY("attn_type", "\"bi\"", "tokens see all others"),
    RF_ONLY("bi_data", "false", "texts are not read backwards"),
    RF_ONLY("summary_proj_to_labels", "false", "the head has two matrices"),
    RF_ONLY("summary_first_dropout", "0", "the summary is not dropped first"),
    RF_IDLE("summary_type", "read by `read_config` below"),
    RF_IDLE("summary_activation", "the same"),
    RF_IDLE("d_head", "the same"),
    RF_IDLE("mem_len", "of texts in parts"),
    RF_IDLE("reuse_len", "of texts in parts"),
    RF_IDLE("use_mems_eval", "of texts in parts"),
    RF_IDLE("use_mems_train", "of texts in parts"),
    RF_IDLE("same_length", "of attn_type uni"),
    RF_IDLE("untie_r", "layers always have biases of their own"),
    RF_IDLE("start_n_top", "of another head for answers"),
    RF_IDLE("end_n_top", "of another head for answers"),
    {0},
};

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const rf_status status = rf__usual_head_width(file, root, "d_head", c, why);
    c->attention_probs_dropout_prob = c->activation_dropout = c->hidden_dropout_prob;
    if (c->clamp_len == 0) c->clamp_len = -1;
    c->summary = RF_SUMMARY_LAST;
    c->summary_activation = RF_ACT_TANH;
    return status ? status : rf__sequence_summary_read(file, root, c, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    json_object_del(*more, "position_embedding_type");
    json_object_del(*more, "d_head");
    rf__sequence_summary_write(c, more);
}

static const rf_silent silent[] = {{"lm_loss.weight", "tie_word_embeddings"}, {0}};

const rf_family rf__family_xlnet = {
    .config = {.name = "xlnet",
               .model_type = "xlnet",
               .title = "XLNet",
               .key = keys,
               .alias = aliases,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "xlnet",
               .summarizes = true,
               .act = "ff_activation",
               .one_width = true},
    .prefix = "transformer.",
    .layers = "layer.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    .embedding_size = sizeof(rf_bert_embedding),
    .layer_size = sizeof(rf_bert_layer),
    .qkv = offsetof(rf_bert_layer, qkv),
    .qkv_bias = offsetof(rf_bert_layer, qkv_bias),
    .embed = rf__bert_embed,
    .layer_forward = forward,
};
