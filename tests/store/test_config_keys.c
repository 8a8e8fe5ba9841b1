/* test_config_keys.c — mirrors src/store/config/config_keys.c, src/base/files/folder_keys.c: a misspelled key in the
 * config.json of a new model is reported. */
#include <stdio.h>

#include "one_context.h"
#include "families.h"
#include "roformer/checkpoint.h"

static const char *written(const char *json)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/new.json", t_folder());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(json, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void slips_are_refused_with_what_was_meant(void **state)
{
    (void)state;
    static const struct { const char *json, *said; } slips[] = {
        {"{\"attention_typo\": \"linear\"}", "no key is called attention_typo; did you mean attention_type?"},
        {"{\"n_layer\": 3}", "no key is called n_layer; did you mean num_hidden_layers?"},
        {"{\"hidden_sise\": 64}", "did you mean hidden_size?"},
        {"{\"num_hidden_layer\": 3}", "did you mean num_hidden_layers?"},
        {"{\"position_embeding_type\": \"alibi\"}", "did you mean position_embedding_type?"},
        {"{\"rope_tetha\": 500}", "did you mean rope_theta?"},
        {"{\"model_type\": \"transformer\", \"encoder_layer\": 3}", "did you mean encoder_layers?"},
        {"{\"feature_map\": \"elu\"}", "feature_map: expected \"attention_type\": \"linear\""},
        {"{\"num_random_features\": 64}", "num_random_features: expected \"attention_type\""},
        {"{\"hidden_size\": 63}", "num_attention_heads: expected a divisor of hidden_size, 63, got 12"},
    };
    for (size_t i = 0; i < RF_COUNT(slips); i++) {
        char strange[64];
        rf_config c;
        rf_error why = {0};
        const char *path = written(slips[i].json);
        assert_int_equal(rf_config_read_new(ctx, path, &c, strange, sizeof strange, &why), RF_EDATA);
        if (!strstr(why.text, slips[i].said) || !strstr(why.text, "new.json")) fail_msg("%s", why.text);
    }
}

/* Keys of published Marian folders that have no effect are no slips. */
static void keys_of_published_folders_are_known(void **state)
{
    (void)state;
    static const char json[] =
        "{\"model_type\": \"marian\", \"classif_dropout\": 0.0, \"add_bias_logits\": false,"
        " \"extra_pos_embeddings\": 100, \"static_position_embeddings\": true, \"normalize_before\": false,"
        " \"normalize_embedding\": false,"
        " \"add_final_layer_norm\": false, \"decoder_layerdrop\": 0.0, \"max_length\": 512, \"_num_labels\": 3}";
    char text[256] = "";
    rf_error why = {0};
    const char *folder = t_folder();
    t_write(folder, "config.json", json, sizeof json - 1);
    if (rf_config_unknown_keys(ctx, folder, text, sizeof text, &why)) fail_msg("%s", why.text);
    assert_string_equal(text, "");
}

static void what_means_nothing_is_listed(void **state)
{
    (void)state;
    char strange[64];
    rf_config c;
    rf_error why = {0};
    const char *path = written("{\"hidden_size\": 64, \"num_attention_heads\": 4, \"embedding_size\": 64, "
                               "\"pooler_fc\": 1, \"directionality\": \"bidi\", \"transformers_version\": \"5\", "
                               "\"_comment\": \"none\"}");
    assert_int_equal(rf_config_read_new(ctx, path, &c, strange, sizeof strange, &why), RF_OK);
    assert_string_equal(strange, "pooler_fc, directionality");
    assert_int_equal(c.hidden_size, 64);
    char five[6];
    assert_int_equal(rf_config_read_new(ctx, path, &c, five, sizeof five, &why), RF_OK);
    assert_string_equal(five, "poole");
    path = written("{\"attention_type\": \"softmax\", \"feature_map\": \"elu\"}");
    assert_int_equal(rf_config_read_new(ctx, path, &c, strange, sizeof strange, &why), RF_OK);
    assert_string_equal(strange, "");
}

/* Folders written by transformers, other libraries and this one have no key that looks misspelled. */
static void what_is_published_is_no_slip(void **state)
{
    (void)state;
    static const char *const own[] = {"tests/golden/models/plain",  "tests/golden/models/causal",
                                      "tests/golden/heads/choice",  "tests/golden/heads/span",
                                      "tests/golden/relative/deberta_log_model", "tests/golden/relative/mpt_model"};
    t_goldens all = t_family_goldens(NULL);
    for (size_t i = 0; i < RF_COUNT(own); i++, all.n++)
        snprintf(all.folder[all.n], sizeof all.folder[0], "%s", own[i]);
    for (int i = 0; i < all.n; i++) {
        char strange[256];
        rf_config c, same;
        rf_error why = {0};
        if (rf_config_read_new(ctx, all.folder[i], &c, strange, sizeof strange, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_config_read(ctx, all.folder[i], &same, &why), RF_OK);
        assert_memory_equal(&c, &same, sizeof c);
    }
}

static void what_we_write_we_know(void **state)
{
    (void)state;
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        const char *folder = t_folder();
        char strange[256];
        rf_config c;
        rf_error why = {0};
        assert_int_equal(rf_config_defaults_of((*f)->name, &c, &why), RF_OK);
        assert_int_equal(rf_config_write(ctx, folder, &c, &why), RF_OK);
        if (rf_config_read_new(ctx, folder, &c, strange, sizeof strange, &why)) fail_msg("%s", why.text);
        assert_string_equal(strange, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_refused_with_what_was_meant),
        cmocka_unit_test(keys_of_published_folders_are_known),
        cmocka_unit_test(what_means_nothing_is_listed),
        cmocka_unit_test(what_is_published_is_no_slip),
        cmocka_unit_test(what_we_write_we_know),
    };
    return cmocka_run_group_tests_name("store/config_keys", tests, setup, teardown);
}
