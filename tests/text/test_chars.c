/* Characters: trained on text, every known text is decoded to itself, each unknown character is [UNK], offsets are
 * those of characters; valid and rejected vocab.json; options of training.  mirrors chars.c, letters.c, trainer.c */
#include "small_units.h"
#include "text/wordpiece/wordpiece.h"

enum { UNK = 1, CLS = 2, SEP = 3, MASK = 4, FIRST = 5, SCALARS = 0x110000 };

static rf_tokenizer *learned(const char *text, size_t size, int32_t tokens, uint64_t least)
{
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.tokens = tokens;
    o.least = least;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (rf_tokenizer_trainer_new(ctx, "chars", &o, &trainer, &why)) fail_msg("%s", why.text);
    const size_t half = size / 2;
    size_t cut = half;
    while (cut && cut < size && ((unsigned char)text[cut] & 0xC0) == 0x80) cut--;
    if (rf_tokenizer_trainer_feed(trainer, text, cut, &why)) fail_msg("%s", why.text);
    if (rf_tokenizer_trainer_feed(trainer, text + cut, size - cut, &why)) fail_msg("%s", why.text);
    if (rf_tokenizer_trainer_finish(trainer, &t, &why)) fail_msg("%s", why.text);
    rf_tokenizer_trainer_free(trainer);
    return t;
}

static void ids_names_and_offsets(void **state)
{
    (void)state;
    static const char from[] = "ba\xC3\xA9 a\n\xF0\x9F\x98\x80";
    static const char text[] = "a\xC3\xA9\n \xE5\x8C\x97[MASK]\xF0\x9F\x98\x80";
    static const int32_t id[] = {CLS, 7, 9, 5, 6, UNK, MASK, 10, SEP};
    static const uint32_t start[] = {0, 0, 1, 3, 4, 5, 8, 14, 0}, end[] = {0, 1, 3, 4, 5, 8, 14, 18, 0};
    static const char *const name[] = {"[CLS]", "a",      "\xC3\xA9",         "<U+000A>", "<U+0020>",
                                       "[UNK]", "[MASK]", "\xF0\x9F\x98\x80", "[SEP]"};
    rf_tokenizer *t = learned(from, sizeof from - 1, 8192, 0);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    encode(t, text, sizeof text - 1, 0, &e);
    has_units(t, &e, &(units){RF_COUNT(id), id, start, end, name});
    for (size_t i = 0; i < e.n; i++) assert_false(rf_tokenizer_continues(t, e.id[i]));
    char *all = rf_decode(t, e.id, e.n, 0, 0, NULL), *some = rf_decode(t, e.id, e.n, 1, 0, NULL);
    assert_string_equal(all, "[CLS]a\xC3\xA9\n [UNK][MASK]\xF0\x9F\x98\x80[SEP]");
    assert_string_equal(some, "a\xC3\xA9\n \xF0\x9F\x98\x80");
    rf_text_free(t, all);
    rf_text_free(t, some);
    encode(t, "[MASK]", 6, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &e);
    assert_int_equal(e.n, 6);
    assert_int_equal(rf_tokenizer_size(t), FIRST + 6);
    assert_null(rf_tokenizer_token(t, FIRST + 6));
    assert_int_equal(rf_tokenizer_id(t, "ab"), -1);
    assert_int_equal(rf_tokenizer_id(t, ""), -1);
    assert_int_equal(rf_tokenizer_id(t, "<U+0062>"), 8);          /* "b", the long way */
    assert_int_equal(rf_tokenizer_id(t, "<U+00062>>"), -1);
    char *about = rf_tokenizer_describe(t);
    assert_non_null(strstr(about, "\"tokens\":11,\"characters\":6"));
    rf_text_free(t, about);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

static void what_is_learned(void **state)
{
    (void)state;
    static const char text[] = "ccc bbb aa d";
    static const struct { int32_t tokens; uint64_t least; const char *have, *lack; } row[] = {
        {8192, 0, "abcd ", "e"}, {8192, 2, "abc ", "d"},
        {8192, 3, "bc ", "ad"}, {FIRST + 2, 0, " b", "cad"},  {FIRST + 4, 0, "abc ", "d"},
    };
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        rf_tokenizer *t = learned(text, sizeof text - 1, row[i].tokens, row[i].least);
        assert_int_equal(rf_tokenizer_size(t), FIRST + (int)strlen(row[i].have));
        for (const char *c = row[i].have; *c; c++)
            if (rf_tokenizer_id(t, *c == ' ' ? "<U+0020>" : (char[]){*c, 0}) < FIRST) fail_msg("%zu: no %c", i, *c);
        for (const char *c = row[i].lack; *c; c++) assert_int_equal(rf_tokenizer_id(t, (char[]){*c, 0}), -1);
        rf_tokenizer_free(t);
    }
}

/* All scalars are a vocabulary, which is read back from its folder, and all text of them decodes to itself. */
static void every_scalar_comes_back(void **state)
{
    (void)state;
    char *text = malloc((size_t)4 * SCALARS);
    size_t n = 0;
    for (uint32_t c = 0; c < SCALARS; c++)
        if (c < 0xD800 || c > 0xDFFF) n += t_put_scalar(c, text + n);
    rf_tokenizer *made = learned(text, n, 2 * SCALARS, 0), *t = NULL;
    assert_int_equal(rf_tokenizer_size(made), FIRST + SCALARS - 0x800);
    const char *folder = t_folder();
    rf_error why = {0};
    if (rf_tokenizer_save(made, folder, &why)) fail_msg("%s", why.text);
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf__tokenizer_fingerprint(t, 1), rf__tokenizer_fingerprint(made, 1));
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    encode(t, text, n, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, &e);
    assert_int_equal(e.n, SCALARS - 0x800);
    for (size_t i = 0; i < e.n; i++) {
        if (e.id[i] != FIRST + (int32_t)i) fail_msg("scalar %zu has id %d", i, (int)e.id[i]);
        if (e.start[i] != (i ? e.end[i - 1] : 0)) fail_msg("scalar %zu: a gap", i);
    }
    assert_int_equal(e.end[e.n - 1], n);
    size_t bytes = 0;
    char *back = rf_decode(t, e.id, e.n, 0, 0, &bytes);
    assert_int_equal(bytes, n);
    assert_memory_equal(back, text, n);
    rf_text_free(t, back);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    rf_tokenizer_free(made);
    free(text);
}

#define CLASS "\"tokenizer_class\":\"RoFormerCharacterTokenizer\""
#define FIVE "\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"[MASK]\":4"

static void put_file(const char *folder, const char *name, const char *text)
{
    t_write(folder, name, text, strlen(text));
}

static void folders(void **state)
{
    (void)state;
    const char *folder = t_folder();
    put_file(folder, "tokenizer_config.json",
        "{" CLASS ",\"mask_token\":\"<m>\",\"added_tokens_decoder\":{\"8\":{\"content\":\"xy\"},"
        "\"7\":{\"content\":\"<e>\",\"special\":true},\"4\":{\"content\":\"<m>\",\"special\":true}}}");
    put_file(folder, "vocab.json",
             "{\"z\":6,\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"<m>\":4,\"<U+0000>\":5}");
    static const int32_t id[] = {8, MASK, 6, 5, 7};
    opens_and_saves(folder, &(folder_case){9, "xy<m>z\0<e>", 10, id, RF_COUNT(id), "xyz\0", 4});
}

static void bad_folders_are_refused(void **state)
{
    (void)state;
    static const struct { const char *vocab, *more, *part; } bad[] = {
        {NULL, "", "vocab.json: expected this file for tokenizer_class"},
        {"{" FIVE "}", "", "5 entries"},
        {"{" FIVE ",\"a\":5,\"b\":7}", "", "\"b\": expected an id from"},
        {"{" FIVE ",\"a\":5,\"b\":5}", "", "\"b\": its id is another"},
        {"{" FIVE ",\"a\":5,\"<U+0061>\":6}", "", "\"<U+0061>\": expected each character once, got it twice"},
        {"{" FIVE ",\"a\":5,\"bc\":6}", "", "\"bc\": expected one character or <U+...>, got another text"},
        {"{" FIVE ",\"a\":5,\"<U+D800>\":6}", "", "one character"},
        {"{" FIVE ",\"a\":5,\"<U+110000>\":6}", "", "one character"},
        {"{" FIVE ",\"a\":5,\"\":6}", "", "one character"},
        {"{" FIVE ",\"a\":\"5\"}", "", "\"a\": expected an id from"},
        {"{" FIVE ",\"a\":4}", "", "\"a\": ids 0 to 4"},
        {"{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":5,\"b\":5}", "", "its id is another"},
        {"{" FIVE ",\"a\":5}", ",\"unk_token\":\"a\"", "\"[UNK]\": ids 0 to 4"},
        {"{" FIVE ",\"a\":5}", ",\"added_tokens_decoder\":{\"5\":{\"content\":\"xy\"}}",
         "id 5 belongs to a and xy"},
        {"[]", "", "vocab.json"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = t_folder();
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        char config[256];
        snprintf(config, sizeof config, "{%s%s}", CLASS, bad[i].more);
        put_file(folder, "tokenizer_config.json", config);
        if (bad[i].vocab) put_file(folder, "vocab.json", bad[i].vocab);
        if (rf_tokenizer_open(ctx, folder, &t, &why) != RF_EDATA) fail_msg("case %zu: \"%s\"", i, why.text);
        t_failed(&why, RF_EDATA, bad[i].part);
        assert_null(t);
    }
}

static void bad_training_is_refused(void **state)
{
    (void)state;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "syllables", &o, &trainer, &why), RF_EARG);
    t_failed(&why, RF_EARG, "syllables");
    why = (rf_error){0};
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "bytes", NULL, &trainer, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "learns nothing");
    o.tokens = 5;
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "chars", &o, &trainer, NULL), RF_EARG);
    assert_int_equal(rf_tokenizer_trainer_new(ctx, NULL, &o, &trainer, NULL), RF_EARG);
    assert_null(trainer);
    assert_int_equal(rf_tokenizer_type_uses("chars"), RF_TRAIN_LEAST);
    assert_int_equal(rf_tokenizer_type_uses("bytes"), -1);
    assert_int_equal(rf_tokenizer_type_uses("syllables"), -1);
    why = (rf_error){0};
    o.tokens = 100;
    o.least = 3;
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "chars", &o, &trainer, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_feed(trainer, "ab\xFF", 3, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "byte 2 (0xFF)");
    why = (rf_error){0};
    assert_int_equal(rf_tokenizer_trainer_feed(trainer, "abba", 4, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_finish(trainer, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected characters that occur at least 3 times");
    rf_tokenizer_trainer_free(trainer);
}

/* The same trainer through the same hooks as rf__vocab_trainer_new's calls: the same tokens. */
static void wordpiece_learns_the_same(void **state)
{
    (void)state;
    static const char text[] = "the rivers of the river rivers and the sea";
    rf_vocab_trainer *old = NULL;
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL, *u = NULL;
    char *vocab = NULL;
    size_t bytes = 0;
    rf_tokenizer_train_options o;
    rf_tokenizer_train_defaults(&o);
    o.tokens = 40;
    assert_int_equal(rf__vocab_trainer_new(ctx, NULL, 1000, &old, NULL), RF_OK);
    assert_int_equal(rf__vocab_trainer_feed(old, text, sizeof text - 1, NULL), RF_OK);
    assert_int_equal(rf__vocab_trainer_learn(old, 40, 1000, 2, NULL, NULL, &vocab, &bytes, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_new(ctx, vocab, bytes, "vocab", NULL, &t, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_new(ctx, "wordpiece", &o, &trainer, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_feed(trainer, text, sizeof text - 1, NULL), RF_OK);
    assert_int_equal(rf_tokenizer_trainer_finish(trainer, &u, NULL), RF_OK);
    assert_int_equal(rf__tokenizer_fingerprint(t, 7), rf__tokenizer_fingerprint(u, 7));
    rf_tokenizer_trainer_free(trainer);
    rf__vocab_trainer_release(old, vocab);
    rf__vocab_trainer_free(old);
    rf_tokenizer_free(t);
    rf_tokenizer_free(u);
}

static rf_status once(const rf_ctx *c, void *folder, rf_error *why)
{
    rf_tokenizer_trainer *trainer = NULL;
    rf_tokenizer *t = NULL, *again = NULL;
    rf_encoding e;
    rf_encoding_init(&e, c);
    rf_status status = rf_tokenizer_trainer_new(c, "chars", NULL, &trainer, why);
    if (!status) status = rf_tokenizer_trainer_feed(trainer, "a\xC3\xA9", 3, why);
    if (!status) status = rf_tokenizer_trainer_finish(trainer, &t, why);
    if (!status) status = rf_tokenizer_save(t, folder, why);
    if (!status) status = rf_tokenizer_open(c, folder, &again, why);
    if (!status) status = rf_encode(again, "a\xC3\xA9z", 4, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, why);
    if (!status) {
        char *back = rf_decode(again, e.id, e.n, 0, 0, NULL);
        if (!back) status = RF_ENOMEM;
        else assert_string_equal(back, "a\xC3\xA9[UNK]");
        rf_text_free(again, back);
    }
    rf_encoding_clear(&e);
    rf_tokenizer_free(again);
    rf_tokenizer_free(t);
    rf_tokenizer_trainer_free(trainer);
    return status;
}

static void memory_that_ends(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", t_folder());
    assert_int_equal(t_fail_allocations(1, NULL, once, folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_names_and_offsets),   cmocka_unit_test(what_is_learned),
        cmocka_unit_test(every_scalar_comes_back), cmocka_unit_test(folders),
        cmocka_unit_test(bad_folders_are_refused), cmocka_unit_test(bad_training_is_refused),
        cmocka_unit_test(wordpiece_learns_the_same), cmocka_unit_test(memory_that_ends),
    };
    return cmocka_run_group_tests_name("text/chars", tests, setup, teardown);
}
