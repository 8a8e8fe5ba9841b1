/* modernbert.c — ModernBERT and mmBERT.                     Warner et al. 2024; transformers' ModernBertFor...
 *
 * Pre-norm layers (bert_layer.c) without biases, with rotary positions in halves and a gated feed-forward.  Layers
 * whose number is a multiple of global_attn_every_n_layers see all tokens, with the base global_rope_theta; the others
 * see tokens at most local_attention / 2 positions away, with the base local_rope_theta.
 *
 *     h_0     = norm(word[id])
 *     x       = h in the first layer, else norm(h)
 *     h       = h + a W_o,                  a as in bert_layer.c, its three matrices in one, W_qkv [3C,C]
 *     [g | u] = norm(h) W_1,                W_1 [2F,C], the gate in its first half
 *     h       = h + (act(g) * u) W_2
 *     x_n     = norm(gelu(norm(h_L) W_t))
 *     logits  = x word^T + b
 *     labels  = drop(x) W + b               of [CLS] or of the mean of h, as classifier_pooling says; of each token
 *
 * Published files have position_embedding_type and layer_norm_eps, which have no effect: the class reads norm_eps. */
#include "model/layers/bert_layer.h"
#include "model/layers/llama_layer.h"
#include "store/store.h"

static bool later(const rf_config *c, int64_t number)
{
    (void)c;
    return number > 0;
}

static const rf_family_row embedding[] = {
    RF_TENSOR(rf_bert_embedding, word, "embeddings.tok_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS),
    RF_TENSOR(rf_bert_embedding, norm, "embeddings.norm.weight", "E", ONES, false, 0),
    RF_TENSOR(rf_bert_embedding, last, "final_norm.weight", "C", ONES, false, 0),
    {{0}, 0},
};

static const rf_family_row layer[] = {
    RF_TENSOR_WHEN(later, rf_bert_layer, norm, "attn_norm.weight", "C", ONES, false, 0),
    RF_BERT_ROW("attn.Wqkv.weight", "QC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attn.Wo.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("mlp_norm.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("mlp.Wi.weight", "GC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("mlp.Wo.weight", "CF", NORMAL, true, 0, down),
    {{0}, 0},
};

#define TRANSFORM                                                                                                      \
    RF_HEAD_ROW("head.dense.weight", "CC", NORMAL, true, RF_ROW_PRETRAINED, dense),                                    \
    RF_HEAD_ROW("head.norm.weight", "C", ONES, false, RF_ROW_PRETRAINED, norm)
static const rf_family_row masked[] = {
    TRANSFORM,
    RF_HEAD_UNTIED("decoder.weight", NORMAL),
    RF_HEAD_ROW("decoder.bias", "V", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
static const rf_family_row labels[] = {
    TRANSFORM,
    RF_BERT_CLASSIFIER("KC", "K"),
    {{0}, 0},
};
static const rf_family_row choice[] = {
    TRANSFORM,
    RF_BERT_CLASSIFIER("1C", "1"),
    {{0}, 0},
};
#undef TRANSFORM

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked_gelu},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_SUMMARY, labels, rf__head_transformed},
    {RF_HEAD_TOKEN, RF_HEAD_INPUT_ALL, labels, rf__head_transformed},
    {RF_HEAD_SPAN, RF_HEAD_INPUT_ALL, labels, rf__head_transformed},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_SUMMARY, choice, rf__head_transformed},
    {RF_HEAD_EMBED, RF_HEAD_INPUT_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("ModernBert", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "ModernBertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_LACKS(type_vocab_size),
    RF_LACKS(layer_norm_eps),
    RF_LACKS(rope_theta),
    RF_LACKS(attention_probs_dropout_prob),
    RF_USUAL(hidden_dropout_prob, 0, RF_KEY_OURS),
    RF_FIXED(normalize_before, TRUTH, 1),
    RF_USUAL(intermediate_size, 1152, 0),
    RF_USUAL(num_hidden_layers, 22, 0),
    RF_USUAL(max_position_embeddings, 8192, 0),
    RF_USUAL(pad_token_id, 50283, 0),
    RF_USUAL(vocab_size, 50368, 0),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_USUAL_AS("norm_eps", layer_norm_eps, 1e-5, 0),
    RF_USUAL_AS("attention_dropout", attention_probs_dropout_prob, 0, 0),
    RF_USUAL(classifier_dropout, 0, 0),
    RF_USUAL(local_attention, 128, 0),
    RF_CONFIG_KEY(global_attn_every_n_layers, WHOLE, 3, 1, 1024, 0),
    RF_USUAL_AS("global_rope_theta", rope_theta, 160000, 0),
    RF_USUAL(local_rope_theta, 10000, RF_KEY_NULL),
    {0},
};

static const rf_known_key known[] = {
    RF_ONLY("attention_bias", "false", "matrices have no biases"),
    RF_ONLY("mlp_bias", "false", "matrices have no biases"),
    RF_ONLY("norm_bias", "false", "norms have no biases"),
    RF_ONLY("classifier_bias", "false", "the head's matrix has no bias"),
    RF_ONLY("decoder_bias", "true", "logits of tokens have a bias"),
    RF_ONLY("classifier_activation", "\"gelu\"", "the head has GELU"),
    RF_ONLY("embedding_dropout", "0", "words are not dropped"),
    RF_ONLY("mlp_dropout", "0", "the feed-forward is not dropped"),
    RF_IDLE("classifier_pooling", "read by `read_config` below"),
    RF_IDLE("layer_types", "the same"),
    RF_IDLE("sliding_window", "the same"),
    RF_ONE_POSITION,
    RF_IDLE("layer_norm_eps", "norm_eps is that of the norms"),
    RF_IDLE("initializer_cutoff_factor", "the first weights of transformers"),
    RF_IDLE("deterministic_flash_attn", "answers are always the same here"),
    RF_IDLE("reference_compile", "speed alone"),
    RF_IDLE("repad_logits_with_grad", "speed alone"),
    RF_IDLE("sparse_prediction", "speed of training"),
    RF_IDLE("sparse_pred_ignore_index", "the same"),
    {0},
};

/* ---- config.json beyond its tables ------------------------------------------------------------------------------- */

/* layer_types: the first layer is global, and the next global one determines how many are in between. As in
 * transformers, global_attn_every_n_layers then has no effect. */
static rf_status read_types(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *list = json_object_get(root, "layer_types");
    const size_t n = json_array_size(list);
    int64_t every = 0;
    if (!list || json_is_null(list)) return RF_OK;
    rf_status status = rf__layer_types_count(file, list, c, why);
    for (size_t i = 0; i < n && !status; i++) {
        bool global;
        status = rf__layer_type(file, list, i, &global, why);
        if (status) return status;
        if (global && i && !every) every = (int64_t)i;
        if (global != (i == 0 || (every && (int64_t)i % every == 0)))
            return rf_fail(why, RF_EUNSUPPORTED, "%s: layer_types[%zu]: expected %s, as every so many layers from the "
                           "first on see all tokens, got %s", file, i, global ? "sliding_attention" : "full_attention",
                           global ? "full_attention" : "sliding_attention");
    }
    if (status) return status;
    c->global_attn_every_n_layers = every ? every : c->num_hidden_layers;
    return RF_OK;
}

/* Another name in transformers for half of local_attention, which it would change. */
static rf_status read_window(const char *file, const json_t *root, const rf_config *c, rf_error *why)
{
    const json_t *half = json_object_get(root, "sliding_window");
    const int64_t expected = c->local_attention / 2;
    if (!half || json_is_null(half) || json_number_value(half) == (double)expected) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: sliding_window: expected half of local_attention, %lld, got %s; write local_attention alone",
                   file, (long long)(c->local_attention / 2), rf__json_shown(half).text);
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *pooling = json_object_get(root, "classifier_pooling");
    const char *named = json_string_value(pooling);
    if (c->local_rope_theta < 0) c->local_rope_theta = c->rope_theta;
    rf_status status = read_types(file, root, c, why);
    if (!status) status = read_window(file, root, c, why);
    if (status) return status;
    if (pooling && (!named || (strcmp(named, "cls") != 0 && strcmp(named, "mean") != 0)))
        return rf_fail(why, RF_EDATA, "%s: classifier_pooling: expected cls or mean, got %s", file,
                       named ? rf__printable(named).text : rf__json_shown(pooling).text);
    c->summary = named && !strcmp(named, "mean") ? RF_SUMMARY_MEAN : RF_SUMMARY_FIRST;
    return RF_OK;
}

/* transformers accepts both kinds of keys; the lists of the file have the length of its number of layers. */
static void write_config(const rf_config *c, json_t **more)
{
    static const char *const newer[] = {"layer_types", "rope_parameters", "position_embedding_type"};
    for (size_t i = 0; i < RF_COUNT(newer); i++) json_object_del(*more, newer[i]);
    rf__json_set(more, "classifier_pooling", json_string(c->summary == RF_SUMMARY_MEAN ? "mean" : "cls"));
}

static const rf_silent silent[] = {{"decoder.weight", "tie_word_embeddings"}, {0}};

const rf_family rf__family_modernbert = {
    .config = {.name = "modernbert",
               .model_type = "modernbert",
               .title = "ModernBERT",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "rotary",
               .by_kind = true,
               .flat = RF_ROPE_OF_ALL,
               .act = "hidden_activation",
               .summarizes = true,
               .one_width = true},
    .prefix = "model.",
    .layers = "layers.",
    .gated = true,
    .gate = RF_GATE_FIRST,
    .first_bare = true,
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    RF_BERT_LAYER,
    .finish = rf__bert_finish,
};
