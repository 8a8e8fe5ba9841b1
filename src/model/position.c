/* position.c — shared by the files of position encodings, and the tables that an encoder keeps for them. */
#include "model/position.h"

#include <string.h>

int64_t rf__position_grid(const rf_config *c)
{
    int64_t side = 1;
    while (side * side < c->max_position_embeddings) side++;
    return c->position_grid_width ? c->position_grid_width : side;
}

/* ---- kept tables ------------------------------------------------------------------------------------------------- */

/* Tables of angles for 512, 1024, ... positions, created on first use and kept. Positions that the caller chose and
 * that are beyond FAR get a table for the batch. */
enum { SIZES = 23, SMALLEST = 9, FAR = 1 << 17 };

typedef struct tables {
    rf_rope *size[SIZES], *custom;
    uint64_t batch;             /* the batch that `custom` was created for                                            */
} tables;

struct rf_positions {
    const rf_ctx *ctx;
    uint64_t batches;
    int64_t owners;             /* layers and the embeddings                                                          */
    tables *table;              /* [places, RF_POSITION_PARTS]                                                        */
    rf_kept *made;              /* [places, RF_POSITION_TABLES]                                                       */
    float *fixed;
    int64_t rows, width;        /* of fixed                                                                           */
};

rf_status rf__positions_new(const rf_ctx *ctx, const rf_config *c, rf_positions **out, rf_error *why)
{
    rf_positions *p = rf__calloc(ctx, 1, sizeof *p);
    if (p) {
        p->ctx = ctx;
        p->owners = c->num_hidden_layers + 1;
        p->table = rf__calloc(ctx, (size_t)p->owners * RF_POSITION_PARTS, sizeof *p->table);
        p->made = rf__calloc(ctx, (size_t)p->owners * RF_POSITION_TABLES, sizeof *p->made);
    }
    if (!p || !p->table || !p->made) {
        rf__positions_free(p);
        return rf_fail(why, RF_ENOMEM, "out of memory: tables of positions of %lld layers",
                       (long long)c->num_hidden_layers);
    }
    *out = p;
    return RF_OK;
}

void rf__positions_free(rf_positions *p)
{
    if (!p) return;
    for (int64_t i = 0; p->table && i < p->owners * RF_POSITION_PARTS; i++) {
        for (int s = 0; s < SIZES; s++) rf_rope_free(p->table[i].size[s]);
        rf_rope_free(p->table[i].custom);
    }
    for (int64_t i = 0; p->made && i < p->owners * RF_POSITION_TABLES; i++) rf__free(p->ctx, p->made[i].x);
    rf__free(p->ctx, p->made);
    rf__free(p->ctx, p->table);
    rf__free(p->ctx, p->fixed);
    rf__free(p->ctx, p);
}

bool rf__positions_bind(rf_graph *g, rf_positions *p, const rf_config *c, const rf_batch *b, rf_layer_context *out)
{
    int32_t *position = rf__push(g, (size_t)b->N, sizeof *position),
            *length = rf__push(g, (size_t)b->N, sizeof *length);
    int32_t *start = rf__copy(g, b->start, (size_t)b->B + 1, sizeof *start),
            *id = rf__copy(g, b->id, (size_t)b->N, sizeof *id);
    int32_t *type = rf__push(g, (size_t)b->N, sizeof *type);
    if (type && b->type) memcpy(type, b->type, (size_t)b->N * sizeof *type);
    else if (type) memset(type, 0, (size_t)b->N * sizeof *type);
    *out = (rf_layer_context){.config = c,
                              .layer = -1,
                              .N = b->N,
                              .B = b->B,
                              .id = id,
                              .type = type,
                              .start = start,
                              .position = position,
                              .length = length,
                              .chosen = b->position != NULL,
                              .kept = p,
                              .batch = ++p->batches};
    if (g->error.code) return false;
    for (int64_t s = 0; s < b->B; s++) {
        int32_t top = 0;
        for (int32_t n = b->start[s]; n < b->start[s + 1]; n++) {
            position[n] = b->position ? b->position[n] : n - b->start[s];
            if (position[n] > top) top = position[n];
            if (position[n] < out->lowest) out->lowest = position[n];
        }
        for (int32_t n = b->start[s]; n < b->start[s + 1]; n++) length[n] = top < INT32_MAX ? top + 1 : top;
        if (top > out->highest) out->highest = top;
    }
    return true;
}

bool rf__positions_below(rf_graph *g, const rf_layer_context *at, int64_t limit, const char *what)
{
    for (int64_t n = 0; n < at->N && !g->error.code; n++)
        if (at->position[n] < 0 || at->position[n] >= limit)
            rf__stop(g, RF_ERANGE, "position of token %lld: expected at least 0 and less than %lld (%s), got %d; "
                     "truncate the text (max_length)", (long long)n, (long long)limit, what, (int)at->position[n]);
    return !g->error.code;
}

/* ---- angles ------------------------------------------------------------------------------------------------------ */

struct making { const rf_layer_context *at; bool by_token; rf_position_angle *angle; const void *what; };

static void by_row(const void *arg, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct making *m = arg;
    m->angle(m->what, row, 0, i, angle, gain);
}

static void by_token(const void *arg, int64_t row, int64_t i, double *angle, double *gain)
{
    const struct making *m = arg;
    m->angle(m->what, m->at->position[row], m->by_token ? m->at->length[row] : 0, i, angle, gain);
}

rf_status rf__positions_rope(rf_graph *g, const rf_layer_context *at, int part, int64_t rotary, rf_rope_layout layout,
                             bool each, rf_position_angle *angle, const void *what, const rf_rope **rope,
                             const int32_t **row, rf_error *why)
{
    const rf_ctx *ctx = at->kept->ctx;
    tables *t = &at->kept->table[(at->layer + 1) * RF_POSITION_PARTS + part];
    const struct making m = {at, each, angle, what};
    rf_status status = RF_OK;
    if (!each && (!at->chosen || (at->lowest >= 0 && at->highest < FAR))) {
        int s = 0;
        while (at->highest >= (int64_t)1 << (SMALLEST + s)) s++;
        if (!t->size[s])
            status = rf_rope_make(ctx, rotary, layout, (int64_t)1 << (SMALLEST + s), by_row, &m, &t->size[s], why);
        *rope = t->size[s];
        *row = at->position;
        return status;
    }
    int32_t *own = rf__push(g, (size_t)at->N, sizeof *own);
    if (!own) return g->error.code;
    for (int64_t n = 0; n < at->N; n++) own[n] = (int32_t)n;
    if (t->batch != at->batch) {                                /* otherwise another layer of this batch shares it */
        rf_rope_free(t->custom);
        t->custom = NULL;
        status = rf_rope_make(ctx, rotary, layout, at->N > 0 ? at->N : 1, at->N > 0 ? by_token : by_row, &m, &t->custom,
                              why);
        if (!status) t->batch = at->batch;
    }
    *rope = t->custom;
    *row = own;
    return status;
}

/* ---- fixed tables ------------------------------------------------------------------------------------------------ */

/* Positions that the caller chose are computed separately if a kept table would have more rows. */
enum { NEAR = 4096 };

struct filling { const rf_config *c; float *to; int64_t width; rf_position_row *fill; };

static void fill_row(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct filling *f = arg;
    f->fill(f->c, i, f->to + i * f->width, f->width);
}

const float *rf__positions_fixed(rf_graph *g, const rf_layer_context *at, int64_t rows, int64_t width,
                                 rf_position_row *fill)
{
    rf_positions *p = at->kept;
    if (p->fixed && p->width == width && p->rows >= rows) return p->fixed;
    int64_t more = 512;
    while (more < rows) more *= 2;
    size_t floats = 0;
    float *table = rf__checked_mul((size_t)more, (size_t)width, &floats) && floats <= SIZE_MAX / sizeof *table
                       ? rf__alloc(p->ctx, floats * sizeof *table) : NULL;
    if (!table) {
        rf__stop(g, RF_ENOMEM, "out of memory: a table of %lld positions of width %lld", (long long)more,
                 (long long)width);
        return NULL;
    }
    rf__parallel(p->ctx, more, fill_row, &(struct filling){at->config, table, width, fill});
    rf__free(p->ctx, p->fixed);
    p->fixed = table;
    p->rows = more;
    p->width = width;
    return table;
}

struct occurring { const rf_layer_context *at; float *to; int64_t width; rf_position_row *fill; };

static void fill_token(void *arg, int64_t n, int worker)
{
    (void)worker;
    const struct occurring *o = arg;
    o->fill(o->at->config, o->at->position[n], o->to + n * o->width, o->width);
}

rf_tensor *rf__positions_rows(rf_graph *g, const rf_layer_context *at, int64_t width, rf_position_row *fill)
{
    const rf_positions *p = at->kept;
    const int64_t reach = (int64_t)at->highest + 1;
    if (!at->chosen || reach <= NEAR || (p->fixed && p->width == width && p->rows >= reach)) {
        const float *table = rf__positions_fixed(g, at, reach, width, fill);
        if (!table) return &g->nil.t;
        return rf__embed(g, rf__constant(g, table, 2, (int64_t[]){reach, width}), at->position, at->N);
    }
    rf_tensor *rows = rf__new(g, 2, (int64_t[]){at->N, width});
    if (!g->error.code) rf__each(g, at->N, fill_token, &(struct occurring){at, rows->f32, width, fill});
    return rows;
}

/* ---- tables created by an encoding ------------------------------------------------------------------------------- */

const rf_kept *rf__positions_kept(const rf_layer_context *at, int64_t layer, int number)
{
    return &at->kept->made[(layer + 1) * RF_POSITION_TABLES + number];
}

bool rf__positions_keep(rf_graph *g, const rf_layer_context *at, int64_t layer, int number, int64_t rows, int64_t width,
                        const float *x)
{
    rf_kept *t = &at->kept->made[(layer + 1) * RF_POSITION_TABLES + number];
    if (g->error.code) return false;
    rf__free(at->kept->ctx, t->x);
    *t = (rf_kept){.x = rf__alloc(at->kept->ctx, (size_t)(rows * width) * sizeof *x), .width = width};
    if (t->x) {
        memcpy(t->x, x, (size_t)(rows * width) * sizeof *x);
        t->rows = rows;
        return true;
    }
    rf__stop(g, RF_ENOMEM, "out of memory: a table of %lld positions of width %lld", (long long)rows, (long long)width);
    return false;
}
