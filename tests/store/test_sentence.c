/* test_sentence.c — mirrors sentence.c, sentence_write.c, modules.c: folders of sentence-transformers
 * (tools/golden/golden_embed.py) are read with the same meaning; written folders are read back; unsupported modules are
 * named. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>

#include "roformer/checkpoint.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "store/task.h"
#include "t.h"

static void read_golden(rf_ctx *ctx, const char *name, rf_status status, rf_sentence *s, const char *part)
{
    char folder[256];
    rf_error why = {0};
    snprintf(folder, sizeof folder, "tests/golden/embed/folders/%s", name);
    if (rf_sentence_read(ctx, folder, s, &why) != status) fail_msg("%s: %s", name, why.text);
    if (status) t_failed(&why, status, part);
}

static void folders_of_sentence_transformers_are_read(void **state)
{
    (void)state;
    static const struct { const char *name, *pooling; int normalize; int64_t usual; } cases[] = {
        {"mean", "mean", 0, -1}, {"cls-unit", "cls", 1, -1}, {"max", "max", 0, 0}, {"last", "last", 0, -1}};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_sentence s;
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        read_golden(ctx, cases[i].name, RF_OK, &s, NULL);
        assert_string_equal(s.pooling, cases[i].pooling);
        assert_string_equal(s.transformer, "");
        assert_int_equal(s.normalize, cases[i].normalize);
        assert_int_equal(s.include_prompt, 1);
        assert_int_equal(s.prompts, 3);
        assert_int_equal(s.default_prompt >= 0, cases[i].usual >= 0);
        for (int64_t k = 0; k < s.prompts; k++)
            assert_string_equal(s.prompt[k].text, strcmp(s.prompt[k].name, "query") ? "" : "question : ");
        if (s.default_prompt >= 0) assert_string_equal(s.prompt[s.default_prompt].name, "query");
        rf_sentence_free(&s);
    }
    char poolings[64];
    read_golden(ctx, "two", RF_OK, &s, NULL);
    assert_string_equal(s.pooling, "several");
    rf_sentence_free(&s);
    assert_int_equal(rf_sentence_poolings(ctx, "tests/golden/embed/folders/two", poolings, sizeof poolings, NULL), 0);
    assert_string_equal(poolings, "cls+mean");
    read_golden(ctx, "dense", RF_OK, &s, NULL);
    assert_int_equal(s.denses, 1);
    assert_string_equal(s.dense[0].path, "2_Dense");
    assert_true(s.dense[0].in == 32 && s.dense[0].out == 8 && s.dense[0].bias && s.dense[0].act == RF_ACT_TANH);
    rf_sentence_free(&s);
    rf_ctx_free(ctx);
}

static rf_config config_of(const char *pooling, int normalize)
{
    rf_config c;
    rf_config_defaults(&c);
    rf_config_set_head(&c, RF_HEAD_EMBED);
    snprintf(c.sentence_pooling, sizeof c.sentence_pooling, "%s", pooling);
    c.sentence_normalize = normalize;
    c.task_max_length = 77;
    return c;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const char *const poolings[] = {"cls", "mean", "max", "last"};
    for (int i = 0; i < 8; i++) {
        const char *folder = t_folder();
        const rf_config c = config_of(poolings[i % 4], i / 4);
        rf_sentence s;
        rf_error why = {0};
        if (rf__sentence_write(ctx, folder, &c, &why)) fail_msg("%s", why.text);
        if (i % 2) {                                                     /* and what is copied, too */
            const char *copy = t_folder();
            if (rf__sentence_copy(ctx, folder, copy, &why)) fail_msg("%s", why.text);
            folder = copy;
        }
        if (rf_sentence_read(ctx, folder, &s, &why)) fail_msg("%s", why.text);
        assert_string_equal(s.pooling, poolings[i % 4]);
        assert_int_equal(s.normalize, i / 4);
        assert_int_equal(s.max_length, 77);
        assert_int_equal(s.prompts, 0);
        for (const char *const *file = rf__sentence_files(&c); *file; file++) {
            char path[4096];
            struct stat is;
            snprintf(path, sizeof path, "%s/%s", folder, *file);
            assert_int_equal(stat(path, &is), 0);
        }
        rf_sentence_free(&s);
    }
    rf_sentence none;
    assert_int_equal(rf_sentence_read(ctx, t_folder(), &none, NULL), RF_OK);
    assert_string_equal(none.pooling, "");
    rf_sentence_free(&none);
    rf_sentence_free(NULL);
    rf_ctx_free(ctx);
    t_free_all();
}

static void put_file(const char *folder, const char *name, const char *text)
{
    t_write(folder, name, text, strlen(text));
}

/* Settings in a file of an older name: they are not hidden by one that is added. */
static void older_names_are_copied(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const struct { const char *settings; bool adds; } all[] = {
        {"{\"max_seq_length\": 5, \"do_lower_case\": true}", false},
        {"{\"do_lower_case\": true}", true},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        char folder[256], path[4096];
        const char *copy;
        const rf_config c = config_of("mean", 0);
        rf_error why = {0};
        json_t *written;
        bool adds;
        snprintf(folder, sizeof folder, "%s", t_folder());
        copy = t_folder();
        if (rf__sentence_write(ctx, folder, &c, &why)) fail_msg("%s", why.text);
        snprintf(path, sizeof path, "%s/%s", folder, RF_FILE_SENTENCE);
        assert_int_equal(remove(path), 0);
        put_file(folder, "sentence_roberta_config.json", all[i].settings);
        put_file(folder, RF_FILE_TOKENIZER_CONFIG, "{\"model_max_length\": 9}");
        put_file(folder, RF_FILE_CONFIG,
                 "{\"model_type\": \"bert\", \"vocab_size\": 9, \"max_position_embeddings\": 64}");
        if (rf__sentence_adds_length(ctx, folder, &adds, &why) || rf__sentence_copy(ctx, folder, copy, &why) ||
            rf__sentence_load(ctx, copy, "", RF_FILE_SENTENCE, false, path, &written, &why))
            fail_msg("%s", why.text);
        assert_true(adds == all[i].adds && (written != NULL) == adds);
        if (adds) assert_int_equal(json_integer_value(json_object_get(written, "max_seq_length")), 9);
        if (adds) assert_true(json_is_true(json_object_get(written, "do_lower_case")));
        json_decref(written);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* Each file, one thing wrong with it. */
static void damage_is_named(void **state)
{
    (void)state;
    static const char modules[] = "[{\"type\": \"sentence_transformers.a.Transformer\", \"path\": \"\"},"
                                  " {\"type\": \"Pooling\", \"path\": \"q\"}, {\"type\": \"%s\", \"path\": \"p\"}]";
    static const char whole[] = "[{\"type\": \"sentence_transformers.a.Transformer\", \"path\": \"\"},"
                                " {\"type\": \"Pooling\", \"path\": \"p\"}]";
    static const struct { const char *name, *text; rf_status status; const char *part; } cases[] = {
        {RF_FILE_MODULES, "{", RF_EDATA, RF_FILE_MODULES ":1"},
        {RF_FILE_MODULES, "{}", RF_EDATA, "expected a list, got another JSON value"},
        {RF_FILE_MODULES, "[]", RF_EDATA, "expected the modules Transformer and Pooling, got 0 modules"},
        {RF_FILE_MODULES, "[{\"type\": 3}]", RF_EDATA, "module 0: expected type and path, got none"},
        {RF_FILE_MODULES, "[{\"type\": \"sentence_transformers.CLIPModel\", \"path\": \"\"}]", RF_EUNSUPPORTED,
         "module 0: expected Transformer, got CLIPModel"},
        {RF_FILE_MODULES, "[{\"type\": \"sentence_transformers.Router\", \"path\": \"\"}]", RF_EUNSUPPORTED,
         "got Router: queries and documents have modules of their own; write a folder with the modules of one route"},
        {RF_FILE_MODULES, "[{\"type\": \"sentence_transformers.StaticEmbedding\", \"path\": \"\"}]", RF_EUNSUPPORTED,
         "module 0: expected Transformer, got StaticEmbedding: vectors of words"},
        {RF_FILE_MODULES,
         "[{\"type\": \"Transformer\", \"path\": \"\"}, {\"type\": \"SpladePooling\", \"path\": \"1\"}]",
         RF_EUNSUPPORTED, "module 1: expected Pooling, got SpladePooling: its vectors are sparse; /embed_sparse"},
        {RF_FILE_MODULES, "[{\"type\": \"custom_st.Transformer\", \"path\": \"\"}]", RF_EUNSUPPORTED,
         "module 0: expected Transformer, got custom_st.Transformer: a class of another package"},
        {RF_FILE_MODULES,
         "[{\"type\": \"Transformer\", \"path\": \"\"}, {\"type\": \"my_pooling.Pooling\", \"path\": \"p\"}]",
         RF_EUNSUPPORTED, "module 1: expected Pooling, got my_pooling.Pooling: a class of another package"},
        {RF_FILE_MODULES, "[{\"type\": \"Transformer\", \"path\": \"../up\"}]", RF_EDATA, "a folder below this one"},
        {"p/" RF_FILE_CONFIG, NULL, RF_EIO, "expected the file of a module in " RF_FILE_MODULES},
        {"p/" RF_FILE_CONFIG, "{\"pooling_mode\": 1}", RF_EDATA,
         "pooling_mode: expected a string or a list of strings, got 1"},
        {"p/" RF_FILE_CONFIG, "{\"pooling_mode\": []}", RF_EDATA, "pooling_mode: expected a pooling, got none"},
        {"p/" RF_FILE_CONFIG,
         "{\"pooling_mode\": [\"cls\", \"cls\", \"cls\", \"cls\", \"cls\", \"cls\", \"cls\", \"cls\"]}",
         RF_EUNSUPPORTED, "pooling: expected at most 7, got more"},
        {"p/" RF_FILE_CONFIG, "{\"pooling_mode\": [\"mean\", \"median\"]}", RF_EUNSUPPORTED, "got \"median\""},
        {"p/" RF_FILE_CONFIG, "{\"pooling_mode\": \"median\"}", RF_EUNSUPPORTED,
         "mean_sqrt_len_tokens or weightedmean, got \"median\""},
        {RF_FILE_SENTENCE, "{\"max_seq_length\": -1}", RF_EDATA, "max_seq_length"},
        {"p/" RF_FILE_CONFIG, "{\"dimension\": 0}", RF_EDATA, "dimension: expected ... 1 to 65536"},
        {"p/" RF_FILE_CONFIG, "{\"in_features\": 4, \"out_features\": 0}", RF_EDATA,
         "out_features: expected a width"},
        {RF_FILE_PROMPTS, "{\"prompts\": [\"q\"]}", RF_EDATA, "prompts: expected an object, got a list of 1"},
        {RF_FILE_PROMPTS, "{\"prompts\": {\"q\": 1}}", RF_EDATA, "prompt \"q\" is not a string"},
        {RF_FILE_PROMPTS, "{\"default_prompt_name\": \"q\"}", RF_EDATA, "default_prompt_name: expected"},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const char *folder = t_folder();
        char inner[4096];
        rf_sentence s;
        rf_error why = {0};
        snprintf(inner, sizeof inner, "%s/p", folder);
        assert_int_equal(mkdir(inner, 0777), 0);
        char all[256];
        const char *text = cases[i].text ? cases[i].text : "";
        snprintf(all, sizeof all, modules, strstr(text, "features") ? "Dense" : "LayerNorm");
        put_file(folder, RF_FILE_MODULES, strstr(text, "dimension") || strstr(text, "features") ? all : whole);
        snprintf(all, sizeof all, "%s/q", folder);
        assert_int_equal(mkdir(all, 0777), 0);
        put_file(all, RF_FILE_CONFIG, "{}");
        if (cases[i].text && !strncmp(cases[i].name, "p/", 2)) put_file(inner, RF_FILE_CONFIG, cases[i].text);
        else if (cases[i].text) put_file(inner, RF_FILE_CONFIG, "{}");
        if (cases[i].text && strncmp(cases[i].name, "p/", 2)) put_file(folder, cases[i].name, cases[i].text);
        assert_int_equal(rf_sentence_read(ctx, folder, &s, &why), cases[i].status);
        t_failed(&why, cases[i].status, cases[i].part);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_sentence_transformers_are_read),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(older_names_are_copied),
        cmocka_unit_test(damage_is_named),
    };
    return cmocka_run_group_tests_name("store/sentence", tests, NULL, NULL);
}
