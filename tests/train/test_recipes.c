/* test_recipes.c — mirrors src/train/pairs/recipes.c: models and options of known experiments. */
#include "t.h"

#include "train/pairs/translation_job.h"
#include "store/store.h"

/* Every recipe is complete: its model can be created, its options are known and within their limits, and options of the
 * caller take precedence. */
static void recipes_are_whole(void **state)
{
    (void)state;
    static const int64_t sub_words[] = {[RF_RECIPE_MULTI30K] = 8000, [RF_RECIPE_WMT14_BASE] = 37000,
                                        [RF_RECIPE_WMT14_BIG] = 37000, [RF_RECIPE_IWSLT14] = 10000};
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf_option *row = rf__rows_find(rf_train_option, "recipe");
    int n = 1;
    for (const char *p = row->choices; *p; p++) n += *p == '|';
    assert_int_equal(n, (int)RF_COUNT(sub_words));
    assert_null(rf__recipe_text(RF_RECIPE_NONE));
    assert_null(rf__recipe_text((rf_recipe)n));
    for (int i = 1; i < n; i++) {
        rf_train_options usual, o;
        rf_config c;
        rf_arena arena;
        rf_error why = {0};
        const char *name;
        json_t *value, *all = json_loads(rf__recipe_text((rf_recipe)i), 0, NULL);
        assert_non_null(all);
        rf__arena_init(&arena, ctx);
        rf_translation_defaults(&usual);
        o = usual;
        o.recipe = (rf_recipe)i;
        o.learning_rate = 0.125;
        if (rf__recipe_options(&o, &usual, &arena, &why) || rf__options_check(&o, &why) ||
            rf__recipe_config(ctx, o.recipe, &c, &why) || rf__config_check(&c, "recipe", &why))
            fail_msg("%s", why.text);
        t_near(o.learning_rate, 0.125, 0);
        json_object_foreach(json_object_get(all, "options"), name, value)
            if (!rf__rows_find(rf_train_option, name)) fail_msg("recipe %d: no option %s", i, name);
        assert_int_equal(c.hidden_size, json_integer_value(json_object_get(json_object_get(all, "config"), "d_model")));
        assert_string_equal(c.position_embedding_type, "rotary");
        assert_int_equal(o.vocab_size, sub_words[i]);
        json_decref(all);
        rf__arena_clear(&arena);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_are_whole),
    };
    return cmocka_run_group_tests_name("train/recipes", tests, NULL, NULL);
}
