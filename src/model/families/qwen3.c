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
    RF_LLAMA_AFTER_HEADS,
    RF_LLAMA_ATTENTION_BIAS,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Qwen3"),
    {RF_HEAD_MLM, "Qwen3Model", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_QWEN_KEYS,
    RF_USUAL(head_dim, 128, 0),
    RF_LLAMA_BIAS_KEY(attention_bias),
    {0},
};

static const rf_known_key known[] = {
    RF_QWEN_KNOWN,
    {0},
};

const rf_family rf__family_qwen3 = {
    RF_LLAMA_READ_BY("qwen3", "Qwen3", rf__qwen_read, rf__qwen_write)};
