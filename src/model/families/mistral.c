/* mistral.c — Mistral 7B and similar models (Zephyr).                     Jiang et al. 2023; transformers' Mistral...
 *
 * LLaMA's layers (llama.h). With sliding_window W, each token sees W tokens, including itself, in every layer. */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_AFTER_HEADS,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Mistral"),
    {RF_HEAD_MLM, "MistralModel", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LLAMA_KEYS,
    RF_LLAMA_CAUSAL,
    RF_USUAL(vocab_size, 32000, 0),
    RF_USUAL(hidden_size, 4096, 0),
    RF_USUAL(intermediate_size, 14336, 0),
    RF_USUAL(num_hidden_layers, 32, 0),
    RF_USUAL(num_attention_heads, 32, 0),
    RF_USUAL(num_key_value_heads, 8, 0),
    RF_USUAL(head_dim, -1, RF_KEY_NULL),
    RF_USUAL(max_position_embeddings, 131072, 0),
    RF_USUAL(rope_theta, 10000, 0),
    RF_USUAL(tie_word_embeddings, 0, 0),
    RF_USUAL_AS("sliding_window", local_attention, 4096, RF_KEY_NULL),
    {0},
};

static const rf_known_key known[] = {
    RF_LLAMA_KNOWN,
    {0},
};

const rf_family rf__family_mistral = {RF_LLAMA("mistral", "Mistral")};
