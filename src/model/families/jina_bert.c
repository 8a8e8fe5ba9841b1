/* jina_bert.c — JinaBERT: jina-embeddings-v2.        Günther et al. 2023; jina-bert-implementation's JinaBertFor...
 *
 * BERT without vectors of positions: scores of attention fall with the distance of two tokens, by a slope for each head
 * (positions/alibi.c, both directions).  The feed-forward layer has a gate, in the first half of one matrix.
 *
 *     score(m,n) = <q_m, k_n> / sqrt D - slope_h |n - m|
 *     [g | u]    = h W_1,                       W_1 [2F,C]
 *     h          = norm(h + drop((gelu(g) * u) W_2 + b_2))
 *     logits     = norm(gelu(h W_t + b_t)) word^T + b
 *     labels     = drop(tanh(h_[CLS] W_p + b_p)) W + b
 *
 * model_type is "bert"; feed_forward_type and position_embedding_type distinguish JinaBERT from BERT, and auto_map from
 * its relative with norms of queries and keys (jina_bert_qk.c). */
#include "model/families/jina_bert.h"

static const rf_family_row layer[] = {
    RF_BERT_ATTENTION,
    RF_BERT_ROW("mlp.gated_layers.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("mlp.wo.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("mlp.wo.bias", "C", ZEROS, false, 0, down_bias),
    RF_BERT_ROW("mlp.layernorm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("mlp.layernorm.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

const rf_head_row rf__jina_bert_heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_masked, rf__head_masked},
    RF_BERT_POOLED_HEADS,
    RF_BERT_HEADS,
    {0},
};

const rf_class_row rf__jina_bert_classes[] = {
    RF_BERT_CLASSES("JinaBert", RF_HEAD_POOLED),
    {RF_HEAD_MLM, "JinaBertForPreTraining", false, false},
    {RF_HEAD_MLM, "JinaBertModel", false, false},
    {0},
};

const rf_config_key rf__jina_bert_keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_USUAL(max_position_embeddings, 8192, 0),      /* [CLS] and [SEP]; no limit of texts */
    RF_USUAL(vocab_size, 30528, 0),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    {0},
};

const rf_config_sign rf__jina_bert_signs[] = {
    {"feed_forward_type", "geglu", false, true},
    {"position_embedding_type", "alibi", false, true},
    {0},
};

const rf_known_key rf__jina_bert_known[] = {
    RF_ONLY("alibi_scaling", "1", "slopes do not depend on the length of texts"),
    RF_IDLE("auto_map", "says which code the class is of, which `code` of the row reads"),
    RF_IDLE("attn_implementation", "speed alone"),
    RF_IDLE("emb_pooler", "of `encode` of the published class; modules.json or --pooling says it here"),
    RF_IDLE("embedding_model", "of the training of the published class"),
    RF_IDLE("model_max_length", "tokenizer_config.json has it"),
    {0},
};

rf_status rf__jina_bert_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    (void)root;
    if (c->hidden_act == RF_ACT_GELU) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: hidden_act: expected gelu, the function of the gate, got %s", file,
                   rf__config_act_name(c->hidden_act));
}

const rf_family rf__family_jina_bert = {
    RF_JINA_BERT("jina_bert", "JinaBERT", "jina-bert-implementation", false, NULL),
    .gate = RF_GATE_FIRST,
};
