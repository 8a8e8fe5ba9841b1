/* roformer.c — RoFormer.                                            Su et al. 2021; transformers' RoFormerFor...
 *
 * BERT's post-norm layers (bert_layer.c) without positions in the embeddings. Positions enter by the rotation of
 * queries and keys, or by another encoding of `roformer positions`. Embeddings may be narrower than the layers.
 *
 *     logits  = norm(act(h W_t + b_t)) word^T + b
 *     vector  = h_[CLS] W_p + b_p                         RoFormer-Sim (pooler_activation "linear") */
#include "model/layers/bert_layer.h"

static const rf_family_row embedding[] = {
    RF_BERT_WORDS,
    RF_BERT_WORDS_NORM,
    RF_BERT_PROJECT("embeddings_project", rf__when_projected),
    RF_BERT_VECTOR,
    {{0}, 0},
};

/* transformers has no RoFormer class for BERT's pooler. */
static const rf_family_row pooled[] = {RF_BERT_POOLED("KC", "K", 0), {{0}, 0}};

static const rf_head_row heads[] = {
    {RF_HEAD_MLM, RF_HEAD_INPUT_ALL, rf__rows_masked, rf__head_masked},
    RF_ROFORMER_HEADS,
    {RF_HEAD_DETECT, RF_HEAD_INPUT_ALL, rf__rows_detect, rf__head_detect},
    {RF_HEAD_POOLED, RF_HEAD_INPUT_FIRST, pooled, rf__head_pooled},
    RF_BERT_HEADS,
    {0},
};

static const rf_class_row classes[] = {
    RF_BERT_CLASSES("RoFormer", RF_HEAD_SEQUENCE),
    {RF_HEAD_MLM, "RoFormerForCausalLM", true, false},
    {RF_HEAD_MLM, "RoFormerForPreTraining", false, false},
    {RF_HEAD_MLM, "RoFormerModel", false, false},
    {RF_HEAD_MLM, "RoFormerMaskedLM", false, false},      /* the name in one published folder */
    {RF_HEAD_POOLED, "RoFormerPooledForSequenceClassification", false, true},
    {RF_HEAD_DETECT, "RoFormerForReplacedTokenDetection", false, true},
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

/* transformers' RoFormerModel has no pooler; TensorFlow checkpoints, and folders converted from them, have one. */
static const char *const left_out[] = {"pooler.dense.weight", "pooler.dense.bias", NULL};

const rf_family rf__family_roformer = {
    .config = {.name = "roformer",
               .model_type = "roformer",
               .title = "RoFormer",
               .sign = signs,
               .class = classes,
                .vectors = true,
                .position = "rotary",
                .any_position = true},
    .prefix = "roformer.",
    .embedding = embedding,
    .layer = rf__rows_bert_layer,
    .head = heads,
    .spelling = rf__spelling_bert,
    .silent = silent,
    .left_out = left_out,
    .norm = RF_NORM_LAYER,
    .vector = rf__bert_vector,
    RF_BERT_LAYER,
};
