/* causal.h — small causal models of every encoding and variant, and their results for a whole text. */
#ifndef TESTS_MODEL_CAUSAL_H
#define TESTS_MODEL_CAUSAL_H

#include "model/positions.h"
#include "roformer/model.h"
#include "work.h"

enum { T = 100, V = 97 };

static inline rf_config small(const char *keys)
{
    char text[1024];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text, "{\"vocab_size\":97,\"embedding_size\":24,\"hidden_size\":32,\"num_hidden_layers\":2,"
             "\"num_attention_heads\":4,\"intermediate_size\":64,\"initializer_range\":0.2,\"is_decoder\":true,%s%s}",
             strstr(keys, "max_pos") ? "" : "\"max_position_embeddings\":144,", keys);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s: %s", keys, why.text);
    return c;
}

static const char *const variants[] = {
    "\"rope_interleave\":false",
    "\"partial_rotary_factor\":0.5",
    "\"rotary_heads\":2",
    "\"rotary_value\":true",
    "\"rotary_heads\":3,\"rotary_value\":true,\"rotary_value_inverse\":true",
    "\"rotary_value\":true,\"rotary_value_inverse\":true",
    "\"use_logn_attn\":true,\"max_position_embeddings\":12",
    "\"rope_theta_per_layer\":[10000,50]",
    "\"position_grid_width\":7,\"rope_scaling\":{\"mrope_section\":[1,1,2]}",
    "\"tie_word_embeddings\":false",
    "\"position_embedding_type\":\"convolution\",\"conv_kernel_size\":9",
    "\"position_embedding_type\":\"convolution\",\"conv_kernel_size\":1",
    "\"position_embedding_type\":\"deberta\",\"position_buckets\":6,\"share_att_key\":true",
    "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}",
    "\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":2}",
    ("\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
     "\"original_max_position_embeddings\":64}"),
    "\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":36}",
    "\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4,\"final_length\":400}",
    "\"attention_type\":\"linear\",\"feature_seed\":7",
    ("\"attention_type\":\"linear\",\"feature_seed\":7,\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4,"
     "\"final_length\":400}"),
    ("\"attention_type\":\"linear\",\"feature_map\":\"elu\",\"rotation_order\":\"before\",\"rope_scaling\":{"
     "\"rope_type\":\"longrope\",\"original_max_position_embeddings\":36,\"short_factor\":[1,1,1,1],"
     "\"long_factor\":[2,2,3,4],\"final_length\":100}"),
    ("\"attention_type\":\"linear\",\"feature_map\":\"relu\",\"feature_seed\":1,\"num_random_features\":20,"
     "\"rotation_order\":\"before\""),
    "\"attention_type\":[\"linear\",\"softmax\"],\"feature_map\":\"elu\"",
    "\"attention_type\":\"linear\",\"feature_map\":\"shen\",\"position_embedding_type\":\"absolute\"",
    "\"attention_type\":\"linear\",\"feature_map\":\"exp\",\"rotation_order\":\"none\"",
    ("\"attention_type\":\"linear\",\"feature_map\":\"squared_relu\",\"feature_epsilon\":0.01,"
     "\"position_embedding_type\":\"recurrent\""),
    "\"attention_type\":\"linear\",\"feature_seed\":7,\"position_embedding_type\":\"xpos\",\"xpos_scale_base\":8",
    ("\"attention_type\":[\"softmax\",\"linear\"],\"feature_map\":\"elu\",\"position_embedding_type\":\"xpos\","
     "\"rope_interleave\":false"),
};

/* Configuration i: a row of the registry, then the variants.  false: there is none. */
static inline bool config_at(size_t i, rf_config *c, const char **name)
{
    static char keys[128];
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        if (i--) continue;
        snprintf(keys, sizeof keys, "\"position_embedding_type\":\"%s\",\"pad_token_id\":%d", (*p)->name, V - 1);
        *c = small(keys);
        *name = keys;
        return true;
    }
    if (i >= RF_COUNT(variants)) return false;
    *c = small(variants[i]);
    *name = variants[i];
    return true;
}

/* Text i is a fixed function of i alone. It has no padding tokens: sinusoidal_fairseq counts those of earlier calls. */
static inline void fill(int text, int32_t *id, int32_t n)
{
    rf_rng r;
    rf_rng_init(&r, 5, (uint64_t)text);
    for (int32_t j = 0; j < n; j++) id[j] = (int32_t)rf_rng_below(&r, V - 1);
}

/* Logits of every token of one text, computed in one pass. */
static inline float *at_once(const struct work *w, const int32_t *id, int32_t n)
{
    int32_t row[T];
    const int32_t start[2] = {0, n};
    const float *v;
    rf_error why = {0};
    for (int32_t i = 0; i < n; i++) row[i] = i;
    const rf_batch b = {.N = n, .B = 1, .id = id, .start = start};
    if (rf_session_mlm_logits(w->session, &b, row, n, &v, &why)) fail_msg("%s", why.text);
    return memcpy(t_floats((int64_t)n * V), v, (size_t)n * V * sizeof *v);
}

static inline rf_sequence new_sequence(const struct work *w)
{
    rf_sequence q;
    rf_error why = {0};
    if (rf_sequence_new(w->session, NULL, &q, &why)) fail_msg("%s", why.text);
    return q;
}

static inline void drop(const struct work *w, rf_sequence q)
{
    rf_error why = {0};
    if (rf_sequence_drop(w->session, q, &why)) fail_msg("%s", why.text);
}

#endif
