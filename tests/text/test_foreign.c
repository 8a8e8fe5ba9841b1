/* test_foreign.c — mirrors src/text/foreign.c: texts that iconv(3) wrote in older encodings are detected, others are
 * not. */
#include <iconv.h>

#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"
#include "t.h"

/* `text` in another encoding; 0: the encoding lacks a character of it. */
static size_t convert(const char *to, const char *text, size_t size, char *out, size_t most)
{
    iconv_t c = iconv_open(to, "UTF-8");
    if (c == (iconv_t)-1) fail_msg("iconv knows no %s", to);
    char *in = (char *)(uintptr_t)text, *at = out;
    size_t left = most;
    const size_t failed = iconv(c, &in, &size, &at, &left);
    iconv_close(c);
    return failed ? 0 : most - left;
}

static const char *advice(const char *to, const char *text)
{
    char out[512];
    const size_t n = convert(to, text, strlen(text), out, sizeof out);
    if (!n) fail_msg("%s has not all of: %s", to, text);
    return rf_utf8_advice(out, n);
}

static void fails_with(const char *encoding, const char *text, const char *part)
{
    const char *got = advice(encoding, text);
    if (!strstr(got, part)) fail_msg("\"%s\" of \"%s\" in %s, expected %s", got, text, encoding, part);
}

static void sentences(void **state)
{
    (void)state;
    static const char simple[] = "\u4ECA\u5929\u5929\u6C14\u5F88\u597D\uFF0C\u6211\u4EEC\u53BB\u516C\u56ED\u3002",
                      traditional[] = "\u4ECA\u5929\u5929\u6C23\u5F88\u597D\uFF0C\u6211\u5011\u53BB\u516C\u5712\u3002";
    fails_with("GB18030", simple, "iconv -f GB18030");
    fails_with("GBK", simple, "iconv -f GB18030");
    fails_with("GBK", traditional, "iconv -f GB18030");
    fails_with("BIG5", traditional, "iconv -f BIG5");
    fails_with("GB18030", "label\t\u5929\u6C14", "iconv -f GB18030");
    fails_with("UTF-16", "\u5929\u6C14", "iconv -f UTF-16");                   /* with its mark, in either order */
    fails_with("WINDOWS-1252", "caf\u00E9 au lait", "iconv -f WINDOWS-1252");
    fails_with("WINDOWS-1252", "Die Stra\u00DFe nach M\u00FCnchen", "iconv -f WINDOWS-1252");
}

static void what_it_cannot_say(void **state)
{
    (void)state;
    static const char *const none[] = {"", "abc", "\xFF", "a \x80 b", "caf\xC3", "ab\xF0\x9F\x98",
                                       "{\"text\":\"\xFF\"}", "\xC3("};
    for (size_t i = 0; i < RF_COUNT(none); i++) assert_string_equal(rf_utf8_advice(none[i], strlen(none[i])), "");
    assert_string_equal(rf_utf8_advice(NULL, 0), "");
}

/* Of the paragraphs of Chinese Wikipedia with at least 20 bytes, in GB18030, 99 of 100 are detected. */
static void articles(void **state)
{
    (void)state;
    char path[512], out[1 << 14];
    if (!t_data()) skip();
    snprintf(path, sizeof path, "%s/zhwiki/zhwiki_AA_00-59.txt.gz", t_data());
    const char *const paths[] = {path};
    rf_reader *r;
    rf_document d;
    rf_error why = {0};
    rf_reader_options o;
    rf_reader_defaults(&o);
    o.split = RF_SPLIT_LINE;
    long all = 0, known = 0;
    if (rf_reader_open(t_shared(), paths, 1, &o, &r, &why)) fail_msg("%s", why.text);
    while (all < 5000) {
        if (rf_reader_next(r, &d, &why)) fail_msg("%s", why.text);
        if (!d.text) break;
        const size_t n = d.size < 4096 ? convert("GB18030", d.text, d.size, out, sizeof out) : 0;
        if (n < 20 || rf_utf8_check(out, n) == n) continue;
        all++;
        known += strstr(rf_utf8_advice(out, n), "GB18030") != NULL;
    }
    rf_reader_close(r);
    print_message("           %ld of %ld paragraphs\n", known, all);
    assert_true(all >= 1000 && 100 * known >= 99 * all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
        cmocka_unit_test(what_it_cannot_say),
        cmocka_unit_test(articles),
    };
    return cmocka_run_group_tests_name("text/foreign", tests, NULL, NULL);
}
