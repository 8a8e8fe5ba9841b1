/* test_metrics_answers.c — mirrors src/task/metrics_answers.c.  1,000 random pairs of answers compared with
 * transformers' SQuAD metrics, stored by tools/golden/golden_answers.py.  The tolerance 1e-12 allows for roundings of
 * 1.1e-16. */
#include "one_context.h"
#include "task/metrics.h"

enum { CASES = 1000 };

static uint64_t draw(uint64_t kind, uint64_t c, uint64_t i)
{
    uint64_t x = ((kind << 48) + (c << 24) + i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static void sentence(uint64_t kind, uint64_t c, char *out)
{
    static const char *const words[] = {"the",         "a",          "an",           "The",      "A",
                                        "cat",         "Cat",        "cat's",        "dog",      "sat,",
                                        "on",          "42",         "4.2",          "--",       "",
                                        "\u00c9cole",  "\u00e9cole", "U.S.",         "theatre",  "\u2013the\u2013",
                                        "stra\u00dfe", "\u0130x",    "\u6771\u4eac", "x\u00a0y", "an.",
                                        "(a)"};
    size_t n = 0;
    out[0] = 0;
    for (uint64_t i = 0; i < draw(kind, c, 0) % 7; i++)
        n += (size_t)sprintf(out + n, "%s%s", i ? " " : "", words[draw(kind, c, i + 1) % RF_COUNT(words)]);
}

/* Python's upper, for the letters that occur. */
static void upper(const char *from, char *to)
{
    for (; *from; from++)
        if (!strncmp(from, "\u00e9", 2)) memcpy(to, "\u00c9", 2), to += 2, from++;
        else if (!strncmp(from, "\u00df", 2)) *to++ = 'S', *to++ = 'S', from++;
        else *to++ = *from >= 'a' && *from <= 'z' ? (char)(*from - 32) : *from;
    *to = 0;
}

static void answers(void **state)
{
    (void)state;
    FILE *f = fopen("tests/golden/train/answers.txt", "r");
    assert_non_null(f);
    for (int c = 0; c < CASES; c++) {
        char gold[256], predicted[256];
        double exact = -1, f1 = -1, expected_exact, expected_f1;
        sentence(11, (uint64_t)c, gold);
        if (c % 5 == 0) upper(gold, predicted);
        else sentence(12, (uint64_t)c, predicted);
        assert_int_equal(rf__squad_metrics(ctx, gold, predicted, &exact, &f1, NULL), RF_OK);
        assert_int_equal(fscanf(f, "%lf %lf", &expected_exact, &expected_f1), 2);
        if (exact != expected_exact || fabs(f1 - expected_f1) > 1e-12)
            fail_msg("case %d, '%s' and '%s': %g %.17g, not %g %.17g", c, gold, predicted, exact, f1, expected_exact,
                     expected_f1);
    }
    fclose(f);
}

static void normal_answers(void **state)
{
    (void)state;
    static const char *const pair[][2] = {
        {"The  Cat.", "cat"},      {"", ""},      {" a ", ""},           {"an apple a day", "apple day"},
        {"anthem", "anthem"},      {"a-b", "ab"}, {"x\t\u3000y", "x y"}, {"\u0130", "i\u0307"},
        {"the \u2013 a", "\u2013"}};
    for (size_t i = 0; i < RF_COUNT(pair); i++) {
        char out[64];
        assert_int_equal(rf__squad_normal(pair[i][0], strlen(pair[i][0]), out), strlen(pair[i][1]));
        assert_string_equal(out, pair[i][1]);
    }
}

static void refusals(void **state)
{
    (void)state;
    double exact, f1;
    rf_error why = {0};
    rf__squad_metrics(ctx, "a\xC3", "b", &exact, &f1, &why);
    t_failed(&why, RF_EDATA, "scores: expected UTF-8");
    for (long fail = 1; fail <= 4; fail++) {
        t_memory memory = {0};
        rf_ctx *poor = t_counting_ctx(1, NULL, &memory);
        const long live = memory.live;
        memory.calls = 0;
        memory.fail = fail;
        assert_int_equal(rf__squad_metrics(poor, "a", "b", &exact, &f1, NULL), RF_ENOMEM);
        assert_int_equal(memory.live, live);
        rf_ctx_free(poor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers), cmocka_unit_test(normal_answers),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("task/metrics_answers", tests, setup, teardown);
}
