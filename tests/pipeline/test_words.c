/* test_words.c — mirrors src/pipeline/words.c: predictions of whole words equal those of fill-mask for the same words
 * masked by hand; the selection depends only on the text; rejected input; failing allocations. */
#define _GNU_SOURCE
#include <math.h>

#include "small_pipeline.h"

static setup begin(const char *text)
{
    setup s = {.ctx = t_ctx(2, NULL), .folder = tiny_model()};
    random_weights(s.ctx, s.folder, 7);
    t_write(s.folder, "held.txt", text, strlen(text));
    s.path = tiny_path(s.folder, "held.txt");
    open_pipeline(&s);
    return s;
}

static rf_word_results prediction(setup *s, const rf_word_options *o)
{
    const rf_word_results *out;
    const char *path = s->path;
    if (rf_predict_words(s->p, &path, 1, o, &out, &s->why)) fail_msg("%s", s->why.text);
    return *out;
}

/* log p of the word's tokens at n masks, and whether all of them are the likeliest. */
static double by_hand(setup *s, const char *text, const char *const token[], int n, bool *right)
{
    const rf_mask *mask;
    int64_t masks;
    rf_fill_options o;
    rf_fill_defaults(&o);
    o.top_k = 34;
    if (rf_fill_mask(s->p, &text, NULL, 1, &o, &mask, &masks, NULL, &s->why)) fail_msg("%s", s->why.text);
    assert_int_equal(masks, n);
    double sum = 0;
    *right = true;
    for (int i = 0; i < n; i++) {
        *right = *right && !strcmp(mask[i].word[0].token, token[i]);
        for (int64_t k = 0; k < mask[i].words; k++)
            if (!strcmp(mask[i].word[k].token, token[i])) sum += log((double)mask[i].word[k].score);
    }
    return sum;
}

/* "don't" and "b2" are not words, "zebra" cannot be spelled by the vocabulary, "Walking" is two tokens. */
static void a_word_is_worth_what_fill_mask_says(void **state)
{
    (void)state;
    setup s = begin("the old Cat is Walking the tree . don't b2 \xc3\xa9" "a zebra");
    static const struct { const char *text; const char *token[2]; int n; } place[] = {
        {"[MASK] old cat is walking the tree . don't b2 \xc3\xa9" "a zebra", {"the"}, 1},
        {"the [MASK] cat is walking the tree . don't b2 \xc3\xa9" "a zebra", {"old"}, 1},
        {"the old [MASK] is walking the tree . don't b2 \xc3\xa9" "a zebra", {"cat"}, 1},
        {"the old cat [MASK] walking the tree . don't b2 \xc3\xa9" "a zebra", {"is"}, 1},
        {"the old cat is [MASK] [MASK] the tree . don't b2 \xc3\xa9" "a zebra", {"walk", "##ing"}, 2},
        {"the old cat is walking [MASK] tree . don't b2 \xc3\xa9" "a zebra", {"the"}, 1},
        {"the old cat is walking the [MASK] . don't b2 \xc3\xa9" "a zebra", {"tree"}, 1},
    };
    const rf_word_results got = prediction(&s, NULL);
    double nats = 0;
    int64_t right = 0, single = 0;
    for (size_t i = 0; i < RF_COUNT(place); i++) {
        bool all;
        nats -= by_hand(&s, place[i].text, place[i].token, place[i].n, &all);
        right += all;
        single += all && place[i].n == 1;
    }
    assert_int_equal(got.of, 8);
    assert_int_equal(got.words, 8);
    assert_int_equal(got.unknown, 1);
    assert_int_equal(got.single, 7);
    assert_int_equal(got.tokens, 8);
    assert_int_equal(got.characters, 3 + 3 + 3 + 2 + 7 + 3 + 4);
    assert_int_equal(got.right, right);
    assert_int_equal(got.single_right, single);
    assert_true(fabs(got.nats - nats) < 1e-4 * nats);          /* scores of fill-mask are floats: 2^-24 each          */
    end(&s);
}

/* A smaller number selects a subset of the same positions, whatever the batches, and the context is the text around the
 * word. */
static void which_words_follows_from_the_text_alone(void **state)
{
    (void)state;
    setup s = begin("x");
    tiny_write_corpus(s.folder, "held.txt", 40, 3);
    rf_word_options o;
    rf_word_defaults(&o);
    o.words = 50;
    const rf_word_results some = prediction(&s, &o);
    assert_int_equal(some.words, 50);
    assert_int_equal(some.documents, 40);
    assert_true(some.of > 1000);
    o.batch_tokens = 1;
    const rf_word_results alone = prediction(&s, &o);
    assert_memory_equal(&alone, &some, sizeof some);
    o.context = 0;                                            /* only the masks: some of them are as many             */
    const rf_word_results bare = prediction(&s, &o);
    assert_int_equal(bare.characters, some.characters);
    assert_true(fabs(bare.nats - some.nats) > 1e-3);
    o.context = 1 << 20;                                      /* more text than positions: keeps the nearest text */
    const rf_word_results whole = prediction(&s, &o);
    assert_int_equal(whole.characters, some.characters);
    end(&s);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    setup s = begin("1 2 3 !");
    const rf_word_results *out;
    const char *path = s.path;
    rf_word_options o;
    assert_int_equal(rf_predict_words(s.p, &path, 1, NULL, &out, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected words of ASCII letters");
    for (int i = 0; i < 3; i++) {
        rf_word_defaults(&o);
        if (i == 0) o.words = 0;
        if (i == 1) o.context = -1;
        if (i == 2) o.batch_tokens = 0;
        assert_int_equal(rf_predict_words(s.p, &path, 1, &o, &out, &s.why), RF_EARG);
    }
    assert_int_equal(rf_predict_words(NULL, &path, 1, NULL, &out, &s.why), RF_EARG);
    path = "no-such-file";
    assert_int_equal(rf_predict_words(s.p, &path, 1, NULL, &out, NULL), RF_EIO);
    end(&s);
}

static void memory_that_ends(void **state)
{
    (void)state;
    setup s = begin("the old cat is walking .");
    long calls = 1;
    for (long fail = 1; fail <= calls; fail++) {
        t_memory memory = {.fail = fail, .forever = true};
        rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
        rf_pipeline *p = NULL;
        const rf_word_results *out;
        rf_error why = {0};
        const char *path = s.path;
        const bool failed = rf_pipeline_open(ctx, s.folder, RF_F32, &p, &why) ||
                            rf_predict_words(p, &path, 1, NULL, &out, &why);
        rf_pipeline_close(p);
        assert_int_equal(failed ? why.code : RF_OK, memory.calls >= fail ? RF_ENOMEM : RF_OK);
        calls = memory.calls >= fail ? fail + 1 : fail;
        rf_ctx_free(ctx);
        assert_int_equal(memory.live, 0);
    }
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_is_worth_what_fill_mask_says),
        cmocka_unit_test(which_words_follows_from_the_text_alone),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
        cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("pipeline/words", tests, NULL, NULL);
}
