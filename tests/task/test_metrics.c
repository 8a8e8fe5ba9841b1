/* test_metrics.c — mirrors src/task/metrics.c.  The cases are those of tools/golden/golden_scores.py, drawn in the same
 * order; the results in tests/golden/train/scores.txt come from scikit-learn, scipy, transformers and seqeval. */
#include <math.h>
#include <stdio.h>

#include "t.h"
#include "task/metrics.h"

enum { CASES = 1000, MOST = 64 };

static uint64_t state_of_draw;

static uint32_t below(uint32_t n)
{
    uint64_t z = state_of_draw += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(((z ^ (z >> 31)) >> 33) % n);
}

/* 1e-12 of values up to 1: at most some hundred roundings of 1.1e-16 each, on either side. */
static void same(double got, double expected, int number, const char *what)
{
    if (isnan(expected) ? isnan(got) : fabs(got - expected) <= 1e-12) return;
    fail_msg("case %d: %s is %.17g, expected %.17g", number, what, got, expected);
}

/* `ordered`: mean absolute error, quadratic kappa. */
static void classes(double out[4], double ordered[2])
{
    int32_t label[MOST], predicted[MOST];
    rf_class_metrics score[8];
    const uint32_t n = 1 + below(60), k = 2 + below(4), mode = below(6);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t a = below(k), b = below(k);
        label[i] = (int32_t)(mode == 0 ? 1 : a);
        predicted[i] = (int32_t)(mode == 1 ? 1 : mode == 2 ? a : b);
    }
    rf_metrics_by_class(label, predicted, n, (int32_t)k, score);
    out[0] = rf_accuracy(label, predicted, n);
    out[1] = rf__f1_macro(score, (int32_t)k);
    out[2] = k == 2 ? score[1].f1 : 0;
    out[3] = rf_matthews(score, (int32_t)k, n);
    ordered[0] = rf__mean_absolute_error(label, predicted, n);
    ordered[1] = rf__quadratic_kappa(label, predicted, n);
}

static void cells(double out[2])
{
    uint8_t cell[2][MOST * 4];
    const uint32_t n = 1 + below(20), k = 2 + below(3), often = 1 + below(4);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < n * k; i++) cell[side][i] = below(often + 1) == 0;
    out[0] = rf__f1_cells(cell[0], cell[1], n, (int32_t)k);
    out[1] = rf__f1_labels(cell[0], cell[1], n, (int32_t)k);
}

static void numbers(const rf_ctx *ctx, double out[2])
{
    double x[MOST], y[MOST];
    const uint32_t n = 2 + below(40), mode = below(4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t a = below(1 << 20), b = below(1 << 20);
        x[i] = mode == 0 ? 3 : mode == 1 ? a % 5 : a / 1024.0;
        y[i] = mode == 1 ? b % 3 : mode == 2 ? b / 512.0 : a / 4096.0 + b / 65536.0;
    }
    out[0] = rf_pearson(x, y, n);
    assert_int_equal(rf_spearman(ctx, x, y, n, &out[1], NULL), RF_OK);
}

static void words(char *out)
{
    static const char *const word[] = {"the", "A",   "an",   "cat", "cat,",   "Dog.",
                                       "dog", "x-y", "U.S.", "--",  "theory", "7"};
    out[0] = 0;
    for (uint32_t n = below(6); n; n--) {
        strcat(out, word[below(12)]);
        if (n > 1) strcat(out, " ");
    }
}

static double entities(void)
{
    static const char *const name[] = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};
    const char *label[MOST], *predicted[MOST];
    const uint32_t n = 1 + below(12), mode = below(4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t a = below(5), b = below(5), c = below(3);
        label[i] = name[mode == 0 ? 0 : a];
        predicted[i] = name[c ? a : b];
    }
    rf__entity_count count = {0};
    rf__count_entities(label, predicted, n, &count);
    return rf__entity_f1(&count);
}

static double f1_of(const char *const label[], const char *const predicted[], size_t n)
{
    rf__entity_count count = {0};
    rf__count_entities(label, predicted, n, &count);
    return rf__entity_f1(&count);
}

/* The same tags by other letters must be the same entities. */
static double schemes(int number)
{
    static const char *const bioes[] = {"O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC", "I-LOC", "E-LOC", "S-LOC"};
    static const char *const bilou[] = {"O", "B-PER", "I-PER", "L-PER", "U-PER", "B-LOC", "I-LOC", "L-LOC", "U-LOC"};
    static const char *const bmes[] = {"O", "B-PER", "M-PER", "E-PER", "S-PER", "B-LOC", "M-LOC", "E-LOC", "S-LOC"};
    const char *side[3][2][MOST];
    const uint32_t n = 1 + below(14), right = 1 + below(4);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t a = below(9), b = below(9), c = below(right + 1), which[2] = {a, c ? a : b};
        for (int k = 0; k < 2; k++) {
            side[0][k][i] = bioes[which[k]];
            side[1][k][i] = bilou[which[k]];
            side[2][k][i] = bmes[which[k]];
        }
    }
    const double f1 = f1_of(side[0][0], side[0][1], n);
    same(f1_of(side[1][0], side[1][1], n), f1, number, "F1 in BILOU");
    same(f1_of(side[2][0], side[2][1], n), f1, number, "F1 in BMES");
    return f1;
}

static void well_formed(const char *out[12])
{
    static const char *const name[2][4] = {{"B-PER", "I-PER", "L-PER", "U-PER"}, {"B-LOC", "I-LOC", "L-LOC", "U-LOC"}};
    const char *all[32];
    size_t n = 0, begin = 0;
    for (int k = 0; k < 6; k++) {
        const uint32_t size = below(4), type = below(2);
        if (size < 2) all[n++] = size ? name[type][3] : "O";
        for (uint32_t i = 0; size > 1 && i < size; i++) all[n++] = name[type][i + 1 == size ? 2 : i > 0];
    }
    for (size_t i = 0; i < 12; i++) {
        out[i] = i < n ? all[i] : "O";
        if (*out[i] == 'B') begin = i;
    }
    for (size_t i = begin; (*out[11] == 'B' || *out[11] == 'I') && i < 12; i++) out[i] = "O";
}

static void tags_that_name_entities(void **state)
{
    static const char *const none[] = {"NN", "VB", "O"}, *const numbers[] = {"0", "1"}, *const bare[] = {"O", "B", "I"},
                             *const mixed[] = {"O", "X", "U-LOC"};
    static const char *const speech[] = {"S", "NN", "B"};
    (void)state;
    assert_false(rf__tags_are_entities(none, 3));
    assert_false(rf__tags_are_entities(numbers, 2));
    assert_false(rf__tags_are_entities(speech, 3));
    assert_true(rf__tags_are_entities(bare, 3));
    assert_true(rf__tags_are_entities(mixed, 3));
    assert_true(rf__tag_is_entity("U-LOC") && !rf__tag_is_entity("X") && !rf__tag_is_entity("Book"));
}

static void as_others_compute(void **state)
{
    static const char *const what[] = {"accuracy",     "F1 macro", "F1 binary", "Matthews", "F1 of cells",
                                       "F1 of labels", "Pearson",  "Spearman",  "exact",    "F1 of words",
                                       "mean absolute error", "quadratic kappa"};
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/train/scores.txt", "r");
    assert_non_null(f);
    for (int number = 0; number < CASES; number++) {
        double got[12], expected;
        char a[64], b[64];
        state_of_draw = (uint64_t)number;
        classes(got, got + 10);
        cells(got + 4);
        numbers(ctx, got + 6);
        words(a);
        words(b);
        assert_int_equal(rf__squad_metrics(ctx, a, b, &got[8], &got[9], NULL), RF_OK);
        for (int i = 0; i < 12; i++) {
            assert_int_equal(fscanf(f, "%lf", &expected), 1);
            same(got[i], expected, number, what[i]);
        }
    }
    for (int number = 0; number < CASES; number++) {
        double expected;
        state_of_draw = 1000000 + (uint64_t)number;
        assert_int_equal(fscanf(f, "%lf", &expected), 1);
        same(entities(), expected, number, "F1 of entities");
    }
    for (int number = 0; number < CASES; number++) {
        const char *strict[2][12];
        double expected[2];
        state_of_draw = 2000000 + (uint64_t)number;
        assert_int_equal(fscanf(f, "%lf %lf", &expected[0], &expected[1]), 2);
        same(schemes(number), expected[0], number, "F1 of BIOES");
        well_formed(strict[0]);
        well_formed(strict[1]);
        same(f1_of(strict[0], strict[1], 12), expected[1], number, "F1 of well-formed BILOU");
    }
    fclose(f);
    rf_ctx_free(ctx);
}

static void nothing_to_measure(void **state)
{
    (void)state;
    rf_class_metrics score[2];
    rf_metrics_by_class(NULL, NULL, 0, 2, score);
    assert_true(isnan(rf_accuracy(NULL, NULL, 0)));
    assert_true(isnan(rf__mean_absolute_error(NULL, NULL, 0)) && isnan(rf__quadratic_kappa(NULL, NULL, 0)));
    assert_true(rf__f1_macro(score, 2) == 0 && rf_matthews(score, 2, 0) == 0);
    assert_true(isnan(rf_pearson((double[]){1}, (double[]){1}, 1)));
    assert_true(rf__entity_f1(&(rf__entity_count){0}) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_others_compute),
        cmocka_unit_test(tags_that_name_entities),
        cmocka_unit_test(nothing_to_measure),
    };
    return cmocka_run_group_tests_name("task/metrics", tests, NULL, NULL);
}
