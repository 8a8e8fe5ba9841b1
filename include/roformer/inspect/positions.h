/* positions.h — the position encodings that there are: what each computes, adds and costs; rotary frequencies.
 *
 *     const rf_position *p;
 *     for (int i = 0; (p = rf_position_at(i)); i++) printf("%s: %s\n", rf_position_name(p), rf_position_equation(p));
 *
 * threads   rows are constant; configs are only read                                                                 */
#ifndef ROFORMER_POSITIONS_H
#define ROFORMER_POSITIONS_H

#include "roformer/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_position rf_position;

enum {
    RF_POSITION_SHIFT = 1,              /* scores do not change when all positions move by the same number            */
    RF_POSITION_EXTRAPOLATES = 2,       /* defined beyond the positions that were trained                             */
    RF_POSITION_CAUSAL = 4,             /* makes sense in causal attention only                                       */
    RF_POSITION_EXTENSION = 8,          /* not among the encodings that the paper and its sources compare             */
    RF_POSITION_ROPE = 16,              /* rope_scaling and the other keys of rotary positions apply                  */
    RF_POSITION_SYMMETRIC = 32,         /* an encoder gives a text and its reverse mirrored answers                   */
    RF_POSITION_RELATIVE = 64,          /* attention adds terms of offsets to scores or values                        */
    RF_POSITION_LENGTH = 128,           /* goes by the length of each text: keys of earlier tokens cannot be kept     */
    RF_POSITION_VECTOR = 256            /* adds to each word a vector that its position alone decides                 */
};

/* The i-th encoding, static; NULL past the last. */
const rf_position *rf_position_at(int i);

/* The encoding of a config, static.
 *
 *   path             where the config was read from, for the message: a file or its folder; NULL: in memory
 *   RF_EDATA         position_embedding_type is not known (the nearest is suggested), or a key of the encoding is
 *                    outside its limits
 *   RF_EUNSUPPORTED  an encoding that this family of models, or an encoder, cannot run
 *   RF_EARG          config or out is NULL                                                                           */
rf_status rf_position_of(const rf_config *c, const char *path, const rf_position **out, rf_error *why);

const char *rf_position_name(const rf_position *p);             /* position_embedding_type in config.json             */
const char *rf_position_equation(const rf_position *p);
const char *rf_position_source(const rf_position *p);           /* who published it                                   */
int rf_position_flags(const rf_position *p);                    /* RF_POSITION_*                                      */

/* What it adds to a model of this shape: parameters; FLOPs, and bytes read or written, for each token of a text of T
 * tokens in a forward, all layers together.  Either may be NULL. */
int64_t rf_position_parameters(const rf_position *p, const rf_config *c);
void rf_position_cost(const rf_position *p, const rf_config *c, int64_t T, double *flops, double *bytes);

/* ---- rotary positions: planes i = 0 .. r/2 - 1, the fastest first ------------------------------------------------ */

/* Everything that a config can say wrong of them: RF_EDATA, RF_EUNSUPPORTED. */
rf_status rf_rope_check(const rf_config *c, rf_error *why);
int64_t rf_rope_width(const rf_config *c);                      /* r: columns of a head that are rotated              */
double rf_rope_base(const rf_config *c, int64_t layer);         /* rope_theta, or the layer's own                     */

/* theta_i = base^(-2i/r), stretched as rope_scaling says, radians for each token; length: tokens of the text, for those
 * types that go by it, else 0. */
double rf_rope_frequency(const rf_config *c, int64_t layer, int64_t length, int64_t i);

#ifdef __cplusplus
}
#endif
#endif
