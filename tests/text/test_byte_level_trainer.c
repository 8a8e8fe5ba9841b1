/* test_byte_level_trainer.c — mirrors src/text/subword/byte_level_trainer.c and src/text/pair_learner.c: symbols,
 * merges and ids are those of Hugging Face's BpeTrainer (tools/golden/golden_byte_level.py); saved files are read
 * again; wrong arguments are refused; allocations fail. */
#include "one_context.h"

#include "base/json.h"
#include "roformer/tokenizer.h"

static json_t *golden(void)
{
    char *data;
    size_t size;
    rf_error why = {0};
    if (rf__read_file(ctx, "tests/golden/byte_level/learned.json", 1 << 24, &data, &size, &why))
        fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, JSON_ALLOW_NUL, "learned.json", &why);
    if (!all) fail_msg("%s", why.text);
    rf__free(ctx, data);
    return all;
}

static rf_status learn(const rf_ctx *with, const json_t *lines, int32_t size, rf_tokenizer **out, rf_error *why)
{
    rf_tokenizer_train_options o;
    rf_tokenizer_trainer *t = NULL;
    size_t i;
    json_t *line;
    rf_tokenizer_train_defaults(&o);
    o.tokens = size;
    rf_status status = rf_tokenizer_trainer_new(with, "bytelevel", &o, &t, why);
    json_array_foreach((json_t *)(uintptr_t)lines, i, line)
        if (!status) status = rf_tokenizer_trainer_feed(t, json_string_value(line), json_string_length(line), why);
    if (!status) status = rf_tokenizer_trainer_finish(t, out, why);
    rf_tokenizer_trainer_free(t);
    return status;
}

static int64_t number(const json_t *list, size_t i) { return json_integer_value(json_array_get(list, i)); }

static void same_ids(const rf_tokenizer *t, const json_t *cases)
{
    rf_encoding e;
    size_t i;
    json_t *x;
    rf_encoding_init(&e, ctx);
    json_array_foreach((json_t *)(uintptr_t)cases, i, x) {
        const json_t *text = json_object_get(x, "text"), *ids = json_object_get(x, "ids");
        const json_t *offsets = json_object_get(x, "offsets");
        rf_error why = {0};
        if (rf_encode(t, json_string_value(text), json_string_length(text), NULL, 0, 0, 0, &e, NULL, &why))
            fail_msg("%s", why.text);
        if (e.n != json_array_size(ids)) fail_msg("text %zu: %zu tokens", i, e.n);
        for (size_t k = 0; k < e.n; k++) {
            const json_t *o = json_array_get(offsets, k);
            if (e.id[k] != number(ids, k) || e.start[k] != number(o, 0) || e.end[k] != number(o, 1))
                fail_msg("text %zu: token %zu: %d from %u to %u", i, k, (int)e.id[k], e.start[k], e.end[k]);
        }
    }
    rf_encoding_clear(&e);
}

/* Its merges, in the saved file. */
static void same_merges(const char *folder, const json_t *merges)
{
    char path[512], *data;
    size_t size, i;
    json_t *x;
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    if (rf__read_file(ctx, path, 1 << 24, &data, &size, &why)) fail_msg("%s", why.text);
    json_t *all = rf__json_parse(data, size, 0, path, &why);
    const json_t *own = json_object_get(json_object_get(all, "model"), "merges");
    assert_int_equal(json_array_size(own), json_array_size(merges));
    json_array_foreach((json_t *)(uintptr_t)own, i, x) {
        char both[512];
        snprintf(both, sizeof both, "%s %s", json_string_value(json_array_get(x, 0)),
                 json_string_value(json_array_get(x, 1)));
        if (strcmp(both, json_string_value(json_array_get(merges, i)))) fail_msg("merge %zu is %s", i, both);
    }
    json_decref(all);
    rf__free(ctx, data);
}

static void as_tokenizers_learns_it(void **state)
{
    (void)state;
    json_t *all = golden();
    const json_t *tokens = json_object_get(all, "tokens");
    rf_tokenizer *t = NULL, *back = NULL;
    rf_error why = {0};
    if (learn(ctx, json_object_get(all, "lines"), (int32_t)json_integer_value(json_object_get(all, "size")), &t, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rf_tokenizer_size(t), json_array_size(tokens));
    for (int32_t i = 0; i < rf_tokenizer_size(t); i++)
        if (strcmp(rf_tokenizer_token(t, i), json_string_value(json_array_get(tokens, (size_t)i))))
            fail_msg("token %d is %s", (int)i, rf_tokenizer_token(t, i));
    same_ids(t, json_object_get(all, "cases"));
    const char *folder = t_folder();
    if (rf_tokenizer_save(t, folder, &why) || rf_tokenizer_open(ctx, folder, &back, &why)) fail_msg("%s", why.text);
    same_ids(back, json_object_get(all, "cases"));
    same_merges(folder, json_object_get(all, "merges"));
    rf_tokenizer_free(back);
    rf_tokenizer_free(t);
    json_decref(all);
}

static void refusals(void **state)
{
    (void)state;
    json_t *none = json_pack("[]"), *some = json_pack("[s]", "aaa bbb");
    rf_tokenizer *t = NULL;
    rf_error few = {0}, empty = {0};
    assert_int_equal(learn(ctx, some, 260, &t, &few), RF_EARG);
    t_failed(&few, RF_EARG, "tokens: expected 261 or ... 256 bytes, got 260");
    assert_int_equal(learn(ctx, none, 300, &t, &empty), RF_EDATA);
    t_failed(&empty, RF_EDATA, "there is no word in the text to learn from");
    assert_null(t);
    json_decref(none);
    json_decref(some);
}

/* Every byte is known, whatever the text had; nothing occurs twice, so nothing is merged. */
static void bytes_alone(void **state)
{
    (void)state;
    json_t *one = json_pack("[s]", "xy");
    rf_tokenizer *t = NULL;
    rf_error why = {0};
    if (learn(ctx, one, 300, &t, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_tokenizer_size(t), 261);
    rf_tokenizer_free(t);
    json_decref(one);
}

static rf_status learn_a_little(const rf_ctx *with, void *arg, rf_error *why)
{
    rf_tokenizer *t = NULL;
    json_t *lines = json_pack("[s, s]", "banana bananas bandana", "banana ba");
    const rf_status status = learn(with, lines, 266, &t, why);
    (void)arg;
    rf_tokenizer_free(t);
    json_decref(lines);
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
        cmocka_unit_test(as_tokenizers_learns_it),
        cmocka_unit_test(refusals),
        cmocka_unit_test(bytes_alone),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests_name("text/byte_level_trainer", tests, setup, teardown);
}
