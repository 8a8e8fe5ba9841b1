/* transformer.c — the Transformer with encoder and decoder.              Vaswani et al. 2017; RoFormer, Section 4.1
 *
 * The encoder and decoder of seq2seq.c with any encoding of `roformer positions` on either side. RoFormer's rotates
 * queries and keys of self-attention on both sides and does not change attention to the source, unless
 * rotary_cross_attention also requests rotation there, by the positions in source and target.
 *
 *     logits = h word^T */
#include "model/layers/seq2seq.h"

static const rf_family_row which[] = {
    RF_HEAD_UNTIED("lm_head.weight", GLOROT),
    {{0}, 0},
};
static const rf_head_row heads[] = {{RF_HEAD_SEQ2SEQ, RF_HEAD_INPUT_ALL, which, rf__head_none}, {0}};
static const rf_class_row classes[] = {{RF_HEAD_SEQ2SEQ, "TransformerForConditionalGeneration", false, true}, {0}};

/* Transformer-base, with the 37,000 subwords of the paper. */
static const rf_config_key keys[] = {RF_SEQ2SEQ_KEYS(512, 6, 8, 2048, 37000, 0, 0, 1)};

const rf_family rf__family_transformer = {
    .config = {.name = "transformer",
               .model_type = "transformer",
               .title = "Transformer",
               .key = keys,
               .class = classes,
               .position = "rotary",
               .any_position = true,
               .one_width = true,
               .pairs = true,
               .start_once = true,
               .act = "activation_function",
               .usual_act = RF_ACT_RELU,
               .elsewhere = "transformers has no class for model_type `transformer`; the names of tensors and keys are "
                            "those of its MarianMTModel."},
    .head = heads,
    RF_SEQ2SEQ,
};
