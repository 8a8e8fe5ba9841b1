/* test_marian.c — mirrors src/text/subword/marian.c: ids and texts are those of transformers' MarianTokenizer
 * (tools/golden/golden_marian_text.py), with the models of tests/golden/subwords as its sides, and of M2M100Tokenizer,
 * with pieces of U+0000 (tools/golden/golden_languages.py); incomplete folders. */
#include "one_context.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/subwords/"

static char *read_whole(const char *name, size_t *size)
{
    char path[256], *data;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "%s", name);
    if (rf__read_file(ctx, path, 1 << 24, &data, size, &why)) fail_msg("%s", why.text);
    return data;
}

static json_t *golden(void)
{
    size_t size;
    rf_error why = {0};
    char *data = read_whole("marian.json", &size);
    json_t *all = rf__json_parse(data, size, 0, "marian.json", &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    return all;
}

static void copy_model(const char *folder, const char *from, const char *to)
{
    size_t size;
    char *data = read_whole(from, &size);
    t_write(folder, to, data, size);
    rf__free(ctx, data);
}

/* vocab.json of the first `n` pieces. */
static void write_vocabulary(const char *folder, const json_t *pieces, size_t n)
{
    json_t *map = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(map, json_string_value(json_array_get(pieces, i)), json_integer((json_int_t)i));
    char *text = json_dumps(map, 0);
    t_write(folder, "vocab.json", text, strlen(text));
    free(text);
    json_decref(map);
}

static const char *whole_folder(const json_t *all)
{
    static char folder[512];
    const json_t *pieces = json_object_get(all, "vocab");
    snprintf(folder, sizeof folder, "%s", t_folder());
    copy_model(folder, "unigram.model", "source.spm");
    copy_model(folder, "bpe.model", "target.spm");
    write_vocabulary(folder, pieces, json_array_size(pieces));
    return folder;
}

static void same_ids(const rf_tokenizer *t, const char *text, size_t bytes, const json_t *expected)
{
    rf_encoding e;
    rf_error why = {0};
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, bytes, NULL, 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(e.n, json_array_size(expected));
    for (size_t i = 0; i < e.n; i++)
        if (e.id[i] != json_integer_value(json_array_get(expected, i)))
            fail_msg("%s: token %zu is %s", text, i, rf_tokenizer_token(t, e.id[i]));
    rf_encoding_clear(&e);
}

static void same_text(const rf_tokenizer *t, const json_t *ids, int skip, const char *expected,
                      size_t bytes)
{
    int32_t id[256];
    size_t n = json_array_size(ids), size;
    for (size_t i = 0; i < n; i++) id[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    char *text = rf_decode(t, id, n, skip, 0, &size);
    assert_int_equal(size, bytes);
    assert_memory_equal(text, expected, bytes);
    rf_text_free(t, text);
}

/* The ids of the texts of ids.jsonl, by the folder and by what is written of it. */
static void has_ids(const char *golden)
{
    rf_tokenizer *t;
    rf_error why = {0};
    size_t size;
    const char *folder = golden, *written = t_folder();
    char *lines, path[256];
    snprintf(path, sizeof path, "%s/ids.jsonl", golden);
    for (int twice = 0; twice < 2; twice++, folder = written) {
        if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
        if (rf__read_file(ctx, path, 1 << 16, &lines, &size, &why)) fail_msg("%s", why.text);
        for (char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            json_t *row = rf__json_parse(line, (size_t)(end - line), JSON_ALLOW_NUL, "row", &why);
            const json_t *text = json_object_get(row, "text"), *decoded = json_object_get(row, "decoded");
            same_ids(t, json_string_value(text), json_string_length(text), json_object_get(row, "ids"));
            if (decoded)
                same_text(t, json_object_get(row, "ids"), 1, json_string_value(decoded), json_string_length(decoded));
            json_decref(row);
        }
        rf__free(ctx, lines);
        if (rf_tokenizer_save(t, written, &why)) fail_msg("%s", why.text);
        rf_tokenizer_free(t);
    }
}

static void pieces_of_nul(void **state)
{
    (void)state;
    has_ids("tests/golden/languages/zero-byte");
    has_ids("tests/golden/languages/zero-byte/unigram");
    has_ids("tests/golden/languages/zero-byte/bpe");
}

/* A file that settings change is written with its pieces of U+0000; BERT's tokenizers refuse them. */
static void pieces_of_nul_elsewhere(void **state)
{
    (void)state;
    static const char lower[] = "{\"do_lower_case\": true}";
    static const char words[] =
        "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": "
        "false, \"handle_chinese_chars\": true, \"strip_accents\": null, \"lowercase\": true}, \"pre_tokenizer\": "
        "{\"type\": \"BertPreTokenizer\"}, \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 3], "
        "\"cls\": [\"[CLS]\", 2]}, \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}, "
        "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "
        "\"max_input_chars_per_word\": 100, \"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, "
        "\"[MASK]\": 4, \"a\": 5, \"a\\u0000\": 6}}}";
    static const char *const classes[] = {"PreTrainedTokenizerFast", "BertTokenizer"};
    const char *folder = t_folder(), *saved = t_folder();
    char *text, settings[96];
    size_t size;
    rf_error why = {0};
    rf_tokenizer *t;
    if (rf__read_file(ctx, "tests/golden/languages/zero-byte/unigram/tokenizer.json", 1 << 24, &text, &size, &why))
        fail_msg("%s", why.text);
    t_write(folder, "tokenizer.json", text, size);
    t_write(folder, "sentence_bert_config.json", lower, strlen(lower));
    rf__free(ctx, text);
    if (rf_tokenizer_open(ctx, folder, &t, &why) || rf_tokenizer_save(t, saved, &why)) fail_msg("%s", why.text);
    rf_tokenizer_free(t);
    char path[512];
    snprintf(path, sizeof path, "%s/tokenizer.json", saved);
    if (rf__read_file(ctx, path, 1 << 24, &text, &size, &why)) fail_msg("%s", why.text);
    assert_non_null(strstr(text, "\\u0000"));
    assert_null(strstr(text, "\xEF\xBF\xBF"));
    rf__free(ctx, text);
    for (size_t i = 0; i < RF_COUNT(classes); i++) {
        folder = t_folder();
        snprintf(settings, sizeof settings, "{\"tokenizer_class\": \"%s\"}", classes[i]);
        t_write(folder, "tokenizer.json", words, strlen(words));
        t_write(folder, "tokenizer_config.json", settings, strlen(settings));
        if (i) {
            assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
            t_failed(&why, RF_EUNSUPPORTED, "model.vocab: ... U+0000 ... got \\u0000");
            continue;
        }
        rf_encoding e;
        rf_encoding_init(&e, ctx);
        if (rf_tokenizer_open(ctx, folder, &t, &why) ||
            rf_encode(t, "a\xEF\xBF\xBF a", 6, NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(e.n, 2);
        assert_int_equal(e.id[0], 1);                                               /* U+FFFF is not the piece        */
        assert_int_equal(e.id[1], 5);
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
    }
}

/* Without added tokens, nothing says the ids of the languages. */
static void nllb_without_tokenizer_json(void **state)
{
    (void)state;
    has_ids("tests/golden/languages/nllb_pieces");
    size_t size;
    rf_tokenizer *t;
    rf_error why = {0};
    char *model;
    const char *folder = t_folder(), class[] = "{\"tokenizer_class\": \"NllbTokenizer\"}";
    if (rf__read_file(ctx, "tests/golden/languages/nllb_pieces/sentencepiece.bpe.model", 1 << 24, &model, &size, &why))
        fail_msg("%s", why.text);
    t_write(folder, "sentencepiece.bpe.model", model, size);
    t_write(folder, "tokenizer_config.json", class, strlen(class));
    rf__free(ctx, model);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "added_tokens_decoder: expected the tokens of the languages");
}

static void check_all(const char *folder, const json_t *all)
{
    rf_tokenizer *t;
    rf_error why = {0};
    size_t i;
    const json_t *x;
    assert_string_equal(rf_tokenizer_found(ctx, folder), "source.spm");
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    const rf_tokenizer *target = rf__tokenizer_target(t);
    assert_ptr_not_equal(target, t);
    assert_ptr_equal(rf__tokenizer_target(target), target);
    assert_int_equal(rf_tokenizer_size(t), json_array_size(json_object_get(all, "vocab")));
    assert_int_equal(rf_tokenizer_size(target), rf_tokenizer_size(t));
    assert_int_equal(rf_tokenizer_sep(t), 0);
    assert_int_equal(rf_tokenizer_pad(t), rf_tokenizer_size(t) - 1);
    assert_int_equal(rf_tokenizer_id(t, ">>deu<<"), rf_tokenizer_size(t) - 3);
    assert_string_equal(rf__tokenizer_transformers(t), "MarianTokenizer");
    json_array_foreach(json_object_get(all, "cases"), i, x) {
        const char *text = json_string_value(json_object_get(x, "text"));
        const json_t *decoded = json_object_get(x, "decoded"), *whole = json_object_get(x, "whole");
        same_ids(t, text, strlen(text), json_object_get(x, "source"));
        same_ids(target, text, strlen(text), json_object_get(x, "target"));
        same_text(target, json_object_get(x, "target"), 1, json_string_value(decoded), json_string_length(decoded));
        same_text(target, json_object_get(x, "target"), 0, json_string_value(whole), json_string_length(whole));
    }
    assert_true(i > 15);
    rf_tokenizer_free(t);
}

static void as_transformers_has_it(void **state)
{
    (void)state;
    json_t *all = golden();
    const char *folder = whole_folder(all);
    check_all(folder, all);

    /* what is written reads the same, with transformers' keys */
    rf_tokenizer *t;
    rf_error why = {0};
    char copy[512];
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    const uint64_t print = rf__tokenizer_fingerprint(t, 1);
    snprintf(copy, sizeof copy, "%s", t_folder());
    if (rf_tokenizer_save(t, copy, &why)) fail_msg("%s", why.text);
    rf_tokenizer_free(t);
    check_all(copy, all);
    if (rf_tokenizer_open(ctx, copy, &t, &why)) fail_msg("%s", why.text);
    assert_true(rf__tokenizer_fingerprint(t, 1) == print);
    rf_tokenizer_free(t);
    json_decref(all);
}

static void refused(const char *folder, rf_status code, const char *part)
{
    rf_tokenizer *t;
    rf_error why = {0};
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), code);
    t_failed(&why, code, part);
}

static void what_is_no_marian(void **state)
{
    (void)state;
    json_t *all = golden();
    const json_t *pieces = json_object_get(all, "vocab");
    char folder[512];
    snprintf(folder, sizeof folder, "%s", whole_folder(all));
    char path[600];
    snprintf(path, sizeof path, "%s/target.spm", folder);
    remove(path);
    refused(folder, RF_EIO, "target.spm");
    copy_model(folder, "marian.json", "target.spm");
    refused(folder, RF_EDATA, "target.spm: SentencePiece model: the file, byte 0 of");
    copy_model(folder, "bpe.model", "target.spm");
    write_vocabulary(folder, pieces, 90);
    refused(folder, RF_EDATA, "the two files are of different models");
    static const char *const odd[] = {
        "{\"</s>\": 0, \"a\": 0}", "expected one token for each id, got", "{\"</s>\": 7}", "expected an id from 0 to 0",
        "{\"</s>\": 0, \"a\": 1.5}", "expected an id from 0 to 1", "[]", "expected a JSON object",
    };
    for (size_t i = 0; i < RF_COUNT(odd); i += 2) {
        t_write(folder, "vocab.json", odd[i], strlen(odd[i]));
        refused(folder, RF_EDATA, odd[i + 1]);
    }
    const char apart[] = "{\"tokenizer_class\": \"MarianTokenizer\", \"separate_vocabs\": true}";
    t_write(folder, "tokenizer_config.json", apart, strlen(apart));
    refused(folder, RF_EUNSUPPORTED, "separate_vocabs: expected false, got true");
    json_decref(all);
}

static void memory_ends(void **state)
{
    (void)state;
    json_t *all = golden();
    char folder[512];
    snprintf(folder, sizeof folder, "%s", whole_folder(all));
    for (long fail = 1; fail < 100; fail++) {
        t_memory memory = {0};
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        rf_ctx *own = t_counting_ctx(1, NULL, &memory);
        memory.fail = memory.calls + fail;
        const rf_status status = rf_tokenizer_open(own, folder, &t, &why);
        assert_true(status == RF_OK || status == RF_ENOMEM);
        rf_tokenizer_free(t);
        rf_ctx_free(own);
        assert_int_equal(memory.live, 0);
        if (!status) break;
    }
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_transformers_has_it),
        cmocka_unit_test(pieces_of_nul),
        cmocka_unit_test(pieces_of_nul_elsewhere),
        cmocka_unit_test(nllb_without_tokenizer_json),
        cmocka_unit_test(what_is_no_marian),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("text/marian", tests, setup, teardown);
}
