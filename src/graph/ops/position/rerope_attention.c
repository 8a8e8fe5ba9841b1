/* rerope_attention.c — attention that rotates near and far keys differently.              Su 2023
 * (kexue.fm/archives/9708)
 *
 *     score(m,n) = scale <q_m, k_n> of   near    where |p_m - p_n| < window
 *                                        past    where p_m - p_n >= window
 *                                        future  where p_n - p_m >= window
 *     out_m      = sum_n softmax_n(score(m,n)) v_n,   v of near,   scale = 1 / sqrt D
 *
 * n over all tokens of m's sequence, or with causal over those up to m. near, past and future are [N, 3C] rows of
 * query, key and value, rotated for that range of distances.
 *
 * If positions increase by one from token to token, each of the three is an attention with a mask that fused attention
 * supports:
 *
 *     near      keys less than `window` away
 *     past      keys up to m - window: causal, of `window` keys fewer than queries
 *     future    the same of the sequence read from its end
 *
 * and their results are joined by their log-sum-exps:
 *
 *     out_m = sum_i w_i out_i,m          w_i = e^(lse_i,m) / sum_j e^(lse_j,m)
 *
 * The joint probabilities of part i are w_i P_i, with P_i its own.  Its backward pass gets its own lse, the joint out,
 * and w_i d_out as the result's adjoint.  This gives dv = P_i^T (w_i d_out), and for a score
 *
 *     dS = P_i (<w_i d_out, v> - <w_i d_out, out>) = w_i P_i (<d_out, v> - <d_out, out>)
 *
 * Other positions, and the rung ref, are computed row by row with a dot product for each score. */
#include <math.h>

#include "graph/graph.h"

enum { QUERIES = 64, TILES = 512 };      /* queries of a unit of work: with rows, with tiles */

enum { NEAR, PAST, FUTURE, PARTS };

struct saved {
    int64_t heads, B, N, D, window;
    const int32_t *start, *position;
    bool causal, tiles;
    float *lse[PARTS];                  /* tiles: separate for each part, as in struct pass                           */
};

struct pass {
    const rfk_table *k;
    const struct saved *s;
    const float *x[3];                  /* near, past, future                                                         */
    float *y;
    const float *dy;
    float *dx[3];
    float *scratch;                     /* rows: two per worker                                                       */
    int64_t row;
    char *workspace;                    /* tiles: per worker                                                          */
    size_t each;
    float *out[PARTS], *lse[PARTS];  /* tiles: results, log-sum-exps; future: [H,N] from each sequence's end */
    const int32_t (*block)[2];          /* sequence, first query                                                      */
};

static int64_t length(const struct saved *s, int64_t b) { return s->start[b + 1] - s->start[b]; }

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static bool rising(const rf_near_far_spec *s)
{
    for (int64_t b = 0; b < s->B; b++)
        for (int32_t n = s->start[b] + 1; n < s->start[b + 1]; n++)
            if ((int64_t)s->position[n] != (int64_t)s->position[n - 1] + 1) return false;
    return true;
}

/* Whether this part of the sequence sees any key. */
static bool there(const struct saved *s, int64_t b, int part)
{
    return part == NEAR ? length(s, b) > 0 : length(s, b) > s->window && !(part == FUTURE && s->causal);
}

static bool anywhere(const struct saved *s, int part)
{
    for (int64_t b = 0; b < s->B; b++)
        if (there(s, b, part)) return true;
    return false;
}

/* The token number of row t of a part of a sequence. */
static int64_t token(const struct saved *s, int64_t b, int part, int64_t t)
{
    return part == FUTURE ? s->start[b + 1] - 1 - t : s->start[b] + t;
}

static rfk_attention problem(const struct pass *a, int part, int64_t b, int64_t h)
{
    const struct saved *s = a->s;
    const int64_t D = s->D, C = s->heads * D, T = length(s, b), begin = token(s, b, part, 0),
                  step = part == FUTURE ? -C : C;
    const float *const q = a->x[part] + begin * 3 * C + h * D;
    return (rfk_attention){
        .q = q,
        .k = q + C,
        .v = a->x[NEAR] + begin * 3 * C + h * D + 2 * C,
        .q_stride = 3 * step,
        .k_stride = 3 * step,
        .v_stride = 3 * step,
        .queries = T,
        .keys = part == NEAR ? T : T - s->window,
        .width = D,
        .scale = (float)(1 / sqrt((double)D)),
        .causal = part != NEAR || s->causal,
        .window = part == NEAR && s->window < T ? s->window - 1 : 0,
        .out = a->out[part] + begin * C + h * D,
        .out_stride = step,
        .lse = a->lse[part] + h * s->N + s->start[b],
    };
}

static void get_workspace(rf_graph *g, struct pass *a, size_t (*needs)(const rfk_attention *), int64_t floats)
{
    for (int64_t b = 0; b < a->s->B; b++)
        for (int part = 0; part < PARTS; part++) {
            if (!there(a->s, b, part)) continue;
            const rfk_attention p = problem(a, part, b, 0);
            const size_t bytes = needs(&p);
            if (bytes > a->each) a->each = bytes;
        }
    a->each = ((a->each + 63) & ~(size_t)63) + (((size_t)floats * sizeof(float) + 63) & ~(size_t)63);
    a->workspace = rf__values(g, (size_t)g->ctx->threads, a->each);
}

/* The fraction of each part in the joint probabilities, for one head and the sequence's token t. */
static void weigh(const struct pass *a, int64_t b, int64_t h, int64_t t, float w[PARTS])
{
    const struct saved *s = a->s;
    const int64_t T = length(s, b), at = h * s->N + s->start[b];
    const float lse[PARTS] = {a->lse[NEAR][at + t], there(s, b, PAST) ? a->lse[PAST][at + t] : -INFINITY,
                              there(s, b, FUTURE) ? a->lse[FUTURE][at + T - 1 - t] : -INFINITY};
    const float top = fmaxf(lse[NEAR], fmaxf(lse[PAST], lse[FUTURE]));
    float sum = 0;
    for (int part = 0; part < PARTS; part++) sum += w[part] = expf(lse[part] - top);
    for (int part = 0; part < PARTS; part++) w[part] /= sum;
}

/* Combines the results of the parts for one token and head. */
static void join(const struct pass *a, int64_t b, int64_t h, int64_t t)
{
    const int64_t D = a->s->D, C = a->s->heads * D, n = a->s->start[b] + t;
    float *const y = a->y + n * C + h * D, w[PARTS];
    weigh(a, b, h, t, w);
    a->k->scale(y, y, w[NEAR], D);
    for (int part = PAST; part < PARTS; part++)
        if (there(a->s, b, part)) a->k->axpy(y, w[part], a->out[part] + n * C + h * D, D);
}

static void attend_tiles(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t h = i % s->heads, b = a->block[i / s->heads][0], T = length(s, b), from = a->block[i / s->heads][1];
    const int64_t to = rf__min64(from + TILES, T);
    for (int part = 0; part < PARTS; part++) {
        if (!there(s, b, part)) continue;
        const rfk_attention p = problem(a, part, b, h);
        const bool back = part == FUTURE;
        a->k->attention(&p, back ? T - to : from, back ? T - from : to, a->workspace + (size_t)worker * a->each);
    }
    for (int64_t t = from; t < to; t++) join(a, b, h, t);
}

/* A part's rows of w d_out. */
static void weigh_adjoints(const struct pass *a, int part, int64_t b, int64_t h, float *d_out)
{
    const int64_t D = a->s->D, C = a->s->heads * D, T = length(a->s, b), start = a->s->start[b];
    for (int64_t t = 0; t < T; t++) {
        const int64_t n = token(a->s, b, part, t);
        float w[PARTS];
        weigh(a, b, h, n - start, w);
        a->k->scale(d_out + t * D, a->dy + n * C + h * D, w[part], D);
    }
}

static void attend_tiles_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t b = i / s->heads, h = i % s->heads, D = s->D, C = s->heads * D;
    char *const workspace = a->workspace + (size_t)worker * a->each;
    float *const d_out = (float *)(void *)(workspace + a->each) - a->row * D;           /* at the workspace's end */
    float *const dv = d_out - a->row * D;                                               /* of far keys */
    for (int part = 0; part < PARTS; part++) {
        if (!there(s, b, part)) continue;
        const rfk_attention p = problem(a, part, b, h);
        const int64_t begin = token(s, b, part, 0);
        float *const dq = a->dx[part] + begin * 3 * C + h * D;
        const rfk_attention_grad d = {
            .d_out = d_out,
            .d_out_stride = D,
            .dq = dq,
            .dk = dq + C,
            .dv = part ? dv : dq + 2 * C,
            .dq_stride = p.q_stride,
            .dk_stride = p.k_stride,
            .dv_stride = part ? D : p.v_stride,
        };
        weigh_adjoints(a, part, b, h, d_out);
        a->k->attention_back(&p, &d, workspace);
        for (int64_t t = 0; part && t < p.keys; t++)
            a->k->axpy(a->dx[NEAR] + token(s, b, part, t) * 3 * C + 2 * C + h * D, 1, dv + t * D, D);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Which of the three applies to a pair of tokens. */
static int side(const struct saved *s, int64_t m, int64_t n)
{
    const int64_t distance = (int64_t)s->position[m] - s->position[n];
    return distance >= s->window ? PAST : -distance >= s->window ? FUTURE : NEAR;
}

/* Keys that query m of a sequence of T tokens sees. */
static int64_t seen(const struct saved *s, int64_t m, int64_t first, int64_t T)
{
    return s->causal ? m - first + 1 : T;
}

/* Probabilities of query m over the first T keys of its sequence. */
static void probabilities(const struct pass *a, int64_t m, int64_t first, int64_t T, int64_t h, float *p)
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
        probabilities(a, m, first, keys, h, p);
        memset(y, 0, (size_t)D * sizeof *y);
        for (int64_t n = 0; n < keys; n++) a->k->axpy(y, p[n], a->x[0] + (first + n) * 3 * C + 2 * C + h * D, D);
    }
}

/* dv_n += p_mn dy_m;  ds_mn = p_mn (<dy_m, v_n> - sum_n p_mn <dy_m, v_n>) scale;  dq_m += ds_mn k_n;  dk_n += ds_mn
 * q_m */
static void attend_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t b = i / s->heads, h = i % s->heads, D = s->D, C = s->heads * D, first = s->start[b],
                  T = s->start[b + 1] - first;
    float *p = a->scratch + worker * 2 * a->row, *d = p + a->row;
    const float scale = (float)(1 / sqrt((double)D));
    for (int64_t m = first; m < first + T; m++) {
        const float *dy = a->dy + m * C + h * D;
        const int64_t keys = seen(s, m, first, T);
        probabilities(a, m, first, keys, h, p);
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
    a->scratch = rf__values(g, (size_t)g->ctx->threads, (size_t)(2 * a->row) * sizeof *a->scratch);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* Each pair has one score and one value; the backward pass takes twice as much. */
static void count(rf_graph *g, const struct saved *s, int times)
{
    for (int64_t b = 0; b < s->B; b++) {
        const double T = (double)length(s, b), pairs = s->causal ? T * (T + 1) / 2 : T * T;
        g->flops += 4 * times * pairs * (double)(s->heads * s->D);
    }
}

void rf__near_far_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    struct pass a = {.k = g->k, .s = s, .x = {n->in[0]->f32, n->in[1]->f32, n->in[2]->f32}, .y = n->out->f32};
    const rf_mark mark = rf__scratch(g);
    const int64_t each = s->tiles ? TILES : QUERIES, C = s->heads * s->D;
    int64_t blocks = 0;
    for (int64_t b = 0; b < s->B; b++) blocks += (length(s, b) + each - 1) / each;
    int32_t (*block)[2] = rf__push(g, (size_t)blocks, sizeof *block);
    for (int part = NEAR; part < PARTS && s->tiles; part++) {
        const size_t needed = anywhere(s, part) ? (size_t)s->N : 0;
        a.out[part] = part == NEAR ? a.y : rf__values(g, needed, (size_t)C * sizeof(float));
        a.lse[part] = s->lse[part] ? s->lse[part] : rf__values(g, needed, (size_t)s->heads * sizeof(float));
    }
    if (s->tiles) get_workspace(g, &a, rfk_attention_scratch, 0);
    else get_scratch(g, &a);
    if (g->error.code) return;
    a.block = (const int32_t (*)[2])block;
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t from = 0; from < length(s, b); from += each) {
            (*block)[0] = (int32_t)b;
            (*block++)[1] = (int32_t)from;
        }
    count(g, s, 1);
    rf__each(g, blocks * s->heads, s->tiles ? attend_tiles : attend, &a);
    rf__scratch_end(g, mark);
}

void rf__near_far_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    float *const y = n->out->f32;
    struct pass a = {.k = g->k, .s = s, .dy = n->out->grad, .out = {y, y, y}};
    memcpy(a.lse, s->lse, sizeof a.lse);
    for (int i = 0; i < PARTS; i++) {
        a.x[i] = n->in[i]->f32;
        if (s->tiles && i && !anywhere(s, i)) continue;
        if (!(a.dx[i] = rf__floats(g, size))) return;
        rf__zero(g, a.dx[i], size);
    }
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a);
    if (s->tiles) get_workspace(g, &a, rfk_attention_back_scratch, 2 * a.row * s->D);
    if (g->error.code) return;
    count(g, s, 2);
    rf__each(g, s->B * s->heads, s->tiles ? attend_tiles_back : attend_back, &a);
    rf__scratch_end(g, mark);
    for (int i = 0; i < PARTS; i++)
        if (a.dx[i]) rf__adjoint(g, n->in[i], a.dx[i]);
}

rf_tensor *rf__near_far(rf_graph *g, rf_tensor *near, rf_tensor *past, rf_tensor *future, const rf_near_far_spec *spec)
{
    rf_tensor *const in[] = {near, past, future};
    for (int i = 0; i < PARTS; i++) {
        RF_EXPECT(g, "near_far", in[i], 2);
        RF_NEED(g, in[i]->dim[0] == near->dim[0] && in[i]->dim[1] == near->dim[1], RF_ESHAPE,
                "near_far: expected three tensors of one shape, got others");
    }
    RF_NEED(g, spec && spec->heads >= 1 && spec->position && spec->window >= 1 && near->dim[1] % (3 * spec->heads) == 0,
            RF_EARG, "near_far: columns: expected a multiple of 3 times the heads, got %lld", (long long)near->dim[1]);
    RF_STARTS(g, "near_far", spec->start, spec->B, near->dim[0], 0);
    const bool track = rf__tracked(g, in, PARTS);
    struct saved s = {.heads = spec->heads,
                      .B = spec->B,
                      .N = near->dim[0],
                      .D = near->dim[1] / (3 * spec->heads),
                      .window = spec->window,
                      .start = spec->start,
                      .position = spec->position,
                      .causal = spec->causal != 0,
                      /* fused attention does not support a window of 1 */
                      .tiles = spec->window > 1 && rising(spec) && strcmp(g->ctx->isa, "ref")};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){s.N, near->dim[1] / 3});
    for (int i = 0; i < PARTS && s.tiles && track; i++)
        if (anywhere(&s, i)) s.lse[i] = rf__values(g, (size_t)(s.heads * s.N), sizeof *s.lse[i]);
    s.start = rf__for_back(g, track, spec->start, (size_t)spec->B + 1, sizeof *spec->start);
    s.position = rf__for_back(g, track, spec->position, (size_t)near->dim[0], sizeof *spec->position);
    for (int i = 0; i < PARTS && track; i++) rf__needed(in[i]);
    if (track) rf__needed(y);
    return rf__call(g, RF_OP(near_far), y, in, PARTS, &s, sizeof s);
}
