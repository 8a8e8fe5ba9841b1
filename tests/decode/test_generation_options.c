/* test_generation_options.c — mirrors src/decode/generation_options.c, src/model/generation.c: generation follows
 * generation_config.json, like transformers' generate. */
#define _GNU_SOURCE
#include "t.h"

#include <jansson.h>
#include <unistd.h>

#include "roformer/generate.h"

#define MODEL "tests/golden/models/causal"

struct text { int32_t id[64]; int n; };

static int take(void *user, const rf_generated *t)
{
    struct text *x = user;
    if (!t->stops) x->id[x->n++] = t->id;
    return 0;
}

/* The model's folder with additional `settings`: a separate file, or keys of config.json. */
static const char *folder_of(const json_t *settings, bool in_config)
{
    const char *folder = t_folder();
    char path[512], real[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!realpath(MODEL "/model.safetensors", real) || symlink(real, path)) fail_msg("%s", path);
    json_t *config = json_load_file(MODEL "/config.json", 0, NULL);
    if (in_config) json_object_update(config, (json_t *)(uintptr_t)settings);
    char *text = json_dumps(config, 0), *own = json_dumps(settings, 0);
    t_write(folder, "config.json", text, strlen(text));
    if (!in_config) t_write(folder, "generation_config.json", own, strlen(own));
    free(text);
    free(own);
    json_decref(config);
    return folder;
}

static rf_model *open_model(const rf_ctx *ctx, const json_t *settings, bool in_config)
{
    rf_model *m;
    rf_error why = {0};
    if (rf_model_open(ctx, folder_of(settings, in_config), &m, &why)) fail_msg("%s", why.text);
    return m;
}

static int list(const json_t *from, int32_t *to)
{
    for (size_t i = 0; i < json_array_size(from); i++) to[i] = (int32_t)json_integer_value(json_array_get(from, i));
    return (int)json_array_size(from);
}

static void texts_are_transformers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/generation.jsonl", "r");
    char line[4096];
    int cases = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *all = json_loads(line, 0, NULL);
        const json_t *settings = json_object_get(all, "settings");
        int32_t prompt[64], expected[64];
        const int n = list(json_object_get(all, "prompt"), prompt), more = list(json_object_get(all, "ids"), expected);
        for (int in_config = 0; in_config < 2; in_config++) {
            rf_model *m = open_model(ctx, settings, in_config);
            rf_session *s;
            rf_generate_options o;
            rf_error why = {0};
            struct text x = {.n = 0};
            rf_generate_model_defaults(m, &o);
            if (rf_generate_model_check(m, &why) || rf_session_open(m, &s, &why) ||
                rf_session_generate(s, prompt, n, &o, take, &x, NULL, &why))
                fail_msg("%s%s", line, why.text);
            if (x.n != more || memcmp(x.id, expected, (size_t)more * sizeof *expected))
                fail_msg("%sother ids, %d of them: %d %d %d ...", line, x.n, x.id[0], x.id[1], x.id[2]);
            rf_session_close(s);
            rf_model_close(m);
        }
        json_decref(all);
        cases++;
    }
    assert_int_equal(cases, 69);
    fclose(f);
    rf_ctx_free(ctx);
}

/* Unsupported settings are reported to callers that generate, with file and key; the model still opens. */
static void what_cannot_be_followed(void **state)
{
    (void)state;
    static const struct { const char *json; rf_status code; const char *part; } bad[] = {
        {"{\"num_beam_groups\": 2}", RF_EUNSUPPORTED, "generation_config.json: num_beam_groups"},
        {"{\"num_beams\": 2, \"do_sample\": true}", RF_EUNSUPPORTED, "generation_config.json: do_sample"},
        {"{\"forced_bos_token_id\": 5}", RF_EUNSUPPORTED, "generation_config.json: forced_bos_token_id"},
        {"{\"temperature\": \"hot\"}", RF_EDATA, "generation_config.json: temperature"},
        {"{\"eos_token_id\": 500}", RF_EDATA, "eos_token_id: expected ids below vocab_size 89, got 500"},
        {"{\"bad_words_ids\": [[89]]}", RF_EDATA, "bad_words_ids: expected ids below vocab_size 89, got 89"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        json_t *settings = json_loads(bad[i].json, 0, NULL);
        rf_model *m = open_model(ctx, settings, false);
        rf_error why = {0};
        assert_int_equal(rf_generate_model_check(m, &why), bad[i].code);
        t_failed(&why, bad[i].code, bad[i].part);
        why = (rf_error){0};
        assert_int_equal(rf_translate_check(m, &why), RF_EUNSUPPORTED);         /* whatever its file says */
        rf_model_close(m);
        json_decref(settings);
    }
    rf_ctx_free(ctx);
}

/* max_length includes the prompt; a prompt of that length gets no text. */
static void a_prompt_as_long_as_max_length(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    json_t *settings = json_pack("{s:i}", "max_length", 6);
    rf_model *m = open_model(ctx, settings, false);
    rf_session *s;
    rf_generate_options o;
    rf_error why = {0};
    const int32_t prompt[] = {5, 6, 7, 8, 9, 10};
    struct text x = {.n = 0};
    rf_generate_model_defaults(m, &o);
    if (rf_session_open(m, &s, &why) || rf_session_generate(s, prompt, 5, &o, take, &x, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(x.n, 1);
    assert_int_equal(rf_session_generate(s, prompt, 6, &o, take, &x, NULL, &why), RF_ERANGE);
    t_failed(&why, RF_ERANGE, "prompt: expected ... max_length, 6, got 6");
    rf_session_close(s);
    rf_model_close(m);
    json_decref(settings);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_transformers),
        cmocka_unit_test(what_cannot_be_followed),
        cmocka_unit_test(a_prompt_as_long_as_max_length),
    };
    return cmocka_run_group_tests_name("decode/generation_options", tests, NULL, NULL);
}
