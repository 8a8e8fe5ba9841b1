/* linear_attention_backward.c — backward pass of linear attention.  With o the adjoint of out, a_t = o_t / den_t and
 * b_t = -<o_t, out_t> / den_t are those of num and den, and (sums over pairs t, s where query t sees key s)
 *
 *     d R phi(q_t) = S a_t                 S = sum_s R psi(k_s) v_s^T          d phi(q_t) += b_t z
 *     d R psi(k_s) = G v_s                 G = sum_t R phi(q_t) a_t^T          d psi(k_s) += w,  w = sum_t b_t phi(q_t)
 *     d v_s        = G^T R psi(k_s)
 *
 * Causal: S and z of earlier chunks, G and w of later chunks, and all pairs within a chunk.  The forward pass stored S
 * and z before each of its chunks.  One chunk of the forward pass is two chunks of the backward pass: their keys are
 * mapped together, and S and z of the second follow from the keys of the first.  S and G are [f panels][D][columns]
 * here: features are the columns of panels. */
#include <math.h>

#include "kernel/attention/linear/linear_attention.h"

enum { CHUNK = RFK_LINEAR_BACK_CHUNK, BOTH = RFK_LINEAR_CHUNK };        /* two of them are one forward chunk */

/* What one side, queries or keys, stores for a chunk. */
struct side {
    rfk__features is;                   /* x, and u, which is replaced by the features, not rotated */
    rfk__rows rotated;
    float *by_row;                      /* [f panels][chunk][columns] of rotated */
    rfk__rows d;                        /* adjoint of rotated; then of features; then of u */
};

/* Before a chunk: S without its low part, and z in the unit of `exponent`. */
struct before { rfk__sum S; float *z; int32_t exponent; };

struct work {
    struct side q, k;                   /* causal: keys of two chunks, see go_on */
    rfk__rows a, v;                     /* [CHUNK, D]; v as keys */
    float *by_column;                   /* of queries: [chunk panels][f][columns] */
    float *a_row, *v_column;            /* [D panels][chunk][columns], [chunk panels][D][columns] */
    float *weight, *d_weight;           /* [CHUNK, stride]: <k_s, q_t>, <a_t, v_s> */
    float *d_weight_back;               /* [s,t] of that */
    float *dv, *dx;                     /* [CHUNK, padded D] */
    float *b, *top;                     /* [CHUNK]; top and exponent as keys */
    int32_t *exponent;
    struct before before[2];            /* causal: of both chunks; S of an encoder is in the first */
    rfk__sum G;
    float *other;                       /* G or S as [D panels][f][columns] */
    float *z, *z_low, *w, *w_low, *partial, *row, *column, *block, *part;
    rfk__head_state *state;             /* an encoder's */
};

/* Rows of f columns as the left operand of a product, in one cut if the panel is deep enough. */
static int64_t stride_of(const rfk__linear *a)
{
    return a->features <= a->tile.depth ? a->tile.stride : rfk__padded(&a->tile, a->features);
}

static rfk__rows carve_wide(rfk__carving *c, const rfk__linear *a, int64_t rows)
{
    return (rfk__rows){rfk__floats(c, rows * stride_of(a)), rows, a->features};
}

static struct side carve_side(rfk__carving *c, const rfk__linear *a, int64_t rows)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    struct side s;
    s.is.x = rfk__carve_rows(&a->tile, c, a->width);
    s.is.stride = wide;
    s.is.all = NULL;
    s.is.u = rfk__floats(c, RFK__CHUNK * wide);             /* of the forward pass's chunks, too */
    s.rotated = carve_wide(c, a, rows);
    s.by_row = rfk__floats(c, a->tile.chunk * wide);
    s.d = carve_wide(c, a, CHUNK);
    return s;
}

static struct work carve(const rfk__linear *a, void *scratch, size_t *bytes)
{
    const rfk__tiles *tile = &a->tile;
    const int64_t f = a->features, wide = rfk__padded(tile, f), D = a->width, Dw = rfk__padded(tile, D);
    rfk__carving c = {scratch, 0};
    struct work w = {.q = carve_side(&c, a, CHUNK), .k = carve_side(&c, a, a->causal ? BOTH : CHUNK)};
    if (rfk__surveyed(a)) w.k.is.all = rfk__floats(&c, rfk__surveyed(a));
    w.a = rfk__carve_rows(tile, &c, D);
    w.v = rfk__carve_rows(tile, &c, D);
    w.by_column = rfk__floats(&c, tile->chunk * f);
    w.a_row = rfk__floats(&c, tile->chunk * Dw);
    w.v_column = rfk__floats(&c, tile->chunk * D);
    w.weight = rfk__floats(&c, CHUNK * tile->stride);
    w.d_weight = rfk__floats(&c, CHUNK * tile->stride);
    w.d_weight_back = rfk__floats(&c, CHUNK * tile->stride);
    w.dv = rfk__floats(&c, CHUNK * Dw);
    w.dx = rfk__floats(&c, CHUNK * Dw);
    w.b = rfk__floats(&c, CHUNK);
    w.top = rfk__floats(&c, BOTH);
    w.exponent = rfk__cut(&c, BOTH, sizeof *w.exponent);
    float **const sums[] = {&w.before[0].S.high, &w.before[1].S.high, &w.G.high, &w.G.low, &w.other};
    for (size_t i = 0; i < RF_COUNT(sums); i++) *sums[i] = rfk__floats(&c, wide * Dw);
    float **const rows[] = {&w.before[0].z, &w.before[1].z, &w.z, &w.w, &w.w_low, &w.partial};
    for (size_t i = 0; i < RF_COUNT(rows); i++) *rows[i] = rfk__floats(&c, wide);
    w.row = rfk__floats(&c, rf__max64(wide, Dw));
    w.column = rfk__floats(&c, 4 * f);
    w.block = rfk__floats(&c, rf__max64(RFK__RISE, D) * tile->stride);
    w.part = rfk__floats(&c, rf__max64(RFK__RISE, D) * tile->columns);
    if (!a->causal) w.state = rfk__cut(&c, rfk__linear_state_bytes(a->k, f, D), 1);
    *bytes = c.used;
    return w;
}

size_t rfk__linear_back_scratch(const rfk__linear *a)
{
    rfk__linear is = *a;
    size_t bytes;
    is.tile = rfk__tiles_of(a->k);
    carve(&is, NULL, &bytes);
    return bytes;
}

/* ---- layouts and sums -------------------------------------------------------------------------------------------- */

/* Copies row i of a side to by_row. */
static void pack_side_row(const rfk__linear *a, const struct side *s, int64_t i)
{
    const float *x = s->rotated.x + i * stride_of(a);
    for (int64_t j = 0; j < a->features; j += a->tile.columns)
        memcpy(s->by_row + j * a->tile.chunk + i * a->tile.columns, x + j, (size_t)a->tile.columns * sizeof *x);
}

/* y [n, ..] = rows panel.  Rows of f columns are one cut, or are divided into cuts of a product's depth. */
static void multiply_wide(const rfk__linear *a, float *block, float *y, int64_t ldy, const rfk__rows *rows, int64_t n,
                          const float *panel)
{
    const int64_t stride = stride_of(a), depth = a->tile.depth;
    for (int64_t p = 0; p < a->features; p += depth) {
        const int64_t deep = rf__min64(depth, a->features - p);
        const float *left = rows->x;
        for (int64_t i = 0; stride != a->tile.stride && i < n; i++) {
            memcpy(block + i * a->tile.stride, rows->x + i * stride + p, (size_t)deep * sizeof *block);
            left = block;
        }
        a->k->gemm_panel(y, ldy, left, panel + p * a->tile.columns, n, a->tile.columns, deep, p ? y : NULL, ldy);
    }
}

/* [n panels][m][columns] of [m panels][n][columns] */
static void flip(const rfk__linear *a, float *to, const float *from, int64_t m, int64_t n)
{
    const int64_t columns = a->tile.columns;
    for (int64_t i = 0; i < m; i += columns)
        for (int64_t j = 0; j < n; j += columns)
            a->k->transpose(to + j * m + i * columns, columns, from + i * n + j * columns, columns,
                            rf__min64(columns, n - j), rf__min64(columns, m - i));
}

/* Rows of values as columns, in `block`; token t times 2^(e_t - unit), or times 2^(unit - e_t). */
static void transpose_values(const rfk__linear *a, struct work *w, const rfk__rows *value, int64_t n, int32_t unit,
                             bool reverse)
{
    const int64_t D = a->width, stride = a->tile.stride;
    a->k->transpose(w->block, stride, value->x, stride, n, D);
    for (int64_t t = 0; t < n; t++) {
        if (w->exponent[t] == unit) continue;
        const float power = rfk__power(reverse ? unit - w->exponent[t] : w->exponent[t] - unit);
        for (int64_t j = 0; j < D; j++) w->block[j * stride + t] *= power;
    }
}

/* G = G + sum_t a_t R phi(q_t)^T 2^(unit - e_t), t < n */
static void advance(const rfk__linear *a, struct work *w, int64_t n, int32_t unit)
{
    const int64_t D = a->width, columns = a->tile.columns;
    const float keep = rfk__power(unit - w->G.exponent);
    transpose_values(a, w, &w->a, n, unit, true);
    for (int64_t i = 0; i < a->features; i += columns) {
        a->k->gemm_panel(w->part, columns, w->block, w->q.by_row + i * a->tile.chunk, D, columns, n, NULL, 0);
        a->k->accumulate(w->G.high + i * D, w->G.low + i * D, keep, w->part, D * columns);
    }
    w->G.exponent = unit;
}

/* Carries a sum from one chunk to the next. */
static void fade(const rfk__linear *a, rfk__sum *sum)
{
    const int64_t columns = a->tile.columns, D = a->width;
    const float *power = rfk__decay_powers(a, true);
    for (int64_t i = 0; power && i < a->features; i++)
        for (int64_t j = 0; j < D; j++) {
            const int64_t at = i / columns * columns * D + j * columns + i % columns;
            float none = 0;
            rfk__decay_one(sum->high + at, sum->low ? sum->low + at : &none, power[i]);
        }
}

/* Converts x from one unit to another. */
static void rise(const rfk__linear *a, float *x, int32_t from, int32_t to)
{
    if (from != to) a->k->scale(x, x, rfk__power(from - to), a->features);
}

/* ---- a chunk's queries and keys ---------------------------------------------------------------------------------- */

/* Query i, token t: its features, a and b.  z NULL: the forward pass stored the denominator. */
static void take_query(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m,
                       const float *z, int64_t t, int64_t i)
{
    const int64_t D = a->width;
    const float *o = d->d_out + t * d->d_out_stride, *out = a->out + t * a->out_stride;
    float *q = w->q.is.u + i * w->q.is.stride, *to = w->a.x + i * a->tile.stride;
    rfk__ahead(d->d_out, t, a->tokens, d->d_out_stride, D);
    rfk__ahead(a->out, t, a->tokens, a->out_stride, D);
    a->map->query(m, q, w->q.is.x.x + i * a->tile.stride);
    const float inverse = z ? rfk__inverse(a->k->dot(q, z, a->features)) : ((const float *)a->left)[t];
    w->b[i] = inverse == 0 ? 0 : -a->k->dot(o, out, D) * inverse;
    if (inverse == 0) memset(to, 0, (size_t)D * sizeof *o);
    else a->k->scale(to, o, inverse, D);
    rfk__rotate_features(a, w->q.rotated.x + i * stride_of(a), q, t, 1, RFK__QUERY, i);
    pack_side_row(a, &w->q, i);
}

static void take_key(const rfk__linear *a, struct work *w, int64_t t, int64_t i)
{
    rfk__rotate_features(a, w->k.rotated.x + i * stride_of(a), w->k.is.u + i * w->k.is.stride, t, 1, RFK__KEY,
                         i % CHUNK);
    rfk__ahead(a->v, t, a->tokens, a->stride, a->width);
    rfk__load_row(a, w->v.x + i * a->tile.stride, a->v + t * a->stride);
}

/* y = rows S^T or G^T, for rows of D columns. */
static void times_sum(const rfk__linear *a, const rfk__sum *sum, const rfk__rows *rows, const rfk__rows *y, int64_t n)
{
    for (int64_t i = 0; i < a->features; i += a->tile.columns)
        rfk__multiply(&a->tile, y->x + i, stride_of(a), rows, 0, n, sum->high + i * a->width, false);
}

/* dv = G^T R psi(k) and the adjoint of R psi(k) = G v, in the unit of G. */
static void add_value_adjoints(const rfk__linear *a, struct work *w, int64_t n)
{
    const int64_t Dw = rfk__padded(&a->tile, a->width);
    for (int64_t j = 0; j < a->width; j += a->tile.columns)
        multiply_wide(a, w->block, w->dv + j, Dw, &w->k.rotated, n, w->other + j * a->features);
    times_sum(a, &w->G, &w->v, &w->k.d, n);
}

/* ---- back through rotation, map and projection ------------------------------------------------------------------- */

/* From du to rows of dq or dk; coefficient [n]: the factor of x that is subtracted. */
static void put_vectors(const rfk__linear *a, struct work *w, const struct side *s, const float *coefficient, float *to,
                        int64_t stride, int64_t first, int64_t n)
{
    const int64_t Dw = rfk__padded(&a->tile, a->width), columns = a->tile.columns;
    const float scale = a->map->quarter ? (float)pow((double)a->width, -0.25) : 1;
    const int64_t behind = rfk__padded(&a->tile, a->features) * a->width;                /* the panels of W^T */
    for (int64_t j = 0; a->map->projects && j < a->width; j += columns)
        multiply_wide(a, w->block, w->dx + j, Dw, &s->d, n, a->w + behind + j * a->features);
    for (int64_t i = 0; i < n; i++) {
        float *y = to + (first + i) * stride;
        rfk__ahead(to, first + i, a->tokens, stride, a->width);
        a->k->scale(y, a->map->projects ? w->dx + i * Dw : s->d.x + i * stride_of(a), scale, a->width);
        if (coefficient[i] != 0) a->k->axpy(y, coefficient[i] * scale, s->is.x.x + i * a->tile.stride, a->width);
        rfk__rotate_vector(a, y, first + i, -1);
    }
}

/* Adjoint of key i, rotated back: contributions of all later queries, and of those of its chunk in `partial`. */
static void key_adjoint(const rfk__linear *a, struct work *w, const float *partial, int64_t t, int64_t i)
{
    float *dk = w->k.d.x + i * stride_of(a);
    rfk__rotate_features(a, dk, dk, t, -1, RFK__KEY, i);
    a->k->add(dk, dk, w->w, a->features);
    if (partial) a->k->add(dk, dk, partial, a->features);
}

static void put_keys(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const float *coefficient,
                     int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        rfk__ahead(d->dv, first + i, a->tokens, d->stride, a->width);
        memcpy(d->dv + (first + i) * d->stride, w->dv + i * rfk__padded(&a->tile, a->width),
               (size_t)a->width * sizeof *d->dv);
    }
    put_vectors(a, w, &w->k, coefficient, d->dk, d->stride, first, n);
}

/* ---- causal ------------------------------------------------------------------------------------------------------ */

/* z for the queries of a chunk, updated key by key. */
static void next_z(const rfk__linear *a, struct work *w, int32_t *exponent, int64_t i)
{
    rise(a, w->z, *exponent, w->exponent[i]);
    *exponent = w->exponent[i];
    a->k->add(w->z, w->z, w->k.is.u + i * w->k.is.stride, a->features);
}

/* Keys and values of both chunks, from the state before them, which is copied to before[0]. */
static void load_keys_of_both(const rfk__linear *a, struct work *w, struct before *before, int64_t first, int64_t n)
{
    const int64_t f = a->features;
    const rfk__left *left = first ? rfk__left_of(a, first / BOTH) : NULL;
    rfk__mapping m = rfk__mapping_of(a);
    if (left) m.top = left->top, m.exponent = left->exponent;
    before->exponent = left ? left->exponent : RFK__NEVER;
    before->S.exponent = left ? left->sum_exponent : RFK__NEVER;
    if (left) flip(a, before->S.high, left->x, a->width, f);
    else memset(before->S.high, 0, (size_t)(rfk__padded(&a->tile, f) * a->width) * sizeof *left->x);
    if (left) memcpy(before->z, left->x + f * rfk__padded(&a->tile, a->width), (size_t)f * sizeof *left->x);
    else memset(before->z, 0, (size_t)f * sizeof *before->z);
    rfk__load(a, &w->k.is, a->key, first, n);
    for (int64_t t = 0; t < n; t++) {
        float *k = w->k.is.u + t * w->k.is.stride;
        rfk__see(a->map, &m, k);
        a->map->key(&m, k, w->k.is.x.x + t * a->tile.stride);
        w->exponent[t] = m.exponent;
        w->top[t] = m.top;
        take_key(a, w, first + t, t);
        pack_side_row(a, &w->k, t);
    }
}

/* S and z before the second chunk, from those before the first and its keys. */
static void go_on_to_second(const rfk__linear *a, struct work *w, const struct before *first, struct before *second)
{
    const int64_t D = a->width, f = a->features, columns = a->tile.columns;
    const int32_t unit = w->exponent[CHUNK - 1];
    const float keep = rfk__power(first->S.exponent - unit);
    memcpy(w->z, first->z, (size_t)f * sizeof *w->z);
    second->exponent = first->exponent;
    for (int64_t t = 0; t < CHUNK; t++) next_z(a, w, &second->exponent, t);
    memcpy(second->z, w->z, (size_t)f * sizeof *w->z);
    transpose_values(a, w, &w->v, CHUNK, unit, false);
    for (int64_t i = 0; i < f; i += columns) {
        const float *from = first->S.high + i * D;
        float *to = second->S.high + i * D;
        if (keep != 1) a->k->scale(to, from, keep, D * columns), from = to;
        a->k->gemm_panel(to, columns, w->block, w->k.by_row + i * a->tile.chunk, D, columns, CHUNK, from, columns);
    }
    second->S.exponent = unit;
    fade(a, &second->S);
}

/* Carries what keys of both chunks have to the second, or with `tokens` < 0 back to the first. */
static void go_on(const rfk__linear *a, struct work *w, int64_t tokens)
{
    w->k.is.u += tokens * w->k.is.stride;
    w->k.is.x.x += tokens * a->tile.stride;
    w->k.rotated.x += tokens * stride_of(a);
    w->k.by_row += tokens * a->tile.columns;
    w->v.x += tokens * a->tile.stride;
    w->exponent += tokens;
    w->top += tokens;
}

/* A chunk's queries, and what its values need in addition to its keys. */
static void load_chunk(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, int64_t first, int64_t n)
{
    const rfk__mapping m = rfk__mapping_of(a);
    rfk__load(a, &w->q.is, a->q, first, n);
    for (int64_t i = 0; i < n; i++) {
        take_query(a, d, w, &m, NULL, first + i, i);
        rfk__pack_value(&a->tile, w->a_row, i, w->a.x + i * a->tile.stride, a->width);
    }
    rfk__pack_features(&a->tile, w->by_column, w->q.rotated.x, stride_of(a), 0, n, a->features);
    rfk__pack_features(&a->tile, w->v_column, w->v.x, a->tile.stride, 0, n, a->width);
}

/* Attention weights of the chunk's pairs and their adjoints. */
static void weights_of_chunk(const rfk__linear *a, struct work *w, int64_t n)
{
    const int64_t columns = a->tile.columns, stride = a->tile.stride;
    for (int64_t p = 0; p < n; p += columns) {
        multiply_wide(a, w->block, w->weight + p, stride, &w->k.rotated, rf__min64(n, p + columns),
                      w->by_column + p * a->features);
        rfk__multiply(&a->tile, w->d_weight + p * stride + p, stride, &w->a, p, n - p, w->v_column + p * a->width,
                      false);
    }
    rfk__mask(&a->tile, w->weight, w->exponent, 0, n, n, true);
    rfk__mask(&a->tile, w->d_weight, w->exponent, 0, n, n, false);
    a->k->transpose(w->d_weight_back, stride, w->d_weight, stride, n, n);
}

/* y[:,j..] += weights panel, a panel of rows at a time: its keys up to its end, or its queries from its beginning. */
static void add_weighted_panel(const rfk__tiles *tile, const float *weight, const float *panel, float *y, int64_t ldy,
                               int64_t n, bool behind)
{
    for (int64_t p = 0; p < n; p += tile->columns) {
        const int64_t from = behind ? p : 0, to = behind ? n : rf__min64(n, p + tile->columns);
        tile->k->gemm_panel(y + p * ldy, ldy, weight + p * tile->stride + from, panel + from * tile->columns,
                            rf__min64(tile->columns, n - p), tile->columns, to - from, y + p * ldy, ldy);
    }
}

/* Adjoints of rotated queries and keys, and of values. */
static void adjoints_of_chunk(const rfk__linear *a, struct work *w, const rfk__sum *S, int64_t n)
{
    const int64_t f = a->features, Dw = rfk__padded(&a->tile, a->width), stride = stride_of(a);
    weights_of_chunk(a, w, n);
    times_sum(a, S, &w->a, &w->q.d, n);
    flip(a, w->other, w->G.high, f, a->width);
    add_value_adjoints(a, w, n);
    for (int64_t i = 0; i < n; i++) {
        rfk__scale_row(a->k, w->q.d.x + i * stride, S->exponent - w->exponent[i], f);
        rfk__scale_row(a->k, w->dv + i * Dw, w->exponent[i] - w->G.exponent, a->width);
        rfk__scale_row(a->k, w->k.d.x + i * stride, w->exponent[i] - w->G.exponent, f);
    }
    for (int64_t j = 0; j < f; j += a->tile.columns) {
        add_weighted_panel(&a->tile, w->d_weight, w->k.by_row + j * a->tile.chunk, w->q.d.x + j, stride, n, false);
        add_weighted_panel(&a->tile, w->d_weight_back, w->q.by_row + j * a->tile.chunk, w->k.d.x + j, stride, n, true);
    }
    for (int64_t j = 0; j < a->width; j += a->tile.columns)
        add_weighted_panel(&a->tile, w->weight, w->a_row + j * a->tile.chunk, w->dv + j, Dw, n, true);
    advance(a, w, n, w->exponent[0]);
}

/* w is updated token by token, backward. */
static void finish_keys(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, rfk__mapping *m,
                        int32_t *exponent, int64_t first, int64_t n)
{
    const int64_t f = a->features;
    float coefficient[CHUNK];
    memset(w->partial, 0, (size_t)f * sizeof *w->partial);
    for (int64_t i = n; i-- > 0;) {
        if (*exponent != w->exponent[i]) {
            float *const all[] = {w->w, w->w_low, w->partial};
            for (size_t x = 0; x < RF_COUNT(all); x++) rise(a, all[x], w->exponent[i], *exponent);
            *exponent = w->exponent[i];
        }
        a->k->axpy(w->partial, w->b[i], w->q.is.u + i * w->q.is.stride, f);
        key_adjoint(a, w, w->partial, first + i, i);
        m->top = w->top[i], m->exponent = w->exponent[i];
        coefficient[i] = a->map->key_back(m, w->k.d.x + i * stride_of(a), w->k.is.u + i * w->k.is.stride);
    }
    a->k->accumulate(w->w, w->w_low, 1, w->partial, f);
    put_keys(a, d, w, coefficient, first, n);
}

/* z NULL: it is updated key by key. */
static void finish_queries(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m,
                           const float *z, int32_t exponent, int64_t first, int64_t n)
{
    float coefficient[CHUNK];
    for (int64_t i = 0; i < n; i++) {
        float *dq = w->q.d.x + i * stride_of(a);
        rfk__rotate_features(a, dq, dq, first + i, -1, RFK__QUERY, i);
        if (!z) next_z(a, w, &exponent, i);
        a->k->axpy(dq, w->b[i], z ? z : w->z, a->features);
        coefficient[i] = a->map->query_back(m, dq, w->q.is.u + i * w->q.is.stride);
    }
    put_vectors(a, w, &w->q, coefficient, d->dq, d->stride, first, n);
}

/* exponent: of w and of the contributions of later chunks to it */
static void one_chunk(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const struct before *before,
                      int32_t *exponent, int64_t first, int64_t n)
{
    rfk__mapping m = rfk__mapping_of(a);
    fade(a, &w->G);
    load_chunk(a, d, w, first, n);
    adjoints_of_chunk(a, w, &before->S, n);
    if (first + n == a->tokens) *exponent = w->exponent[n - 1];
    finish_keys(a, d, w, &m, exponent, first, n);
    memcpy(w->z, before->z, (size_t)a->features * sizeof *w->z);
    finish_queries(a, d, w, &m, NULL, before->exponent, first, n);
}

static void causal(const rfk__linear *a, const rfk__linear_grad *d, struct work *w)
{
    struct before *before = w->before;
    int32_t exponent = 0;
    for (int64_t first = (a->tokens - 1) / BOTH * BOTH; first >= 0; first -= BOTH) {
        const int64_t n = rf__min64(BOTH, a->tokens - first);
        load_keys_of_both(a, w, &before[0], first, n);
        if (n > CHUNK) {
            go_on_to_second(a, w, &before[0], &before[1]);
            go_on(a, w, CHUNK);
            one_chunk(a, d, w, &before[1], &exponent, first + CHUNK, n - CHUNK);
            go_on(a, w, -CHUNK);
        }
        one_chunk(a, d, w, &before[0], &exponent, first, rf__min64(CHUNK, n));
    }
}

/* ---- an encoder's ------------------------------------------------------------------------------------------------ */

static void all_queries(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m)
{
    const int64_t f = a->features;
    const rfk__view v = rfk__state_view(&a->tile, w->state, f, a->width);
    flip(a, w->before[0].S.high, v.s.high, a->width, f);
    for (int64_t i = 0; i < CHUNK; i++) w->exponent[i] = m->exponent;
    for (int64_t first = 0; first < a->tokens; first += CHUNK) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        rfk__load(a, &w->q.is, a->q, first, n);
        memset(w->partial, 0, (size_t)f * sizeof *w->partial);
        for (int64_t i = 0; i < n; i++) {
            take_query(a, d, w, m, v.z, first + i, i);
            a->k->axpy(w->partial, w->b[i], w->q.is.u + i * w->q.is.stride, f);
        }
        a->k->accumulate(w->w, w->w_low, 1, w->partial, f);
        advance(a, w, n, m->exponent);
        times_sum(a, &w->before[0].S, &w->a, &w->q.d, n);
        finish_queries(a, d, w, m, v.z, 0, first, n);
    }
}

/* Keys of a chunk: what a survey stored is replaced by features. */
static void take_keys(const rfk__linear *a, struct work *w, rfk__mapping *m, int64_t first, int64_t n)
{
    if (w->k.is.all) {
        rfk__load_surveyed(a, &w->k.is, a->key, first, n);
        w->k.is.u = w->k.is.all + first * w->k.is.stride;
    } else {
        rfk__load(a, &w->k.is, a->key, first, n);
    }
    for (int64_t i = 0; i < n; i++) {
        float *u = w->k.is.u + i * w->k.is.stride;
        if (!w->k.is.all) a->map->key(m, u, w->k.is.x.x + i * a->tile.stride);
        take_key(a, w, first + i, i);
    }
}

/* With `columns`, the sum over keys of <psi, d psi> of each feature is computed first. */
static void all_keys(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, rfk__mapping *m)
{
    const int64_t f = a->features;
    float *inside = w->column + 2 * f, *low = w->column + 3 * f, coefficient[CHUNK];
    flip(a, w->other, w->G.high, f, a->width);
    for (int pass = m->column ? 0 : 1; pass < 2; pass++) {
        if (pass == 0) memset(inside, 0, (size_t)(2 * f) * sizeof *inside);
        for (int64_t first = 0; first < a->tokens; first += CHUNK) {
            const int64_t n = rf__min64(CHUNK, a->tokens - first);
            take_keys(a, w, m, first, n);
            add_value_adjoints(a, w, n);
            for (int64_t i = 0; i < n; i++) {
                float *dk = w->k.d.x + i * stride_of(a), *u = w->k.is.u + i * w->k.is.stride;
                key_adjoint(a, w, NULL, first + i, i);
                if (pass) {
                    coefficient[i] = a->map->key_back(m, dk, u);
                } else {
                    a->k->mul(w->row, dk, u, f);
                    a->k->accumulate(inside, low, 1, w->row, f);
                }
            }
            if (pass) put_keys(a, d, w, coefficient, first, n);
        }
    }
}

static void everywhere(const rfk__linear *a, const rfk__linear_grad *d, struct work *w)
{
    rfk__mapping m = rfk__mapping_of(a);
    rfk__linear_begin(a->k, w->state, a->features, a->width);
    rfk__column_statistics(a, &m, &w->k.is, w->column);
    rfk__linear_keys(a, &w->k.is, &m, w->state, w->row, w->block, w->part);
    all_queries(a, d, w, &m);
    all_keys(a, d, w, &m);
}

void rfk__linear_back(const rfk__linear *call, const rfk__linear_grad *d, void *scratch)
{
    rfk__linear is = *call, *a = &is;
    size_t bytes;
    a->tile = rfk__tiles_of(a->k);
    struct work w = carve(a, scratch, &bytes);
    const int64_t wide = rfk__padded(&a->tile, a->features), floats = wide * rfk__padded(&a->tile, a->width);
    if (!a->tokens) return;
    float *const sums[] = {w.before[0].S.high, w.before[1].S.high, w.G.high, w.G.low, w.other};
    float *const rows[] = {w.z, w.w, w.w_low};
    for (size_t i = 0; i < RF_COUNT(sums); i++) memset(sums[i], 0, (size_t)floats * sizeof *sums[i]);
    for (size_t i = 0; i < RF_COUNT(rows); i++) memset(rows[i], 0, (size_t)wide * sizeof *rows[i]);
    w.G.exponent = -RFK__NEVER;                         /* of an empty sum: 2^(unit - this) is 0 */
    if (a->causal) causal(a, d, &w);
    else everywhere(a, d, &w);
}
