/* roformer_v2.c — RoFormerV2.       Su 2022 (ZhuiyiTechnology/roformer-v2); PyPI's roformer 0.4.3 (junnyu)
 *
 * RoFormer without what its author found to be of no use: no biases, norms without scale, no transform before the
 * decoder.
 *
 *     norm(x) = x / sqrt(mean x^2 + eps)
 *     a       = softmax(R(m) q (R(n) k)^T / sqrt D) v
 *     h       = norm(h + drop(a W_o)),   h = norm(h + drop(act(h W_1) W_2))
 *     logits  = h word^T
 *
 * Heads of tasks have biases as RoFormer's.  Its config.json says model_type roformer with norm_type and use_bias,
 * two keys that transformers passes over: there the weights load without a word and compute something else. */
#include "model/bert_layer.h"

#define ROW(name, shape, flags, member) \
    { \
        {name, shape, RF_INIT_NORMAL, true, flags}, offsetof(rf_bert_embedding, member) \
    }
static const rf_family_row embedding[] = {
    ROW("embeddings.word_embeddings.weight", "VE", RF_ROW_WORDS, word),
    ROW("embeddings.token_type_embeddings.weight", "TE", RF_ROW_TABLE, type),
    {{0}, 0},
};
#undef ROW

#define ROW(name, shape, flags, member) \
    { \
        {name, shape, RF_INIT_NORMAL, true, flags}, offsetof(rf_bert_layer, member) \
    }
static const rf_family_row layer[] = {
    ROW("attention.self.query.weight", "CC", 0, qkv),
    ROW("attention.self.key.weight", "CC", RF_ROW_JOINED, qkv),
    ROW("attention.self.value.weight", "CC", RF_ROW_JOINED, qkv),
    ROW("attention.output.dense.weight", "CC", 0, out),
    ROW("intermediate.dense.weight", "FC", 0, up),
    ROW("output.dense.weight", "CF", 0, down),
    {{0}, 0},
};
#undef ROW

static const rf_family_row masked[] = {
    {{"cls.predictions.decoder.weight", "VE", RF_INIT_NORMAL, true, RF_ROW_UNTIED}, offsetof(rf_head_weights, out)},
    {{0}, 0},
};

/* Without a transform a label's row and its adjoint are all. */
static rf_footprint footprint(const rf_config *c, bool bf16)
{
    rf_footprint f = rf__bert_footprint(c, bf16);
    f.label = 4 * 2 * (double)c->hidden_size;
    return f;
}

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_LOOK_ALL, masked, rf__head_none},
    {RF_HEAD_SEQUENCE, RF_LOOK_FIRST, rf__rows_dense, rf__head_dense},
    {RF_HEAD_TOKEN, RF_LOOK_ALL, rf__rows_label, rf__head_token},
    {RF_HEAD_SPAN, RF_LOOK_ALL, rf__rows_span, rf__head_plain},
    {RF_HEAD_CHOICE, RF_LOOK_SUMMARY, rf__rows_choice, rf__head_plain},
    {RF_HEAD_EMBED, RF_LOOK_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "RoFormerForMaskedLM", false, false},
    {RF_HEAD_MLM, "RoFormerForCausalLM", true, false},
    {RF_HEAD_SEQUENCE, "RoFormerForSequenceClassification", false, false},
    {RF_HEAD_TOKEN, "RoFormerForTokenClassification", false, false},
    {RF_HEAD_SPAN, "RoFormerForQuestionAnswering", false, false},
    {RF_HEAD_CHOICE, "RoFormerForMultipleChoice", false, false},
    {RF_HEAD_EMBED, "RoFormerForSentenceEmbedding", false, true},
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
               .one_width = true,
               .elsewhere = "transformers loads this folder without a word and computes something else, since it knows "
                            "neither `norm_type` nor `use_bias`. PyPI's `roformer` 0.4.3 has the model."},
    .prefix = "roformer.",
    .embedding = embedding,
    .layer = layer,
    .head = heads,
    .spelling = rf__spelling_bert,
    .silent = silent,
    .norm = RF_NORM_RMS,
    .footprint = footprint,
    RF_BERT_LAYER,
};
