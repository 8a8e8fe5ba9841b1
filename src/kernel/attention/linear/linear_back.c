/* linear_back.c — linear attention's backward.  With o the adjoint of out, a_t = o_t / den_t and b_t = -<o_t, out_t> /
 * den_t are those of num and den, and (sums over the pairs t, s that see one another)
 *
 *     d R phi(q_t) = S a_t                 S = sum_s R psi(k_s) v_s^T          d phi(q_t) += b_t z
 *     d R psi(k_s) = G v_s                 G = sum_t R phi(q_t) a_t^T          d psi(k_s) += w,  w = sum_t b_t phi(q_t)
 *     d v_s        = G^T R psi(k_s)
 *
 * Causal: S and z of the chunks before, G and w of those behind, and within a chunk all pairs.  One pass forward over
 * keys keeps S and z as they are before each chunk, in scratch; one pass backward over chunks does all else. */
#include <math.h>

#include "kernel/attention/linear/linear.h"

enum { CHUNK = RFK_LINEAR_BACK_CHUNK };

/* What one side, queries or keys, has in a chunk. */
struct side {
    rfk__features is;                   /* x, and u which becomes the features, not rotated */
    float *rotated;                     /* [CHUNK, padded f] */
    float *by_row;                      /* [f panels][chunk][columns] of rotated */
    float *d;                           /* [CHUNK, padded f]: adjoint of rotated; then of features, of u */
    float *share;                       /* [CHUNK, padded f]: what is added for the denominator */
};

struct work {
    struct side q, k;
    rfk__rows left;                     /* of keys, then of adjoints of u */
    rfk__rows a, v;                     /* [CHUNK, D] */
    rfk__deck deck;                     /* queries by column, and a by row */
    float *v_column;                    /* [chunk panels][D][columns] */
    float *flipped;                     /* S^T or G^T: [f panels][D][columns] */
    float *weight, *d_weight;           /* [CHUNK, stride]: <k_s, q_t>, <a_t, v_s> */
    float *d_weight_back;               /* [s,t] of that */
    float *dv, *dx;                     /* [CHUNK, padded D] */
    float *b, *coefficient, *top;       /* [CHUNK] */
    rfk__sum G;
    float *w, *w_low, *row, *column, *block, *part;
    rfk__head_state *state;
    float *kept;                        /* causal: before each chunk S high, z high and low */
    struct rise { int32_t exponent, sum_exponent; float top; } *risen;
};

static struct side carve_side(rfk__carving *c, const rfk__linear *a)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    struct side s;
    s.is.x = rfk__carve_rows(&a->tile, c, a->width);
    s.is.stride = wide;
    s.is.all = NULL;
    s.is.u = rfk__floats(c, RFK__CHUNK * wide);             /* of the forward's chunks, too */
    s.rotated = rfk__floats(c, CHUNK * wide);
    s.by_row = rfk__floats(c, a->tile.chunk * wide);
    s.d = rfk__floats(c, CHUNK * wide);
    s.share = rfk__floats(c, CHUNK * wide);
    return s;
}

static int64_t kept_floats(const rfk__linear *a)
{
    return a->features * rfk__padded(&a->tile, a->width) + 2 * rfk__padded(&a->tile, a->features);
}

/* Floats of u of all keys: what an encoder's survey leaves, and what a causal model's first pass does. */
static int64_t kept_u(const rfk__linear *a)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    const bool few = a->causal && a->map->projects && a->tokens <= RFK__SURVEYED / wide;
    return few ? a->tokens * wide : rfk__surveyed(a);
}

static struct work carve(const rfk__linear *a, void *scratch, size_t *bytes)
{
    const rfk__tiles *tile = &a->tile;
    const int64_t f = a->features, wide = rfk__padded(tile, f), D = a->width, Dw = rfk__padded(tile, D);
    const int64_t chunks = (a->tokens + CHUNK - 1) / CHUNK;
    rfk__carving c = {scratch, 0};
    struct work w = {.deck = {.row = NULL}, .q = carve_side(&c, a), .k = carve_side(&c, a)};
    if (kept_u(a)) w.k.is.all = rfk__floats(&c, kept_u(a));
    w.left = rfk__carve_rows(tile, &c, f);
    w.a = rfk__carve_rows(tile, &c, D);
    w.v = rfk__carve_rows(tile, &c, D);
    w.deck.feature = rfk__floats(&c, tile->chunk * f);
    w.deck.value = rfk__floats(&c, tile->chunk * Dw);
    w.deck.exponent = rfk__cut(&c, CHUNK, sizeof *w.deck.exponent);
    w.v_column = rfk__floats(&c, tile->chunk * D);
    w.flipped = rfk__floats(&c, wide * D);
    w.weight = rfk__floats(&c, CHUNK * tile->stride);
    w.d_weight = rfk__floats(&c, CHUNK * tile->stride);
    w.d_weight_back = rfk__floats(&c, CHUNK * tile->stride);
    w.dv = rfk__floats(&c, CHUNK * Dw);
    w.dx = rfk__floats(&c, CHUNK * Dw);
    w.b = rfk__floats(&c, CHUNK);
    w.coefficient = rfk__floats(&c, CHUNK);
    w.top = rfk__floats(&c, CHUNK);
    w.G.high = rfk__floats(&c, f * Dw);
    w.G.low = rfk__floats(&c, f * Dw);
    w.w = rfk__floats(&c, wide);
    w.w_low = rfk__floats(&c, wide);
    w.row = rfk__floats(&c, rf__max64(wide, Dw));
    w.column = rfk__floats(&c, 4 * f);
    w.block = rfk__floats(&c, RFK__RISE * tile->stride);
    w.part = rfk__floats(&c, RFK__RISE * tile->columns);
    w.state = rfk__cut(&c, rfk__linear_state_bytes(a->k, f, D), 1);
    if (a->causal) {
        w.kept = rfk__floats(&c, chunks * kept_floats(a));
        w.risen = rfk__cut(&c, (size_t)chunks, sizeof *w.risen);
    }
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

/* ---- a chunk's queries and keys ---------------------------------------------------------------------------------- */

/* Query i, token t: its features, a and b, and b z. */
static void take_query(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m,
                       const float *z, int64_t t, int64_t i)
{
    const int64_t wide = rfk__padded(&a->tile, a->features), D = a->width;
    const float *o = d->d_out + t * d->d_out_stride, *out = a->out + t * a->out_stride;
    float *q = w->q.is.u + i * wide;
    a->map->query(m, q, w->q.is.x.x + i * a->tile.stride);
    const float inverse = rfk__inverse(a->k->dot(q, z, a->features));
    w->b[i] = inverse == 0 ? 0 : -a->k->dot(o, out, D) * inverse;
    if (inverse == 0) memset(w->row, 0, (size_t)D * sizeof *o);
    else a->k->scale(w->row, o, inverse, D);
    rfk__put_row(&a->tile, &w->a, i, w->row);
    rfk__deal_value(&a->tile, w->deck.value, i, w->row, D);
    a->k->scale(w->q.share + i * wide, z, w->b[i], a->features);
    rfk__rotate_features(a, w->q.rotated + i * wide, q, t, 1, RFK__QUERY, i);
}

/* Rows of one side in the layouts that products read: by row, and by column or as a left side. */
static void by_row(const rfk__linear *a, const struct side *s, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < a->features; j += a->tile.columns)
            memcpy(s->by_row + j * a->tile.chunk + i * a->tile.columns, s->rotated + i * wide + j,
                   (size_t)a->tile.columns * sizeof *s->by_row);
}

static void queries_by_column(const rfk__linear *a, struct work *w, int64_t n)
{
    rfk__deal_features(&a->tile, w->deck.feature, w->q.rotated, rfk__padded(&a->tile, a->features), 0, n, a->features);
}

static void take_key(const rfk__linear *a, struct work *w, int64_t t, int64_t i)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    rfk__rotate_features(a, w->k.rotated + i * wide, w->k.is.u + i * wide, t, 1, RFK__KEY, i);
    rfk__put_row(&a->tile, &w->left, i, w->k.rotated + i * wide);
    rfk__load_row(a, w->v.x + i * a->tile.stride, a->v + t * a->stride);
}

/* [f panels][D][columns] of a sum [D panels][f][columns] */
static void flip(const rfk__linear *a, struct work *w, const float *sum)
{
    const int64_t f = a->features, D = a->width, columns = a->tile.columns;
    for (int64_t i = 0; i < f; i += columns)
        for (int64_t j = 0; j < D; j += columns)
            a->k->transpose(w->flipped + i * D + j * columns, columns, sum + j * f + i * columns, columns,
                            rf__min64(columns, f - i), rf__min64(columns, D - j));
}

/* y [n, padded f] = rows [n, D] flipped */
static void meet_flipped(const rfk__linear *a, const struct work *w, const rfk__rows *rows, float *y, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    for (int64_t i = 0; i < a->features; i += a->tile.columns)
        rfk__multiply(&a->tile, y + i, wide, rows, 0, n, w->flipped + i * a->width, false);
}

/* dv = G^T R psi(k) and the adjoint of R psi(k) = G v, both in the units of keys; exponent NULL: all of G's. */
static void meet_behind(const rfk__linear *a, struct work *w, const int32_t *exponent, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features), Dw = rfk__padded(&a->tile, a->width);
    for (int64_t j = 0; j < a->width; j += a->tile.columns)
        rfk__multiply(&a->tile, w->dv + j, Dw, &w->left, 0, n, w->G.high + j * a->features, false);
    flip(a, w, w->G.high);
    meet_flipped(a, w, &w->v, w->k.d, n);
    for (int64_t i = 0; exponent && i < n; i++) {
        rfk__scale_row(a->k, w->dv + i * Dw, exponent[i] - w->G.exponent, a->width);
        rfk__scale_row(a->k, w->k.d + i * wide, exponent[i] - w->G.exponent, a->features);
    }
}

/* ---- back through rotation, map and projection ------------------------------------------------------------------- */

/* From du to rows of dq or dk. */
static void put_vectors(const rfk__linear *a, struct work *w, const struct side *s, float *to, int64_t stride,
                        int64_t first, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features), Dw = rfk__padded(&a->tile, a->width);
    const float scale = a->map->quarter ? (float)pow((double)a->width, -0.25) : 1;
    if (a->map->projects) {
        const float *back = a->w + wide * a->width;         /* behind the panels of W^T */
        for (int64_t i = 0; i < n; i++) rfk__put_row(&a->tile, &w->left, i, s->d + i * wide);
        for (int64_t j = 0; j < a->width; j += a->tile.columns)
            rfk__multiply(&a->tile, w->dx + j, Dw, &w->left, 0, n, back + j * a->features, false);
    }
    for (int64_t i = 0; i < n; i++) {
        float *y = to + (first + i) * stride;
        memcpy(y, a->map->projects ? w->dx + i * Dw : s->d + i * wide, (size_t)a->width * sizeof *y);
        if (w->coefficient[i] != 0) a->k->axpy(y, w->coefficient[i], s->is.x.x + i * a->tile.stride, a->width);
        if (a->map->quarter) a->k->scale(y, y, scale, a->width);
        rfk__rotate_vector(a, y, first + i, -1);
    }
}

static void finish_queries(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m,
                           int64_t first, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    for (int64_t i = 0; i < n; i++) {
        float *dq = w->q.d + i * wide;
        rfk__rotate_features(a, dq, dq, first + i, -1, RFK__QUERY, i);
        a->k->add(dq, dq, w->q.share + i * wide, a->features);
        w->coefficient[i] = a->map->query_back(m, dq, w->q.is.u + i * wide);
    }
    put_vectors(a, w, &w->q, d->dq, d->stride, first, n);
}

/* `share` [n, padded f], or one row for all. */
static void key_adjoints(const rfk__linear *a, struct work *w, const float *share, int64_t share_stride, int64_t first,
                         int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    for (int64_t i = 0; i < n; i++) {
        float *dk = w->k.d + i * wide;
        rfk__rotate_features(a, dk, dk, first + i, -1, RFK__KEY, i);
        a->k->add(dk, dk, share + i * share_stride, a->features);
    }
}

static void finish_keys(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, rfk__mapping *m,
                        int64_t first, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    for (int64_t i = 0; i < n; i++) {
        if (a->causal) m->top = w->top[i], m->exponent = w->deck.exponent[i];
        w->coefficient[i] = a->map->key_back(m, w->k.d + i * wide, w->k.is.u + i * wide);
        memcpy(d->dv + (first + i) * d->stride, w->dv + i * rfk__padded(&a->tile, a->width),
               (size_t)a->width * sizeof *d->dv);
    }
    put_vectors(a, w, &w->k, d->dk, d->stride, first, n);
}

/* ---- causal ------------------------------------------------------------------------------------------------------ */

/* S and z before each chunk. */
static void keep_states(const rfk__linear *a, struct work *w)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f), floats = f * rfk__padded(&a->tile, a->width);
    rfk__mapping m = rfk__mapping_of(a);
    rfk__linear_begin(a->k, w->state, f, a->width);
    rfk__view v = rfk__state_view(&a->tile, w->state, f, a->width);
    int32_t exponent = w->state->exponent;
    for (int64_t first = 0, chunk = 0; first < a->tokens; first += CHUNK, chunk++) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        float *to = w->kept + chunk * kept_floats(a);
        memcpy(to, v.s.high, (size_t)floats * sizeof *to);
        memcpy(to + floats, v.z, (size_t)(2 * wide) * sizeof *to);
        w->risen[chunk] = (struct rise){exponent, v.s.exponent, m.top};
        if (first + n == a->tokens) break;
        rfk__load(a, &w->k.is, a->key, first, n);
        if (w->k.is.all) memcpy(w->k.is.all + first * wide, w->k.is.u, (size_t)(n * wide) * sizeof *w->k.is.u);
        for (int64_t t = 0; t < n; t++) {
            float *k = w->k.is.u + t * wide;
            rfk__see(a->map, &m, k);
            a->map->key(&m, k, w->k.is.x.x + t * a->tile.stride);
            a->k->accumulate(v.z, v.z_low, rfk__power(exponent - m.exponent), k, f);
            exponent = v.deck.exponent[t] = m.exponent;
        }
        rfk__take_keys(a, &w->k.is, &v.deck, w->row, first, n, 0, false);
        rfk__advance(&a->tile, &v.s, &v.deck, n, m.exponent, false, f, a->width, w->block, w->part);
        rfk__fade(a, &v.s, true);
    }
}

/* Features of a chunk, from the state before it. */
static void take_chunk(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, int64_t chunk, int64_t n)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f), first = chunk * CHUNK;
    const struct rise *before = &w->risen[chunk];
    float *z = w->kept + chunk * kept_floats(a) + f * rfk__padded(&a->tile, a->width), *z_low = z + wide;
    rfk__mapping m = rfk__mapping_of(a);
    m.top = before->top;
    int32_t exponent = before->exponent;
    if (first) m.exponent = exponent;
    const bool again = !w->k.is.all || first + n == a->tokens;          /* the first pass ends before the last chunk */
    if (again) rfk__load(a, &w->k.is, a->key, first, n);
    else w->k.is.u = rfk__load_surveyed(a, &w->k.is, a->key, first, n).u;
    rfk__load(a, &w->q.is, a->q, first, n);
    for (int64_t i = 0; i < n; i++) {
        float *k = w->k.is.u + i * wide;
        rfk__see(a->map, &m, k);
        a->map->key(&m, k, w->k.is.x.x + i * a->tile.stride);
        a->k->accumulate(z, z_low, rfk__power(exponent - m.exponent), k, f);
        exponent = w->deck.exponent[i] = m.exponent;
        w->top[i] = m.top;
        take_query(a, d, w, &m, z, first + i, i);
        take_key(a, w, first + i, i);
    }
    queries_by_column(a, w, n);
    by_row(a, &w->q, n);
    by_row(a, &w->k, n);
    rfk__deal_features(&a->tile, w->v_column, w->v.x, a->tile.stride, 0, n, a->width);
}

/* w goes on from token to token, backward; each key gets its own. */
static void shares_of_keys(const rfk__linear *a, struct work *w, int32_t *exponent, int64_t n)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f);
    for (int64_t i = n; i-- > 0;) {
        a->k->scale(w->row, w->q.is.u + i * wide, w->b[i], f);
        a->k->accumulate(w->w, w->w_low, rfk__power(w->deck.exponent[i] - *exponent), w->row, f);
        *exponent = w->deck.exponent[i];
        memcpy(w->k.share + i * wide, w->w, (size_t)f * sizeof *w->w);
    }
}

/* Weights of the chunk's pairs and their adjoints. */
static void weights_of_chunk(const rfk__linear *a, struct work *w, int64_t n)
{
    for (int64_t p = 0; p < n; p += a->tile.columns) {
        rfk__multiply(&a->tile, w->weight + p, a->tile.stride, &w->left, 0, rf__min64(n, p + a->tile.columns),
                      w->deck.feature + p * a->features, false);
        rfk__multiply(&a->tile, w->d_weight + p * a->tile.stride + p, a->tile.stride, &w->a, p, n - p,
                      w->v_column + p * a->width, false);
    }
    rfk__mask(&a->tile, w->weight, w->deck.exponent, 0, n, n, true);
    rfk__mask(&a->tile, w->d_weight, w->deck.exponent, 0, n, n, false);
    a->k->transpose(w->d_weight_back, a->tile.stride, w->d_weight, a->tile.stride, n, n);
}

/* y[:,j..] += weights panel, rows of a panel at a time: its keys up to its end, or its queries from its start. */
static void meet_pairs(const rfk__tiles *tile, const float *weight, const float *panel, float *y, int64_t ldy,
                       int64_t n, bool behind)
{
    for (int64_t p = 0; p < n; p += tile->columns) {
        const int64_t from = behind ? p : 0, to = behind ? n : rf__min64(n, p + tile->columns);
        tile->k->gemm_panel(y + p * ldy, ldy, weight + p * tile->stride + from, panel + from * tile->columns,
                            rf__min64(tile->columns, n - p), tile->columns, to - from, y + p * ldy, ldy);
    }
}

static void causal_chunk(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, int64_t chunk,
                         int32_t *exponent)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f), Dw = rfk__padded(&a->tile, a->width);
    const int64_t first = chunk * CHUNK, n = rf__min64(CHUNK, a->tokens - first);
    rfk__fade(a, &w->G, true);
    take_chunk(a, d, w, chunk, n);
    shares_of_keys(a, w, exponent, n);
    weights_of_chunk(a, w, n);

    flip(a, w, w->kept + chunk * kept_floats(a));
    meet_flipped(a, w, &w->a, w->q.d, n);
    for (int64_t i = 0; i < n; i++)
        rfk__scale_row(a->k, w->q.d + i * wide, w->risen[chunk].sum_exponent - w->deck.exponent[i], f);
    meet_behind(a, w, w->deck.exponent, n);
    for (int64_t j = 0; j < f; j += a->tile.columns) {
        meet_pairs(&a->tile, w->d_weight, w->k.by_row + j * a->tile.chunk, w->q.d + j, wide, n, false);
        meet_pairs(&a->tile, w->d_weight_back, w->q.by_row + j * a->tile.chunk, w->k.d + j, wide, n, true);
    }
    for (int64_t j = 0; j < a->width; j += a->tile.columns)
        meet_pairs(&a->tile, w->weight, w->deck.value + j * a->tile.chunk, w->dv + j, Dw, n, true);
    rfk__advance(&a->tile, &w->G, &w->deck, n, w->deck.exponent[0], true, f, a->width, w->block, w->part);

    rfk__mapping m = rfk__mapping_of(a);
    finish_queries(a, d, w, &m, first, n);
    key_adjoints(a, w, w->k.share, wide, first, n);
    finish_keys(a, d, w, &m, first, n);
}

/* ---- an encoder's ------------------------------------------------------------------------------------------------ */

static void all_queries(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, const rfk__mapping *m)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f);
    const rfk__view v = rfk__state_view(&a->tile, w->state, f, a->width);
    for (int64_t first = 0; first < a->tokens; first += CHUNK) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        rfk__load(a, &w->q.is, a->q, first, n);
        for (int64_t i = 0; i < n; i++) {
            take_query(a, d, w, m, v.z, first + i, i);
            a->k->scale(w->row, w->q.is.u + i * wide, w->b[i], f);
            a->k->accumulate(w->w, w->w_low, 1, w->row, f);
            w->deck.exponent[i] = m->exponent;
        }
        queries_by_column(a, w, n);
        rfk__advance(&a->tile, &w->G, &w->deck, n, m->exponent, true, f, a->width, w->block, w->part);
        flip(a, w, v.s.high);
        meet_flipped(a, w, &w->a, w->q.d, n);
        finish_queries(a, d, w, m, first, n);
    }
}

/* With `columns`, the sum over keys of <psi, d psi> in each feature is taken first. */
static void all_keys(const rfk__linear *a, const rfk__linear_grad *d, struct work *w, rfk__mapping *m)
{
    const int64_t f = a->features, wide = rfk__padded(&a->tile, f);
    float *inside = w->column + 2 * f, *low = w->column + 3 * f;
    for (int pass = m->column ? 0 : 1; pass < 2; pass++) {
        if (pass == 0) memset(inside, 0, (size_t)(2 * f) * sizeof *inside);
        for (int64_t first = 0; first < a->tokens; first += CHUNK) {
            const int64_t n = rf__min64(CHUNK, a->tokens - first);
            rfk__load(a, &w->k.is, a->key, first, n);
            for (int64_t i = 0; i < n; i++) {
                a->map->key(m, w->k.is.u + i * wide, w->k.is.x.x + i * a->tile.stride);
                take_key(a, w, first + i, i);
            }
            meet_behind(a, w, NULL, n);
            key_adjoints(a, w, w->w, 0, first, n);
            for (int64_t i = 0; pass == 0 && i < n; i++) {
                a->k->mul(w->row, w->k.d + i * wide, w->k.is.u + i * wide, f);
                a->k->accumulate(inside, low, 1, w->row, f);
            }
            if (pass) finish_keys(a, d, w, m, first, n);
        }
    }
}

static void everywhere(const rfk__linear *a, const rfk__linear_grad *d, struct work *w)
{
    rfk__mapping m = rfk__mapping_of(a);
    rfk__linear_begin(a->k, w->state, a->features, a->width);
    rfk__survey(a, &m, &w->k.is, w->column);
    rfk__linear_keys(a, &w->k.is, &m, w->state, w->row, w->block, w->part);
    w->k.is.all = NULL;                                 /* it holds features by now */
    all_queries(a, d, w, &m);
    all_keys(a, d, w, &m);
}

void rfk__linear_back(const rfk__linear *call, const rfk__linear_grad *d, void *scratch)
{
    rfk__linear is = *call, *a = &is;
    size_t bytes;
    a->tile = rfk__tiles_of(a->k);
    struct work w = carve(a, scratch, &bytes);
    const size_t floats = (size_t)(a->features * rfk__padded(&a->tile, a->width));
    const size_t wide = (size_t)rfk__padded(&a->tile, a->features);
    if (!a->tokens) return;
    memset(w.G.high, 0, floats * sizeof *w.G.high);
    memset(w.G.low, 0, floats * sizeof *w.G.low);
    memset(w.w, 0, wide * sizeof *w.w);
    memset(w.w_low, 0, wide * sizeof *w.w_low);
    w.G.exponent = -RFK__NEVER;                         /* of an empty sum: 2^(unit - this) is 0 */
    if (!a->causal) {
        everywhere(a, d, &w);
        return;
    }
    int32_t exponent = -RFK__NEVER;
    keep_states(a, &w);
    for (int64_t chunk = (a->tokens + CHUNK - 1) / CHUNK; chunk-- > 0;) causal_chunk(a, d, &w, chunk, &exponent);
}
