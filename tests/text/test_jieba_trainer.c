/* test_jieba_trainer.c — mirrors src/text/chinese/jieba_trainer.c: vocabularies of counted words, and failing
 * allocations. */
#define _GNU_SOURCE
#include "jieba_folder.h"

/* Trained on words counted by hand: 我们 2, ab 2; 北京大学 天气 在 的 。 x 1. */
#define TEXT "我们在北京大学。我们的天气 AB\nabx"

static rf_tokenizer *learned(const rf_ctx *c, const rf_tokenizer_train_options *o, rf_error *why)
{
    rf_tokenizer_trainer *v = NULL;
    rf_tokenizer *t = NULL;
    rf_status status = rf_tokenizer_trainer_new(c, "jieba", o, &v, why);
    if (!status) status = rf_tokenizer_trainer_feed(v, TEXT, strlen(TEXT), why);
    if (!status) status = rf_tokenizer_trainer_finish(v, &t, why);
    rf_tokenizer_trainer_free(v);
    return t;
}

static void has_tokens(rf_tokenizer *t, const char *const *token, int32_t n)
{
    assert_int_equal(rf_tokenizer_size(t), n);
    for (int32_t i = 0; i < n; i++) assert_string_equal(rf_tokenizer_token(t, i), token[i]);
}

static void vocabularies(void **state)
{
    (void)state;
    static const char *const by_letters[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",  "b",  "x",
                                             "。",    "京",    "们",    "北",    "在",     "大", "天", "学",
                                             "我",    "气",    "的",    "##b",   "ab",     "我们", "北京大学", "天气"};
    static const char *const by_base[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "我",
                                          "，",    "ab",    "##b",   "我们",  "x",      "。"};
    static const char base[] = "[PAD]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n我\n##我\n，\n##，\nab\na-b\n我的\n##b\n";
    rf_tokenizer_train_options o;
    rf_error why = {0};
    char folder[256], path[300];
    snprintf(folder, sizeof folder, "%s", golden_folder());
    rf_tokenizer_train_defaults(&o);
    assert_null(learned(ctx, &o, &why));
    t_failed(&why, RF_EUNSUPPORTED, "vocabulary: expected a dictionary of words, got none");
    why = (rf_error){0};
    o.dictionary = compiled(folder);
    o.least = 1;
    o.tokens = 100;
    rf_tokenizer *t = learned(ctx, &o, &why);
    has_tokens(t, by_letters, RF_COUNT(by_letters));
    const char *to = t_folder();
    if (rf_tokenizer_save(t, to, &why)) fail_msg("%s", why.text);
    const uint64_t before = rf__tokenizer_fingerprint(t, 1);
    rf_tokenizer_free(t);
    t = opened(to);                                                   /* its dictionary went along */
    assert_true(rf__tokenizer_fingerprint(t, 1) == before);
    rf_tokenizer_free(t);

    o.tokens = 21;                                                    /* an exact size */
    t = learned(ctx, &o, &why);
    has_tokens(t, by_letters, 21);
    rf_tokenizer_free(t);
    o.tokens = 12;
    assert_null(learned(ctx, &o, &why));
    t_failed(&why, RF_EARG, "tokens: expected ... 12");
    why = (rf_error){0};
    t_write(folder, "base.txt", base, sizeof base - 1);
    snprintf(path, sizeof path, "%s/base.txt", folder);
    o.base = path;
    t = learned(ctx, &o, &why);
    has_tokens(t, by_base, RF_COUNT(by_base));
    rf_tokenizer_free(t);
    o.base = "nowhere.txt";
    assert_null(learned(ctx, &o, &why));
    t_failed(&why, RF_EIO, "nowhere.txt");
}

static rf_status learn_one(const rf_ctx *c, void *dictionary, rf_error *why)
{
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.dictionary = dictionary;
    rf_tokenizer_free(learned(c, &o, why));
    return why->code;
}

static void memory_ends_while_learning(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/dictionary.words", golden_folder());
    assert_int_equal(t_fail_allocations(1, NULL, learn_one, path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vocabularies),
        cmocka_unit_test(memory_ends_while_learning),
    };
    return cmocka_run_group_tests_name("text/jieba_trainer", tests, setup, teardown);
}
