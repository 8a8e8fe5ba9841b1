/* linear_attention.c — forward pass of linear attention, Eqs. 17-19.  Its guarantees are in linear_attention.h.
 *
 *     for each chunk of tokens:     u = W x, features phi and psi                 rows of a chunk, in cache
 *         z = z + psi(k_t), den_t = <phi(q_t), z>                                 token by token
 *         num = (R phi(q)) S + mask((R phi(q)) (R psi(k))^T) v                    three products
 *         S = S + (R psi(k))^T v                                                  when the chunk is full
 *
 * Queries of an encoder use S of all keys: the same without the middle product, in two passes. */
#include <math.h>

#include "kernel/attention/linear/linear_attention.h"

enum { CHUNK = RFK__CHUNK };

struct work {
    rfk__features query, key;
    rfk__rows left;                     /* rotated features of queries */
    float *score;                       /* [CHUNK, stride] */
    float *num;                         /* [CHUNK, padded D] */
    float *inverse;                     /* [CHUNK]: 1 / den */
    float *row, *column, *block, *part;
    rfk__head_state *state;
};

static struct work carve(const rfk__linear *a, void *scratch, size_t *bytes)
{
    const rfk__tiles *tile = &a->tile;
    const int64_t f = a->features, wide = rfk__padded(tile, f), Dw = rfk__padded(tile, a->width);
    rfk__carving c = {scratch, 0};
    struct work w;
    w.query.x = rfk__carve_rows(tile, &c, a->width);
    w.key.x = rfk__carve_rows(tile, &c, a->width);
    w.key.u = rfk__floats(&c, CHUNK * wide);
    w.key.stride = w.query.stride = wide;
    w.key.all = rfk__surveyed(a) ? rfk__floats(&c, rfk__surveyed(a)) : NULL;
    w.left = rfk__carve_rows(tile, &c, f);
    w.query.u = f > tile->depth ? rfk__floats(&c, CHUNK * wide) : w.left.x;     /* computed when they are read */
    if (f <= tile->depth) w.query.stride = tile->stride;
    w.query.all = NULL;
    w.score = rfk__floats(&c, CHUNK * tile->stride);
    w.num = rfk__floats(&c, CHUNK * Dw);
    w.inverse = rfk__floats(&c, CHUNK);
    w.row = rfk__floats(&c, rf__max64(wide, Dw));
    w.column = rfk__floats(&c, 3 * f);
    w.block = rfk__floats(&c, RFK__RISE * tile->stride);
    w.part = rfk__floats(&c, RFK__RISE * tile->columns);
    w.state = rfk__cut(&c, rfk__linear_state_bytes(a->k, f, a->width), 1);
    *bytes = c.used;
    return w;
}

size_t rfk__linear_scratch(const rfk__linear *a)
{
    rfk__linear is = *a;
    size_t bytes;
    is.tile = rfk__tiles_of(a->k);
    carve(&is, NULL, &bytes);
    return bytes;
}

/* A query's features, its denominator from z, and then the rotated features as the left operand of products. */
static void take_query(rfk__linear *a, struct work *w, const rfk__mapping *m, const float *z, int64_t t, int64_t i,
                       int64_t place)
{
    float *u = w->query.u + i * w->query.stride;
    a->map->query(m, u, w->query.x.x + i * a->tile.stride);
    w->inverse[i] = rfk__inverse(a->k->dot(u, z, a->features));
    if (w->inverse[i] == 0) a->underflows++;
    rfk__rotate_features(a, u, u, t, 1, RFK__QUERY, place);
    if (a->features > a->tile.depth) rfk__put_row(&a->tile, &w->left, i, u);
}

/* num = (R phi(q)) S, in the unit of each token. */
static void apply_state(const rfk__linear *a, struct work *w, const rfk__sum *s, const int32_t *exponent, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->width);
    for (int64_t j = 0; j < a->width; j += a->tile.columns)
        rfk__multiply(&a->tile, w->num + j, wide, &w->left, 0, n, s->high + j * a->features, false);
    for (int64_t i = 0; exponent && i < n; i++)
        rfk__scale_row(a->k, w->num + i * wide, s->exponent - exponent[i], a->width);
}

/* num += mask((R phi(q)) (R psi(k))^T) v for tokens at .. at + n - 1 of the chunk.  Rows of `left` begin with the
 * first. */
static void apply_chunk(const rfk__linear *a, struct work *w, const rfk__deck *deck, int64_t at, int64_t n)
{
    const int64_t end = at + n, wide = rfk__padded(&a->tile, a->width);
    const int64_t columns = a->tile.columns, stride = a->tile.stride;
    for (int64_t s = 0; s < end; s += columns) {
        const int64_t from = rf__max64(at, s);
        rfk__multiply(&a->tile, w->score + from * stride + s, stride, &w->left, from - at, end - from,
                      deck->feature + s * a->features, false);
    }
    rfk__mask(&a->tile, w->score, deck->exponent, at, n, end, false);
    for (int64_t t = at; t < end;) {
        const int64_t keys = (t / columns + 1) * columns, next = rf__min64(end, keys);
        for (int64_t j = 0; j < a->width; j += columns) {
            float *num = w->num + (t - at) * wide + j;
            a->k->gemm_panel(num, wide, w->score + t * stride, deck->value + j * a->tile.chunk, next - t, columns, keys,
                             num, wide);
        }
        t = next;
    }
}

static void put_out(const rfk__linear *a, const struct work *w, int64_t first, int64_t n)
{
    const int64_t wide = rfk__padded(&a->tile, a->width);
    for (int64_t i = 0; i < n; i++) {
        float *out = a->out + (first + i) * a->out_stride;
        rfk__ahead(a->out, first + i, a->tokens, a->out_stride, a->width);
        if (w->inverse[i] == 0) memset(out, 0, (size_t)a->width * sizeof *out);
        else a->k->scale(out, w->num + i * wide, w->inverse[i], a->width);
    }
}

/* The state before a chunk that begins here, for the backward pass. */
static void leave_state(const rfk__linear *a, const rfk__head_state *state, const rfk__view *v)
{
    const int64_t floats = a->features * rfk__padded(&a->tile, a->width);
    rfk__left *to = rfk__left_of(a, state->count / CHUNK);
    to->exponent = state->exponent;
    to->sum_exponent = v->s.exponent;
    to->top = state->top;
    memcpy(to->x, v->s.high, (size_t)floats * sizeof *to->x);
    memcpy(to->x + floats, v->z, (size_t)a->features * sizeof *to->x);
}

/* Tokens first .. first + n - 1 of this call, all of the same chunk. */
static void causal_part(rfk__linear *a, struct work *w, rfk__head_state *state, rfk__mapping *m, int64_t first,
                        int64_t n)
{
    const int64_t f = a->features, at = state->count % CHUNK;
    rfk__view v = rfk__state_view(&a->tile, state, f, a->width);
    if (a->left && state->count) leave_state(a, state, &v);
    rfk__load(a, &w->key, a->key, first, n);
    rfk__load(a, &w->query, a->q, first, n);
    for (int64_t t = 0; t < n; t++) {
        float *k = w->key.u + t * rfk__padded(&a->tile, f);
        rfk__see(a->map, m, k);
        a->map->key(m, k, w->key.x.x + t * a->tile.stride);
        a->k->accumulate(v.z, v.z_low, rfk__power(state->exponent - m->exponent), k, f);
        state->exponent = v.deck.exponent[at + t] = m->exponent;
        take_query(a, w, m, v.z, first + t, t, at + t);
    }
    if (a->left) memcpy((float *)a->left + first, w->inverse, (size_t)n * sizeof *w->inverse);
    rfk__take_keys(a, &w->key, w->key.u, &v.deck, w->row, first, n, at, true);
    apply_state(a, w, &v.s, v.deck.exponent + at, n);
    apply_chunk(a, w, &v.deck, at, n);
    put_out(a, w, first, n);
    state->count += n;
    if (state->count % CHUNK == 0) {
        rfk__advance(&a->tile, &v.s, &v.deck, CHUNK, m->exponent, f, a->width, w->block, w->part);
        rfk__fade(a, &v.s);
    }
    state->sum_exponent = v.s.exponent;
    state->top = m->top;
}

static void causal(rfk__linear *a, struct work *w)
{
    rfk__head_state *state = a->state ? a->state : w->state;
    rfk__mapping m = rfk__mapping_of(a);
    if (!a->state) rfk__linear_begin(a->k, state, a->features, a->width);
    if (state->count) m.top = state->top, m.exponent = state->exponent;
    for (int64_t first = 0, n; first < a->tokens; first += n) {
        n = rf__min64(CHUNK - state->count % CHUNK, a->tokens - first);
        causal_part(a, w, state, &m, first, n);
    }
}

static void everywhere(rfk__linear *a, struct work *w)
{
    rfk__mapping m = rfk__mapping_of(a);
    rfk__linear_begin(a->k, w->state, a->features, a->width);
    rfk__column_statistics(a, &m, &w->key, w->column);
    rfk__linear_keys(a, &w->key, &m, w->state, w->row, w->block, w->part);
    const rfk__view v = rfk__state_view(&a->tile, w->state, a->features, a->width);
    for (int64_t first = 0; first < a->tokens; first += CHUNK) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        rfk__load(a, &w->query, a->q, first, n);
        for (int64_t t = 0; t < n; t++) take_query(a, w, &m, v.z, first + t, t, 0);
        apply_state(a, w, &v.s, NULL, n);
        put_out(a, w, first, n);
    }
}

void rfk__linear_forward(rfk__linear *a, void *scratch)
{
    size_t bytes;
    a->tile = rfk__tiles_of(a->k);
    struct work w = carve(a, scratch, &bytes);
    if (a->causal) causal(a, &w);
    else everywhere(a, &w);
}
