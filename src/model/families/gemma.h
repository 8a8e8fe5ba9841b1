/* gemma.h — the rows that Gemma 3 and EmbeddingGemma share.          Gemma Team 2025; transformers' Gemma3TextModel
 *
 * LLaMA's layers (llama.h) with norms that are scaled by 1 + w, also of each head of queries and keys, and of what a
 * sub-layer adds:
 *
 *     h_0  = sqrt(C) word[id]
 *     h    = h + norm(a W_o),   a as in llama.h, with scores over sqrt(query_pre_attn_scalar)
 *     h    = h + norm((gelu(x W_g) * (x W_u)) W_d),   x = norm(h)                 GELU by tanh
 *
 * Every sliding_window_pattern-th layer sees all tokens. The others see only near tokens and have the base
 * rope_local_base_freq. */
#ifndef RF_MODEL_FAMILIES_GEMMA_H
#define RF_MODEL_FAMILIES_GEMMA_H

#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ZEROS), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ZEROS),
    RF_LLAMA_HEAD_NORMS(ZEROS),
    RF_LLAMA_OUT,
    RF_LLAMA_ATTENTION_BIAS,
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ZEROS, false, 0, after),
    RF_BERT_ROW("pre_feedforward_layernorm.weight", "C", ZEROS, false, 0, norm2),
    RF_LLAMA_FEED,
    RF_BERT_ROW("post_feedforward_layernorm.weight", "C", ZEROS, false, 0, after2),
    {{0}, 0},
};

static const rf_config_key keys[] = {
    RF_USUAL(pad_token_id, 0, 0),
    RF_LLAMA_KEYS,
    RF_GEMMA_DECODER,
    RF_USUAL(vocab_size, 262208, 0),
    RF_USUAL(hidden_size, 2304, 0),
    RF_USUAL(intermediate_size, 9216, 0),
    RF_USUAL(num_hidden_layers, 26, 0),
    RF_USUAL(num_attention_heads, 8, 0),
    RF_USUAL(num_key_value_heads, 4, 0),
    RF_USUAL(head_dim, 256, 0),
    RF_CONFIG_KEY(query_pre_attn_scalar, WHOLE, 256, 1, 1000000000, 0),
    RF_USUAL(max_position_embeddings, 131072, 0),
    RF_CONFIG_KEY(tie_word_embeddings, TRUTH, 1, RF_GEMMA_TIED, 1, 0),
    RF_USUAL(rope_theta, 1000000, 0),
    RF_USUAL_AS("rope_local_base_freq", local_rope_theta, 10000, 0),
    RF_USUAL_AS("sliding_window", local_attention, 4096, 0),
    RF_CONFIG_KEY_AS("sliding_window_pattern", global_attn_every_n_layers, WHOLE, 6, 1, 1025, 0),
    RF_FIXED(global_attn_last, TRUTH, 1),
    RF_FIXED(scale_embedding, TRUTH, 1),
    RF_LLAMA_BIAS_KEY(attention_bias),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("final_logit_softcapping", "null", "logits have no bound"),
    RF_ONLY("attn_logit_softcapping", "null", "scores have no bound"),
    RF_IDLE("_sliding_window_pattern", "of transformers 4: layer_types says it"),
    RF_IDLE("layer_types", "read by `read_config` below"),
    RF_IDLE("use_bidirectional_attention", "it names the family"),
    RF_ONE_POSITION,
    {0},
};

/* layer_types: the last of every n layers sees all tokens. If a file also has sliding_window_pattern, the two must
 * agree. */
static rf_status read_types(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *list = json_object_get(root, "layer_types");
    const bool given = json_object_get(root, "sliding_window_pattern") != NULL;
    int64_t every = 0;
    if (!list || json_is_null(list)) return RF_OK;
    rf_status status = rf__layer_types_count(file, list, c, why);
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        bool full;
        status = rf__layer_type(file, list, i, &full, why);
        if (!status && full && !every) every = (int64_t)i + 1;
        if (!status && full != (every && ((int64_t)i + 1) % every == 0))
            status = rf_fail(why, RF_EUNSUPPORTED, "%s: layer_types[%zu]: expected %s, as the last of every %lld "
                             "layers sees all tokens, got %s", file, i, full ? "sliding_attention" : "full_attention",
                             (long long)every, full ? "full_attention" : "sliding_attention");
    }
    if (status) return status;
    const int64_t n = c->num_hidden_layers, own = c->global_attn_every_n_layers;
    if (given && own != every && (every || own <= n))
        return rf_fail(why, RF_EDATA, "%s: layer_types: expected full_attention as sliding_window_pattern, %lld, says, "
                       "got another pattern; remove one of the two", file, (long long)own);
    c->global_attn_every_n_layers = every ? every : rf__max64(own, n + 1);
    return RF_OK;
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    return read_types(file, root, c, why);
}

/* transformers reads both kinds of keys; the list has the length of the file's number of layers. */
static void write_config(const rf_config *c, json_t **more)
{
    static const char *const newer[] = {"layer_types", "rope_parameters", "_sliding_window_pattern"};
    (void)c;
    for (size_t i = 0; i < RF_COUNT(newer); i++) json_object_del(*more, newer[i]);
}

#define RF_GEMMA(name_, title_)                                                                                        \
    .config = {.name = name_, .model_type = "gemma3_text", .title = title_, .sign = sign, .key = keys, .known = known, \
               .read = read_config, .write = write_config, .class = classes, .position = "rotary",                     \
               .by_kind = true, .flat = RF_ROPE_OF_GLOBAL,                                                             \
               .act = "hidden_activation", .usual_act = RF_ACT_GELU_TANH, .one_width = true},                          \
    .norm = RF_NORM_RMS_ONE, RF_LLAMA_LAYER(rf__llama_heads)

#endif
