/* test_config_attention.c — mirrors src/store/config/config_attention.c. */
#include "one_context.h"
#include "store/store.h"

static rf_config parsed(const char *json)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(ctx, json, strlen(json), "c", &c, &why)) fail_msg("%s: %s", json, why.text);
    return c;
}

static void layers_have_their_type(void **state)
{
    (void)state;
    rf_config c = parsed("{}");
    assert_false(rf__config_linear_attention(&c, -1));
    assert_string_equal(c.feature_map, "favor");
    assert_int_equal(c.rotation_order, RF_ROTATE_FEATURES);
    assert_true(c.num_random_features < 0 && c.feature_seed < 0 && c.feature_epsilon < 0);
    c = parsed("{\"attention_type\": \"linear\", \"feature_map\": \"elu\", \"rotation_order\": \"before\"}");
    assert_true(rf__config_linear_attention(&c, -1) && rf__config_linear_attention(&c, 11));
    assert_string_equal(c.feature_map, "elu");
    assert_int_equal(c.rotation_order, RF_ROTATE_BEFORE);
    c = parsed("{\"num_hidden_layers\": 3, \"attention_type\": [\"softmax\", \"linear\", \"softmax\"]}");
    assert_true(rf__config_linear_attention(&c, -1) && rf__config_linear_attention(&c, 1));
    assert_false(rf__config_linear_attention(&c, 0) || rf__config_linear_attention(&c, 2));
    c = parsed("{\"num_hidden_layers\": 1, \"attention_type\": [\"softmax\"]}");
    assert_false(rf__config_linear_attention(&c, -1));
}

/* What is written is read back; defaults are not written. */
static void comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"attention_type\": \"linear\", \"feature_map\": \"shen\", \"rotation_order\": \"none\"}",
        ("{\"num_hidden_layers\": 2, \"attention_type\": [\"linear\", \"softmax\"], \"num_random_features\": 200, "
         "\"feature_seed\": 123456789012345, \"feature_draw\": 3, \"feature_redraw_interval\": 1000, "
         "\"feature_epsilon\": 0.001}"),
        "{}",
    };
    const char *folder = t_folder();
    for (size_t i = 0; i < RF_COUNT(texts); i++) {
        const rf_config c = parsed(texts[i]);
        rf_config back;
        char *text;
        size_t size;
        char path[512];
        assert_int_equal(rf_config_write(ctx, folder, &c, NULL), RF_OK);
        assert_int_equal(rf_config_read(ctx, folder, &back, NULL), RF_OK);
        assert_memory_equal(&c, &back, sizeof c);
        snprintf(path, sizeof path, "%s/config.json", folder);
        assert_int_equal(rf__read_file(ctx, path, 1 << 20, &text, &size, NULL), RF_OK);
        assert_true(!strstr(text, "attention_type") == (i == 2));
        assert_true(!strstr(text, "feature_draw") == (i != 1));
        if (i == 2) assert_null(strstr(text, "feature"));
        rf__free(ctx, text);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct { const char *json, *part; } cases[] = {
        {"{\"attention_type\": 3}", "attention_type: expected a string, got an integer"},
        {"{\"attention_type\": \"linaer\"}", "attention_type: expected one of \"softmax\", \"linear\", got \"linaer\""},
        {"{\"attention_type\": [\"linear\"]}",
         "attention_type: expected 12 layers (num_hidden_layers), got a list of 1"},
        {"{\"num_hidden_layers\": 1, \"attention_type\": [7]}", "attention_type: expected a string, got an integer"},
        {"{\"feature_map\": \"gelu\"}", "feature_map: expected one of \"elu\", \"shen\", \"favor\""},
        {"{\"rotation_order\": \"after\"}", "expected one of \"eq19\", \"before\", \"none\", got \"after\""},
        {"{\"num_random_features\": 0}", "num_random_features: expected [1, 16777216], got 0"},
        {"{\"feature_seed\": -4}", "feature_seed: expected [0, 9.00719925474099e+15], got -4"},
        {"{\"feature_epsilon\": 2}", "feature_epsilon: expected [0, 1], got 2"},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_config c;
        rf_error why = {0};
        assert_int_not_equal(rf_config_parse(ctx, cases[i].json, strlen(cases[i].json), "c", &c, &why), RF_OK);
        t_failed(&why, RF_EDATA, cases[i].part);
    }
}

/* Progress of training does not change the model; everything else does. */
static void same_models(void **state)
{
    (void)state;
    const rf_config a = parsed("{\"attention_type\": \"linear\", \"feature_seed\": 4}");
    rf_config b = a;
    b.feature_draw = 17;
    assert_true(rf__config_same_positions(&a, &b));
    b = parsed("{\"attention_type\": \"linear\", \"feature_seed\": 5}");
    assert_false(rf__config_same_positions(&a, &b));
    b = parsed("{\"attention_type\": \"linear\", \"feature_seed\": 4, \"feature_map\": \"relu\"}");
    assert_false(rf__config_same_positions(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_their_type),
        cmocka_unit_test(comes_back),
        cmocka_unit_test(refusals),
        cmocka_unit_test(same_models),
    };
    return cmocka_run_group_tests_name("store/config_attention", tests, setup, teardown);
}
