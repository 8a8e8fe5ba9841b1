/* nomic_bert_v2.c — NomicBERT v2: nomic-embed-text-v2-moe.
 *                                                   Nussbaum and Duderstadt 2025; nomic-bert-2048's NomicBertFor...
 *
 * Post-norm layers (bert_layer.c) with rotary positions in halves and biases, without gates.  Of every
 * moe_every_n_layers layers the second has a mixture of experts (experts.c) for a feed-forward layer.
 *
 *     h_0     = norm(word[id] + type[tt])
 *     h       = norm(h + drop(a W_o + b_o)),     a as in bert_layer.c, its three matrices in one, W_qkv [3C,C]
 *     h       = norm(h + drop(gelu(h W_1 + b_1) W_2 + b_2))
 *     or        norm(h + drop(b + sum_e p_e gelu(h u_e^T) d_e)),   p = softmax(h R), over its moe_top_k largest
 *     logits  = norm(gelu(h W_t + b_t)) word^T + b
 *
 * The weights p of the chosen experts do not sum to 1.  config.json has the keys of the published code, which
 * transformers 5 reads as a NomicBERT without biases and experts; qkv_proj_bias distinguishes the two. */
#include "model/families/nomic_bert.h"
#include "store/store.h"

#define CODE "nomic-ai/nomic-bert-2048--"

typedef struct weights {
    rf_bert_layer bert;
    rf_tensor *router, *up, *down, *bias;
} weights;

static bool mixes(const rf_config *c, int64_t layer)
{
    const int64_t every = c->moe_every_n_layers;
    return every > 0 && layer >= 0 && layer % every == 1;
}
static bool is_dense(const rf_config *c, int64_t layer) { return !mixes(c, layer); }

static const rf_family_row embedding[] = {RF_NOMIC_BERT_EMBEDDING, {{0}, 0}};

#define DENSE(name, shape, init, decay, member) \
    RF_TENSOR_WHEN(is_dense, weights, bert.member, name, shape, init, decay, 0)
#define MIXED(name, shape, init, decay, flags, member) \
    RF_TENSOR_WHEN(mixes, weights, member, name, shape, init, decay, flags)
static const rf_family_row layer[] = {
    RF_BERT_ROW("attn.Wqkv.weight", "QC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attn.Wqkv.bias", "Q", ZEROS, false, 0, qkv_bias),
    RF_BERT_ROW("attn.out_proj.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("attn.out_proj.bias", "C", ZEROS, false, 0, out_bias),
    RF_BERT_ROW("norm1.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("norm1.bias", "C", ZEROS, false, 0, norm_bias),
    DENSE("mlp.fc1.weight", "FC", NORMAL, true, up),
    DENSE("mlp.fc1.bias", "F", ZEROS, false, up_bias),
    DENSE("mlp.fc2.weight", "CF", NORMAL, true, down),
    DENSE("mlp.fc2.bias", "C", ZEROS, false, down_bias),
    MIXED("mlp.router.layer.weight", "NC", NORMAL, true, RF_ROW_TABLE, router),
    MIXED("mlp.experts.mlp.w1", "NFC", NORMAL, true, RF_ROW_PARTS, up),
    MIXED("mlp.experts.mlp.w2", "NFC", NORMAL, true, RF_ROW_PARTS | RF_ROW_ACROSS, down),
    MIXED("mlp.experts.bias", "C", ZEROS, false, 0, bias),
    RF_BERT_ROW("norm2.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("norm2.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("cls.predictions.transform.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("cls.predictions.transform.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("cls.predictions.transform.layer_norm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("cls.predictions.transform.layer_norm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_ROW("cls.predictions.decoder.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked},
    RF_BERT_POOLED_HEADS,
    RF_BERT_HEADS,
    {0},
};

/* The code's class for masked tokens has another name than those of transformers. */
static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "NomicBertForPreTraining", false, false},
    RF_BERT_CLASSES_WITH("NomicBert", RF_HEAD_POOLED, false),
    {RF_HEAD_MLM, "NomicBertModel", false, false},
    {0},
};

static const rf_config_sign signs[] = {{"qkv_proj_bias", NULL, true, true}, {0}};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(rotary_value),
    RF_LACKS(is_decoder),
    RF_LACKS(hidden_size),
    RF_LACKS(num_hidden_layers),
    RF_LACKS(num_attention_heads),
    RF_LACKS(intermediate_size),
    RF_LACKS(max_position_embeddings),
    RF_LACKS(layer_norm_eps),
    RF_LACKS(rope_theta),
    RF_LACKS(hidden_dropout_prob),
    RF_LACKS(attention_probs_dropout_prob),
    RF_USUAL_AS("n_embd", hidden_size, 768, 0),
    RF_USUAL_AS("n_layer", num_hidden_layers, 12, 0),
    RF_USUAL_AS("n_head", num_attention_heads, 12, 0),
    RF_USUAL_AS("n_inner", intermediate_size, 3072, 0),
    RF_USUAL_AS("n_positions", max_position_embeddings, 2048, 0),
    RF_USUAL_AS("layer_norm_epsilon", layer_norm_eps, 1e-5, 0),
    RF_USUAL_AS("rotary_emb_base", rope_theta, 1000, 0),
    RF_USUAL_AS("resid_pdrop", hidden_dropout_prob, 0.1, 0),
    RF_USUAL_AS("attn_pdrop", attention_probs_dropout_prob, 0.1, 0),
    RF_USUAL(vocab_size, 250048, 0),
    RF_USUAL(pad_token_id, 1, 0),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_FIXED(tie_word_embeddings, TRUTH, 1),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    RF_CONFIG_KEY(moe_every_n_layers, WHOLE, 0, 0, 1024, RF_KEY_OURS),
    RF_CONFIG_KEY(num_experts, WHOLE, 0, 0, 1024, RF_KEY_OURS),
    RF_CONFIG_KEY(moe_top_k, WHOLE, 0, 0, 1024, RF_KEY_OURS),
    {0},
};

static const rf_known_key known[] = {
    RF_NOMIC_BERT_KNOWN,
    RF_ONLY("mlp_fc1_bias", "true", "feed-forward layers have biases"),
    RF_ONLY("mlp_fc2_bias", "true", "feed-forward layers have biases"),
    RF_ONLY("rotary_scaling_factor", "null", "positions are not scaled"),
    RF_ONLY("num_shared_experts", "0", "tokens choose all their experts"),
    RF_ONLY("expert_choice_router", "false", "tokens choose experts"),
    RF_ONLY("moe_normalize_expert_weights", "false", "weights of the chosen experts are not scaled"),
    RF_ONLY("ffn_div", "1", "experts are as wide as n_inner"),
    RF_IDLE("auto_map", "names the code that computes the same"),
    RF_IDLE("max_trained_positions", "positions are not scaled"),
    RF_IDLE("embd_pdrop", "training: resid_pdrop is that of the embeddings, too"),
    RF_IDLE("moe_resid_pdrop", "training: resid_pdrop is that of all layers"),
    RF_IDLE("moe_impl", "speed alone"),
    RF_IDLE("router_aux_loss_coef", "of a loss in training, which fine-tuning of the published model does not use"),
    {0},
};

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    if (c->hidden_act != RF_ACT_GELU)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: activation_function: expected gelu, got \"%s\"; other functions and "
                       "gates are not supported with biases", file, rf__config_act_name(c->hidden_act));
    if (!json_object_get(root, "n_inner")) c->intermediate_size = 4 * c->hidden_size;
    if (c->moe_every_n_layers && (c->moe_top_k < 1 || c->moe_top_k > c->num_experts))
        return rf_fail(why, RF_EDATA, "%s: moe_top_k: expected 1 to num_experts, %lld, with moe_every_n_layers, got "
                       "%lld", file, (long long)c->num_experts, (long long)c->moe_top_k);
    return RF_OK;
}

/* A new model gets what the code needs besides. */
static void write_config(const rf_config *c, json_t **more)
{
    (void)c;
    if (!json_object_get(*more, "rotary_emb_fraction")) rf__json_set(more, "rotary_emb_fraction", json_real(1));
    if (*more && !json_object_get(*more, "auto_map"))
        rf__json_set(more, "auto_map",
                     json_pack("{ssss}", "AutoConfig", CODE "configuration_hf_nomic_bert.NomicBertConfig", "AutoModel",
                               CODE "modeling_hf_nomic_bert.NomicBertModel"));
}

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {0},
};

static int64_t extent(const rf_config *c, char letter) { return letter == 'N' ? c->num_experts : 0; }

static rf_tensor *feed(rf_graph *g, const rf_block *b, rf_tensor *x)
{
    const weights *w = b->weights;
    const rf_config *c = b->config;
    if (!w->router) return rf__bert_feed(g, b, x);
    rf_tensor *z = rf__linear(g, x, w->router, NULL, RF_ACT_NONE);                               /* [N, E] */
    return rf__experts(g, x, z, c->moe_top_k, w->up, c->hidden_act, w->down, w->bias);
}

const rf_family rf__family_nomic_bert_v2 = {
    .config = {.name = "nomic_bert_v2",
               .model_type = "nomic_bert",
               .title = "NomicBERT v2",
               .sign = signs,
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .coded = true,
               .position = "rotary",
               .act = "activation_function",
               .usual_act = RF_ACT_GELU,
               .one_width = true,
               .elsewhere = "transformers alone would load it as another NomicBERT with random feed-forward layers; it "
                            "needs the code that `auto_map` names, nomic-ai/nomic-bert-2048."},
    .prefix = "bert.",
    .layers = "encoder.layers.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    .embedding_size = sizeof(rf_bert_embedding),
    .layer_size = sizeof(weights),
    .qkv = offsetof(weights, bert.qkv),
    .qkv_bias = offsetof(weights, bert.qkv_bias),
    .extent = extent,
    .embed = rf__bert_embed,
    .layer_forward = rf__bert_forward,
    .feed = feed,
};
