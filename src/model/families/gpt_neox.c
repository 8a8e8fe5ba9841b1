/* gpt_neox.c — GPT-NeoX-20B, Pythia, Dolly.                          Black et al. 2022; transformers' GPTNeoX...
 *
 * Pre-norm layers (gpt.h) with rotary positions in halves of the first rotary_pct of a head's columns. Files store
 * queries, keys and values head by head.
 *
 *     h_0     = word[id]
 *     a       = softmax(R(m) q (R(n) k)^T / sqrt D) v W_o + b_o,   q, k, v = norm_1(h) W_qkv + b
 *     f(x)    = act(norm_2(x) W_1 + b_1) W_2 + b_2
 *     h       = h + a + f(h)                       use_parallel_residual;  or  h + a + f(h + a)
 *     logits  = norm(h_L) W^T, or with the word embeddings */
#include "model/families/gpt.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embed_in.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "final_layer_norm.weight", "C", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, last_bias, "final_layer_norm.bias", "C", ZEROS, false, 0),
    {{0}, 0},
};

#define BIAS(name, shape, flags, member)                                                                               \
    RF_TENSOR_WHEN(rf__when_attention_bias, rf_bert_layer, member, name, shape, ZEROS, false, flags)
static const rf_family_row layer[] = {
    RF_BERT_ROW("input_layernorm.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("input_layernorm.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("attention.query_key_value.weight", "QC", NORMAL, true, RF_ROW_BY_HEAD, qkv),
    BIAS("attention.query_key_value.bias", "Q", RF_ROW_BY_HEAD, qkv_bias),
    RF_BERT_ROW("attention.dense.weight", "CC", NORMAL, true, 0, out),
    BIAS("attention.dense.bias", "C", 0, out_bias),
    RF_BERT_ROW("post_attention_layernorm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("post_attention_layernorm.bias", "C", ZEROS, false, 0, norm2_bias),
    RF_BERT_ROW("mlp.dense_h_to_4h.weight", "FC", NORMAL, true, 0, up),
    RF_BERT_ROW("mlp.dense_h_to_4h.bias", "F", ZEROS, false, 0, up_bias),
    RF_BERT_ROW("mlp.dense_4h_to_h.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("mlp.dense_4h_to_h.bias", "C", ZEROS, false, 0, down_bias),
    {{0}, 0},
};
#undef BIAS

static const rf_family_row words[] = {RF_HEAD_UNTIED("embed_out.weight", NORMAL), {{0}, 0}};
static const rf_head_row heads[] = {RF_GPT_HEADS(words), {0}};
static const rf_class_row classes[] = {RF_GPT_CLASSES("GPTNeoX", "GPTNeoXForCausalLM"), {0}};

static const rf_config_key keys[] = {
    RF_GPT_KEYS,
    RF_LACKS(rope_theta),
    RF_USUAL(vocab_size, 50432, 0),
    RF_USUAL(hidden_size, 6144, 0),
    RF_USUAL(num_hidden_layers, 44, 0),
    RF_USUAL(num_attention_heads, 64, 0),
    RF_USUAL(intermediate_size, 24576, 0),
    RF_USUAL(max_position_embeddings, 2048, 0),
    RF_USUAL(layer_norm_eps, 1e-5, 0),
    RF_USUAL_AS("hidden_dropout", hidden_dropout_prob, 0, 0),
    RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0, 0),
    RF_USUAL(classifier_dropout, 0.1, 0),
    RF_USUAL_AS("rotary_emb_base", rope_theta, 10000, 0),
    RF_CONFIG_KEY_AS("rotary_pct", partial_rotary_factor, NUMBER, 0.25, 0, 1, RF_KEY_OPEN_LOW),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_USUAL(tie_word_embeddings, 0, 0),
    RF_CONFIG_KEY(attention_bias, TRUTH, 1, 0, 1, 0),
    RF_CONFIG_KEY(use_parallel_residual, TRUTH, 1, 0, 1, 0),
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("rope_theta", "read by `read_config` below"),
    RF_IDLE("partial_rotary_factor", "the same"),
    RF_IDLE("head_dim", "the same"),
    RF_GPT_KNOWN,
    {0},
};

/* transformers 5 reads rotary_pct and rotary_emb_base, or rope_parameters, and not the usual names next to them, which
 * transformers 4 writes and uses. */
static rf_status check_usual_name(const char *file, const json_t *root, const char *key, const char *own, double is,
                                  rf_error *why)
{
    const json_t *v = json_object_get(root, key);
    if (!v || json_is_null(v)) return RF_OK;
    if (!json_is_number(v)) return rf__wrong_type(file, key, v, "a number", why);
    if (json_number_value(v) >= is && json_number_value(v) <= is) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected %.15g, as %s says, got %.15g, which not all versions of "
                   "transformers use; remove one of the two", file, key, is, own, json_number_value(v));
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    rf_status status = check_usual_name(file, root, "rope_theta", "rotary_emb_base", c->rope_theta, why);
    if (!status)
        status = check_usual_name(file, root, "partial_rotary_factor", "rotary_pct", c->partial_rotary_factor, why);
    return status ? status : rf__usual_head_width(file, root, "head_dim", c, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    static const char *const others[] = {"rope_theta", "partial_rotary_factor", "head_dim", "rope_parameters"};
    (void)c;
    for (size_t i = 0; i < RF_COUNT(others); i++) json_object_del(*more, others[i]);
}

static const rf_spelling spelling[] = {{"embed_out.weight", "lm_head.weight", false}, {0}};

static const rf_silent silent[] = {
    {"embed_out.weight", "tie_word_embeddings"},
    {"lm_head.weight", "tie_word_embeddings"},
    {"layers.*.attention.bias", NULL},                          /* masks of older versions of transformers            */
    {"layers.*.attention.masked_bias", NULL},
    {"layers.*.attention.rotary_emb.inv_freq", NULL},           /* transformers computes them                         */
    {"rotary_emb.inv_freq", NULL},
    {0},
};

const rf_family rf__family_gpt_neox = {
    .config = {.name = "gpt_neox",
               .model_type = "gpt_neox",
               .title = "GPT-NeoX",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "rotary",
               .one_width = true},
    .prefix = "gpt_neox.",
    .layers = "layers.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = spelling,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    .finish = rf__bert_finish,
    RF_BERT_LAYER,
};
