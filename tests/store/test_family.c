/* test_family.c — mirrors src/store/config/family.c: the family of a config.json, and the keys that are written. */
#include "store/store.h"
#include "t.h"

#include "roformer/checkpoint.h"
#include "store/family.h"

static rf_config parse(const char *json)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(t_shared(), json, strlen(json), "c", &c, &why)) fail_msg("%s", why.text);
    return c;
}

static void refused(const char *json, rf_status code, const char *part)
{
    rf_config c;
    rf_error why = {0};
    assert_int_equal(rf_config_parse(t_shared(), json, strlen(json), "c", &c, &why), code);
    t_failed(&why, code, part);
}

/* Every row, by its defaults in memory and as written; every class selects its head and vice versa. */
static void every_row_comes_back(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        rf_config c, back;
        rf_error why = {0};
        const char *folder = t_folder();
        assert_int_equal(rf_config_defaults_of((*f)->name, &c, &why), RF_OK);
        assert_ptr_equal(rf__config_family(&c), *f);
        assert_string_equal(c.position_embedding_type, (*f)->position);
        const int always = c.is_decoder;
        for (const rf_class_row *is = (*f)->class; is->name; is++) {
            c.is_decoder = always || is->causal;
            snprintf(c.architecture, sizeof c.architecture, "%s", is->name);
            assert_int_equal(rf_config_head(&c), is->head);
            if (rf_config_write(ctx, folder, &c, &why) || rf_config_read(ctx, folder, &back, &why))
                fail_msg("%s", why.text);
            assert_string_equal(back.family, (*f)->name);
            assert_string_equal(back.architecture, is->name);
            rf_config_set_head(&c, is->head);
            assert_int_equal(rf__config_class(&c)->head, is->head);
            assert_int_equal(rf__config_class(&c)->causal, is->causal);
            assert_int_equal(rf__config_nearest_head(&c, is->head), is->head);
        }
    }
    rf_ctx_free(ctx);
    t_free_all();
}

static void silence_is_a_roformer(void **state)
{
    (void)state;
    rf_config c = parse("{}"), other;
    rf_error why = {0}, alien = {0};
    assert_string_equal(c.family, "roformer");
    static const char *const classes[][2] = {
        {"RoFormerModel", "roformer"}, {"RoFormerForNothing", "roformer"}, {"BertModel", "bert"},
        {"BertForNextSentencePrediction", "bert"}, {"BertForMaskedLM", "bert"}, {"RobertaModel", "roberta"},
        {"XLMRobertaForNothing", "xlm_roberta"}, {"MPNetModel", "mpnet"}, {"NewForNothing", "gte"},
        {"DistilBertModel", "distilbert"}, {"ElectraForPreTraining", "electra"}, {"AlbertForNothing", "albert"},
    };
    for (size_t i = 0; i < RF_COUNT(classes); i++) {                    /* a class without a row, by its beginning    */
        char text[80];
        snprintf(text, sizeof text, "{\"architectures\":[\"%s\"]}", classes[i][0]);
        assert_string_equal(parse(text).family, classes[i][1]);
    }
    refused("{\"architectures\":[\"SomethingElse\"]}", RF_EUNSUPPORTED,
            "architectures: expected ... no model_type, got \"SomethingElse\"");
    refused("{\"architectures\":[\"MobileBertModel\"]}", RF_EUNSUPPORTED, "got \"MobileBertModel\"");
    assert_int_equal(rf_config_defaults_of("gpt", &other, &why), RF_EARG);
    t_failed(&why, RF_EARG, "family: expected one of roformer, bert, ");
    t_failed(&why, RF_EARG, " more, got \"gpt\"");
    other = c;
    assert_true(rf_config_parameters(&other) > 0);
    other.is_encoder_decoder = 1;
    assert_int_equal(rf__config_check(&other, "c", NULL), RF_EUNSUPPORTED);
    assert_int_equal(rf_config_parameters(&other), 0);
    other = c, other.attention_type = (rf_attention_type)9;
    assert_int_equal(rf__config_check(&other, "c", NULL), RF_EDATA);
    other = c, other.local_attention = 64;
    assert_int_equal(rf__config_check(&other, "c", &alien), RF_EUNSUPPORTED);
    t_failed(&alien, RF_EUNSUPPORTED, "c: local_attention: expected 0 for a RoFormer, got another number");
    other = c, other.token_dropout = 1;
    assert_int_equal(rf__config_check(&other, "c", NULL), RF_EUNSUPPORTED);
    other = c, other.num_labels = -1;
    assert_int_equal(rf__config_check(&other, "c", NULL), RF_EDATA);
    other = c, other.num_attention_heads = 0;
    assert_int_equal(rf_config_parameters(&other), 0);
    snprintf(c.family, sizeof c.family, "gpt");
    assert_int_equal(rf__config_check(&c, "c", NULL), RF_EARG);
    memset(c.family, 'x', sizeof c.family);
    rf_error again = {0};
    assert_int_equal(rf__config_check(&c, "c", &again), RF_EARG);
    t_failed(&again, RF_EARG, "family: expected ... 32 bytes, got one without an end");
}

static void strangers_are_named(void **state)
{
    (void)state;
    refused("{\"model_type\":\"bloom\"}", RF_EUNSUPPORTED,
            "model_type: expected one of roformer, bert, ");
    refused("{\"model_type\":\"bloom\"}", RF_EUNSUPPORTED, " more, got \"bloom\"");
    refused("{\"model_type\":[]}", RF_EDATA, "model_type: expected a string, got a list");
    refused("{\"norm_type\":\"batch_norm\"}", RF_EUNSUPPORTED,
            "norm_type: expected ... got batch_norm");
    refused("{\"norm_type\":1}", RF_EDATA, "norm_type: expected a string, got an integer");
    refused("{\"use_bias\":\"no\"}", RF_EDATA, "use_bias: expected true or false, got a string");
    refused("{\"use_bias\":false}", RF_EUNSUPPORTED,
            "use_bias: expected ... got false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_back),
        cmocka_unit_test(silence_is_a_roformer),
        cmocka_unit_test(strangers_are_named),
    };
    return cmocka_run_group_tests_name("store/family", tests, NULL, NULL);
}
