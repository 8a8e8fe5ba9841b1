/* test_config.c — mirrors src/store/config/config.c, config_check.c and config_write.c. */
#include "roformer/checkpoint.h"
#include "kernel/acts.h"
#include "one_context.h"
#include "roformer/model.h"
#include "store/store.h"

static rf_config parsed(const char *json)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(ctx, json, strlen(json), "c", &c, &why)) fail_msg("%s: %s", json, why.text);
    return c;
}

static void refused(const char *json, rf_status code, const char *part)
{
    rf_config c;
    rf_error why = {0};
    if (!rf_config_parse(ctx, json, strlen(json), "c", &c, &why)) fail_msg("accepted: %s", json);
    t_failed(&why, code, part);
}

/* RoFormerConfig's own defaults, from its documentation. */
static void defaults(void **state)
{
    (void)state;
    const rf_config c = parsed("{}");
    assert_int_equal(c.vocab_size, 50000);
    assert_int_equal(c.embedding_size, 768);
    assert_int_equal(c.hidden_size, 768);
    assert_int_equal(c.num_hidden_layers, 12);
    assert_int_equal(c.num_attention_heads, 12);
    assert_int_equal(c.intermediate_size, 3072);
    assert_int_equal(c.max_position_embeddings, 1536);
    assert_int_equal(c.type_vocab_size, 2);
    assert_int_equal(c.pad_token_id, 0);
    assert_int_equal(c.hidden_act, RF_ACT_GELU);
    assert_true(c.hidden_dropout_prob == 0.1 && c.attention_probs_dropout_prob == 0.1);
    assert_true(c.initializer_range == 0.02 && c.layer_norm_eps == 1e-12 && c.rope_theta == 10000);
    assert_int_equal(c.rotary_value, 0);
    assert_int_equal(c.tie_word_embeddings, 1);
    assert_string_equal(c.architecture, "RoFormerForMaskedLM");
}

/* Counts of published checkpoints, from their weight files. */
static void parameters(void **state)
{
    (void)state;
    rf_config c = parsed("{}");
    assert_int_equal(rf_config_parameters(&c), 124099664);
    c = parsed("{\"vocab_size\":12000}");
    assert_int_equal(rf_config_parameters(&c), 94877664);
    c = parsed("{\"hidden_size\":384,\"num_hidden_layers\":6,\"num_attention_heads\":6,\"intermediate_size\":1536}");
    assert_int_equal(rf_config_parameters(&c), 30046928);
    c = parsed("{\"vocab_size\":12000,\"hidden_size\":384,\"num_hidden_layers\":6,\"num_attention_heads\":6,"
               "\"intermediate_size\":1536}");
    assert_int_equal(rf_config_parameters(&c), 15416928);
}

static void values(void **state)
{
    (void)state;
    rf_config c = parsed(
        "{\"embedding_size\":null,\"hidden_size\":64,\"num_attention_heads\":1,\"pad_token_id\":null,\"layer_norm_"
        "eps\":1,\"hidden_act\":\"gelu_pytorch_tanh\",\"rotary_value\":true,\"architectures\":[\"RoFormerModel\"],"
        "\"unheard_of\":{\"x\":[1]},\"model_type\":\"roformer\",\"norm_type\":\"layer_norm\",\"use_bias\":true,\"is_"
        "decoder\":false,\"add_cross_attention\":false,\"rope_scaling\":null,\"rope_theta\":1e6}");
    assert_int_equal(c.embedding_size, 64);
    assert_int_equal(c.pad_token_id, -1);
    assert_true(c.layer_norm_eps == 1 && c.rope_theta == 1e6);
    assert_int_equal(c.hidden_act, RF_ACT_GELU_TANH);
    assert_int_equal(c.rotary_value, 1);
    assert_string_equal(c.architecture, "RoFormerModel");
    assert_int_equal(rf_config_head(&c), RF_HEAD_MLM);
    static const struct { const char *json; rf_act act; } acts[] = {
        {"{\"hidden_act\":\"gelu\"}", RF_ACT_GELU}, {"{\"hidden_act\":\"gelu_new\"}", RF_ACT_GELU_TANH},
        {"{\"hidden_act\":\"relu\"}", RF_ACT_RELU}, {"{\"hidden_act\":\"silu\"}", RF_ACT_SILU},
        {"{\"hidden_act\":\"swish\"}", RF_ACT_SILU}, {"{\"hidden_act\":\"tanh\"}", RF_ACT_TANH},
        {"{\"hidden_act\":\"quick_gelu\"}", RF_ACT_QUICK_GELU}, {"{\"hidden_act\":\"mish\"}", RF_ACT_MISH},
    };
    for (size_t i = 0; i < RF_COUNT(acts); i++) assert_int_equal(parsed(acts[i].json).hidden_act, acts[i].act);
    for (int act = RF_ACT_NONE + 1; act < RF__ACTS; act++)               /* no name stands in two rows */
        for (const char *const *name = rf__act_row((rf_act)act)->name; *name; name++) {
            char json[64];
            snprintf(json, sizeof json, "{\"hidden_act\":\"%s\"}", *name);
            assert_int_equal(parsed(json).hidden_act, act);
        }
}

static void ranges(void **state)
{
    (void)state;
    refused("\xEF\xBB\xBF{\"vocab_size\":9}", RF_EDATA, "without a byte order mark, got EF BB BF");
    refused("{\"model_type\":\"bert\",\"max_position_embeddings\":1}", RF_EDATA,
            "max_position_embeddings: expected [2, 16777216], got 1");
    refused("{\"max_position_embeddings\":1}", RF_EDATA, "max_position_embeddings: expected [2, 16777216], got 1");
    refused("{\"vocab_size\":0}", RF_EDATA, "vocab_size: expected [1, 16777216], got 0");
    refused("{\"vocab_size\":-1}", RF_EDATA, "vocab_size: expected [1, 16777216], got -1");
    refused("{\"vocab_size\":2147483648}", RF_EDATA, "vocab_size: expected [1, 16777216], got 2147483648");
    refused("{\"hidden_size\":9223372036854775807}", RF_EDATA, "hidden_size: expected [");
    refused("{\"hidden_size\":9223372036854775808}", RF_EDATA,
            "`hidden_size`: expected a number that fits into 64 bits");
    refused("{\"num_hidden_layers\":0}", RF_EDATA, "num_hidden_layers: expected [1, 1024], got 0");
    refused("{\"num_attention_heads\":0}", RF_EDATA, "num_attention_heads: expected [1, 4096], got 0");
    refused("{\"num_attention_heads\":7}", RF_EDATA,
            "num_attention_heads: expected ... hidden_size, 768, got 7");
    refused("{\"hidden_size\":9,\"num_attention_heads\":3}", RF_EDATA,
            "hidden_size / num_attention_heads: expected an even number of columns per");
    refused("{\"layer_norm_eps\":0}", RF_EDATA, "layer_norm_eps: expected (0, 1], got 0");
    refused("{\"layer_norm_eps\":-1e-12}", RF_EDATA, "layer_norm_eps: expected (0, 1], got -1e-12");
    refused("{\"layer_norm_eps\":1e999}", RF_EDATA, "`layer_norm_eps`: expected a number that fits into 64 bits");
    refused("{\"hidden_dropout_prob\":1.0}", RF_EDATA, "hidden_dropout_prob: expected [0, 1), got 1");
    refused("{\"rope_theta\":0}", RF_EDATA, "rope_theta: expected (1, 1e+18], got 0");
    refused("{\"pad_token_id\":50000}", RF_EDATA, "pad_token_id: expected ... vocab_size, 50000, got 50000");
    refused("{\"vocab_size\":\"50000\"}", RF_EDATA, "vocab_size: expected an integer, got a string");
    refused("{\"vocab_size\":50000.0}", RF_EDATA, "vocab_size: expected an integer, got a fraction");
    refused("{\"vocab_size\":null}", RF_EDATA, "vocab_size: expected an integer, got null");
    refused("{\"rotary_value\":1}", RF_EDATA, "rotary_value: expected true or false, got an integer");
    refused("{\"layer_norm_eps\":true}", RF_EDATA, "layer_norm_eps: expected a number, got true");
    refused("{\"hidden_act\":3}", RF_EDATA, "hidden_act: expected a string, got an integer");
    refused("{\"architectures\":\"x\"}", RF_EDATA, "architectures: expected a list of strings, got a string");
    refused("{\"model_type\":\"roformer\",\"architectures\":"
            "[\"0123456789012345678901234567890123456789012345678901234567890123\"]}", RF_EDATA,
            "architectures[0]: expected at most 63 bytes, got 64");
    refused("{\"vocab_size\":5,\"vocab_size\":5}", RF_EDATA, "duplicate");
    refused("[]", RF_EDATA, "object, got a list of 0");
    refused("", RF_EDATA, "not valid JSON");
}

static void relatives(void **state)
{
    (void)state;
    refused("{\"model_type\":\"bloom\"}", RF_EUNSUPPORTED,
            "model_type: expected one of roformer, bert, ");
    refused("{\"model_type\":\"bloom\"}", RF_EUNSUPPORTED, " more, got \"bloom\"");
    refused("{\"model_type\":3}", RF_EDATA, "model_type: expected a string, got an integer");
    refused("{\"norm_type\":\"rms_norm\"}", RF_EUNSUPPORTED,
            "norm_type: expected ... got rms_norm");
    refused("{\"use_bias\":false}", RF_EUNSUPPORTED,
            "use_bias: expected ... got false");
    refused("{\"is_decoder\":\"yes\"}", RF_EDATA, "is_decoder: expected true or false, got a string");
    refused("{\"add_cross_attention\":true}", RF_EUNSUPPORTED, "add_cross_attention: expected false, got true");
    refused("{\"rope_scaling\":{\"type\":\"cubic\"}}", RF_EUNSUPPORTED,
            "rope_type: expected default, linear, ntk, dynamic, yarn, longrope or llama3");
    refused("{\"hidden_act\":\"laplace\"}", RF_EUNSUPPORTED,
            "hidden_act: expected one of \"gelu\", ");
    refused("{\"hidden_act\":\"laplace\"}", RF_EUNSUPPORTED, "\"quick_gelu\", \"mish\", got \"laplace\"");
}

static void round_trip(void **state)
{
    (void)state;
    const char *folder = t_folder();
    rf_error why = {0};
    const rf_act acts[] = {RF_ACT_GELU, RF_ACT_GELU_TANH, RF_ACT_RELU, RF_ACT_SILU, RF_ACT_TANH, RF_ACT_QUICK_GELU,
                           RF_ACT_MISH};
    for (int i = 0; i < 10; i++) {
        rf_config c, back;
        rf_config_defaults(&c);
        c.hidden_act = acts[i % 5];
        c.vocab_size = 1001 + i;
        c.hidden_size = 48;
        c.embedding_size = 17;
        c.num_attention_heads = 3;
        c.pad_token_id = i % 2 ? -1 : 7;
        c.rotary_value = i % 2;
        c.is_decoder = i % 3 == 1;
        c.rope_theta = i % 3 ? 10000 : 500000.5;
        c.layer_norm_eps = i ? 1.0 / (3 + i) * 1e-9 : 1e-12;       /* needs all 17 digits */
        c.hidden_dropout_prob = i / 10.0;
        snprintf(c.architecture, sizeof c.architecture, "RoFormer%d", i);
        if (rf_config_write(ctx, folder, &c, &why)) fail_msg("%s", why.text);
        if (rf_config_read(ctx, folder, &back, &why)) fail_msg("%s", why.text);
        assert_int_equal(back.hidden_act, c.hidden_act);
        assert_int_equal(back.vocab_size, c.vocab_size);
        assert_int_equal(back.hidden_size, c.hidden_size);
        assert_int_equal(back.embedding_size, c.embedding_size);
        assert_int_equal(back.pad_token_id, c.pad_token_id);
        assert_int_equal(back.rotary_value, c.rotary_value);
        assert_int_equal(back.is_decoder, c.is_decoder);
        assert_true(back.rope_theta == c.rope_theta && back.layer_norm_eps == c.layer_norm_eps);
        assert_true(back.hidden_dropout_prob == c.hidden_dropout_prob);
        assert_string_equal(back.architecture, c.architecture);
    }
    char path[512], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(rf__read_file(ctx, path, 1 << 20, &text, &size, NULL), RF_OK);
    assert_non_null(strstr(text, "\"attention_probs_dropout_prob\": 0.1,"));   /* as a person would write it */
    assert_non_null(strstr(text, "\"model_type\": \"roformer\""));
    rf__free(ctx, text);

    rf_config bad;
    rf_config_defaults(&bad);
    bad.layer_norm_eps = NAN;
    assert_int_equal(rf_config_write(ctx, folder, &bad, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "layer_norm_eps: expected");
    why = (rf_error){0};
    assert_int_equal(rf_config_read(ctx, "/nowhere", &bad, &why), RF_EIO);
    why = (rf_error){0};
    rf_config_defaults(&bad);
    assert_int_equal(rf_config_write(ctx, "/nowhere", &bad, &why), RF_EIO);
}

/* Configs in memory whose lists claim to be longer than their arrays, or whose texts are not terminated. */
static void arrays_are_not_left(void **state)
{
    (void)state;
    static const struct { size_t at; int64_t n; const char *part; } lists[] = {
        {offsetof(rf_config, rope_thetas), 65, "rope_theta_per_layer: expected 0 to 64 numbers, got 65"},
        {offsetof(rf_config, rope_thetas), -1, "rope_theta_per_layer: expected 0 to 64 numbers, got -1"},
        {offsetof(rf_config, rope_scaling.shorts), 257, "short_factor: expected 0 to 256 numbers, got 257"},
        {offsetof(rf_config, rope_scaling.longs), INT64_MAX,
         "long_factor: expected 0 to 256 numbers, got 9223372036854775807"},
        {offsetof(rf_config, rope_scaling.sections), 4, "mrope_section: expected 0 to 3 numbers, got 4"},
    };
#define TEXT(member) {offsetof(rf_config, member), sizeof((rf_config *)0)->member, #member ": expected a text of less"}
    static const struct { size_t at, size; const char *part; } texts[] = {
        TEXT(position_embedding_type), TEXT(architecture),     TEXT(problem_type),      TEXT(finetuning_task),
        TEXT(task_text_column),        TEXT(task_pair_column), TEXT(task_label_column),
    };
#undef TEXT
    for (size_t i = 0; i < RF_COUNT(lists) + RF_COUNT(texts); i++) {
        const bool list = i < RF_COUNT(lists);
        const char *part = list ? lists[i].part : texts[i - RF_COUNT(lists)].part;
        rf_config c;
        rf_config_defaults(&c);
        if (list) memcpy((char *)&c + lists[i].at, &lists[i].n, sizeof lists[i].n);
        else memset((char *)&c + texts[i - RF_COUNT(lists)].at, 'x', texts[i - RF_COUNT(lists)].size);
        rf_model *m = NULL;
        rf_error why[3] = {{0}};
        assert_int_equal(rf__config_check(&c, "config", &why[0]), RF_EARG);
        assert_int_equal(rf_config_write(ctx, t_folder(), &c, &why[1]), RF_EARG);
        assert_int_equal(rf_model_random(ctx, &c, 1, &m, &why[2]), RF_EARG);
        for (int j = 0; j < 3; j++) t_failed(&why[j], RF_EARG, part);
    }
}

static rf_status write_and_read(const rf_ctx *c, void *folder, rf_error *why)
{
    rf_config config;
    rf_config_defaults(&config);
    const rf_status status = rf_config_write(c, folder, &config, why);
    return status ? status : rf_config_read(c, folder, &config, why);
}

static void allocations_fail(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", t_folder());
    assert_int_equal(t_fail_allocations(1, NULL, write_and_read, folder), 0);
}

/* transformers 5 replaces rope_parameters, with its rope_theta, by rope_scaling (convert_rope_params_to_dict). */
static void rope_scaling_replaces_rope_parameters(void **state)
{
    (void)state;
#define PARAMETERS "\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":2.0,\"rope_theta\":500.0}"
    static const struct { const char *json; rf_rope_type type; double factor, theta; } made[] = {
        {"{" PARAMETERS ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0}}", RF_ROPE_LINEAR, 4, 10000},
        {"{" PARAMETERS ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":4.0,\"rope_theta\":70.0}}",
         RF_ROPE_LINEAR, 4, 70},
        {"{" PARAMETERS ",\"rope_scaling\":{\"rope_type\":\"default\"}}", RF_ROPE_DEFAULT, 0, 10000},
        {"{" PARAMETERS ",\"rope_scaling\":{}}", RF_ROPE_YARN, 2, 500},
        {"{" PARAMETERS ",\"rope_scaling\":null}", RF_ROPE_YARN, 2, 500},
    };
#undef PARAMETERS
    for (size_t i = 0; i < RF_COUNT(made); i++) {
        rf_config c;
        rf_error why = {0};
        if (rf_config_parse(ctx, made[i].json, strlen(made[i].json), "c", &c, &why)) fail_msg("%s", why.text);
        assert_int_equal(c.rope_scaling.rope_type, made[i].type);
        if (made[i].factor > 0) assert_true(c.rope_scaling.factor == made[i].factor);
        assert_true(c.rope_theta == made[i].theta);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rope_scaling_replaces_rope_parameters),
        cmocka_unit_test(defaults),   cmocka_unit_test(parameters), cmocka_unit_test(values),
        cmocka_unit_test(ranges),     cmocka_unit_test(relatives),  cmocka_unit_test(round_trip),
        cmocka_unit_test(allocations_fail), cmocka_unit_test(arrays_are_not_left),
    };
    return cmocka_run_group_tests_name("store/config", tests, setup, teardown);
}
