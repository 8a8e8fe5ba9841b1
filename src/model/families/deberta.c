/* deberta.c — DeBERTa, version 1.                                  He et al. 2021; transformers' DebertaFor...
 *
 * As versions 2 and 3 (deberta_v2.c), but for four differences: offsets have no buckets and no norm; the matrices of
 * queries, keys and values are one, ordered by head; keys have no bias; and neither has the projection of positions
 * that queries are multiplied with. */
#include "graph/graph.h"
#include "model/families/deberta.h"
#include "store/store.h"

typedef struct first_layer {
    rf_bert_layer bert;                 /* without a bias of its qkv                                                  */
    rf_tensor *query_bias, *value_bias;
} first_layer;

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention.self.in_proj.weight", "QC", NORMAL, true, RF_ROW_BY_HEAD, qkv),
    RF_TENSOR(first_layer, query_bias, "attention.self.q_bias", "C", ZEROS, false, 0),
    RF_TENSOR(first_layer, value_bias, "attention.self.v_bias", "C", ZEROS, false, 0),
    RF_DEBERTA_OUTPUT,
    {{0}, 0},
};

static rf_tensor *forward(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const first_layer *w = b->weights;
    rf_bert_layer own = w->bert;
    rf_block block = *b;
    own.qkv_bias = block.at.qkv_bias = rf__apart(g, w->query_bias, w->value_bias);
    block.weights = &own;
    return rf__bert_forward(g, &block, h);
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const rf_status status = rf__deberta_read(file, root, c, why);
    const json_t *kinds = json_object_get(root, "pos_att_type");
    const int n = !(c->deberta & RF_DEBERTA_NO_C2P) + !(c->deberta & RF_DEBERTA_NO_P2C);
    const char *bar = json_string_value(kinds);
    size_t names = json_array_size(kinds) + (bar != NULL);
    for (; bar && *bar; bar++) names += *bar == '|';
    if (status || names == (size_t)n) return status;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: pos_att_type: expected c2p and p2c, each at most once, got %s; the class "
                   "divides scores by the root of their number", file, rf__json_shown(kinds).text);
}

static void write_config(const rf_config *c, json_t **more) { rf__deberta_write(c, more); }

static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "DebertaForMaskedLM", false, false},
    {RF_HEAD_SEQUENCE, "DebertaForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "DebertaForTokenClassification", false, false},
    {RF_HEAD_SPAN, "DebertaForQuestionAnswering", false, false},
    {RF_HEAD_CHOICE, "DebertaForMultipleChoice", false, true},
    {RF_HEAD_EMBED, "DebertaForSentenceEmbedding", false, true},
    {RF_HEAD_MLM, "DebertaModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_DEBERTA_KEYS,
    RF_LACKS(position_buckets),
    RF_LACKS(share_att_key),
    RF_LACKS(conv_kernel_size),
    RF_USUAL(vocab_size, 50265, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_DEBERTA_KNOWN,
    RF_ONLY("talking_head", "false", "heads are not mixed"),
    {0},
};

const rf_family rf__family_deberta = {
    RF_DEBERTA("deberta", "deberta", "DeBERTa", layer),
    .embedding_size = sizeof(rf_bert_embedding),
    .layer_size = sizeof(first_layer),
    .qkv = offsetof(first_layer, bert.qkv),
    .embed = rf__deberta_embed,
    .layer_forward = forward,
};
