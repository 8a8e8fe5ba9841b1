/* mt5.c — mT5: T5 1.1 with 101 languages.                                     Xue et al. 2021; transformers' MT5...
 *
 * The equations are in t5_layer.c; logits are not scaled. */
#include "model/layers/t5_layer.h"

static const rf_class_row classes[] = {RF_T5_CLASSES("MT5"), {0}};
static const rf_config_key keys[] = {RF_T5_KEYS(250112, 1024, 8, 6, NONE, 1), {0}};

const rf_family rf__family_mt5 = {RF_T5("mt5", "mT5", RF_ACT_GELU_TANH, position_embedding, rf__t5_bias_of_stack)};
