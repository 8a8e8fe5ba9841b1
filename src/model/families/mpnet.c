/* mpnet.c — MPNet.                                                 Song et al. 2020; transformers' MPNetFor...
 *
 * BERT's layers (bert_layer.c) without token types. Learned positions begin at 2, as in XLM-RoBERTa, and a learned
 * number for each of T5's buckets of offsets is added to the scores of every layer (positions/mpnet.c). The class of
 * transformers always uses padding token 1 and 32 buckets up to a distance of 128, regardless of config.json: other
 * values are refused.
 *
 *     logits  = norm(gelu(h W_t + b_t)) word^T + b
 *     labels  = drop(tanh(drop(h_<s>) W_d + b_d)) W_o + b_o                  MPNetClassificationHead */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_BERT_WORDS_NORM,
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention.attn.q.weight", "CC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attention.attn.k.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.attn.v.weight", "CC", NORMAL, true, RF_ROW_JOINED, qkv),
    RF_BERT_ROW("attention.attn.q.bias", "C", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attention.attn.k.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_BERT_ROW("attention.attn.v.bias", "C", ZEROS, false, RF_ROW_JOINED, qkv_bias),
    RF_BERT_ROW("attention.attn.o.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("attention.attn.o.bias", "C", ZEROS, false, 0, out_bias),
    RF_BERT_ROW("attention.LayerNorm.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("attention.LayerNorm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_FEED_FORWARD,
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_lm_head, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense_tanh},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_pooled_choice, rf__head_pooled},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("MPNet", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "MPNetModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_LACKS(type_vocab_size),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 512, 4, 16777216, RF_KEY_AFTER_PAD),        /* <s> and </s> */
    RF_CONFIG_KEY(pad_token_id, WHOLE, 1, 1, 1, 0),
    RF_CONFIG_KEY(relative_attention_num_buckets, WHOLE, 32, 32, 32, 0),
    RF_LACKS(relative_attention_max_distance),
    RF_USUAL(vocab_size, 30527, 0),
    {0},
};

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"lm_head.decoder.weight", "tie_word_embeddings"},
    {"lm_head.decoder.bias", NULL},
    {0},
};

static const rf_known_key known[] = {RF_ONE_POSITION, {0}};

const rf_family rf__family_mpnet = {
    .config = {.name = "mpnet",
               .model_type = "mpnet",
               .title = "MPNet",
               .key = keys,
               .known = known,
               .class = classes,
               .position = "mpnet",
               .one_width = true},
    .prefix = "mpnet.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = rf__spelling_lm_head,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
