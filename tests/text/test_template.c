/* Chat templates: the texts that transformers' apply_chat_template makes (tests/golden/text/templates.jsonl, written by
 * tools/golden/golden_templates.py), or those of a file given as the first argument; what is refused, with its line;
 * limits; failing allocations.  mirrors template.c, parse.c, reader.c, values.c,
 * text.c and chat.c (its answers: tests/cli/serve/serve_chat.sh) */
#define _GNU_SOURCE
#include "one_context.h"

#include "base/base.h"
#include "text/template/template.h"

/* The day of the golden script: Thursday, 2 January 2025, 03:04:05. */
static const struct tm day = {
    .tm_year = 125, .tm_mday = 2, .tm_hour = 3, .tm_min = 4, .tm_sec = 5, .tm_wday = 4, .tm_yday = 1};
static const char *rows = "tests/golden/text/templates.jsonl";

/* The text for an object of variables; NULL: an error in `why`. */
static char *text_of(const char *template, size_t size, const json_t *variables, rf_error *why)
{
    rf_template *t = NULL;
    char *text = NULL, *copy = NULL;
    size_t n = 0;
    if (rf__template_new(ctx, "here", template, size, &t, why)) return NULL;
    if (!rf__template_render(t, variables, &day, &text, &n, why)) {
        assert_int_equal(strlen(text), n);
        copy = strdup(text);
    }
    rf__free(ctx, text);
    rf__template_free(t);
    return copy;
}

static void transformers_texts(void **state)
{
    FILE *f = fopen(rows, "r");
    char *line = NULL;
    size_t space = 0;
    int n = 0, wrong = 0;
    (void)state;
    if (!f) fail_msg("%s", rows);
    for (ssize_t size; (size = getline(&line, &space, f)) > 0; n++) {
        rf_error why = {0};
        json_t *row = json_loadb(line, (size_t)size, 0, NULL), *template = json_object_get(row, "template");
        const char *expected = json_string_value(json_object_get(row, "text"));
        char *got = text_of(json_string_value(template), json_string_length(template),
                            json_object_get(row, "variables"), &why);
        if (!expected != !got || (got && strcmp(expected, got))) {
            size_t at = 0;
            while (got && expected && got[at] == expected[at]) at++;
            print_error("row %d: %.100s\n  byte %zu: expected %.100s\n  got %.200s\n", n + 1,
                        json_string_value(template), at, expected ? expected + at : "an error",
                        got ? got + at : why.text);
            wrong++;
        }
        free(got);
        json_decref(row);
    }
    free(line);
    fclose(f);
    print_message("%d texts\n", n);
    assert_true(n > 0);
    assert_int_equal(wrong, 0);
}

static void refused(void **state)
{
    (void)state;
    static const struct { const char *template, *expected; rf_status status; } row[] = {
        {"a\nb {{ x | shuffle }}", "here: line 2: the filter shuffle is not known here", RF_EUNSUPPORTED},
        {"{% include 'x' %}", "here: line 1: expected if, for, set, macro, break or continue, got \"include 'x' %}\"",
         RF_EUNSUPPORTED},
        {"{{ 'a'.casefold() }}", "the method casefold is not known here", RF_EUNSUPPORTED},
        {"{{ 1 is callable }}", "the test callable is not known here", RF_EUNSUPPORTED},
        {"{{ cycler('a') }}", "the function cycler is not known here", RF_EUNSUPPORTED},
        {"{{ [1] }}", "a list or an object as text: expected | tojson", RF_EUNSUPPORTED},
        {"{{ 1 < 2 < 3 }}", "expected no a < b < c", RF_EUNSUPPORTED},
        {"{{ {'a': 1}.pop('a') }}", "the method pop is not known here for this value", RF_EUNSUPPORTED},
        {"{{ {'a': 1}.items }}", ".items without ()", RF_EUNSUPPORTED},
        {"{{ '%d' % 3 }}", "the format of a string", RF_EUNSUPPORTED},
        {"{{ '\xC3\xA4'.upper() }}", "upper: expected ASCII", RF_EUNSUPPORTED},
        {"{% for a in b recursive %}{% endfor %}", "expected a loop without recursive", RF_EUNSUPPORTED},
        {"{% set n = namespace(a=1) %}{% set m = [n] %}", "a namespace in another value", RF_EUNSUPPORTED},
        {"{{ raise_exception('no, not so') }}", "no, not so", RF_EARG},
        {"{{ x.y.z }}", "here: line 1: x is undefined", RF_EDATA},
        {"{{ 'a' + 1 }}", "expected two numbers, two strings or two lists", RF_EDATA},
        {"{% set a.b = 1 %}", "a: expected a namespace before .b", RF_EDATA},
        {"{{ 'a'.upper }}", ".upper without ()", RF_EUNSUPPORTED},
        {"{{ range }}", "a function as text", RF_EUNSUPPORTED},
        {"{{ + 'a' }}", "expected two numbers", RF_EDATA},
        {"{{ 'a'[b:] }}", "a slice: expected whole numbers", RF_EDATA},
        {"{{ dict(a) }}", "dict: got an undefined value", RF_EDATA},
        {"{{ 01 }}", "expected another number", RF_EUNSUPPORTED},
        {"{{ a b }}", "expected the end of the tag, got \"b }}\"", RF_EDATA},
        {"{{ 'a", "expected the end of a string", RF_EDATA},
        {"{% if a %}", "expected the end of a block", RF_EDATA},
        {"{% endif %}", "expected if, for", RF_EUNSUPPORTED},
        {"{% break %}", "expected a loop around it", RF_EDATA},
        {"\xFF", "here: a template: expected at most", RF_EDATA},
    };
    json_t *none = json_object();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        rf_error why = {0};
        char *text = text_of(row[i].template, strlen(row[i].template), none, &why);
        if (text) fail_msg("%s: expected an error, got %s", row[i].template, text);
        t_failed(&why, row[i].status, row[i].expected);
    }
    json_decref(none);
}

/* Templates that would need too much. */
static void limits(void **state)
{
    (void)state;
    static const char *const row[] = {
        "{% for i in range(10000000) %}{% endfor %}",
        "{% for i in range(9000) %}{% for j in range(9000) %}{% endfor %}{% endfor %}",
        "{% set n = namespace(a='aaaaaaaa') %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "{% set n = namespace(a=1) %}{% for i in range(100) %}{% set n.a = [n.a] %}{% endfor %}",
        "{% set n = namespace(a=1) %}{% for i in range(25) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a | tojson }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        ("{% for i in range(9000) %}{{ 'a' | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', "
         "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') }}{% endfor %}"),
        "{{ 9223372036854775807 + 1 }}",
    };
    json_t *none = json_object();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        rf_error why = {0};
        char *text = text_of(row[i], strlen(row[i]), none, &why);
        if (text && i == 7) assert_true(strlen(text) < RF_TEMPLATE_OUTPUT);
        else if (text) fail_msg("%s: expected an error", row[i]);
        else assert_true(why.code == RF_ERANGE || why.code == RF_EUNSUPPORTED);
        free(text);
    }
    json_decref(none);
    char *deep = strdup("");
    static const char *const nested[] = {"{{ (", "{{ -", "{{ [", "{% if 1 %}", "{{ a|b(", "{{ not "};
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        const size_t n = strlen(nested[i]), skip = nested[i][1] == '{' ? 3 : 0;
        free(deep);
        deep = calloc(1, 50000 * n + 1);
        memcpy(deep, "{{ ", 3);
        for (size_t k = 0; k < 50000; k++) memcpy(deep + skip + k * (n - skip), nested[i] + skip, n - skip);
        rf_error why = {0};
        assert_null(text_of(deep, strlen(deep), NULL, &why));
        t_failed(&why, RF_ERANGE, "expected fewer parts in each other");
    }
    free(deep);
}

static void what_a_template_uses(void **state)
{
    (void)state;
    static const struct { const char *template; bool tools, parts; } row[] = {
        {"{{ messages[0].content }}", false, false},
        {"{% if a %}{% for t in tools %}{% endfor %}{% endif %}", true, false},
        {"{% for m in messages %}{% for p in m['content'] if x %}{% endfor %}{% endfor %}", false, true},
        {"{% for m in messages %}{% for p in m.content %}{{ x[tools] }}{% endfor %}{% endfor %}", true, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        rf_template *t;
        rf_error why = {0};
        if (rf__template_new(ctx, "here", row[i].template, strlen(row[i].template), &t, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf__template_uses(t, "tools"), row[i].tools);
        assert_int_equal(rf__template_takes_parts(t), row[i].parts);
        rf__template_free(t);
    }
}

static rf_status read_and_make(const rf_ctx *own, void *template, rf_error *why)
{
    rf_template *t = NULL;
    char *text = NULL;
    size_t n;
    json_t *x = json_pack("{s:[i, i]}", "l", 1, 2);
    rf_status status = rf__template_new(own, "here", template, strlen(template), &t, why);
    if (!status) status = rf__template_render(t, x, &day, &text, &n, why);
    rf__free(own, text);
    rf__template_free(t);
    json_decref(x);
    return status;
}

static void every_failing_allocation(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, read_and_make, "{% macro m(a) %}{{ a }}{% endmacro %}{% for i in l if i %}"
                       "{{ m('x' + i | string) | upper }}{{ l[::-1] | tojson(indent=1) }}{% endfor %}"
                       "{{ 'a b'.split() | join('-' * 100) }}");
}

int main(int argc, char **argv)
{
    if (argc > 1) rows = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transformers_texts),
        cmocka_unit_test(refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(what_a_template_uses),
        cmocka_unit_test(every_failing_allocation),
    };
    return cmocka_run_group_tests_name("text/template", tests, setup, teardown);
}
