/* test_config_caller.c — mirrors src/store/config_caller.c: configs of programs with this header and with older ones,
 * and the ownership of their lists. */
#include "t.h"

#include "roformer/model.h"
#include "store/store.h"

static const char stretched[] =
    "{\"hidden_size\":16,\"num_attention_heads\":2,\"num_hidden_layers\":2,\"embedding_size\":16,\"vocab_size\":11,"
    "\"intermediate_size\":8,\"rope_theta_per_layer\":[10000,50.5],\"rope_scaling\":{\"rope_type\":\"longrope\","
    "\"factor\":2,\"original_max_position_embeddings\":8,\"short_factor\":[1,1.25,2,3],\"long_factor\":[1,2,4,8]}}";

static rf_config parsed(const rf_ctx *ctx)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_parse(ctx, stretched, sizeof stretched - 1, "config.json", &c, &why)) fail_msg("%s", why.text);
    return c;
}

/* Two thirds of it were lists that few models have; 112 bytes belong to decoders, 40 to ESM-2 and ModernBERT, 8 to
 * GAU-alpha, 32 to Qwen3 and Gemma 3, 24 to causal rerankers,
 * 16 to the frequencies of ESM-2 and to kinds of layers, 16 to ERNIE, 8 to ELECTRA, 8 to ALBERT, 8 to T5;
 * 64 to the families after it. */
static void it_is_small(void **state)
{
    (void)state;
    assert_true(sizeof(rf_config) <= 1664 + 8 + 8 + 8 + 64);                             /* of 5,600 */
}

static void copies_outlive_what_they_were_made_of(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    rf_config copy, lent;
    {
        rf_config first = parsed(ctx);
        copy = first;
        memset(&first, 0xA5, sizeof first);
    }
    const long live = memory.live;
    for (int i = 0; i < 20; i++) lent = parsed(ctx); /* equal lists are there once */
    assert_int_equal(memory.live, live);
    assert_ptr_equal(lent.rope_scaling.long_factor, copy.rope_scaling.long_factor);
    t_near(copy.rope_scaling.short_factor[1], 1.25, 0);
    t_near(copy.rope_theta_per_layer[1], 50.5, 0);
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

/* The lists of a program are only read during the call. */
static void a_model_keeps_lists_of_its_own(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c = parsed(ctx);
    double longs[4], bases[2] = {300, 400};
    memcpy(longs, c.rope_scaling.long_factor, sizeof longs);
    c.rope_scaling.long_factor = longs;
    c.rope_theta_per_layer = bases;
    rf_model *m;
    rf_error why = {0};
    if (rf_model_random(ctx, &c, 1, &m, &why)) fail_msg("%s", why.text);
    memset(longs, 0, sizeof longs);
    memset(bases, 0, sizeof bases);
    t_near(rf_model_config(m)->rope_scaling.long_factor[3], 8, 0);
    t_near(rf_model_config(m)->rope_theta_per_layer[1], 400, 0);
    rf_model_close(m);
    rf_ctx_free(ctx);
}

/* A program with a header whose struct ended `less` bytes earlier has this much of it, followed by a fence. */
static void an_older_header_has_less(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    unsigned char theirs[sizeof(rf_config) + 8];
    rf_config *c = (rf_config *)(void *)theirs;
    const size_t older = RF_SIZE_TO(rf_config, summary);
    memset(theirs, 0xA5, sizeof theirs);
    assert_int_equal(rf_config_read_sized(ctx, "tests/golden/bert/masked/config.json", c, older, NULL), RF_OK);
    assert_int_equal(c->size, older);
    for (size_t i = older; i < sizeof theirs; i++) assert_int_equal(theirs[i], 0xA5);
    rf_config whole, copy;
    assert_int_equal(rf_config_read(ctx, "tests/golden/bert/masked/config.json", &whole, NULL), RF_OK);
    assert_memory_equal(theirs + sizeof older, (unsigned char *)&whole + sizeof older, older - sizeof older);
    assert_int_equal(rf__config_check(c, "config", NULL), RF_OK);
    assert_int_equal(rf_config_parameters(c), rf_config_parameters(&whole));
    rf_config_copy(&copy, c);
    assert_int_equal(copy.size, sizeof copy);
    assert_int_equal(copy.hidden_size, whole.hidden_size);
    rf_ctx_free(ctx);
}

static void one_that_was_not_filled_in_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const size_t sizes[] = {0, RF_SIZE_TO(rf_config, summary) - 1, sizeof(rf_config) + 1};
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        rf_config c;
        rf_model *m;
        rf_error why[3] = {{0}};
        rf_config_defaults(&c);
        c.size = sizes[i];
        assert_int_equal(rf__config_check(&c, "config", &why[0]), RF_EARG);
        assert_int_equal(rf_config_write(ctx, t_folder(), &c, &why[1]), RF_EARG);
        assert_int_equal(rf_model_random(ctx, &c, 1, &m, &why[2]), RF_EARG);
        assert_int_equal(rf_config_parameters(&c), 0);
        for (size_t k = 0; k < RF_COUNT(why); k++) t_failed(&why[k], RF_EARG, "rf_config: size: expected");
    }
    rf_config c;
    rf_error why = {0};
    rf_config_defaults(&c);
    c.rope_thetas = 3;
    assert_int_equal(rf__config_check(&c, "config", &why), RF_EARG);
    t_failed(&why, RF_EARG, "config: rope_theta_per_layer: expected 3 numbers, got NULL");
    rf_ctx_free(ctx);
}

static rf_status parse_lists(const rf_ctx *ctx, void *arg, rf_error *why)
{
    (void)arg;
    rf_config c;
    return rf_config_parse(ctx, stretched, sizeof stretched - 1, "config.json", &c, why);
}

static void allocations_fail(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, parse_lists, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_small),
        cmocka_unit_test(copies_outlive_what_they_were_made_of),
        cmocka_unit_test(a_model_keeps_lists_of_its_own),
        cmocka_unit_test(an_older_header_has_less),
        cmocka_unit_test(one_that_was_not_filled_in_is_refused),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests_name("store/config_caller", tests, NULL, NULL);
}
