/* test_positions.c — mirrors src/model/positions: pretrain runs with every row of the registry, for a masked model in
 * f32 and a causal one in bf16, and its result can be opened as a model. */
#define _GNU_SOURCE
#include "model/model.h"
#include "tiny.h"

#include "model/positions.h"

static void every_encoding_trains(void **state)
{
    (void)state;
    char *model = tiny_model(), *corpus = tiny_path(model, "corpus.txt");
    const char *text = corpus;
    for (size_t i = 0; rf__position_list[i / 2]; i++) {
        const rf_position *const *p = &rf__position_list[i / 2];
        const bool causal = i % 2;
        if (!causal && (*p)->flags & RF_POSITION_CAUSAL) continue;
        char json[512];
        const int n = snprintf(json, sizeof json,
                               "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 16, "
                               "\"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
                               "\"intermediate_size\": 64, \"max_position_embeddings\": 64, "
                               "\"attention_probs_dropout_prob\": 0, \"position_embedding_type\": \"%s\"%s}",
                               (*p)->name, causal ? ", \"is_decoder\": true" : "");
        t_write(model, "config.json", json, (size_t)n);
        char *out = strdup(t_folder());
        rf_train_options o = tiny_options(model, &text, out);
        o.objective = causal ? RF_OBJECTIVE_CLM : RF_OBJECTIVE_MLM;
        o.bf16 = causal;
        o.max_steps = 2;
        o.save_steps = o.eval_steps = 2;
        rf_error why = {0};
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_mlm_metrics score;
        rf_model *trained;
        if (rf_pretrain(ctx, &o, NULL, NULL, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        if (rf_model_open(ctx, out, &trained, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        assert_string_equal(rf_model_config(trained)->position_embedding_type, (*p)->name);
        assert_string_equal(rf__model_ignored(trained), "");
        assert_int_equal(rf_model_config(trained)->is_decoder, causal);
        rf_model_close(trained);
        o.model = out;
        o.eval_documents = 5;
        if (rf_evaluate_mlm(ctx, &o, &score, &why)) fail_msg("%s: %s", (*p)->name, why.text);
        if (!(score.loss > 0 && score.loss < 6)) fail_msg("%s: loss %g", (*p)->name, score.loss);     /* ln 34 = 3.5 */
        rf_ctx_free(ctx);
        free(out);
    }
    free(corpus);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_encoding_trains)};
    return cmocka_run_group_tests_name("train/positions", tests, NULL, NULL);
}
