/* test_nomic_bert.c — mirrors src/model/families/nomic_bert.c and nomic_bert_v2.c: values of config.json, with the keys
 * of transformers and of the published code; values that would need another model are rejected by name. */
#include "t.h"

#include "roformer/checkpoint.h"
#include "roformer/model.h"

/* The keys of the folder nomic-embed-text-v1.5 that describe the model. */
#define PUBLISHED \
    "\"model_type\": \"nomic_bert\", \"architectures\": [\"NomicBertModel\"], \"n_embd\": 768, \"n_head\": 12, " \
    "\"n_inner\": 3072, \"n_layer\": 12, \"layer_norm_epsilon\": 1e-12, \"max_trained_positions\": 2048, " \
    "\"rotary_emb_base\": 1000, \"type_vocab_size\": 2, \"vocab_size\": 30528"
#define USUAL \
    ", \"n_positions\": 8192, \"activation_function\": \"swiglu\", \"rotary_scaling_factor\": null, " \
    "\"prenorm\": false, \"causal\": false, \"qkv_proj_bias\": false, \"mlp_fc1_bias\": false, \"mlp_fc2_bias\": " \
    "false, \"use_rms_norm\": false, \"rotary_emb_fraction\": 1.0, \"rotary_emb_interleaved\": false"

static rf_config read(const char *json)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(t_shared(), json, strlen(json), "c", &c, &why)) fail_msg("%s", why.text);
    return c;
}

static void refused(const char *more, rf_status code, const char *part)
{
    rf_config c;
    rf_error why = {0};
    char json[2048];
    snprintf(json, sizeof json, "{" PUBLISHED ", %s}", more);
    assert_int_equal(rf_config_parse(t_shared(), json, strlen(json), "c", &c, &why), code);
    t_failed(&why, code, part);
}

static void published_and_new_keys_say_the_same(void **state)
{
    (void)state;
    const rf_config old = read("{" PUBLISHED USUAL "}"), now = read("{\"model_type\": \"nomic_bert\", \"architectures\""
                               ": [\"NomicBertModel\"], \"max_position_embeddings\": 8192, \"head_dim\": 64}");
    assert_memory_equal(&old, &now, sizeof old);
    assert_int_equal(now.hidden_act, RF_ACT_SILU);
    assert_true(now.rope_theta == 1000 && !now.rope_interleave && now.hidden_dropout_prob == 0);
    assert_int_equal(rf_config_parameters(&now), 136731648 + 768 * 768 + 768 * 3 + 30528);      /* with a head        */
}

static void longer_texts_stretch_positions(void **state)
{
    (void)state;
    const rf_config old = read("{" PUBLISHED ", \"n_positions\": 8192, \"rotary_scaling_factor\": 2}");
    assert_int_equal(old.rope_scaling.rope_type, RF_ROPE_DYNAMIC);
    assert_true(old.rope_scaling.factor == 2);
    assert_int_equal(old.max_position_embeddings, 2048);
    const rf_config now = read("{" PUBLISHED ", \"rope_parameters\": {\"rope_type\": \"dynamic\", \"factor\": 2.0, "
                               "\"rope_theta\": 1000.0}}");
    assert_memory_equal(&old, &now, sizeof old);
    refused("\"rotary_scaling_factor\": 4, \"rope_parameters\": {\"rope_type\": \"dynamic\", \"factor\": 2.0}",
            RF_EDATA, "rotary_scaling_factor: expected what rope_parameters say, dynamic with factor 2, got 4");
    refused("\"rotary_scaling_factor\": 2, \"max_position_embeddings\": 512", RF_EDATA,
            "max_trained_positions: expected what max_position_embeddings says, 512, got 2048");
    refused("\"rotary_scaling_factor\": \"2\"", RF_EDATA, "rotary_scaling_factor: expected a number, got a string");
}

static void other_models_are_refused_by_name(void **state)
{
    (void)state;
    static const struct { const char *json, *part; } rows[] = {
        {"\"prenorm\": true", "c: prenorm: expected false, got true"},
        {"\"use_rms_norm\": true", "use_rms_norm: expected false"},
        {"\"mlp_fc2_bias\": true", "mlp_fc2_bias: expected false"},
        {"\"causal\": true", "causal: expected false"},
        {"\"rotary_emb_fraction\": 0.0", "rotary_emb_fraction: expected 1, got 0.0"},
        {"\"rotary_emb_interleaved\": true", "rotary_emb_interleaved: expected false"},
        {"\"rotary_emb_scale_base\": 512", "rotary_emb_scale_base: expected null"},
        {"\"moe_every_n_layers\": 2", "moe_every_n_layers: expected 0, got 2"},
        {"\"num_experts\": 8", "num_experts: expected 0, got 8"},
        {"\"activation_function\": \"gelu\"", "activation_function: expected swiglu or geglu, got \"gelu\""},
        {"\"head_dim\": 32", "head_dim: expected hidden_size / num_attention_heads, 768 / 12, got 32"},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) refused(rows[i].json, RF_EUNSUPPORTED, rows[i].part);
    refused("\"activation_function\": \"geglu\", \"hidden_act\": \"silu\"", RF_EDATA,
            "activation_function: expected what hidden_act says, \"silu\", got \"geglu\"");
    refused("\"tie_word_embeddings\": false", RF_EDATA, "tie_word_embeddings: expected true, got false");
    refused("\"rope_interleave\": true", RF_EDATA, "rope_interleave: expected false, got true");
}

/* The config.json of nomic-embed-text-v2-moe; the model has 475,292,928 numbers. */
#define MIXTURE \
    "\"model_type\": \"nomic_bert\", \"architectures\": [\"NomicBertModel\"], " \
    "\"n_embd\": 768, \"n_head\": 12, \"n_inner\": 3072, \"n_layer\": 12, \"n_positions\": 2048, " \
    "\"layer_norm_epsilon\": 1e-05, \"rotary_emb_base\": 10000, \"type_vocab_size\": 1, \"vocab_size\": 250048, " \
    "\"pad_token_id\": 1, \"qkv_proj_bias\": true, \"mlp_fc2_bias\": true, " \
    "\"resid_pdrop\": 0.0, \"attn_pdrop\": 0.0, \"use_rms_norm\": null"
#define EVERY ", \"moe_every_n_layers\": 2"
#define EXPERTS EVERY ", \"num_experts\": 8, \"moe_top_k\": 2"

static void a_mixture_has_its_size(void **state)
{
    (void)state;
    const rf_config c = read("{" MIXTURE EXPERTS ", \"mlp_fc1_bias\": true, \"activation_function\": \"gelu\"}");
    const rf_config dense = read("{" MIXTURE "}");
    const int64_t head = 768 * 768 + 768 * 3 + 250048;
    assert_string_equal(c.family, "nomic_bert_v2");
    assert_string_equal(dense.family, "nomic_bert_v2");
    assert_int_equal(rf_config_parameters(&c), 475292928 + head);
    assert_int_equal(rf_config_parameters(&c) - rf_config_parameters(&dense),
                     6 * (7 * 2 * 3072 * 768 + 8 * 768 - 3072));
    assert_true(c.rope_theta == 10000 && c.layer_norm_eps == 1e-5 && c.hidden_dropout_prob == 0);
    assert_int_equal(c.max_position_embeddings, 2048);
}

static void other_mixtures_are_refused_by_name(void **state)
{
    (void)state;
    static const struct { const char *json; rf_status code; const char *part; } rows[] = {
        {"\"num_shared_experts\": 1", RF_EUNSUPPORTED, "num_shared_experts: expected 0, got 1"},
        {"\"expert_choice_router\": true", RF_EUNSUPPORTED, "expert_choice_router: expected false, got true"},
        {"\"moe_normalize_expert_weights\": true", RF_EUNSUPPORTED, "moe_normalize_expert_weights: expected false"},
        {"\"ffn_div\": 2", RF_EUNSUPPORTED, "ffn_div: expected 1, got 2"},
        {"\"mlp_fc1_bias\": false", RF_EUNSUPPORTED, "mlp_fc1_bias: expected true, got false"},
        {"\"activation_function\": \"silu\"", RF_EUNSUPPORTED, "activation_function: expected gelu"},
        {"\"rotary_scaling_factor\": 2", RF_EUNSUPPORTED, "rotary_scaling_factor: expected null, got 2"},
        {"\"num_experts\": 8, \"moe_top_k\": 9", RF_EDATA, "moe_top_k: expected 1 to num_experts, 8"},
        {"\"num_experts\": 8, \"moe_top_k\": 0", RF_EDATA, "moe_top_k: expected 1 to num_experts, 8"},
        {"\"num_experts\": -1", RF_EDATA, "num_experts: expected [0, 1024], got -1"},
    };
    for (size_t i = 0; i < RF_COUNT(rows); i++) {
        rf_config c;
        rf_error why = {0};
        char json[2048];
        const bool own = strstr(rows[i].json, "\"num_experts\"") != NULL;
        snprintf(json, sizeof json, own ? "{" MIXTURE EVERY ", %s}" : "{" MIXTURE EXPERTS ", %s}", rows[i].json);
        assert_int_equal(rf_config_parse(t_shared(), json, strlen(json), "c", &c, &why), rows[i].code);
        t_failed(&why, rows[i].code, rows[i].part);
    }
    rf_config bert;
    rf_error why = {0};
    assert_false(rf_config_defaults_of("bert", &bert, &why));
    bert.moe_every_n_layers = 2;
    rf_model *model = NULL;
    assert_int_equal(rf_model_random(t_shared(), &bert, 1, &model, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "moe_every_n_layers: expected 0 for a BERT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_and_new_keys_say_the_same),
        cmocka_unit_test(longer_texts_stretch_positions),
        cmocka_unit_test(other_models_are_refused_by_name),
        cmocka_unit_test(a_mixture_has_its_size),
        cmocka_unit_test(other_mixtures_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("model/nomic_bert", tests, NULL, NULL);
}
