/* test_positions.c — mirrors src/model/position.c and src/model/positions: what holds for every row of the registry. */
#include "t.h"

#include "model/encoder.h"
#include "model/position.h"
#include "roformer/model.h"

static rf_config small(const char *type)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 97;
    c.embedding_size = 24;
    c.hidden_size = 32;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 4;
    c.intermediate_size = 64;
    c.max_position_embeddings = 144;
    c.initializer_range = 0.2;
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", type);
    return c;
}

struct work { rf_ctx *ctx; rf_model *model; rf_session *session; };

static struct work begin(const rf_config *c, int threads, const char *isa)
{
    struct work w = {.ctx = t_ctx(threads, isa)};
    rf_error why = {0};
    if (rf_model_random(w.ctx, c, 7, &w.model, &why) || rf_session_open(w.model, &w.session, &why)) fail_msg("%s", why.text);
    return w;
}

static void end(struct work *w)
{
    rf_session_close(w->session);
    rf_model_close(w->model);
    rf_ctx_free(w->ctx);
}

/* An encoder runs those that are not for causal attention alone. */
static bool runs(const rf_position *p) { return !(p->flags & RF_POSITION_CAUSAL); }

#define EACH(p) for (const rf_position *const *p = rf__position_list; *p; p++) if (runs(*p))

enum { TEXTS = 6 };
static const int32_t length[TEXTS] = {1, 5, 16, 17, 64, 130};

/* Text i is a fixed function of i alone. */
static void fill(int text, int32_t *id, int32_t n)
{
    rf_rng r;
    rf__rng_init(&r, 5, (uint64_t)text);
    for (int32_t j = 0; j < n; j++) id[j] = (int32_t)rf__rng_below(&r, 97);
}

static void packed_is_alone(void **state)
{
    (void)state;
    EACH(p) {
        const rf_config c = small((*p)->name);
        float *alone = t_floats(TEXTS * 32);
        for (int threads = 1; threads <= 2; threads++) {
            struct work w = begin(&c, threads, NULL);
            rf_error why = {0};
            const float *v;
            int32_t id[256], start[TEXTS + 1] = {0};
            for (int i = 0; i < TEXTS && threads == 1; i++) {
                const int32_t ends[2] = {0, length[i]};
                fill(i, id, length[i]);
                const rf_batch b = {.N = length[i], .B = 1, .id = id, .start = ends};
                if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
                memcpy(alone + i * 32, v, 32 * sizeof *v);
            }
            for (int i = 0; i < TEXTS; i++) {
                fill(TEXTS - 1 - i, id + start[i], length[TEXTS - 1 - i]);
                start[i + 1] = start[i] + length[TEXTS - 1 - i];
            }
            const rf_batch b = {.N = start[TEXTS], .B = TEXTS, .id = id, .start = start};
            if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
            for (int i = 0; i < TEXTS; i++)
                if (memcmp(v + i * 32, alone + (TEXTS - 1 - i) * 32, 32 * sizeof *v))
                    fail_msg("%s: text %d has other bits in a batch", (*p)->name, TEXTS - 1 - i);
            end(&w);
        }
        t_free_all();
    }
}

/* The order of tokens changes the answer: of every encoding but none, which cannot tell.  For "none" the mean over a text
 * and over its reverse are sums of the same numbers in another order: 130 terms and two layers, below 1000 roundings. */
static void order_is_seen(void **state)
{
    (void)state;
    EACH(p) {
        const rf_config c = small((*p)->name);
        struct work w = begin(&c, 1, NULL);
        rf_error why = {0};
        const float *v;
        int32_t id[64], back[64];
        const int32_t start[2] = {0, 64};
        fill(4, id, 64);
        for (int i = 0; i < 64; i++) back[i] = id[63 - i];
        rf_batch b = {.N = 64, .B = 1, .id = id, .start = start};
        if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        float *first = memcpy(t_floats(32), v, 32 * sizeof *v);
        b.id = back;
        if (rf_session_embed(w.session, &b, RF_POOL_MEAN, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        double most = 0;
        for (int i = 0; i < 32; i++) most = fmax(most, fabs((double)v[i] - (double)first[i]));
        if (!strcmp((*p)->name, "none")) assert_true(most < 1e-4);
        else if (most < 1e-3) fail_msg("%s: a text and its reverse differ by %g only", (*p)->name, most);
        end(&w);
        t_free_all();
    }
}

/* m -> m + s changes nothing but rounding, for those that say so.  Angles are formed in double, so the size of s does not
 * matter; products of two layers of width 32 stay within a few hundred ulp of values near 1. */
static void shift_invariant_ones_are(void **state)
{
    (void)state;
    EACH(p) {
        if (!((*p)->flags & RF_POSITION_SHIFT)) continue;
        const rf_config c = small((*p)->name);
        struct work w = begin(&c, 1, NULL);
        rf_error why = {0};
        int32_t id[64], position[64];
        const int32_t start[2] = {0, 64}, shift[] = {1, 1000, -1000000, 1000000};
        const float *v;
        fill(4, id, 64);
        rf_batch b = {.N = 64, .B = 1, .id = id, .start = start};
        if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        float *want = memcpy(t_floats(64 * 32), v, 64 * 32 * sizeof *v);
        b.position = position;
        for (size_t i = 0; i < RF_COUNT(shift); i++) {
            for (int j = 0; j < 64; j++) position[j] = shift[i] + j;
            if (rf_session_hidden(w.session, &b, &v, &why)) fail_msg("%s: %s", (*p)->name, why.text);
            t_close(v, want, 64 * 32, 5e-5, 0);
        }
        end(&w);
        t_free_all();
    }
}

/* Those that extrapolate answer for texts longer than max_position_embeddings; the others name the position. */
static void beyond_the_trained_length(void **state)
{
    (void)state;
    enum { T = 700 };
    EACH(p) {
        const rf_config c = small((*p)->name);
        struct work w = begin(&c, 1, NULL);
        rf_error why = {0};
        static int32_t id[T];
        const int32_t start[2] = {0, T};
        const float *v;
        fill(1, id, T);
        const rf_batch b = {.N = T, .B = 1, .id = id, .start = start};
        const rf_status status = rf_session_hidden(w.session, &b, &v, &why);
        if ((*p)->flags & RF_POSITION_EXTRAPOLATES) {
            if (status) fail_msg("%s: %s", (*p)->name, why.text);
            for (int i = 0; i < T * 32; i++) assert_true(isfinite(v[i]));
        } else {
            t_failed(&why, RF_ERANGE, "position 144 of token 144, there are 144");
        }
        end(&w);
        t_free_all();
    }
}

/* Every parameter of an encoding takes part: its gradient is there, and the step is as long as the gradient says.  The loss
 * along the gradient is measured in f32 with steps that move it by about 1e-2; its rounding (1e-6) and curvature leave 5 %. */
static void every_parameter_has_its_gradient(void **state)
{
    (void)state;
    EACH(p) {
        if (!(*p)->embedding && !(*p)->layer) continue;
        const rf_config c0 = small((*p)->name);
        rf_config c = c0;
        c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_error why = {0};
        rf_params params;
        rf_encoder *e;
        rf_graph *g;
        if (rf__params_new(ctx, &c, &params, &why)) fail_msg("%s", why.text);
        float *value = t_floats((int64_t)params.total), *grad = t_floats((int64_t)params.total);
        rf__params_init(&params, value, 3);
        for (size_t i = 0; i < params.n; i++)                    /* away from zeros, where gradients may vanish */
            for (size_t j = 0; params.p[i].looked_up && j < params.p[i].count; j++)
                value[params.p[i].offset + j] += 0.1f * (float)sin(1.7 * (double)j + (double)i);
        if (rf__encoder_new(&params, value, grad, &e, &why) || rf_graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
        int32_t id[40], row[6] = {1, 3, 9, 20, 30, 39}, label[6] = {5, 6, 7, 8, 9, 10};
        const int32_t start[3] = {0, 15, 40};
        fill(4, id, 40);
        const rf_batch b = {.N = 40, .B = 2, .id = id, .start = start};
        for (size_t i = 0; i < params.n; i++) {
            if (!params.p[i].looked_up) continue;
            double size = 0, loss[3] = {0};
            const rf_param *one = &params.p[i];
            for (int side = 0; side < 3; side++) {
                memset(grad, 0, params.total * sizeof *grad);
                if (rf_graph_reset(g)) fail();
                rf_graph_record(g, 1, 1, 1);
                rf_tensor *l = rf__mlm_loss(g, e, rf__encode(g, e, &b), row, label, 6, 1.0 / 6, &loss[side], NULL);
                if (rf_backward(g, l, &why)) fail_msg("%s: %s", (*p)->name, why.text);
                loss[side] /= 6;
                static float along[1 << 14];
                if (side == 0) {
                    assert_true(one->count <= RF_COUNT(along));
                    for (size_t j = 0; j < one->count; j++) size += pow((double)(along[j] = grad[one->offset + j]), 2);
                    if (!(size > 1e-12)) fail_msg("%s: %s has no gradient", (*p)->name, one->name);
                }
                const double h = 0.01 / sqrt(size) * (sqrt(size) > 1 ? 1 / sqrt(size) : 1), to = side == 0 ? 1 : side == 1 ? -2 : 1;
                for (size_t j = 0; j < one->count; j++) value[one->offset + j] += (float)(to * h * (double)along[j]);
                if (side == 2) {
                    const double slope = (loss[1] - loss[2]) / (2 * h);
                    if (!(fabs(slope - size) <= 0.05 * size + 2e-6 / h))
                        fail_msg("%s: %s: slope along the gradient %g, its square %g", (*p)->name, one->name, slope, size);
                }
            }
        }
        rf__encoder_free(e);
        rf_graph_free(g);
        rf__params_free(&params);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* The count of the listing is that of the table. */
static void parameters_are_counted(void **state)
{
    (void)state;
    const rf_config plain = small("none");
    EACH(p) {
        const rf_config c = small((*p)->name);
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_params params;
        int64_t n = 0;
        assert_int_equal(rf__params_new(ctx, &c, &params, NULL), RF_OK);
        for (size_t i = 0; i < params.n; i++) n += (int64_t)params.p[i].count;
        assert_int_equal(n, rf_config_parameters(&c));
        assert_int_equal(n - rf_config_parameters(&plain), rf__position_parameters(*p, &c));
        rf__params_free(&params);
        rf_ctx_free(ctx);
    }
}

static void names(void **state)
{
    (void)state;
    const rf_position *p;
    rf_error why = {0};
    rf_config c = small("rotery");
    assert_int_equal(rf__position_find(&c, &p, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "position_embedding_type is \"rotery\", which is not known; the nearest is \"rotary\"");
    for (const rf_position *const *a = rf__position_list; *a; a++)
        for (const rf_position *const *b = a + 1; *b; b++) assert_string_not_equal((*a)->name, (*b)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_is_alone),
        cmocka_unit_test(order_is_seen),
        cmocka_unit_test(shift_invariant_ones_are),
        cmocka_unit_test(beyond_the_trained_length),
        cmocka_unit_test(every_parameter_has_its_gradient),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("model/positions", tests, NULL, NULL);
}
