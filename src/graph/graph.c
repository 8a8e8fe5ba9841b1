/* graph.c — the tape: tensors, nodes, the backward pass, and the pool of adjoint buffers. */
#include "graph/graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const rf_op rf__ops[RF_OP_COUNT] = {
#define RFO(name, equation, each) {#name, equation, rf__##name##_run, rf__##name##_back, each},
#include "graph/ops.def"
#undef RFO
};

/* ---- life ------------------------------------------------------------------------------------------------------- */

rf_status rf__graph_new(const rf_ctx *ctx, rf_graph **out, rf_error *why)
{
    if (!(ctx && out)) return rf__missing("rf__graph_new", "ctx, out", why);
    rf_graph *g = rf__calloc(ctx, 1, sizeof *g);
    if (!g) return rf_fail(why, RF_ENOMEM, "out of memory: a graph of %zu bytes", sizeof *g);
    g->ctx = ctx;
    g->k = rf_ctx_kernels(ctx);
    rf__arena_init(&g->arena, ctx);
    rf__arena_init(&g->notes, ctx);
    *out = g;
    return RF_OK;
}

void rf__graph_free(rf_graph *g)
{
    if (!g) return;
    rf__arena_clear(&g->arena);
    rf__arena_clear(&g->notes);
    rf__free(g->ctx, g);
}

rf_status rf__graph_reset(rf_graph *g)
{
    if (!g) return RF_EARG;
    g->last = NULL;
    g->spare = NULL;
    g->walked = false;
    g->losses = 0;
    g->drops = 0;
    g->error = (rf_error){0};
    rf__arena_clear(&g->notes);
    return rf__arena_reset(&g->arena) ? RF_OK : RF_ENOMEM;
}

void rf__graph_record(rf_graph *g, int record, uint64_t seed, uint64_t step)
{
    g->record = g->train = record != 0;
    g->key = rf__make_key(seed, step);
    g->drops = 0;
}

void rf__graph_dry(rf_graph *g) { g->dry = true; }
void rf__graph_products(rf_graph *g, rf_type type) { g->products = type; }
void rf__graph_smoothing(rf_graph *g, double share) { g->smoothing = fmin(1, fmax(0, share)); }

const rf_error *rf__graph_error(const rf_graph *g) { return &g->error; }
size_t rf__graph_memory(const rf_graph *g) { return g->arena.peak; }
double rf__graph_flops(const rf_graph *g) { return g->flops; }

/* ---- failing ---------------------------------------------------------------------------------------------------- */

rf_tensor *rf__stop(rf_graph *g, rf_status status, const char *format, ...)
{
    if (!g->error.code) {
        va_list args;
        va_start(args, format);
        vsnprintf(g->error.text, sizeof g->error.text, format, args);
        va_end(args);
        g->error.code = status;
    }
    return &g->nil.t;
}

bool rf__expect_rank(rf_graph *g, const char *op, const char *what, const rf_tensor *x, int rank)
{
    if (g->error.code) return false;
    if (!x) rf__stop(g, RF_EARG, "%s: %s: expected a tensor, got NULL", op, what);
    else if (!x->rank || (rank && x->rank != rank))
        rf__stop(g, RF_ESHAPE, "%s: %s: expected rank %d, got %d", op, what, rank ? rank : 1, x->rank);
    else if (!x->f32)
        rf__stop(g, RF_EARG, "%s: %s: expected values, got a tensor that is spent or only packed", op, what);
    return !g->error.code;
}

bool rf__expect_vector(rf_graph *g, const char *op, const char *what, const rf_tensor *x, int64_t n)
{
    if (!x) return !g->error.code;
    if (!rf__expect_rank(g, op, what, x, 1)) return false;
    if (x->dim[0] != n)
        rf__stop(g, RF_ESHAPE, "%s: %s: expected %lld elements, got %lld", op, what, (long long)n,
                 (long long)x->dim[0]);
    return !g->error.code;
}

static rf_status check_starts(const char *what, const int32_t start[], int64_t B, int64_t N, int64_t least,
                              rf_error *why)
{
    if (B < 0 || B > INT32_MAX || !start)
        return rf_fail(why, RF_EARG, "%s: sequences: expected 0 to %d and their starts, got %lld%s", what, INT32_MAX,
                       (long long)B, start ? "" : " without starts");
    if (start[0] != 0 || start[B] != N)
        return rf_fail(why, RF_ESHAPE, "%s: sequences: expected to run from token 0 to %lld, got %d to %d", what,
                       (long long)N, (int)start[0], (int)start[B]);
    for (int64_t b = 0; b < B; b++)
        if ((int64_t)start[b + 1] - start[b] < least)
            return rf_fail(why, RF_ESHAPE, "%s: sequence %lld: expected at least %lld tokens, got a start at token %d "
                           "and an end before %d", what, (long long)b, (long long)least, (int)start[b],
                           (int)start[b + 1]);
    return RF_OK;
}

bool rf__expect_starts(rf_graph *g, const char *op, const int32_t start[], int64_t B, int64_t N, int64_t least)
{
    return !g->error.code && !check_starts(op, start, B, N, least, &g->error);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static void *take(rf_graph *g, size_t count, size_t size, void *from_arena(rf_arena *a, size_t size))
{
    size_t bytes;
    void *p = NULL;
    if (g->error.code) return NULL;
    if (rf__checked_mul(count, size, &bytes)) p = from_arena(&g->arena, bytes);
    if (!p)
        rf__stop(g, RF_ENOMEM, "out of memory: a step that holds %zu bytes needs %zu times %zu more", g->arena.total,
                 count, size);
    return p;
}

void *rf__push(rf_graph *g, size_t count, size_t size) { return take(g, count, size, rf__arena_push); }

void *rf__values(rf_graph *g, size_t count, size_t size)
{
    return take(g, count, size, g->dry ? rf__arena_count : rf__arena_push);
}

void *rf__copy(rf_graph *g, const void *from, size_t count, size_t size)
{
    void *p = rf__push(g, count, size);
    if (p && count && size) memcpy(p, from, count * size);
    return p;
}

const void *rf__for_back(rf_graph *g, bool track, const void *from, size_t count, size_t size)
{
    return track ? rf__copy(g, from, count, size) : from;
}

const float *rf__values_for_back(rf_graph *g, bool track, const float *from, int64_t n)
{
    float *to = track ? rf__values(g, (size_t)n, sizeof *to) : NULL;
    if (to) rf__copy_into(g, to, from, n);
    return track ? to : from;
}

/* A tensor struct without values.  Dimensions are checked here, once for every tensor: none is negative, and their
 * product does not overflow. */
static rf_cell *new_cell(rf_graph *g, int rank, const int64_t dim[])
{
    size_t n = sizeof(float);
    if (!g->error.code && rf_cancel_is_set(g->cancel)) rf__stop(g, RF_ECANCELED, "canceled");
    if (g->error.code) return NULL;
    if (rank < 1 || rank > 4) {
        rf__stop(g, RF_ESHAPE, "tensor: rank: expected 1 to 4, got %d", rank);
        return NULL;
    }
    for (int i = 0; i < rank; i++)
        if (dim[i] < 0 || !rf__checked_mul(n, (size_t)dim[i], &n) || n > PTRDIFF_MAX) {
            rf__stop(g, RF_ESHAPE,
                     "tensor: dimension %d: expected 0 or more and a countable number of elements, got %lld",
                     i, (long long)dim[i]);
            return NULL;
        }
    const size_t at = g->arena.total;
    rf_cell *c = rf__push(g, 1, sizeof *c);
    if (!c) return NULL;
    *c = (rf_cell){.t.rank = rank, .at = at};
    for (int i = 0; i < rank; i++) c->t.dim[i] = dim[i];
    return c;
}

rf_tensor *rf__new(rf_graph *g, int rank, const int64_t dim[])
{
    rf_cell *c = new_cell(g, rank, dim);
    if (!c || !(c->t.f32 = rf__floats(g, rf__size(&c->t)))) return &g->nil.t;
    return &c->t;
}

rf_tensor *rf__like(rf_graph *g, const rf_tensor *x) { return rf__new(g, x->rank, x->dim); }

static rf_tensor *borrow(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[], bool parameter)
{
    RF_NEED(g, dim && (value || (parameter && !grad)), RF_EARG, "tensor: expected values and dimensions, got NULL");
    rf_cell *c = new_cell(g, rank, dim);
    if (!c) return &g->nil.t;
    c->borrowed = true;
    c->t.f32 = value;
    c->t.grad = grad;
    c->t.parameter = parameter;
    c->t.tracked = grad != NULL;
    return &c->t;
}

rf_tensor *rf__parameter(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[])
{
    return borrow(g, value, grad, rank, dim, true);
}

rf_tensor *rf__input(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[])
{
    return borrow(g, value, grad, rank, dim, true);
}

rf_tensor *rf__constant(rf_graph *g, const float *value, int rank, const int64_t dim[])
{
    return borrow(g, (float *)(uintptr_t)value, NULL, rank, dim, false);
}

/* The pool: adjoint buffers that are free, newest first.  The header is stored in the buffer, which has at least 64
 * bytes; of a buffer without memory, in the notes. */
struct rf_spare { rf_spare *next; int64_t n; float *buffer; };

float *rf__floats(rf_graph *g, int64_t n)
{
    if (g->error.code) return NULL;
    for (rf_spare **s = &g->spare; *s; s = &(*s)->next)
        if ((*s)->n == n) {
            rf_spare *found = *s;
            *s = found->next;
            return found->buffer;
        }
    return rf__values(g, (size_t)n, sizeof(float));
}

void rf__free_last(rf_graph *g, float *buffer, int64_t n)
{
    if (!buffer) return;
    rf_spare *s = g->dry ? rf__arena_push(&g->notes, sizeof *s) : (void *)buffer;
    if (!s) {
        rf__stop(g, RF_ENOMEM, "out of memory: %zu bytes", sizeof *s);
        return;
    }
    *s = (rf_spare){g->spare, n, buffer};
    g->spare = s;
}

rf_tensor *rf__spend(rf_tensor *x)
{
    rf_cell *c = (rf_cell *)(void *)x;
    if (x && !c->borrowed && !c->needed) c->spent = true;
    return x;
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

rf_graph_mark rf__graph_here(rf_graph *g)
{
    const rf_mark m = rf__arena_mark(&g->arena);
    return (rf_graph_mark){m.block, m.used, m.total};
}

/* Moves the tensor's values in front of everything that was made since the mark.  All of that is dead, and the tensor
 * itself is somewhere in it: take back the whole range, move the values within it, then return the rest. */
static rf_tensor *slide(rf_graph *g, rf_mark mark, const rf_tensor *x, size_t bytes)
{
    const size_t stretch = g->arena.total - mark.total, head = (sizeof(rf_cell) + 63) & ~(size_t)63;
    rf__arena_release(&g->arena, mark);
    if (g->dry) return rf__new(g, x->rank, x->dim);
    char *all = rf__arena_push(&g->arena, stretch);
    if (!all) return rf__stop(g, RF_ENOMEM, "out of memory: keep: %zu bytes", stretch);
    memmove(all + head, x->f32, bytes);
    rf__arena_release(&g->arena, mark);
    return rf__new(g, x->rank, x->dim);
}

rf_tensor *rf__keep(rf_graph *g, rf_graph_mark mark, rf_tensor *x)
{
    RF_NEED(g, x, RF_EARG, "keep: x: expected a tensor, got NULL");
    if (g->record) return x;
    const rf_mark to = {mark.block, mark.used, mark.total};
    const rf_cell c = *(const rf_cell *)(const void *)x;
    const size_t bytes = (size_t)rf__size(&c.t) * sizeof(float);
    if (c.at < to.total) {                                       /* older than the mark: not moved */
        rf__arena_release(&g->arena, to);
        return x;
    }
    if (c.borrowed) {
        rf__arena_release(&g->arena, to);
        rf_cell *moved = new_cell(g, c.t.rank, c.t.dim);
        if (!moved) return &g->nil.t;
        *moved = (rf_cell){.t = c.t, .at = moved->at, .borrowed = true};
        return &moved->t;
    }
    if (g->dry || rf__arena_mark(&g->arena).block == to.block) return slide(g, to, &c.t, bytes);

    /* The arena grew since the mark, which happens only in the first pass: the values are buffered outside. */
    float *aside = rf__alloc(g->ctx, bytes);
    if (!aside) return x;
    memcpy(aside, c.t.f32, bytes);
    rf__arena_release(&g->arena, to);
    rf_tensor *y = rf__new(g, c.t.rank, c.t.dim);
    if (!g->error.code) memcpy(y->f32, aside, bytes);
    rf__free(g->ctx, aside);
    return y;
}

/* ---- the tape --------------------------------------------------------------------------------------------------- */

bool rf__tracked(const rf_graph *g, rf_tensor *const in[], int n)
{
    bool any = false;
    for (int i = 0; i < n; i++) any = any || (in[i] && in[i]->tracked);
    return g->record && any;
}

static rf_cell *cell_of(rf_tensor *x) { return (rf_cell *)(void *)x; }

/* Adds the call to the tape. */
static rf_tensor *record(rf_graph *g, const rf_node *call, size_t size)
{
    rf_node *node = rf__push(g, 1, sizeof *node);
    void *saved = rf__copy(g, call->saved, 1, size);
    if (g->error.code) return &g->nil.t;
    *node = *call;
    node->older = g->last;
    node->saved = saved;
    for (int i = 0; i < RF_INPUTS; i++) {
        rf_tensor *x = node->in[i];
        if (x && x->parameter && !cell_of(x)->oldest) cell_of(x)->oldest = node;
    }
    node->out->tracked = 1;
    g->last = node;
    return node->out;
}

/* The one place that runs operations. */
static void run(rf_graph *g, rf_node *n, bool back)
{
    rf_op_body *body = back ? n->op->back : n->op->run;
    if (!g->ctx->tracer || g->dry) {
        body(g, n);
        return;
    }
    rf_operation o = {.name = n->op->name, .back = back, .begin = rf__seconds(), .flops = -g->flops};
    body(g, n);
    o.end = rf__seconds();
    o.flops += g->flops;
    o.rank = n->out->rank;
    memcpy(o.dim, n->out->dim, sizeof o.dim);
    g->ctx->tracer(g->ctx->tracer_user, &o);
}

static void count(rf_graph *g, const rf_node *n)
{
    const int64_t size = rf__size(n->out);
    g->others += (double)n->op->each * (double)size;
    g->moved += sizeof(float) * (double)size;
    for (int i = 0; i < RF_INPUTS; i++)
        if (n->in[i] && !n->in[i]->parameter) g->moved += sizeof(float) * (double)rf__size(n->in[i]);
}

rf_tensor *rf__call(rf_graph *g, const rf_op *op, rf_tensor *out, rf_tensor *const in[], int n, void *saved,
                   size_t size)
{
    if (g->error.code) return &g->nil.t;
    rf_node call = {.op = op, .out = out, .saved = saved};
    for (int i = 0; i < n; i++) call.in[i] = in[i];
    count(g, &call);
    run(g, &call, false);
    if (g->error.code) return &g->nil.t;
    return rf__tracked(g, in, n) ? record(g, &call, size) : out;
}

float *rf__dy(rf_node *n)
{
    float *dy = n->out->grad;
    n->out->grad = NULL;
    return dy;
}

void rf__adjoint(rf_graph *g, rf_tensor *x, float *dx)
{
    if (!dx) return;
    if (x->tracked && !x->grad) {
        x->grad = dx;
        return;
    }
    if (x->tracked) rf__sum_into(g, x->grad, dx, rf__size(x));
    rf__free_last(g, dx, rf__size(x));
}

void rf__adjoint_copy(rf_graph *g, rf_tensor *x, const float *dx)
{
    if (!x->tracked) return;
    const int64_t n = rf__size(x);
    if (x->grad) {
        rf__sum_into(g, x->grad, dx, n);
        return;
    }
    float *copy = rf__floats(g, n);
    if (!copy) return;
    rf__copy_into(g, copy, dx, n);
    x->grad = copy;
}

float *rf__adjoint_here(rf_graph *g, rf_tensor *x, float *beta)
{
    *beta = x->grad ? 1 : 0;
    if (!x->grad) x->grad = rf__floats(g, rf__size(x));
    return x->grad;
}

float *rf__adjoint_sum(rf_graph *g, rf_tensor *x)
{
    float beta, *sum = rf__adjoint_here(g, x, &beta);
    if (sum && beta == 0) rf__zero(g, sum, rf__size(x));
    return sum;
}

static void notify_ready(rf_graph *g, rf_node *n)
{
    for (int i = 0; i < RF_INPUTS && g->ready; i++) {
        rf_tensor *x = n->in[i];
        if (!x || !x->parameter || cell_of(x)->oldest != n) continue;
        cell_of(x)->oldest = NULL;
        if (x->grad) g->ready(g->ready_user, x->grad, rf__size(x));
    }
}

void rf__walk(rf_graph *g)
{
    for (rf_node *n = g->last; n && !g->error.code; n = n->older) {
        if (n->out->grad) {                                      /* otherwise the loss does not depend on it */
            run(g, n, true);
            rf__free_last(g, n->out->grad, rf__size(n->out));
            n->out->grad = NULL;
        }
        notify_ready(g, n);
    }
}

/* vocab_loss computes its gradients in the forward pass as if its adjoint were 1.  That is true if vocab_loss is the
 * loss, or a term of the sum that is the loss. */
static bool begins_at_vocab_loss(const rf_graph *g, const rf_tensor *loss)
{
    const rf_node *end = g->last, *n = end;
    if (g->losses != 1 || !end || end->out != loss) return false;
    while (n->op != RF_OP(vocab_loss)) n = n->older;
    const bool first = end->in[0] == n->out, second = end->in[1] == n->out;
    return n == end || (end->op == RF_OP(add) && first != second);
}

rf_status rf__backward(rf_graph *g, rf_tensor *loss, rf_error *why)
{
    if (!g) return rf__missing("rf__backward", "graph", why);
    if (g->error.code) ;
    else if (!loss || rf__size(loss) != 1 || !loss->rank)
        rf__stop(g, RF_ESHAPE, "backward: the loss: expected 1 element, got %lld",
                 loss ? (long long)rf__size(loss) : 0LL);
    else if (g->walked)
        rf__stop(g, RF_EARG, "backward: expected one call for each step, got a second one");
    else if (!loss->tracked || loss->parameter)
        rf__stop(g, RF_EARG,
                 "backward: the loss: expected one that depends on parameters and was recorded, got another");
    else if (g->losses && !begins_at_vocab_loss(g, loss))
        rf__stop(g, RF_EARG,
                 "backward: the loss: expected the only vocab_loss of the step or a sum with it, got another loss or "
                 "%d of them; vocab_loss computes its gradients in the forward pass",
                 g->losses);
    else {
        g->walked = true;
        if ((loss->grad = rf__floats(g, 1)) && rf__computes(g)) *loss->grad = 1;
        rf__walk(g);
    }
    return g->error.code ? rf_fail(why, g->error.code, "%s", g->error.text) : RF_OK;
}
