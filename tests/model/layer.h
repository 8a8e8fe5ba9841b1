/* layer.h — an attention layer of the library, for the tests of rotary and relative encodings: rotation, added terms
 * and attention. */
#ifndef TESTS_MODEL_LAYER_H
#define TESTS_MODEL_LAYER_H

#include "gradient.h"
#include "t.h"

#include "model/encoder.h"
#include "model/positions.h"
#include "roformer/model.h"

enum { PARAMETERS = 12 };

struct layer {
    rf_ctx *ctx;
    rf_graph *g;
    rf_params params;
    rf_positions *kept;
    bool still;                                                  /* as in a session: parameters never change          */
    size_t n;                                                    /* the encoding's parameters                         */
    const rf_param *p[PARAMETERS];
    size_t count[PARAMETERS];                                    /* with share_att_key the last two are of q, k and v */
    float *value[PARAMETERS], *grad[PARAMETERS];
};

static inline rf_config config_of(int64_t H, int64_t D, bool causal, const char *keys)
{
    char text[1024];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":8,\"hidden_size\":%d,\"num_hidden_layers\":1,\"num_attention_heads\":%d,\"type_vocab_"
             "size\":2,\"intermediate_size\":8,\"is_decoder\":%s,%s}",
             (int)(H * D), (int)H, causal ? "true" : "false", keys);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s: %s", keys, why.text);
    return c;
}

static inline void add_parameter(struct layer *l, const rf_param *p, size_t joined)
{
    assert_true(l->n < PARAMETERS);
    l->p[l->n] = p;
    l->count[l->n] = joined * p->count;
    l->value[l->n] = t_normal((int64_t)l->count[l->n]);
    l->grad[l->n] = t_bytes(l->count[l->n] * sizeof(float));
    l->n++;
}

static inline void open_layer(struct layer *l, const rf_config *c, const char *isa)
{
    rf_error why = {0};
    *l = (struct layer){.ctx = t_ctx(2, isa)};
    if (rf__params_new(l->ctx, c, &l->params, &why) || rf__positions_new(l->ctx, c, &l->kept, &why) ||
        rf__graph_new(l->ctx, &l->g, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < l->params.n; i++)
        if (l->params.p[i].position) add_parameter(l, &l->params.p[i], 1);
    for (size_t i = 0; i < l->params.n && c->share_att_key; i++)
        if (strstr(l->params.p[i].name, "attention.self.query.")) add_parameter(l, &l->params.p[i], 3);
}

static inline void close_layer(struct layer *l)
{
    rf__graph_free(l->g);
    rf__positions_free(l->kept);
    rf__params_free(&l->params);
    rf_ctx_free(l->ctx);
}

/* The encoding's hooks as the encoder calls them, and then attention; dqkv NULL: without a backward pass. */
static inline rf_tensor *attend(struct layer *l, float *qkv, float *dqkv, const rf_batch *b, rf_attention_spec *spec)
{
    const rf_config *c = &l->params.config;
    const rf_position *is = l->params.position;
    const int64_t C = c->hidden_size;
    rf_tensor *shared[PARAMETERS], *own[PARAMETERS];
    size_t n[2] = {0, 0};
    rf_layer_context at;
    assert_int_equal(rf__graph_reset(l->g), RF_OK);
    rf__graph_record(l->g, dqkv != NULL, T_SEED, T_STEP);
    assert_true(rf__positions_bind(l->g, l->kept, c, b, &at));
    for (size_t i = 0; i < l->n; i++) {
        const int64_t joined = (int64_t)(l->count[i] / l->p[i]->count),
                      dim[2] = {joined * l->p[i]->dim[0], l->p[i]->dim[1]};
        rf_tensor *t = rf__parameter(l->g, l->value[i], dqkv ? l->grad[i] : NULL, l->p[i]->rank, dim);
        if (joined > 1) *(l->p[i]->rank == 2 ? &at.qkv : &at.qkv_bias) = t;
        else if (l->p[i]->layer < 0) shared[n[0]++] = t;
        else own[n[1]++] = t;
    }
    at.layer = 0, at.shared = shared, at.weight = n[1] ? own : shared, at.still = l->still;
    rf_tensor *x = rf__input(l->g, qkv, dqkv, 2, (int64_t[]){b->N, 3 * C});
    *spec = (rf_attention_spec){.heads = c->num_attention_heads, .B = b->B, .start = at.start, .causal = c->is_decoder};
    rf_error why = {0};
    if (is->angles && is->angles(l->g, &at, spec, &why)) fail_msg("%s: %s", is->name, why.text);
    rf_tensor *rotated = is->rotate ? is->rotate(l->g, &at, x) : x;
    if (is->relate) is->relate(l->g, &at, x, spec);
    rf_tensor *y = is->attend ? is->attend(l->g, &at, rotated, spec) : rf__attention(l->g, rotated, spec);
    if (is->unrotate) y = is->unrotate(l->g, &at, y);
    if (rf__graph_error(l->g)->code) fail_msg("%s: %s", is->name, rf__graph_error(l->g)->text);
    return y;
}

/* ---- the same as printed, in double ---- */

/* Query m and key n of text b, which has T tokens, in head h. */
struct pair { int b, m, n, h, T; };

/* The change of a score and of a value by an encoding, and the data for it. */
struct printed {
    double (*score)(const void *of, const double *q, const double *k, const struct pair *at);
    void (*value)(const void *of, double *out, const double *v, const struct pair *at);
    const void *of;
};

/* y_m = sum_n softmax_n(score(m,n)) value_n over the keys that m sees, with all scores of a row at once. */
static inline void attend_as_printed(const rf_config *c, const struct printed *f, int texts, const int32_t *start,
                                     double *y, const double *qkv)
{
    enum { LENGTH = 64, WIDTH = 64 };
    const int H = (int)c->num_attention_heads, C = (int)c->hidden_size, D = C / H;
    double s[LENGTH], v[WIDTH];
    assert_true(D <= WIDTH);
    memset(y, 0, (size_t)(start[texts] * C) * sizeof *y);
    for (int b = 0; b < texts; b++)
        for (int h = 0; h < H; h++) {
            struct pair at = {.b = b, .h = h, .T = start[b + 1] - start[b]};
            const double *x = qkv + start[b] * 3 * C + h * D;
            assert_true(at.T <= LENGTH);
            for (at.m = 0; at.m < at.T; at.m++) {
                const int sees = c->is_decoder ? at.m + 1 : at.T;
                double all = 0;
                for (at.n = 0; at.n < sees; at.n++)
                    all += s[at.n] = exp(f->score(f->of, x + at.m * 3 * C, x + at.n * 3 * C + C, &at));
                for (at.n = 0; at.n < sees; at.n++) {
                    f->value(f->of, v, x + at.n * 3 * C + 2 * C, &at);
                    for (int i = 0; i < D; i++) y[(start[b] + at.m) * C + h * D + i] += s[at.n] / all * v[i];
                }
            }
        }
}

#endif
