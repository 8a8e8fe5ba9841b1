/* test_generation.c — mirrors src/store/config/generation.c: values of generation_config.json, and rejected ones. */
#include "t.h"

#include "store/generation.h"

static rf_status read_as(const rf_ctx *ctx, const char *name, const char *json, rf__generation_config *x, rf_error *why)
{
    const char *folder = t_folder();
    t_write(folder, name, json, strlen(json));
    *x = (rf__generation_config){.num_beams = 1, .max_new_tokens = 256, .forced_bos = -1, .forced_eos = -1};
    return rf__generation_read(ctx, folder, 40, x, why);
}

/* As in opus-mt's folders, and in older ones in config.json. */
static const char opus[] =
    "{\"bad_words_ids\": [[40]], \"bos_token_id\": 0, \"decoder_start_token_id\": 40, \"eos_token_id\": 0,"
    " \"forced_eos_token_id\": 0, \"max_length\": 512, \"num_beams\": 6, \"pad_token_id\": 40,"
    " \"renormalize_logits\": true, \"length_penalty\": null, \"transformers_version\": \"4.32.0\"}";

static void what_a_file_says(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *const name[] = {"generation_config.json", "config.json"};
    for (int i = 0; i < 2; i++) {
        rf__generation_config x;
        rf_error why = {0};
        if (read_as(ctx, name[i], opus, &x, &why)) fail_msg("%s", why.text);
        assert_int_equal(x.why.code, RF_OK);
        assert_int_equal(x.num_beams, 6);
        assert_int_equal(x.max_new_tokens, 511);
        assert_int_equal(x.forced_bos, -1);
        assert_int_equal(x.forced_eos, 0);
        assert_int_equal(x.renormalize, 1);
        assert_int_equal(x.stops, 1);
        assert_int_equal(x.stop[0], 0);
        assert_int_equal(x.suppressed, 1);
        assert_int_equal(x.suppress[0], 40);
        rf__generation_clear(ctx, &x);
    }
    rf__generation_config x;
    rf_error why = {0};
    if (read_as(ctx, name[0], "{\"eos_token_id\": [3, 5], \"suppress_tokens\": [7, 9], \"bad_words_ids\": [[1]],"
                              " \"early_stopping\": \"never\", \"max_length\": 9, \"max_new_tokens\": 30,"
                              " \"length_penalty\": 0.6, \"forced_bos_token_id\": 8, \"do_sample\": true}", &x, &why))
        fail_msg("%s", why.text);
    assert_int_equal(x.stops, 2);
    assert_int_equal(x.stop[1], 5);
    assert_int_equal(x.suppressed, 3);
    assert_int_equal(x.suppress[2], 1);
    assert_int_equal(x.early, 2);
    assert_int_equal(x.max_new_tokens, 30);
    assert_int_equal(x.forced_bos, 8);
    assert_int_equal(x.do_sample, 1);
    t_near(x.length_penalty, 0.6, 0);
    rf__generation_clear(ctx, &x);
    rf_ctx_free(ctx);
}

/* transformers ignores settings of sampling without do_sample; -1 is no token. */
static void what_is_ignored(void **state)
{
    (void)state;
    static const char *const ends[] = {"-1", "[-1]", "[-1, 7]"};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int i = 0; i < 3; i++) {
        char json[300];
        rf__generation_config x;
        rf_error why = {0};
        snprintf(json, sizeof json, "{\"temperature\": 0.0, \"top_p\": 0.0, \"typical_p\": 2, \"min_p\": -1, "
                 "\"top_k\": -1, \"bos_token_id\": -1, \"eos_token_id\": %s}", ends[i]);
        if (read_as(ctx, "generation_config.json", json, &x, &why)) fail_msg("%s", why.text);
        assert_int_equal(x.why.code, RF_OK);
        assert_true(x.temperature == 0 && x.top_p == 0 && x.typical_p == 0 && x.min_p == 0 && !x.top_k);
        assert_int_equal(x.bos, -1);
        assert_int_equal(x.stops, i / 2);
        if (x.stops) assert_int_equal(x.stop[0], 7);
        rf__generation_clear(ctx, &x);
    }
    rf_ctx_free(ctx);
}

/* MarianConfig of transformers has forced_eos_token_id 0 where neither config.json nor generation_config.json says
 * another; the last word of a text that is cut is then </s>. */
static void the_class_forces_an_end(void **state)
{
    (void)state;
    static const struct { const char *name, *json; int64_t forced; bool kept; } row[] = {
        {"config.json", "{\"model_type\": \"marian\"}", 0, false},
        {"config.json", "{\"model_type\": \"marian\", \"num_beams\": 4}", 0, true},
        {"config.json", "{\"model_type\": \"marian\", \"forced_eos_token_id\": null, \"num_beams\": 4}", -1, true},
        {"config.json", "{\"model_type\": \"marian\", \"forced_eos_token_id\": 3}", 3, true},
        {"config.json", "{\"model_type\": \"transformer\", \"num_beams\": 4}", -1, true},
        {"generation_config.json", "{\"num_beams\": 4}", -1, true},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        rf__generation_config x;
        rf__kept_file kept = {0};
        rf_error why = {0};
        const char *folder = t_folder();
        t_write(folder, row[i].name, row[i].json, strlen(row[i].json));
        x = (rf__generation_config){.num_beams = 1, .max_new_tokens = 256, .forced_bos = -1, .forced_eos = -1};
        if (rf__generation_read(ctx, folder, 40, &x, &why) || rf__generation_keep(ctx, folder, &kept, &why))
            fail_msg("%s", why.text);
        assert_int_equal(x.forced_eos, row[i].forced);
        assert_true((kept.text != NULL) == row[i].kept);
        if (kept.text) assert_true((strstr(kept.text, "forced_eos_token_id") != NULL) == (row[i].forced >= 0));
        rf__generation_clear(ctx, &x);
        rf__free(ctx, kept.text);
    }
    rf_ctx_free(ctx);
}

/* An invalid file is rejected; one with unsupported settings is kept with the reason. */
static void what_is_refused(void **state)
{
    (void)state;
    static const struct { const char *json; rf_status code, later; const char *part; } bad[] = {
        {"{", RF_EDATA, RF_OK, "not valid JSON"},
        {"{\"num_beams\": 0}", RF_EDATA, RF_OK, "num_beams: expected 1 to 4096, got 0"},
        {"{\"num_beams\": \"4\"}", RF_EDATA, RF_OK, "num_beams"},
        {"{\"length_penalty\": true}", RF_EDATA, RF_OK, "length_penalty"},
        {"{\"early_stopping\": \"always\"}", RF_EDATA, RF_OK, "early_stopping"},
        {"{\"eos_token_id\": [-2]}", RF_EDATA, RF_OK, "eos_token_id"},
        {"{\"bad_words_ids\": [40]}", RF_EDATA, RF_OK, "bad_words_ids"},
        {"{\"bos_token_id\": -2}", RF_EDATA, RF_OK, "bos_token_id"},
        {"{\"do_sample\": true, \"temperature\": 0.0}", RF_EDATA, RF_OK, "temperature: expected 1e-06 to 1e+06, got 0"},
        {"{\"do_sample\": true, \"top_k\": -1}", RF_EDATA, RF_OK, "top_k"},
        {"{\"temperature\": \"cold\"}", RF_EDATA, RF_OK, "temperature"},
        {"{\"decoder_start_token_id\": 2}", RF_EDATA, RF_OK,
         "decoder_start_token_id: expected 40, as in config.json, got 2"},
        {"{\"bad_words_ids\": [[1, 2]]}", RF_OK, RF_EUNSUPPORTED,
         "bad_words_ids: expected ... got one of 2 tokens; remove it"},
        {"{\"num_beam_groups\": 2}", RF_OK, RF_EUNSUPPORTED, "num_beam_groups: expected 1, got 2"},
        {"{\"begin_suppress_tokens\": [1]}", RF_OK, RF_EUNSUPPORTED, "begin_suppress_tokens"},
        {"{\"min_length\": 0, \"num_beam_groups\": 1}", RF_OK, RF_OK, ""},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf__generation_config x;
        rf_error why = {0};
        const rf_status status = read_as(ctx, "generation_config.json", bad[i].json, &x, &why);
        assert_int_equal(status, bad[i].code);
        if (status) t_failed(&why, bad[i].code, bad[i].part);
        else if (bad[i].later) t_failed(&x.why, bad[i].later, bad[i].part);
        else assert_int_equal(x.why.code, RF_OK);
        rf__generation_clear(ctx, &x);
    }
    rf_ctx_free(ctx);
}

/* Each allocation fails once: a message, and nothing leaks. */
static void memory_ends(void **state)
{
    (void)state;
    for (long fail = 1;; fail++) {
        t_memory memory = {0};
        rf__generation_config x;
        rf_error why = {0};
        rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
        memory.fail = memory.calls + fail;
        const rf_status status = read_as(ctx, "generation_config.json", opus, &x, &why);
        assert_true(status == RF_OK || status == RF_ENOMEM);
        rf__generation_clear(ctx, &x);
        rf_ctx_free(ctx);
        assert_int_equal(memory.live, 0);
        if (!status) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_file_says),
        cmocka_unit_test(what_is_ignored),
        cmocka_unit_test(the_class_forces_an_end),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("store/generation", tests, NULL, NULL);
}
