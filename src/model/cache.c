/* cache.c — keys and values of earlier tokens; see cache.h.
 *
 * Rows of a sequence lie side by side, because attention walks them with one stride; capacity doubles when it is used
 * up, so that a token costs the copy of a constant number of rows.                                                   */
#include "model/cache.h"

enum { LEAST = 64 };                    /* rows at first                                                              */

typedef struct rows { float *at; int64_t capacity, width; } rows;

struct rf_cache {
    const rf_ctx *ctx;
    int64_t layers, sequences;
    int64_t *length;                    /* [sequences]                                                                */
    rows *key, *more;                   /* [layers, sequences]                                                        */
    float *state[2];                    /* before, after                                                              */
    int64_t floats;                     /* of a sequence's state                                                      */
    size_t bytes;
};

rf_status rf__cache_new(const rf_ctx *ctx, int64_t layers, int64_t sequences, rf_cache **out, rf_error *why)
{
    rf_cache *c = rf__calloc(ctx, 1, sizeof *c);
    size_t n = 0;
    const bool fits = rf__checked_mul((size_t)layers, (size_t)sequences, &n);
    if (c && fits) {
        *c = (rf_cache){.ctx = ctx, .layers = layers, .sequences = sequences};
        c->length = rf__calloc(ctx, (size_t)sequences, sizeof *c->length);
        c->key = rf__calloc(ctx, n, sizeof *c->key);
        c->more = rf__calloc(ctx, n, sizeof *c->more);
    }
    if (!c || !c->length || !c->key || !c->more) {
        rf__cache_free(c);
        return rf_fail(why, RF_ENOMEM, "out of memory: a cache of %lld sequences", (long long)sequences);
    }
    *out = c;
    return RF_OK;
}

void rf__cache_free(rf_cache *c)
{
    if (!c) return;
    for (int64_t i = 0; c->key && c->more && i < c->layers * c->sequences; i++) {
        rf__free(c->ctx, c->key[i].at);
        rf__free(c->ctx, c->more[i].at);
    }
    for (int i = 0; i < 2; i++) rf__free(c->ctx, c->state[i]);
    rf__free(c->ctx, c->key);
    rf__free(c->ctx, c->more);
    rf__free(c->ctx, c->length);
    rf__free(c->ctx, c);
}

int64_t rf__cache_sequences(const rf_cache *c) { return c->sequences; }
int64_t rf__cache_length(const rf_cache *c, int64_t sequence) { return c->length[sequence]; }
size_t rf__cache_bytes(const rf_cache *c) { return c->bytes; }

/* ---- keys and values ---- */

static bool reserve(rf_graph *g, rf_cache *c, rows *r, int64_t need, int64_t width)
{
    int64_t capacity = r->capacity ? r->capacity : LEAST;
    while (capacity < need) capacity *= 2;
    if (r->at && capacity == r->capacity) return true;
    size_t bytes = 0;
    float *more = rf__checked_mul((size_t)capacity, (size_t)width * sizeof *more, &bytes)
                      ? rf__realloc(c->ctx, r->at, bytes)
                      : NULL;
    if (!more) {
        rf__stop(g, RF_ENOMEM, "out of memory: keys and values of %lld tokens", (long long)capacity);
        return false;
    }
    c->bytes += bytes - (size_t)(r->capacity * width) * sizeof *more;
    *r = (rows){more, capacity, width};
    return true;
}

/* Columns [from, from + width) of the tokens of x become rows behind those of each sequence; *all lists the
 * beginnings. */
static bool append(rf_graph *g, rf_cache *c, rows *to, const rf_tensor *x, int64_t from, int64_t width,
                   const int32_t start[], const float ***all)
{
    const float **at = rf__push(g, (size_t)c->sequences, sizeof *at);
    *all = at;
    for (int64_t b = 0; b < c->sequences && at; b++) {
        const int64_t length = c->length[b], T = start[b + 1] - start[b];
        if (!reserve(g, c, &to[b], length + T, width)) return false;
        for (int64_t t = 0; t < T; t++)
            memcpy(to[b].at + (length + t) * width, x->f32 + (start[b] + t) * x->dim[1] + from,
                   (size_t)width * sizeof(float));
        at[b] = to[b].at;
    }
    return at != NULL;
}

void rf__cache_extend(rf_graph *g, rf_cache *c, int64_t layer, rf_tensor *qkv, rf_attention_spec *spec)
{
    rf_tensor *rotated = qkv;
    if (spec->rope) {                                               /* queries are rotated by the kernel */
        const rf_rotate_parts_spec rotate = {.parts = 3,
                                             .heads = spec->heads,
                                             .rotated = spec->heads,
                                             .row = {NULL, spec->row, spec->row},
                                             .rope = {NULL, spec->rope, spec->rotate_value ? spec->rope : NULL}};
        rotated = rf_rotate_parts(g, qkv, &rotate);
    }
    rf_past *past = rf__push(g, 1, sizeof *past);
    int64_t *count = rf__push(g, (size_t)c->sequences, sizeof *count);
    const float **key = NULL, **more = NULL;
    if (g->error.code) return;
    const int64_t C = qkv->dim[1] / 3;
    if (!append(g, c, c->key + layer * c->sequences, rotated, C, 2 * C, spec->start, &key)) return;
    if (spec->more_key &&
        !append(g, c, c->more + layer * c->sequences, spec->more_key, 0, spec->more_key->dim[1], spec->start, &more))
        return;
    for (int64_t b = 0; b < c->sequences; b++) count[b] = c->length[b] + spec->start[b + 1] - spec->start[b];
    *past = (rf_past){count, key, more};
    spec->past = past;
}

/* ---- states ---- */

bool rf__cache_state(rf_graph *g, rf_cache *c, int64_t floats, const float **before, float **after)
{
    if (g->error.code) return false;
    for (int i = 0; i < 2; i++)
        if (!c->state[i] &&
            !(c->state[i] = rf__calloc(c->ctx, (size_t)c->sequences, (size_t)floats * sizeof **c->state))) {
            rf__stop(g, RF_ENOMEM, "out of memory: states of %lld sequences", (long long)c->sequences);
            return false;
        }
    c->floats = floats;
    *before = c->state[0];
    *after = c->state[1];
    return true;
}

void rf__cache_commit(rf_cache *c, const int32_t start[])
{
    for (int64_t b = 0; b < c->sequences; b++) c->length[b] += start[b + 1] - start[b];
    float *after = c->state[1];
    c->state[1] = c->state[0];
    c->state[0] = after;
}
