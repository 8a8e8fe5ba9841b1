/* qwen2.c — Qwen2 and Qwen2.5.                                             Yang et al. 2024; transformers' Qwen2...
 *
 * LLaMA's layers (llama.h) with biases of queries, keys and values. */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_QKV_BIAS,
    RF_LLAMA_OUT,
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2),
    RF_LLAMA_FEED,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Qwen2"),
    {RF_HEAD_MLM, "Qwen2Model", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LLAMA_KEYS,
    RF_LLAMA_CAUSAL,
    RF_USUAL(vocab_size, 151936, 0),
    RF_USUAL(hidden_size, 4096, 0),
    RF_USUAL(intermediate_size, 22016, 0),
    RF_USUAL(num_hidden_layers, 32, 0),
    RF_USUAL(num_attention_heads, 32, 0),
    RF_USUAL(num_key_value_heads, 32, 0),
    RF_USUAL(head_dim, -1, RF_KEY_NULL | RF_KEY_OURS),
    RF_USUAL(max_position_embeddings, 32768, 0),
    RF_USUAL(rope_theta, 10000, 0),
    RF_USUAL(tie_word_embeddings, 0, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_QWEN_KNOWN,
    {0},
};

const rf_family rf__family_qwen2 = {RF_LLAMA("qwen2", "Qwen2", rf__llama_footprint)};
