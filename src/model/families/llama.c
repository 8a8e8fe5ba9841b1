/* llama.c — LLaMA 1 to 3 and similar models (TinyLlama, SmolLM2).       Touvron et al. 2023; transformers' Llama...
 *
 * The equations are in llama.h. */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_OUT,
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2),
    RF_LLAMA_FEED,
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
    RF_CONFIG_KEY(vocab_size, WHOLE, 32000, 1, 16777216, 0),
    RF_CONFIG_KEY(hidden_size, WHOLE, 4096, 2, 65536, 0),
    RF_CONFIG_KEY(intermediate_size, WHOLE, 11008, 1, 1048576, 0),
    RF_CONFIG_KEY(num_hidden_layers, WHOLE, 32, 1, 1024, 0),
    RF_CONFIG_KEY(num_attention_heads, WHOLE, 32, 1, 4096, 0),
    RF_CONFIG_KEY(num_key_value_heads, WHOLE, -1, 1, 4096, RF_KEY_NULL),
    RF_CONFIG_KEY(head_dim, WHOLE, -1, 2, 65536, RF_KEY_NULL),
    RF_CONFIG_KEY(max_position_embeddings, WHOLE, 2048, 2, 16777216, 0),
    RF_CONFIG_KEY(rope_theta, NUMBER, 10000, 1, 1e18, RF_KEY_OPEN_LOW),
    RF_CONFIG_KEY(tie_word_embeddings, TRUTH, 0, 0, 1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("attention_bias", "false", "matrices have no biases"),
    RF_ONLY("mlp_bias", "false", "matrices have no biases"),
    RF_IDLE("pretraining_tp", "how a product is divided"),
    RF_LLAMA_KNOWN,
    {0},
};

const rf_family rf__family_llama = {RF_LLAMA("llama", "LLaMA", rf__llama_footprint)};
