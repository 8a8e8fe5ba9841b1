/* eurobert.c — EuroBERT.                                  Boizard et al. 2025; transformers' EuroBertFor...
 *
 * LLaMA's layers (llama.h), in which each token sees all others.
 *
 *     logits  = norm(h_L) W                          W [V,C] of its own, or the word embeddings
 *     labels  = mean of gelu(h W_d + b_d) W + b      classifier_pooling "late"; "bos": of the first token, "mean":
 *                                                    of the mean of h */
#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_LLAMA_AFTER_HEADS,
    RF_LLAMA_ATTENTION_BIAS,
    RF_LLAMA_MLP_BIAS,
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_UNTIED("lm_head.weight", NORMAL),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_none},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_SUMMARY, rf__rows_dense_labels, rf__head_dense_gelu},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_dense_choice, rf__head_dense_gelu},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES_WITH("EuroBert", RF_HEAD_SEQUENCE, true),
    {RF_HEAD_MLM, "EuroBertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LLAMA_KEYS,
    RF_LACKS(is_decoder),
    RF_USUAL(vocab_size, 128256, 0),
    RF_USUAL(num_key_value_heads, -1, 0),
    RF_USUAL(head_dim, -1, RF_KEY_NULL),
    RF_USUAL(max_position_embeddings, 8192, 0),
    RF_USUAL(rope_theta, 10000, 0),
    RF_USUAL(tie_word_embeddings, 0, 0),
    RF_LLAMA_BIAS_KEY(attention_bias),
    RF_LLAMA_BIAS_KEY(mlp_bias),
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("pretraining_tp", "how a product is divided"),
    RF_IDLE("classifier_pooling", "read by `read_config` below"),
    RF_IDLE("clf_pooling", "the same, in the code that was published with the model"),
    RF_IDLE("layer_types", "read by rf__llama_read"),
    RF_ONE_POSITION,
    {0},
};

static const struct { const char *name; rf_summary is; } poolings[] = {
    {"bos", RF_SUMMARY_FIRST}, {"mean", RF_SUMMARY_MEAN}, {"late", RF_SUMMARY_LATE}};

static rf_status read_pooling(const char *file, const json_t *root, const char *key, rf_config *c, rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    const char *name = json_string_value(v);
    if (!v) return RF_OK;
    for (size_t i = 0; i < RF_COUNT(poolings) && name; i++)
        if (!strcmp(name, poolings[i].name)) return c->summary = poolings[i].is, RF_OK;
    return rf_fail(why, RF_EDATA, "%s: %s: expected bos, mean or late, got %s", file, key,
                   name ? rf__printable(name).text : rf__json_shown(v).text);
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    c->summary = RF_SUMMARY_LATE;
    if (!json_object_get(root, "rms_norm_eps")) c->layer_norm_eps = 1e-5;
    rf_status status = read_pooling(file, root, "clf_pooling", c, why);
    if (!status) status = read_pooling(file, root, "classifier_pooling", c, why);
    return status ? status : rf__llama_read(file, root, c, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    rf__llama_write(c, more);
    json_object_del(*more, "clf_pooling");
    for (size_t i = 0; i < RF_COUNT(poolings); i++)
        if (poolings[i].is == c->summary) rf__json_set(more, "classifier_pooling", json_string(poolings[i].name));
}

const rf_family rf__family_eurobert = {
    .config = {.name = "eurobert",
               .model_type = "eurobert",
               .title = "EuroBERT",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .coded = true,
               .position = "rotary",
               .usual_act = RF_ACT_SILU,
               .summarizes = true,
               .one_width = true},
    .norm = RF_NORM_RMS,
    RF_LLAMA_LAYER(heads),
};
