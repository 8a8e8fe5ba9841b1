/* nezha.c — NEZHA.                                    Wei et al. 2019; NezhaFor... of transformers up to 4.57
 *
 * BERT without vectors of positions: sines and cosines of the offset between two tokens are added to keys and values of
 * every layer (positions/shaw.c, "nezha").  The heads for texts and candidates use BERT's pooler.
 *
 *     score(m,n) = <q_m, k_n + a_r> / sqrt D,   out_m = sum_n p(m,n) (v_n + a_r),   r = clamp(n - m, -K, K)
 *     logits     = norm(act(h W_t + b_t)) word^T + b */
#include "model/layers/bert_layer.h"

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("Nezha", RF_HEAD_POOLED),
    {RF_HEAD_MLM, "NezhaForPreTraining", false, false},
    {RF_HEAD_MLM, "NezhaModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_USUAL(max_position_embeddings, 512, 0),       /* [CLS] and [SEP] */
    RF_USUAL(max_relative_position, 64, 0),
    RF_USUAL(vocab_size, 21128, 0),
    RF_USUAL(classifier_dropout, 0.1, RF_KEY_NULL),
    {0},
};

const rf_family rf__family_nezha = {
    .config = {.name = "nezha",
               .model_type = "nezha",
               .title = "NEZHA",
               .key = keys,
               .class = classes,
               .position = "nezha",
               .one_width = true,
               .elsewhere = "transformers 5 has no class for model_type `nezha`; versions up to 4.57 have it."},
    .prefix = "nezha.",
    .embedding = rf__rows_bert_embedding,
    .layer = rf__rows_bert_layer,
    .head = rf__heads_bert,
    .spelling = rf__spelling_bert,
    .silent = rf__silent_bert,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
