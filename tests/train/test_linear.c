/* test_linear.c — mirrors src/train/loop.c with linear attention: it learns, a run that is stopped and resumed ends
 * with the bits of an uninterrupted one, recomputed layers have the bits of stored ones, and features are redrawn. */
#define _GNU_SOURCE
#include "whole_run.h"

static const char base[] =
    "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 32, \"hidden_size\": 32, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64, "
    "\"hidden_dropout_prob\": 0.1, %s}";

static run linear(int threads, const char *keys)
{
    run r = with_options(threads);
    char config[1024];
    const int n = snprintf(config, sizeof config, base, keys);
    t_write(r.model, "config.json", config, (size_t)n);
    return r;
}

static const char *const models[] = {
    "\"attention_type\": \"linear\", \"feature_seed\": 3, \"num_random_features\": 24, \"feature_redraw_interval\": 3",
    "\"attention_type\": \"linear\", \"feature_map\": \"elu\", \"is_decoder\": true",
    "\"attention_type\": [\"softmax\", \"linear\"], \"feature_seed\": 3, \"rotation_order\": \"before\"",
};

/* Killed after step 6, whose checkpoint is that of step 4, and resumed; on three threads. */
static void stopped_and_resumed(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        run whole = linear(1, models[i]), parts = linear(3, models[i]);
        if (i == 1) whole.o.objective = parts.o.objective = RF_OBJECTIVE_CLM;
        must(&whole, RF_OK);
        parts.stop_at = 6;
        must(&parts, RF_ESTOPPED);
        parts.stop_at = 0;
        parts.o.resume_from_checkpoint = "latest";
        must(&parts, RF_OK);
        same(result_of(whole.out, 20), result_of(parts.out, 20));
        rf_config c;
        assert_int_equal(rf_config_read(whole.ctx, whole.out, &c, NULL), RF_OK);
        assert_int_equal(c.feature_draw, i == 0 ? 19 / 3 : 0);
        end(&whole);
        end(&parts);
    }
    t_free_all();
}

static void recomputed_layers_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        run kept = linear(2, models[i]), again = linear(2, models[i]);
        if (i == 1) kept.o.objective = again.o.objective = RF_OBJECTIVE_CLM;
        again.o.gradient_checkpointing = 1;
        must(&kept, RF_OK);
        must(&again, RF_OK);
        const result a = result_of(kept.out, 20), b = result_of(again.out, 20);
        assert_int_equal(a.model, b.model);
        end(&kept);
        end(&again);
    }
    t_free_all();
}

/* Loss of the last steps, in f32 and in bf16, well below that of random words (ln 34 = 3.5). */
static void it_learns(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++)
        for (int half = 0; half < 2; half++) {
            run r = linear(2, models[i]);
            if (i == 1) r.o.objective = RF_OBJECTIVE_CLM;
            r.o.max_steps = 150;
            r.o.save_steps = r.o.eval_steps = 0;
            r.o.bf16 = half;
            must(&r, RF_OK);
            if (!(r.loss < 2.9)) fail_msg("%s, bf16 %d: loss %g after 150 steps", models[i], half, r.loss);
            end(&r);
        }
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(recomputed_layers_have_the_same_bits),
        cmocka_unit_test(it_learns),
    };
    return cmocka_run_group_tests_name("train/linear", tests, NULL, NULL);
}
