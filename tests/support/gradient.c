/* gradient.c — see gradient.h. */
#include "gradient.h"

#include <float.h>

/* A line for each operation whose case passed goes into the file T_GRADIENTS: tools/check/gradients.sh. */
static void record(rf_op_id op)
{
    static bool seen[RF_OP_COUNT], begun;
    const char *name = getenv("T_GRADIENTS");
    if (!name || seen[op]) return;
    FILE *f = fopen(name, begun ? "a" : "w");
    if (!f) fail_msg("%s cannot be written", name);
    fprintf(f, "%s\n", rf__ops[op].name);
    if (fclose(f)) fail_msg("%s cannot be written", name);
    seen[op] = begun = true;
}

/* ---- the weighted sum as an operation of the tests ---- */

static void weighted_run(rf_graph *g, rf_node *n)
{
    const float *const *weight = n->saved;
    double sum = 0;
    if (!rf__computes(g)) return;
    for (int64_t i = 0; i < rf__size(n->in[0]); i++) sum += (double)(*weight)[i] * (double)n->in[0]->f32[i];
    *n->out->f32 = (float)sum;
}

static void weighted_back(rf_graph *g, rf_node *n)
{
    const float *const *weight = n->saved;
    float *dx = rf__floats(g, rf__size(n->in[0]));
    for (int64_t i = 0; rf__computes(g) && i < rf__size(n->in[0]); i++) dx[i] = (*weight)[i] * n->out->grad[0];
    rf__adjoint(g, n->in[0], dx);
}

static const rf_op weighted = {"weighted", "L = sum_i weight[i] x[i]", weighted_run, weighted_back, 0};

rf_tensor *t_weighted(rf_graph *g, rf_tensor *x, const float *weight)
{
    return rf__call(g, &weighted, rf__new(g, 1, (int64_t[]){1}), RF_IN(x), &weight, sizeof weight);
}

double t_kept(double p, uint32_t drop, uint64_t i)
{
    uint32_t word[4];
    rf__philox(rf__make_key(T_SEED, T_STEP), i / 4, (uint64_t)drop << 32, word);
    return word[i % 4] >= (uint32_t)((double)(float)p * 0x1p32) ? 1 / (1 - (double)(float)p) : 0;
}

/* ---- the check ---- */

static int64_t size_of(const t_shape *s)
{
    int64_t n = s->rank ? 1 : 0;
    for (int i = 0; i < s->rank; i++) n *= s->dim[i];
    return n;
}

static double loss_of(const t_gradient_case *c, double *const in[], const float *weight, double *y)
{
    c->formula(y, (const double *const *)in, c->what);
    double sum = 0;
    for (int64_t i = 0; i < c->ys; i++) sum += (double)weight[i] * y[i];
    return sum;
}

static double largest(const double *x, int64_t n)
{
    double most = 1;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

struct goal { double *y, *d[T_INPUTS]; };

static void measure(const t_gradient_case *c, float *const value[], const float *weight, struct goal *w)
{
    double *in[T_INPUTS] = {0}, *scratch = t_bytes((size_t)c->ys * sizeof *scratch);
    w->y = t_bytes((size_t)c->ys * sizeof *w->y);
    for (int i = 0; i < T_INPUTS; i++) {
        const int64_t n = size_of(&c->in[i]);
        if (!n) continue;
        in[i] = t_bytes((size_t)n * sizeof *in[i]);
        w->d[i] = t_bytes((size_t)n * sizeof *w->d[i]);
        for (int64_t j = 0; j < n; j++) in[i][j] = (double)value[i][j];
    }
    c->formula(w->y, (const double *const *)in, c->what);
    const double h = 1e-5;
    for (int i = 0; i < T_INPUTS; i++)
        for (int64_t j = 0; j < size_of(&c->in[i]); j++) {
            const double x = in[i][j];
            in[i][j] = x + h;
            const double up = loss_of(c, in, weight, scratch);
            in[i][j] = x - h;
            const double down = loss_of(c, in, weight, scratch);
            in[i][j] = x;
            w->d[i][j] = (up - down) / (2 * h);
        }
}

/* Released scratch is overwritten first, piece by piece, so that it is the same memory: an adjoint left there does not
 * survive (AddressSanitizer detects it without this). */
static void copied_back(rf_graph *g, rf_node *n)
{
    enum { PIECES = 2048, FLOATS = 16 };
    const rf_mark mark = rf__scratch(g);
    for (int i = 0; i < PIECES; i++) {
        float *p = rf__push(g, FLOATS, sizeof *p);
        for (int j = 0; p && j < FLOATS; j++) p[j] = NAN;
    }
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], rf__dy(n));
}

static void copied_run(rf_graph *g, rf_node *n)
{
    rf__copy_into(g, n->out->f32, n->in[0]->f32, rf__size(n->out));
}

static const rf_op copied = {"copied", "y = x", copied_run, copied_back, 0};

/* The input of an operation: the tensor around the test's numbers, or the result of another operation with the same
 * values, whose adjoint belongs to the graph. */
static rf_tensor *feed(rf_graph *g, const t_shape *s, float *value, float *grad, bool computed)
{
    rf_tensor *x = rf__input(g, value, grad, s->rank, s->dim);
    if (!computed) return x;
    return rf__call(g, &copied, rf__like(g, x), RF_IN(x), NULL, 0);
}

/* The same step without values: it holds the same memory to the byte.  The addresses of its inputs must not be read:
 * they are odd numbers. */
static size_t dry(const t_gradient_case *c, rf_ctx *ctx, const float *weight, unsigned computed)
{
    rf_graph *g = NULL;
    rf_error why = {0};
    rf_tensor *in[T_INPUTS] = {0};
    float *nowhere = (float *)(uintptr_t)1;
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf__graph_dry(g);
    rf__graph_record(g, 1, T_SEED, T_STEP);
    for (int i = 0; i < T_INPUTS; i++)
        if (c->in[i].rank) in[i] = feed(g, &c->in[i], nowhere, nowhere, computed >> i & 1);
    rf_tensor *y = c->run(g, in, c->what);
    if (rf__backward(g, c->op == RF_OP_vocab_loss ? y : t_weighted(g, y, weight), &why))
        fail_msg("%s, dry: %s", rf__ops[c->op].name, why.text);
    const size_t bytes = rf__graph_memory(g);
    rf__graph_free(g);
    return bytes;
}

/* Inputs in the bit set `computed` are results of another operation. */
static void compare(const t_gradient_case *c, rf_ctx *ctx, float *const value[], const float *weight,
                    const struct goal *w, unsigned computed)
{
    rf_graph *g = NULL;
    rf_error why = {0};
    float *grad[T_INPUTS] = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);

    /* Twice: the second pass must add the same to the result of the first, and nothing else. */
    for (int lap = 1; lap <= 2; lap++) {
        rf_tensor *in[T_INPUTS] = {0};
        assert_int_equal(rf__graph_reset(g), RF_OK);
        rf__graph_record(g, 1, T_SEED, T_STEP);
        for (int i = 0; i < T_INPUTS; i++) {
            const int64_t n = size_of(&c->in[i]);
            if (!c->in[i].rank) continue;
            if (lap == 1) {
                grad[i] = t_floats(n);
                memset(grad[i], 0, (size_t)n * sizeof(float));
            }
            in[i] = feed(g, &c->in[i], value[i], grad[i], computed >> i & 1);
        }
        rf_tensor *y = c->run(g, in, c->what);
        if (rf__graph_error(g)->code) fail_msg("%s: %s", rf__ops[c->op].name, rf__graph_error(g)->text);
        assert_int_equal(rf__size(y), c->ys);
        t_close_to(y->f32, w->y, c->ys, c->depth * FLT_EPSILON * largest(w->y, c->ys), 0);
        if (rf__backward(g, c->op == RF_OP_vocab_loss ? y : t_weighted(g, y, weight), &why))
            fail_msg("%s: %s", rf__ops[c->op].name, why.text);
        for (int i = 0; i < T_INPUTS; i++) {
            const int64_t n = size_of(&c->in[i]);
            for (int64_t j = 0; lap == 2 && j < n; j++) grad[i][j] /= 2;
            if (n) t_close_to(grad[i], w->d[i], n, 4 * c->depth * FLT_EPSILON * largest(w->d[i], n) + 1e-9, 0);
        }
    }
    assert_int_equal(dry(c, ctx, weight, computed), rf__graph_memory(g));
    rf__graph_free(g);
}

void t_gradient(const t_gradient_case *c)
{
    float *value[T_INPUTS] = {0};
    for (int i = 0; i < T_INPUTS; i++)
        if (c->in[i].rank) value[i] = t_normal(size_of(&c->in[i]));
    float *weight = t_normal(c->ys);
    if (c->op == RF_OP_vocab_loss) weight[0] = 1;

    struct goal w = {0};
    measure(c, value, weight, &w);
    static const struct { int threads; const char *isa; } on[] = {{1, "ref"}, {1, NULL}, {3, NULL}};
    for (size_t i = 0; i < RF_COUNT(on); i++) {
        rf_ctx *ctx = t_ctx(on[i].threads, on[i].isa);
        compare(c, ctx, value, weight, &w, 0);
        compare(c, ctx, value, weight, &w, ~0u);
        for (int j = 0; j < T_INPUTS; j++)
            if (c->in[j].rank) compare(c, ctx, value, weight, &w, 1u << j);
        rf_ctx_free(ctx);
    }
    record(c->op);
    t_free_all();
}
