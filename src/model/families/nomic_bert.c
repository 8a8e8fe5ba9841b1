/* nomic_bert.c — NomicBERT v1 and v1.5.            Nussbaum et al. 2024 (Nomic Embed); transformers' NomicBertFor...
 *
 * Post-norm layers (bert_layer.c) with rotary positions in halves and a gated feed-forward (Shazeer 2020), without
 * biases in matrices.  fc12 is the gate, fc11 the up projection.
 *
 *     h_0     = norm(word[id] + type[tt])
 *     h       = norm(h + drop(a W_o)),       a as in bert_layer.c, its three matrices in one, W_qkv [3C,C]
 *     h       = norm(h + drop((act(h W_12) * (h W_11)) W_2))
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     labels  = drop(tanh(h_[CLS] W_p + b_p)) W + b
 *
 * The code published with the model has other names of keys (n_embd, rotary_emb_base, ...), names tensors "bert." and
 * omits biases of the head for masked tokens; transformers 5 has its own keys, and writes tensors under the published
 * names.  With qkv_proj_bias, a file is of v2, a mixture of experts with biases (nomic_bert_v2.c). */
#include "model/families/nomic_bert.h"
#include "store/store.h"

static const rf_family_row embedding[] = {RF_NOMIC_BERT_EMBEDDING, {{0}, 0}};

static const rf_family_row layer[] = {
    RF_BERT_ROW("attn.Wqkv.weight", "QC", NORMAL, true, 0, qkv),
    RF_BERT_ROW("attn.out_proj.weight", "CC", NORMAL, true, 0, out),
    RF_BERT_ROW("norm1.weight", "C", ONES, false, 0, norm),
    RF_BERT_ROW("norm1.bias", "C", ZEROS, false, 0, norm_bias),
    RF_BERT_ROW("mlp.fc11.weight", "FC", NORMAL, true, RF_ROW_GATED, up),
    RF_BERT_ROW("mlp.fc12.weight", "FC", NORMAL, true, RF_ROW_GATED | RF_ROW_JOINED, up),
    RF_BERT_ROW("mlp.fc2.weight", "CF", NORMAL, true, 0, down),
    RF_BERT_ROW("norm2.weight", "C", ONES, false, 0, norm2),
    RF_BERT_ROW("norm2.bias", "C", ZEROS, false, 0, norm2_bias),
    {{0}, 0},
};

static const rf_family_row masked[] = {
    RF_HEAD_ROW("cls.predictions.transform.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("cls.predictions.transform.dense.bias", "E", ZEROS, false, RF_ROW_MAY_LACK, dense_bias),
    RF_HEAD_ROW("cls.predictions.transform.layer_norm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("cls.predictions.transform.layer_norm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_ROW("cls.predictions.bias", "V", ZEROS, false, RF_ROW_MAY_LACK, out_bias),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_masked},
    RF_BERT_POOLED_HEADS,
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES_WITH("NomicBert", RF_HEAD_POOLED, true),
    {RF_HEAD_MLM, "NomicBertForCausalLM", true, true},
    {RF_HEAD_MLM, "NomicBertForPreTraining", false, false},
    {RF_HEAD_MLM, "NomicBertModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_LACKS(embedding_size),
    RF_LACKS(rotary_value),
    RF_USUAL(hidden_dropout_prob, 0, 0),
    RF_USUAL(attention_probs_dropout_prob, 0, 0),
    RF_USUAL(max_position_embeddings, 2048, 0),
    RF_USUAL(vocab_size, 30528, 0),
    RF_USUAL(rope_theta, 1000, RF_KEY_OURS),
    RF_FIXED(rope_interleave, TRUTH, 0),
    RF_FIXED(partial_rotary_factor, NUMBER, 1),
    RF_FIXED(tie_word_embeddings, TRUTH, 1),
    RF_USUAL(classifier_dropout, -1, RF_KEY_NULL),
    {0},
};

/* n_positions is the length of the longest text, also if max_position_embeddings is the length of training. */
static const rf_config_alias aliases[] = {
    {"n_embd", "hidden_size", false},
    {"n_layer", "num_hidden_layers", false},
    {"n_head", "num_attention_heads", false},
    {"n_inner", "intermediate_size", false},
    {"n_positions", "max_position_embeddings", true},
    {"layer_norm_epsilon", "layer_norm_eps", false},
    {"resid_pdrop", "hidden_dropout_prob", false},
    {"attn_pdrop", "attention_probs_dropout_prob", false},
    {"rotary_emb_base", "rope_theta", false},
    {0},
};

static const rf_known_key known[] = {
    RF_NOMIC_BERT_KNOWN,
    RF_ONLY("qkv_proj_bias", "false", "matrices have no biases"),
    RF_ONLY("mlp_fc1_bias", "false", "matrices have no biases"),
    RF_ONLY("mlp_fc2_bias", "false", "matrices have no biases"),
    RF_ONLY("moe_every_n_layers", "0", "mixtures of experts are supported with qkv_proj_bias"),
    RF_ONLY("num_experts", "0", "mixtures of experts are supported with qkv_proj_bias"),
    RF_ONLY("num_local_experts", "0", "mixtures of experts are supported with qkv_proj_bias"),
    RF_IDLE("activation_function", "read by `read_config` below"),
    RF_IDLE("head_dim", "the same"),
    RF_IDLE("max_trained_positions", "the same"),
    RF_IDLE("rotary_scaling_factor", "the same"),
    RF_IDLE("embd_pdrop", "training: hidden_dropout_prob is that of the embeddings, too"),
    {0},
};

/* ---- config.json beyond its tables ------------------------------------------------------------------------------- */

static const struct { const char *name; rf_act act; } units[] = {{"swiglu", RF_ACT_SILU}, {"geglu", RF_ACT_GELU}};

/* activation_function names the gated unit, hidden_act its function. */
static rf_status read_unit(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *v = json_object_get(root, "activation_function"), *act = json_object_get(root, "hidden_act");
    const char *name = json_string_value(v);
    if (!v || json_is_null(v)) return RF_OK;
    if (!name) return rf__wrong_type(file, "activation_function", v, "a string", why);
    for (size_t i = 0; i < RF_COUNT(units); i++) {
        if (strcmp(name, units[i].name)) continue;
        if (act && c->hidden_act != units[i].act)
            return rf_fail(why, RF_EDATA, "%s: activation_function: expected what hidden_act says, \"%s\", got \"%s\"; "
                           "remove one of the two", file, rf__config_act_name(c->hidden_act), name);
        c->hidden_act = units[i].act;
        return RF_OK;
    }
    return rf_fail(why, RF_EUNSUPPORTED, "%s: activation_function: expected swiglu or geglu, got \"%s\"; a "
                   "feed-forward without a gate is not supported", file, rf__printable(name).text);
}

/* The factor for texts longer than max_trained_positions; in transformers "dynamic" with max_position_embeddings. */
static rf_status read_scaling(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *v = json_object_get(root, "rotary_scaling_factor");
    const json_t *P = json_object_get(root, "max_trained_positions");
    const json_t *given = json_object_get(root, "max_position_embeddings");
    rf_rope_scaling *s = &c->rope_scaling;
    if (v && !json_is_null(v)) {
        if (!json_is_number(v)) return rf__wrong_type(file, "rotary_scaling_factor", v, "a number", why);
        const double f = json_number_value(v);
        if (s->rope_type != RF_ROPE_DEFAULT && (s->rope_type != RF_ROPE_DYNAMIC || s->factor < f || s->factor > f))
            return rf_fail(why, RF_EDATA, "%s: rotary_scaling_factor: expected what rope_parameters say, %s with "
                           "factor %.15g, got %.15g; remove one of the two", file, rf_rope_type_name(s->rope_type),
                           s->factor, f);
        s->rope_type = RF_ROPE_DYNAMIC;
        s->factor = f;
        if (!given) c->max_position_embeddings = 2048;
    }
    if (!P || json_is_null(P) || s->rope_type != RF_ROPE_DYNAMIC) return RF_OK;
    if (!json_is_integer(P)) return rf__wrong_type(file, "max_trained_positions", P, "an integer", why);
    if (given && json_integer_value(P) != c->max_position_embeddings)
        return rf_fail(why, RF_EDATA, "%s: max_trained_positions: expected what max_position_embeddings says, %lld, "
                       "got %lld; remove one of the two", file, (long long)c->max_position_embeddings,
                       (long long)json_integer_value(P));
    c->max_position_embeddings = json_integer_value(P);
    return RF_OK;
}

static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    if (class && strcmp(class, "NomicBertForCausalLM") != 0) c->is_decoder = 0;     /* that class does not read it */
    rf_status status = read_unit(file, root, c, why);
    if (!status) status = read_scaling(file, root, c, why);
    return status ? status : rf__usual_head_width(file, root, "head_dim", c, why);
}

static void write_config(const rf_config *c, json_t **more)
{
    const bool stretched = c->rope_scaling.rope_type == RF_ROPE_DYNAMIC;
    const bool positions = json_is_integer(json_object_get(*more, "max_trained_positions"));
    if (json_is_number(json_object_get(*more, "rotary_scaling_factor")))
        rf__json_set(more, "rotary_scaling_factor", stretched ? json_real(c->rope_scaling.factor) : json_null());
    if (*more && stretched && positions)
        rf__json_set(more, "max_trained_positions", json_integer(c->max_position_embeddings));
    if (*more && json_object_get(*more, "head_dim"))
        rf__json_set(more, "head_dim", json_integer(c->hidden_size / c->num_attention_heads));
}

static const rf_silent silent[] = {
    {"embeddings.position_ids", NULL},
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {"cls.predictions.decoder.bias", NULL},
    {0},
};

static const rf_spelling spelling[] = {{"cls.predictions.bias", "cls.predictions.decoder.bias", false}, {0}};

const rf_family rf__family_nomic_bert = {
    .config = {.name = "nomic_bert",
               .model_type = "nomic_bert",
               .title = "NomicBERT",
               .key = keys,
               .alias = aliases,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .coded = true,
               .position = "rotary",
               .usual_act = RF_ACT_SILU,
               .one_width = true},
    .prefix = "nomic_bert.",
    .older_prefix = "bert.",
    .layers = "encoder.layers.",
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
