/* bert.c — BERT.                                                   Devlin et al. 2019; transformers' BertFor...
 *
 * The layers of bert_layer.c, with a learned vector for each of max_position_embeddings positions
 * (positions/absolute.c) added to the words. The heads for texts and candidates use the pooler, tanh(h_[CLS] W_p +
 * b_p), which was trained by pre-training on sentence pairs: it is read for every head that has one. The head of that
 * task itself (cls.seq_relationship) is not used.
 *
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     vector  = h_[CLS] W_p + b_p                         SimBERT (pooler_activation "linear"), as in RoFormer-Sim */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {RF_BERT_WORDS, RF_BERT_WORDS_NORM, RF_BERT_VECTOR, {{0}, 0}};

const rf_head_row rf__heads_bert[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_masked, rf__head_masked},
    RF_BERT_POOLED_HEADS,
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Bert", RF_HEAD_POOLED),
    {RF_HEAD_MLM, "BertLMHeadModel", true, false},
    {RF_HEAD_MLM, "BertForPreTraining", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(rotary_value),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_USUAL(vocab_size, 30522, 0),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    {0},
};

/* JinaBERT (jina_bert.c) has the same model_type, and another value. */
static const rf_config_sign signs[] = {{"feed_forward_type", "original", false, false}, {0}};

const rf_family rf__family_bert = {
    .config = {.name = "bert",
               .model_type = "bert",
               .title = "BERT",
               .sign = signs,
               .key = keys,
               .class = classes,
               .position = "absolute",
               .positions = rf__positions_bert,
               .vectors = true,
               .one_width = true},
    .prefix = "bert.",
    .embedding = embedding,
    .layer = rf__rows_bert_layer,
    .head = rf__heads_bert,
    .spelling = rf__spelling_bert,
    .silent = rf__silent_bert,
    .norm = RF_NORM_LAYER,
    .vector = rf__bert_vector,
    RF_BERT_LAYER,
};
