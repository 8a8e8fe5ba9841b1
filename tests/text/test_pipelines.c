/* Any tokenizer.json: ids, types, offsets and decoded text as Hugging Face's tokenizers has them, with every kind of
 * model, post-processor, decoder and flag of added tokens (tools/golden/golden_pipelines.py); texts that no piece
 * represents.  mirrors piece_model_read.c, post_processor.c, added_tokens.c */
#include "one_context.h"

#include "base/json.h"
#include "roformer/tokenizer.h"

#define CONFIG "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", \"model_input_names\": [\"token_type_ids\"]}"

static rf_tokenizer *opened(const json_t *file, size_t number)
{
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    const char *folder = t_folder();
    char *text = rf__json_dump(file, JSON_COMPACT);
    assert_non_null(text);
    t_write(folder, "tokenizer.json", text, strlen(text));
    t_write(folder, "tokenizer_config.json", CONFIG, strlen(CONFIG));
    free(text);
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("pipeline %zu: %s", number, why.text);
    return t;
}

static int64_t number_at(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

static void same_tokens(const rf_encoding *e, const json_t *c, size_t number)
{
    const json_t *tokens = json_object_get(c, "tokens");
    bool good = e->n == json_array_size(tokens);
    for (size_t i = 0; i < e->n && good; i++) {
        const json_t *x = json_array_get(tokens, i);
        good = e->id[i] == number_at(x, 0) && e->type[i] == number_at(x, 1) && e->start[i] == number_at(x, 2) &&
               e->end[i] == number_at(x, 3);
    }
    if (!good) fail_msg("pipeline %zu: \"%s\": other tokens", number, json_string_value(json_object_get(c, "text")));
}

static void as_tokenizers_has_it(void **state)
{
    (void)state;
    char *data;
    size_t size, i, k;
    rf_error why = {0};
    json_t *x, *c;
    rf_encoding e;
    if (rf__read_file(ctx, "tests/golden/pipelines/pipelines.json", 1 << 24, &data, &size, &why))
        fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, "pipelines.json", &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    rf_encoding_init(&e, ctx);
    json_array_foreach(json_object_get(all, "files"), i, x) {
        rf_tokenizer *t = opened(json_object_get(x, "file"), i);
        json_array_foreach(json_object_get(x, "cases"), k, c) {
            const json_t *text = json_object_get(c, "text"), *pair = json_object_get(c, "pair"),
                         *decoded = json_object_get(c, "decoded");
            const int flags = json_is_true(json_object_get(c, "plain")) ? RF_ENCODE_PLAIN : 0;
            if (rf_encode(t, json_string_value(text), json_string_length(text), json_string_value(pair),
                          json_string_length(pair), 0, flags, &e, NULL, &why))
                fail_msg("pipeline %zu: %s", i, why.text);
            same_tokens(&e, c, i);
            for (size_t keep = 0; keep < json_array_size(decoded); keep++) {
                char *back = rf_decode(t, e.id, e.n, !keep, 0, NULL);
                assert_string_equal(back, json_string_value(json_array_get(decoded, keep)));
                rf_text_free(t, back);
            }
        }
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
    json_decref(all);
}

/* tokenizers does not encode such texts, either. */
static void nothing_for_unknown_text(void **state)
{
    (void)state;
    static const char *const model[] = {
        "{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"?\"}",
        "{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"unk_token\":\"?\",\"continuing_subword_prefix\":\"\"}",
        "{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]],\"unk_id\":null}",
        "{\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"?\"}"};
    for (size_t i = 0; i < RF_COUNT(model); i++) {
        rf_error why = {0};
        rf_encoding e;
        json_t *file = json_object(), *own = rf__json_parse(model[i], strlen(model[i]), 0, "model", &why);
        json_object_set_new(file, "model", own);
        rf_tokenizer *t = opened(file, i);
        rf_encoding_init(&e, ctx);
        assert_int_equal(rf_encode(t, "a", 1, NULL, 0, 0, 0, &e, NULL, &why), RF_OK);
        assert_int_equal(e.n, 1);
        assert_int_equal(rf_encode(t, "b", 1, NULL, 0, 0, 0, &e, NULL, &why), RF_EUNSUPPORTED);
        t_failed(&why, RF_EUNSUPPORTED, "no piece for");
        rf_encoding_clear(&e);
        rf_tokenizer_free(t);
        json_decref(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tokenizers_has_it), cmocka_unit_test(nothing_for_unknown_text)};
    return cmocka_run_group_tests_name("text/pipelines", tests, setup, teardown);
}
