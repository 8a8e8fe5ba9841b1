/* none.c — no position encoding (NoPE): attention sees a set of tokens.
 *
 *     score(m,n) = <q_m, k_n> / sqrt D                                     Haviv et al. 2022; Kazemnejad et al. 2023 */
#include "model/position.h"

const rf_position rf__position_none = {
    .name = "none",
    .equation = "score(m,n) = <q_m, k_n> / sqrt D",
    .source = "Haviv et al. 2022 (NoPE)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_SYMMETRIC,
};
