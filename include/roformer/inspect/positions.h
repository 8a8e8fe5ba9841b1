/* positions.h — the list of position encodings with their equations, parameters and costs; rotary frequencies.
 *
 *     const rf_position *p;
 *     for (int i = 0; (p = rf_position_at(i)); i++) printf("%s: %s\n", rf_position_name(p), rf_position_equation(p));
 *
 * threads   rows are constant; configs are only read */
#ifndef ROFORMER_POSITIONS_H
#define ROFORMER_POSITIONS_H

#include "roformer/checkpoint.h"
#include "roformer/kernel/rope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_position rf_position;

enum {
    RF_POSITION_SHIFT = 1,              /* scores depend only on differences of positions */
    RF_POSITION_EXTRAPOLATES = 2,       /* defined beyond the trained positions */
    RF_POSITION_CAUSAL = 4,             /* only meaningful in causal attention */
    RF_POSITION_EXTENSION = 8,          /* not among the encodings that the paper and its sources compare */
    RF_POSITION_ROPE = 16,              /* rope_scaling and the other keys of rotary positions apply */
    RF_POSITION_SYMMETRIC = 32,         /* a reversed text gives mirrored results in an encoder */
    RF_POSITION_RELATIVE = 64,          /* adds terms that depend on offsets to scores or values */
    RF_POSITION_LENGTH = 128,           /* depends on the length of each text: keys cannot be cached */
    RF_POSITION_VECTOR = 256            /* adds to each word a vector that depends only on its position */
};

/* The i-th encoding, in static storage; NULL past the last. */
const rf_position *rf_position_at(int i);

/* The encoding of a config, in static storage.
 *
 *   path             where the config was read from (a file or its folder), for messages; NULL: from memory
 *   RF_EDATA         position_embedding_type is unknown (the message suggests the nearest), or a key of the encoding is
 *                    out of range
 *   RF_EUNSUPPORTED  the encoding does not work in this family of models, or in an encoder
 *   RF_EARG          config or out is NULL */
rf_status rf_position_of(const rf_config *c, const char *path, const rf_position **out, rf_error *why);

const char *rf_position_name(const rf_position *p);             /* position_embedding_type in config.json */
const char *rf_position_equation(const rf_position *p);
const char *rf_position_source(const rf_position *p);           /* publication */
int rf_position_flags(const rf_position *p);                    /* sum of RF_POSITION_* flags */

/* The number of parameters that the encoding adds to a model with this config. */
int64_t rf_position_parameters(const rf_position *p, const rf_config *c);

/* What a forward pass over all layers takes, of one text of T tokens and without the head, counted by the pass's own
 * code without computing it. Tables that are made once for all texts do not count. An encoding adds the difference to
 * the same config with position_embedding_type "none".
 *
 *   flops    arithmetic, a multiply-add as two; may be NULL
 *   bytes    read and written by the operations, except parameters; may be NULL
 *   others   what the config's model refuses; RF_ERANGE: T is below 1 */
rf_status rf_forward_cost(const rf_ctx *ctx, const rf_config *c, int64_t T, double *flops, double *bytes,
                          rf_error *why);

/* ---- rotary positions: planes i = 0 to r/2 - 1, the fastest first ------------------------------------------------ */

/* Checks all rotary settings of a config: RF_EDATA, RF_EUNSUPPORTED. */
rf_status rf_rope_check(const rf_config *c, rf_error *why);
int64_t rf_rope_width(const rf_config *c);                      /* r: rotated columns of a head */
double rf_rope_base(const rf_config *c, int64_t layer);         /* rope_theta, or that of the layer */

/* theta_i = base^(-2i/r), scaled as rope_scaling says, in radians per token. length: tokens of the text, for types that
 * depend on it, else 0. */
double rf_rope_frequency(const rf_config *c, int64_t layer, int64_t length, int64_t i);

/* Creates the table of these frequencies: row i holds the rotation by position[i], multiplied by the gain that yarn and
 * longrope have (attention_factor).
 *
 *   out              freed with rf_rope_free; unchanged on error
 *   RF_EDATA         as rf_rope_check
 *   RF_EUNSUPPORTED  the config has mrope_section, whose positions are triples
 *   RF_EARG          n is below 1, or a pointer is NULL */
rf_status rf_rope_scaled(const rf_ctx *ctx, const rf_config *c, int64_t layer, int64_t length, rf_rope_layout layout,
                         const int32_t position[], int64_t n, rf_rope **out, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
