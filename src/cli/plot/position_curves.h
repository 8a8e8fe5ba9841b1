/* position_curves.h — what `roformer positions plot` draws, as numbers. */
#ifndef CLI_POSITION_CURVES_H
#define CLI_POSITION_CURVES_H

#include "cli/shell/io.h"
#include "roformer/kernel/kernels.h"

enum { CLI_CURVE_COLUMNS = 6 };

/* Whose curve it is: a layer of a config, and the length of text that dynamic and longrope go by (0: not stretched).
 * The kernels round to half types. */
typedef struct curve_of { const rf_config *c; const rfk_table *k; int64_t layer, length; } curve_of;

typedef struct cli_curve {
    const char *name, *summary, *x, *y;
    /* what follows x in a row: in the list of numbers, in the plot */
    struct { const char *key, *label; } column[CLI_CURVE_COLUMNS + 1];
    bool log_x, log_y;
    int64_t most;                                           /* the largest distance where none is asked for           */
    /* Row i of the curve: row[0] is x, then the columns; false when there are no more. */
    bool (*row)(const curve_of *of, int64_t distance, int64_t i, double row[]);
} cli_curve;

extern const cli_curve cli_curves[];                        /* without a name at the end                              */

#endif
