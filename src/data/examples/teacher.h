/* teacher.h — vectors of a teacher model: row i of the NumPy file belongs to example i. */
#ifndef RF_DATA_TEACHER_H
#define RF_DATA_TEACHER_H

#include "base/base.h"

typedef struct rf__teacher {
    rf_map map;
    const unsigned char *at;            /* row 0; NULL: there is no file                                              */
    size_t width;                       /* bytes of a number: 2, 4 or 8                                               */
    int64_t rows, C;
} rf__teacher;

/* Maps the file: NumPy's format 1 to 3, rows of floats, little-endian. Closed by the caller, also after an error. */
rf_status rf__teacher_open(const rf_ctx *ctx, const char *path, rf__teacher *t, rf_error *why);
void rf__teacher_close(const rf_ctx *ctx, rf__teacher *t);

/* Row i as floats [C]; returns the first number that is not finite, from 1, or 0. */
int64_t rf__teacher_row(const rf__teacher *t, int64_t i, float *out);

#endif
