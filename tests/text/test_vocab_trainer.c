/* Training of a vocabulary, compared with a trainer that recounts everything in every step, and its guarantees. mirrors
 * vocab_trainer.c, counter.c */
#include "one_context.h"

#include "text/wordpiece/wordpiece.h"

static rf_vocab_trainer *trainer(size_t words)
{
    rf_vocab_trainer *v = NULL;
    rf_error why = {0};
    if (rf__vocab_trainer_new(ctx, NULL, words, &v, &why)) fail_msg("%s", why.text);
    return v;
}

static void feed(rf_vocab_trainer *v, const char *text)
{
    rf_error why = {0};
    if (rf__vocab_trainer_feed(v, text, strlen(text), &why)) fail_msg("%s", why.text);
}

/* The vocabulary as a text that the test owns. */
static char *learned(rf_vocab_trainer *v, int32_t size, int32_t alphabet, uint64_t least)
{
    char *text = NULL;
    size_t bytes = 0;
    rf_error why = {0};
    if (rf__vocab_trainer_learn(v, size, alphabet, least, NULL, NULL, &text, &bytes, &why)) fail_msg("%s", why.text);
    char *copy = calloc(bytes + 1, 1);
    memcpy(copy, text, bytes);
    rf__vocab_trainer_release(v, text);
    return copy;
}

/* ---- the plain learner: words of a to h only, everything recounted for every merge ---- */

enum { WORDS = 400, LENGTH = 12, TOKENS = 200 };

static struct { int sym[LENGTH], n, count; char text[LENGTH + 1]; } word[WORDS];
static int words;
static char token[TOKENS][LENGTH + 3];
static int tokens;

static int token_id(const char *text)
{
    for (int i = 0; i < tokens; i++)
        if (!strcmp(token[i], text)) return i;
    strcpy(token[tokens], text);
    return tokens++;
}

static void count_word(const char *text)
{
    for (int i = 0; i < words; i++)
        if (!strcmp(word[i].text, text)) {
            word[i].count++;
            return;
        }
    strcpy(word[words].text, text);
    word[words++].count = 1;
}

static void plain_alphabet(void)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    bool seen[2][26] = {{false}};
    for (int i = 0; i < 5; i++) token_id(special[i]);
    for (int w = 0; w < words; w++)
        for (int i = 0; word[w].text[i]; i++) {
            seen[0][word[w].text[i] - 'a'] = true;
            if (i) seen[1][word[w].text[i] - 'a'] = true;
        }
    for (int tail = 0; tail < 2; tail++)
        for (int c = 0; c < 26; c++)
            if (seen[tail][c]) token_id(tail ? (char[]){'#', '#', (char)('a' + c), 0} : (char[]){(char)('a' + c), 0});
    for (int w = 0; w < words; w++)
        for (int i = 0; word[w].text[i]; i++, word[w].n++)
            word[w].sym[i] = token_id(i ? (char[]){'#', '#', word[w].text[i], 0} : (char[]){word[w].text[i], 0});
}

static bool plain_merge(int least)
{
    static int count[TOKENS][TOKENS];
    memset(count, 0, sizeof count);
    for (int w = 0; w < words; w++)
        for (int i = 0; i + 1 < word[w].n; i++) count[word[w].sym[i]][word[w].sym[i + 1]] += word[w].count;
    int a = 0, b = 0;
    for (int i = 0; i < tokens; i++)
        for (int k = 0; k < tokens; k++)
            if (count[i][k] > count[a][b]) a = i, b = k;
    if (count[a][b] < least) return false;
    char text[2 * LENGTH + 4];
    snprintf(text, sizeof text, "%s%s", token[a], token[b] + 2);
    const int ab = token_id(text);
    for (int w = 0; w < words; w++) {
        int n = 0;
        for (int i = 0; i < word[w].n; i++) {
            const bool here = i + 1 < word[w].n && word[w].sym[i] == a && word[w].sym[i + 1] == b;
            word[w].sym[n++] = here ? ab : word[w].sym[i];
            i += here;
        }
        word[w].n = n;
    }
    return true;
}

static void equals_the_plain_learner(void **state)
{
    (void)state;
    rf_rng r;
    rf_rng_init(&r, 11, 1);
    rf_vocab_trainer *v = trainer(1000);
    for (int i = 0; i < 3000; i++) {
        char text[LENGTH + 2];
        const uint32_t kind = rf_rng_below(&r, 1 + rf_rng_below(&r, 300));     /* small numbers are frequent        */
        rf_rng q;
        rf_rng_init(&q, kind, 2);
        const int n = 1 + (int)rf_rng_below(&q, LENGTH - 1);
        for (int k = 0; k < n; k++) text[k] = (char)('a' + rf_rng_below(&q, 1 + rf_rng_below(&q, 8)));
        text[n] = 0;
        count_word(text);
        strcat(text, " ");
        feed(v, text);
    }
    plain_alphabet();
    while (tokens < 150 && plain_merge(2)) continue;
    assert_int_equal(tokens, 150);
    char *got = learned(v, 150, 1000, 2), *rest = got;
    for (int i = 0; i < tokens; i++) {
        char *end = strchr(rest, '\n');
        assert_non_null(end);
        *end = 0;
        if (strcmp(rest, token[i]) != 0) fail_msg("token %d is \"%s\", expected \"%s\"", i, rest, token[i]);
        rest = end + 1;
    }
    assert_string_equal(rest, "");
    free(got);
    rf__vocab_trainer_free(v);
}

static void small_cases(void **state)
{
    (void)state;
    rf_vocab_trainer *v = trainer(100);
    feed(v, "aaaa aaaa!\n\xC3\x84 b");
    char *text = learned(v, 100, 1000, 2);
    assert_string_equal(text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n!\na\nb\n##a\n##aa\naaa\naaaa\n");
    free(text);
    text = learned(v, 100, 1, 2);                          /* an alphabet of one: the most frequent character         */
    assert_non_null(strstr(text, "[MASK]\na\n##a\n"));
    assert_null(strchr(text, '!'));
    free(text);
    text = learned(v, 9, 1000, 2);
    assert_string_equal(text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n!\na\nb\n##a\n");
    free(text);
    rf__vocab_trainer_free(v);
}

static void the_order_of_texts_does_not_matter(void **state)
{
    (void)state;
    static const char *const text[] = {"the cat sat on the mat ", "a cat and a dog ",
                                       "dogs chase cats, cats chase mice. ",
                                       "\xE6\xBC\xA2\xE5\xAD\x97 \xE6\xBC\xA2 na\xC3\xAFve "};
    rf_vocab_trainer *v = trainer(1000), *u = trainer(1000);
    for (int i = 0; i < 4; i++) {
        feed(v, text[i]);
        feed(u, text[3 - i]);
    }
    char *a = learned(v, 60, 1000, 1), *b = learned(u, 60, 1000, 1);
    assert_string_equal(a, b);
    rf_tokenizer *t = NULL;
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    assert_int_equal(rf_tokenizer_new(ctx, a, strlen(a), "learned", NULL, &t, NULL), RF_OK);
    for (int i = 0; i < 4; i++) {                          /* no piece of its own text is unknown                     */
        assert_int_equal(rf_encode(t, text[i], strlen(text[i]), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, NULL), RF_OK);
        for (size_t k = 0; k < e.n; k++) assert_int_not_equal(e.id[k], rf_tokenizer_unk(t));
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    free(a);
    free(b);
    rf__vocab_trainer_free(v);
    rf__vocab_trainer_free(u);
}

/* More distinct words than are kept: frequent ones survive, memory is bounded. */
static void rare_words_are_forgotten(void **state)
{
    (void)state;
    t_memory m = {0};
    rf_ctx *c = t_counting_ctx(1, NULL, &m);
    rf_vocab_trainer *v = NULL;
    assert_int_equal(rf__vocab_trainer_new(c, NULL, 1000, &v, NULL), RF_OK);
    for (int i = 0; i < 100000; i++) {
        char text[64];
        snprintf(text, sizeof text, "frequent x%dy%d ", i, i * 7);
        assert_int_equal(rf__vocab_trainer_feed(v, text, strlen(text), NULL), RF_OK);
    }
    assert_true(m.peak < 8 << 20);
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(rf__vocab_trainer_learn(v, 60, 100, 2, NULL, NULL, &text, &bytes, NULL), RF_OK);
    assert_non_null(strstr(text, "\nfrequent\n"));
    rf__vocab_trainer_release(v, text);
    rf__vocab_trainer_free(v);
    rf_ctx_free(c);
    assert_int_equal(m.live, 0);
}

static void refusals(void **state)
{
    (void)state;
    rf_vocab_trainer *v = NULL;
    rf_error why = {0};
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(rf__vocab_trainer_new(ctx, NULL, 0, &v, &why), RF_EARG);
    assert_int_equal(rf__vocab_trainer_new(NULL, NULL, 100, &v, NULL), RF_EARG);
    assert_int_equal(rf__vocab_trainer_new(ctx, NULL, 100, NULL, NULL), RF_EARG);
    v = trainer(100);
    why = (rf_error){0};
    assert_int_equal(rf__vocab_trainer_feed(v, "ab\xFF", 3, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "byte 2");
    why = (rf_error){0};
    assert_int_equal(rf__vocab_trainer_learn(v, 100, 100, 1, NULL, NULL, &text, &bytes, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "no word");
    feed(v, "a");
    assert_int_equal(rf__vocab_trainer_learn(v, 5, 100, 1, NULL, NULL, &text, &bytes, NULL), RF_EARG);
    assert_int_equal(rf__vocab_trainer_learn(v, 100, 0, 1, NULL, NULL, &text, &bytes, NULL), RF_EARG);
    rf__vocab_trainer_free(v);
}

static rf_status learn_a_little(const rf_ctx *c, void *arg, rf_error *why)
{
    (void)arg;
    static const char text_of_it[] = "banana bandana \xC3\xA9t\xC3\xA9 banana !";
    rf_vocab_trainer *v = NULL;
    char *text = NULL;
    size_t bytes;
    rf_status status = rf__vocab_trainer_new(c, NULL, 100, &v, why);
    if (!status) status = rf__vocab_trainer_feed(v, text_of_it, sizeof text_of_it - 1, why);
    if (!status) status = rf__vocab_trainer_learn(v, 40, 100, 1, NULL, NULL, &text, &bytes, why);
    if (text) rf__vocab_trainer_release(v, text);
    rf__vocab_trainer_free(v);
    return status;
}

static void failing_memory(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, learn_a_little, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_plain_learner),
        cmocka_unit_test(small_cases),
        cmocka_unit_test(the_order_of_texts_does_not_matter),
        cmocka_unit_test(rare_words_are_forgotten),
        cmocka_unit_test(refusals),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests_name("text/vocab_trainer", tests, setup, teardown);
}
