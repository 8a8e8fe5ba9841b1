/* test_config_alias.c — mirrors config_alias.c: older names of keys are read, agree with the newer ones, and
 * are written with the current values.  NomicBERT has all kinds of them. */
#include <stdio.h>

#include "one_context.h"
#include "roformer/checkpoint.h"
#include "store/family.h"
#include "store/store.h"

#define OLD "\"model_type\": \"nomic_bert\", \"n_embd\": 64, \"n_layer\": 3, \"n_head\": 4, \"n_inner\": 96, " \
            "\"n_positions\": 8192, \"layer_norm_epsilon\": 1e-5, \"rotary_emb_base\": 500"

static rf_status parse(const char *json, rf_config *c, rf_error *why)
{
    *why = (rf_error){0};
    return rf_config_parse(ctx, json, strlen(json), "c", c, why);
}

static void refused(const char *json, rf_status code, const char *part)
{
    rf_config c;
    rf_error why;
    assert_int_equal(parse(json, &c, &why), code);
    t_failed(&why, code, part);
}

static void every_alias_stands_for_a_number(void **state)
{
    (void)state;
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        for (const rf_config_alias *a = (*f)->alias; a && a->name; a++) {
            const rf_config_key *k = rf__config_key_named(*f, a->key);
            if (!k || k->kind == RF_KEY_NONE || k->kind == RF_KEY_TRUTH) fail_msg("%s stands for %s", a->name, a->key);
            assert_null(rf__config_key_named(*f, a->name));
        }
}

static void older_names_are_read(void **state)
{
    (void)state;
    rf_config c;
    rf_error why;
    if (parse("{" OLD "}", &c, &why)) fail_msg("%s", why.text);
    assert_int_equal(c.hidden_size, 64);
    assert_int_equal(c.embedding_size, 64);
    assert_int_equal(c.num_hidden_layers, 3);
    assert_int_equal(c.num_attention_heads, 4);
    assert_int_equal(c.intermediate_size, 96);
    assert_int_equal(c.max_position_embeddings, 8192);
    assert_true(c.layer_norm_eps == 1e-5 && c.rope_theta == 500);
    if (parse("{\"model_type\": \"nomic_bert\", \"n_embd\": 64, \"hidden_size\": 64, \"n_head\": 4, "
              "\"rotary_emb_base\": 500, "
              "\"rope_parameters\": {\"rope_theta\": 500.0}, \"n_inner\": null, \"intermediate_size\": 80, "
              "\"n_positions\": 8192, \"max_position_embeddings\": 2048}", &c, &why))
        fail_msg("%s", why.text);
    assert_int_equal(c.intermediate_size, 80);
    assert_int_equal(c.max_position_embeddings, 2048);
}

static void two_names_that_disagree_are_refused(void **state)
{
    (void)state;
    refused("{" OLD ", \"hidden_size\": 32}", RF_EDATA, "c: n_embd: expected 32, as hidden_size says, got 64");
    refused("{" OLD ", \"layer_norm_eps\": 1e-12}", RF_EDATA, "layer_norm_epsilon: expected 1e-12");
    refused("{" OLD ", \"rope_parameters\": {\"rope_theta\": 1000.0}}", RF_EDATA,
            "rotary_emb_base: expected 1000, as rope_theta says, got 500");
    refused("{\"model_type\": \"nomic_bert\", \"n_embd\": \"wide\"}", RF_EDATA, "n_embd: expected an integer");
    refused("{\"model_type\": \"nomic_bert\", \"n_layer\": 0}", RF_EDATA, "n_layer: expected [1, 1024], got 0");
}

/* Those that a file had, and no others. */
static void older_names_are_written_with_new_numbers(void **state)
{
    (void)state;
    rf_config c, back;
    rf_error why;
    const char *folder = t_folder();
    if (parse("{" OLD "}", &c, &why)) fail_msg("%s", why.text);
    c.num_hidden_layers = 2;
    c.rope_theta = 700;
    json_t *more = json_pack("{s:i, s:f, s:i, s:s}", "n_layer", 3, "rotary_emb_base", 500.0, "n_positions", 8192,
                             "note", "kept");
    assert_int_equal(rf__config_write_with(ctx, folder, &c, more, &why), RF_OK);
    if (rf_config_read(ctx, folder, &back, &why)) fail_msg("%s", why.text);
    assert_int_equal(back.num_hidden_layers, 2);
    assert_true(back.rope_theta == 700);
    char path[RF_CONFIG_PATH];
    json_t *root;
    assert_int_equal(rf__config_root(ctx, folder, path, &root, &why), RF_OK);
    assert_int_equal(json_integer_value(json_object_get(root, "n_layer")), 2);
    assert_true(json_number_value(json_object_get(root, "rotary_emb_base")) == 700);
    assert_int_equal(json_integer_value(json_object_get(root, "n_positions")), 8192);
    assert_string_equal(json_string_value(json_object_get(root, "note")), "kept");
    assert_null(json_object_get(root, "n_embd"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alias_stands_for_a_number),
        cmocka_unit_test(older_names_are_read),
        cmocka_unit_test(two_names_that_disagree_are_refused),
        cmocka_unit_test(older_names_are_written_with_new_numbers),
    };
    return cmocka_run_group_tests_name("store/config_alias", tests, setup, teardown);
}
