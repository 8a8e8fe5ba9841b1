/* The normalizers and pre-tokenizers of a tokenizer.json: ids and offsets of Hugging Face's tokenizers
 * (tools/golden/golden_pipeline.py) for each component alone and in combinations; T_PIPELINES names another file that
 * the script wrote.  Regular expressions that are none or that explode, used by several threads at once.
 * mirrors classes.c, mapped.c, normalizer.c, normalizer_read.c, pre_split.c, pre_tokenizer.c, precompiled.c, regex.c */
#include <pthread.h>
#include <stdlib.h>

#include "one_context.h"

#include "base/json.h"
#include "roformer/tokenizer.h"

static rf_status open_with(const json_t *file, rf_tokenizer **out, rf_error *why)
{
    char *text = rf__json_dump(file, JSON_COMPACT);
    assert_non_null(text);
    static const char *folder;
    if (!folder) folder = t_folder();
    t_write(folder, "tokenizer.json", text, strlen(text));
    free(text);
    return rf_tokenizer_open(ctx, folder, out, why);
}

static json_int_t characters(const char *text, size_t bytes)
{
    json_int_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

static void same(const rf_encoding *e, const json_t *x, const json_t *file, size_t number)
{
    const char *text = json_string_value(json_object_get(x, "text"));
    const json_t *ids = json_object_get(x, "ids"), *offsets = json_object_get(x, "offsets");
    bool good = e->n == json_array_size(ids);
    for (size_t k = 0; k < e->n && good; k++)
        good = e->id[k] == json_integer_value(json_array_get(ids, k)) &&
               characters(text, e->start[k]) == json_integer_value(json_array_get(offsets, 2 * k)) &&
               characters(text, e->end[k]) == json_integer_value(json_array_get(offsets, 2 * k + 1));
    if (good) return;
    print_message("normalizer %s\npre_tokenizer %s\n", json_dumps(json_object_get(file, "normalizer"), JSON_ENCODE_ANY),
                  json_dumps(json_object_get(file, "pre_tokenizer"), JSON_ENCODE_ANY));
    print_message("text %s\n", json_dumps(json_object_get(x, "text"), JSON_ENCODE_ANY));
    for (size_t k = 0; k < e->n; k++)
        print_message(" %d(%d,%d)", (int)e->id[k], (int)characters(text, e->start[k]),
                      (int)characters(text, e->end[k]));
    print_message("\n");
    for (size_t k = 0; k < json_array_size(ids); k++)
        print_message(" %d(%d,%d)", (int)json_integer_value(json_array_get(ids, k)),
                      (int)json_integer_value(json_array_get(offsets, 2 * k)),
                      (int)json_integer_value(json_array_get(offsets, 2 * k + 1)));
    fail_msg("\ncase %zu: other tokens than the expected ones in the second row", number);
}

static void as_tokenizers_has_it(void **state)
{
    const char *path = getenv("T_PIPELINES");
    char *data;
    size_t size, i, k;
    rf_error why = {0};
    rf_encoding e;
    json_t *one, *x;
    (void)state;
    if (!path) path = "tests/golden/pipeline/cases.json";
    if (rf__read_file(ctx, path, 1 << 30, &data, &size, &why)) fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, path, &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    assert_true(json_array_size(json_object_get(all, "cases")) > 0);
    rf_encoding_init(&e, ctx);
    json_array_foreach(json_object_get(all, "cases"), i, one) {
        const json_t *file = json_object_get(one, "tokenizer");
        rf_tokenizer *t = NULL;
        if (open_with(file, &t, &why)) fail_msg("case %zu: %s", i, why.text);
        json_array_foreach(json_object_get(one, "results"), k, x) {
            const json_t *text = json_object_get(x, "text");
            if (rf_encode(t, json_string_value(text), json_string_length(text), NULL, 0, 0, 0, &e, NULL, &why))
                fail_msg("case %zu: %s", i, why.text);
            same(&e, x, file, i);
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
    json_decref(all);
}

/* A tokenizer with Split or Replace by a regular expression. */
static rf_status open_regex(const char *regex, bool replaces, rf_tokenizer **out, rf_error *why)
{
    json_t *own = replaces ? json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "Regex", regex,
                                       "content", "")
                           : json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", regex,
                                       "behavior", "Isolated", "invert", 0);
    json_t *file = json_pack("{s:s, s:o, s:[], s:{s:s, s:s, s:[], s:{s:i, s:i, s:i}}}", "version", "1.0",
                             replaces ? "normalizer" : "pre_tokenizer", own, "added_tokens", "model", "type", "BPE",
                             "unk_token", "<unk>", "merges", "vocab", "<unk>", 0, "a", 1, "b", 2);
    assert_non_null(file);
    const rf_status status = open_with(file, out, why);
    json_decref(file);
    return status;
}

static void wrong_patterns_have_a_reason(void **state)
{
    (void)state;
    for (int replaces = 0; replaces < 2; replaces++) {
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        assert_int_equal(open_regex("(a", replaces, &t, &why), RF_EDATA);
        assert_non_null(strstr(why.text, "(a"));
        assert_non_null(strstr(why.text, replaces ? "normalizer" : "pre_tokenizer"));
    }
}

/* On aaa...bc, (a|aa)+c takes exponential time, and a*(?!bc)[^a] quadratic time. */
static void exploding_patterns_are_stopped(void **state)
{
    static const struct { const char *regex; size_t n; } row[] = {{"(a|aa)+c", 100}, {"a*(?!bc)[^a]", 1 << 16}};
    (void)state;
    for (size_t i = 0; i < 2 * RF_COUNT(row); i++) {
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        rf_encoding e;
        const size_t n = row[i / 2].n;
        char *text = malloc(n);
        assert_non_null(text);
        memset(text, 'a', n - 2);
        memcpy(text + n - 2, "bc", 2);               /* without a c, no search begins                              */
        rf_encoding_init(&e, ctx);
        if (open_regex(row[i / 2].regex, i & 1, &t, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_encode(t, text, n, NULL, 0, 0, 0, &e, NULL, &why), RF_ERANGE);
        assert_non_null(strstr(why.text, "limit"));
        if (rf_encode(t, "ab", 2, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        free(text);
    }
}

/* The same in a decoder, where nothing is decoded. */
static void exploding_decoders_are_stopped(void **state)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    int32_t id[101];
    json_t *file = json_pack("{s:s, s:{s:s, s:[{s:s}, {s:s, s:{s:s}, s:s}]}, s:[], s:{s:s, s:s, s:[], s:{s:i, s:i, "
                             "s:i}}}", "version", "1.0", "decoder", "type", "Sequence", "decoders", "type", "Fuse",
                             "type", "Replace", "pattern", "Regex", "(a|aa)+c", "content", "", "added_tokens", "model",
                             "type", "BPE", "unk_token", "<unk>", "merges", "vocab", "<unk>", 0, "a", 1, "bc", 2);
    (void)state;
    assert_non_null(file);
    if (open_with(file, &t, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < RF_COUNT(id); i++) id[i] = i < 100 ? 1 : 2;
    assert_null(rf_decode(t, id, RF_COUNT(id), 0, 0, NULL));
    char *text = rf_decode(t, id + 97, 4, 0, 0, NULL);
    assert_string_equal(text, "aaabc");
    rf_text_free(t, text);
    rf_tokenizer_free(t);
    json_decref(file);
}

static void *encode_often(void *user)
{
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, ctx);
    size_t good = 0;
    for (int i = 0; i < 200; i++) good += !rf_encode(user, "ab aab b", 8, NULL, 0, 0, 0, &e, NULL, &why) && e.n == 8;
    rf_encoding_clear(&e);
    return good == 200 ? user : NULL;
}

static void threads_share_a_pattern(void **state)
{
    pthread_t thread[4];
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    (void)state;
    if (open_regex("(?<=a)b|\\s+", false, &t, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, encode_often, t), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_ptr_equal(result, t);
    }
    rf_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tokenizers_has_it),
        cmocka_unit_test(wrong_patterns_have_a_reason),
        cmocka_unit_test(exploding_patterns_are_stopped),
        cmocka_unit_test(exploding_decoders_are_stopped),
        cmocka_unit_test(threads_share_a_pattern),
    };
    return cmocka_run_group_tests_name("text/pipeline", tests, setup, teardown);
}
