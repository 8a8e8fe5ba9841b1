/* test_convert_int8.c — mirrors src/convert/convert_int8.c: a folder in int8 gives the bits of its source opened in
 * int8 and is converted unchanged, for activations in int8 or not; word embeddings that no head uses are in int8, too;
 * weights without a scale are rejected by name. */
#define _GNU_SOURCE
#include <math.h>
#include <unistd.h>

#include "kernel/gemm/products.h"
#include "one_context.h"
#include "roformer/inspect/folder.h"
#include "roformer/model.h"
#include "store/store.h"

static rf_status convert_as(const rf_ctx *c, const char *from, const char *to, int keep, rf_type type, rf_error *why)
{
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.keep_type = keep;
    o.type = type;
    o.overwrite = 1;
    return rf_convert(c, from, to, &o, why);
}

static const char *folder_of(const char *from, int keep, rf_type type)
{
    static char to[4][300];
    static int n;
    rf_error why = {0};
    char *at = to[n++ % 4];
    snprintf(at, sizeof *to, "%s/to", t_folder());
    if (convert_as(ctx, from, at, keep, type, &why)) fail_msg("%s: %s", from, why.text);
    return at;
}

/* The hidden states of some tokens in three texts. */
static float *hidden_of(const char *isa, const char *folder, rf_type type, size_t *bytes)
{
    rf_ctx *own = t_ctx(2, isa);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    const float *v;
    int32_t id[24], start[] = {0, 9, 10, 24};
    for (int i = 0; i < 24; i++) id[i] = (i * 7 + 3) % 30;
    if (rf_model_open_as(own, folder, type, &m, &why) || rf_session_open(m, &s, &why) ||
        rf_session_hidden(s, &(rf_batch){.N = 24, .B = 3, .id = id, .start = start}, &v, &why))
        fail_msg("%s: %s", folder, why.text);
    *bytes = (size_t)(24 * rf_model_config(m)->hidden_size) * sizeof *v;
    float *x = memcpy(t_floats(24 * rf_model_config(m)->hidden_size), v, *bytes);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(own);
    return x;
}

static void same_bits(void **state)
{
    (void)state;
    static const char *const models[] = {"models/plain", "models/projected", "models/bf16", "relative/deberta_model",
                                         "bert/masked"};
    static const char *const isa[] = {NULL, "ref"};
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        char from[128];
        snprintf(from, sizeof from, "tests/golden/%s", models[i]);
        if (access(from, F_OK)) fail_msg("%s is not there", from);
        const char *to = folder_of(from, 0, RF_I8);
        for (size_t j = 0; j < 2 * RF_COUNT(isa); j++) {
            size_t a, b;
            const rf_type type = j % 2 ? RF_I8W : RF_I8;
            const float *x = hidden_of(isa[j / 2], from, type, &a), *y = hidden_of(isa[j / 2], to, type, &b);
            assert_int_equal(a, b);
            if (memcmp(x, y, a)) fail_msg("%s: other bits", models[i]);
            t_free_all();
        }
    }
}

/* Tables of words in int8: the numbers q scale of rows that are scaled to their largest number; f32 has them. */
static void words_of_their_own(void **state)
{
    (void)state;
    static const char *const models[] = {"tests/golden/models/untied", "tests/golden/bert/sequence",
                                         "tests/golden/sentences/models/bert"};
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const char *to = folder_of(models[i], 0, RF_I8), *back = folder_of(to, 0, RF_F32);
        const char *name = i ? i > 1 ? "embeddings.word_embeddings.weight" : "bert.embeddings.word_embeddings.weight"
                             : "roformer.embeddings.word_embeddings.weight";
        rf_weights *a, *b, *c;
        rf_error why = {0};
        if (rf_weights_open(ctx, models[i], &a, &why) || rf_weights_open(ctx, to, &b, &why) ||
            rf_weights_open(ctx, back, &c, &why))
            fail_msg("%s", why.text);
        const rf_weight *t = rf__weights_find(a, name), *q = rf__weights_find(b, name), *f = rf__weights_find(c, name);
        assert_true(t && f && rf__quantized(q) && rf__quantized_scale(b, q));
        float *x = t_floats((int64_t)t->count), *y = t_floats((int64_t)t->count), *z = t_floats((int64_t)t->count);
        if (rf__weights_read(a, t, x, 1, &why) || rf__weights_read(b, q, y, 1, &why) ||
            rf__weights_read(c, f, z, 1, &why))
            fail_msg("%s", why.text);
        assert_memory_equal(y, z, t->count * sizeof *y);
        const size_t width = (size_t)t->dim[1];
        for (size_t k = 0; k < t->count; k++) {
            float most = 0;
            for (size_t p = k / width * width; p < (k / width + 1) * width; p++) most = fmaxf(most, fabsf(x[p]));
            assert_true(fabsf(x[k] - y[k]) <= most / 127 / 2 * 1.0001F);
        }
        rf_weights_close(a), rf_weights_close(b), rf_weights_close(c);
        size_t n, m;
        const float *u = hidden_of(NULL, to, RF_F32, &n), *v = hidden_of(NULL, back, RF_F32, &m);
        assert_int_equal(n, m);
        assert_memory_equal(u, v, n);
        t_free_all();
    }
}

/* A folder of another program, with its own scales, to the byte of each tensor; and back to f32. */
static void carry_on(const char *from, size_t matrices)
{
    const char *to = folder_of(from, 1, RF_F32), *f32 = folder_of(from, 0, RF_F32);
    rf_weights *a, *b, *c;
    rf_config config;
    size_t quantized = 0;
    rf_error why = {0};
    if (rf_weights_open(ctx, from, &a, &why) || rf_weights_open(ctx, to, &b, &why) ||
        rf_weights_open(ctx, f32, &c, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < rf_weights_count(b); i++) {
        const rf_weight *t = rf_weights_at(b, i), *s = rf__weights_find(a, t->name);
        const rf_weight *plain = rf__weights_find(c, t->name);
        assert_non_null(s);
        assert_int_equal(s->bytes, t->bytes);
        assert_string_equal(s->dtype, t->dtype);
        if (strcmp(t->name, "cls.predictions.bias") != 0)     /* untied, it is a copy of the decoder's */
            assert_memory_equal(s->data, t->data, s->bytes);
        if (!rf__quantized(t)) continue;
        float *x = t_floats((int64_t)t->count);
        quantized++;
        if (rf__weights_read(b, t, x, 1, &why)) fail_msg("%s", why.text);
        assert_string_equal(plain->dtype, "F32");
        assert_memory_equal(plain->data, x, plain->bytes);
    }
    assert_int_equal(quantized, matrices);
    assert_int_equal(rf_config_read(ctx, to, &config, &why), RF_OK);
    assert_int_equal(config.quantized, 1);
    assert_int_equal(rf_config_read(ctx, f32, &config, &why), RF_OK);
    assert_int_equal(config.quantized, 0);
    rf_weights_close(a), rf_weights_close(b), rf_weights_close(c);
    t_free_all();
}

static void carried_on(void **state)
{
    (void)state;
    carry_on("tests/golden/models/int8", 12);
    carry_on("tests/golden/models/int8_words", 13);
}

/* A folder whose quantization_config has no activations: the answers of int8w, and still none when it is converted. */
static void weights_alone(void **state)
{
    (void)state;
    char text[300];
    json_t *root, *q, *scheme;
    const char *from = folder_of("tests/golden/models/plain", 0, RF_I8), *name;
    size_t n, m;
    rf_error why = {0};
    rf_config config;
    const float *u = hidden_of(NULL, from, RF_I8W, &n);
    snprintf(text, sizeof text, "%s/config.json", from);
    assert_non_null(root = json_load_file(text, 0, NULL));
    assert_non_null(q = json_object_get(root, "quantization_config"));
    json_object_foreach(json_object_get(q, "config_groups"), name, scheme)
        assert_int_equal(json_object_set_new(scheme, "input_activations", json_null()), 0);
    assert_int_equal(json_dump_file(root, text, 0), 0);
    json_decref(root);
    const char *to = folder_of(from, 1, RF_F32);
    for (int i = 0; i < 2; i++) {
        const char *folder = i ? to : from;
        if (rf_config_read(ctx, folder, &config, &why)) fail_msg("%s", why.text);
        assert_int_equal(config.quantized, 2);
        const float *v = hidden_of(NULL, folder, RF_I8W, &m);
        assert_int_equal(n, m);
        assert_memory_equal(u, v, n);
    }
    if (rf_config_read(ctx, folder_of(from, 0, RF_I8), &config, &why)) fail_msg("%s", why.text);
    assert_int_equal(config.quantized, 1);                  /* as asked for */
    t_free_all();
}

static bool among(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_array_get(list, i)), name)) return true;
    return false;
}

/* Modules that a program which creates the model first must not quantize, by both names that a class may use. */
static void modules_that_are_left_alone(void **state)
{
    (void)state;
    char path[RF_CONFIG_PATH];
    json_t *root;
    rf_error why = {0};
    if (rf__config_root(ctx, folder_of("tests/golden/models/projected", 0, RF_I8), path, &root, &why))
        fail_msg("%s", why.text);
    const json_t *ignore = json_object_get(json_object_get(root, "quantization_config"), "ignore");
    static const char *const there[] = {
        "roformer.embeddings.word_embeddings", "roformer.embeddings_project",     "embeddings_project",
        "roformer.embeddings.LayerNorm",       "cls.predictions.transform.dense", "cls.predictions.decoder",
    };
    for (size_t i = 0; i < RF_COUNT(there); i++)
        if (!among(ignore, there[i])) fail_msg("%s is not ignored", there[i]);
    assert_false(among(ignore, "roformer.encoder.layer.0.intermediate.dense"));
    assert_false(among(ignore, "roformer.encoder.layer.2.attention.self.value"));
    json_decref(root);
}

/* ---- weights without a scale ------------------------------------------------------------------------------------- */

static void copy_config(const char *from, const char *to)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_read(ctx, from, &c, &why) || rf_config_write(ctx, to, &c, &why)) fail_msg("%s", why.text);
}

/* models/plain with one matrix whose numbers are all x, except the first, which is `first`. */
static const char *spoilt(float first, float x)
{
    static char folder[300];
    static const char name[] = "roformer.encoder.layer.1.intermediate.dense.weight";
    const char *from = "tests/golden/models/plain";
    rf_weight_out out[128];
    rf_weights *w;
    rf_error why = {0};
    char path[320];
    snprintf(folder, sizeof folder, "%s", t_folder());
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (rf_weights_open(ctx, from, &w, &why)) fail_msg("%s", why.text);
    const size_t n = rf_weights_count(w);
    float *changed = NULL;
    for (size_t i = 0; i < n; i++) {
        const rf_weight *t = rf_weights_at(w, i);
        float *to = t_floats((int64_t)t->count);
        memcpy(to, t->data, t->bytes);
        for (size_t k = 0; k < t->count && !strcmp(t->name, name); k++) to[k] = x, changed = to;
        out[i] = (rf_weight_out){.name = t->name, .type = RF_F32, .rank = t->rank, .data = to};
        for (int d = 0; d < t->rank; d++) out[i].dim[d] = t->dim[d];
    }
    changed[0] = isfinite(first) ? first : x;
    if (rf__weights_write(ctx, path, out, n, NULL, &why)) fail_msg("%s", why.text);
    rf_weights_close(w);
    copy_config(from, folder);
    return folder;
}

/* Replaces the value 1234.5 in a file of f32 by NaN. */
static void put_nan(const char *folder)
{
    char path[320];
    const float mark = 1234.5F, nan = NAN;
    float x;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *f = fopen(path, "r+b");
    if (!f) fail_msg("cannot open %s", path);
    while (fread(&x, sizeof x, 1, f) == 1)
        if (!memcmp(&x, &mark, sizeof x)) {
            fseek(f, -(long)sizeof x, SEEK_CUR);
            fwrite(&nan, sizeof nan, 1, f);
            break;
        }
    fclose(f);
}

static void without_a_scale(void **state)
{
    (void)state;
    static const struct { float first, x; const char *part; } bad[] = {
        {0, 0, "layer.1.intermediate.dense.weight\": int8 weights: expected ... 0"},
        {1e38F, 1, "layer.1.intermediate.dense.weight\": int8 weights: row 0: expected a largest"},
        {1234.5F, 1, "layer.1.intermediate.dense.weight\": element 0 of 2048: expected a finite number, got NaN"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        char to[400];
        rf_error why = {0};
        const char *from = spoilt(bad[i].first, bad[i].x);
        if (i == 2) put_nan(from);
        snprintf(to, sizeof to, "%s/to", from);
        convert_as(ctx, from, to, 0, RF_I8, &why);
        t_failed(&why, RF_ENUMERIC, bad[i].part);
        assert_int_not_equal(access(to, F_OK), 0);
        t_free_all();
    }
}

/* A row of zeros in a matrix with other rows gets a positive scale, and the same bits. */
static void a_row_of_zeros(void **state)
{
    (void)state;
    static const float w[] = {1, -2, 0.5F, 0, 0, 0}, x[] = {1, 2, 3};
    int8_t q[6];
    float scale[2], y[2], z[2];
    rf_packed *a, *b;
    rf_error why = {0};
    if (rf__quantize_int8(ctx, 2, 3, w, q, scale, &why) || rf_pack(ctx, RF_I8, 2, 3, w, &a, &why) ||
        rf__pack_int8(ctx, RF_I8, 2, 3, q, scale, &b, &why))
        fail_msg("%s", why.text);
    assert_true(scale[1] > 0);
    assert_int_equal(rf_packed_product(ctx, a, 1, x, 3, NULL, RF_ACT_NONE, y, 2, &why), RF_OK);
    assert_int_equal(rf_packed_product(ctx, b, 1, x, 3, NULL, RF_ACT_NONE, z, 2, &why), RF_OK);
    assert_memory_equal(y, z, sizeof y);
    rf_packed_free(a), rf_packed_free(b);
    assert_int_equal(rf__quantize_int8(ctx, 0, 3, w, q, scale, &why), RF_EARG);
}

static rf_status convert_both_ways(const rf_ctx *c, void *arg, rf_error *why)
{
    char to[300], again[300];
    const char *folder = arg;
    snprintf(to, sizeof to, "%s/to", folder);
    snprintf(again, sizeof again, "%s/again", folder);
    const rf_status status = convert_as(c, "tests/golden/models/one_head", to, 0, RF_I8, why);
    return status ? status : convert_as(c, to, again, 1, RF_F32, why);
}

static rf_status open_as_it_is(const rf_ctx *c, void *arg, rf_error *why)
{
    rf_model *m = NULL;
    (void)arg;
    const rf_status status = rf_model_open_as(c, "tests/golden/models/int8", RF_I8, &m, why);
    rf_model_close(m);
    return status;
}

static void memory_ends(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", t_folder());
    assert_int_equal(t_fail_allocations(1, NULL, convert_both_ways, folder), 0);
    assert_int_equal(t_fail_allocations(1, NULL, open_as_it_is, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(words_of_their_own),
        cmocka_unit_test(carried_on),
        cmocka_unit_test(weights_alone),
        cmocka_unit_test(modules_that_are_left_alone),
        cmocka_unit_test(without_a_scale),
        cmocka_unit_test(a_row_of_zeros),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("pipeline/convert_int8", tests, setup, teardown);
}
