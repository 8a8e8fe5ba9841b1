/* Which end of a long text is lost: truncation_side, or else the direction in tokenizer.json; the padding of that file
 * changes nothing (tools/golden/golden_truncation.py).  A saved tokenizer truncates as before.  mirrors encode.c */
#include "one_context.h"
#include "opened.h"

#include "base/json.h"
#include "roformer/tokenizer.h"

static void put_file(const char *folder, const char *name, const json_t *x)
{
    char *text = rf__json_dump(x, JSON_COMPACT);
    assert_non_null(text);
    t_write(folder, name, text, strlen(text));
    free(text);
}

static void same(const rf_tokenizer *t, int flags, const json_t *set, size_t number)
{
    rf_encoding e;
    rf_error why = {0};
    json_t *c;
    size_t i;
    rf_encoding_init(&e, ctx);
    json_array_foreach(json_object_get(set, "cases"), i, c) {
        const json_t *text = json_object_get(c, "text"), *pair = json_object_get(c, "pair"),
                     *ids = json_object_get(c, "ids");
        const size_t limit = (size_t)json_integer_value(json_object_get(c, "limit"));
        size_t dropped = 0;
        if (rf_encode(t, json_string_value(text), json_string_length(text), json_string_value(pair),
                      json_string_length(pair), limit, flags, &e, &dropped, &why))
            fail_msg("%s", why.text);
        bool good = e.n == json_array_size(ids);
        for (size_t k = 0; k < e.n && good; k++) good = e.id[k] == json_integer_value(json_array_get(ids, k));
        if (!good) fail_msg("set %zu, case %zu: other ids", number, i);
        for (size_t k = 0; k < e.n && !json_is_string(pair); k++)            /* each word has its place               */
            if (e.end[k] > e.start[k])
                assert_int_equal(json_string_value(text)[e.start[k]], rf_tokenizer_token(t, e.id[k])[0]);
    }
    rf_encoding_clear(&e);
}

/* A tokenizer that says the other side, with the flag that says this one. */
static void by_flag(json_t *set, size_t number)
{
    const char *folder = t_folder();
    json_t *settings = json_object_get(set, "settings");
    const char *side = json_string_value(json_object_get(settings, "truncation_side"));
    if (!side)
        side = json_string_value(
            json_object_get(json_object_get(json_object_get(set, "tokenizer"), "truncation"), "direction"));
    const bool left = side && (*side == 'l' || *side == 'L');
    json_object_set_new(settings, "truncation_side", json_string(left ? "right" : "left"));
    put_file(folder, "tokenizer.json", json_object_get(set, "tokenizer"));
    put_file(folder, "tokenizer_config.json", settings);
    rf_tokenizer *t = opened(folder);
    same(t, left ? RF_ENCODE_CUT_BEGIN : RF_ENCODE_CUT_END, set, number);
    rf_tokenizer_free(t);
}

static void as_transformers_has_it(void **state)
{
    (void)state;
    char *data;
    size_t size, i;
    rf_error why = {0};
    json_t *set;
    if (rf__read_file(ctx, "tests/golden/text/truncation.json", 1 << 24, &data, &size, &why)) fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, 0, "truncation.json", &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    json_array_foreach(json_object_get(all, "sets"), i, set) {
        const char *folder = t_folder(), *copy = t_folder();
        put_file(folder, "tokenizer.json", json_object_get(set, "tokenizer"));
        put_file(folder, "tokenizer_config.json", json_object_get(set, "settings"));
        rf_tokenizer *t = opened(folder), *saved;
        same(t, 0, set, i);
        if (rf_tokenizer_save(t, copy, &why)) fail_msg("%s", why.text);
        same(saved = opened(copy), 0, set, i);
        rf_tokenizer_free(saved);
        rf_tokenizer_free(t);
        by_flag(set, i);
    }
    assert_true(i > 20);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_transformers_has_it)};
    return cmocka_run_group_tests_name("text/truncation", tests, setup, teardown);
}
