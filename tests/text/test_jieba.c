/* Words by a dictionary: as Python's jieba and jieba-rs segment them, tokens as in transformers' RoFormerTokenizer
 * (tests/golden/text/jieba); dictionaries compiled, mapped, rejected; folders; failing allocations. mirrors jieba.c,
 * jieba_runs.c, jieba_slow.c, jieba_words.c, jieba_bert4keras.c, jieba_wobert.c, segment.c,
 * dictionary.c, dictionary_compile.c */
#define _GNU_SOURCE
#include "jieba_folder.h"
#include "data/corpus/batch.h"

/* Calls `check` with every case. */
static void every_case(void (*check)(const json_t *golden, void *user), void *user)
{
    FILE *f = fopen(GOLDEN "cases.jsonl", "rb");
    static char line[65536];
    size_t n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *golden = json_loads(line, JSON_ALLOW_NUL, NULL);
        assert_non_null(golden);
        check(golden, user);
        json_decref(golden);
        n++;
    }
    fclose(f);
    assert_true(n > 400);
}

static void same_words(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size,
                       const json_t *words)
{
    assert_true(rf__jieba_cut(c, d, kind, text, size));
    size_t from = 0;
    if (c->n != json_array_size(words)) fail_msg("%s: %zu words, expected %zu", text, c->n, json_array_size(words));
    for (size_t i = 0; i < c->n; from = c->end[i++]) {
        const json_t *word = json_array_get(words, i);
        const size_t bytes = c->at[c->end[i]] - c->at[from];
        if (bytes != json_string_length(word) || memcmp(text + c->at[from], json_string_value(word), bytes))
            fail_msg("%s: word %zu is %.*s, expected %s", text, i, (int)bytes, text + c->at[from],
                     json_string_value(word));
    }
}

struct cutting {
    rf_dictionary d;
    rf_jieba_cutter c;
};

static void cut_one(const json_t *golden, void *user)
{
    struct cutting *k = user;
    const json_t *text = json_object_get(golden, "text");
    const char *s = json_string_value(text);
    same_words(&k->c, &k->d, RF_JIEBA_RUST, s, json_string_length(text), json_object_get(golden, "rust"));
    same_words(&k->c, &k->d, RF_JIEBA_PYTHON, s, json_string_length(text), json_object_get(golden, "python"));
}

static void words_as_jieba(void **state)
{
    (void)state;
    struct cutting k = {.c = {.ctx = ctx}};
    rf_error why = {0};
    if (rf__dictionary_open(ctx, compiled(t_folder()), &k.d, &why)) fail_msg("%s", why.text);
    assert_int_equal(k.d.header->words, 45);
    assert_int_equal(k.d.header->sum, k.d.header->total + 600); /* of the word that is there twice */
    assert_string_equal(k.d.header->name, "small");
    assert_true(k.d.header->hash == 0x13261bd75175c915); /* by which folders identify it, in either format */
    every_case(cut_one, &k);
    rf__jieba_cut_clear(&k.c);
    rf__dictionary_close(ctx, &k.d);
}

struct encoding {
    rf_tokenizer *t;
    rf_encoding e;
};

static void encode_one(const json_t *golden, void *user)
{
    struct encoding *k = user;
    const json_t *text = json_object_get(golden, "text"), *ids = json_object_get(golden, "ids"),
                 *offsets = json_object_get(golden, "offsets");
    rf_error why = {0};
    const char *s = json_string_value(text);
    if (rf_encode(k->t, s, json_string_length(text), NULL, 0, 0, 0, &k->e, NULL, &why)) fail_msg("%s", why.text);
    if (k->e.n != json_array_size(ids)) fail_msg("%s: %zu tokens, expected %zu", s, k->e.n, json_array_size(ids));
    for (size_t i = 0; i < k->e.n; i++) {
        const json_t *span = json_array_get(offsets, i);
        if (k->e.id[i] != json_integer_value(json_array_get(ids, i)) ||
            k->e.start[i] != json_integer_value(json_array_get(span, 0)) ||
            k->e.end[i] != json_integer_value(json_array_get(span, 1)))
            fail_msg("%s: token %zu is %d (%u..%u)", s, i, (int)k->e.id[i], k->e.start[i], k->e.end[i]);
    }
}

static void tokens_as_transformers(void **state)
{
    (void)state;
    struct encoding k = {.t = opened(golden_folder())};
    rf_encoding_init(&k.e, ctx);
    every_case(encode_one, &k);
    every_case(encode_one, &k); /* from the cache                        */
    rf_encoding_clear(&k.e);
    rf_tokenizer_free(k.t);
}

/* The slow class of transformers 4.57, in lower case and not, with both segmenters. */
struct slow_case {
    const json_t *ids;
    rf_tokenizer *t;
    rf_encoding e;
    size_t n;
};

static void encode_slow(const json_t *golden, void *user)
{
    struct slow_case *k = user;
    const json_t *text = json_object_get(golden, "text"), *ids = json_array_get(k->ids, k->n++);
    const size_t size = json_string_length(text);
    rf_error why = {0};
    const char *s = json_string_value(text);
    if (rf_encode(k->t, s, size, NULL, 0, 0, 0, &k->e, NULL, &why)) fail_msg("%s", why.text);
    if (k->e.n != json_array_size(ids)) fail_msg("%s: %zu tokens, expected %zu", s, k->e.n, json_array_size(ids));
    for (size_t i = 0; i < k->e.n; i++) {
        if (k->e.id[i] != json_integer_value(json_array_get(ids, i)))
            fail_msg("%s: token %zu is %d, expected %d", s, i, (int)k->e.id[i],
                     (int)json_integer_value(json_array_get(ids, i)));
        if (k->e.added[i]) continue;
        assert_true(k->e.start[i] < k->e.end[i] && k->e.end[i] <= size);
        assert_true(k->e.start[i] >= k->e.start[i - 1]);
        assert_true(((unsigned char)s[k->e.start[i]] & 0xC0) != 0x80);
    }
}

static void tokens_as_the_slow_class(void **state)
{
    (void)state;
    static char line[1 << 17];
    FILE *f = fopen(GOLDEN "slow.jsonl", "rb");
    int settings = 0;
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); settings++) {
        json_t *golden = json_loads(line, 0, NULL);
        assert_non_null(golden);
        json_t *config = json_pack("{s:s, s:s, s:O}", "tokenizer_class", "RoFormerTokenizer", "roformer_rules",
                                   "python", "do_lower_case", json_object_get(golden, "do_lower_case"));
        json_object_set(config, "word_segmenter", json_object_get(golden, "word_segmenter"));
        if (json_object_get(golden, "strip_accents"))
            json_object_set(config, "strip_accents", json_object_get(golden, "strip_accents"));
        char *text = json_dumps(config, 0);
        const char *folder = golden_folder(), *again = t_folder();
        rf_error why = {0};
        t_write(folder, "tokenizer_config.json", text, strlen(text));
        rf_tokenizer *t = opened(folder);
        if (rf_tokenizer_save(t, again, &why)) fail_msg("%s", why.text);
        const uint64_t mark = rf__tokenizer_fingerprint(t, 1);
        rf_tokenizer_free(t);
        struct slow_case k = {.ids = json_object_get(golden, "ids"), .t = opened(again)};   /* the switches are kept */
        assert_true(rf__tokenizer_fingerprint(k.t, 1) == mark);
        rf_encoding_init(&k.e, ctx);
        every_case(encode_slow, &k);
        assert_int_equal(k.n, json_array_size(k.ids));
        rf_encoding_clear(&k.e);
        rf_tokenizer_free(k.t);
        free(text);
        json_decref(config);
        json_decref(golden);
    }
    fclose(f);
    assert_int_equal(settings, 6);
    const char *folder = golden_folder();
    static const char wrong[] = "{\"tokenizer_class\":\"RoFormerTokenizer\",\"word_segmenter\":\"lac\"}";
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    t_write(folder, "tokenizer_config.json", wrong, sizeof wrong - 1);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "word_segmenter: expected \"jieba-rs\" or \"jieba\", got \"lac\"");
}

/* 今天 and 天气 are words of two tokens each, 研究生 of three; a piece of Latin letters is continued by its name. */
static void words_of_tokens(void **state)
{
    (void)state;
    static const struct { const char *text; uint8_t joined[12]; size_t n; } expected[] = {
        {"今天天气非常好", {0, 1, 0, 1, 0, 0}, 6},
        {"我今天在大学", {0, 0, 1, 0, 0, 1}, 6},
        {"今[MASK]天", {0, 0, 0}, 3},
        {"ab a ab今天", {0, 1, 0, 0, 1, 0, 1}, 7},
        {"", {0}, 0},
    };
    rf_tokenizer *t = opened(golden_folder());
    rf_encoding e;
    rf_error why = {0};
    uint8_t joined[12];
    rf_encoding_init(&e, ctx);
    void *scratch = t->row->scratch(ctx, NULL, false);
    for (size_t k = 0; k < RF_COUNT(expected); k++) {
        if (rf_encode(t, expected[k].text, strlen(expected[k].text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(e.n, expected[k].n);
        assert_true(t->row->joined(t, e.id, e.n, joined, scratch));
        for (size_t i = 0; i < e.n; i++)
            if (joined[i] != expected[k].joined[i]) fail_msg("%s: token %zu", expected[k].text, i);
    }
    t->row->scratch_free(ctx, scratch);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* Masks cover whole words: both tokens of 今天 or neither. */
static void masks_on_words(void **state)
{
    (void)state;
    static const char text[] = "今天天气非常好我今天在大学";
    rf_tokenizer *t = opened(golden_folder());
    rf_encoding e;
    rf_error why = {0};
    rf__token_kinds v;
    rf__mlm_batch b;
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why) ||
        rf__vocab_new(ctx, t, &v, &why) || rf__mlm_batch_new(ctx, 64, &b, &why))
        fail_msg("%s", why.text);
    const rf__masking m = {rf__make_key(1, 2), 0.4, true, &v, false};
    const uint8_t *found = rf__vocab_joined(&v, e.id, e.n);
    uint8_t joined[64];
    memcpy(joined, found, e.n);
    int chosen = 0, split = 0;
    for (uint64_t stream = 0; stream < 200; stream++) {
        bool label[64] = {false};
        rf__mlm_batch_clear(&b);
        rf__mlm_batch_add(&b, (rf__ids){e.id, 4}, 0, e.n, true, &m, stream);
        for (int64_t i = 0; i < b.n; i++) label[b.row[i] - 1] = true;
        for (size_t i = 1; i < e.n; i++) {
            chosen += label[i];
            split += joined[i] && label[i] != label[i - 1];
        }
    }
    assert_int_equal(split, 0);
    assert_true(chosen > 500);
    assert_int_equal(rf__vocab_words_found(&v, &why), RF_OK);
    rf__mlm_batch_free(ctx, &b);
    rf__vocab_free(ctx, &v);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

/* Saved and opened again: the same tokenizer, saved with its dictionary. */
static void folders(void **state)
{
    (void)state;
    char first[256];
    snprintf(first, sizeof first, "%s", golden_folder());
    rf_tokenizer *t = opened(first);
    const uint64_t before = rf__tokenizer_fingerprint(t, 1);
    const char *folder = t_folder();
    rf_error why = {0};
    if (rf_tokenizer_save(t, folder, &why)) fail_msg("%s", why.text);
    assert_string_equal(rf__tokenizer_transformers(t), "RoFormerTokenizer");
    rf_tokenizer_free(t);
    t = opened(folder);
    assert_true(rf__tokenizer_fingerprint(t, 1) == before);
    char *about = rf_tokenizer_describe(t);
    assert_non_null(strstr(about, "\"small\""));
    rf_text_free(t, about);
    rf_tokenizer_free(t);

    /* without its own dictionary: the context's, or none */
    char words[300];
    snprintf(words, sizeof words, "%s/dictionary.words", folder);
    assert_int_equal(unlink(words), 0);
    t = NULL;
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED,
             "expected a dictionary of words, got none");
    rf_ctx_options o;
    rf_ctx *other = NULL;
    rf_ctx_defaults(&o);
    snprintf(words, sizeof words, "%s/dictionary.words", first);
    o.dictionary = words;
    o.threads = 1;
    why = (rf_error){0};
    if (rf_ctx_new(&o, &other, &why) || rf_tokenizer_open(other, folder, &t, &why)) fail_msg("%s", why.text);
    rf_tokenizer_free(t);
    rf_ctx_free(other);

    /* another dictionary than the one that the settings name */
    static const char more[] = "word 5\n";
    t_write(folder, "more.txt", more, sizeof more - 1);
    char added[300];
    snprintf(added, sizeof added, "%s/more.txt", folder);
    snprintf(words, sizeof words, "%s/dictionary.words", folder);
    why = (rf_error){0};
    if (rf_dictionary_compile(ctx, (const char *const[]){dict[0], added}, 2, "mine", words, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected the dictionary \"small\"");
    why = (rf_error){0};
    static const char wrong[] = "{\"tokenizer_class\":\"RoFormerTokenizer\",\"word_dictionary\":1}";
    t_write(folder, "tokenizer_config.json", wrong, sizeof wrong - 1);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "word_dictionary: expected an object with \"hash\", got 1");
}

static void bad_dictionaries(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } bad[] = {
        {"", "no words"},
        {"a 0\n", "no words, or none with a frequency"},
        {"a\n", ":1: expected a word and its frequency, separated by a space, got another"},
        {"a 1\nb \n", ":2: expected a word and its frequency, separated by a space, got another"},
        {" 1\n", ":1: expected a word and its frequency, separated by a space, got another"},
        {"a -1\n", ":1: expected a word and its frequency, separated by a space, got another"},
        {"a 1x\n", ":1: expected a word and its frequency, separated by a space, got another"},
        {"a 12345678901234567\n", ":1: expected a word and its frequency, separated by a space, got another"},
        {"\xff 1\n", "not UTF-8 at byte 0"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\n",
         ":1: expected ... 64 characters, got 73"},
    };
    const char *folder = t_folder();
    char text[300], words[300];
    snprintf(text, sizeof text, "%s/d.txt", folder);
    snprintf(words, sizeof words, "%s/d.words", folder);
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        t_write(folder, "d.txt", bad[i].text, strlen(bad[i].text));
        assert_int_equal(rf_dictionary_compile(ctx, (const char *const[]){text}, 1, "d", words, &why), RF_EDATA);
        t_failed(&why, RF_EDATA, bad[i].part);
        assert_int_not_equal(access(words, F_OK), 0);
    }
    rf_error why = {0};
    rf_dictionary d = {0};
    t_write(folder, "d.words", "RFWORDS1", 8);
    assert_int_equal(rf__dictionary_open(ctx, words, &d, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "expected a compiled dictionary, got another or a truncated file");
    assert_int_equal(rf_dictionary_compile(ctx, dict, 1, "", words, NULL), RF_EARG);
}

/* A folder with the golden vocabulary and these settings. */
static const char *folder_with(const char *settings)
{
    const char *folder = golden_folder();
    t_write(folder, "tokenizer_config.json", settings, strlen(settings));
    return folder;
}

#define BERT4KERAS "{\"tokenizer_class\":\"RoFormerTokenizer\",\"roformer_rules\":\"bert4keras\""

static void tokens_as_bert4keras(void **state)
{
    (void)state;
    static char line[1 << 17];
    FILE *f = fopen(GOLDEN "bert4keras.jsonl", "rb");
    struct slow_case k[2] = {{.t = opened(folder_with(BERT4KERAS ",\"do_lower_case\":false}"))}, {0}};
    const char *again = t_folder();
    rf_error why = {0};
    rf_tokenizer *lower = opened(folder_with(BERT4KERAS "}"));
    if (rf_tokenizer_save(lower, again, &why)) fail_msg("%s", why.text);
    k[1].t = opened(again);                                           /* rules and segmenter are kept */
    assert_true(rf__tokenizer_fingerprint(k[1].t, 1) == rf__tokenizer_fingerprint(lower, 1));
    rf_tokenizer_free(lower);
    for (int i = 0; i < 2; i++) rf_encoding_init(&k[i].e, ctx);
    assert_non_null(f);
    size_t n = 0;
    for (; fgets(line, sizeof line, f); n++) {
        json_t *golden = json_loads(line, JSON_ALLOW_NUL, NULL), *ids = json_array();
        assert_non_null(golden);
        json_array_append(ids, json_object_get(golden, "ids"));
        struct slow_case *c = &k[json_is_true(json_object_get(golden, "do_lower_case"))];
        c->ids = ids;
        c->n = 0;
        encode_slow(golden, c);
        json_decref(ids);
        json_decref(golden);
    }
    fclose(f);
    assert_true(n > 700);
    for (int i = 0; i < 2; i++) {
        rf_encoding_clear(&k[i].e);
        rf_tokenizer_free(k[i].t);
    }
}

/* WoBertTokenizer by its class, and after saving; each setting has a line for every text. */
static void tokens_as_wobert(void **state)
{
    (void)state;
    static const char *const settings[] = {"", ",\"do_lower_case\":false", ",\"strip_accents\":false"};
    static char line[1 << 17];
    FILE *f = fopen(GOLDEN "wobert.jsonl", "rb");
    struct slow_case k[3] = {{0}};
    size_t n = 0;
    rf_error why = {0};
    assert_non_null(f);
    for (int i = 0; i < 3; i++) {
        char text[128];
        const char *again = t_folder();
        snprintf(text, sizeof text, "{\"tokenizer_class\":\"WoBertTokenizer\"%s}", settings[i]);
        rf_tokenizer *first = opened(folder_with(text));
        if (rf_tokenizer_save(first, again, &why)) fail_msg("%s", why.text);
        k[i].t = opened(again);                                       /* rules and segmenter are kept */
        assert_true(rf__tokenizer_fingerprint(k[i].t, 1) == rf__tokenizer_fingerprint(first, 1));
        rf_tokenizer_free(first);
        rf_encoding_init(&k[i].e, ctx);
    }
    for (; fgets(line, sizeof line, f); n++) {
        json_t *golden = json_loads(line, JSON_ALLOW_NUL, NULL), *ids = json_array();
        assert_non_null(golden);
        json_array_append(ids, json_object_get(golden, "ids"));
        struct slow_case *c = &k[json_object_get(golden, "strip_accents")               ? 2
                                 : json_is_true(json_object_get(golden, "do_lower_case")) ? 0 : 1];
        c->ids = ids;
        c->n = 0;
        encode_slow(golden, c);
        json_decref(ids);
        json_decref(golden);
    }
    fclose(f);
    assert_true(n > 1000);
    for (int i = 0; i < 3; i++) {
        rf_encoding_clear(&k[i].e);
        rf_tokenizer_free(k[i].t);
    }
}

static void bert4keras_refused(void **state)
{
    (void)state;
    static const struct { const char *settings, *vocab, *part;
    } bad[] = {
        {BERT4KERAS ",\"strip_accents\":false}", NULL, "tokenize_chinese_chars, strip_accents: expected"},
        {BERT4KERAS ",\"tokenize_chinese_chars\":false}", NULL, "strip_accents: expected"},
        {BERT4KERAS "}", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\na\n", ":6: expected each token once"},
        {"{\"tokenizer_class\":\"BertTokenizer\",\"roformer_rules\":\"bert4keras\"}", NULL, "RoFormerTokenizer"},
        {"{\"tokenizer_class\":\"BertTokenizer\",\"roformer_rules\":\"wobert\"}", NULL, "RoFormerTokenizer"},
        {"{\"tokenizer_class\":\"WoBertTokenizer\",\"tokenize_chinese_chars\":false}", NULL, "expected true"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = folder_with(bad[i].settings);
        if (bad[i].vocab) t_write(folder, "vocab.txt", bad[i].vocab, strlen(bad[i].vocab));
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, bad[i].part);
    }
}

/* Any failing allocation gives RF_ENOMEM and no leak. */
static rf_status open_and_encode(const rf_ctx *c, void *folder, rf_error *why)
{
    static const char text[] = "\xE4\xBB\x8A\xE5\xA4\xA9 \xE5\xA4\xA9\xE6\xB0\x94"
                               "e\xCC\x81 abc";
    rf_tokenizer *t = NULL;
    rf_encoding e;
    rf_encoding_init(&e, c);
    rf_status status = rf_tokenizer_open(c, folder, &t, why);
    if (!status) status = rf_encode(t, text, sizeof text - 1, NULL, 0, 0, 0, &e, NULL, why);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return status;
}

static void memory_ends(void **state)
{
    (void)state;
    char folder[256];
    snprintf(folder, sizeof folder, "%s", golden_folder());
    assert_int_equal(t_fail_allocations(1, NULL, open_and_encode, folder), 0);
    static const char slow[] = "{\"tokenizer_class\":\"RoFormerTokenizer\",\"roformer_rules\":\"python\"}";
    t_write(folder, "tokenizer_config.json", slow, sizeof slow - 1);
    assert_int_equal(t_fail_allocations(1, NULL, open_and_encode, folder), 0);
    t_write(folder, "tokenizer_config.json", BERT4KERAS "}", strlen(BERT4KERAS "}"));
    assert_int_equal(t_fail_allocations(1, NULL, open_and_encode, folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_as_jieba), cmocka_unit_test(tokens_as_transformers),
        cmocka_unit_test(tokens_as_the_slow_class), cmocka_unit_test(words_of_tokens),
        cmocka_unit_test(tokens_as_bert4keras), cmocka_unit_test(bert4keras_refused),
        cmocka_unit_test(tokens_as_wobert),
        cmocka_unit_test(masks_on_words),
        cmocka_unit_test(folders),        cmocka_unit_test(bad_dictionaries),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("text/jieba", tests, setup, teardown);
}
