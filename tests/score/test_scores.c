/* Scores, intervals and p-values of synthetic translations, compared with sacreBLEU 2.6 (tools/golden/golden_bleu.py):
 * 480 corpora and options with all their segments.  mirrors src/score */
#include "one_context.h"

#include "base/json.h"
#include "roformer/inspect/metrics.h"
#include "text/unicode/unicode.h"
#include "score/pcg64.h"

static json_t *golden(const char *name)
{
    char path[256], *text;
    size_t size;
    rf_error why = {0};
    snprintf(path, sizeof path, "tests/golden/bleu/%s", name);
    if (rf__read_file(ctx, path, 1 << 24, &text, &size, &why)) fail_msg("%s", why.text);
    json_t *all = rf__json_parse(text, size, 0, path, &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, text);
    return all;
}

/* ---- a corpus ---------------------------------------------------------------------------------------------------- */

enum { MOST = 200, REFERENCES = 4 };

typedef struct corpus {
    const char *line[1 + REFERENCES][MOST];
    rf_mt_texts texts[1 + REFERENCES];
    int64_t n;
    int references;
} corpus;

/* The lines of a list, `times` over. */
static int64_t take(const json_t *list, int times, const char **line)
{
    const size_t n = json_array_size(list);
    assert_true(n * (size_t)times <= MOST);
    for (size_t i = 0; i < n * (size_t)times; i++) line[i] = json_string_value(json_array_get(list, i % n));
    return (int64_t)(n * (size_t)times);
}

static void take_corpus(const json_t *from, int times, corpus *c)
{
    const json_t *references = json_object_get(from, "references");
    c->n = take(json_object_get(from, "system"), times, c->line[0]);
    c->references = (int)json_array_size(references);
    for (int k = 0; k < c->references; k++)
        assert_int_equal(take(json_array_get(references, (size_t)k), times, c->line[1 + k]), c->n);
    for (int k = 0; k <= c->references; k++) c->texts[k] = (rf_mt_texts){c->line[k], NULL};
}

static rf_mt_result *scored(const rf_mt_options *o, const rf_mt_texts *system, const corpus *c)
{
    rf_mt_result *r = NULL;
    rf_error why = {0};
    if (rf_mt_evaluate(ctx, o, system, c->texts + 1, c->references, c->n, &r, &why)) fail_msg("%s", why.text);
    return r;
}

static int one_of(const json_t *x, const char *const names[])
{
    for (int i = 0; json_string_value(x) && names[i]; i++)
        if (!strcmp(names[i], json_string_value(x))) return i;
    return 0;
}

/* The options of a case, with sacreBLEU's names. */
static void take_options(const json_t *e, rf_mt_options *o)
{
    static const char *const metrics[] = {"BLEU", "CHRF", "TER", NULL};
    static const char *const words[] = {"13a", "intl", "zh", "char", "none", NULL};
    static const char *const smooth[] = {"exp", "floor", "add-k", "none", NULL};
    const char *metric = json_string_value(json_object_get(e, "metric"));
    const json_t *x;
    rf_mt_defaults(o);
    o->metric = !strcmp(metric, "CHRF++") ? RF_MT_CHRF : (rf_mt_metric)one_of(json_object_get(e, "metric"), metrics);
    if (!strcmp(metric, "CHRF++")) o->word_order = 2;
    o->tokenizer = (rf_mt_tokenizer)one_of(json_object_get(e, "tokenize"), words);
    o->smooth = (rf_mt_smooth)one_of(json_object_get(e, "smooth_method"), smooth);
    if (json_is_number(x = json_object_get(e, "smooth_value"))) o->smooth_value = json_number_value(x);
    if (json_is_true(json_object_get(e, "lowercase"))) o->lowercase = 1;
    if (json_is_true(json_object_get(e, "case_sensitive"))) o->lowercase = 0;
    if (json_is_true(json_object_get(e, "effective_order"))) o->effective_order = 1;
    if ((x = json_object_get(e, "max_ngram_order"))) o->max_order = (int)json_integer_value(x);
    if ((x = json_object_get(e, "char_order"))) o->char_order = (int)json_integer_value(x);
    if ((x = json_object_get(e, "word_order"))) o->word_order = (int)json_integer_value(x);
    if ((x = json_object_get(e, "beta"))) o->beta = (int)json_integer_value(x);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void same_signature(const rf_mt_result *r, const char *expected)
{
    char own[256];
    rf_mt_signature(r, "", own, sizeof own);
    if (strncmp(own, expected, strlen(expected)) != 0) fail_msg("%s, expected %s", own, expected);
}

static void scores_are_sacrebleus(void **state)
{
    (void)state;
    json_t *all = golden("scores.json"), *cases = json_object_get(all, "cases");
    size_t i;
    json_t *e;
    assert_true(json_array_size(cases) > 400);
    json_array_foreach(cases, i, e) {
        const char *name = json_string_value(json_object_get(e, "corpus"));
        corpus c;
        rf_mt_options o;
        rf_mt_score s;
        take_corpus(json_object_get(json_object_get(all, "corpora"), name), 1, &c);
        take_options(e, &o);
        rf_mt_result *r = scored(&o, &c.texts[0], &c);
        rf_mt_corpus(r, &s);
        const double expected = json_number_value(json_object_get(e, "score"));
        if (fabs(s.score - expected) > 1e-6) fail_msg("%zu, %s: %.9g, expected %.9g", i, name, s.score, expected);
        same_signature(r, json_string_value(json_object_get(e, "signature")));
        if (o.metric == RF_MT_BLEU) {
            t_near(s.brevity, json_number_value(json_object_get(e, "bp")), 1e-9);
            assert_int_equal(s.length, json_integer_value(json_object_get(e, "sys_len")));
            t_near(s.reference, json_number_value(json_object_get(e, "ref_len")), 0);
            for (int k = 0; k < o.max_order; k++)
                t_near(s.precision[k],
                       json_number_value(json_array_get(json_object_get(e, "precisions"), (size_t)k)), 1e-9);
        }
        rf_mt_free(r);
        o.effective_order = 1;
        r = scored(&o, &c.texts[0], &c);
        for (int64_t k = 0; k < c.n; k++) {
            rf_mt_segment(r, k, &s);
            const double one = json_number_value(json_array_get(json_object_get(e, "segments"), (size_t)k));
            if (fabs(s.score - one) > 1e-6)
                fail_msg("case %zu, %s, line %lld: %.9g, expected %.9g", i, name, (long long)k + 1, s.score, one);
        }
        rf_mt_free(r);
    }
    json_decref(all);
}

static void compounds_are_split(void **state)
{
    (void)state;
    json_t *all = golden("scores.json"), *e;
    size_t i;
    json_array_foreach(json_object_get(all, "tokenized"), i, e) {
        const char *name = json_string_value(json_object_get(e, "corpus"));
        corpus c;
        rf_mt_options o;
        rf_mt_score s;
        take_corpus(json_object_get(json_object_get(all, "corpora"), name), 1, &c);
        rf_mt_defaults(&o);
        o.tokenizer = RF_MT_COMPOUNDS;
        o.smooth = RF_MT_UNSMOOTHED;
        rf_mt_result *r = scored(&o, &c.texts[0], &c);
        rf_mt_corpus(r, &s);
        t_near(s.score, json_number_value(json_object_get(e, "score")), 1e-9);
        assert_int_equal(s.length, json_integer_value(json_object_get(e, "sys_len")));
        assert_string_equal(rf_mt_name(r), "tokenized BLEU");
        rf_mt_free(r);
    }
    json_decref(all);
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */

/* The intervals and tests below compare the numbers with numpy; here, they are in range and determined by the seed. */
static void random_numbers(void **state)
{
    (void)state;
    rf__pcg64 a, b, c;
    rf__pcg64_init(&a, 12345);
    rf__pcg64_init(&b, 12345);
    rf__pcg64_init(&c, (uint64_t)1 << 40);
    int same = 0, heads = 0;
    for (int i = 0; i < 10000; i++) {
        const uint32_t n = (uint32_t)i + 1, x = rf__pcg64_below(&a, n);
        assert_true(x < n);
        assert_int_equal(x, rf__pcg64_below(&b, n));
        same += x == rf__pcg64_below(&c, n);
    }
    assert_true(same < 100);
    for (int i = 0; i < 10000; i++) heads += rf__pcg64_flip(&a);
    assert_true(heads > 4700 && heads < 5300);
}

static void same_interval(const rf_mt_interval *i, double mean, double half)
{
    t_near(i->mean, mean, 2e-5);
    t_near(i->half, half, 2e-4);
}

/* Resampling is in single precision there and with integer sums here, so p may differ by one sample of 1000. */
static void chance_is_sacrebleus(void **state)
{
    (void)state;
    json_t *all = golden("scores.json"), *tests = golden("tests.json"), *e;
    size_t i;
    json_array_foreach(json_object_get(tests, "cases"), i, e) {
        static const char *const kind[] = {"ar", "bs"};
        const char *name = json_string_value(json_object_get(e, "corpus"));
        const char *other[MOST];
        corpus c;
        rf_mt_options o;
        rf_mt_interval interval;
        rf_error why = {0};
        double p;
        take_corpus(json_object_get(json_object_get(all, "corpora"), name), 5, &c);
        take_options(e, &o);
        assert_int_equal(take(json_object_get(e, "other"), 1, other), c.n);
        rf_mt_result *a = scored(&o, &c.texts[0], &c), *b = scored(&o, &(rf_mt_texts){other, NULL}, &c);
        if (rf_mt_bootstrap(a, 1000, 12345, &interval, &why)) fail_msg("%s", why.text);
        same_interval(&interval, json_number_value(json_object_get(e, "mean")),
                      json_number_value(json_object_get(e, "ci")));
        for (int k = 0; k < 2; k++) {
            const json_t *x = json_object_get(e, kind[k]);
            rf_mt_score s;
            if (rf_mt_compare(a, b, (rf_mt_test)k, 1000, 12345, &p, &interval, &why)) fail_msg("%s", why.text);
            rf_mt_corpus(b, &s);
            t_near(s.score, json_number_value(json_object_get(x, "score")), 1e-6);
            t_near(p, json_number_value(json_object_get(x, "p")), 1.0001 / 1001);
            if (k) same_interval(&interval, json_number_value(json_object_get(x, "mean")),
                                 json_number_value(json_object_get(x, "ci")));
            else t_near(interval.mean, -1, 0);
        }
        rf_mt_free(a);
        rf_mt_free(b);
    }
    json_decref(tests);
    json_decref(all);
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

/* Numbers, punctuation and symbols among all code points, as in the module regex.  One small letter is not in Unicode
 * 14; if utf8proc's Unicode does not have it either, it has no class here. */
static void groups_of_characters(void **state)
{
    (void)state;
    json_t *all = golden("groups.json"), *range;
    static char group[0x110000];
    size_t i, differ = 0;
    json_array_foreach(json_object_get(all, "ranges"), i, range) {
        const json_int_t from = json_integer_value(json_array_get(range, 0));
        const json_int_t to = json_integer_value(json_array_get(range, 1));
        for (json_int_t c = from; c <= to; c++) group[c] = json_string_value(json_array_get(range, 2))[0];
    }
    for (uint32_t c = 0; c < 0x110000; c++) {
        const char own = rf__unicode_group(c), known = own == 'N' || own == 'P' || own == 'S' ? own : 0;
        if ((c >= 0xD800 && c < 0xE000) || group[c] == known) continue;
        if (group[c] >= 'a' && (own == 'C' || group[c] == known + 'a' - 'A')) continue;
        if (differ++ < 5) print_error("U+%04X: %c, expected %c\n", (unsigned)c, own, group[c] ? group[c] : '-');
    }
    assert_int_equal(differ, 0);
    json_decref(all);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void bad_input_is_refused(void **state)
{
    (void)state;
    const char *one[] = {"a b", "c"}, *bad[] = {"a b", "c\xFF"};
    const rf_mt_texts good = {one, NULL}, broken = {bad, NULL}, two[2] = {{one, NULL}, {bad, NULL}};
    rf_mt_result *r = NULL, *s = NULL;
    rf_mt_options o;
    rf_error why = {0};
    double p;
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &broken, &good, 1, 2, &r, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "system: line 2: expected UTF-8, got byte 0xFF at byte 1");
    why = (rf_error){0};
    const char *half[] = {"a b", NULL};
    const rf_mt_texts none = {NULL, NULL}, lacking = {half, NULL};
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &none, &good, 1, 2, &r, NULL), RF_EARG);
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &good, &lacking, 1, 2, &r, &why), RF_EARG);
    t_failed(&why, RF_EARG, "line 2: expected a text");
    why = (rf_error){0};
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &good, two, 2, 2, &r, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "reference 2: line 2");
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &good, &good, 1, 0, &r, NULL), RF_EARG);
    assert_int_equal(rf_mt_evaluate(ctx, NULL, &good, &good, 0, 2, &r, NULL), RF_EARG);
    assert_int_equal(rf_mt_evaluate(ctx, NULL, NULL, &good, 1, 2, &r, NULL), RF_EARG);
    rf_mt_defaults(&o);
    o.max_order = 9;
    why = (rf_error){0};
    assert_int_equal(rf_mt_evaluate(ctx, &o, &good, &good, 1, 2, &r, &why), RF_EARG);
    t_failed(&why, RF_EARG, "max_order: expected 1 to 8, got 9");
    assert_null(r);
    rf_mt_defaults(&o);
    o.metric = RF_MT_TER;
    assert_int_equal(rf_mt_evaluate(NULL, NULL, &good, &good, 1, 2, &r, NULL), RF_OK);
    assert_int_equal(rf_mt_evaluate(ctx, &o, &good, &good, 1, 2, &s, NULL), RF_OK);
    why = (rf_error){0};
    assert_int_equal(rf_mt_compare(r, s, RF_MT_RANDOMIZATION, 10, 1, &p, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "BLEU of 2 segments and TER of 2");
    assert_int_equal(rf_mt_bootstrap(r, 0, 1, &(rf_mt_interval){0, 0}, NULL), RF_EARG);
    rf_mt_free(r);
    rf_mt_free(s);
}

static rf_status once(const rf_ctx *c, void *metric, rf_error *why)
{
    const char *system[] = {"the sea and \xCE\xA3 the ship sailed", ""}, *other[] = {"the ship and the sea", "x"};
    const rf_mt_texts a = {system, NULL}, b[2] = {{other, NULL}, {system, NULL}};
    rf_mt_options o;
    rf_mt_defaults(&o);
    o.metric = *(const rf_mt_metric *)metric;
    o.lowercase = 1;
    o.word_order = 2;
    rf_mt_result *r = NULL;
    rf_mt_interval interval;
    rf_status status = rf_mt_evaluate(c, &o, &a, b, 2, 2, &r, why);
    if (!status) status = rf_mt_bootstrap(r, 40, 1, &interval, why);
    rf_mt_free(r);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    for (int k = RF_MT_BLEU; k <= RF_MT_TER; k++) {
        rf_mt_metric metric = (rf_mt_metric)k;
        assert_int_equal(t_fail_allocations(1, NULL, once, &metric), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_sacrebleus), cmocka_unit_test(compounds_are_split),
        cmocka_unit_test(random_numbers),        cmocka_unit_test(chance_is_sacrebleus),
        cmocka_unit_test(groups_of_characters),  cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("translation/scores", tests, setup, teardown);
}
