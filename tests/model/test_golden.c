/* test_golden.c — the encoder compared with transformers: tests/golden/models and the models of tests/golden/relative,
 * see tests/golden/README.md.
 *
 * Logits and hidden states agree to 1e-4: the script asserts that transformers' f32 results are within 3e-5 of its f64
 * results, which leaves the rest for ours.                                                                           */
#include "families.h"

#include "roformer/model.h"

static const char *const models[] = {"plain",
                                     "projected",
                                     "one_head",
                                     "rotary_value",
                                     "long",
                                     "beyond",
                                     "bf16",
                                     "f16",
                                     "trained",
                                     "untied",
                                     "sharded",
                                     "causal",
                                     "causal_value",
                                     "int8",
                                     "int8_words",
                                     "relative/bert_model",
                                     "relative/nezha_model",
                                     "relative/relative_key_model",
                                     "relative/relative_key_query_model",
                                     "relative/relative_key_causal_model",
                                     "relative/relative_key_roberta_model",
                                     "relative/deberta_model",
                                     "relative/deberta_log_model",
                                     "relative/deberta_v3_model",
                                     "relative/xlnet_model",
                                     "relative/xlnet_causal_model",
                                     "relative/transformer_xl_model",
                                     "relative/bloom_model",
                                     "relative/mpt_model",
                                     "relative/mpnet_model",
                                     "relative/t5_model",
                                     "relative/t5_causal_model"};

static int number(FILE *f)
{
    int x;
    if (fscanf(f, "%d", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

static double real(FILE *f)
{
    double x;
    if (fscanf(f, "%lf", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

static int32_t *numbers(FILE *f, const char *name, int n)
{
    char word[32];
    if (fscanf(f, "%31s", word) != 1 || strcmp(word, name))
        fail_msg("golden file: %s where %s was expected", word, name);
    int32_t *x = t_bytes((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = number(f);
    return x;
}

/* How far numbers are from their golden ones: the largest distance, and the squares of all distances and numbers. */
typedef struct distance { double worst, off, all; } distance;

static void compare(distance *d, double x, double golden)
{
    const double off = fabs(x - golden);
    if (!(off <= d->worst)) d->worst = off;
    d->off += off * off;
    d->all += golden * golden;
}

/* The mean of -log softmax(logits of token n)[token n+1], against the class's own loss. */
static void check_loss(FILE *f, rf_session *s, const rf_batch *b, int64_t V, distance *d)
{
    const int32_t labels = *numbers(f, "loss", 1);
    const double expected = real(f);
    int32_t *row = t_bytes((size_t)b->N * sizeof *row), n = 0;
    double sum = 0;
    const float *v;
    rf_error why = {0};
    for (int64_t t = 0; t < b->B; t++)
        for (int32_t i = b->start[t]; i + 1 < b->start[t + 1]; i++) row[n++] = i;
    assert_int_equal(n, labels);
    if (n && rf_session_mlm_logits(s, b, row, n, &v, &why)) fail_msg("%s", why.text);
    for (int32_t i = 0; i < n; i++) {
        double all = 0;
        for (int64_t j = 0; j < V; j++) all += exp((double)v[i * V + j]);
        sum += log(all) - (double)v[i * V + b->id[row[i] + 1]];
    }
    if (n) compare(d, sum / n, expected);
}

static void check_case(FILE *f, rf_session *s, const char *model, const rf_config *config, distance *d)
{
    const int64_t V = config->vocab_size, C = config->hidden_size;
    char name[64];
    if (fscanf(f, "%63s", name) != 1) fail_msg("a golden file is cut short");
    const int B = number(f), L = number(f);
    const int32_t *ids = numbers(f, "ids", B * L), *mask = numbers(f, "mask", B * L),
                  *types = numbers(f, "types", B * L);
    const int32_t K = *numbers(f, "columns", 1);
    int32_t *column = t_bytes((size_t)K * sizeof *column);
    for (int i = 0; i < K; i++) column[i] = number(f);
    const int32_t M = *numbers(f, "entries", 1);
    int32_t *entry = t_bytes((size_t)M * sizeof *entry);
    for (int i = 0; i < M; i++) entry[i] = number(f);

    int32_t *id = t_bytes((size_t)(B * L) * sizeof *id), *type = t_bytes((size_t)(B * L) * sizeof *type);
    int32_t *start = t_bytes((size_t)(B + 1) * sizeof *start), N = 0;
    for (int b = 0; b < B; b++) {                                        /* the padding goes */
        start[b] = N;
        for (int t = 0; t < L; t++)
            if (mask[b * L + t]) {
                id[N] = ids[b * L + t];
                type[N++] = types[b * L + t];
            }
    }
    start[B] = N;
    const rf_batch batch = {.N = N, .B = B, .id = id, .type = type, .start = start};
    const float *v;
    rf_error why = {0};
    if (rf_session_hidden(s, &batch, &v, &why)) fail_msg("%s, %s: %s", model, name, why.text);
    float *hidden = memcpy(t_floats(N * C), v, (size_t)(N * C) * sizeof *v);

    const int32_t R = *numbers(f, "rows", 1);
    for (int r = 0; r < R; r++) {
        const int b = number(f), t = number(f);
        const int32_t row = start[b] + t;
        for (int i = 0; i < K; i++) compare(d, hidden[row * C + column[i]], real(f));
        if (M && rf_session_mlm_logits(s, &batch, &row, 1, &v, &why)) fail_msg("%s, %s: %s", model, name, why.text);
        for (int i = 0; i < M; i++) {
            assert_in_range(entry[i], 0, V - 1);
            compare(d, v[entry[i]], real(f));
        }
    }
    if (config->is_decoder) check_loss(f, s, &batch, V, d);
    t_free_all();
}

static distance check_answers(const char *model, const char *answers, const char *isa, rf_type type)
{
    char folder[256], path[512], word[32];
    distance d = {0};
    rf_ctx *ctx = t_ctx(2, isa);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    const bool whole = !strncmp(model, "tests/", 6);
    snprintf(folder, sizeof folder, "%s%s%s", whole ? "" : "tests/golden/", strchr(model, '/') ? "" : "models/", model);
    if (rf_model_open_as(ctx, folder, type, &m, &why) || rf_session_open(m, &s, &why))
        fail_msg("%s: %s", model, why.text);
    const rf_config *c = rf_model_config(m);

    snprintf(path, sizeof path, "%s/%s", folder, answers);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s", path);
    while (fgetc(f) != '\n') {}
    int cases = 0;
    while (fscanf(f, "%31s", word) == 1 && !strcmp(word, "case")) {
        check_case(f, s, model, c, &d);
        cases++;
    }
    fclose(f);
    assert_true(cases > 0);
    rf_session_close(s);
    rf_model_close(m);
    rf_ctx_free(ctx);
    return d;
}

static double check_model(const char *model, const char *isa, rf_type type)
{
    return check_answers(model, "golden.txt", isa, type).worst;
}

static void agrees_with_transformers(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const double worst = check_model(models[i], NULL, RF_F32);
        print_message("%-26s largest difference %.1e\n", models[i], worst);
        if (!(worst <= 1e-4)) fail_msg("%s differs by %.3g", models[i], worst);
    }
}

static void so_does_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) assert_true(check_model(models[i], "ref", RF_F32) <= 1e-4);
}

/* Matrices in bf16: both operands of a product are off by 2^-9 / sqrt 3 each (standard deviation), 0.0016 of its size
 * together, and the 6 products of a layer (two of them attention's) add up, before a norm brings the sum back to size
 * 1, to about 0.004; the largest of some thousand numbers is 4 deviations out.  Of sqrt(layers) 0.016 we allow three
 * times as much, for logits are longer than hidden states. */
static void bf16_is_near(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const double worst = check_model(models[i], NULL, RF_BF16);
        print_message("%-26s largest difference in bf16 %.1e\n", models[i], worst);
        if (!(worst > 1e-5 && worst <= 0.12)) fail_msg("%s differs by %.3g", models[i], worst);
    }
}

/* The layers' matrices in int8: a number is off by at most half of 1/127 of the largest of its row, evenly, so by
 * 1 / (127 sqrt 12) of it.  Rows of 32 to 128 normal numbers have a largest of 2 to 2.7 deviations: 0.006 of a
 * number's size, of both operands 0.0085, against bf16's 0.0016: five times bf16's bound.  (Rows with outliers lose
 * more; what a trained model loses is measured, docs/numerics.md.) */
static void int8_is_near(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const double worst = check_model(models[i], NULL, RF_I8);
        print_message("%-26s largest difference in int8 %.1e\n", models[i], worst);
        if (!(worst > 1e-4 && worst <= 0.6)) fail_msg("%s differs by %.3g", models[i], worst);
    }
}

/* Weights alone in int8: of the two operands, one is off by 0.006 of its size, and products are near as f32 or bf16. A
 * folder in int8 is not quantized again, so that its answers are as near as in bf16. */
static void int8_weights_are_nearer(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        const double worst = check_model(models[i], NULL, RF_I8W), most = strncmp(models[i], "int8", 4) ? 0.5 : 0.12;
        print_message("%-26s largest difference in int8w %.1e\n", models[i], worst);
        if (!(worst > 1e-5 && worst <= most)) fail_msg("%s differs by %.3g", models[i], worst);
    }
}

/* compressed-tensors computes with the same whole numbers and scales of weights, in floating point, and with scales of
 * activations that are 127 / 127.5 of ours: a product is off by 0.0076 of its size for that alone
 * (tests/store/test_quantized.c), and there are four in each of two layers; attention and head, which it leaves in f32,
 * are bf16 here. */
static void int8_of_a_folder_is_as_its_program_computes(void **state)
{
    (void)state;
    const char *const isa[] = {NULL, "ref"}, *const model[] = {"int8", "int8_words"};
    for (size_t i = 0; i < RF_COUNT(isa) * RF_COUNT(model); i++) {
        const distance d = check_answers(model[i / 2], "int8.txt", isa[i % 2], RF_I8);
        const double relative = sqrt(d.off / d.all);
        print_message("int8 beside compressed-tensors: %.1e of the size, largest difference %.1e\n", relative, d.worst);
        if (!(relative <= 0.0076 * sqrt(8))) fail_msg("differs by %.3g of the size", relative);
    }
}

/* The other families, in f32 and by the reference. */
static void so_do_all_families(void **state)
{
    (void)state;
    const t_goldens all = t_family_goldens("case");
    for (int i = 0; i < all.n; i++) {
        const double worst = check_model(all.folder[i], NULL, RF_F32);
        print_message("%-36s largest difference %.1e\n", all.folder[i], worst);
        if (!(worst <= 1e-4)) fail_msg("%s differs by %.3g", all.folder[i], worst);
        assert_true(check_model(all.folder[i], "ref", RF_F32) <= 1e-4);
        assert_true(check_model(all.folder[i], NULL, RF_BF16) <= 0.12);
        assert_true(check_model(all.folder[i], NULL, RF_I8) <= 0.6);
        assert_true(check_model(all.folder[i], NULL, RF_I8W) <= 0.5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_do_all_families),
        cmocka_unit_test(agrees_with_transformers),
        cmocka_unit_test(so_does_the_reference),
        cmocka_unit_test(bf16_is_near),
        cmocka_unit_test(int8_is_near),
        cmocka_unit_test(int8_weights_are_nearer),
        cmocka_unit_test(int8_of_a_folder_is_as_its_program_computes),
    };
    return cmocka_run_group_tests_name("model/golden", tests, NULL, NULL);
}
