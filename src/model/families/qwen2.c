/* qwen2.c — Qwen2 and Qwen2.5.                                             Yang et al. 2024; transformers' Qwen2...
 *
 * LLaMA's layers (llama.h) with biases of queries, keys and values. */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_QKV_BIAS(NULL),
    RF_LLAMA_AFTER_HEADS,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Qwen2"),
    {RF_HEAD_MLM, "Qwen2Model", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_QWEN_KEYS,
    RF_USUAL(head_dim, -1, RF_KEY_NULL | RF_KEY_OURS),
    {0},
};

static const rf_known_key known[] = {
    RF_QWEN_KNOWN,
    {0},
};

const rf_family rf__family_qwen2 = {
    RF_LLAMA_READ_BY("qwen2", "Qwen2", rf__qwen_read, rf__qwen_write)};
