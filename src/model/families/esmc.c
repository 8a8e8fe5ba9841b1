/* esmc.c — ESM Cambrian, a model of proteins.                 EvolutionaryScale 2024; transformers' EsmcFor...
 *
 * Pre-norm layers with rotary positions in halves and a gated feed-forward without biases; norms with means, over the
 * whole width of the queries and of the keys, and each sub-layer's result divided by s = sqrt(L / 36).
 *
 *     h_0     = word[id]
 *     q, k    = R(m) norm(x W_q), R(n) norm(x W_k),            x = norm(h);  those of q, k and the last have no bias
 *     h       = h + attention(q, k, x W_v) W_o / s
 *     h       = h + ((silu(x W_g) * (x W_u)) W_d) / s,         x = norm(h)
 *     logits  = norm(gelu(norm(h_L) W_t + b_t)) W + b                     W [V,C] of its own
 *     labels  = drop(tanh(drop(norm(h_L)_<cls>) W_d + b_d)) W_o + b_o;  of tokens drop(norm(h_L)) W + b
 *
 * sequence_id, which separates the chains of a protein in attention, is an argument of the class that its tokenizer
 * does not give; all tokens of a text see each other here, too. */
#include <math.h>

#include "model/families/llama.h"

static const rf_family_row embedding[] = {RF_LLAMA_EMBEDDING(ONES), {{0}, 0}};
static const rf_family_row layer[] = {
    RF_LLAMA_QKV(ONES),
    RF_BERT_ROW("input_layernorm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("self_attn.q_norm.weight", "C", ONES, false, 0, query_norm),
    RF_BERT_ROW("self_attn.k_norm.weight", "C", ONES, false, 0, key_norm),
    RF_LLAMA_OUT,
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("post_attention_layernorm.bias", "C", ZEROS, false, 0, norm2_bias),
    RF_LLAMA_FEED,
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("lm_head.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("lm_head.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("lm_head.layer_norm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("lm_head.layer_norm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_ROW("lm_head.decoder.weight", "VE", NORMAL, true, 0, out),
    RF_HEAD_ROW("lm_head.decoder.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
static const rf_family_row tokens[] = {
    RF_HEAD_ROW("score.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("score.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_FIRST, rf__rows_dense, rf__head_dense_tanh},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, tokens, rf__head_token},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, rf__rows_span, rf__head_plain},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_FIRST, rf__rows_choice, rf__head_plain},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES_WITH("Esmc", RF_HEAD_SEQUENCE, true),
    {RF_HEAD_MLM, "EsmcModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(type_vocab_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_LACKS(attention_probs_dropout_prob),
    RF_FIXED(layer_norm_eps, NUMBER, 1e-5),
    RF_USUAL(hidden_dropout_prob, 0, RF_KEY_OURS),
    RF_FIXED(normalize_before, TRUTH, 1),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_LACKS(tie_word_embeddings),
    RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0, 0),
    RF_USUAL(classifier_dropout, 0.1, RF_KEY_NULL),
    RF_USUAL(pad_token_id, 1, 0),
    RF_USUAL(mask_token_id, 32, 0),
    RF_USUAL(vocab_size, 64, 0),
    RF_USUAL(hidden_size, 2560, 0),
    RF_USUAL(intermediate_size, 6912, 0),
    RF_USUAL(num_hidden_layers, 80, 0),
    RF_USUAL(num_attention_heads, 40, 0),
    RF_USUAL(max_position_embeddings, 2048, 0),
    RF_USUAL(rope_theta, 10000, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("attention_bias", "false", "matrices have no biases"),
    RF_ONLY("mlp_bias", "false", "matrices have no biases"),
    RF_ONE_POSITION,
    RF_IDLE("head_dim", "read by `read_config` below"),
    RF_IDLE("num_key_value_heads", "the same"),
    RF_IDLE("tie_word_embeddings", "the class has two matrices, also if it is true"),
    {0},
};

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const rf_status status = rf__silu_alone(file, c, why);
    if (status) return status;
    const json_t *shared = json_object_get(root, "num_key_value_heads");
    if (shared && !json_is_null(shared) && json_integer_value(shared) != c->num_attention_heads)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: num_key_value_heads: expected num_attention_heads, %lld, got %s",
                       file, (long long)c->num_attention_heads, rf__json_shown(shared).text);
    return rf__usual_head_width(file, root, "head_dim", c, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    json_object_del(*more, "rope_parameters");
    if (json_object_get(*more, "head_dim"))
        rf__json_set(more, "head_dim", json_integer(c->hidden_size / c->num_attention_heads));
    if (json_object_get(*more, "num_key_value_heads"))
        rf__json_set(more, "num_key_value_heads", json_integer(c->num_attention_heads));
}

static double divisor(const rf_config *c) { return sqrt((double)c->num_hidden_layers / 36); }

const rf_family rf__family_esmc = {
    .config = {.name = "esmc",
               .model_type = "esmc",
               .title = "ESMC",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "rotary",
               .usual_act = RF_ACT_SILU,
               .one_width = true},
    .norm = RF_NORM_LAYER,
    .divisor = divisor,
    .layers = "layers.",
    .prefix = "esmc.",
    .gated = true,
    .gate = RF_GATE_FIRST,
    .head = heads,
    .silent = rf__llama_silent,
    .finish = rf__bert_finish,
    .embedding = embedding,
    .layer = layer,
    RF_BERT_LAYER,
};
