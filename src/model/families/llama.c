/* llama.c — LLaMA 1 to 3 and similar models (TinyLlama, SmolLM2).       Touvron et al. 2023; transformers' Llama...
 *
 * The equations are in llama.h. */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_AFTER_HEADS,
    RF_LLAMA_ATTENTION_BIAS,
    RF_LLAMA_MLP_BIAS,
    {{0}, 0},
};

static const rf_class_row classes[] = {
    RF_LLAMA_CLASSES("Llama"),
    {RF_HEAD_MLM, "LlamaModel", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LLAMA_KEYS,
    RF_LLAMA_CAUSAL,
    RF_USUAL(vocab_size, 32000, 0),
    RF_USUAL(hidden_size, 4096, 0),
    RF_USUAL(intermediate_size, 11008, 0),
    RF_USUAL(num_hidden_layers, 32, 0),
    RF_USUAL(num_attention_heads, 32, 0),
    RF_USUAL(num_key_value_heads, -1, 0),
    RF_USUAL(head_dim, -1, RF_KEY_NULL),
    RF_USUAL(max_position_embeddings, 2048, 0),
    RF_USUAL(rope_theta, 10000, 0),
    RF_USUAL(tie_word_embeddings, 0, 0),
    RF_LLAMA_BIAS_KEY(attention_bias),
    RF_LLAMA_BIAS_KEY(mlp_bias),
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("pretraining_tp", "how a product is divided"),
    RF_LLAMA_KNOWN,
    {0},
};

const rf_family rf__family_llama = {RF_LLAMA("llama", "LLaMA")};
