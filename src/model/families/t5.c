/* t5.c — T5 1.0, 1.1, FLAN-T5 and encoders of sentences made of them.      Raffel et al. 2020; transformers' T5...
 *
 * The equations are in t5_layer.c. */
#include "model/layers/t5_layer.h"

static const rf_class_row classes[] = {RF_T5_CLASSES("T5"), {0}};
static const rf_config_key keys[] = {RF_T5_KEYS(32128, 2048, 6, 8, TRUTH, 0), {0}};

const rf_family rf__family_t5 = {RF_T5("t5", "T5", RF_ACT_RELU, position_embedding, rf__t5_bias_of_stack)};
