/* work.c — row operations on the workers, over fixed spans, with sums in a fixed order. */
#include "graph/graph.h"

struct spans { int64_t n, each; rf_span_body *body; void *arg; };

static void one_span(void *arg, int64_t i, int worker)
{
    const struct spans *s = arg;
    s->body(s->arg, i * s->each, rf__min64(s->n, (i + 1) * s->each), i, worker);
}

void rf__spans(const rf_graph *g, int64_t n, int64_t each, rf_span_body *body, void *arg)
{
    struct spans s = {n, each, body, arg};
    rf__each(g, (n + each - 1) / each, one_span, &s);
}

void rf__each(const rf_graph *g, int64_t n, rf_body *body, void *arg)
{
    if (!g->dry) rf__parallel(g->ctx, n, body, arg);
}

/* ---- element by element ----------------------------------------------------------------------------------------- */

struct flat { const rfk_table *k; float *y; const float *a, *b; rf_act_kernels act; };

static void zero_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    memset(((const struct flat *)arg)->y + first, 0, (size_t)(last - first) * sizeof(float));
}

void rf__zero(const rf_graph *g, float *x, int64_t n) { rf__spans(g, n, RF_SPAN, zero_span, &(struct flat){.y = x}); }

static void copy_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct flat *f = arg;
    memcpy(f->y + first, f->a + first, (size_t)(last - first) * sizeof(float));
}

void rf__copy_into(const rf_graph *g, float *y, const float *x, int64_t n)
{
    rf__spans(g, n, RF_SPAN, copy_span, &(struct flat){.y = y, .a = x});
}

static void sum_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct flat *f = arg;
    f->k->add(f->y + first, f->y + first, f->a + first, last - first);
}

void rf__sum_into(const rf_graph *g, float *y, const float *x, int64_t n)
{
    rf__spans(g, n, RF_SPAN, sum_span, &(struct flat){.k = g->k, .y = y, .a = x});
}

bool rf__act_find(const rf_graph *g, rf_act act, rf_act_kernels *out)
{
    if ((unsigned)act >= RF__ACTS) return false;
    *out = rf__kernels_of_act(g->k, act);
    return true;
}

static void act_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct flat *f = arg;
    f->act.forward(f->y + first, f->a + first, last - first);
}

void rf__act_forward(const rf_graph *g, rf_act act, float *y, const float *x, int64_t n)
{
    struct flat f = {.y = y, .a = x};
    if (rf__act_find(g, act, &f.act) && f.act.forward) rf__spans(g, n, RF_SPAN, act_span, &f);
    else if (y != x) rf__copy_into(g, y, x, n);
}

static void act_back_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct flat *f = arg;
    f->act.back(f->y + first, f->a + first, f->b + first, last - first);
}

void rf__act_back(const rf_graph *g, rf_act act, float *dx, const float *dy, const float *x, int64_t n)
{
    struct flat f = {.y = dx, .a = dy, .b = x};
    if (rf__act_find(g, act, &f.act) && f.act.back) rf__spans(g, n, RF_SPAN, act_back_span, &f);
    else if (dx != dy) rf__copy_into(g, dx, dy, n);
}

/* ---- through bf16, in pieces that a worker's stack holds ---- */

enum { PIECE = 2048 };
struct rounded { const rfk_table *k; rf_act_kernels act; uint16_t *z16; const uint16_t *kept; float *y; };

static void round_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct rounded *r = arg;
    uint16_t part[PIECE];
    for (int64_t i = first, n; i < last; i += n) {
        n = rf__min64(PIECE, last - i);
        uint16_t *z16 = r->z16 ? r->z16 + i : part;
        r->k->to_bf16(z16, r->y + i, n);
        r->k->from_bf16(r->y + i, z16, n);
        if (r->act.forward) r->act.forward(r->y + i, r->y + i, n);
    }
}

void rf__act_round(const rf_graph *g, rf_act act, uint16_t *z16, float *y, int64_t n)
{
    struct rounded r = {.k = g->k, .z16 = z16, .y = y};
    if (rf__act_find(g, act, &r.act)) rf__spans(g, n, RF_SPAN, round_span, &r);
}

static void again_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct rounded *r = arg;
    r->k->from_bf16(r->y + first, r->kept + first, last - first);
    if (r->act.forward) r->act.forward(r->y + first, r->y + first, last - first);
}

void rf__act_again(const rf_graph *g, rf_act act, float *y, const uint16_t *z16, int64_t n)
{
    struct rounded r = {.k = g->k, .kept = z16, .y = y};
    if (rf__act_find(g, act, &r.act)) rf__spans(g, n, RF_SPAN, again_span, &r);
}

static void back_bf16_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct rounded *r = arg;
    float part[PIECE];
    for (int64_t i = first, n; i < last; i += n) {
        n = rf__min64(PIECE, last - i);
        r->k->from_bf16(part, r->kept + i, n);
        r->act.back(r->y + i, r->y + i, part, n);
    }
}

void rf__act_back_bf16(const rf_graph *g, rf_act act, float *dz, const uint16_t *z16, int64_t n)
{
    struct rounded r = {.k = g->k, .kept = z16, .y = dz};
    if (rf__act_find(g, act, &r.act) && r.act.back) rf__spans(g, n, RF_SPAN, back_bf16_span, &r);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

struct indexed { const rfk_table *k; float *y; const float *x; const int32_t *row; int64_t n, width; };

static void gather_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct indexed *r = arg;
    for (int64_t i = first; i < last; i++)
        memcpy(r->y + i * r->width, r->x + r->row[i] * r->width, (size_t)r->width * sizeof(float));
}

void rf__read_row(const rfk_table *k, const rf_file_rows *table, int64_t width, int64_t row, int64_t j, float *to,
                  int64_t n)
{
    const int64_t at = row * width + j;
    const float *f32 = table->data;
    const uint16_t *half = table->data;
    const int8_t *code = table->data;
    switch (table->type) {
    case RF_F32: memcpy(to, f32 + at, (size_t)n * sizeof *to); return;
    case RF_BF16: k->from_bf16(to, half + at, n); return;
    case RF_F16: k->from_f16(to, half + at, n); return;
    case RF_I8:
        for (int64_t i = 0; i < n; i++) to[i] = (float)code[at + i] * table->scale[row];
        return;
    case RF_I32:
    case RF_I8W: return;                /* no table has these types */
    }
}

void rf__gather(const rf_graph *g, float *y, const float *x, const int32_t row[], int64_t n, int64_t width)
{
    rf__spans(g, n, rf__span_rows(width), gather_span, &(struct indexed){g->k, y, x, row, n, width});
}

/* Spans of columns: one worker computes the sum of a row in the order of i, without sorting or partial sums. */
enum { COLUMNS = 128 };

static void scatter_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct indexed *r = arg;
    for (int64_t i = 0; i < r->n; i++) {
        float *y = r->y + r->row[i] * r->width + first;
        r->k->add(y, y, r->x + i * r->width + first, last - first);
    }
}

void rf__scatter_add(const rf_graph *g, float *x, const float *y, const int32_t row[], int64_t n, int64_t width)
{
    rf__spans(g, width, COLUMNS, scatter_span, &(struct indexed){g->k, x, y, row, n, width});
}

/* Groups of rows are summed first, so that the rounding error grows with the number of groups instead of rows. */
static void column_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    enum { GROUP = 64 };
    const struct indexed *r = arg;
    const int64_t n = last - first;
    float part[COLUMNS];
    for (int64_t i = 0; i < r->n; i += GROUP) {
        memcpy(part, r->x + i * r->width + first, (size_t)n * sizeof *part);
        for (int64_t j = i + 1; j < i + GROUP && j < r->n; j++)
            r->k->add(part, part, r->x + j * r->width + first, n);
        r->k->add(r->y + first, r->y + first, part, n);
    }
}

void rf__column_sums(const rf_graph *g, float *sum, const float *x, int64_t rows, int64_t columns)
{
    rf__spans(g, columns, COLUMNS, column_span, &(struct indexed){g->k, sum, x, NULL, rows, columns});
}

/* ---- products --------------------------------------------------------------------------------------------------- */

void rf__graph_gemm(rf_graph *g, const rf_gemm_call *call)
{
    g->flops += 2.0 * (double)call->m * (double)call->n * (double)call->k;
    if (rf__computes(g)) rf_gemm(g->ctx, call, &g->error);
}
