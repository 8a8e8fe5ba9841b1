/* Valid and invalid vocabularies, flags and limits of encoding, adversarial text, failing allocations, threads. */
#define _GNU_SOURCE
#include "t.h"

#include <pthread.h>

#include "roformer/tokenizer.h"
#include "text/wordpiece/wordpiece.h"

#define SPECIALS "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
static const char small[] = SPECIALS "a\nb\n##a\n##b\nab\n##ab\n!\n[\n]\nmask\nthe\n\xC3\xA9\n\xE6\xBC\xA2\n";
enum { PAD, UNK, CLS, SEP, MASK, A, B, _A, _B, AB, _AB, BANG, OPEN, CLOSE, WORD_MASK, THE, E_ACUTE, HAN };

static rf_ctx *ctx;
static rf_encoding e;

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(1, NULL);
    rf_encoding_init(&e, ctx);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rf_encoding_clear(&e);
    rf_ctx_free(ctx);
    return 0;
}

static rf_tokenizer *make(const char *vocab, size_t size, const rf_tokenizer_options *o)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_new(ctx, vocab, size, "vocab.txt", o, &t, &why)) fail_msg("%s", why.text);
    return t;
}

static rf_tokenizer *make_small(void) { return make(small, sizeof small - 1, NULL); }

static void encode(const rf_tokenizer *t, const char *text, size_t size, int flags)
{
    rf_error why = {0};
    if (rf_encode(t, text, size, NULL, 0, 0, flags, &e, NULL, &why)) fail_msg("%s", why.text);
}

/* ids ends with -1 */
static void gives(const rf_tokenizer *t, const char *text, int flags, const int32_t *ids)
{
    size_t n = 0;
    encode(t, text, strlen(text), flags);
    for (; ids[n] >= 0; n++)
        if (n >= e.n || e.id[n] != ids[n])
            fail_msg("\"%s\": token %zu is %d, expected %d", text, n, n < e.n ? e.id[n] : -1, ids[n]);
    if (n != e.n) fail_msg("\"%s\": %zu tokens, expected %zu", text, e.n, n);
}
#define GIVES(t, text, flags, ...) gives(t, text, flags, (const int32_t[]){__VA_ARGS__, -1})

static void pieces_and_specials(void **state)
{
    (void)state;
    rf_tokenizer *t = make_small();
    GIVES(t, "ab", 0, CLS, AB, SEP);
    GIVES(t, "ABAB", RF_ENCODE_PLAIN, AB, _AB);
    GIVES(t, "aab!a", RF_ENCODE_PLAIN, A, _AB, BANG, A);
    GIVES(t, "abc", RF_ENCODE_PLAIN, UNK);
    GIVES(t, "", 0, CLS, SEP);
    gives(t, " \t\n ", RF_ENCODE_PLAIN, (const int32_t[]){-1});
    GIVES(t, "a[MASK]b [mask]", RF_ENCODE_PLAIN, A, MASK, B, OPEN, WORD_MASK, CLOSE);
    GIVES(t, "[MASK]", RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, OPEN, WORD_MASK, CLOSE);
    GIVES(t, "\xC3\x84\xE6\xBC\xA2\xC3\xA9", RF_ENCODE_PLAIN, A, HAN, UNK);
    assert_int_equal(rf_tokenizer_size(t), HAN + 1);
    assert_int_equal(rf_tokenizer_id(t, "##ab"), _AB);
    assert_int_equal(rf_tokenizer_id(t, "nothing"), -1);
    assert_string_equal(rf_tokenizer_token(t, THE), "the");
    assert_null(rf_tokenizer_token(t, HAN + 1));
    assert_null(rf_tokenizer_token(t, -1));
    assert_true(rf_tokenizer_continues(t, _A) && !rf_tokenizer_continues(t, A));
    assert_true(rf_tokenizer_is_special(t, MASK) && rf_tokenizer_is_special(t, PAD) &&
                !rf_tokenizer_is_special(t, THE));
    assert_int_equal(rf_tokenizer_unk(t) + rf_tokenizer_cls(t) + rf_tokenizer_sep(t) + rf_tokenizer_pad(t) +
                     rf_tokenizer_mask(t), 10);
    assert_string_equal(rf_tokenizer_options_of(t)->mask, "[MASK]");
    rf_tokenizer_free(t);
}

static void offsets_are_bytes_of_the_text(void **state)
{
    (void)state;
    rf_tokenizer *t = make_small();
    encode(t, "  A\xCC\x81" "B \xC3\x80[MASK]", 14, 0);       /* A acute, B; A grave; [MASK] cut off before its end   */
    assert_int_equal(e.n, 5 + 1);
    assert_int_equal(e.id[1], AB);
    assert_int_equal(e.start[1], 2);
    assert_int_equal(e.end[1], 6);
    assert_int_equal(e.start[2], 7);
    assert_int_equal(e.end[2], 9);
    assert_int_equal(e.start[3], 9);
    assert_true(e.added[0] && e.added[e.n - 1] && !e.added[1]);
    assert_int_equal(e.start[0] + e.end[0] + e.start[e.n - 1] + e.end[e.n - 1], 0);
    rf_tokenizer_free(t);
}

static void pairs_limits_and_appending(void **state)
{
    (void)state;
    rf_tokenizer *t = make_small();
    rf_error why = {0};
    size_t dropped = 99;
    assert_int_equal(rf_encode(t, "a a a a", 7, "b", 1, 6, 0, &e, &dropped, &why), RF_OK);
    assert_int_equal(e.n, 6);
    assert_int_equal(dropped, 2);
    const int32_t expected[] = {CLS, A, A, SEP, B, SEP}, type[] = {0, 0, 0, 0, 1, 1};
    assert_memory_equal(e.id, expected, sizeof expected);
    assert_memory_equal(e.type, type, sizeof type);
    assert_int_equal(rf_encode(t, "ab", 2, NULL, 0, 0, RF_ENCODE_APPEND | RF_ENCODE_PLAIN, &e, &dropped, &why), RF_OK);
    assert_int_equal(e.n, 7);
    assert_int_equal(e.id[6], AB);
    assert_int_equal(e.type[6], 0);
    assert_int_equal(dropped, 0);
    assert_int_equal(rf_encode(t, "a", 1, "", 0, 0, 0, &e, NULL, &why), RF_OK);
    assert_int_equal(e.n, 4);
    assert_int_equal(rf_encode(t, "a", 1, "b", 1, 2, 0, &e, NULL, &why), RF_EARG);
    t_failed(&why, RF_EARG, "encode: max_length: expected ... 3 special tokens, got 2");
    rf_tokenizer_free(t);
}

static void text_must_be_utf8(void **state)
{
    (void)state;
    static const struct { const char *text; size_t size, at;
    } bad[] = {
        {"abc\xFF", 4, 3},          {"\xC0\x80", 2, 0},
        {"a\xE0\x80\x80", 4, 1},    {"\xED\xA0\x80", 3, 0},
        {"\xF4\x90\x80\x80", 4, 0}, {"a\xC3", 2, 1},
        {"12345678\x80", 9, 8},     {"\xF0\x80\x80\x80", 4, 0},
        {"\xE6\xBC", 2, 0},         {"a\xF8\x88\x80\x80\x80", 6, 1},
    };
    rf_tokenizer *t = make_small();
    encode(t, "ab", 2, 0);
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        char expected[32];
        snprintf(expected, sizeof expected, "byte %zu ", bad[i].at);
        assert_int_equal(rf_encode(t, bad[i].text, bad[i].size, NULL, 0, 0, 0, &e, NULL, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, expected);
        assert_int_equal(e.n, 3);                         /* what was there is still there                            */
    }
    rf_error why = {0};
    assert_int_equal(rf_encode(t, "a", 1, "\xFF", 1, 0, 0, &e, NULL, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "second text");
    GIVES(t, "\xEF\xBF\xBE\xF4\x8F\xBF\xBF", RF_ENCODE_PLAIN, UNK);
    rf_tokenizer_free(t);
}

static void bad_vocabularies_are_refused(void **state)
{
    (void)state;
    static const struct { const char *text; rf_status status; const char *part; } bad[] = {
        {"", RF_EDATA, "empty"}, {"\n\n", RF_EDATA, "[UNK]"}, {"[PAD]\n[CLS]\n[SEP]\n[MASK]\n", RF_EDATA, "[UNK]"},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", RF_EDATA, "[MASK]"}, {SPECIALS "a\n\xFF\n", RF_EDATA, ":7: "},
        {"\xEF\xBB\xBF" SPECIALS, RF_EDATA, "byte order mark"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        rf_tokenizer *t = NULL;
        assert_int_equal(rf_tokenizer_new(ctx, bad[i].text, strlen(bad[i].text), "vocab.txt", NULL, &t, &why),
                         bad[i].status);
        t_failed(&why, bad[i].status, bad[i].part);
        assert_non_null(strstr(why.text, "vocab.txt"));
        assert_null(t);
    }
    rf_tokenizer_options o;
    rf_tokenizer_defaults(&o);
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    o.max_word = 0;
    assert_int_equal(rf_tokenizer_new(ctx, small, sizeof small - 1, "v", &o, &t, &why), RF_EARG);
}

static void lines_end_as_in_the_rules(void **state)
{
    (void)state;
    static const char crlf[] = "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\na \r\nb\rc\r\na\r\n\r\nend";
    rf_tokenizer_options o;
    rf_tokenizer_defaults(&o);
    rf_tokenizer *rust = make(crlf, sizeof crlf - 1, &o);
    o.rules = RF_RULES_PYTHON;
    rf_tokenizer *python = make(crlf, sizeof crlf - 1, &o);
    assert_int_equal(rf_tokenizer_id(rust, "a"), 7);       /* "a " lost its space and is hidden by the later line     */
    assert_null(rf_tokenizer_token(rust, 5));
    assert_string_equal(rf_tokenizer_token(rust, 6), "b\rc");
    assert_int_equal(rf_tokenizer_id(rust, "end"), 9);
    assert_int_equal(rf_tokenizer_size(rust), 10);
    assert_int_equal(rf_tokenizer_id(python, "a "), 5);
    assert_int_equal(rf_tokenizer_id(python, "b"), 6);
    assert_int_equal(rf_tokenizer_id(python, "c"), 7);
    assert_int_equal(rf_tokenizer_id(python, "a"), 8);
    assert_int_equal(rf_tokenizer_id(python, "end"), 10);
    rf_tokenizer_free(rust);
    rf_tokenizer_free(python);
}

/* Long words, long runs of marks, only spaces: the results, and that they arrive at all. */
static void hostile_texts(void **state)
{
    (void)state;
    enum { MANY = 1000000 };
    rf_tokenizer *t = make_small();
    char *text = malloc(3 * MANY);
    memset(text, 'a', MANY);
    encode(t, text, MANY, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.id[0], UNK);
    assert_int_equal(e.end[0], MANY);
    encode(t, text, 100, RF_ENCODE_PLAIN);                 /* the longest word that is looked up                      */
    assert_int_equal(e.n, 100);
    encode(t, text, 101, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, 1);
    memset(text, ' ', MANY);
    encode(t, text, MANY, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, 0);
    memset(text, 0, MANY);
    encode(t, text, MANY, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, 0);
    memset(text, '!', MANY);
    encode(t, text, MANY, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, MANY);
    char *p = text;
    *p++ = 'a';
    for (int i = 0; i < 100000; i++) {                     /* classes 230, 220, 1                                     */
        memcpy(p, i % 3 == 0 ? "\xCC\x81" : i % 3 == 1 ? "\xCC\xA3" : "\xCC\xB4", 2);
        p += 2;
    }
    *p++ = 'b';
    encode(t, text, (size_t)(p - text), RF_ENCODE_PLAIN);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.id[0], AB);
    assert_int_equal(e.end[0], p - text);
    for (size_t i = 0; i < MANY / 6; i++) memcpy(text + 6 * i, "[MASK]", 6);
    encode(t, text, MANY / 6 * 6, RF_ENCODE_PLAIN);
    assert_int_equal(e.n, MANY / 6);
    free(text);
    rf_tokenizer_free(t);
}

/* A token may be in its cache line for one tokenizer and have another id in the next. */
static void one_encoding_serves_several_tokenizers(void **state)
{
    (void)state;
    static const char other[] = SPECIALS "b\na\nab\n";
    rf_tokenizer *t = make_small(), *u = make(other, sizeof other - 1, NULL);
    for (int i = 0; i < 3; i++) {
        GIVES(t, "ab a", RF_ENCODE_PLAIN, AB, A);
        GIVES(u, "ab a", RF_ENCODE_PLAIN, 7, 6);
    }
    rf_tokenizer_free(t);
    rf_tokenizer_free(u);
}

/* The n-th allocation fails, for every n: a status and no leak. */
static rf_status pair_and_back(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    static const char text[] = "ab a\xCC\x81\xE6\xBC\xA2 abababababababababababababababababab \xC3\xA9\xC3\xA9[MASK] !";
    rf_tokenizer *t = NULL;
    rf_encoding x;
    rf_encoding_init(&x, c);
    rf_status status = rf_tokenizer_new(c, small, sizeof small - 1, "v", NULL, &t, why);
    if (!status) status = rf_encode(t, text, sizeof text - 1, text, sizeof text - 1, 0, 0, &x, NULL, why);
    if (!status) {
        char *back = rf_decode(t, x.id, x.n, 0, 1, NULL);
        if (!back) status = RF_ENOMEM;
        rf_text_free(t, back);
    }
    rf_encoding_clear(&x);
    rf_tokenizer_free(t);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, pair_and_back, NULL);
}

/* ---- threads ---- */

typedef struct job { const rf_tokenizer *t; rf_ctx *ctx; size_t tokens; } job;

static void *work(void *arg)
{
    job *j = arg;
    rf_encoding x;
    rf_encoding_init(&x, j->ctx);
    for (int i = 0; i < 2000; i++) {
        static const char text[] = "ab aab \xC3\xA9 the [MASK] \xE6\xBC\xA2!";
        if (!rf_encode(j->t, text, sizeof text - 1, NULL, 0, 0, 0, &x, NULL, NULL)) j->tokens += x.n;
    }
    rf_encoding_clear(&x);
    return NULL;
}

static void threads_share_a_tokenizer(void **state)
{
    (void)state;
    rf_tokenizer *t = make_small();
    job j[4];
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        j[i] = (job){t, ctx, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &j[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++) assert_int_equal(j[i].tokens, j[0].tokens);
    rf_tokenizer_free(t);
}

/* Thue-Morse words and their complements have the same polynomial hash modulo 2^64, for every base.  Of 512 tokens made
 * of nine of those each, a good hash puts no 64 next to each other: a look-up ends after a few steps. */
static void a_hostile_vocabulary(void **state)
{
    (void)state;
    enum { WORD = 1024, WORDS = 9, N = 1 << WORDS };
    const size_t size = sizeof SPECIALS - 1 + (size_t)N * (WORD * WORDS + 1);
    char *text = malloc(size), *to = text + sizeof SPECIALS - 1;
    memcpy(text, SPECIALS, sizeof SPECIALS - 1);
    for (unsigned token = 0; token < N; token++, *to++ = '\n')
        for (unsigned word = 0; word < WORDS; word++)
            for (unsigned i = 0; i < WORD; i++)
                *to++ = (char)('a' + ((unsigned)__builtin_popcount(i) + (token >> word)) % 2);
    rf_tokenizer *t = make(text, size, NULL);
    const rf_slots *s = &rf__as_wordpiece(t)->vocab.whole;
    size_t run = 0, longest = 0;
    for (size_t i = 0; i <= s->mask; i++) {
        run = s->at[i].id < 0 ? 0 : run + 1;
        if (run > longest) longest = run;
    }
    if (longest >= 64) fail_msg("%zu tokens side by side", longest);
    for (int32_t id = 5; id < 5 + N; id += 37) assert_int_equal(rf_tokenizer_id(t, rf_tokenizer_token(t, id)), id);
    rf_tokenizer_free(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_vocabulary),
        cmocka_unit_test(pieces_and_specials),
        cmocka_unit_test(offsets_are_bytes_of_the_text),
        cmocka_unit_test(pairs_limits_and_appending),
        cmocka_unit_test(text_must_be_utf8),
        cmocka_unit_test(bad_vocabularies_are_refused),
        cmocka_unit_test(lines_end_as_in_the_rules),
        cmocka_unit_test(hostile_texts),
        cmocka_unit_test(one_encoding_serves_several_tokenizers),
        cmocka_unit_test(failing_memory),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests_name("text/tokenizer", tests, setup, teardown);
}
