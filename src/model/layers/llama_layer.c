/* llama_layer.c — heads, names and keys of families of LLaMA's kind; see families/llama.h. */
#include "model/layers/llama_layer.h"

#include "model/layers/bert_layer.h"
#include "store/store.h"

static const rf_family_row words[] = {
    RF_HEAD_UNTIED("lm_head.weight", NORMAL),
    {{0}, 0},
};
const rf_family_row rf__rows_score[] = {RF_HEAD_ROW("score.weight", "KC", NORMAL, true, 0, out), {{0}, 0}};
static const rf_family_row tokens[] = {
    RF_HEAD_ROW("score.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("score.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

const rf_head_row rf__llama_heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, words, rf__head_none},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_LAST, rf__rows_score, rf__head_plain},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, tokens, rf__head_token},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

const rf_silent rf__llama_silent[] = {
    {"lm_head.weight", "tie_word_embeddings"},
    {"layers.*.self_attn.rotary_emb.inv_freq", NULL},           /* transformers computes them                         */
    {"rotary_emb.inv_freq", NULL},
    {0},
};


rf_status rf__layer_types_count(const char *file, const json_t *list, const rf_config *c, rf_error *why)
{
    const size_t n = json_array_size(list);
    if (json_is_array(list) && (int64_t)n == c->num_hidden_layers) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: layer_types: expected num_hidden_layers, %lld, entries, got %zu", file,
                   (long long)c->num_hidden_layers, n);
}

rf_status rf__layer_type(const char *file, const json_t *list, size_t i, bool *full, rf_error *why)
{
    const char *type = json_string_value(json_array_get(list, i));
    *full = type && !strcmp(type, "full_attention");
    if (*full || (type && !strcmp(type, "sliding_attention"))) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: layer_types[%zu]: expected full_attention or sliding_attention, got %s",
                   file, i, type ? rf__printable(type).text : rf__json_shown(json_array_get(list, i)).text);
}

rf_status rf__llama_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *list = json_object_get(root, "layer_types");
    if (!list || json_is_null(list)) return RF_OK;
    rf_status status = rf__layer_types_count(file, list, c, why);
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        bool full;
        const bool near = c->local_attention > 0;
        status = rf__layer_type(file, list, i, &full, why);
        if (!status && full == near)
            status = rf_fail(why, RF_EUNSUPPORTED, "%s: layer_types[%zu]: expected %s, got %s; layers of two kinds are "
                             "not supported in this family", file, i, near ? "sliding_attention" : "full_attention",
                             full ? "full_attention" : "sliding_attention");
    }
    return status;
}

rf_status rf__qwen_read(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    enum { WINDOW = 4096, FIRST = 28 };                                        /* transformers' defaults             */
    const json_t *use = json_object_get(root, "use_sliding_window"), *list = json_object_get(root, "layer_types"),
                 *first = json_object_get(root, "max_window_layers");
    json_int_t from = FIRST;
    bool full = false;
    if (use && !json_is_boolean(use)) return rf__wrong_type(file, "use_sliding_window", use, "true or false", why);
    if (first && !json_is_null(first) && !rf__json_whole(first, &from))
        return rf__wrong_type(file, "max_window_layers", first, "an integer", why);
    if (json_is_true(use) && !json_object_get(root, "sliding_window")) c->local_attention = WINDOW;
    if (!json_is_true(use)) c->local_attention = -1;
    if (c->local_attention > 0 && json_is_array(list)) {
        const rf_status status = rf__layer_type(file, list, 0, &full, why);
        if (status) return status;
    } else if (c->local_attention > 0) {
        full = from >= c->num_hidden_layers;
        if (from > 0 && !full)
            return rf_fail(why, RF_EUNSUPPORTED, "%s: max_window_layers: expected 0, or num_hidden_layers, %lld, or "
                           "more, got %lld; layers of two kinds are not supported in this family", file,
                           (long long)c->num_hidden_layers, (long long)from);
    }
    if (full) c->local_attention = -1;
    return rf__llama_read(file, root, c, why);
}

void rf__llama_write(const rf_config *c, json_t **more)
{
    (void)c;
    json_object_del(*more, "layer_types");
    json_object_del(*more, "rope_parameters");
}

void rf__qwen_write(const rf_config *c, json_t **more)
{
    rf__llama_write(c, more);
    if (c->local_attention <= 0) return;
    rf__json_set(more, "use_sliding_window", json_true());
    rf__json_set(more, "max_window_layers", json_integer(0));
}
