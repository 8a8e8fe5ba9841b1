/* gau_alpha.c — GAU-alpha, gated attention units in place of RoFormerV2's layers. Su 2022 (ZhuiyiTechnology/GAU-alpha;
 * bert4keras; kexue.fm/archives/9052); PyPI's gau_alpha (junnyu)
 *
 * A layer is one unit (Hua et al. 2022), which replaces attention and feed-forward:
 *
 *     [u | v | z] = act(h W_i)                       u, v [U] with U = intermediate_size, z [S], S = attention_key_size
 *     q = z * g_q,  k = z * g_k                      by element
 *     a_m = sum_n p_mn v_n,   p_m = softmax_n(ln L / ln 512 <R(m) q_m, R(n) k_n> / sqrt S)         L: below
 *     h   = norm(h + drop((u * a) W_o))               norm(x) = x / sqrt(mean x^2 + eps)
 *     logits = h word^T
 *
 * The factor of the scores is "softmax_plus" (kexue.fm/archives/8823); a text of 512 tokens has the factor 1. L is the
 * number of tokens of the text, but at least 16, as in bert4keras since 2023 (0.11.5).  There is one head, whose values
 * are wider than its keys: attention computes it as U / S heads (graph/ops/core/gau.c), so in training each S columns
 * of the values have separate dropout. */
#include <math.h>

#include "model/layers/bert_layer.h"
#include "model/layers/linear_attention.h"
#include "store/store.h"
#include "store/task.h"

typedef struct layer_weights { rf_tensor *in, *query, *key, *out; } layer_weights;

static const rf_family_row embedding[] = {RF_BERT_WORDS, {{0}, 0}};

#define ROW(member, name, shape, init, decay) RF_TENSOR(layer_weights, member, name, shape, init, decay, 0)
static const rf_family_row layer[] = {
    ROW(in, "gau.i_dense.weight", "UC", NORMAL, true),
    ROW(query, "gau.q_scaleoffset.weight", "D", ONES, false),
    ROW(key, "gau.k_scaleoffset.weight", "D", ONES, false),
    ROW(out, "gau.o_dense.weight", "CF", NORMAL, true),
    {{0}, 0},
};
#undef ROW

static const rf_family_row masked[] = {
    RF_HEAD_UNTIED("cls.predictions.decoder.weight", NORMAL),
    {{0}, 0},
};

/* ---- the layer --------------------------------------------------------------------------------------------------- */

/* The smallest L: with a factor near 0, the tokens of a short text would all get the same share. */
enum { SHORTEST = 16 };

/* ln L / ln 512 of each token's text; NULL: the graph has failed. */
static const float *scales(rf_graph *g, const rf_block *b)
{
    float *scale = rf__push(g, (size_t)b->at.N, sizeof *scale);
    for (int64_t t = 0; scale && t < b->at.B; t++)
        for (int64_t n = b->at.start[t]; n < b->at.start[t + 1]; n++)
            scale[n] = (float)(log(fmax(b->at.start[t + 1] - b->at.start[t], SHORTEST)) / log(512));
    return scale;
}

/* Reports the one head; its values do not matter for probabilities. */
static void show(rf_graph *g, const rf_block *b, const rf_attention_spec *spec, const rf_tensor *pair,
                 const rf_tensor *rotated)
{
    const int64_t S = pair->dim[1] / 2, N = pair->dim[0];
    const rf_tensor *const from[2] = {pair, rotated};
    rf_tensor *to[2] = {0};
    for (int i = 0; i < 2; i++) {
        to[i] = rf__new(g, 2, (int64_t[]){N, 3 * S});
        if (g->error.code) return;
        rf__zero(g, to[i]->f32, N * 3 * S);
        for (int64_t n = 0; n < N; n++)
            memcpy(to[i]->f32 + n * 3 * S, from[i]->f32 + n * 2 * S, (size_t)(2 * S) * sizeof(float));
    }
    b->observer(b->observer_user, g,
                &(rf__view){.is = b->is, .at = &b->at, .qkv = to[0], .rotated = to[1], .spec = spec});
}

/* (u * a) W_o of each token, or of the tokens in b->row. */
static rf_tensor *unit(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const layer_weights *w = b->weights;
    const int64_t S = rf_config_head_width(b->config);
    rf_attention_spec spec = b->spec;
    rf_tensor *x = rf__linear(g, h, w->in, NULL, b->config->hidden_act);                         /* [N, 2U+S] */
    const float *scale = scales(g, b);
    if (!scale) return &g->nil.t;
    rf_tensor *pair = rf__gau_pair(g, x, w->query, w->key, scale);                               /* [N, 2S]   */
    const rf_rotate_parts_spec rotate = {.parts = 2, .heads = 1, .rotated = 1, .rope = {spec.rope, spec.rope},
                                         .row = {spec.row, spec.row}};
    rf_tensor *rotated = rf__rotate_parts(g, pair, &rotate);
    spec.rope = NULL;
    spec.row = NULL;
    if (b->observer && !g->error.code) show(g, b, &spec, pair, rotated);
    spec.heads = (b->config->intermediate_size + S - 1) / S;
    rf_tensor *a = rf__attention(g, rf__gau_heads(g, rotated, x), &spec);                        /* [N, HS]   */
    if (b->row) a = rf__rows(g, a, b->row, b->rows);
    if (b->row) x = rf__rows(g, x, b->row, b->rows);
    return rf__linear(g, rf__gau_gate(g, x, a, S), w->out, NULL, RF_ACT_NONE);
}

static rf_tensor *layer_forward(rf_graph *g, const rf_block *b, rf_tensor *h)
{
    const rf_config *c = b->config;
    if (rf__config_linear_attention(c, b->at.layer))
        return rf__stop(g, RF_EUNSUPPORTED, "attention_type: expected softmax for a GAU-alpha, got linear attention");
    rf_tensor *o = unit(g, b, h);
    if (b->row) h = rf__rows(g, h, b->row, b->rows);
    return rf__norm(g, rf__spend(o), h, c->hidden_dropout_prob, NULL, NULL, c->layer_norm_eps, b->family->norm);
}

/* ---- heads and config.json --------------------------------------------------------------------------------------- */

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_none},
    {RF_HEAD_SEQUENCE, RF_HEAD_INPUT_SUMMARY, rf__rows_label, rf__head_token},
    {RF_HEAD_CHOICE, RF_HEAD_INPUT_SUMMARY, rf__rows_choice, rf__head_plain},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("GAUAlpha", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "GAUAlphaModel", false, false},
    {0},
};

static const rf_config_key keys[] = {
    RF_USUAL(embedding_size, 768, 0),
    RF_LACKS(is_decoder),
    RF_LACKS(rotary_value),
    RF_LACKS(rotary_value_inverse),
    RF_LACKS(rotary_heads),
    RF_LACKS(use_logn_attn),
    RF_FIXED(num_attention_heads, WHOLE, 1),
    RF_CONFIG_KEY(attention_key_size, WHOLE, 128, 2, 65536, 0),
    RF_USUAL(intermediate_size, 1536, 0),
    RF_USUAL(num_hidden_layers, 24, 0),
    RF_USUAL(max_position_embeddings, 512, 0),
    RF_USUAL(vocab_size, 12000, 0),
    RF_USUAL(classifier_dropout, 0.1, 0),
    {0},
};

static const rf_known_key known[] = {
    {RF_KEYS_CONFIG, "normalization", RF_KEY_ONLY, "\"softmax_plus\"", "scores have the factor ln L / ln 512"},
    {RF_KEYS_CONFIG, "attention_scale", RF_KEY_ONLY, "true", "scores are divided by the root of attention_key_size"},
    {RF_KEYS_CONFIG, "use_bias", RF_KEY_ONLY, "false", "matrices have no biases"},
    {RF_KEYS_CONFIG, "summary_type", RF_KEY_IDLE, "", "read by `read_config` below"},
    {RF_KEYS_CONFIG, "gradient_checkpointing", RF_KEY_IDLE, "", "memory of training alone"},
    {0},
};

/* The library's classes for texts use the last token by default. */
static rf_status read_config(const char *file, const json_t *root, rf_config *c, rf_error *why)
{
    const json_t *type = json_object_get(root, "summary_type");
    const char *name = json_string_value(type);
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    if (c->attention_type != RF_ATTENTION_SOFTMAX || c->attention_types)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: attention_type: expected softmax for a GAU-alpha, got linear "
                       "attention", file);
    if (!type && class && (strstr(class, "ForSequence") || strstr(class, "ForMultipleChoice"))) name = "last";
    if (!type && !name) return RF_OK;
    if (name && rf__summary_named(name, &c->summary)) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: summary_type: expected last, first or mean, got %s", file,
                   name ? rf__printable(name).text : rf__json_shown(type).text);
}

static void write_config(const rf_config *c, json_t **more)
{
    const rf_head head = rf_config_head(c);
    rf__json_set(more, "normalization", json_string("softmax_plus"));
    if (head != RF_HEAD_SEQUENCE && head != RF_HEAD_CHOICE) return;
    rf__json_set(more, "summary_type", json_string(rf__summary_name(c->summary)));
}

static const rf_silent silent[] = {{"cls.predictions.decoder.weight", "tie_word_embeddings"}, {0}};

const rf_family rf__family_gau_alpha = {
    .config = {.name = "gau_alpha",
               .model_type = "gau_alpha",
               .title = "GAU-alpha",
               .key = keys,
               .known = known,
               .read = read_config,
               .write = write_config,
               .class = classes,
               .position = "rotary",
               .usual_act = RF_ACT_SILU,
               .summarizes = true,
               .one_width = true,
               .elsewhere = "transformers has no class for model_type `gau_alpha`; the names of tensors and keys are "
                            "those of PyPI's gau_alpha."},
    .prefix = "gau_alpha.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .silent = silent,
    .norm = RF_NORM_RMS,
    .embedding_size = sizeof(rf_bert_embedding),
    .layer_size = sizeof(layer_weights),
    .qkv = offsetof(layer_weights, in),
    .qkv_bias = offsetof(layer_weights, in),
    .embed = rf__bert_embed,
    .layer_forward = layer_forward,
};
