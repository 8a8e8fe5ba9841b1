/* each_position.h — every row of the registry of encodings, and the additional options of rotary positions. */
#ifndef EACH_POSITION_H
#define EACH_POSITION_H

#include "t.h"

#include "model/model.h"
#include "model/positions.h"
#include "roformer/model.h"

/* The smallest model with all parts, with additional keys of config.json. */
static inline rf_config small(const char *keys)
{
    char text[1024];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":97,\"embedding_size\":24,\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_"
             "heads\":4,\"intermediate_size\":64,\"initializer_range\":0.2,\"attention_probs_dropout_prob\":0,%s%s}",
             strstr(keys, ",\"max_pos") ? "" : "\"max_position_embeddings\":144,", keys);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s: %s", keys, why.text);
    return c;
}

/* Options of rotary positions besides the registry's rows; `moves`: scores change when all positions move. */
static const struct { const char *keys; bool moves; } variants[] = {
    {"\"rope_interleave\":false", false},
    {"\"partial_rotary_factor\":0.5", false},
    {"\"rotary_heads\":2", false},
    {"\"rotary_heads\":3,\"rotary_value\":true,\"rotary_value_inverse\":true", false},
    {"\"rotary_value\":true", true},
    {"\"rotary_value\":true,\"rotary_value_inverse\":true", false},
    {"\"use_logn_attn\":true,\"max_position_embeddings\":12", true},
    {"\"scale_embedding\":true", false},
    {"\"rope_theta_per_layer\":[10000,50]", false},
    {"\"position_grid_width\":7,\"rope_scaling\":{\"mrope_section\":[1,1,2]}", true},
    {"\"position_embedding_type\":\"rerope\",\"rerope_window\":5", false},
    {"\"position_embedding_type\":\"rerope\",\"rerope_window\":5,\"rerope_leak\":4", false},
    {"\"position_embedding_type\":\"deberta\",\"position_buckets\":6,\"share_att_key\":true", false},
    {"\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}", false},
    {"\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":2}", false},
    {"\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4},\"max_position_embeddings\":12", true},
    {"\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":36}", false},
    {"\"rope_scaling\":{\"rope_type\":\"longrope\",\"original_max_position_embeddings\":20,\"short_factor\":[1,1,2,3],"
     "\"long_factor\":[1,2,4,8]}", true},
    {"\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
     "\"original_max_position_embeddings\":64}", false},
};

/* Configuration i: first a row of the registry (in an encoder, or in a causal model if it requires one), then the
 * variants.  false: there is none. */
struct config { rf_config c; const char *name; const rf_position *is; bool moves; };

static inline bool config_at(size_t i, struct config *out)
{
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        if (i--) continue;
        char keys[128];
        snprintf(keys, sizeof keys, "\"position_embedding_type\":\"%s\"%s", (*p)->name,
                 (*p)->flags & RF_POSITION_CAUSAL ? ",\"is_decoder\":true" : "");
        *out = (struct config){small(keys), (*p)->name, *p, !((*p)->flags & RF_POSITION_SHIFT)};
        return true;
    }
    if (i >= RF_COUNT(variants)) return false;
    *out = (struct config){small(variants[i].keys), variants[i].keys, NULL, variants[i].moves};
    return !rf__position_find(&out->c, &out->is, NULL);
}

#define EACH(t) \
    struct config t; \
    for (size_t number = 0; config_at(number, &t); number++)

/* Text i is a fixed function of i alone. */
static inline void fill(int text, int32_t *id, int32_t n)
{
    rf_rng r;
    rf_rng_init(&r, 5, (uint64_t)text);
    for (int32_t j = 0; j < n; j++) id[j] = (int32_t)rf_rng_below(&r, 97);
}

#endif
