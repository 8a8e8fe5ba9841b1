/* position_curves.h — the numbers that `roformer positions plot` draws. */
#ifndef CLI_POSITION_CURVES_H
#define CLI_POSITION_CURVES_H

#include "cli/io/io.h"
#include "roformer/kernel/kernels.h"

enum { CLI_CURVE_COLUMNS = 6 };

/* The source of the curve: a layer of a config, and the length of text for dynamic and longrope (0: not scaled). The
 * kernels round to half types. */
typedef struct curve_of { const rf_config *c; const rfk_table *k; int64_t layer, length; } curve_of;

typedef struct cli_curve {
    const char *name, *summary, *x, *y;
    /* the columns after x: their names in the list of numbers, and in the plot */
    struct { const char *key, *label; } column[CLI_CURVE_COLUMNS + 1];
    bool log_x, log_y;
    int64_t most;                                           /* default of the largest distance                        */
    /* Row i of the curve: row[0] is x, then the columns; false: there are no more rows. */
    bool (*row)(const curve_of *of, int64_t distance, int64_t i, double row[]);
} cli_curve;

extern const cli_curve cli_curves[];                        /* without a name at the end                              */

#endif
