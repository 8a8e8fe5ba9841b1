/* test_late.c — mirrors late.c, attention_seen.c: settings of the folders of PyLate and Stanford that
 * tools/golden/golden_late.py writes, MaxSim, refusals. Vectors: tests/cli/use/late.sh. */
#include "roformer/pipeline.h"
#include "store/task.h"
#include "t.h"

static void settings_are_those_of_the_folder(void **state)
{
    (void)state;
    static const struct { const char *name, *query, *document; int64_t of_query, of_document; bool expand, attend;
                          int64_t skips, modules; } cases[] = {
        {"plain", "[Q] ", "[D] ", 12, 14, true, false, 32, 1}, {"attend", "[Q] ", "[D] ", 9, 10, true, true, 32, 1},
        {"short", "", "[unused1]", 8, 60, false, false, 2, 1}, {"dense", "[Q] ", "[D] ", 12, 14, true, false, 32, 2},
        {"stanford", "[unused0]", "[unused1]", 10, 14, true, false, 32, 1}};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        char folder[128];
        rf_error why = {0};
        rf_sentence s;
        rf__module_list m;
        rf__late *l;
        snprintf(folder, sizeof folder, "tests/golden/late/%s", cases[i].name);
        if (rf__late_read(ctx, folder, &s, &m, &l, &why)) fail_msg("%s", why.text);
        assert_non_null(l);
        assert_string_equal(l->prefix[RF__QUERY], cases[i].query);
        assert_string_equal(l->prefix[RF__DOCUMENT], cases[i].document);
        assert_int_equal(l->length[RF__QUERY], cases[i].of_query);
        assert_int_equal(l->length[RF__DOCUMENT], cases[i].of_document);
        assert_int_equal(l->expand, cases[i].expand);
        assert_int_equal(l->attend, cases[i].attend);
        assert_int_equal(l->skips, cases[i].skips);
        assert_int_equal(m.n, cases[i].modules);
        rf__late_free(l);
        rf_sentence_free(&s);
        assert_int_equal(rf_sentence_read(ctx, folder, &s, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, "a vector for each token");
    }
    rf_ctx_free(ctx);
}

static void other_folders_are_none(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_sentence s;
    rf__module_list m;
    rf__late *l;
    assert_int_equal(rf__late_read(ctx, "tests/golden/embed/folders/mean", &s, &m, &l, NULL), RF_OK);
    assert_null(l);
    rf_ctx_free(ctx);
}

static void scores_are_sums_of_maxima(void **state)
{
    (void)state;
    static const float q[] = {1, 2, -1, 0}, d[] = {1, 1, 0, 2, -3, 0};
    double score = 7;
    rf_error why = {0};
    rf_ctx *ctx = t_ctx(1, NULL);
    assert_int_equal(rf_max_sim(ctx, q, 2, d, 3, 2, &score, &why), RF_OK);
    assert_true(score >= 7 && score <= 7);                              /* max(3, 4, -3) + max(-1, 0, 3)              */
    assert_int_equal(rf_max_sim(ctx, q, 2, NULL, 0, 2, &score, &why), RF_OK);
    assert_true(score >= 0 && score <= 0);
    assert_int_equal(rf_max_sim(ctx, q, 2, d, -1, 2, &score, &why), RF_EARG);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_those_of_the_folder),
        cmocka_unit_test(other_folders_are_none),
        cmocka_unit_test(scores_are_sums_of_maxima),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
