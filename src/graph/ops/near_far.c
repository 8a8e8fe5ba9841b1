/* near_far.c — attention whose near and far keys are turned differently.                  Su 2023 (kexue.fm/archives/9708)
 *
 *     score(m,n) = scale <q_m, k_n> of   near    where |p_m - p_n| < window
 *                                        past    where p_m - p_n >= window
 *                                        future  where p_n - p_m >= window
 *     out_m      = sum_n softmax_n(score(m,n)) v_n,   v of near,   scale = 1 / sqrt D
 *
 * n over all tokens of m's sequence, or with causal over those up to m.
 * near, past and future are [N, 3C] rows of query, key and value, turned as wanted.  One row of scores is held at a time;
 * backward makes it again.  Written for clearness: a dot product for each score. */
#include <math.h>

#include "graph/graph.h"

enum { QUERIES = 64 };

struct saved { int64_t heads, B, D, window; const int32_t *start, *position; bool causal; };

struct pass {
    const rfk_table *k;
    const struct saved *s;
    const float *x[3];                  /* near, past, future                                                             */
    float *y;
    const float *dy;
    float *dx[3];
    float *scratch;                     /* two rows for each worker                                                       */
    int64_t row;
    const int32_t (*block)[2];          /* sequence, first query                                                          */
};

/* Which of the three a pair of tokens goes by. */
static int side(const struct saved *s, int64_t m, int64_t n)
{
    const int64_t distance = (int64_t)s->position[m] - s->position[n];
    return distance >= s->window ? 1 : -distance >= s->window ? 2 : 0;
}

/* Keys that query m of a sequence of T tokens sees. */
static int64_t seen(const struct saved *s, int64_t m, int64_t first, int64_t T) { return s->causal ? m - first + 1 : T; }

/* Probabilities of query m over the first T keys of its sequence. */
static void look(const struct pass *a, int64_t m, int64_t first, int64_t T, int64_t h, float *p)
{
    const int64_t D = a->s->D, C = a->s->heads * D;
    const float scale = (float)(1 / sqrt((double)D));
    for (int64_t n = 0; n < T; n++) {
        const float *x = a->x[side(a->s, m, first + n)];
        p[n] = scale * a->k->dot(x + m * 3 * C + h * D, x + (first + n) * 3 * C + C + h * D, D);
    }
    a->k->softmax(p, p, T);
}

static void attend(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t h = i % s->heads, D = s->D, C = s->heads * D, b = a->block[i / s->heads][0];
    const int64_t first = s->start[b], T = s->start[b + 1] - first, from = first + a->block[i / s->heads][1];
    float *p = a->scratch + worker * 2 * a->row;
    for (int64_t m = from; m < rf__min64(from + QUERIES, first + T); m++) {
        const int64_t keys = seen(s, m, first, T);
        float *y = a->y + m * C + h * D;
        look(a, m, first, keys, h, p);
        memset(y, 0, (size_t)D * sizeof *y);
        for (int64_t n = 0; n < keys; n++) a->k->axpy(y, p[n], a->x[0] + (first + n) * 3 * C + 2 * C + h * D, D);
    }
}

/* dv_n += p_mn dy_m;  ds_mn = p_mn (<dy_m, v_n> - sum_n p_mn <dy_m, v_n>) scale;  dq_m += ds_mn k_n;  dk_n += ds_mn q_m */
static void attend_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t b = i / s->heads, h = i % s->heads, D = s->D, C = s->heads * D, first = s->start[b], T = s->start[b + 1] - first;
    float *p = a->scratch + worker * 2 * a->row, *d = p + a->row;
    const float scale = (float)(1 / sqrt((double)D));
    for (int64_t m = first; m < first + T; m++) {
        const float *dy = a->dy + m * C + h * D;
        const int64_t keys = seen(s, m, first, T);
        look(a, m, first, keys, h, p);
        for (int64_t n = 0; n < keys; n++) {
            const int64_t v = (first + n) * 3 * C + 2 * C + h * D;
            d[n] = a->k->dot(dy, a->x[0] + v, D);
            a->k->axpy(a->dx[0] + v, p[n], dy, D);
        }
        a->k->softmax_back(d, d, p, keys);
        for (int64_t n = 0; n < keys; n++) {
            const int which = side(s, m, first + n);
            const int64_t q = m * 3 * C + h * D, k = (first + n) * 3 * C + C + h * D;
            a->k->axpy(a->dx[which] + q, scale * d[n], a->x[which] + k, D);
            a->k->axpy(a->dx[which] + k, scale * d[n], a->x[which] + q, D);
        }
    }
}

/* Two rows as long as the longest sequence, for each worker. */
static void get_scratch(rf_graph *g, struct pass *a)
{
    for (int64_t b = 0; b < a->s->B; b++) a->row = rf__max64(a->row, a->s->start[b + 1] - a->s->start[b]);
    a->row = (a->row + 15) & ~(int64_t)15;
    a->scratch = rf__push(g, (size_t)g->ctx->threads, (size_t)(2 * a->row) * sizeof *a->scratch);
}

void rf__near_far_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    struct pass a = {.k = g->k, .s = s, .dy = n->out->grad};
    for (int i = 0; i < 3; i++) {
        a.x[i] = n->in[i]->f32;
        if (!(a.dx[i] = rf__floats(g, size))) return;
        rf__zero(g, a.dx[i], size);
    }
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a);
    if (g->error.code) return;
    rf__parallel(g->ctx, s->B * s->heads, attend_back, &a);
    rf__scratch_end(g, mark);
    for (int i = 0; i < 3; i++) rf__adjoint(g, n->in[i], a.dx[i]);
}

static void forward(rf_graph *g, struct pass *a)
{
    const struct saved *s = a->s;
    const rf_mark mark = rf__scratch(g);
    int64_t blocks = 0;
    for (int64_t b = 0; b < s->B; b++) blocks += (s->start[b + 1] - s->start[b] + QUERIES - 1) / QUERIES;
    int32_t (*block)[2] = rf__push(g, (size_t)blocks, sizeof *block);
    get_scratch(g, a);
    if (g->error.code) return;
    a->block = (const int32_t (*)[2])block;
    for (int64_t b = 0; b < s->B; b++)
        for (int32_t from = 0; from < s->start[b + 1] - s->start[b]; from += QUERIES) {
            (*block)[0] = (int32_t)b;
            (*block++)[1] = from;
        }
    rf__parallel(g->ctx, blocks * s->heads, attend, a);
    rf__scratch_end(g, mark);
}

rf_tensor *rf_near_far(rf_graph *g, rf_tensor *near, rf_tensor *past, rf_tensor *future, const rf_near_far_spec *spec)
{
    rf_tensor *const in[] = {near, past, future};
    for (int i = 0; i < 3; i++) {
        RF_WANT(g, "near_far", in[i], 2);
        RF_NEED(g, in[i]->dim[0] == near->dim[0] && in[i]->dim[1] == near->dim[1], RF_ESHAPE, "near_far: three shapes that differ");
    }
    RF_NEED(g, spec && spec->heads >= 1 && spec->B >= 0 && spec->start && spec->position && spec->window >= 1 &&
            near->dim[1] % (3 * spec->heads) == 0, RF_EARG, "near_far: %lld columns are not 3 times the heads", (long long)near->dim[1]);
    RF_NEED(g, spec->start[0] == 0 && spec->start[spec->B] == near->dim[0], RF_ESHAPE, "near_far: %lld sequences do not cover %lld tokens",
            (long long)spec->B, (long long)near->dim[0]);
    struct saved s = {spec->heads, spec->B, near->dim[1] / (3 * spec->heads), spec->window, spec->start, spec->position,
                      spec->causal != 0};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){near->dim[0], near->dim[1] / 3});
    if (g->error.code) return y;
    forward(g, &(struct pass){.k = g->k, .s = &s, .x = {near->f32, past->f32, future->f32}, .y = y->f32});
    if (!rf__tracked(g, in, 3)) return g->error.code ? &g->nil.t : y;
    s.start = rf__copy(g, spec->start, (size_t)spec->B + 1, sizeof *spec->start);
    s.position = rf__copy(g, spec->position, (size_t)near->dim[0], sizeof *spec->position);
    for (int i = 0; i < 3; i++) rf__needed(in[i]);
    return rf__record(g, RF_OP(near_far), y, in, 3, &s, sizeof s);
}
