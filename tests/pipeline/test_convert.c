/* test_convert.c — mirrors src/pipeline/convert.c: what is reported, refused, written and read back. */
#define _GNU_SOURCE
#include <unistd.h>

#include "one_context.h"
#include "roformer/convert.h"
#include "roformer/model.h"
#include "store/store.h"

struct told {
    size_t kept, renamed, left;
};

static void count(void *user, const rf_weight *t, const char *to)
{
    struct told *told = user;
    if (!to) told->left++;
    else if (strcmp(t->name, to)) told->renamed++;
    else told->kept++;
}

static void reports_and_writes(void **state)
{
    (void)state;
    static const char *const drop[] = {"roformer.pooler.dense.w*", "roformer.pooler.dense.bias"};
    struct told told = {0};
    rf_convert_options o;
    rf_error why = {0};
    rf_convert_defaults(&o);
    o.drop = drop;
    o.drops = 1;
    o.report = count;
    o.user = &told;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/new", t_folder());
    assert_int_equal(rf_convert(ctx, "tests/golden/torch/old", folder, &o, &why), RF_EDATA);
    t_failed(&why, RF_EDATA,
             "1 tensors are left over, for which RoFormerForMaskedLM has no use: roformer.pooler.dense.bias;");
    assert_int_not_equal(access(folder, F_OK), 0);
    assert_int_equal(told.kept + told.renamed + told.left, 0);
    why = (rf_error){0};
    o.drops = 2;
    if (rf_convert(ctx, "tests/golden/torch/old", folder, &o, &why)) fail_msg("%s", why.text);
    assert_int_equal(told.renamed, 13); /* two of each of six norms, and the bias by its second name */
    assert_int_equal(told.left, 5);     /* positions, pooler, a copy of the embeddings, the first name of the bias */
    assert_int_equal(told.kept + told.renamed + told.left, 46);
    rf_model *m = NULL;
    if (rf_model_open(ctx, folder, &m, &why)) fail_msg("%s", why.text);
    assert_true(rf_model_has_head(m));
    assert_string_equal(rf_model_ignored(m), "");
    rf_model_close(m);
    assert_int_equal(rf_convert(ctx, "tests/golden/torch/old", folder, &o, &why), RF_EIO);
}

/* A head that is said to be tied, and is not. */
static void heads_that_differ(void **state)
{
    (void)state;
    const char *from = t_folder();
    char config[] =
        "{\"model_type\":\"roformer\",\"vocab_size\":2,\"hidden_size\":2,\"embedding_size\":2,"
                    "\"num_attention_heads\":1,"
        "\"num_hidden_layers\":1,\"intermediate_size\":2,\"type_vocab_size\":1}";
    rf_config c;
    rf_model *m = NULL;
    rf_error why = {0};
    t_write(from, "config.json", config, sizeof config - 1);
    if (rf_config_read(ctx, from, &c, &why)) fail_msg("%s", why.text);
    static const struct {
        const char *name;
        int64_t a, b;
    } shape[] = {
        {"roformer.embeddings.word_embeddings.weight", 2, 2},
        {"roformer.embeddings.token_type_embeddings.weight", 1, 2},
        {"roformer.embeddings.LayerNorm.weight", 2, 0},
        {"roformer.embeddings.LayerNorm.bias", 2, 0},
        {"cls.predictions.decoder.weight", 2, 2},
    };
    rf_weight_out out[64];
    static const float one[4] = {1, 1, 1, 1}, two[4] = {1, 2, 1, 1};
    char names[64][96];
    size_t n = 0;
    for (; n < RF_COUNT(shape); n++) {
        out[n] = (rf_weight_out){.name = shape[n].name, .type = RF_F32, .rank = shape[n].b ? 2 : 1, .data = one};
        out[n].dim[0] = shape[n].a, out[n].dim[1] = shape[n].b;
    }
    out[n - 1].data = two;
    static const char *const matrix[] = {"attention.self.query",   "attention.self.key", "attention.self.value",
                                         "attention.output.dense", "intermediate.dense", "output.dense"};
    static const char *const vector[] = {"attention.output.LayerNorm", "output.LayerNorm"};
    for (size_t i = 0; i < RF_COUNT(matrix) + RF_COUNT(vector); i++)
        for (int bias = 0; bias < 2; bias++, n++) {
            const bool flat = bias || i >= RF_COUNT(matrix);
            snprintf(names[n], sizeof names[n], "roformer.encoder.layer.0.%s.%s",
                     i < RF_COUNT(matrix) ? matrix[i] : vector[i - RF_COUNT(matrix)], bias ? "bias" : "weight");
            out[n] = (rf_weight_out){
                .name = names[n], .type = RF_F32, .rank = flat ? 1 : 2, .dim = {2, flat ? 0 : 2}, .data = one};
        }
    static const struct {
        const char *name;
        int rank;
    } head[] = {{"transform.dense.weight", 2},
                {"transform.dense.bias", 1},
                {"transform.LayerNorm.weight", 1},
                {"transform.LayerNorm.bias", 1},
                {"bias", 1}};
    for (size_t i = 0; i < RF_COUNT(head); i++, n++) {
        snprintf(names[n], sizeof names[n], "cls.predictions.%s", head[i].name);
        out[n] = (rf_weight_out){.name = names[n], .type = RF_F32, .rank = head[i].rank, .dim = {2, 2}, .data = one};
    }
    char file[300], to[300];
    snprintf(file, sizeof file, "%s/model.safetensors", from);
    snprintf(to, sizeof to, "%s/to", from);
    if (rf_weights_write(ctx, file, out, n, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_convert(ctx, from, to, NULL, &why), RF_EDATA);
    t_failed(&why, RF_EDATA,
             "cls.predictions.decoder.weight differs from the word embeddings, but tie_word_embeddings is true");
    assert_int_not_equal(access(to, F_OK), 0);
    out[RF_COUNT(shape) - 1].data = one;
    why = (rf_error){0};
    if (rf_weights_write(ctx, file, out, n, NULL, &why)) fail_msg("%s", why.text);
    if (rf_convert(ctx, from, to, NULL, &why) || rf_model_open(ctx, to, &m, &why)) fail_msg("%s", why.text);
    rf_model_close(m);
}

static void arguments(void **state)
{
    (void)state;
    rf_error why = {0};
    rf_convert_options o;
    assert_int_equal(rf_convert(ctx, NULL, "x", NULL, &why), RF_EARG);
    rf_convert_defaults(&o);
    o.type = RF_I8;
    why = (rf_error){0};
    assert_int_equal(rf_convert(ctx, "tests/golden/models/plain", "x", &o, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected RF_F32, RF_BF16 or RF_F16");
}

static rf_status convert_old(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    return rf_convert(c, "tests/golden/torch/old_bf16", t_folder(), NULL, why);
}

static void memory_ends(void **state)
{
    (void)state;
    assert_int_equal(t_fail_allocations(1, NULL, convert_old, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_and_writes),
        cmocka_unit_test(heads_that_differ),
        cmocka_unit_test(arguments),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("pipeline/convert", tests, setup, teardown);
}
