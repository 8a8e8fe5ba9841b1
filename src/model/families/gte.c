/* gte.c — GTE v1.5 and multilingual, and arctic-embed-m-v2.        Zhang et al. 2024; transformers' GteFor...
 *
 * Post-norm layers (bert_layer.c) with rotary positions in halves and a gated feed-forward (Shazeer 2020).  Token types
 * are optional.
 *
 *     h_0     = norm(word[id] + type[tt])
 *     h       = norm(h + drop(a W_o + b_o)),     a as in bert_layer.c, its three matrices in one, W_qkv [3C,C]
 *     [u | g] = h W_1,                           W_1 [2F,C], the gate in its second half
 *     h       = norm(h + drop((gelu(g) * u) W_2 + b_2))
 *     logits  = norm(gelu(h W_t + b_t)) word^T + b
 *     labels  = drop(tanh(h_<s> W_p + b_p)) W + b
 *
 * The folders that were published first have model_type "new", in which "ntk" has a different meaning:
 *
 *     theta_i = (b f)^(-2i/D) / f^(2/D)          of texts of any length
 *
 * This is "linear" with the factor f^(2/D) and the base b f, and is written in this form. */
#include <math.h>

#include "model/layers/bert_layer.h"
#include "store/store.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR_WHEN(rf__when_types, rf_bert_embedding, type, "embeddings.token_type_embeddings.weight", "TE", NORMAL,
                   true, RF_ROW_TABLE),
    RF_BERT_WORDS_NORM,
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attention.qkv_proj.weight", "QC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attention.qkv_proj.bias", "Q", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attention.o_proj.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("attention.o_proj.bias", "C", ZEROS, false, 0, out_bias),
    RF_BERT_ROW("attn_ln.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("attn_ln.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("mlp.up_gate_proj.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("mlp.down_proj.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("mlp.down_proj.bias", "C", ZEROS, false, 0, down_bias),
    RF_BERT_ROW("mlp_ln.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("mlp_ln.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("lm_head.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("lm_head.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("lm_head.norm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("lm_head.norm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("lm_head.decoder.weight", NORMAL),
    RF_HEAD_ROW("lm_head.decoder.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked_gelu},
    RF_BERT_POOLED_HEADS,
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES_WITH("Gte", RF_HEAD_POOLED, true),
    {RF_HEAD_MLM, "GteModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_USUAL(attention_probs_dropout_prob, 0, 0),
    RF_USUAL(max_position_embeddings, 8192, 0),
    RF_CONFIG_KEY(type_vocab_size, WHOLE, 1, 0, 65536, 0),
    RF_USUAL(pad_token_id, 1, 0),
    RF_USUAL(vocab_size, 250048, 0),
    RF_USUAL(rope_theta, 160000, 0),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("layer_norm_type", "\"layer_norm\"", "norms are LayerNorms"),
    RF_ONLY("logn_attention_scale", "false", "queries are not scaled by the logarithm of the length"),
    RF_ONLY("logn_attention_clip1", "false", "queries are not scaled by the logarithm of the length"),
    RF_ONLY("pack_qkv", "true", "queries, keys and values are one matrix"),
    RF_IDLE("unpad_inputs", "speed alone: there is no padding here"),
    RF_IDLE("use_memory_efficient_attention", "speed alone"),
    {0},
};

/* For model_type "new": its names and its ntk. */
static rf_status read_older(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *scaling = json_object_get(root, "rope_scaling");
    rf_rope_scaling *s = &c->rope_scaling;
    const double D = (double)c->hidden_size / (double)c->num_attention_heads;
    if (!strcmp(c->position_embedding_type, "rope"))
        snprintf(c->position_embedding_type, sizeof c->position_embedding_type, "rotary");
    if (s->rope_type == RF_ROPE_DEFAULT) return RF_OK;
    if (s->rope_type != RF_ROPE_NTK)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_scaling: expected null or ntk for model_type new, got %s", file,
                       rf_rope_type_name(s->rope_type));
    if (!json_is_null(json_object_get(scaling, "mixed_b")) && json_object_get(scaling, "mixed_b"))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_scaling: mixed_b: expected null, got %s", file,
                       rf__json_shown(json_object_get(scaling, "mixed_b")).text);
    c->rope_theta *= s->factor;
    s->rope_type = RF_ROPE_LINEAR;
    s->factor = pow(s->factor, 2 / D);
    return RF_OK;
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (type && !strcmp(type, "new")) return read_older(file, root, c, why);
    if (!strcmp(c->position_embedding_type, "rope") || !strcmp(c->position_embedding_type, "absolute"))
        snprintf(c->position_embedding_type, sizeof c->position_embedding_type, "rotary");  /* the class has no other */
    if (c->rope_scaling.rope_type != RF_ROPE_NTK) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_parameters: expected a rope_type that transformers has, got ntk",
                   file);
}

/* Keys of the older code, and its location, are not keys of the class that reads the written folder. */
static void write_config(const rf_config *c, json_t **more)
{
    static const char *const older[] = {"auto_map", "position_embedding_type"};
    (void)c;
    for (size_t i = 0; i < RF_COUNT(older); i++) json_object_del(*more, older[i]);
    for (const rf_known_key *k = known; k->name; k++) json_object_del(*more, k->name);
}

static const rf_spelling spelling[] = {
    {"lm_head.norm.weight", "lm_head.layer_norm.weight", false},
    {"lm_head.norm.bias", "lm_head.layer_norm.bias", false},
    {0},
};

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"lm_head.decoder.weight", "tie_word_embeddings"},
    {0},
};

const rf_family rf__family_gte = {
    .config = {.name = "gte",
               .model_type = "gte",
               .older = {"new", "New", "Gte"},
               .title = "GTE",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .coded = true,
               .position = "rotary",
               .one_width = true},
    .prefix = "gte.",
    .older_prefix = "new.",
    .gated = true,
    .gate = RF_GATE_SECOND,
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = spelling,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
};
