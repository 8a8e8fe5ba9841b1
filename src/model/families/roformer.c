/* roformer.c — RoFormer.                                            Su et al. 2021; transformers' RoFormerFor...
 *
 * BERT's post-norm layers (bert_layer.c) without positions in the embeddings: they enter by rotation of queries and
 * keys, or as another row of `roformer positions` says.  Embeddings may be narrower than the layers.
 *
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     vector  = h_[CLS] W_p + b_p                         RoFormer-Sim (pooler_activation "linear") */
#include "model/bert_layer.h"

#define ROW(name, shape, init, decay, flags, member) \
    { \
        {name, shape, RF_INIT_##init, decay, flags}, offsetof(rf_bert_embedding, member) \
    }
static const rf_family_row embedding[] = {
    ROW("embeddings.word_embeddings.weight", "VE", NORMAL, true, RF_ROW_WORDS, word),
    ROW("embeddings.token_type_embeddings.weight", "TE", NORMAL, true, RF_ROW_TABLE, type),
    ROW("embeddings.LayerNorm.weight", "E", ONES, false, 0, norm),
    ROW("embeddings.LayerNorm.bias", "E", ZEROS, false, 0, norm_bias),
    ROW("embeddings_project.weight", "CE", NORMAL, true, RF_ROW_PROJECTED, project),
    ROW("embeddings_project.bias", "C", ZEROS, false, RF_ROW_PROJECTED, project_bias),
    ROW("pooler.dense.weight", "CC", NORMAL, true, RF_ROW_POOLER, pooler),
    ROW("pooler.dense.bias", "C", ZEROS, false, RF_ROW_POOLER, pooler_bias),
    {{0}, 0},
};
#undef ROW

/* BERT's pooler; transformers has no RoFormer class for it. */
#define ROW(name, shape, init, decay, flags, member) \
    { \
        {name, shape, RF_INIT_##init, decay, flags}, offsetof(rf_head_weights, member) \
    }
static const rf_family_row pooled[] = {
    ROW("pooler.dense.weight", "CC", NORMAL, true, RF_ROW_BASE, dense),
    ROW("pooler.dense.bias", "C", ZEROS, false, RF_ROW_BASE, dense_bias),
    ROW("classifier.weight", "KC", NORMAL, true, 0, out),
    ROW("classifier.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
#undef ROW

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_LOOK_ALL, rf__rows_masked, rf__head_masked},
    {RF_HEAD_SEQUENCE, RF_LOOK_FIRST, rf__rows_dense, rf__head_dense},
    {RF_HEAD_POOLED, RF_LOOK_FIRST, pooled, rf__head_pooled},
    {RF_HEAD_TOKEN, RF_LOOK_ALL, rf__rows_label, rf__head_token},
    {RF_HEAD_SPAN, RF_LOOK_ALL, rf__rows_span, rf__head_plain},
    {RF_HEAD_CHOICE, RF_LOOK_SUMMARY, rf__rows_choice, rf__head_plain},
    {RF_HEAD_EMBED, RF_LOOK_POOLED, NULL, rf__head_none},
    {0},
};

static const rf_class_row classes[] = {
    {RF_HEAD_MLM, "RoFormerForMaskedLM", false, false},
    {RF_HEAD_MLM, "RoFormerForCausalLM", true, false},
    {RF_HEAD_MLM, "RoFormerForPreTraining", false, false},
    {RF_HEAD_MLM, "RoFormerModel", false, false},
    {RF_HEAD_MLM, "RoFormerMaskedLM", false, false},      /* as one published folder has it */
    {RF_HEAD_SEQUENCE, "RoFormerForSequenceClassification", false, false},
    {RF_HEAD_POOLED, "RoFormerPooledForSequenceClassification", false, true},
    {RF_HEAD_TOKEN, "RoFormerForTokenClassification", false, false},
    {RF_HEAD_SPAN, "RoFormerForQuestionAnswering", false, false},
    {RF_HEAD_CHOICE, "RoFormerForMultipleChoice", false, false},
    {RF_HEAD_EMBED, "RoFormerForSentenceEmbedding", false, true},
    {0},
};

static const rf_config_sign signs[] = {{"norm_type", "layer_norm", false, false}, {"use_bias", NULL, true, false}, {0}};

/* Tables that are computed, and copies of tied tensors. */
static const rf_silent silent[] = {
    {"encoder.embed_positions.weight", NULL},
    {"embeddings.position_ids", NULL},
    {"cls.predictions.decoder.weight", "tie_word_embeddings"},
    {"cls.predictions.decoder.bias", NULL},
    {0},
};

static rf_tensor *vector(rf_graph *g, const void *weights, rf_tensor *x)
{
    const rf_bert_embedding *e = weights;
    return rf_linear(g, x, e->pooler, e->pooler_bias, RF_ACT_NONE);
}

const rf_family rf__family_roformer = {
    .config = {.name = "roformer",
               .model_type = "roformer",
               .title = "RoFormer",
               .sign = signs,
               .class = classes,
               .position = "rotary"},
    .prefix = "roformer.",
    .embedding = embedding,
    .layer = rf__rows_bert_layer,
    .head = heads,
    .spelling = rf__spelling_bert,
    .silent = silent,
    .norm = RF_NORM_LAYER,
    .vector = vector,
    .footprint = rf__bert_footprint,
    RF_BERT_LAYER,
};
