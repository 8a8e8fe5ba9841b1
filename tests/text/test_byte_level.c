/* Byte-level BPE of a tokenizer.json: ids, offsets and texts of Hugging Face's tokenizers
 * (tools/golden/golden_byte_level.py); adversarial texts, rejected files, failing allocations.
 * mirrors byte_level.c
 * mirrors byte_level_encode.c */
#include <time.h>
#include <utf8proc.h>

#include "one_context.h"
#include "opened.h"
#include "round_trip.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/subword/normalizer.h"

#define GOLDEN "tests/golden/byte_level/"

static const char *const names[] = {"gpt2", "modernbert", "roberta", "qwen", "llama3"};

static char *read_whole(const char *name, const char *ending, size_t *size)
{
    char path[256], *data;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "%s%s", name, ending);
    if (rf__read_file(ctx, path, 1 << 24, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

/* A folder with a tokenizer.json in which the first `from` is replaced by `to`. */
static const char *folder_with(const char *name, const char *from, const char *to)
{
    size_t size;
    char *good = read_whole(name, ".tokenizer.json", &size), *text = malloc(size + 512);
    const char *folder = t_folder(), *at = strstr(good, from);
    if (!at || !text) fail_msg("%s has no %s", name, from);
    const int n = snprintf(text, size + 512, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    t_write(folder, "tokenizer.json", text, (size_t)n);
    free(text);
    rf__free(ctx, good);
    return folder;
}

static int64_t number(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

/* The text is read from memory that ends with it. */
static void same(const rf_tokenizer *t, rf_encoding *e, const json_t *x, const char *name, size_t i)
{
    rf_error why = {0};
    const json_t *text = json_object_get(x, "text"), *ids = json_object_get(x, "ids");
    const json_t *offsets = json_object_get(x, "offsets"), *decoded = json_object_get(x, "decoded");
    const size_t bytes = json_string_length(text);
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, json_string_value(text), bytes);
    if (rf_encode(t, copy, bytes, NULL, 0, 0, 0, e, NULL, &why)) fail_msg("%s", why.text);
    free(copy);
    if (e->n != json_array_size(ids)) fail_msg("%s %zu: %zu tokens", name, i, e->n);
    for (size_t k = 0; k < e->n; k++) {
        const json_t *o = json_array_get(offsets, k);
        if (e->id[k] != number(ids, k) || e->start[k] != number(o, 0) || e->end[k] != number(o, 1))
            fail_msg("%s %zu: token %zu: %d from %u to %u", name, i, k, (int)e->id[k], e->start[k], e->end[k]);
    }
    size_t size;
    char *back = rf_decode(t, e->id, e->n, 1, 0, &size);
    assert_int_equal(size, json_string_length(decoded));
    assert_memory_equal(back, json_string_value(decoded), size);
    rf_text_free(t, back);
}

static void as_tokenizers_has_it(void **state)
{
    (void)state;
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        size_t size, i;
        rf_error why = {0};
        char *data = read_whole(names[m], ".json", &size);
        json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, names[m], &why), *x;
        rf_tokenizer *t = opened(folder_with(names[m], "{", "{"));
        rf__free(ctx, data);
        assert_true(json_array_size(json_object_get(all, "cases")) > 50);
        for (int again = 0; again < 2; again++)                     /* the second time with words of the cache        */
            json_array_foreach(json_object_get(all, "cases"), i, x) same(t, &e, x, names[m], i);
        rf_tokenizer_free(t);
        json_decref(all);
    }
    rf_encoding_clear(&e);
}

/* Words that differ only in zero bytes at their ends, and the same word with other origins, share a cache. */
static void words_of_the_cache(void **state)
{
    (void)state;
    static const struct { const char *text; size_t size; } part[] = {
        {"ab", 2}, {"ab\0", 3}, {"ab\0\0", 4}, {"\0", 1}, {"\0\0", 2}, {"e\xCC\x81", 3}, {"\xC3\xA9", 2},
        {"\xE2\x84\xABx", 4}, {"\xC3\x85x", 3}, {"abcdefghijklmnopqrstuvwx", 24}, {"abcdefghijklmnopqrstuvwxy", 25}};
    rf_encoding all, one;
    rf_encoding_init(&all, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        rf_tokenizer *t = opened(folder_with(names[m], "{", "{"));
        for (size_t round = 0; round < 3 * RF_COUNT(part); round++) {
            const size_t k = round * 7 % RF_COUNT(part);
            rf_encoding_init(&one, ctx);
            assert_int_equal(rf_encode(t, part[k].text, part[k].size, NULL, 0, 0, 0, &one, NULL, NULL), RF_OK);
            assert_int_equal(rf_encode(t, part[k].text, part[k].size, NULL, 0, 0, 0, &all, NULL, NULL), RF_OK);
            assert_int_equal(one.n, all.n);
            assert_memory_equal(one.id, all.id, one.n * sizeof *one.id);
            assert_memory_equal(one.start, all.start, one.n * sizeof *one.start);
            assert_memory_equal(one.end, all.end, one.n * sizeof *one.end);
            rf_encoding_clear(&one);
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&all);
}

/* Characters that NFC keeps: it does not change them alone, orders none, and joins none with an earlier one. */
static void kept_characters(void **state)
{
    (void)state;
    size_t kept = 0;
    for (int32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        int32_t to[32], again[32];
        int last = 0;
        const utf8proc_ssize_t n = utf8proc_decompose_char(c, to, 32, UTF8PROC_DECOMPOSE, &last);
        assert_in_range(n, 1, 31);
        for (utf8proc_ssize_t i = 1; i < n; i++)
            if (rf__nfc_keeps((uint32_t)to[i])) fail_msg("U+%04X ends U+%04X", (unsigned)to[i], (unsigned)c);
        if (!rf__nfc_keeps((uint32_t)c)) continue;
        kept++;
        memcpy(again, to, sizeof to);
        assert_int_equal(utf8proc_get_property(c)->combining_class, 0);
        assert_int_equal(utf8proc_normalize_utf32(again, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE), 1);
        assert_int_equal(again[0], c);
    }
    assert_in_range(kept, 30000, 40000);
}

/* Parts of characters: one U+FFFD for each maximal subpart, as in table 3-8 of Unicode 15. */
static void parts_of_characters(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {
        0x61, 0xF1, 0x80, 0x80, 0xE1, 0x80, 0xC2, 0x62, 0x80, 0x63, 0x80, 0xED, 0xA0};
    static const char visible[] =
        "a\xC3\xB1\xC4\xA2\xC4\xA2\xC3\xA1\xC4\xA2\xC3\x82" "b\xC4\xA2" "c\xC4\xA2\xC3\xAD\xC5\x82";
    rf_tokenizer *t = opened(folder_with("gpt2", "{", "{"));
    int32_t id[sizeof bytes];
    size_t n = 0;
    for (const char *p = visible; *p; n++) {
        char one[3] = {p[0], 0, 0};
        if ((unsigned char)*p >= 0x80) one[1] = p[1];
        p += strlen(one);
        id[n] = rf_tokenizer_id(t, one);
    }
    assert_int_equal(n, sizeof bytes);
    char *back = rf_decode(t, id, n, 1, 0, NULL);
#define NO "\xEF\xBF\xBD"
    assert_string_equal(back, "a" NO NO NO "b" NO "c" NO NO NO);
    rf_text_free(t, back);
    rf_tokenizer_free(t);
}

static void refused(void **state)
{
    (void)state;
    static const struct { const char *file, *from, *to, *part; rf_status status; } bad[] = {
        {"qwen", "(?!\\\\S)", "(?!\\\\S", "pre_tokenizer: Split: Regex \"(?i:'s", RF_EDATA},
        {"qwen", "\"Isolated\"", "\"Alone\"", "Split: behavior: expected Removed, Isolated", RF_EUNSUPPORTED},
        {"gpt2", "\"merges\":[[", "\"merges\":[[\"zz\",\"y\"],[", "merge 0, of \"zz\": expected pieces", RF_EDATA},
        {"gpt2", "\"normalizer\":null", "\"normalizer\":{\"type\":\"ByteLevels\"}", "got ByteLevels",
         RF_EUNSUPPORTED},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        if (rf_tokenizer_open(ctx, folder_with(bad[i].file, bad[i].from, bad[i].to), &t, &why) != bad[i].status)
            fail_msg("case %zu: \"%s\"", i, why.text);
        t_failed(&why, bad[i].status, bad[i].part);
    }
}

static double seconds_of(const rf_tokenizer *t, rf_encoding *e, const char *text, size_t n)
{
    const clock_t from = clock();
    assert_int_equal(rf_encode(t, text, n, NULL, 0, 0, 0, e, NULL, NULL), RF_OK);
    return (double)(clock() - from) / CLOCKS_PER_SEC;
}

/* A million characters of one kind, and mixtures on which regexes backtrack: time is linear, which the test's time
 * limit checks. */
static void hostile(void **state)
{
    (void)state;
    static const char *const parts[] = {" ", "a", "1", "'", "\n", " \n", "\xCC\x81", " a", "\xF0\x9F\x99\x82", "\t "};
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 8);
    assert_non_null(text);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        rf_tokenizer *t = opened(folder_with(names[m], "{", "{"));
        for (size_t i = 0; i < RF_COUNT(parts); i++) {
            size_t n = 0;
            for (const size_t one = strlen(parts[i]); n < SIZE; n += one) memcpy(text + n, parts[i], one);
            assert_true(seconds_of(t, &e, text, n) < 60);
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
    free(text);
}

static void memory_that_ends(void **state)
{
    (void)state;
    static const char *const few[] = {"modernbert", "roberta"};
    for (size_t i = 0; i < RF_COUNT(few); i++) {
        round_trip r = {.text = "the e\xCC\x81   \xF0\x9F\x99\x82"};
        snprintf(r.folder, sizeof r.folder, "%s", folder_with(few[i], "{", "{"));
        assert_int_equal(t_fail_allocations(1, NULL, there_and_back, &r), 0);
    }
}

/* A token that neither the file nor the settings have is text. */
static void no_token_is_invented(void **state)
{
    (void)state;
    rf_encoding e;
    rf_error why = {0};
    rf_tokenizer *t = opened(folder_with("gpt2", "[MASK]", "<|end|>"));
    char *about = rf_tokenizer_describe(t);
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_tokenizer_mask(t), -1);
    assert_null(strstr(about, "MASK"));
    rf_text_free(t, about);
    if (rf_encode(t, "[MASK]", 6, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
    assert_true(e.n > 1);
    for (size_t i = 0; i < e.n; i++) assert_true(e.id[i] < rf_tokenizer_size(t));
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* A byte without a piece becomes two pieces of a fallback, which share its place: also if the word is known. */
static void a_word_again(void **state)
{
    (void)state;
    static const char file[] =
        "{\"added_tokens\":[],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{"
        "\"type\":\"BPE\",\"byte_fallback\":true,\"merges\":[],\"vocab\":{\"\u00c2\":0,\"<0xC5>\":1,\"<0x83>\":2}}}";
    const char *folder = t_folder();
    rf_encoding e;
    rf_error why = {0};
    t_write(folder, "tokenizer.json", file, sizeof file - 1);
    t_write(folder, "tokenizer_config.json", "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", 45);
    rf_tokenizer *t = opened(folder);
    rf_encoding_init(&e, ctx);
    for (int again = 0; again < 2; again++) {
        if (rf_encode(t, "\u00ad", 2, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(e.n, 3);
        for (int32_t i = 0; i < 3; i++) {
            assert_int_equal(e.id[i], i);
            assert_int_equal(e.start[i], 0);
            assert_int_equal(e.end[i], 2);
        }
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* process_offsets of tokenizers: of more blanks than there are characters, none is removed at the end. */
static void trimmed(void **state)
{
    (void)state;
    static const struct { const char *name; uint32_t from, to, left, right; } row[] = {
        {"z", 0, 2, 0, 2}, {"z ", 0, 2, 0, 0}, {"z  ", 0, 2, 0, 2}, {"z  ", 2, 4, 2, 2}, {" ", 0, 2, 2, 2},
    };
    const rf_tokenizer t = {.trims = true};
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        uint32_t from = row[i].from, to = row[i].to;
        rf__trim_offsets(&t, "\u01c5  ", row[i].name, strlen(row[i].name), false, &from, &to);
        if (from != row[i].left || to != row[i].right) fail_msg("%zu: [%u, %u)", i, (unsigned)from, (unsigned)to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tokenizers_has_it), cmocka_unit_test(parts_of_characters),
        cmocka_unit_test(words_of_the_cache),   cmocka_unit_test(kept_characters),
        cmocka_unit_test(refused),              cmocka_unit_test(no_token_is_invented),
        cmocka_unit_test(a_word_again),         cmocka_unit_test(trimmed),
        cmocka_unit_test(hostile),              cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("text/byte_level", tests, setup, teardown);
}
