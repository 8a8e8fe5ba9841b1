/* qwen3.c — Qwen3, of which Qwen3-Embedding and Qwen3-Reranker are made.     Yang et al. 2025; transformers' Qwen3...
 *
 * LLaMA's layers (llama.h), with norms of each head of queries and keys before rotation:
 *
 *     q = R(m) norm(x W_q),  k = R(n) norm(x W_k)              norms over the D columns of a head */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_HEAD_NORMS(ONES),
    RF_LLAMA_OUT,
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2),
    RF_LLAMA_FEED,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Qwen3"),
    {RF_HEAD_MLM, "Qwen3Model", true, false},
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
    RF_CONFIG_KEY(head_dim, WHOLE, 128, 2, 65536, 0),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 32768, 2, 16777216, 0),
    RF_CONFIG_KEY(rope_theta, NUMBER, 10000, 1, 1e18, RF_KEY_OPEN_LOW),
    RF_CONFIG_KEY(tie_word_embeddings, TRUTH, 0, 0, 1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("attention_bias", "false", "matrices have no biases"),
    RF_QWEN_KNOWN,
    {0},
};

const rf_family rf__family_qwen3 = {RF_LLAMA("qwen3", "Qwen3", rf__head_norms_footprint)};
