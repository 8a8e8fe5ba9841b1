/* position_curves.h — what `roformer positions plot` draws, as numbers. */
#ifndef CLI_POSITION_CURVES_H
#define CLI_POSITION_CURVES_H

#include "cli/io.h"

enum { CLI_CURVE_COLUMNS = 6 };
typedef struct cli_curve {
    const char *name, *summary, *x, *y;
    const char *column[CLI_CURVE_COLUMNS + 1];              /* names of what follows the first number of a row          */
    bool log_x, log_y;
    /* Row i of the curve: row[0] is x, then the columns; false when there are no more. */
    bool (*row)(const rf_config *c, int64_t distance, int64_t i, double row[]);
} cli_curve;

extern const cli_curve cli_curves[];                        /* without a name at the end                                */

#endif
