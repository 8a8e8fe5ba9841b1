/* ernie.c — ERNIE.                         Sun et al. 2019, 2020, 2021 (ERNIE 1.0, 2.0, 3.0); transformers' ErnieFor...
 *
 * BERT (bert.c) whose embeddings may also have a vector for the kind of task (use_task_id). transformers gives every
 * token the kind 0 unless the caller says otherwise, and so does this library.
 *
 *     h_0     = norm(word[id] + type[tt] + P[m] + task[0])
 *     logits  = norm(act(h W_t + b_t)) word^T + b */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {
    RF_BERT_WORDS,
    RF_TENSOR_WHEN(rf__when_task_types, rf_bert_embedding, task, "embeddings.task_type_embeddings.weight", "SE", NORMAL,
                   true, RF_ROW_TABLE),
    RF_BERT_WORDS_NORM,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Ernie", RF_HEAD_POOLED),
    {RF_HEAD_MLM, "ErnieForCausalLM", true, false},
    {RF_HEAD_MLM, "ErnieForPreTraining", false, false},
    {RF_HEAD_MLM, "ErnieModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(rotary_value),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_CONFIG_KEY(task_type_vocab_size, WHOLE, 3, 1, 65536, 0),
    RF_CONFIG_KEY(use_task_id, TRUTH, 0, 0, 1, 0),
    RF_USUAL(vocab_size, 30522, 0),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    {0},
};

const rf_family rf__family_ernie = {
    .config = {.name = "ernie",
               .model_type = "ernie",
               .title = "ERNIE",
               .key = keys,
               .class = classes,
               .position = "absolute",
               .positions = rf__positions_bert,
               .one_width = true},
    .prefix = "ernie.",
    .embedding = embedding,
    .layer = rf__rows_bert_layer,
    .head = rf__heads_bert,
    .spelling = rf__spelling_bert,
    .silent = rf__silent_bert,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
