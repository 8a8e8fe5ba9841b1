/* gpt2.c — GPT-2, DistilGPT2, DialoGPT.                              Radford et al. 2019; transformers' GPT2...
 *
 * Pre-norm layers (gpt.h) with learned positions, whose matrices files store as [in, out].
 *
 *     h_0     = word[id] + position[m]
 *     a       = softmax(s q k^T) v,   q, k, v = norm(h) W_qkv + b              s = 1 / sqrt D
 *     h       = h + a W_o + b_o
 *     h       = h + act(norm(h) W_1 + b_1) W_2 + b_2
 *     logits  = norm(h_L) word^T
 *
 * scale_attn_weights false: s = 1; scale_attn_by_inverse_layer_idx: s is divided by l + 1 in layer l = 0, 1, ... */
#include "model/families/gpt.h"

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "wte.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, last, "ln_f.weight", "C", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, last_bias, "ln_f.bias", "C", ZEROS, false, 0),
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_BERT_ROW("ln_1.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("ln_1.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("attn.c_attn.weight", "QC", NORMAL, true, RF_ROW_TRANSPOSED, qkv),
    RF_BERT_ROW("attn.c_attn.bias", "Q", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attn.c_proj.weight", "CC", NORMAL, true, RF_ROW_TRANSPOSED, out),
    RF_BERT_ROW("attn.c_proj.bias", "C", ZEROS, false, 0, out_bias),
    RF_BERT_ROW("ln_2.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("ln_2.bias", "C", ZEROS, false, 0, norm2_bias),
    RF_BERT_ROW("mlp.c_fc.weight", "FC", NORMAL, true, RF_ROW_TRANSPOSED, up),
    RF_BERT_ROW("mlp.c_fc.bias", "F", ZEROS, false, 0, up_bias),
    RF_BERT_ROW("mlp.c_proj.weight", "CF", NORMAL, true, RF_ROW_TRANSPOSED, down),
    RF_BERT_ROW("mlp.c_proj.bias", "C", ZEROS, false, 0, down_bias),
    {{0}, 0},
};

static const rf_family_row words[] = {RF_HEAD_UNTIED("lm_head.weight", NORMAL), {{0}, 0}};
static const rf_head_row heads[] = {RF_GPT_HEADS(words), {0}};

static const rf_class_row classes[] = {
    RF_GPT_CLASSES("GPT2", "GPT2LMHeadModel"),
    {RF_HEAD_MLM, "GPT2DoubleHeadsModel", true, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_GPT_KEYS,
    RF_LACKS(hidden_size),
    RF_LACKS(intermediate_size),
    RF_LACKS(layer_norm_eps),
    RF_LACKS(max_position_embeddings),
    RF_LACKS(num_attention_heads),
    RF_LACKS(num_hidden_layers),
    RF_LACKS(rope_theta),
    RF_USUAL(vocab_size, 50257, 0),
    RF_USUAL_AS("n_positions", max_position_embeddings, 1024, 0),
    RF_USUAL_AS("n_embd", hidden_size, 768, 0),
    RF_USUAL_AS("n_layer", num_hidden_layers, 12, 0),
    RF_USUAL_AS("n_head", num_attention_heads, 12, 0),
    RF_USUAL_AS("n_inner", intermediate_size, 3072, RF_KEY_NULL),
    RF_USUAL_AS("resid_pdrop", hidden_dropout_prob, 0.1, 0),
    RF_USUAL_AS("attn_pdrop", attention_probs_dropout_prob, 0.1, 0),
    RF_USUAL(classifier_dropout, 0.1, RF_KEY_OURS),
    RF_USUAL_AS("layer_norm_epsilon", layer_norm_eps, 1e-5, 0),
    RF_CONFIG_KEY(scale_attn_by_inverse_layer_idx, TRUTH, 0, 0, 1, 0),
    RF_CONFIG_KEY(query_pre_attn_scalar, WHOLE, 0, 0, 1, RF_KEY_OURS),          /* 1: scale_attn_weights is false     */
    {0},
};

static const rf_config_alias aliases[] = {
    {"max_position_embeddings", "n_positions", false},
    {"hidden_size", "n_embd", false},
    {"num_hidden_layers", "n_layer", false},
    {"num_attention_heads", "n_head", false},
    {0},
};

static const rf_known_key known[] = {
    RF_IDLE("n_ctx", "n_positions says it"),
    RF_IDLE("embd_pdrop", "training: hidden_dropout_prob is that of the embeddings, too"),
    RF_IDLE("scale_attn_weights", "read by `read_config` below"),
    RF_IDLE("reorder_and_upcast_attn", "precision of half floats"),
    RF_GPT_KNOWN,
    {0},
};

/* n_inner: missing or null, four times n_embd. */
static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    static const char scaled[] = "scale_attn_weights";
    const json_t *inner = json_object_get(root, "n_inner"), *v = json_object_get(root, scaled);
    if (!inner || json_is_null(inner)) c->intermediate_size = 4 * c->hidden_size;
    if (v && !json_is_boolean(v)) return rf__wrong_type(file, scaled, v, "true or false", why);
    if (v) c->query_pre_attn_scalar = json_is_false(v);
    return RF_OK;
}

static void write_config(const rf_config *c, json_t **more)
{
    rf__json_set(more, "scale_attn_weights", json_boolean(!c->query_pre_attn_scalar));
}

static const rf_silent silent[] = {
    {"lm_head.weight", "tie_word_embeddings"},
    {"h.*.attn.bias", NULL},                                    /* masks of older versions of transformers            */
    {"h.*.attn.masked_bias", NULL},
    {0},
};

static const rf_param_row positions[] = {{"wpe.weight", "PE", RF_INIT_NORMAL, true, 0, NULL}, {0}};

const rf_family rf__family_gpt2 = {
    .config = {.name = "gpt2",
               .model_type = "gpt2",
               .title = "GPT-2",
               .key = keys,
               .alias = aliases,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "absolute",
               .act = "activation_function",
               .usual_act = RF_ACT_GELU_TANH,
               .one_width = true},
    .prefix = "transformer.",
    .layers = "h.",
    .position_embedding = positions,
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    .finish = rf__bert_finish,
    RF_BERT_LAYER,
};
