/* test_quantized.c — mirrors quantized.c: weights in int8 with their scales; supported schemes, and others,
 * which are rejected by name; products of such weights compared with compressed-tensors. */
#define _GNU_SOURCE
#include "kernel/gemm/products.h"
#include "one_context.h"
#include "roformer/kernel/gemm.h"
#include "store/store.h"

/* ---- quantization_config ----------------------------------------------------------------------------------------- */

#define GROUP(weights, activations) \
    "{\"targets\":[\"Linear\"],\"weights\":" weights ",\"input_activations\":" activations \
    ",\"output_activations\":null}"
#define WEIGHTS "{\"num_bits\":8,\"type\":\"int\",\"symmetric\":true,\"strategy\":\"channel\",\"observer\":\"minmax\"}"
#define TABLES "{\"targets\":[\"Embedding\"],\"weights\":" WEIGHTS ",\"input_activations\":null}"
#define TOKENS "{\"num_bits\":8,\"type\":\"int\",\"symmetric\":true,\"strategy\":\"token\",\"dynamic\":true}"
#define CONFIG(method, format, more, groups) \
    "{\"quant_method\":\"" method "\",\"format\":\"" format "\",\"config_groups\":" groups more "}"
#define INTEGERS(more, groups) CONFIG("compressed-tensors", "int-quantized", more, groups)
#define ONE(weights, activations) INTEGERS("", "{\"g\":" GROUP(weights, activations) "}")

static rf_status read_config(const char *quantized, int *is, rf_error *why)
{
    char text[2048];
    rf_config c;
    snprintf(text, sizeof text, "{\"model_type\":\"roformer\",\"quantization_config\":%s}", quantized);
    const rf_status status = rf_config_parse(ctx, text, strlen(text), "config.json", &c, why);
    *is = status ? -1 : c.quantized;
    return status;
}

static void schemes_that_are_read(void **state)
{
    (void)state;
    static const struct { const char *text; int is; } good[] = {
        {"null", 0},
        {ONE(WEIGHTS, TOKENS), 1},
        {CONFIG("compressed-tensors", "naive-quantized",
                ",\"quantization_status\":\"compressed\",\"kv_cache_scheme\":null,\"ignore\":[\"lm_head\"]",
                "{\"g\":" GROUP(WEIGHTS, TOKENS) ",\"h\":" GROUP(WEIGHTS, TOKENS) "}"), 1},
        {ONE(WEIGHTS, "null"), 2},
        {INTEGERS("", "{\"g\":{\"targets\":[\"Linear\"],\"weights\":" WEIGHTS "}}"), 2},
        {INTEGERS("", "{\"g\":" GROUP(WEIGHTS, TOKENS) ",\"t\":" TABLES "}"), 1},
        {INTEGERS("", "{\"g\":" GROUP(WEIGHTS, "null") ",\"t\":" TABLES "}"), 2},
    };
    for (size_t i = 0; i < RF_COUNT(good); i++) {
        int is;
        rf_error why = {0};
        if (read_config(good[i].text, &is, &why)) fail_msg("%s: %s", good[i].text, why.text);
        assert_int_equal(is, good[i].is);
    }
}

static void schemes_that_are_not(void **state)
{
    (void)state;
    static const struct { const char *text; rf_status code; const char *part; } bad[] = {
        {"7", RF_EDATA, "quantization_config is not an object"},
        {CONFIG("gptq", "int-quantized", "", "{}"), RF_EUNSUPPORTED,
         "quantization_config.quant_method: expected \"compressed-tensors\", got \"gptq\""},
        {CONFIG("compressed-tensors", "pack-quantized", "", "{}"), RF_EUNSUPPORTED,
         "quantization_config.format: expected \"int-quantized\", got \"pack-quantized\""},
        {INTEGERS(",\"quantization_status\":\"frozen\"", "{}"), RF_EUNSUPPORTED,
         "quantization_config.quantization_status: expected \"compressed\", got \"frozen\""},
        {INTEGERS(",\"kv_cache_scheme\":{\"num_bits\":8}", "{}"), RF_EUNSUPPORTED,
         "quantization_config.kv_cache_scheme: expected null, got {\"num_bits\":8}"},
        {INTEGERS("", "{}"), RF_EDATA, "config_groups is not an object with a group"},
        {INTEGERS("", "{\"g\":[\"Linear\"]}"), RF_EDATA, "config_groups.g is not an"},
        {ONE("{\"num_bits\":4,\"strategy\":\"channel\"}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.num_bits: expected 8, got 4"},
        {ONE("{\"num_bits\":8,\"type\":\"float\",\"strategy\":\"channel\"}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.type: expected \"int\", got \"float\""},
        {ONE("{\"num_bits\":8,\"strategy\":\"group\",\"group_size\":128}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.strategy: expected \"channel\", got"},
        {ONE("{\"num_bits\":8,\"strategy\":\"channel\",\"group_size\":128}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.group_size: expected null, got"},
        {ONE("{\"num_bits\":8,\"strategy\":\"channel\",\"symmetric\":false}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.symmetric: expected true, got"},
        {ONE("{\"num_bits\":8}", TOKENS), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.weights.strategy: expected \"channel\", got"},
        {INTEGERS("", "{\"f\":" GROUP(WEIGHTS, TOKENS) ",\"g\":" GROUP(WEIGHTS, "null") "}"), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.input_activations: expected an 8-bit"},
        {ONE("null", TOKENS), RF_EUNSUPPORTED, "quantization_config.config_groups.g.weights: expected an"},
        {ONE(WEIGHTS, "{\"num_bits\":8,\"strategy\":\"token\",\"dynamic\":false}"), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.input_activations.dynamic: expected true"},
        {ONE(WEIGHTS, "{\"num_bits\":8,\"strategy\":\"tensor\",\"dynamic\":true}"), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.input_activations.strategy: expected"},
        {ONE(WEIGHTS, "{\"num_bits\":8,\"strategy\":\"token\",\"dynamic\":true,\"symmetric\":false}"), RF_EUNSUPPORTED,
         "quantization_config.config_groups.g.input_activations.symmetric: expected"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        int is;
        rf_error why = {0};
        if (!read_config(bad[i].text, &is, &why)) fail_msg("accepted: %s", bad[i].text);
        t_failed(&why, bad[i].code, bad[i].part);
    }
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const float codes[] = {-128, 0, 127, 1, -1, 64};

/* a.weight [2,3] in int8, and the tensors in `more`. */
static rf_weights *file_of(const rf_weight_out *more, size_t n)
{
    char path[300];
    rf_weights *w;
    rf_weight_out out[4] = {{.name = "a.weight", .type = RF_I8, .rank = 2, .dim = {2, 3}, .data = codes}};
    rf_error why = {0};
    memcpy(out + 1, more, n * sizeof *more);
    snprintf(path, sizeof path, "%s/w.safetensors", t_folder());
    if (rf__weights_write(ctx, path, out, n + 1, NULL, &why) || rf_weights_open(ctx, path, &w, &why))
        fail_msg("%s", why.text);
    return w;
}

static void numbers_times_scales(void **state)
{
    (void)state;
    static const float scale[] = {0.5F, 3};
    static const float half_of[] = {0};
    const rf_type type[] = {RF_F32, RF_BF16, RF_F16};
    for (size_t i = 0; i < RF_COUNT(type); i++) {
        const rf_weight_out more[] = {
            {.name = "a.weight_scale", .type = type[i], .rank = 2, .dim = {2, 1}, .data = scale},
            {.name = "a.weight_zero_point", .type = RF_I8, .rank = 1, .dim = {1}, .data = half_of},
        };
        rf_weights *w = file_of(more, 2);
        const rf_weight *t = rf__weights_find(w, "a.weight");
        float x[6];
        int8_t q[6];
        rf_error why = {0};
        assert_int_equal(rf__quantized_check(ctx, w, t, true, &why), RF_OK);
        if (rf__weights_read(w, t, x, 1, &why)) fail_msg("%s", why.text);
        rf__weights_codes(t, q);
        for (int k = 0; k < 6; k++) {
            assert_int_equal(q[k], (int)codes[k]);
            assert_true(x[k] - codes[k] * scale[k / 3] == 0);
        }
        assert_ptr_equal(rf__quantized_owner(w, rf__weights_find(w, "a.weight_zero_point")), t);
        assert_null(rf__quantized_owner(w, t));
        rf_weights_close(w);
    }
}

static void scales_that_cannot_be(void **state)
{
    (void)state;
    static const float fine[] = {1, 1}, zero[] = {1, 0}, negative[] = {-1, 1}, point[] = {0, 3};
    static const rf_weight_out none = {.name = "b", .type = RF_F32, .rank = 1, .dim = {1}, .data = fine};
#define SCALE(t, r, d0, d1, at) {.name = "a.weight_scale", .type = t, .rank = r, .dim = {d0, d1}, .data = at}
    static const struct { rf_weight_out scale; rf_status code; const char *part; } bad[] = {
        {SCALE(RF_F32, 2, 1, 1, fine), RF_EDATA,
         "tensor \"a.weight_scale\": expected ... [2,1] in F32, BF16 or"},
        {SCALE(RF_F32, 2, 1, 2, fine), RF_EDATA,
         "tensor \"a.weight_scale\": expected ... [2,1] in F32, BF16 or"},
        {SCALE(RF_F32, 1, 2, 0, fine), RF_EDATA, "of rank 1 with 2 numbers"},
        {SCALE(RF_I8, 2, 2, 1, fine), RF_EDATA,
         "tensor \"a.weight_scale\": expected ... [2,1] in F32, BF16 or"},
        {SCALE(RF_F32, 2, 2, 1, zero), RF_EDATA, "a.weight_scale: scale of row 1: expected a positive number, got 0"},
        {SCALE(RF_F32, 2, 2, 1, negative), RF_EDATA,
         "a.weight_scale: scale of row 0: expected a positive number, got -1"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        rf_weights *w = file_of(&bad[i].scale, 1);
        assert_int_equal(rf__quantized_check(ctx, w, rf__weights_find(w, "a.weight"), true, &why), bad[i].code);
        t_failed(&why, bad[i].code, bad[i].part);
        rf_weights_close(w);
    }
    rf_error why = {0};
    rf_weights *w = file_of(&none, 1);
    rf__quantized_check(ctx, w, rf__weights_find(w, "a.weight"), true, &why);
    t_failed(&why, RF_EDATA, "tensor \"a.weight\" is in int8: expected \"a.weight_scale\"");
    why = (rf_error){0};
    rf__quantized_check(ctx, w, rf__weights_find(w, "a.weight"), false, &why);
    t_failed(&why, RF_EUNSUPPORTED, "expected quantization_config in config.json");
    rf_weights_close(w);
    const rf_weight_out more[] = {
        SCALE(RF_F32, 2, 2, 1, fine),
        {.name = "a.weight_zero_point", .type = RF_I8, .rank = 2, .dim = {2, 1}, .data = point},
    };
    w = file_of(more, 2);
    why = (rf_error){0};
    rf__quantized_check(ctx, w, rf__weights_find(w, "a.weight"), true, &why);
    t_failed(&why, RF_EUNSUPPORTED, "a.weight_zero_point: expected zeros, got others");
    rf_weights_close(w);
}

/* Numbers that are not integers of 8 bits are not written as such. */
static void numbers_that_are_not_whole(void **state)
{
    (void)state;
    static const float bad[] = {128, -129, 0.5F, NAN, INFINITY};
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        char path[300];
        const rf_weight_out out = {.name = "a", .type = RF_I8, .rank = 1, .dim = {1}, .data = &bad[i]};
        rf_error why = {0};
        snprintf(path, sizeof path, "%s/w.safetensors", t_folder());
        rf__weights_write(ctx, path, &out, 1, NULL, &why);
        t_failed(&why, RF_ENUMERIC, isfinite(bad[i]) ? "too large for I8" : "not finite");
    }
}

/* ---- the package's own ------------------------------------------------------------------------------------------- */

static float *numbers(FILE *f, int64_t n)
{
    float *x = t_floats(n);
    for (int64_t i = 0; i < n; i++)
        if (fscanf(f, "%f", &x[i]) != 1) fail_msg("products.txt is cut short");
    return x;
}

static float *tensor(const rf_weights *w, const char *name, const char *ending, rf_error *why)
{
    char whole[160];
    snprintf(whole, sizeof whole, "%s.%s", name, ending);
    const rf_weight *t = rf__weights_find(w, whole);
    float *x = t_floats((int64_t)t->count);
    if (rf__weights_read(w, t, x, 1, why)) fail_msg("%s", why->text);
    return x;
}

/* Scales of activations are 127 / 127.5 of ours, so that they are rounded differently: on average by an eighth of a
 * step of 1/127 of the largest, 0.0076 of the size of rows of 64 to 160 normal numbers. */
static void products_as_compressed_tensors_computes_them(void **state)
{
    (void)state;
    char name[96];
    int m, n, k;
    rf_weights *w;
    rf_error why = {0};
    FILE *f = fopen("tests/golden/models/int8/products.txt", "r");
    if (!f || rf_weights_open(ctx, "tests/golden/models/int8", &w, &why)) fail_msg("golden: %s", why.text);
    while (fgetc(f) != '\n') {}
    while (fscanf(f, "%95s %d %d %d", name, &m, &n, &k) == 4) {
        const float *x = numbers(f, m * k), *golden = numbers(f, m * n), *bias = tensor(w, name, "bias", &why),
                    *scale = tensor(w, name, "weight_scale", &why);
        char weight[112];
        snprintf(weight, sizeof weight, "%s.weight", name);
        float *y = t_floats(m * n);
        rf_packed *p;
        if (rf__pack_int8(ctx, RF_I8, n, k, rf__weights_find(w, weight)->data, scale, &p, &why) ||
            rf_packed_product(ctx, p, m, x, k, bias, RF_ACT_NONE, y, n, &why))
            fail_msg("%s", why.text);
        double off = 0, all = 0;
        for (int i = 0; i < m * n; i++) {
            off += pow((double)y[i] - (double)golden[i], 2);
            all += pow(golden[i], 2);
        }
        print_message("%s: %.1e of the size\n", name, sqrt(off / all));
        assert_true(sqrt(off / all) <= 1e-2);
        rf_packed_free(p);
    }
    rf_weights_close(w);
    fclose(f);
    t_check_fences();
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_that_are_read),
        cmocka_unit_test(schemes_that_are_not),
        cmocka_unit_test(numbers_times_scales),
        cmocka_unit_test(scales_that_cannot_be),
        cmocka_unit_test(numbers_that_are_not_whole),
        cmocka_unit_test(products_as_compressed_tensors_computes_them),
    };
    return cmocka_run_group_tests_name("store/quantized", tests, setup, teardown);
}
