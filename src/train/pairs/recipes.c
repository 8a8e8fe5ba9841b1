/* recipes.c — model and options of published translation experiments.
 *
 *     wmt14_base, wmt14_big     Vaswani et al. 2017: Table 3, Sections 5.1 to 5.4 (25,000 tokens of each side in a
 *                               batch, no clipping); learning rate, subwords and average as in RoFormer's Section 4.1
 *     iwslt14                   fairseq's transformer_iwslt_de_en and the command of its examples/translation, where
 *                               4,096 tokens are those of one side; 50 epochs, as for its IWSLT17
 *     multi30k                  a model for 29,000 pairs of short sentences that one core trains in half an hour */
#include "base/json.h"
#include "train/pairs/translation_job.h"

#define SIDES(width, layers, heads, inner, dropout) \
    "\"config\": {\"model_type\": \"transformer\", \"d_model\": " #width ", \"encoder_layers\": " #layers \
    ", \"decoder_layers\": " #layers ", \"encoder_attention_heads\": " #heads ", \"decoder_attention_heads\": " #heads \
    ", \"encoder_ffn_dim\": " #inner ", \"decoder_ffn_dim\": " #inner ", \"dropout\": " #dropout "}"

#define WMT14(steps) \
    "\"options\": {\"vocab_size\": 37000, \"max_length\": 256, \"tokens_per_batch\": 12500, " \
    "\"gradient_accumulation_steps\": 4, \"max_steps\": " #steps ", \"learning_rate\": 5e-4, \"warmup_steps\": 4000, " \
    "\"lr_scheduler_type\": \"inverse_sqrt\", \"adam_beta1\": 0.9, \"adam_beta2\": 0.98, \"adam_epsilon\": 1e-9, " \
    "\"label_smoothing_factor\": 0.1, \"weight_decay\": 0.0, \"max_grad_norm\": 0.0, \"eval_steps\": 1000, " \
    "\"save_steps\": 1000, \"save_total_limit\": 5, \"average_last\": 5, \"bf16\": true}"

/* In the order of RF_RECIPES. */
static const char *const text[] = {
    [RF_RECIPE_NONE] = NULL,
    [RF_RECIPE_MULTI30K] =
        "{\"about\": \"Multi30k, task 1: 29,000 captions of photographs\", " SIDES(256, 3, 4, 1024, 0.1)
        ", \"options\": {\"vocab_size\": 8000, \"max_length\": 128, \"tokens_per_batch\": 2048, "
        "\"num_train_epochs\": 10, \"learning_rate\": 1e-3, \"warmup_steps\": 1000, "
        "\"lr_scheduler_type\": \"inverse_sqrt\", \"adam_beta2\": 0.98, "
        "\"label_smoothing_factor\": 0.1, \"weight_decay\": 0.0, \"eval_steps\": 250, \"save_steps\": 250, "
        "\"save_total_limit\": 5, \"average_last\": 5, \"bf16\": true}}",
    [RF_RECIPE_WMT14_BASE] =
        "{\"about\": \"WMT14 English-German, Transformer-base with RoPE\", " SIDES(512, 6, 8, 2048, 0.1) ", " WMT14(
            100000) "}",
    [RF_RECIPE_WMT14_BIG] =
        "{\"about\": \"WMT14 English-German, Transformer-big with RoPE\", " SIDES(1024, 6, 16, 4096, 0.3) ", " WMT14(
            300000) "}",
    [RF_RECIPE_IWSLT14] =
        "{\"about\": \"IWSLT14 German-English, 160,000 pairs of talks, with RoPE\", " SIDES(512, 6, 4, 1024, 0.3)
        ", \"options\": {\"vocab_size\": 10000, \"max_length\": 256, \"tokens_per_batch\": 8192, "
        "\"num_train_epochs\": 50, \"learning_rate\": 5e-4, \"warmup_steps\": 4000, "
        "\"lr_scheduler_type\": \"inverse_sqrt\", \"adam_beta1\": 0.9, \"adam_beta2\": 0.98, "
        "\"label_smoothing_factor\": 0.1, \"weight_decay\": 1e-4, \"max_grad_norm\": 0.0, \"eval_steps\": 1000, "
        "\"save_steps\": 1000, \"save_total_limit\": 5, \"average_last\": 5, \"bf16\": true}}",
};

const char *rf__recipe_text(rf_recipe recipe) { return (size_t)recipe < RF_COUNT(text) ? text[recipe] : NULL; }

/* A member of a recipe, with a new reference. */
static rf_status part(rf_recipe recipe, const char *name, json_t **out, rf_error *why)
{
    const char *all = rf__recipe_text(recipe);
    json_t *whole = all ? rf__json_parse(all, strlen(all), 0, "recipe", why) : NULL;
    if (!whole)
        return all ? why->code : rf_fail(why, RF_EARG, "recipe: expected a value of rf_recipe, got %d", (int)recipe);
    *out = json_incref(json_object_get(whole, name));
    json_decref(whole);
    return RF_OK;
}

rf_status rf__recipe_options(rf_train_options *o, const rf_train_options *usual, rf_arena *arena, rf_error *why)
{
    char changed[512];
    json_t *all = NULL;
    if (o->recipe == RF_RECIPE_NONE) return RF_OK;
    rf_status status = part(o->recipe, "options", &all, why);
    if (!status) status = rf__options_restore(o, usual, all, arena, "recipe", changed, sizeof changed, why);
    json_decref(all);
    return status;
}

rf_status rf__recipe_config(const rf_ctx *ctx, rf_recipe recipe, rf_config *out, rf_error *why)
{
    json_t *config = NULL;
    if (recipe == RF_RECIPE_NONE) {
        static const char small[] = "{" SIDES(256, 3, 4, 1024, 0.1) "}";
        json_t *all = rf__json_parse(small, sizeof small - 1, 0, "recipe", why);
        if (!all) return why->code;
        config = json_incref(json_object_get(all, "config"));
        json_decref(all);
    }
    rf_status status = config ? RF_OK : part(recipe, "config", &config, why);
    char *json = status ? NULL : rf__json_dump(config, 0);
    if (!status && !json) status = rf_fail(why, RF_ENOMEM, "out of memory: a recipe");
    if (!status) status = rf_config_parse(ctx, json, strlen(json), "recipe", out, why);
    json_decref(config);
    free(json);
    return status;
}
