/* roberta.h — the rows that RoBERTa and XLM-RoBERTa share.         Liu et al. 2019; transformers' RobertaFor...
 *
 * BERT's layers (bert_layer.c). Learned positions begin at pad_token_id + 1, and padding tokens in a text do not count
 * (positions/absolute.c). The file's max_position_embeddings is the number of rows of that table, which is larger by
 * pad_token_id + 1 than the number of positions in rf_config (store/config.c).
 *
 *     logits  = norm(gelu(h W_t + b_t)) word^T + b
 *     labels  = drop(tanh(drop(h_<s>) W_d + b_d)) W_o + b_o                  RobertaClassificationHead */
#ifndef RF_MODEL_FAMILIES_ROBERTA_H
#define RF_MODEL_FAMILIES_ROBERTA_H

#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {RF_BERT_WORDS, RF_BERT_WORDS_NORM, {{0}, 0}};
static const rf_family_row choice[] = {RF_BERT_POOLED("1C", "1", RF_ROW_PRETRAINED), {{0}, 0}};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_lm_head, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense_tanh},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, choice, rf__head_pooled},
    RF_BERT_HEADS,
    {0},
};

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"embeddings.token_type_ids", NULL},
    {"embeddings.position_embeddings.weight", NULL},        /* with relative positions, the classes do not use them   */
    {"lm_head.decoder.weight", "tie_word_embeddings"},
    {"lm_head.decoder.bias", NULL},
    {0},
};

#define RF_ROBERTA_KEYS(vocabulary)                                                                                    \
    RF_LACKS(embedding_size),                                                                                          \
    RF_LACKS(rotary_value),                                                                                            \
    RF_USUAL(max_position_embeddings, 512, RF_KEY_AFTER_PAD),        /* <s> and </s> */                                \
    RF_CONFIG_KEY(pad_token_id, WHOLE, 1, 0, 16777215, 0),                                                             \
    RF_USUAL(vocab_size, vocabulary, 0),                                                                               \
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL)

#define RF_ROBERTA(name_, type, title_)                                                                                \
    .config = {.name = name_, .model_type = type, .title = title_, .key = keys, .class = classes,                      \
               .position = "absolute", .positions = rf__positions_bert, .one_width = true},                            \
    .prefix = "roberta.", .embedding = embedding, .layer = rf__rows_bert_layer, .head = heads,                         \
    .spelling = rf__spelling_lm_head, .silent = silent, .norm = RF_NORM_LAYER, RF_BERT_LAYER

#endif
