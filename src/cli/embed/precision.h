/* precision.h — types of the numbers in a file of vectors, with the names and formulas of sentence-transformers'
 * quantize_embeddings:
 *
 *     f16       round to nearest even
 *     int8      clip(floor((x - low) / step), 0, 255) - 128       low, high: least and largest number of the column
 *     uint8     clip(floor((x - low) / step), 0, 255)             step = (high - low) / 255, or 1 if that is 0
 *     ubinary   one bit for each number, 1 if it is above 0; eight in a byte, the first one in its highest bit
 *     binary    the same bytes minus 128, as int8                                                                    */
#ifndef CLI_PRECISION_H
#define CLI_PRECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

typedef enum cli_precision {
    CLI_F32, CLI_F16, CLI_INT8, CLI_UINT8, CLI_BINARY, CLI_UBINARY, CLI_PRECISIONS
} cli_precision;
#define CLI_PRECISION_NAMES "f32|f16|int8|uint8|binary|ubinary"

/* Names of each: of the option, of NumPy, of safetensors. */
typedef struct cli_precision_names { const char *option, *numpy, *safetensors; } cli_precision_names;
extern const cli_precision_names cli_precision_of[CLI_PRECISIONS];

static inline bool cli_is_ranged(cli_precision p) { return p == CLI_INT8 || p == CLI_UINT8; }

size_t cli_precision_columns(cli_precision p, size_t width);            /* elements of a row of `width` numbers      */
size_t cli_precision_bytes(cli_precision p, size_t width);              /* its bytes                                 */

/* range [2,width]: the smallest and the largest number of each column, updated by a row.  `first`: it is the first. */
void cli_range_add(float *range, const float *v, size_t width, bool first);

/* One row.  range: for int8 and uint8. */
void cli_precision_encode(const rf_ctx *ctx, cli_precision p, const float *v, size_t width, const float *range,
                          void *out);

#endif
