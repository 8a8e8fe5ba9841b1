/* Many texts in one call have the tokens of single calls, with any number of workers; messages name the text. */
#define _GNU_SOURCE
#include "t.h"

#include "roformer/tokenizer.h"

enum { TEXTS = 500 };
static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\n##ab\n!\n\xC3\xA9\n";

typedef struct set { rf_ctx *ctx; rf_tokenizer *t; char *text[TEXTS], *pair[TEXTS]; size_t bytes[TEXTS]; } set;

/* Text i: i % 37 words; every seventh has no second text; every third has no size and ends at its terminating zero. */
static set make(int threads)
{
    set s = {.ctx = t_ctx(threads, NULL)};
    rf_error why = {0};
    if (rf_tokenizer_new(s.ctx, words, sizeof words - 1, "vocab.txt", NULL, &s.t, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < TEXTS; i++) {
        static const char *const word[] = {"ab ", "abab! ", "\xC3\xA9 ", "zz ", "[MASK] "};
        s.text[i] = calloc(1, 400);
        for (int k = 0; k < i % 37; k++) strcat(s.text[i], word[(i + k) % 5]);
        s.pair[i] = i % 7 ? strdup(word[i % 5]) : NULL;
        s.bytes[i] = i % 3 ? strlen(s.text[i]) : (size_t)-1;
    }
    return s;
}

static void drop(set *s)
{
    for (int i = 0; i < TEXTS; i++) free(s->text[i]), free(s->pair[i]);
    rf_tokenizer_free(s->t);
    rf_ctx_free(s->ctx);
}

static void same_as_alone(int threads, bool pairs, size_t limit)
{
    set s = make(threads);
    rf_encoding all, one;
    int64_t start[TEXTS + 1], bad = 7;
    rf_error why = {0};
    rf_encoding_init(&all, s.ctx);
    rf_encoding_init(&one, s.ctx);
    const char *const *text = (const char *const *)s.text, *const *pair = pairs ? (const char *const *)s.pair : NULL;
    if (rf_encode_texts(s.t, text, s.bytes, pair, NULL, TEXTS, limit, 0, &all, start, &bad, &why))
        fail_msg("%s", why.text);
    assert_int_equal(bad, -1);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[TEXTS], all.n);
    for (int i = 0; i < TEXTS; i++) {
        const char *b = pairs ? s.pair[i] : NULL;
        const size_t more = b ? strlen(b) : 0;
        assert_int_equal(rf_encode(s.t, s.text[i], strlen(s.text[i]), b, more, limit, 0, &one, NULL, NULL), 0);
        const size_t at = (size_t)start[i], n = one.n;
        assert_int_equal(start[i + 1] - start[i], n);
        assert_memory_equal(all.id + at, one.id, n * sizeof *one.id);
        assert_memory_equal(all.type + at, one.type, n * sizeof *one.type);
        assert_memory_equal(all.start + at, one.start, n * sizeof *one.start);
        assert_memory_equal(all.end + at, one.end, n * sizeof *one.end);
        assert_memory_equal(all.added + at, one.added, n);
    }
    rf_encoding_clear(&all);
    rf_encoding_clear(&one);
    drop(&s);
}

static void as_alone(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++)
        for (int pairs = 0; pairs < 2; pairs++) same_as_alone(threads, pairs, 0), same_as_alone(threads, pairs, 9);
}

static void errors_name_the_text(void **state)
{
    (void)state;
    set s = make(2);
    rf_encoding e;
    int64_t start[TEXTS + 1], bad = -1;
    rf_error why = {0};
    rf_encoding_init(&e, s.ctx);
    s.text[300][0] = (char)0xFF;
    s.text[400][0] = (char)0xFF;
    const char *const *text = (const char *const *)s.text;
    assert_int_equal(rf_encode_texts(s.t, text, NULL, NULL, NULL, TEXTS, 0, 0, &e, start, &bad, &why), RF_EDATA);
    assert_int_equal(bad, 300);
    assert_int_equal(e.n, 0);
    why = (rf_error){0};
    assert_int_equal(rf_encode_texts(s.t, text, NULL, NULL, NULL, TEXTS, 0, 0, &e, start, NULL, &why), RF_EDATA);
    assert_non_null(strstr(why.text, "301"));
    assert_int_equal(rf_encode_texts(s.t, text, NULL, NULL, NULL, TEXTS, 0, RF_ENCODE_APPEND, &e, start, NULL, NULL),
                     RF_EARG);
    assert_int_equal(rf_encode_texts(s.t, text, NULL, NULL, NULL, -1, 0, 0, &e, start, NULL, NULL), RF_EARG);
    assert_int_equal(rf_encode_texts(s.t, NULL, NULL, NULL, NULL, 0, 0, 0, &e, start, NULL, NULL), RF_OK);
    const char *none[] = {"a", NULL};
    assert_int_equal(rf_encode_texts(s.t, none, NULL, NULL, NULL, 2, 0, 0, &e, start, &bad, NULL), RF_EARG);
    assert_int_equal(bad, 1);
    assert_int_equal(rf_encode_texts(s.t, text, NULL, NULL, NULL, 100, 0, 0, &e, start, &bad, NULL), RF_OK);
    rf_encoding_clear(&e);
    drop(&s);
}

static rf_status many(const rf_ctx *ctx, void *arg, rf_error *why)
{
    rf_tokenizer *t = NULL;
    rf_encoding e;
    int64_t start[41];
    const char *text[40];
    (void)arg;
    for (int i = 0; i < 40; i++) text[i] = "ab abab!";
    rf_encoding_init(&e, ctx);
    rf_status status = rf_tokenizer_new(ctx, words, sizeof words - 1, "vocab.txt", NULL, &t, why);
    if (!status) status = rf_encode_texts(t, text, NULL, NULL, NULL, 40, 0, 0, &e, start, NULL, why);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, many, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_alone),
        cmocka_unit_test(errors_name_the_text),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests_name("text/encode_texts", tests, NULL, NULL);
}
