/* attention_probe.c — probabilities of attention, and sums over queries and keys; see attention_probe.h. */
#include <math.h>

#include "model/attention_probe.h"

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

/* Queries and keys of `from`; the value of token n in each of G heads becomes e_(n - first), or zero. */
static void select_columns(float *to, const float *from, int64_t T, int64_t H, int64_t G, int64_t D, int64_t first)
{
    const int64_t before = (H + G) * D, width = before + G * D;
    for (int64_t n = 0; n < T; n++) {
        float *row = to + n * width, *value = row + before;
        memcpy(row, from + n * width, (size_t)before * sizeof *row);
        memset(value, 0, (size_t)(G * D) * sizeof *value);
        for (int64_t h = 0; h < G && n >= first && n < first + D; h++) value[h * D + n - first] = 1;
    }
}

void rf__attention_probabilities(rf_graph *g, const rf__view *view, float *p)
{
    rf_attention_spec spec = *view->spec;
    const int64_t T = view->rotated->dim[0], H = spec.heads, G = spec.kv_heads ? spec.kv_heads : H;
    const int64_t width = view->rotated->dim[1], D = width / (H + 2 * G);
    if (spec.B != 1) {
        rf__stop(g, RF_EARG, "probabilities: expected a batch of 1 sequence, got %lld", (long long)spec.B);
        return;
    }
    spec.rotate_value = 0;                                      /* the columns must not be rotated */
    spec.relative_value = NULL;
    spec.drop = 0;
    for (int64_t first = 0; first < T && !g->error.code; first += D) {
        const rf_mark mark = rf__scratch(g);
        rf_tensor *x = rf__new(g, 2, (int64_t[]){T, width});
        if (g->error.code) return;
        select_columns(x->f32, view->rotated->f32, T, H, G, D, first);
        const rf_tensor *y = view->is->attend ? view->is->attend(g, view->at, x, &spec) : rf__attention(g, x, &spec);
        const int64_t n = rf__min64(D, T - first);
        for (int64_t i = 0; i < T * H && !g->error.code; i++)
            memcpy(p + (i % H * T + i / H) * T + first, y->f32 + i * D, (size_t)n * sizeof *p);
        rf__scratch_end(g, mark);
    }
}

/* Keys of `from`; the value of token `first` + i of each sequence becomes e_i in each head. */
static void ask_for_sources(const rf_attention_spec *spec, float *to, const float *from, int64_t D, int64_t first)
{
    const int64_t C = spec->heads * D;
    for (int64_t b = 0; b < spec->B; b++)
        for (int64_t n = spec->key_start[b]; n < spec->key_start[b + 1]; n++) {
            const int64_t i = n - spec->key_start[b] - first;
            float *row = to + n * 2 * C, *value = row + C;
            memcpy(row, from + n * 2 * C, (size_t)C * sizeof *row);
            memset(value, 0, (size_t)C * sizeof *value);
            for (int64_t h = 0; h < spec->heads && i >= 0 && i < D; h++) value[h * D + i] = 1;
        }
}

/* Means over the heads of y [N, heads D], the weights of source tokens first ... first + D - 1. */
static void put_shares(const rf_attention_spec *spec, float *p, const float *y, int64_t D, int64_t first)
{
    const int64_t H = spec->heads;
    for (int64_t b = 0; b < spec->B; b++) {
        const int64_t S = spec->key_start[b + 1] - spec->key_start[b], n = rf__min64(D, S - first);
        for (int64_t t = spec->start[b]; t < spec->start[b + 1]; t++, p += S)
            for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int64_t h = 0; h < H; h++) sum += (double)y[(t * H + h) * D + i];
                p[first + i] = (float)(sum / (double)H);
            }
    }
}

void rf__source_shares(rf_graph *g, const rf__view *view, float *p)
{
    rf_attention_spec spec = *view->spec;
    const rf_tensor *kv = spec.key_value;
    const int64_t D = view->rotated->dim[1] / spec.heads;
    int64_t longest = 0;
    for (int64_t b = 0; b < spec.B; b++) longest = rf__max64(longest, spec.key_start[b + 1] - spec.key_start[b]);
    spec.drop = 0;
    for (int64_t first = 0; first < longest && !g->error.code; first += D) {
        const rf_mark mark = rf__scratch(g);
        rf_tensor *x = rf__new(g, 2, kv->dim);
        if (g->error.code) return;
        ask_for_sources(&spec, x->f32, kv->f32, D, first);
        spec.key_value = x;
        const rf_tensor *y = rf__attention(g, (rf_tensor *)(uintptr_t)view->rotated, &spec);
        if (!g->error.code) put_shares(&spec, p, y->f32, D, first);
        rf__scratch_end(g, mark);
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

rf_status rf__head_sums_new(const rf_ctx *ctx, const rf_config *c, rf_head_sums *out, rf_error *why)
{
    const int64_t H = c->num_attention_heads, D = rf_config_head_width(c), r = rf_rope_width(c);
    const size_t vector = (size_t)(H * D), square = vector * (size_t)D, planes = (size_t)(H * (r / 2));
    double *all = rf__calloc(ctx, 2 * (vector + square + planes) + (size_t)(r / 2), sizeof *all);
    if (!all)
        return rf_fail(why, RF_ENOMEM, "out of memory: sums of %lld heads of %lld columns", (long long)H, (long long)D);
    *out = (rf_head_sums){.H = H, .D = D, .r = r, .layout = c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES};
    double **const part[] = {&out->query,       &out->key,       &out->query_square, &out->key_square,
                             &out->query_plane, &out->key_plane, &out->theta};
    const size_t size[] = {vector, vector, square, square, planes, planes, (size_t)(r / 2)};
    for (size_t i = 0; i < RF_COUNT(part); all += size[i++]) *part[i] = all;
    return RF_OK;
}

void rf__head_sums_free(const rf_ctx *ctx, rf_head_sums *s)
{
    rf__free(ctx, s->query);                                    /* the first member: all are in one block */
    *s = (rf_head_sums){0};
}

/* The two columns of plane i. */
static void columns(const rf_head_sums *s, int64_t i, int64_t *a, int64_t *b)
{
    *a = s->layout == RF_ROPE_PAIRS ? 2 * i : i;
    *b = s->layout == RF_ROPE_PAIRS ? 2 * i + 1 : i + s->r / 2;
}

static void add_vector(const rf_head_sums *s, const float *x, double *sum, double *square, double *plane)
{
    for (int64_t i = 0; i < s->D; i++) {
        sum[i] += (double)x[i];
        for (int64_t j = 0; j < s->D; j++) square[i * s->D + j] += (double)x[i] * (double)x[j];
    }
    for (int64_t i = 0; i < s->r / 2; i++) {
        int64_t a, b;
        columns(s, i, &a, &b);
        plane[i] += sqrt((double)x[a] * (double)x[a] + (double)x[b] * (double)x[b]);
    }
}

/* Rotary positions in one dimension, with scores that depend only on n - m. */
static bool on_a_line(const rf__view *view)
{
    const rf_config *c = view->at->config;
    const bool learned = view->is == &rf__position_rotary_learned;
    return learned || (view->is == &rf__position_rotary && !c->use_logn_attn &&
                       !(c->rope_scaling.sections && c->position_grid_width));
}

static void find_frequencies(rf_head_sums *s, const rf__view *view)
{
    const rf_config *c = view->at->config;
    const double base = rf_rope_base(c, view->at->layer);
    s->rotates = on_a_line(view);
    s->rotated = c->rotary_heads ? c->rotary_heads : s->H;
    s->gain = rf__rope_gain(c) * rf__rope_gain(c);
    s->scale = view->spec->scale != 0 ? view->spec->scale : 1 / sqrt((double)s->D);
    for (int64_t i = 0; i < s->r / 2 && s->rotates; i++) {
        s->theta[i] = rf__rope_theta(c, base, s->r, view->at->length[0], i);
        if (view->is == &rf__position_rotary_learned) s->theta[i] *= 1 + (double)view->at->weight[0]->f32[i];
    }
}

void rf__head_sums_add(rf_head_sums *s, const rf__view *view)
{
    if (!s->tokens) find_frequencies(s, view);
    const int64_t N = view->qkv->dim[0], D = s->D, half = s->r / 2, width = view->qkv->dim[1];
    const int64_t group = view->spec->kv_heads ? s->H / view->spec->kv_heads : 1;
    for (int64_t n = 0; n < N; n++)
        for (int64_t h = 0; h < s->H; h++) {
            const float *row = view->qkv->f32 + n * width, *q = row + h * D, *k = row + (s->H + h / group) * D;
            add_vector(s, q, s->query + h * D, s->query_square + h * D * D, s->query_plane + h * half);
            add_vector(s, k, s->key + h * D, s->key_square + h * D * D, s->key_plane + h * half);
        }
    s->tokens += N;
}

/* R x for one vector with a stride: y_a = c x_a - s x_b,  y_b = s x_a + c x_b in each plane; other columns stay. */
static void rotate(const rf_head_sums *s, double delta, double *x, int64_t stride)
{
    for (int64_t i = 0; i < s->r / 2; i++) {
        int64_t a, b;
        columns(s, i, &a, &b);
        const double c = s->gain * cos(delta * s->theta[i]), sine = s->gain * sin(delta * s->theta[i]);
        const double xa = x[a * stride], xb = x[b * stride];
        x[a * stride] = c * xa - sine * xb;
        x[b * stride] = sine * xa + c * xb;
    }
}

void rf_head_score(const rf_head_sums *s, int64_t h, double delta, double *workspace, double *mean, double *variance)
{
    const int64_t D = s->D;
    const bool rotated = h < s->rotated;
    const double n = (double)s->tokens * (double)s->tokens;
    double one = 0, square = 0;
    memcpy(workspace, s->key + h * D, (size_t)D * sizeof *workspace);
    if (rotated) rotate(s, delta, workspace, 1);
    for (int64_t i = 0; i < D; i++) one += s->query[h * D + i] * workspace[i];
    memcpy(workspace, s->key_square + h * D * D, (size_t)(D * D) * sizeof *workspace);
    for (int64_t i = 0; i < D && rotated; i++) rotate(s, delta, workspace + i * D, 1);  /* K R^T, K = k k^T   */
    for (int64_t i = 0; i < D && rotated; i++) rotate(s, delta, workspace + i, D);      /* R K R^T            */
    for (int64_t i = 0; i < D * D; i++) square += s->query_square[h * D * D + i] * workspace[i];
    *mean = s->scale * one / n;
    *variance = fmax(s->scale * s->scale * square / n - *mean * *mean, 0);
}
