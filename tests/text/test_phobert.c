/* test_phobert.c — mirrors src/text/subword/phobert.c: ids and texts are those of transformers' PhobertTokenizer
 * (tools/golden/golden_phobert.py); what is written reads the same; damaged folders. */
#include "one_context.h"

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

#define GOLDEN "tests/golden/phobert"

static rf_tokenizer *open_one(const char *folder)
{
    rf_tokenizer *t;
    rf_error why = {0};
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    return t;
}

static void check_row(const rf_tokenizer *t, const json_t *row)
{
    const char *text = json_string_value(json_object_get(row, "text")),
               *pair = json_string_value(json_object_get(row, "pair"));
    const json_t *ids = json_object_get(row, "ids");
    rf_encoding e;
    rf_error why = {0};
    size_t last = 0;
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, strlen(text), pair, pair ? strlen(pair) : 0, 0, 0, &e, NULL, &why)) fail_msg("%s", why.text);
    if (e.n != json_array_size(ids)) fail_msg("%s: %zu tokens", text, e.n);
    for (size_t i = 0; i < e.n; i++) {
        if (e.id[i] != json_integer_value(json_array_get(ids, i)))
            fail_msg("%s: token %zu is %s", text, i, rf_tokenizer_token(t, e.id[i]));
        assert_int_equal(e.type[i], 0);
        if (pair || e.added[i]) continue;
        assert_true(e.start[i] >= last && e.end[i] > e.start[i] && e.end[i] <= strlen(text));
        last = e.end[i];
    }
    rf_encoding_clear(&e);
}

static void check_all(const char *folder)
{
    char line[4096];
    int rows = 0;
    rf_tokenizer *t = open_one(folder);
    FILE *f = fopen(GOLDEN "/cases.jsonl", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (*line == '#') continue;
        json_t *row = json_loads(line, 0, NULL);
        check_row(t, row);
        json_decref(row);
        rows++;
    }
    fclose(f);
    assert_true(rows > 20);
    assert_string_equal(rf__tokenizer_transformers(t), "PhobertTokenizer");
    assert_int_equal(rf_tokenizer_pad(t), 1);
    assert_int_equal(rf_tokenizer_mask(t), rf_tokenizer_size(t) - 1);
    rf_tokenizer_free(t);
}

static void as_transformers_has_it(void **state)
{
    (void)state;
    char copy[512];
    rf_error why = {0};
    check_all(GOLDEN);
    rf_tokenizer *t = open_one(GOLDEN);
    snprintf(copy, sizeof copy, "%s", t_folder());
    if (rf_tokenizer_save(t, copy, &why)) fail_msg("%s", why.text);
    check_all(copy);
    rf_tokenizer *again = open_one(copy);
    assert_true(rf__tokenizer_fingerprint(t, 1) == rf__tokenizer_fingerprint(again, 1));
    rf_tokenizer_free(again);
    rf_tokenizer_free(t);
}

/* Pieces with @@ are joined with what follows. */
static void ids_become_text(void **state)
{
    (void)state;
    static const char text[] = "t\xC3\xB4i y\xC3\xAAu ti\xE1\xBA\xBFng";
    rf_tokenizer *t = open_one(GOLDEN);
    rf_encoding e;
    rf_error why = {0};
    size_t size;
    rf_encoding_init(&e, ctx);
    if (rf_encode(t, text, strlen(text), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < e.n; i++) {
        const char *token = rf_tokenizer_token(t, e.id[i]);
        if (strcmp(token, "<unk>")) assert_int_equal(rf_tokenizer_id(t, token), e.id[i]);
    }
    const int32_t id[] = {rf_tokenizer_id(t, "<s>"), rf_tokenizer_id(t, "t\xC3\xB4i"), rf_tokenizer_id(t, "</s>")};
    char *decoded = rf_decode(t, id, 3, 1, 0, &size);
    assert_string_equal(decoded, "t\xC3\xB4i");
    rf_text_free(t, decoded);
    decoded = rf_decode(t, id, 3, 0, 0, &size);
    assert_string_equal(decoded, "<s> t\xC3\xB4i </s>");
    rf_text_free(t, decoded);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
}

static void copy_file(const char *folder, const char *name)
{
    char path[256], *data;
    size_t size;
    rf_error why = {0};
    snprintf(path, sizeof path, GOLDEN "/%s", name);
    if (rf__read_file(ctx, path, 1 << 20, &data, &size, &why)) fail_msg("%s", why.text);
    t_write(folder, name, data, size);
    rf__free(ctx, data);
}

static const char *a_copy(void)
{
    static char folder[512];
    snprintf(folder, sizeof folder, "%s", t_folder());
    copy_file(folder, "vocab.txt");
    copy_file(folder, "bpe.codes");
    copy_file(folder, "tokenizer_config.json");
    return folder;
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct { const char *file, *text, *part; rf_status code; } bad[] = {
        {"vocab.txt", "a 1\nword\n", "vocab.txt:2: expected a piece, a blank and a count", RF_EDATA},
        {"vocab.txt", "a 1\n\nb 2\n", "vocab.txt:2: expected a piece", RF_EDATA},
        {"vocab.txt", "caf\xE9 1\n", "vocab.txt: expected UTF-8", RF_EDATA},
        {"bpe.codes", "a\xFF b 1\n", "bpe.codes: expected UTF-8", RF_EDATA},
    };
    char path[600];
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        const char *folder = a_copy();
        rf_tokenizer *t;
        rf_error why = {0};
        t_write(folder, bad[i].file, bad[i].text, strlen(bad[i].text));
        assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), bad[i].code);
        t_failed(&why, bad[i].code, bad[i].part);
    }
    const char *folder = a_copy();
    rf_tokenizer *t;
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/bpe.codes", folder);
    remove(path);
    assert_int_equal(rf_tokenizer_open(ctx, folder, &t, &why), RF_EIO);
    t_failed(&why, RF_EIO, "bpe.codes");
    t_write(folder, "bpe.codes", "#version: 0.2\nt \xC3\xB4 9 9\nh a 1", 28);      /* no line of three words ends     */
    t = open_one(folder);
    rf_tokenizer_free(t);
}

static void memory_ends(void **state)
{
    (void)state;
    for (long fail = 1; fail < 4000; fail += fail < 40 ? 1 : 97) {
        t_memory memory = {0};
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        rf_ctx *own = t_counting_ctx(1, NULL, &memory);
        memory.fail = memory.calls + fail;
        const rf_status status = rf_tokenizer_open(own, GOLDEN, &t, &why);
        assert_true(status == RF_OK || status == RF_ENOMEM);
        rf_tokenizer_free(t);
        rf_ctx_free(own);
        assert_int_equal(memory.live, 0);
        if (!status) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_transformers_has_it),
        cmocka_unit_test(ids_become_text),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(memory_ends),
    };
    return cmocka_run_group_tests_name("text/phobert", tests, setup, teardown);
}
