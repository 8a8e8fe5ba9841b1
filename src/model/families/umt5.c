/* umt5.c — UMT5: mT5 with positions of each layer.                          Chung et al. 2023; transformers' UMT5...
 *
 * The equations are in t5_layer.c. */
#include "model/layers/t5_layer.h"

static const rf_class_row classes[] = {RF_T5_CLASSES("UMT5"), {0}};
static const rf_config_key keys[] = {RF_T5_KEYS(250112, 1024, 8, 6, TRUTH, 1), {0}};

const rf_family rf__family_umt5 = {RF_T5("umt5", "UMT5", RF_ACT_GELU_TANH, position_layer, rf__t5_bias_of_layer)};
