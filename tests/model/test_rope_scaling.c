/* test_rope_scaling.c — mirrors src/model/positions/rope_scaling.c, src/store/config/config_rope.c: scaled frequencies
 * compared with transformers, tables compared with their formulas, and errors in config.json. */
#include <float.h>

#include "t.h"

#include "model/positions.h"

struct golden { const char *config; int64_t length, planes; double gain, theta[64]; };
static const struct golden goldens[] = {
#include "../golden/rope_scaling.inc"
};

static rf_config parsed(const char *text)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s", why.text);
    return c;
}

/* Both sides compute in double; longrope's factors and exponents pass through f32 in transformers: relative 1e-6. */
static void frequencies_of_transformers(void **state)
{
    (void)state;
    int seen[RF_ROPE_LLAMA3 + 1] = {0};
    for (size_t i = 0; i < RF_COUNT(goldens); i++) {
        const struct golden *t = &goldens[i];
        const rf_config c = parsed(t->config);
        const int64_t r = rf_rope_width(&c);
        rf_error why = {0};
        if (rf_rope_check(&c, &why)) fail_msg("%s: %s", t->config, why.text);
        assert_int_equal(r, 2 * t->planes);
        t_near(rf__rope_gain(&c), t->gain, 1e-6 * t->gain);
        for (int64_t j = 0; j < t->planes; j++) {
            const double got = rf__rope_theta(&c, c.rope_theta, r, t->length, j);
            if (!(fabs(got - t->theta[j]) <= 1e-6 * t->theta[j]))
                fail_msg("%s: plane %d is %.12g, expected %.12g", t->config, (int)j, got, t->theta[j]);
        }
        seen[c.rope_scaling.rope_type]++;
    }
    for (int t = RF_ROPE_LINEAR; t <= RF_ROPE_LLAMA3; t++) assert_int_equal(seen[t], 8);
}

/* The table for positions of the caller: gain cos and sin of the position times transformers' frequency. Angles are up
 * to 5 here, so that the goldens' relative 1e-6 is 5e-6 of them; one rounding to float more. */
static void tables_of_positions(void **state)
{
    (void)state;
    const int32_t position[] = {0, 5, -3, 1};
    for (size_t i = 0; i < RF_COUNT(goldens); i++)
        for (int layout = RF_ROPE_PAIRS; layout <= RF_ROPE_HALVES; layout++) {
            const struct golden *t = &goldens[i];
            const rf_config c = parsed(t->config);
            rf_error why = {0};
            rf_rope *rope = NULL;
            if (rf_rope_scaled(t_shared(), &c, 0, t->length, (rf_rope_layout)layout, position, 4, &rope, &why))
                fail_msg("%s: %s", t->config, why.text);
            assert_int_equal(rf_rope_rows(rope), 4);
            assert_int_equal(rf_rope_spec_of(rope)->layout, layout);
            for (int64_t m = 0; m < 4; m++)
                for (int64_t j = 0; j < t->planes; j++) {
                    const double angle = position[m] * t->theta[j], near = 6e-6 * t->gain;
                    t_near(rf_rope_cos(rope)[m * t->planes + j], t->gain * cos(angle), near);
                    t_near(rf_rope_sin(rope)[m * t->planes + j], t->gain * sin(angle), near);
                }
            rf_rope_free(rope);
        }
}

static void tables_of_positions_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"hidden_size\":8,\"num_attention_heads\":1,\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0.5}}",
        "{\"hidden_size\":8,\"num_attention_heads\":1,\"rope_scaling\":{\"mrope_section\":[2,1,1]}}",
    };
    static const rf_status expected[] = {RF_EDATA, RF_EUNSUPPORTED};
    const int32_t position = 0;
    rf_rope *rope = NULL;
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const rf_config c = parsed(bad[i]);
        rf_error why = {0};
        assert_int_equal(rf_rope_scaled(t_shared(), &c, 0, 0, RF_ROPE_PAIRS, &position, 1, &rope, &why), expected[i]);
        assert_non_null(strstr(why.text, i ? "mrope_section" : "factor"));
    }
    const rf_config c = parsed("{\"hidden_size\":8,\"num_attention_heads\":1}");
    assert_int_equal(rf_rope_scaled(t_shared(), &c, 0, 0, RF_ROPE_PAIRS, NULL, 1, &rope, NULL), RF_EARG);
    assert_int_equal(rf_rope_scaled(t_shared(), &c, 0, 0, RF_ROPE_PAIRS, &position, 0, &rope, NULL), RF_EARG);
    assert_null(rope);
}

/* Information for tools: the base of the layer, and no plane beyond the last. */
static void frequencies_of_layers(void **state)
{
    (void)state;
    const rf_config c = parsed("{\"hidden_size\":256,\"num_attention_heads\":4,\"num_hidden_layers\":2,"
                               "\"rope_theta_per_layer\":[100,10000]}");
    for (int64_t l = 0; l < 2; l++) {
        const double base = l ? 10000 : 100;
        t_near(rf_rope_base(&c, l), base, 0);
        for (int64_t i = 0; i < 32; i++)
            t_near(rf_rope_frequency(&c, l, 0, i), pow(base, -(double)i / 32), 1e-12);
        t_near(rf_rope_frequency(&c, l, 0, 32), 0, 0);
    }
    assert_int_equal(rf_rope_width(NULL), 0);
    assert_int_equal(rf_rope_check(NULL, NULL), RF_EARG);
    assert_string_equal(rf_rope_type_name(RF_ROPE_YARN), "yarn");
}

/* Also by the formula, because transformers has it only as a point of its dynamic one: base b f^(r/(r-2)), at every
 * length. */
static void ntk_is_its_formula(void **state)
{
    (void)state;
    const rf_config c =
        parsed("{\"hidden_size\":256,\"num_attention_heads\":4,\"rope_scaling\":{\"rope_type\":\"ntk\",\"factor\":8}}");
    for (int64_t i = 0; i < 32; i++) {
        const double expected = pow(10000 * pow(8, 64.0 / 62), -(double)i / 32);
        for (int64_t length = 0; length < 20000; length += 9999)
            t_near(rf__rope_theta(&c, c.rope_theta, 64, length, i), expected, 1e-12 * expected);
    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The angle and the gain of plane i at position m in a text of L tokens; part 0 queries, 1 keys; from the papers. */
typedef void formula(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain);

static void plain(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)L, (void)part, (void)layer;
    *angle = m * pow(10000, -2 * (double)i / 16);
    *gain = 1;
}

static void logn(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    plain(m, L, i, part, layer, angle, gain);
    if (part == 0) *gain = fmax(1, log(L) / log(20));
}

static void xpos(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    plain(m, L, i, part, layer, angle, gain);
    const double zeta = (2 * (double)i / 16 + 0.4) / 1.4;
    *gain = pow(zeta, (part ? -1 : 1) * m / 512);
}

static void axial(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)L, (void)part, (void)layer;
    const double row = floor(m / 7), column = m - 7 * row;
    *angle = i < 4 ? row * pow(10000, -2 * (double)i / 8) : column * pow(10000, -2 * (double)(i - 4) / 8);
    *gain = 1;
}

static void sections(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)L, (void)part, (void)layer;
    const int64_t n = (int64_t)m, t = n / 15, h = n / 5 % 3, w = n % 5;
    *angle = (double)(i < 2 ? t : i < 5 ? h : w) * pow(10000, -2 * (double)i / 16);
    *gain = 1;
}

static void bases(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)L, (void)part;
    *angle = m * pow(layer ? 100 : 10000, -2 * (double)i / 16);
    *gain = 1;
}

static void dynamic(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)part, (void)layer;
    const double base = L > 20 ? 10000 * pow(2 * L / 20 - 1, 16.0 / 14) : 10000;
    *angle = m * pow(base, -2 * (double)i / 16);
    *gain = 1;
}

static void yarn(double m, double L, int64_t i, int part, int64_t layer, double *angle, double *gain)
{
    (void)L, (void)part, (void)layer;
    const double low = floor(16 * log(20 / (64 * acos(-1))) / (2 * log(10000))),
                 high = ceil(16 * log(20 / (2 * acos(-1))) / (2 * log(10000)));
    const double ramp = fmin(fmax(((double)i - fmax(low, 0)) / (high - fmax(low, 0)), 0), 1),
                 theta = pow(10000, -2 * (double)i / 16);
    *angle = m * (theta / 4 * ramp + theta * (1 - ramp));
    *gain = 0.1 * log(4) + 1;
}

/* The angle is computed in double and its cosine rounded once: half an ulp of a number not above its gain, and as much
 * again for the gain's rounding in the formula's other order. */
static void tables_are_their_formulas(void **state)
{
    (void)state;
    static const struct { const char *config; formula *f;
    } cases[] = {
        {"\"position_embedding_type\":\"rotary\"", plain},
        {"\"rope_interleave\":false", plain},
        {"\"rotary_heads\":1", plain},
        {"\"use_logn_attn\":true", logn},
        {"\"position_embedding_type\":\"rotary_axial\",\"position_grid_width\":7", axial},
        {"\"position_grid_width\":5,\"position_grid_height\":3,\"rope_scaling\":{\"type\":\"mrope\",\"mrope_section\":["
         "2,3,3]}",
         sections},
        {"\"rope_scaling\":{\"mrope_section\":[2,3,3]}", plain},
        {"\"rope_theta_per_layer\":[10000,100]", bases},
        {"\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2}", dynamic},
        {"\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":20}", yarn},
        {"\"position_embedding_type\":\"xpos\",\"is_decoder\":true", xpos},
    };
    rf_ctx *ctx = t_ctx(2, NULL);
    for (size_t n = 0; n < RF_COUNT(cases); n++) {
        char text[512];
        rf_error why = {0};
        rf_graph *g;
        rf_positions *kept;
        rf_layer_context first;
        snprintf(text, sizeof text, "{\"hidden_size\":32,\"num_attention_heads\":2,\"num_hidden_layers\":2,"
                 "\"max_position_embeddings\":20,%s}", cases[n].config);
        const rf_config c = parsed(text);
        const rf_position *is;
        if (rf__position_find(&c, &is, &why)) fail_msg("%s: %s", text, why.text);
        if (rf__graph_new(ctx, &g, &why) || rf__positions_new(ctx, &c, &kept, &why)) fail_msg("%s", why.text);
        int32_t id[70] = {0}, at[70];
        const int32_t start[] = {0, 13, 70};
        for (int i = 0; i < 70; i++) at[i] = i < 13 ? i : i - 13;
        const rf_batch b = {.N = 70, .B = 2, .id = id, .start = start};
        assert_true(rf__positions_bind(g, kept, &c, &b, &first));
        for (int64_t layer = 0; layer < 2; layer++) {
            rf_layer_context context = first;
            rf_attention_spec spec = {0};
            context.layer = layer;
            if (is->angles(g, &context, &spec, &why)) fail_msg("%s: %s", text, why.text);
            for (int part = 0; part < 2; part++) {
                const rf_rope *rope = context.rotate.parts ? context.rotate.rope[part] : spec.rope;
                const int32_t *row = context.rotate.parts ? context.rotate.row[part] : spec.row;
                assert_int_equal(rf_rope_spec_of(rope)->rotary, 16);
                for (int i = 0; i < 70 * 8; i++) {
                    double angle, gain;
                    cases[n].f(at[i / 8], i / 8 < 13 ? 13 : 57, i % 8, part, layer, &angle, &gain);
                    const int64_t cell = row[i / 8] * 8 + i % 8;
                    t_near(rf_rope_cos(rope)[cell], gain * cos(angle), FLT_EPSILON * gain);
                    t_near(rf_rope_sin(rope)[cell], gain * sin(angle), FLT_EPSILON * gain);
                }
            }
        }
        rf__positions_free(kept);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
}

/* R_a R_b = R_(a+b), R_a^T R_a = 1, R_a^-1 = R_-a, and the halves layout is the pairs layout with permuted columns, for
 * a scaled table.  Two rotations of numbers below 1: 4 roundings. */
static void rotations_are_a_group(void **state)
{
    (void)state;
    const rf_config c =
        parsed("{\"hidden_size\":64,\"num_attention_heads\":4,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8,"
               "\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_embeddings\":64}}");
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    rf_config halves = c;
    halves.rope_interleave = 0;
    const rf_position *is;
    for (int layout = 0; layout < 2; layout++) {
        rf_graph *g;
        rf_positions *kept;
        rf_layer_context context;
        rf_attention_spec spec = {0};
        const rf_config *one = layout ? &halves : &c;
        int32_t id[4] = {0}, position[4] = {3, 41, 44, -41};
        const int32_t start[] = {0, 4};
        const rf_batch b = {.N = 4, .B = 1, .id = id, .position = position, .start = start};
        if (rf__position_find(one, &is, &why) || rf__graph_new(ctx, &g, &why) ||
            rf__positions_new(ctx, one, &kept, &why))
            fail_msg("%s", why.text);
        assert_true(rf__positions_bind(g, kept, one, &b, &context));
        context.layer = 0;
        if (is->angles(g, &context, &spec, &why)) fail_msg("%s", why.text);
        float *x = t_normal(16), *ab = t_floats(16), *once = t_floats(16), *back = t_floats(16), *mixed = t_floats(16),
              *other = t_floats(16);
        const int32_t *row = spec.row;
        if (rf_rope_rotate(ctx, spec.rope, ab, x, &row[0], 1, 1, 16, 1, &why) ||
            rf_rope_rotate(ctx, spec.rope, ab, ab, &row[1], 1, 1, 16, 1, &why) ||
            rf_rope_rotate(ctx, spec.rope, once, x, &row[2], 1, 1, 16, 1, &why))
            fail_msg("%s", why.text);
        t_close(ab, once, 16, 8 * FLT_EPSILON * 4, 0);
        if (rf_rope_rotate(ctx, spec.rope, back, x, &row[1], 1, 1, 16, 1, &why)) fail_msg("%s", why.text);
        double size[2] = {0};
        for (int i = 0; i < 16; i++)
            size[0] += (double)x[i] * (double)x[i], size[1] += (double)back[i] * (double)back[i];
        t_near(size[1], size[0], 16 * FLT_EPSILON * size[0]);                                       /* orthogonal */
        if (rf_rope_rotate(ctx, spec.rope, back, back, &row[3], 1, 1, 16, 1, &why)) fail_msg("%s", why.text);
        t_close(back, x, 16, 8 * FLT_EPSILON * 4, 0);                                              /* R_41 then R_-41 */
        if (layout) {                                          /* halves(P x) = P pairs(x), P: 2i -> i, 2i+1 -> i + 8 */
            const float *cosines = rf_rope_cos(spec.rope) + row[1] * 8, *sines = rf_rope_sin(spec.rope) + row[1] * 8;
            for (int i = 0; i < 8; i++) mixed[i] = x[2 * i], mixed[i + 8] = x[2 * i + 1];
            ctx->k->rope_pairs(other, x, cosines, sines, 1, 1, 16, 16);
            ctx->k->rope_halves(mixed, mixed, cosines, sines, 1, 1, 16, 16);
            for (int i = 0; i < 8; i++) {
                t_near(mixed[i], other[2 * i], 0);
                t_near(mixed[i + 8], other[2 * i + 1], 0);
            }
        }
        rf__positions_free(kept);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

static void bad_configs_are_refused(void **state)
{
    (void)state;
    static const struct { const char *keys; rf_status code; const char *part;
    } cases[] = {
        {"\"partial_rotary_factor\":0.3", RF_EDATA, "got 0.3, which rotates 3 of a head's 10"},
        {"\"partial_rotary_factor\":1.5", RF_EDATA, "partial_rotary_factor: expected (0, 1], got 1.5"},
        {"\"partial_rotary_factor\":0", RF_EDATA, "partial_rotary_factor: expected (0, 1], got 0"},
        {"\"rope_theta\":0", RF_EDATA, "rope_theta: expected (1, 1e+18], got 0"},
        {"\"rope_theta\":-3", RF_EDATA, "rope_theta: expected (1, 1e+18], got -3"},
        {"\"rope_theta\":1", RF_EDATA, "rope_theta: expected (1, 1e+18], got 1"},
        {"\"rope_parameters\":{\"rope_theta\":0.5}", RF_EDATA, "rope_theta: expected (1, 1e+18], got 0.5"},
        {"\"rope_theta_per_layer\":[100,1,100]", RF_EDATA,
         "rope_theta_per_layer[1]: expected a finite number above 1, got 1"},
        {"\"sinusoidal_base\":1", RF_EDATA, "sinusoidal_base: expected (1, 1e+18], got 1"},
        {"\"position_embedding_type\":\"concat\",\"concat_width\":5", RF_EDATA,
         "concat_width: expected an even number, got 5"},
        {"\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0.5}", RF_EDATA,
         "factor: expected a finite number of at least 1, got 0.5"},
        {"\"rope_scaling\":{\"rope_type\":\"linear\"}", RF_EDATA, "got missing or 0"},
        {"\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":\"two\"}", RF_EDATA,
         "factor: expected a number, got \"two\""},
        {"\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":2,\"original_max_position_embeddings\":-1}", RF_EDATA,
         "original_max_position_embeddings: expected"},
        {"\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":2,\"attention_factor\":0}", RF_EDATA,
         "attention_factor: expected a number above 0, got 0"},
        {"\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2,\"low_freq_factor\":4,\"high_freq_factor\":4,"
         "\"original_max_position_embeddings\":64}",
         RF_EDATA, "expected 0 < low < high, got 4 and 4"},
        {"\"rope_scaling\":{\"rope_type\":\"longrope\",\"factor\":2,\"original_max_position_embeddings\":64,\"short_"
         "factor\":[1,1,1],\"long_factor\":[1,1,1,1,1]}",
         RF_EDATA, "short_factor: expected 5 numbers, ... got 3"},
        {"\"rope_scaling\":{\"rope_type\":\"longrope\",\"factor\":2,\"original_max_position_embeddings\":64,\"short_"
         "factor\":[1,1,1,1,1],\"long_factor\":[1,1,0,1,1]}",
         RF_EDATA, "long_factor[2]: expected"},
        {"\"rope_scaling\":{\"mrope_section\":[2,2]}", RF_EDATA, "mrope_section: expected 5 planes"},
        {"\"rope_scaling\":{\"mrope_section\":[1,1,1,2]}", RF_EDATA,
         "mrope_section: expected at most 3 numbers, got 4"},
        {"\"rope_scaling\":{\"rope_type\":\"cubic\"}", RF_EUNSUPPORTED,
         "rope_type: expected default, linear, ntk, dynamic, yarn, longrope or llama3"},
        {"\"rope_scaling\":7", RF_EDATA, "rope_scaling: expected an object, got 7"},
        {"\"rope_theta_per_layer\":[4,2]", RF_EDATA, "rope_theta_per_layer: expected 3 numbers"},
        {"\"rope_theta_per_layer\":[4,2,-1]", RF_EDATA, "rope_theta_per_layer[2]: expected"},
        {"\"rotary_heads\":3", RF_EDATA, "rotary_heads: expected at most num_attention_heads, 2, got 3"},
        {"\"rotary_value_inverse\":true", RF_EDATA, "rotary_value_inverse: expected rotary_value"},
        {"\"position_embedding_type\":\"rotary_axial\"", RF_EDATA,
         "expected a multiple of 4 for two axes of planes, got 10"},
        {"\"position_embedding_type\":\"absolut\"", RF_EDATA, "the nearest is \"absolute\""},
        {"\"position_embedding_type\":\"xpos\"", RF_EUNSUPPORTED, "expected causal attention"},
        {"\"position_embedding_type\":\"absolute\",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}", RF_EDATA,
         "expected a position_embedding_type that rotates"},
        {"\"position_embedding_type\":\"convolution\",\"conv_kernel_size\":4", RF_EDATA,
         "conv_kernel_size: expected an odd number"},
        {"\"position_embedding_type\":\"hierarchical\",\"hierarchical_alpha\":1", RF_EDATA,
         "hierarchical_alpha: expected (0, 1), got 1"},
        {"\"position_embedding_type\":\"rotary_learned\",\"use_logn_attn\":true", RF_EDATA,
         "\"rotary_learned\": expected only"},
        {"\"position_embedding_type\":\"rerope\",\"rerope_leak\":0.5", RF_EDATA, "rerope_leak: expected"},
        {"\"position_embedding_type\":\"rerope\",\"rotary_value\":true", RF_EDATA, "\"rerope\": expected only"},
        {"\"position_embedding_type\":17", RF_EDATA, "position_embedding_type: expected a string, got an integer"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        char text[512];
        rf_config c;
        rf_error why = {0};
        const rf_position *p;
        snprintf(text, sizeof text, "{\"hidden_size\":20,\"num_attention_heads\":2,\"num_hidden_layers\":3,%s}",
                 cases[i].keys);
        if (!rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) rf__position_find(&c, &p, &why);
        t_failed(&why, cases[i].code, cases[i].part);
    }
}

/* Every key of positions is read and written: none of these values is a default. */
static void configs_survive(void **state)
{
    (void)state;
    static const char text[] =
        "{\"hidden_size\":20,\"num_attention_heads\":2,\"num_hidden_layers\":3,\"partial_rotary_factor\":0.8,\"rope_"
        "interleave\":false,\"rotary_heads\":1,\"rotary_value\":true,\"use_logn_attn\":true,\"position_grid_width\":5,"
        "\"position_grid_height\":4,\"rope_theta_per_layer\":[10000,500.25,1.5],\"position_step\":0.25,"
        "\"sinusoidal_base\":77.5,\"concat_width\":6,\"conv_kernel_"
        "size\":5,\"hierarchical_alpha\":0.3,\"share_att_key\":true,\"xpos_scale_base\":256,\"position_embedding_"
        "type\":\"rotary_axial\",\"rope_scaling\":{\"rope_type\":\"longrope\",\"factor\":2.5,\"attention_factor\":1.1,"
        "\"original_max_position_embeddings\":64,\"short_factor\":[1,1.5,2,3],\"long_factor\":[1,2.5,4,5],\"mrope_"
        "section\":[1,1,2],\"final_length\":4096}}";
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_error why = {0};
    const rf_config c = parsed(text);
    rf_config back;
    const char *folder = t_folder();
    if (rf_config_write(ctx, folder, &c, &why) || rf_config_read(ctx, folder, &back, &why)) fail_msg("%s", why.text);
    const rf_rope_scaling *r = &back.rope_scaling;
    static const double theta[] = {10000, 500.25, 1.5}, shorts[] = {1, 1.5, 2, 3}, longs[] = {1, 2.5, 4, 5};
    static const int64_t section[] = {1, 1, 2};
    assert_true(back.partial_rotary_factor == 0.8 && !back.rope_interleave && back.rotary_heads == 1);
    assert_true(back.rotary_value && back.use_logn_attn && back.share_att_key);
    assert_true(back.position_grid_width == 5 && back.position_grid_height == 4 && back.position_step == 0.25);
    assert_true(back.sinusoidal_base == 77.5 && back.concat_width == 6 && back.conv_kernel_size == 5);
    assert_true(back.hierarchical_alpha == 0.3 && back.xpos_scale_base == 256 && back.rope_thetas == 3);
    assert_memory_equal(back.rope_theta_per_layer, theta, sizeof theta);
    assert_string_equal(back.position_embedding_type, "rotary_axial");
    assert_true(r->rope_type == RF_ROPE_LONGROPE && r->factor == 2.5 && r->attention_factor == 1.1);
    assert_true(r->original_max_position_embeddings == 64 && r->final_length == 4096);
    assert_true(r->shorts == 4 && r->longs == 4 && r->sections == 3);
    assert_memory_equal(r->short_factor, shorts, sizeof shorts);
    assert_memory_equal(r->long_factor, longs, sizeof longs);
    assert_memory_equal(r->mrope_section, section, sizeof section);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_of_transformers), cmocka_unit_test(tables_of_positions),
        cmocka_unit_test(tables_of_positions_are_refused),
        cmocka_unit_test(frequencies_of_layers), cmocka_unit_test(ntk_is_its_formula),
        cmocka_unit_test(tables_are_their_formulas),   cmocka_unit_test(rotations_are_a_group),
        cmocka_unit_test(bad_configs_are_refused),     cmocka_unit_test(configs_survive),
    };
    return cmocka_run_group_tests_name("model/rope_scaling", tests, NULL, NULL);
}
