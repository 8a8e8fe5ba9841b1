/* linear_attention.h — internal: linear attention of one sequence and one head, chunk by chunk.
 *
 *     num_m = sum_n <R(m) phi(q_m), R(n) psi(k_n)> v_n,   den_m = sum_n <phi(q_m), psi(k_n)>,   out_m = num_m / den_m
 *
 * over all n, or n <= m when causal: Eq. 17, and with R Eq. 19.  Sums over keys are states, S = sum R(n) psi(k_n) v_n^T
 * [f, D] and z = sum psi(k_n) [f].  A causal query uses S of the chunks before, and the keys of its own chunk one by
 * one; z is updated with every key.
 *
 * Bits.  Chunks begin at multiples of RFK_LINEAR_CHUNK tokens of a sequence, and a state keeps the unfinished chunk.
 * So a result does not depend on how the tokens are divided into calls.  Sums over chunks and over keys are kept in two
 * floats.
 *
 * Decay (xPos).  With factors z of the columns of a row, R(m) phi is z^m R(m) phi for queries and z^-m R(m) psi for
 * keys, in the numerator: a token at distance d has the factor z^d.  Exponents count from the beginning of the chunk,
 * and S is multiplied by z^c after a chunk of c tokens.  So no power is far from 1, however long the text is.
 *
 * A denominator that is zero, subnormal or not a number gives zeros, without gradient, and is counted. */
#ifndef RF_LINEAR_H
#define RF_LINEAR_H

#include "kernel/attention/linear/feature_maps.h"

/* Chunks of the backward pass are shorter: their arrays have to fit the second-level cache. */
enum { RFK_LINEAR_CHUNK = 128, RFK_LINEAR_BACK_CHUNK = 64, RFK__WIDEST = 768 };

/* The sizes of panels, and of a chunk padded to whole panels. */
typedef struct rfk__tiles { const rfk_table *k; int64_t columns, stride, depth, chunk; } rfk__tiles;
rfk__tiles rfk__tiles_of(const rfk_table *k);

typedef struct rfk__linear {
    const rfk_table *k;
    rfk__tiles tile;                    /* set by the calls below                                                     */
    const rfk__feature_map *map;
    int64_t width, features;            /* D (at most RFK__WIDEST) and f                                              */
    const float *w;                     /* panels (rfk__linear_pack), where the map projects                          */
    float epsilon;
    bool causal, bf16;                  /* bf16: q, k and v are rounded to it when they are read                      */

    /* Rotation: `after` the map, of features in the numerator (rotary = f), or before it, of q and k.  NULL: none. */
    const float *cos, *sin;
    const int32_t *row;                 /* of each token                                                              */
    int64_t rotary;
    rf_rope_layout layout;
    bool after;
    const float *decay;                 /* causal, after the map: powers (rfk__linear_decay); NULL: none              */

    const float *q, *key, *v;
    int64_t stride, tokens;
    float *out;
    int64_t out_stride;
    void *state;                        /* causal: state after earlier calls, and state after this call; NULL: none   */
    void *left;                         /* causal: data that a stateless forward stores for the backward; or NULL */
    int64_t underflows;                 /* added to                                                                   */
} rfk__linear;

typedef struct rfk__linear_grad {
    const float *d_out;
    int64_t d_out_stride;
    float *dq, *dk, *dv;
    int64_t stride;
} rfk__linear_grad;

/* Bytes of a state of one head, and of scratch.  rfk__linear_fits has checked the sizes. */
size_t rfk__linear_state_bytes(const rfk_table *k, int64_t features, int64_t width);
size_t rfk__linear_scratch(const rfk__linear *a);
size_t rfk__linear_back_scratch(const rfk__linear *a);

/* Whether all these byte counts fit 63 bits. */
bool rfk__linear_fits(const rfk_table *k, int64_t features, int64_t width, int64_t tokens);

/* Bytes that a forward pass of that many tokens stores: S and z before each chunk but the first, and 1 / den of each
 * token. */
size_t rfk__linear_left_bytes(const rfk_table *k, int64_t features, int64_t width, int64_t tokens);

void rfk__linear_begin(const rfk_table *k, void *state, int64_t features, int64_t width);            /* no token yet  */
int64_t rfk__linear_count(const void *state);                           /* tokens seen so far                         */

/* Floats of the panels of W^T, which the panels of W [f, D] follow; and the panels. */
size_t rfk__linear_panels(const rfk_table *k, int64_t features, int64_t width);
void rfk__linear_pack(const rfk_table *k, const float *w, int64_t features, int64_t width, float *panels);

/* Powers of z, one factor for each plane: size of their table in floats, and the table. */
size_t rfk__linear_decays(int64_t features);
void rfk__linear_decay(const double *z, int64_t features, rf_rope_layout layout, float *table);

void rfk__linear_forward(rfk__linear *a, void *scratch);
void rfk__linear_back(const rfk__linear *a, const rfk__linear_grad *d, void *scratch);

/* ---- what forward and backward share (linear_attention_chunk.c) -------------------------------------------------- */

enum {
    RFK__CHUNK = RFK_LINEAR_CHUNK,
    RFK__RISE = 64,                     /* features that are added to a state at a time                               */
    RFK__SURVEYED = 1 << 22,            /* maximum floats of u that a survey stores; beyond it, u is made twice */
    RFK__NEVER = -(1 << 29)             /* exponent of an empty sum                                                   */
};

/* S [D panels][f][columns] or its adjoint, in units of 2^exponent, with two floats for each number. */
typedef struct rfk__sum { float *high, *low; int32_t exponent; } rfk__sum;

/* Features of a chunk's tokens, by columns: [chunk panels][f][columns], or if `row` is given, by rows with that
 * `stride`; the values that belong to them, by rows: [D panels][chunk][columns]; and the unit of each token. */
typedef struct rfk__deck {
    float *feature, *value;
    int32_t *exponent;
    const float *row;
    int64_t stride;
} rfk__deck;

/* One head's state.  Offsets depend only on f and D. */
typedef struct rfk__head_state {
    int64_t count;
    int32_t exponent, sum_exponent;     /* of z, and of S                                                             */
    float top;
    int32_t unused[11];                 /* padded to 64 bytes, with which panels are read fastest                     */
    float x[];                          /* S high, low; z high, low; a deck                                           */
} rfk__head_state;

typedef struct rfk__view { rfk__sum s; float *z, *z_low; rfk__deck deck; } rfk__view;
rfk__view rfk__state_view(const rfk__tiles *tile, rfk__head_state *state, int64_t features, int64_t width);

/* What a forward pass stores: 1 / den [tokens], and for chunk c > 0 the state before it, high parts of S and z. */
typedef struct rfk__left { int32_t exponent, sum_exponent; float top; int32_t unused[13]; float x[]; } rfk__left;
rfk__left *rfk__left_of(const rfk__linear *a, int64_t chunk);

/* Prefetches row t + RFK__AHEAD of `from`, with row stride `stride`, if it exists: rows of one head are far apart,
 * where the hardware does not prefetch. */
enum { RFK__AHEAD = 8 };
static inline void rfk__ahead(const float *from, int64_t t, int64_t tokens, int64_t stride, int64_t width)
{
    const float *row = from + (t + RFK__AHEAD < tokens ? t + RFK__AHEAD : tokens - 1) * stride;
    for (int64_t j = 0; j < width; j += 16) __builtin_prefetch(row + j);
}

/* Blocks of scratch, 64-byte aligned. */
typedef struct rfk__carving { char *at; size_t used; } rfk__carving;
static inline void *rfk__cut(rfk__carving *c, size_t count, size_t size)
{
    void *p = c->at ? c->at + c->used : NULL;
    c->used += (count * size + 63) / 64 * 64;
    return p;
}

static inline float *rfk__floats(rfk__carving *c, int64_t n) { return rfk__cut(c, (size_t)n, sizeof(float)); }

static inline int64_t rfk__padded(const rfk__tiles *tile, int64_t n)
{
    return (n + tile->columns - 1) / tile->columns * tile->columns;
}
static inline int64_t rfk__cuts(const rfk__tiles *tile, int64_t depth)
{
    return (depth + tile->depth - 1) / tile->depth;
}
float rfk__power(int32_t difference);   /* 2^difference, 0 far below                                                  */

/* Rows as the left operand of a product: [cuts][rows][stride]. */
typedef struct rfk__rows { float *x; int64_t rows, depth; } rfk__rows;
rfk__rows rfk__carve_rows(const rfk__tiles *tile, rfk__carving *c, int64_t depth);      /* a chunk's              */
void rfk__put_row(const rfk__tiles *tile, const rfk__rows *to, int64_t i, const float *x);

/* c[i,:32] (+)= rows[i,:depth] panel, for rows first .. first + n - 1. */
void rfk__multiply(const rfk__tiles *tile, float *c, int64_t ldc, const rfk__rows *a, int64_t first, int64_t n,
                   const float *panel, bool add);

/* n tokens from `first` on: x as the map needs it, and u.  x: [CHUNK] rows; u: [CHUNK, f] with row stride `stride`.
 * all: u of all tokens if they were surveyed and memory sufficed, otherwise NULL. */
typedef struct rfk__features { rfk__rows x; float *u; int64_t stride; float *all; } rfk__features;
void rfk__load(const rfk__linear *a, const rfk__features *to, const float *from, int64_t first, int64_t n);
void rfk__load_row(const rfk__linear *a, float *x, const float *from);          /* rounded if requested               */

/* A row of features rotated by token t's angles, in y (may be x); a copy if features are not rotated.  With a decay,
 * the one of the token at `place` in its chunk. */
enum { RFK__QUERY, RFK__KEY };
void rfk__rotate_features(const rfk__linear *a, float *y, const float *x, int64_t t, float direction, int side,
                          int64_t place);

/* Factor of a sum after a chunk of RFK__CHUNK tokens, or of the backward pass's chunk: [f], or NULL; one number; and a
 * sum of the forward pass. */
const float *rfk__decay_powers(const rfk__linear *a, bool back);
void rfk__decay_one(float *high, float *low, float power);
void rfk__fade(const rfk__linear *a, rfk__sum *sum);

/* A row of q or k if they are rotated before the map. */
void rfk__rotate_vector(const rfk__linear *a, float *x, int64_t t, float direction);

/* Updates M and E with a key whose features are u. */
void rfk__see(const rfk__feature_map *map, rfk__mapping *m, const float *u);
rfk__mapping rfk__mapping_of(const rfk__linear *a);

/* Computes what M or the columns need of all keys of an encoder; column: [3, f]. */
void rfk__column_statistics(const rfk__linear *a, rfk__mapping *m, const rfk__features *work, float *column);

/* The same from the u that a survey stored, if it did. */
rfk__features rfk__load_surveyed(const rfk__linear *a, const rfk__features *to, const float *from, int64_t first,
                                 int64_t n);

/* Columns at .. at + n - 1 of a deck from rows of f features with stride `stride`, and values of row i. */
void rfk__pack_features(const rfk__tiles *tile, float *feature, const float *x, int64_t stride, int64_t at, int64_t n,
                        int64_t features);
void rfk__pack_value(const rfk__tiles *tile, float *value, int64_t i, const float *v, int64_t width);

/* sum = sum + sum_t feature_t value_t^T 2^(e_t - unit), t < n.  block: [RISE, stride], part: [RISE, columns]. */
void rfk__advance(const rfk__tiles *tile, rfk__sum *sum, const rfk__deck *deck, int64_t n, int32_t unit,
                  int64_t features, int64_t width, float *block, float *part);

/* Features and values of n keys from `first` on, already mapped, as columns `at`.. of a deck, or if `columns` is false
 * as rows of `rotated`, which may be key->u; row: [D]. */
void rfk__take_keys(const rfk__linear *a, const rfk__features *key, float *rotated, rfk__deck *deck, float *row,
                    int64_t first, int64_t n, int64_t at, bool columns);

/* Floats that a survey stores: 0 if there is none, or if they are too many. */
int64_t rfk__surveyed(const rfk__linear *a);

/* S and z of all keys, in the unit of m; u stored by a survey is replaced by features. */
void rfk__linear_keys(const rfk__linear *a, const rfk__features *key, rfk__mapping *m, rfk__head_state *state,
                      float *row, float *block, float *part);

/* x[i,:] = 2^power x[i,:] if power is not 0 */
void rfk__scale_row(const rfk_table *k, float *x, int32_t power, int64_t n);

/* Multiplies rows [first, first+n) of scores by units and mask: x[t,s] = 2^(e_s - e_t) x[t,s] for s <= t, and 0 from
 * there to the end of t's panel.  transposed: rows are keys, x[s,t] for t >= s, and 0 before it from the beginning of
 * s's panel. */
void rfk__mask(const rfk__tiles *tile, float *x, const int32_t *exponent, int64_t first, int64_t n, int64_t end,
               bool transposed);

/* 1 / den, or 0 if den is invalid. */
float rfk__inverse(float den);
#endif
