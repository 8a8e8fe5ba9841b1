/* Sub-words of a tokenizer.json: ids of Hugging Face's tokenizers (tools/golden/golden_fast.py) with files written by
 * transformers' converters and by tokenizers; saving, sampling, unsupported parts rejected by name, failing
 * allocations. mirrors fast.c, normal.c, pieces.c */
#include "one_context.h"
#include "opened.h"
#include "round_trip.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/fast/"

static const char *const names[] = {"t5", "xlmr", "albert", "llama", "llama_new", "gemma", "unigram", "bpe", "plain"};

static char *read_whole(const char *name, const char *ending, size_t *size)
{
    char path[256], *data;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "%s%s", name, ending);
    if (rf__read_file(ctx, path, 1 << 24, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

/* A folder with only a tokenizer.json. */
static const char *folder_of(const char *name)
{
    size_t size;
    char *data = read_whole(name, ".tokenizer.json", &size);
    const char *folder = t_folder();
    t_write(folder, "tokenizer.json", data, size);
    rf__free(ctx, data);
    return folder;
}

static json_t *golden(const char *name)
{
    size_t size;
    rf_error why = {0};
    char *data = read_whole(name, ".json", &size);
    json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, name, &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    return all;
}

static void same_ids(const rf_encoding *e, const json_t *ids, const char *name, size_t i)
{
    bool good = e->n == json_array_size(ids);
    for (size_t k = 0; k < e->n && good; k++) good = e->id[k] == json_integer_value(json_array_get(ids, k));
    if (!good) fail_msg("%s %zu: %zu tokens, expected %zu, or other ones", name, i, e->n, json_array_size(ids));
}

static int64_t characters(const char *text, size_t bytes)
{
    int64_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

/* Offsets do not split characters, and are those of tokenizers. */
static void same_offsets(const rf_encoding *e, const json_t *x, const char *name, size_t i)
{
    const char *text = json_string_value(json_object_get(x, "text"));
    const size_t size = json_string_length(json_object_get(x, "text"));
    const json_t *offsets = json_object_get(x, "offsets");
    assert_int_equal(json_array_size(offsets), 2 * e->n);
    for (size_t k = 0; k < e->n; k++) {
        assert_true(e->start[k] <= e->end[k] && e->end[k] <= size);
        assert_true(e->start[k] == size || ((unsigned char)text[e->start[k]] & 0xC0) != 0x80);
        assert_true(e->end[k] == size || ((unsigned char)text[e->end[k]] & 0xC0) != 0x80);
        const int64_t from = characters(text, e->start[k]), to = characters(text, e->end[k]),
                      expected_from = json_integer_value(json_array_get(offsets, 2 * k)),
                      expected_to = json_integer_value(json_array_get(offsets, 2 * k + 1));
        if (from != expected_from || to != expected_to)
            fail_msg("%s %zu, token %zu: (%d, %d), expected (%d, %d)", name, i, k, (int)from, (int)to,
                     (int)expected_from, (int)expected_to);
    }
}

static void as_tokenizers_has_it(void **state)
{
    (void)state;
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        json_t *all = golden(names[m]), *x;
        rf_tokenizer *t = opened(folder_of(names[m]));
        size_t i;
        rf_error why = {0};
        assert_true(json_array_size(json_object_get(all, "cases")) > 50);
        json_array_foreach(json_object_get(all, "cases"), i, x) {
            const char *text = json_string_value(json_object_get(x, "text"));
            const size_t size = json_string_length(json_object_get(x, "text"));
            if (rf_encode(t, text, size, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
            same_ids(&e, json_object_get(x, "ids"), names[m], i);
            same_offsets(&e, x, names[m], i);
        }
        const json_t *pair = json_object_get(all, "pair");
        if (rf_encode(t, "the whale", 9, "a ship", 6, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
        same_ids(&e, json_object_get(pair, "ids"), names[m], 0);
        for (size_t k = 0; k < e.n && strncmp(names[m], "llama", 5) && strcmp(names[m], "plain"); k++)
            assert_int_equal(e.type[k], json_integer_value(json_array_get(json_object_get(pair, "types"), k)));
        rf_tokenizer_free(t);
        json_decref(all);
    }
    rf_encoding_clear(&e);
}

/* Known words decode to themselves, with the blanks that a tokenizer keeps. */
static void text_again(void **state)
{
    (void)state;
    static const char text[] = "the old whale and the sea of the ship";
    static const char fresh[] = "caf\xC3\xA9 \xF0\x9F\x99\x82!";
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        rf_tokenizer *t = opened(folder_of(names[m]));
        assert_int_equal(rf_encode(t, text, sizeof text - 1, NULL, 0, 0, 0, &e, NULL, NULL), RF_OK);
        char *back = rf_decode(t, e.id, e.n, 1, 0, NULL);
        assert_string_equal(back, text);
        rf_text_free(t, back);
        if (!strncmp(names[m], "llama", 5)) {
            assert_int_equal(rf_encode(t, fresh, sizeof fresh - 1, NULL, 0, 0, 0, &e, NULL, NULL), RF_OK);
            back = rf_decode(t, e.id, e.n, 1, 0, NULL);
            assert_string_equal(back, fresh);
            rf_text_free(t, back);
            back = rf_decode(t, e.id + e.n - 2, 1, 1, 0, NULL);     /* one byte of four, which is no text             */
            assert_string_equal(back, "\xEF\xBF\xBD");
            rf_text_free(t, back);
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
}

/* A folder with the tokenizer.json of a name and another decoder. */
static const char *with_decoder(const char *name, const json_t *decoder)
{
    size_t size;
    char *data = read_whole(name, ".tokenizer.json", &size);
    json_t *all = rf__json_parse(data, size, 0, name, NULL);
    assert_int_equal(json_object_set(all, "decoder", (json_t *)(uintptr_t)decoder), 0);
    char *text = json_dumps(all, JSON_COMPACT);
    const char *folder = t_folder();
    t_write(folder, "tokenizer.json", text, strlen(text));
    free(text);
    json_decref(all);
    rf__free(ctx, data);
    return folder;
}

static void decodes_to(const rf_tokenizer *t, const json_t *ids, bool skip, const json_t *expected, const char *name)
{
    int32_t id[64];
    size_t n = json_array_size(ids), size;
    assert_true(n <= RF_COUNT(id));
    for (size_t i = 0; i < n; i++) id[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    char *text = rf_decode(t, id, n, skip, 0, &size);
    assert_non_null(text);
    if (size != json_string_length(expected) || memcmp(text, json_string_value(expected), size) != 0)
        fail_msg("%s: \"%s\", expected \"%s\"", name, text, json_string_value(expected));
    rf_text_free(t, text);
}

/* tools/golden/golden_decoder.py */
static void decoders_of_tokenizers(void **state)
{
    (void)state;
    size_t size, i, k, cases = 0;
    json_t *set, *x;
    char *data = read_whole("decoders", ".json", &size), name[128];
    json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, "decoders", NULL);
    rf__free(ctx, data);
    json_array_foreach(json_object_get(all, "sets"), i, set) {
        const char *file = json_string_value(json_object_get(set, "file"));
        rf_tokenizer *t = opened(with_decoder(file, json_object_get(set, "decoder")));
        snprintf(name, sizeof name, "%s, decoder %s", file, json_string_value(json_object_get(set, "name")));
        json_array_foreach(json_object_get(set, "cases"), k, x) {
            decodes_to(t, json_object_get(x, "ids"), false, json_object_get(x, "all"), name);
            decodes_to(t, json_object_get(x, "ids"), true, json_object_get(x, "text"), name);
            cases++;
        }
        rf_tokenizer_free(t);
    }
    assert_true(cases > 1000);
    json_decref(all);
}

/* dropout makes ids random in tokenizers; here it is 0, and the description says so. */
static void dropout_is_named(void **state)
{
    (void)state;
    for (int random = 0; random < 2; random++) {
        size_t size;
        char *data = read_whole("bpe", ".tokenizer.json", &size);
        json_t *file = rf__json_parse(data, size, 0, "bpe", NULL);
        const char *folder = t_folder();
        rf__free(ctx, data);
        json_object_set_new(json_object_get(file, "model"), "dropout", random ? json_real(0.25) : json_null());
        char *text = rf__json_dump(file, JSON_COMPACT);
        assert_non_null(text);
        t_write(folder, "tokenizer.json", text, strlen(text));
        free(text);
        json_decref(file);
        rf_tokenizer *t = opened(folder);
        char *about = rf_tokenizer_describe(t);
        assert_int_equal(strstr(about, "dropout 0.25 of tokenizer.json is taken as 0") != NULL, random);
        rf_text_free(t, about);
        rf_tokenizer_free(t);
    }
}

/* A class for one model has its own decoder; any other tokenizer.json has the one of the file. */
static void decoder_of_a_class(void **state)
{
    (void)state;
    static const struct { const char *class, *text; } row[] = {
        {"XLMRobertaTokenizer", "the whale"}, {"PreTrainedTokenizerFast", "\xE2\x96\x81 the \xE2\x96\x81w h al e"},
        {"TokenizersBackend", "\xE2\x96\x81 the \xE2\x96\x81w h al e"}};
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        char config[128];
        const char *folder = with_decoder("xlmr", json_null());
        snprintf(config, sizeof config, "{\"tokenizer_class\": \"%s\"}", row[i].class);
        t_write(folder, "tokenizer_config.json", config, strlen(config));
        rf_tokenizer *t = opened(folder);
        assert_int_equal(rf_encode(t, "the whale", 9, NULL, 0, 0, 0, &e, NULL, NULL), RF_OK);
        char *back = rf_decode(t, e.id, e.n, 1, 0, NULL);
        assert_string_equal(back, row[i].text);
        rf_text_free(t, back);
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
}

/* Saving writes the file that was read, and a folder that opens as the same tokenizer, whatever its class. */
static void saved(void **state)
{
    (void)state;
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        const char *to = t_folder();
        char path[512], *copy;
        size_t size, copied;
        rf_error why = {0};
        const char *folder = folder_of(names[m]);
        static const char class[] = "{\"tokenizer_class\": \"SomeTokenizerFast\"}";
        rf_tokenizer *t = opened(folder), *again;
        t_write(folder, "tokenizer_config.json", class, sizeof class - 1);
        rf_tokenizer_free(opened(folder));
        if (rf_tokenizer_save(t, to, &why)) fail_msg("%s", why.text);
        again = opened(to);
        assert_int_equal(rf__tokenizer_fingerprint(t, 1), rf__tokenizer_fingerprint(again, 1));
        assert_int_equal(rf_tokenizer_size(t), rf_tokenizer_size(again));
        char *whole = read_whole(names[m], ".tokenizer.json", &size), *about = rf_tokenizer_describe(again);
        snprintf(path, sizeof path, "%s/tokenizer.json", to);
        assert_int_equal(rf__read_file(ctx, path, 1 << 24, &copy, &copied, NULL), RF_OK);
        assert_int_equal(size, copied);
        assert_memory_equal(whole, copy, size);
        assert_non_null(strstr(about, "(tokenizer.json)"));
        rf_text_free(again, about);
        rf__free(ctx, whole);
        rf__free(ctx, copy);
        rf_tokenizer_free(t);
        rf_tokenizer_free(again);
    }
}

/* Each case replaces a part of a good file. */
static void refused_by_name(void **state)
{
    (void)state;
    static const struct { const char *file, *from, *to, *part; rf_status status; } bad[] = {
        {"bpe", "\"NFKC\"", "\"NFKX\"", "expected a normalizer of tokenizers", RF_EUNSUPPORTED},
        {"unigram", "{\"type\":\"Metaspace\"", "{\"type\":\"Metaspaces\"", "got Metaspaces", RF_EUNSUPPORTED},
        {"bpe", "\"first\"", "\"second\"", "always, first or never, got second", RF_EUNSUPPORTED},
        {"bpe", "\"replacement\":\"\xE2\x96\x81\"", "\"replacement\":\"__\"", "one character, got __", RF_EUNSUPPORTED},
        {"bpe", "\"merges\":[[", "\"merges\":[[\"zz\",\"y\"],[", "merge 0", RF_EDATA},
        {"bpe", "\"merges\":[[", "\"merges\":[7,[", "merge 0", RF_EDATA},
        {"bpe", "\"[UNK]\":1", "\"[UNK]\":0", "id 0 belongs to", RF_EDATA},
        {"bpe", "\"[UNK]\":1", "\"[UNK]\":-1", "an id from 0", RF_EDATA},
        {"bpe", "\"TemplateProcessing\"", "\"Template\"", "got Template", RF_EUNSUPPORTED},
        {"bpe", "\"Sequence\":{\"id\":\"A\",\"type_id\":0}", "\"Sequence\":{\"id\":\"A\"}",
         "type_id: expected a whole number", RF_EDATA},
        {"bpe", "\"single\":[", "\"single\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}},",
         "single: expected the text A", RF_EDATA},
        {"bpe", "\"pair\":[", "\"pair\":[],\"other\":[", "pair: expected the texts A and B", RF_EDATA},
        {"unigram", " {2,}", " {2,}(", "normalizer: Replace: Regex", RF_EDATA},
        {"bpe", "{\"type\":\"NFKC\"}",
         "{\"type\":\"Sequence\",\"normalizers\":["
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaaaaaaaa\"},"
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaaaaaaaaa\"}]}",
         "272 times as long: expected at most 256", RF_EUNSUPPORTED},
        {"unigram", "\"unk_id\":1", "\"unk_id\":9999", "unk_id", RF_EDATA},
        {"unigram", "\"vocab\":[[", "\"vocab\":[[1,2],[", "piece 0", RF_EDATA},
        {"unigram", "\"vocab\":", "\"vocabulary\":", "model.vocab", RF_EDATA},
        {"t5", "\"precompiled_charsmap\":\"A", "\"precompiled_charsmap\":\"!", "precompiled_charsmap", RF_EDATA},
        {"t5", "\"precompiled_charsmap\":\"AAQAA", "\"precompiled_charsmap\":\"AAQAf", "precompiled_charsmap",
         RF_EDATA},
        {"t5", "\"decoder\":{\"type\":\"Metaspace\"", "\"decoder\":{\"type\":\"CTC\"",
         "decoder: CTC", RF_EUNSUPPORTED},
        {"llama", "\"stop\":0", "\"stop\":-1", "decoder: Strip: stop", RF_EUNSUPPORTED},
        {"llama", "\"start\":1", "\"start\":-1", "decoder: Strip: start", RF_EUNSUPPORTED},
        {"llama", "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xE2\x96\x81\"}",
         "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\xE2\x96\x81\"}",
         "decoder: Replace: Regex", RF_EDATA},
        {"llama", "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xE2\x96\x81\"}",
         "{\"type\":\"Replace\",\"pattern\":{\"Text\":\"\xE2\x96\x81\"}",
         "decoder: Replace: pattern", RF_EUNSUPPORTED},
        {"t5", "\"type\":\"Unigram\"", "\"type\":\"WordLevel\"", "model.vocab: expected an object", RF_EDATA},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        size_t size;
        char *good = read_whole(bad[i].file, ".tokenizer.json", &size);
        const char *folder = t_folder(), *at = strstr(good, bad[i].from);
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        if (!at) fail_msg("case %zu: the file has no %s", i, bad[i].from);
        char *text = malloc(size + 256);
        assert_non_null(text);
        snprintf(text, size + 256, "%.*s%s%s", (int)(at - good), good, bad[i].to, at + strlen(bad[i].from));
        t_write(folder, "tokenizer.json", text, strlen(text));
        if (rf_tokenizer_open(ctx, folder, &t, &why) != bad[i].status) fail_msg("case %zu: \"%s\"", i, why.text);
        t_failed(&why, bad[i].status, bad[i].part);
        free(text);
        rf__free(ctx, good);
    }
}

/* A word of a million letters, many marks, blanks: time is linear, which the test's time limit checks. */
static void long_texts(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "\xCC\x81", " ", "\xE2\x96\x81", "\xEF\xBE\x9E", "<0x41>"};
    enum { SIZE = 1 << 18 };
    char *text = malloc(SIZE + 8);
    assert_non_null(text);
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    for (size_t m = 0; m < RF_COUNT(names); m++) {
        rf_tokenizer *t = opened(folder_of(names[m]));
        for (size_t i = 0; i < RF_COUNT(parts); i++) {
            size_t n = 0;
            for (const size_t one = strlen(parts[i]); n < SIZE; n += one) memcpy(text + n, parts[i], one);
            assert_int_equal(rf_encode(t, text, n, NULL, 0, 0, 0, &e, NULL, NULL), RF_OK);
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
    free(text);
}

static void memory_that_ends(void **state)
{
    (void)state;
    static const char *const few[] = {"albert", "llama", "bpe"};
    for (size_t i = 0; i < RF_COUNT(few); i++) {
        round_trip r = {.text = "the \xEF\xBC\xA1\xCC\x80 sea"};
        snprintf(r.folder, sizeof r.folder, "%s", folder_of(few[i]));
        assert_int_equal(t_fail_allocations(1, NULL, there_and_back, &r), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tokenizers_has_it), cmocka_unit_test(text_again),            cmocka_unit_test(saved),
        cmocka_unit_test(refused_by_name),      cmocka_unit_test(long_texts),
        cmocka_unit_test(memory_that_ends),     cmocka_unit_test(decoders_of_tokenizers),
        cmocka_unit_test(decoder_of_a_class),   cmocka_unit_test(dropout_is_named),
    };
    return cmocka_run_group_tests_name("text/fast", tests, setup, teardown);
}
