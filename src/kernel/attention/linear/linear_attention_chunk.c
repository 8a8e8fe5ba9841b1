/* linear_attention_chunk.c — the parts of a chunk's forward and backward pass: rows of features, decks, sums in two
 * floats. */
#include <float.h>
#include <math.h>

#include "kernel/attention/linear/linear_attention.h"

enum { CHUNK = RFK__CHUNK };

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

rfk__tiles rfk__tiles_of(const rfk_table *k)
{
    const rfk_panel_shape *s = k->gemm_panel_shape();
    return (rfk__tiles){k, s->columns, s->stride, s->depth, (CHUNK + s->columns - 1) / s->columns * s->columns};
}

size_t rfk__linear_state_bytes(const rfk_table *k, int64_t f, int64_t D)
{
    const rfk__tiles is = rfk__tiles_of(k), *tile = &is;
    const int64_t wide = rfk__padded(tile, D);
    const int64_t floats = 2 * f * wide + 2 * rfk__padded(tile, f) + tile->chunk * (f + wide + 1);
    return (offsetof(rfk__head_state, x) + (size_t)floats * sizeof(float) + 63) / 64 * 64;
}

static size_t left_each(const rfk__tiles *tile, int64_t f, int64_t D)
{
    const int64_t floats = f * rfk__padded(tile, D) + rfk__padded(tile, f);
    return (sizeof(rfk__left) + (size_t)floats * sizeof(float) + 63) / 64 * 64;
}

static size_t left_inverses(int64_t tokens) { return ((size_t)tokens * sizeof(float) + 63) / 64 * 64; }

size_t rfk__linear_left_bytes(const rfk_table *k, int64_t f, int64_t D, int64_t tokens)
{
    const rfk__tiles tile = rfk__tiles_of(k);
    return left_inverses(tokens) + (size_t)(rf__max64(tokens - 1, 0) / CHUNK) * left_each(&tile, f, D);
}

rfk__left *rfk__left_of(const rfk__linear *a, int64_t chunk)
{
    char *states = (char *)a->left + left_inverses(a->tokens);
    return (rfk__left *)(void *)(states + (size_t)(chunk - 1) * left_each(&a->tile, a->features, a->width));
}

bool rfk__linear_fits(const rfk_table *k, int64_t f, int64_t D, int64_t tokens)
{
    const bool wide = SIZE_MAX > UINT32_MAX;                /* else sums of sizes must stay below 4 GB */
    const int64_t most = (int64_t)1 << (wide ? 40 : 26), chunks = tokens / CHUNK + 2;
    const rfk__tiles tile = rfk__tiles_of(k);
    return f > 0 && D > 0 && D <= rf__min64(tile.depth, RFK__WIDEST) && f <= (int64_t)1 << (wide ? 24 : 18) &&
           tokens >= 0 && chunks <= most / (f * (D + 4));
}

rfk__view rfk__state_view(const rfk__tiles *tile, rfk__head_state *state, int64_t f, int64_t D)
{
    const int64_t wide = rfk__padded(tile, D), floats = f * wide;
    rfk__view v = {.s = {state->x, state->x + floats, state->sum_exponent}, .z = state->x + 2 * floats};
    v.z_low = v.z + rfk__padded(tile, f);
    v.deck.feature = v.z_low + rfk__padded(tile, f);
    v.deck.value = v.deck.feature + tile->chunk * f;
    v.deck.exponent = (int32_t *)(void *)(v.deck.value + tile->chunk * wide);
    return v;
}

void rfk__linear_begin(const rfk_table *k, void *state, int64_t f, int64_t D)
{
    memset(state, 0, rfk__linear_state_bytes(k, f, D));
    *(rfk__head_state *)state =
        (rfk__head_state){.exponent = RFK__NEVER, .sum_exponent = RFK__NEVER, .top = -INFINITY};
}

int64_t rfk__linear_count(const void *state) { return ((const rfk__head_state *)state)->count; }

/* ---- products ---------------------------------------------------------------------------------------------------- */

float rfk__power(int32_t difference)
{
    return difference == 0 ? 1 : difference < -200 ? 0 : ldexpf(1, difference < 127 ? difference : 127);
}

rfk__rows rfk__carve_rows(const rfk__tiles *tile, rfk__carving *c, int64_t depth)
{
    return (rfk__rows){rfk__floats(c, rfk__cuts(tile, depth) * CHUNK * tile->stride), CHUNK, depth};
}

void rfk__put_row(const rfk__tiles *tile, const rfk__rows *to, int64_t i, const float *x)
{
    for (int64_t p = 0; p < to->depth; p += tile->depth)
        memcpy(to->x + (p / tile->depth * to->rows + i) * tile->stride, x + p,
               (size_t)rf__min64(tile->depth, to->depth - p) * sizeof *x);
}

void rfk__multiply(const rfk__tiles *tile, float *c, int64_t ldc, const rfk__rows *a, int64_t first, int64_t n,
                   const float *panel, bool add)
{
    for (int64_t p = 0; p < a->depth; p += tile->depth)
        tile->k->gemm_panel(c, ldc, a->x + (p / tile->depth * a->rows + first) * tile->stride,
                            panel + p * tile->columns, n, tile->columns, rf__min64(tile->depth, a->depth - p),
                            add || p ? c : NULL, ldc);
}

size_t rfk__linear_panels(const rfk_table *k, int64_t f, int64_t D)
{
    const rfk__tiles tile = rfk__tiles_of(k);
    return (size_t)(rfk__padded(&tile, f) * D + rfk__padded(&tile, D) * f);
}

void rfk__linear_pack(const rfk_table *k, const float *w, int64_t f, int64_t D, float *panels)
{
    const rfk__tiles is = rfk__tiles_of(k), *tile = &is;
    float *back = panels + rfk__padded(tile, f) * D;
    memset(panels, 0, rfk__linear_panels(k, f, D) * sizeof *panels);
    for (int64_t i = 0; i < f; i += tile->columns)
        k->transpose(panels + i * D, tile->columns, w + i * D, D, rf__min64(tile->columns, f - i), D);
    for (int64_t i = 0; i < f; i++)
        for (int64_t j = 0; j < D; j += tile->columns)
            memcpy(back + j * f + i * tile->columns, w + i * D + j,
                   (size_t)rf__min64(tile->columns, D - j) * sizeof *w);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void rfk__load_row(const rfk__linear *a, float *x, const float *from)
{
    uint16_t half[RFK__WIDEST];
    if (a->bf16) {
        a->k->to_bf16(half, from, a->width);
        a->k->from_bf16(x, half, a->width);
    } else if (x != from) {
        memcpy(x, from, (size_t)a->width * sizeof *x);
    }
}

static void rotate(const rfk__linear *a, float *y, const float *x, int64_t t, float direction, int64_t width)
{
    const int64_t at = a->row[t] * (a->rotary / 2), ahead = t + 2 < a->tokens ? a->row[t + 2] * (a->rotary / 2) : at;
    for (int64_t i = 0; i < a->rotary / 2; i += 16) {
        __builtin_prefetch(a->cos + ahead + i);
        __builtin_prefetch(a->sin + ahead + i);
    }
    (a->layout == RF_ROPE_PAIRS ? a->k->rope_pairs : a->k->rope_halves)(y, x, a->cos + at, a->sin + at, direction, 1,
                                                                        width, a->rotary);
}

/* The table: [CHUNK] rows of queries, [CHUNK] of keys, and the factors of sums after a chunk of either kind. */
static const float *powers(const rfk__linear *a, int64_t row) { return a->decay + row * a->features; }

void rfk__rotate_features(const rfk__linear *a, float *y, const float *x, int64_t t, float direction, int side,
                          int64_t place)
{
    const float *power = a->decay ? powers(a, side * CHUNK + place) : NULL;
    if (power && direction < 0) a->k->mul(y, x, power, a->features), x = y;
    if (a->cos && a->after) rotate(a, y, x, t, direction, a->features);
    else if (y != x) memcpy(y, x, (size_t)a->features * sizeof *y);
    if (power && direction > 0) a->k->mul(y, y, power, a->features);
}

size_t rfk__linear_decays(int64_t f) { return (size_t)((2 * CHUNK + 2) * f); }

void rfk__linear_decay(const double *z, int64_t f, rf_rope_layout layout, float *table)
{
    for (int64_t i = 0; i < f / 2; i++) {
        const int64_t one = layout == RF_ROPE_PAIRS ? 2 * i : i, other = layout == RF_ROPE_PAIRS ? one + 1 : i + f / 2;
        double power = 1;
        for (int64_t t = 0; t < CHUNK; t++, power *= z[i]) {
            table[t * f + one] = table[t * f + other] = (float)power;
            table[(CHUNK + t) * f + one] = table[(CHUNK + t) * f + other] = (float)(1 / power);
            if (t + 1 == RFK_LINEAR_BACK_CHUNK)
                table[(2 * CHUNK + 1) * f + one] = table[(2 * CHUNK + 1) * f + other] = (float)(power * z[i]);
        }
        table[2 * CHUNK * f + one] = table[2 * CHUNK * f + other] = (float)power;
    }
}

const float *rfk__decay_powers(const rfk__linear *a, bool back)
{
    return a->decay ? powers(a, 2 * CHUNK + back) : NULL;
}

void rfk__decay_one(float *high, float *low, float power)
{
    const double x = ((double)*high + (double)*low) * (double)power;
    *high = (float)x;
    *low = (float)(x - (double)*high);
}

void rfk__fade(const rfk__linear *a, rfk__sum *sum)
{
    const float *power = rfk__decay_powers(a, false);
    const int64_t columns = a->tile.columns;
    for (int64_t j = 0; power && j < a->width; j += columns)
        for (int64_t i = 0; i < a->features; i++)
            for (int64_t n = j * a->features + i * columns, end = n + columns; n < end; n++)
                rfk__decay_one(sum->high + n, sum->low + n, power[i]);
}

void rfk__rotate_vector(const rfk__linear *a, float *x, int64_t t, float direction)
{
    if (a->cos && !a->after) rotate(a, x, x, t, direction, a->width);
}

static void load_x(const rfk__linear *a, const rfk__features *to, const float *from, int64_t first, int64_t n)
{
    const float scale = a->map->quarter ? (float)pow((double)a->width, -0.25) : 1;
    const bool plain = a->map->quarter && !a->bf16 && !(a->cos && !a->after);
    for (int64_t i = 0; i < n; i++) {
        float *x = to->x.x + i * a->tile.stride;
        rfk__ahead(from, first + i, a->tokens, a->stride, a->width);
        if (plain) {
            a->k->scale(x, from + (first + i) * a->stride, scale, a->width);
            continue;
        }
        rfk__load_row(a, x, from + (first + i) * a->stride);
        rfk__rotate_vector(a, x, first + i, 1);
        if (a->map->quarter) a->k->scale(x, x, scale, a->width);
    }
}

void rfk__load(const rfk__linear *a, const rfk__features *to, const float *from, int64_t first, int64_t n)
{
    load_x(a, to, from, first, n);
    for (int64_t i = 0; !a->map->projects && i < n; i++)
        memcpy(to->u + i * to->stride, to->x.x + i * a->tile.stride, (size_t)a->width * sizeof *to->u);
    for (int64_t j = 0; a->map->projects && j < a->features; j += a->tile.columns)
        rfk__multiply(&a->tile, to->u + j, to->stride, &to->x, 0, n, a->w + j * a->width, false);
}

rfk__features rfk__load_surveyed(const rfk__linear *a, const rfk__features *to, const float *from, int64_t first,
                                 int64_t n)
{
    rfk__features is = *to;
    if (to->all) {
        load_x(a, to, from, first, n);
        is.u = to->all + first * to->stride;
    } else {
        rfk__load(a, to, from, first, n);
    }
    return is;
}

rfk__mapping rfk__mapping_of(const rfk__linear *a)
{
    return (rfk__mapping){.k = a->k,
                          .width = a->width,
                          .features = a->features,
                          .epsilon = a->epsilon,
                          .top = -INFINITY,
                          .exponent = a->map->grows ? RFK__NEVER : 0};
}

void rfk__see(const rfk__feature_map *map, rfk__mapping *m, const float *u)
{
    if (!map->grows) {
        m->exponent = 0;
        return;
    }
    const float top = m->k->largest(u, m->features);
    if (!(top > m->top) || !isfinite(top)) return;
    m->top = top;
    m->exponent = (int32_t)fmin(1 << 28, fmax(-(1 << 28), ceil((double)top * 1.44269504088896341)));
}

/* Maximum and sum of exponentials of each column. */
static void softmax_columns(const rfk__linear *a, rfk__mapping *m, const rfk__features *work, float *column)
{
    const int64_t f = a->features;
    float *top = column, *sum = column + f, *term = column + 2 * f;
    for (int64_t i = 0; i < f; i++) top[i] = -INFINITY, sum[i] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t first = 0; first < a->tokens; first += CHUNK) {
            const int64_t n = rf__min64(CHUNK, a->tokens - first);
            rfk__load(a, work, a->key, first, n);
            for (int64_t t = 0; t < n; t++) {
                float *u = work->u + t * work->stride;
                if (pass == 0) {
                    for (int64_t i = 0; i < f; i++) top[i] = u[i] > top[i] ? u[i] : top[i];
                    continue;
                }
                for (int64_t i = 0; i < f; i++) u[i] -= top[i];
                m->k->exp(u, u, 0, 0, f);
                m->k->accumulate(sum, term, 1, u, f);
            }
            if (pass == 0) memset(term, 0, (size_t)f * sizeof *term);
        }
    m->column = column;
    m->exponent = 0;
}

int64_t rfk__surveyed(const rfk__linear *a)
{
    const int64_t wide = rfk__padded(&a->tile, a->features);
    const bool surveyed = !a->causal && a->map->grows && a->map->projects && a->tokens <= RFK__SURVEYED / wide;
    return surveyed ? a->tokens * wide : 0;
}

void rfk__column_statistics(const rfk__linear *a, rfk__mapping *m, const rfk__features *work, float *column)
{
    if (a->map->columns) {
        softmax_columns(a, m, work, column);
        return;
    }
    if (!a->map->grows) m->exponent = 0;
    for (int64_t first = 0; a->map->grows && first < a->tokens; first += CHUNK) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        rfk__features to = *work;
        if (work->all) to.u = work->all + first * work->stride;
        rfk__load(a, &to, a->key, first, n);
        for (int64_t t = 0; t < n; t++) rfk__see(a->map, m, to.u + t * to.stride);
    }
}

/* ---- decks and sums ---------------------------------------------------------------------------------------------- */

void rfk__pack_features(const rfk__tiles *tile, float *feature, const float *x, int64_t stride, int64_t at, int64_t n,
                        int64_t f)
{
    for (int64_t done = 0; done < n;) {
        const int64_t column = (at + done) % tile->columns, panel = at + done - column;
        const int64_t some = rf__min64(tile->columns - column, n - done);
        tile->k->transpose(feature + panel * f + column, tile->columns, x + done * stride, stride, some, f);
        done += some;
    }
}

void rfk__pack_value(const rfk__tiles *tile, float *value, int64_t i, const float *v, int64_t width)
{
    for (int64_t j = 0; j < width; j += tile->columns)
        memcpy(value + j * tile->chunk + i * tile->columns, v + j,
               (size_t)rf__min64(tile->columns, width - j) * sizeof *v);
}

/* Rows i .. i + rows - 1 of features, each over n tokens, as the left operand of a product. */
static void gather(const rfk__tiles *tile, float *block, const rfk__deck *deck, int64_t i, int64_t rows, int64_t n,
                   const float *scale, int64_t f)
{
    if (deck->row) tile->k->transpose(block, tile->stride, deck->row + i, deck->stride, n, rows);
    for (int64_t r = 0; deck->row && scale && r < rows; r++)
        tile->k->mul(block + r * tile->stride, block + r * tile->stride, scale, n);
    if (deck->row) return;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t t = 0; t < n; t += tile->columns) {
            const float *from = deck->feature + t * f + (i + r) * tile->columns;
            const int64_t some = rf__min64(tile->columns, n - t);
            if (scale) tile->k->mul(block + r * tile->stride + t, from, scale + t, some);
            else memcpy(block + r * tile->stride + t, from, (size_t)some * sizeof *block);
        }
}

void rfk__advance(const rfk__tiles *tile, rfk__sum *sum, const rfk__deck *deck, int64_t n, int32_t unit, int64_t f,
                  int64_t D, float *block, float *part)
{
    float scale[CHUNK];
    bool scaled = false;
    for (int64_t t = 0; t < n; t++) {
        scale[t] = rfk__power(deck->exponent[t] - unit);
        scaled = scaled || deck->exponent[t] != unit;
    }
    const float keep = rfk__power(sum->exponent - unit);
    for (int64_t i = 0; i < f; i += RFK__RISE) {
        const int64_t rows = rf__min64(RFK__RISE, f - i);
        gather(tile, block, deck, i, rows, n, scaled ? scale : NULL, f);
        for (int64_t j = 0; j < D; j += tile->columns) {
            const int64_t to = j * f + i * tile->columns;
            tile->k->gemm_panel(part, tile->columns, block, deck->value + j * tile->chunk, rows, tile->columns, n, NULL,
                                0);
            tile->k->accumulate(sum->high + to, sum->low + to, keep, part, rows * tile->columns);
        }
    }
    sum->exponent = unit;
}

void rfk__scale_row(const rfk_table *k, float *x, int32_t power, int64_t n)
{
    if (power) k->scale(x, x, rfk__power(power), n);
}

void rfk__mask(const rfk__tiles *tile, float *x, const int32_t *e, int64_t first, int64_t n, int64_t end,
               bool transposed)
{
    const bool even = e[0] == e[end - 1];                       /* they never fall */
    for (int64_t i = first; i < first + n; i++) {
        float *row = x + i * tile->stride;
        const int64_t panel = i / tile->columns * tile->columns, next = panel + tile->columns;
        if (transposed) memset(row + panel, 0, (size_t)(i - panel) * sizeof *row);
        else memset(row + i + 1, 0, (size_t)(next - i - 1) * sizeof *row);
        if (even) continue;
        if (transposed)
            for (int64_t j = i; j < end; j++) row[j] *= rfk__power(e[i] - e[j]);
        else
            for (int64_t j = 0; j <= i; j++) row[j] *= rfk__power(e[j] - e[i]);
    }
}

float rfk__inverse(float den)
{
    return fabsf(den) >= FLT_MIN && fabsf(den) <= FLT_MAX ? 1 / den : 0;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

void rfk__take_keys(const rfk__linear *a, const rfk__features *key, float *rotated, rfk__deck *deck, float *row,
                    int64_t first, int64_t n, int64_t at, bool columns)
{
    for (int64_t t = 0; t < n; t++) {
        const float *v = a->v + (first + t) * a->stride;
        rfk__ahead(a->v, first + t, a->tokens, a->stride, a->width);
        rfk__rotate_features(a, rotated + t * key->stride, key->u + t * key->stride, first + t, 1, RFK__KEY, at + t);
        if (a->bf16) rfk__load_row(a, row, v);
        rfk__pack_value(&a->tile, deck->value, at + t, a->bf16 ? row : v, a->width);
    }
    deck->row = columns ? NULL : rotated;
    deck->stride = key->stride;
    if (columns) rfk__pack_features(&a->tile, deck->feature, rotated, key->stride, at, n, a->features);
}

void rfk__linear_keys(const rfk__linear *a, const rfk__features *key, rfk__mapping *m, rfk__head_state *state,
                      float *row, float *block, float *part)
{
    const int64_t f = a->features;
    rfk__view v = rfk__state_view(&a->tile, state, f, a->width);
    for (int64_t first = 0; first < a->tokens; first += CHUNK) {
        const int64_t n = rf__min64(CHUNK, a->tokens - first);
        const rfk__features is = rfk__load_surveyed(a, key, a->key, first, n);
        memset(row, 0, (size_t)f * sizeof *row);
        for (int64_t t = 0; t < n; t++) {
            float *k = is.u + t * is.stride;
            a->map->key(m, k, key->x.x + t * a->tile.stride);
            a->k->add(row, row, k, f);
            v.deck.exponent[t] = m->exponent;
        }
        a->k->accumulate(v.z, v.z_low, 1, row, f);
        rfk__take_keys(a, &is, key->u, &v.deck, row, first, n, 0, false);
        rfk__advance(&a->tile, &v.s, &v.deck, n, m->exponent, f, a->width, block, part);
    }
}
