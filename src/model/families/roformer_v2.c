/* roformer_v2.c — RoFormerV2.       Su 2022 (ZhuiyiTechnology/roformer-v2); PyPI's roformer 0.4.3 (junnyu)
 *
 * RoFormer without the parts that its author found to be useless: no biases, norms without scale, no transform before
 * the decoder.
 *
 *     norm(x) = x / sqrt(mean x^2 + eps)
 *     a       = softmax(R(m) q (R(n) k)^T / sqrt D) v
 *     h       = norm(h + drop(a W_o)),   h = norm(h + drop(act(h W_1) W_2))
 *     logits  = h word^T
 *
 * Heads of tasks have biases as RoFormer's. Its config.json has model_type roformer with norm_type and use_bias, two
 * keys that transformers ignores: it loads the weights without a warning and computes something else. */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {RF_BERT_WORDS, {{0}, 0}};

#define MATRIX(member, name, shape, flags) RF_TENSOR(rf_bert_layer, member, name, shape, NORMAL, true, flags)
static const rf_family_row layer[] = {
    MATRIX(qkv, "attention.self.query.weight", "CC", 0),
    MATRIX(qkv, "attention.self.key.weight", "CC", RF_ROW_JOINED),
    MATRIX(qkv, "attention.self.value.weight", "CC", RF_ROW_JOINED),
    MATRIX(out, "attention.output.dense.weight", "CC", 0),
    MATRIX(up, "intermediate.dense.weight", "FC", 0),
    MATRIX(down, "output.dense.weight", "CF", 0),
    {{0}, 0},
};
#undef MATRIX

static const rf_family_row masked[] = {
    RF_HEAD_UNTIED("cls.predictions.decoder.weight", NORMAL),
    {{0}, 0},
};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, masked, rf__head_none},
    RF_ROFORMER_HEADS,
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("RoFormer", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "RoFormerForCausalLM", true, false},
    {0},
};

static const rf_config_sign signs[] = {{"norm_type", "rms_norm", false, true}, {"use_bias", NULL, false, true}, {0}};

static const rf_silent silent[] = {
    {"encoder.embed_positions.weight", NULL},
    {"embeddings.position_ids", NULL},
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {0},
};

const rf_family rf__family_roformer_v2 = {
    .config = {.name = "roformer_v2",
               .model_type = "roformer",
               .title = "RoFormerV2",
               .sign = signs,
               .class = classes,
               .position = "rotary",
               .any_position = true,
               .one_width = true,
               .elsewhere =
                   "transformers loads this folder without a warning and computes something else, since it knows "
                   "neither `norm_type` nor `use_bias`. PyPI's `roformer` 0.4.3 has the model."},
    .prefix = "roformer.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = rf__spelling_bert,
    .silent = silent,
    .norm = RF_NORM_RMS,
    RF_BERT_LAYER,
};
