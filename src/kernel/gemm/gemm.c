/* gemm.c — the public functions for matrix products: they check every argument and call one of the implementations.
 *
 * On the rung "ref" that is the triple loop, elsewhere the blocked product. */
#include <pthread.h>

#include "kernel/kernel.h"
#include "kernel/gemm/products.h"

/* ---- what a context keeps ---------------------------------------------------------------------------------------- */

/* Scratch that no product uses. The bytes that products get follow. */
typedef struct buffer {
    struct buffer *next;
    size_t size;
} buffer;

enum { HEAD = 64 };                     /* bytes before a product's scratch, which begins at a multiple of 64 */

struct rf__product_state {
    pthread_mutex_t lock;
    buffer *unused;                     /* the last one used is the first */
};

rf_status rf__product_state_new(rf_ctx *ctx, rf_error *why)
{
    struct rf__product_state *s = rf__calloc(ctx, 1, sizeof *s);
    if (!s || pthread_mutex_init(&s->lock, NULL)) {
        rf__free(ctx, s);
        return rf_fail(why, RF_ENOMEM, "out of memory: the products' state of %zu bytes", sizeof *s);
    }
    ctx->products = s;
    return RF_OK;
}

void rf__product_state_free(rf_ctx *ctx)
{
    struct rf__product_state *s = ctx->products;
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    for (buffer *next, *x = s->unused; x; x = next) {
        next = x->next;
        rf__free(ctx, x);
    }
    rf__free(ctx, s);
    ctx->products = NULL;
}

/* Nobody waits for the lock: in a child that was forked meanwhile it may be locked for ever. */
void *rf__product_take(const rf_ctx *ctx, size_t size)
{
    struct rf__product_state *s = ctx->products;
    buffer *x = NULL;
    if (!pthread_mutex_trylock(&s->lock)) {
        if ((x = s->unused)) s->unused = x->next;
        pthread_mutex_unlock(&s->lock);
    }
    if (!x || x->size < size) {
        rf__free(ctx, x);
        x = rf__alloc(ctx, rfk__both(HEAD, size));
        if (!x) return NULL;
        x->size = size;
    }
    return (char *)x + HEAD;
}

void rf__product_give(const rf_ctx *ctx, void *scratch)
{
    struct rf__product_state *s = ctx->products;
    if (!scratch) return;
    buffer *x = (buffer *)(void *)((char *)scratch - HEAD);
    if (pthread_mutex_trylock(&s->lock)) {
        rf__free(ctx, x);
        return;
    }
    x->next = s->unused;
    s->unused = x;
    pthread_mutex_unlock(&s->lock);
}

void rf__act_rows(const rf_ctx *ctx, rf_act act, float *y, int64_t ldy, int64_t rows, int64_t n)
{
    const rf_act_kernels f = rf__kernels_of_act(ctx->k, act);
    for (int64_t i = 0; f.forward && i < rows; i++) f.forward(y + i * ldy, y + i * ldy, n);
}

void rf__multiply_rows(const rf_ctx *ctx, float *y, int64_t ldy, const float *gate, const float *up, int64_t ld,
                       int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < rows; i++) ctx->k->mul(y + i * ldy, gate + i * ld, up + i * ld, n);
}

/* ---- which way --------------------------------------------------------------------------------------------------- */

const rf__products *rf__products_at(const rf_ctx *ctx, int i)
{
    static const rf__products *const list[] = {&rf__products_f32, &rf__products_ref};
    const int first = strcmp(ctx->isa, "ref") ? 0 : 1;
    return i >= 0 && first + i < (int)RF_COUNT(list) ? list[first + i] : NULL;
}

const rf__products *rf__products_for(const rf_ctx *ctx, rf_type type)
{
    const rf__products *by = rf__products_at(ctx, 0);
    if (type == RF_I8) return &rf__products_i8;
    if (type == RF_I8W) return &rf__products_i8w;
    return type == RF_BF16 && by != &rf__products_ref ? &rf__products_bf16 : by;
}

const char *rf_gemm_backend(const rf_ctx *ctx) { return rf__products_at(ctx, 0)->name; }

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Every offset into a matrix, in bytes, must fit 63 bits with a margin. */
#define LARGEST ((int64_t)1 << 28)

static rf_status check_sizes(const char *op, int64_t m, int64_t n, int64_t k, rf_error *why)
{
    const int64_t low = rf__min64(m, rf__min64(n, k)), high = rf__max64(m, rf__max64(n, k));
    if (low < 0 || high > LARGEST)
        return rf_fail(why, RF_ERANGE, "%s: m, n, k: expected 0 to %lld, got %lld, %lld and %lld", op,
                       (long long)LARGEST, (long long)m, (long long)n, (long long)k);
    return RF_OK;
}

static rf_status check_stride(const char *op, const char *name, int64_t ld, int64_t width, rf_error *why)
{
    if (ld < width || ld > LARGEST)
        return rf_fail(why, RF_ESHAPE, "%s: %s: expected a stride from its width, %lld, to %lld, got %lld", op, name,
                       (long long)width, (long long)LARGEST, (long long)ld);
    return RF_OK;
}

static rf_status check_act(const char *op, rf_act act, rf_error *why)
{
    if ((unsigned)act >= RF__ACTS)
        return rf_fail(why, RF_EARG, "%s: activation: expected a value of rf_act, got %d", op, (int)act);
    return RF_OK;
}

static rf_status check_type(const char *op, rf_type type, bool packed, rf_error *why)
{
    if (type == RF_F32 || type == RF_BF16 || (packed && (type == RF_I8 || type == RF_I8W))) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: type: expected f32 (%d)%s bf16 (%d)%s, got %d", op, RF_F32,
                   packed ? "," : " or", RF_BF16, packed ? ", int8 (3) or int8w (5)" : "", (int)type);
}

static rf_status check(const rf_gemm_call *g, rf_error *why)
{
    rf_status s;
    if ((s = check_sizes("gemm", g->m, g->n, g->k, why))) return s;
    if ((s = check_stride("gemm", "a", g->lda, g->a_transposed ? g->m : g->k, why))) return s;
    if ((s = check_stride("gemm", "b", g->ldb, g->b_transposed ? g->k : g->n, why))) return s;
    if ((s = check_stride("gemm", "c", g->ldc, g->n, why))) return s;
    if ((s = check_act("gemm", g->act, why))) return s;
    if (g->beta != 0 && g->beta != 1)
        return rf_fail(why, RF_EARG, "gemm: beta: expected 0 or 1, got %g", (double)g->beta);
    if (g->beta != 0 && (g->bias || g->act))
        return rf_fail(why, RF_EARG, "gemm: beta: expected 0 with a bias or an activation, got 1");
    if ((s = check_type("gemm", g->type, false, why))) return s;
    if (!g->type && (g->a16 || g->b16))
        return rf_fail(why, RF_EARG, "gemm: type: expected bf16 (%d) for a bf16 matrix, got another", RF_BF16);
    if (g->m && g->n && (!g->c || (g->k && ((!g->a && !g->a16) || (!g->b && !g->b16)))))
        return rf_fail(why, RF_EARG, "gemm: expected three matrices, got NULL for one of them");
    return RF_OK;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

rf_status rf__gemm_by(const rf__products *by, const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)
{
    const rf_status s = check(call, why);
    if (s || !call->m || !call->n) return s;
    if (!call->k) by = &rf__products_ref;                       /* an empty sum: beta c, or act(bias) */
    return by->gemm(ctx, call, why);
}

rf_status rf_gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)
{
    if (!(ctx && call)) return rf__missing("rf_gemm", "ctx, call", why);
    return rf__gemm_by(rf__products_for(ctx, call->type), ctx, call, why);
}

/* An empty matrix that `by` will fill. */
static rf_status packed_new(const rf__products *by, const rf_ctx *ctx, rf_type type, int64_t n, int64_t k,
                            const void *w, rf_packed **out, rf_error *why)
{
    rf_status s = check_sizes("pack", 1, n, k, why);
    if (!s) s = check_type("pack", type, true, why);
    if (s) return s;
    if (n && k && !w) return rf_fail(why, RF_EARG, "pack: expected a matrix, got NULL");
    rf_packed *p = rf__calloc(ctx, 1, sizeof *p);
    if (!p) return rf_fail(why, RF_ENOMEM, "out of memory: a packed matrix of %zu bytes", sizeof *p);
    *p = (rf_packed){.ctx = ctx, .by = n && k ? by : &rf__products_ref, .type = type, .n = n, .k = k};
    *out = p;
    return RF_OK;
}

rf_status rf__pack_by(const rf__products *by, const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w,
                      rf_packed **out, rf_error *why)
{
    rf_packed *p = NULL;
    rf_status s = packed_new(by, ctx, type, n, k, w, &p, why);
    if (!s) s = p->by->pack(ctx, p, w, why);
    if (s) rf_packed_free(p);
    else *out = p;
    return s;
}

rf_status rf__pack_int8(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const int8_t *w, const float *scale,
                        rf_packed **out, rf_error *why)
{
    rf_packed *p = NULL;
    if (!(ctx && out)) return rf__missing("rf__pack_int8", "ctx, out", why);
    if (n && k && !scale) return rf_fail(why, RF_EARG, "pack: expected scales, got NULL");
    const rf__products *by = rf__products_for(ctx, type);
    if (!by->pack_codes)
        return rf_fail(why, RF_EUNSUPPORTED, "pack: type: expected int8 (%d) or int8w (%d), got %d", RF_I8, RF_I8W,
                       (int)type);
    rf_status s = packed_new(by, ctx, type, n, k, w, &p, why);
    if (!s) s = p->by == by ? by->pack_codes(ctx, p, w, scale, why) : p->by->pack(ctx, p, NULL, why);
    if (s) rf_packed_free(p);
    else *out = p;
    return s;
}

rf_status rf_pack(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out, rf_error *why)
{
    if (!(ctx && out && (w || n < 1 || k < 1))) return rf__missing("rf_pack", "ctx, w, out", why);
    return rf__pack_by(rf__products_for(ctx, type), ctx, type, n, k, w, out, why);
}

/* Two matrices [n,k] in f32, or in int8 with scales, stored one after the other. */
typedef struct halves { const float *f32; const int8_t *i8; const float *scale; } halves;

static rf_status pack_half(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const halves *w, int64_t row,
                           rf_packed **out, rf_error *why)
{
    const bool empty = n < 1 || k < 1;
    if (!w->i8) return rf_pack(ctx, type, n, k, empty ? NULL : w->f32 + row * k, out, why);
    return rf__pack_int8(ctx, type, n, k, empty ? NULL : w->i8 + row * k, empty ? NULL : w->scale + row, out, why);
}

static rf_status pack_gated(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const halves *w,
                            rf_gate_order order, rf_packed **out, rf_error *why)
{
    rf_packed *half[2] = {NULL, NULL};
    rf_status s = check_sizes("pack", 1, n, k, why);
    if (!s && order != RF_GATE_FIRST && order != RF_GATE_SECOND)
        s = rf_fail(why, RF_EARG, "pack: order: expected RF_GATE_FIRST or RF_GATE_SECOND, got %d", (int)order);
    for (int i = 0; i < 2 && !s; i++) s = pack_half(ctx, type, n, k, w, i * n, &half[i], why);
    if (s) {
        rf_packed_free(half[0]);
        return s;
    }
    rf_packed *const gate = half[order == RF_GATE_FIRST ? 0 : 1];
    gate->up = half[order == RF_GATE_FIRST ? 1 : 0];
    gate->order = order;
    *out = gate;
    return RF_OK;
}

rf_status rf__pack_gated(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_gate_order order,
                         rf_packed **out, rf_error *why)
{
    if (!(ctx && out && (w || n < 1 || k < 1))) return rf__missing("rf__pack_gated", "ctx, w, out", why);
    return pack_gated(ctx, type, n, k, &(halves){.f32 = w}, order, out, why);
}

rf_status rf__pack_gated_int8(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const int8_t *w,
                              const float *scale, rf_gate_order order, rf_packed **out, rf_error *why)
{
    if (!(ctx && out && ((w && scale) || n < 1 || k < 1)))
        return rf__missing("rf__pack_gated_int8", "ctx, w, scale, out", why);
    return pack_gated(ctx, type, n, k, &(halves){.i8 = w, .scale = scale}, order, out, why);
}

static void transpose(float *to, const float *from, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++) to[j * n + i] = from[i * k + j];
}

rf_status rf__pack_parts(const rf_ctx *ctx, rf_type type, int64_t parts, int64_t n, int64_t k, const float *w,
                         bool across, rf_packed **out, rf_error *why)
{
    rf_packed *all = NULL;
    if (!(ctx && out && w)) return rf__missing("rf__pack_parts", "ctx, w, out", why);
    if (parts < 1 || parts > 1 << 20)
        return rf_fail(why, RF_ERANGE, "pack: parts: expected 1 to %d, got %lld", 1 << 20, (long long)parts);
    rf_status s = packed_new(&rf__products_ref, ctx, type, n, k, w, &all, why);
    if (s) return s;
    float *swapped = across ? rf__alloc(ctx, rfk__size(n * k, sizeof *swapped)) : NULL;
    all->part = rf__calloc(ctx, (size_t)parts, sizeof(rf_packed *));
    all->parts = all->part ? parts : 0;
    if (!all->part || (across && !swapped))
        s = rf_fail(why, RF_ENOMEM, "out of memory: %lld matrices", (long long)parts);
    for (int64_t i = 0; i < parts && !s; i++, w += n * k) {
        if (across) transpose(swapped, w, n, k);
        s = rf_pack(ctx, type, across ? k : n, across ? n : k, across ? swapped : w, &all->part[i], why);
    }
    rf__free(ctx, swapped);
    if (s) rf_packed_free(all);
    else *out = all;
    return s;
}

const rf_packed *rf__packed_part(const rf_packed *w, int64_t i) { return w->part[i]; }

void rf_packed_free(rf_packed *p)
{
    if (!p) return;
    for (int64_t i = 0; i < p->parts; i++) rf_packed_free(p->part[i]);
    rf__free(p->ctx, p->part);
    rf_packed_free(p->up);
    if (p->by->forget) p->by->forget(p);
    rf__free(p->ctx, p->data);
    rf__free(p->ctx, p);
}

rf_status rf_packed_product(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                            const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    rf_status s;
    if (!(ctx && w && (x || m < 1 || w->k < 1) && (y || m < 1 || w->n < 1)))
        return rf__missing("rf_packed_product", "ctx, w, x, y", why);
    if (strcmp(ctx->isa, w->ctx->isa))
        return rf_fail(why, RF_EARG,
                       "packed product: expected a context with the instruction set \"%s\", for which the weights were "
                       "packed, got one with \"%s\"", w->ctx->isa, ctx->isa);
    if ((s = check_sizes("packed product", m, w->n, w->k, why))) return s;
    if ((s = check_stride("packed product", "x", ldx, w->k, why))) return s;
    if ((s = check_stride("packed product", "y", ldy, w->n, why))) return s;
    if ((s = check_act("packed product", act, why))) return s;
    if (!m || !w->n) return RF_OK;
    if (!y || (w->k && !x))
        return rf_fail(why, RF_EARG, "packed product: expected two matrices, got NULL for one of them");
    return w->by->packed(ctx, w, m, x, ldx, bias, act, y, ldy, why);
}

int64_t rf__packed_pairs(const rf_ctx *ctx, const rf_packed *up, const rf_packed *down, int64_t m)
{
    const bool match = up->by == down->by && up->by->pairs && !down->up && down->k == up->n;
    return match && m > 0 ? up->by->pairs(ctx, up, m) : 0;
}

rf_status rf__packed_pair(const rf_ctx *ctx, const rf__pair *x, int64_t blocks, rf_error *why)
{
    return x->up->by->pair(ctx, x, blocks, why);
}
