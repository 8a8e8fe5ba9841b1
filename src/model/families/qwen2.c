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
    RF_CONFIG_KEY(vocab_size, WHOLE, 151936, 1, 16777216, 0),
    RF_CONFIG_KEY(hidden_size, WHOLE, 4096, 2, 65536, 0),
    RF_CONFIG_KEY(intermediate_size, WHOLE, 22016, 1, 1048576, 0),
    RF_CONFIG_KEY(num_hidden_layers, WHOLE, 32, 1, 1024, 0),
    RF_CONFIG_KEY(num_attention_heads, WHOLE, 32, 1, 4096, 0),
    RF_CONFIG_KEY(num_key_value_heads, WHOLE, 32, 1, 4096, RF_KEY_NULL),
    RF_CONFIG_KEY(head_dim, WHOLE, -1, 2, 65536, RF_KEY_NULL | RF_KEY_OURS),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 32768, 2, 16777216, 0),
    RF_CONFIG_KEY(rope_theta, NUMBER, 10000, 1, 1e18, RF_KEY_OPEN_LOW),
    RF_CONFIG_KEY(tie_word_embeddings, TRUTH, 0, 0, 1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_QWEN_KNOWN,
    {0},
};

const rf_family rf__family_qwen2 = {RF_LLAMA("qwen2", "Qwen2", rf__llama_footprint)};
