/* relative.c — shared by the relative encodings: offsets of a batch, rows and tables for them, T5's buckets. */
#include "model/position.h"

#include <math.h>
#include <stdlib.h>

int64_t rf__relative_reach(rf_graph *g, const rf_layer_context *at)
{
    int64_t longest = 1;
    for (int64_t b = 0; b < at->B; b++) {
        const int32_t from = at->start[b], to = at->start[b + 1];
        const int64_t before = at->cache ? rf__cache_length(at->cache, b) : 0;
        if (before + to - from > longest) longest = before + to - from;
        for (int32_t n = from + 1; n < to && at->chosen && !g->error.code; n++)
            if ((int64_t)at->position[n] != (int64_t)at->position[n - 1] + 1)
                rf__stop(g, RF_ERANGE,
                         "%s: position of token %d: expected %lld, one more than that of the token before, got %d",
                         at->config->position_embedding_type, (int)n, (long long)at->position[n - 1] + 1,
                         (int)at->position[n]);
    }
    return longest - 1;
}

const int32_t *rf__relative_rows(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_relative_row *row)
{
    int32_t *rows = rf__push(g, (size_t)(2 * clip + 1), sizeof *rows);
    for (int64_t r = -clip; rows && r <= clip; r++) rows[r + clip] = (int32_t)row(at->config, r);
    return rows;
}

/* The middle rows, offsets -clip .. clip, of a kept table; NULL: it is not long enough. */
static const float *middle(const rf_kept *t, int64_t clip)
{
    return t->rows > 2 * clip ? t->x + ((t->rows - 1) / 2 - clip) * t->width : NULL;
}

rf_tensor *rf__relative_table(rf_graph *g, const rf_layer_context *at, int64_t clip, int64_t width,
                              rf_relative_value *value)
{
    const size_t n = (size_t)((2 * clip + 1) * width);
    const float *kept = middle(rf__positions_kept(at, -1, 0), clip);
    float *x = rf__push(g, n, sizeof *x);   /* a copy, since a later batch may replace the kept table by a longer one */
    if (!x) return &g->nil.t;
    if (kept) memcpy(x, kept, n * sizeof *x);
    for (int64_t r = -clip; r <= clip && !kept; r++)
        for (int64_t i = 0; i < width; i++) x[(r + clip) * width + i] = (float)value(at->config, r, i);
    if (!kept) rf__positions_keep(g, at, -1, 0, 2 * clip + 1, width, x);
    return rf__constant(g, x, 2, (int64_t[]){2 * clip + 1, width});
}

/* Longer tables are not kept: a table for FAR distances needs 6 MB for a layer of width 768. They grow by STEP
 * distances. */
enum { FAR = 1024, STEP = 64 };

void rf__relative_tables(rf_graph *g, const rf_layer_context *at, int64_t clip, int64_t farthest,
                         rf_relative_make *make, rf_tensor *table[], int n)
{
    const bool keeps = at->still && clip < FAR;
    bool have = keeps;
    for (int i = 0; i < n && have; i++) have = middle(rf__positions_kept(at, at->layer, i), clip) != NULL;
    if (!have) {
        const int64_t wide = keeps ? rf__max64(clip, rf__min64(clip / STEP * STEP + STEP - 1, farthest)) : clip;
        make(g, at, wide, table);
        for (int i = 0; i < n && keeps; i++)
            if (!rf__positions_keep(g, at, at->layer, i, 2 * wide + 1, table[i]->dim[1], table[i]->f32)) return;
    }
    for (int i = 0; i < n && keeps; i++) {
        const rf_kept *t = rf__positions_kept(at, at->layer, i);
        table[i] = rf__constant(g, middle(t, clip), 2, (int64_t[]){2 * clip + 1, t->width});
    }
}

/* Half of a side's buckets have one distance each, the others grow by a constant factor; in single precision, as in
 * transformers, since the ends of buckets are sensitive to rounding. */
int64_t rf__relative_bucket(const rf_config *c, int64_t r)
{
    const int64_t sides = c->is_decoder ? 1 : 2, n = c->relative_attention_num_buckets / sides, exact = n / 2;
    const int64_t behind = sides == 2 && r > 0 ? n : 0, distance = sides == 2 ? llabs((long long)r) : r < 0 ? -r : 0;
    if (distance < exact) return behind + distance;
    const float all = (float)log((double)c->relative_attention_max_distance / (double)exact);
    const float share = (float)log((double)((float)distance / (float)exact)) / all;
    return behind + rf__min64(n - 1, exact + (int64_t)(share * (float)(n - exact)));
}

void rf__relative_bucket_bias(rf_graph *g, const rf_layer_context *at, rf_tensor *bias, rf_attention_spec *spec)
{
    const int64_t reach = rf__relative_reach(g, at);
    spec->clip = rf__min64(reach, at->config->relative_attention_max_distance);
    const int32_t *rows = rf__relative_rows(g, at, spec->clip, rf__relative_bucket);
    if (rows) spec->relative_bias = rf__rows(g, bias, rows, 2 * spec->clip + 1);
}

int64_t rf__relative_buckets(const rf_config *c, char letter)
{
    (void)letter;
    return c->relative_attention_num_buckets;
}

rf_status rf__relative_bucket_check(const rf_config *c, rf_error *why)
{
    const int64_t side = c->relative_attention_num_buckets / (c->is_decoder ? 1 : 2);
    if (side >= 2 && c->relative_attention_max_distance > side / 2) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "config.json: %s with relative_attention_num_buckets %lld and relative_attention_max_distance %lld: "
                   "expected at least %d buckets, and a distance beyond %lld",
                   c->position_embedding_type, (long long)c->relative_attention_num_buckets,
                   (long long)c->relative_attention_max_distance,
                   c->is_decoder ? 2 : 4,
                   (long long)(side / 2));
}
