/* gemm_ref.c — the matrix product by its definition, summed in double.
 *
 *     c[i,j] = act( sum_p a[i,p] b[p,j] + bias[j] )     or     c[i,j] = c[i,j] + sum_p a[i,p] b[p,j]
 *
 * Every sum runs over p in order and is rounded once, so its bits depend only on its row and its column.             */
#include "kernel/gemm/products.h"
#include "kernel/kernel.h"

enum { COLUMNS = 32 };

/* A matrix: f32, or bf16 if `half` is not NULL. */
typedef struct strided { const float *at; const uint16_t *half; int64_t row, column; } strided;

typedef struct product {
    const rf_gemm_call *call;
    strided a, b;
} product;

static strided as_seen(const float *at, const uint16_t *half, int64_t ld, int transposed)
{
    return transposed ? (strided){at, half, 1, ld} : (strided){at, half, ld, 1};
}

static double number(const strided *x, int64_t i, rf_type type)
{
    if (x->half) return (double)rf__from_bf16(x->half[i]);
    return (double)(type == RF_BF16 ? rf__from_bf16(rf__bf16(x->at[i])) : x->at[i]);
}

static void row_of_c(void *arg, int64_t i, int worker)
{
    (void)worker;
    const product *p = arg;
    const rf_gemm_call *g = p->call;
    const rf__activation *act = rf__act_row(g->act);
    float *c = g->c + i * g->ldc;
    for (int64_t j0 = 0; j0 < g->n; j0 += COLUMNS) {
        const int64_t width = rf__min64(COLUMNS, g->n - j0);
        double sum[COLUMNS] = {0};
        for (int64_t k = 0; k < g->k; k++) {
            const double x = number(&p->a, i * p->a.row + k * p->a.column, g->type);
            for (int64_t j = 0; j < width; j++)
                sum[j] += x * number(&p->b, k * p->b.row + (j0 + j) * p->b.column, g->type);
        }
        for (int64_t j = 0; j < width; j++) {
            if (g->beta != 0) sum[j] += (double)c[j0 + j];
            if (g->bias) sum[j] += (double)g->bias[j0 + j];
            c[j0 + j] = (float)(act ? act->of(sum[j]) : sum[j]);
        }
    }
}

static rf_status gemm(const rf_ctx *ctx, const rf_gemm_call *g, rf_error *why)
{
    (void)why;
    product p = {g, as_seen(g->a, g->a16, g->lda, g->a_transposed), as_seen(g->b, g->b16, g->ldb, g->b_transposed)};
    rf__parallel(ctx, g->m, row_of_c, &p);
    return RF_OK;
}

static rf_status pack(const rf_ctx *ctx, rf_packed *p, const float *w, rf_error *why)
{
    const size_t bytes = rfk__size(p->n * p->k, sizeof *w);
    p->data = rf__alloc(ctx, bytes);
    if (!p->data) return rf_fail(why, RF_ENOMEM, "out of memory: packed weights of %zu bytes", bytes);
    if (bytes) memcpy(p->data, w, bytes);
    return RF_OK;
}

static rf_status half_of_packed(const rf_ctx *ctx, const rf_packed *p, int64_t m, const float *x, int64_t ldx,
                                const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const rf_gemm_call call = {.m = m,
                               .n = p->n,
                               .k = p->k,
                               .a = x,
                               .lda = ldx,
                               .b = p->data,
                               .ldb = p->k,
                               .b_transposed = 1,
                               .c = y,
                               .ldc = ldy,
                               .bias = bias,
                               .act = act,
                               .type = p->type};
    return gemm(ctx, &call, why);
}

static rf_status packed(const rf_ctx *ctx, const rf_packed *p, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const float *const gate_bias = rf__gate_bias(p, bias);
    rf_status s = half_of_packed(ctx, p, m, x, ldx, gate_bias, act, y, ldy, why);
    if (s || !p->up) return s;
    const size_t bytes = rfk__size(m * p->n, sizeof(float));
    float *up = rf__alloc(ctx, bytes);
    if (!up) return rf_fail(why, RF_ENOMEM, "out of memory: scratch of a gated product, %zu bytes", bytes);
    s = half_of_packed(ctx, p->up, m, x, ldx, rf__up_bias(p, bias), RF_ACT_NONE, up, p->n, why);
    for (int64_t i = 0; i < m && !s; i++)
        for (int64_t j = 0; j < p->n; j++) y[i * ldy + j] *= up[i * p->n + j];
    rf__free(ctx, up);
    return s;
}

const rf__products rf__products_ref = {"built in (reference)", gemm, pack, NULL, packed, NULL, NULL, NULL};
