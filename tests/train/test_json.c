/* test_json.c — mirrors src/base/json.c: reading and building; and if any allocation of jansson fails, in all code that
 * reads and writes JSON, the call returns RF_ENOMEM and leaves the files unchanged, or it succeeds.
 *
 *     ROFORMER_SWEEP=1 test_json         every allocation of a whole run of training, too (tools/kill_sweep.sh) */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdatomic.h>

#include "base/json.h"
#include "roformer/tokenizer.h"
#include "store/store.h"
#include "store/task.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/state.h"
#include "train/options.h"
#include "whole_run.h"

/* ---- jansson's allocations ---- */

static struct { atomic_long calls; long fail; bool forever, reads; } memory;

/* While reading, jansson (2.14) does not handle that its buffer for a token cannot grow, to 32, 64, 128, ... bytes: it
 * continues without a byte, and if that was the closing quote it accesses memory beyond the token.  These allocations
 * are granted. */
static void *counted(size_t size)
{
    if (memory.reads && size >= 32 && !(size & (size - 1))) return malloc(size);
    const long n = ++memory.calls;
    return memory.fail && (memory.forever ? n >= memory.fail : n == memory.fail) ? NULL : malloc(size);
}

static void arm(long fail, bool forever)
{
    memory.calls = 0;
    memory.fail = fail;
    memory.forever = forever;
}


/* ---- reading and building ---- */

static void failures_are_told_apart(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "{\"a\"",
        "{\"a\":}",
        "{\"a\":tru}",
        "{\"a\":\"b",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":01}",
        "{\"a\":1e999}",
        "{\"a\":\"\xFF\"}",
        "{\"a\":1,\"a\":2}",
        "{1:2}",
        "{\"a\":\"\n\"}",
        "{\"\\u0000\":1}",
        "{,}",
        "{@}",
        "{\"a\":-}",
        "{\"a\":99999999999999999999}",
        "[\"a\"",
        "[1,]",
        "{} x",
        "x",
        "\"",
        "{\"a\":\"\\u00",
        "{\"a\" \"b\"}",
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        rf_error why = {0};
        assert_null(rf__json_parse(bad[i], strlen(bad[i]), 0, "file", &why));
        if (why.code != RF_EDATA) fail_msg("%s: \"%s\"", bad[i], why.text);
        assert_null(strstr(why.text, "-1"));
    }
    static const char good[] = "{\"\\u00e9\\u20ac\\ud83d\\ude00 a name of many letters\":"
                               "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",{\"\":[]},1.25,true],\"z\":\"\\u0041\"}";
    static const char more[] = "{\"a number of many digits\":0.12345678901234567890,\"k\":\"\xE6\xBC\xA2\"}";
    memory.reads = true;
    for (int i = 0; i < 2; i++) {
        const char *text = i ? more : good;
        rf_error why = {0};
        arm(0, false);
        json_t *whole = rf__json_parse(text, strlen(text), 0, "file", &why);
        if (!whole) fail_msg("%s", why.text);
        const long calls = memory.calls;
        assert_true(calls > 8);
        for (long n = 1; n <= calls; n++) {
            why = (rf_error){0};
            arm(n, false);
            json_t *one = rf__json_parse(text, strlen(text), 0, "file", &why);
            arm(0, false);
            if (one) assert_true(json_equal(one, whole));
            else if (why.code != RF_ENOMEM) fail_msg("allocation %ld of %ld: %s", n, calls, why.text);
            json_decref(one);
        }
        json_decref(whole);
    }
}

static void what_is_not_whole_is_nothing(void **state)
{
    (void)state;
    json_t *object = json_object(), *list = json_array();
    rf__json_add(&list, json_integer(1));
    rf__json_set(&object, "list", list);
    rf__json_set(&object, "text", rf__json_text("a\xFF" "b\xE6\xBC", 5));
    assert_string_equal(json_string_value(json_object_get(object, "text")),
                        "a\xEF\xBF\xBD" "b\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_true(rf__json_takes("\xF0\x9F\x98\x80 \xC3\xA9"));
    assert_false(rf__json_takes("\xED\xA0\x80"));
    assert_false(rf__json_takes("\xC0\x80"));
    rf__json_set(&object, "lost", NULL);
    assert_null(object);
    rf__json_set(&object, "after", json_integer(2));
    assert_null(object);
    list = json_array();
    rf__json_add(&list, object);
    assert_null(list);
}

/* ---- all that reads and writes ---- */

static rf_ctx *ctx;
static const char *folder;
static uint64_t answer;                 /* results of the last call besides files                                     */

static uint64_t mixed(uint64_t h, const void *data, size_t size) { return rf__hash64(data, size, h); }

static char *file_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static uint64_t files(void)
{
    uint64_t sum = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char *text = NULL;
        size_t size;
        if (e->d_name[0] == '.') continue;
        assert_null(strstr(e->d_name, ".tmp"));
        assert_int_equal(rf__read_file(ctx, file_path(e->d_name), 1 << 24, &text, &size, NULL), RF_OK);
        sum += mixed(mixed(1, e->d_name, strlen(e->d_name)), text, size);
        rf__free(ctx, text);
    }
    closedir(d);
    return sum;
}

#define OLD "{\"old\": 1}"
static void old(const char *name) { t_write(folder, name, OLD, sizeof OLD - 1); }

static rf_tokenizer *tokenizer;
#define FAST \
    "{\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true," \
    "\"strip_accents\":null," \
             "\"lowercase\":true},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"added_tokens\":[{\"id\":8," \
             "\"content\":" \
             "\"<an added token>\",\"single_word\":false,\"lstrip\":true,\"rstrip\":true,\"normalized\":false," \
             "\"special\":true}]," \
             "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\"," \
             "\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3," \
             "\"[MASK]\":4," \
             "\"a\":5,\"##b\":6,\"internationalisation\":7}}}"

static void tokenizer_ready(void)
{
    static const char settings[] =
        "{\"tokenizer_class\":\"BertTokenizer\",\"do_lower_case\":true,\"model_max_length\":512}";
    t_write(folder, "tokenizer.json", FAST, sizeof FAST - 1);
    t_write(folder, "tokenizer_config.json", settings, sizeof settings - 1);
}

static rf_status tokenizer_opened(rf_error *why)
{
    rf_tokenizer *t = NULL;
    const rf_status status = rf_tokenizer_open(ctx, folder, &t, why);
    answer = 1;
    for (int32_t i = 0; t && i < rf_tokenizer_size(t); i++) {
        const char *token = rf_tokenizer_token(t, i);
        answer = mixed(answer, token, strlen(token));
    }
    if (t) answer = mixed(answer, rf_tokenizer_options_of(t), offsetof(rf_tokenizer_options, unk));
    rf_tokenizer_free(t);
    return status;
}

static void tokenizer_saves(void)
{
    const char *to = folder;
    rf_error why = {0};
    if (!tokenizer) {
        folder = t_folder();
        tokenizer_ready();
        assert_int_equal(rf_tokenizer_open(ctx, folder, &tokenizer, &why), RF_OK);
        folder = to;
    }
    old("vocab.txt");
    old("tokenizer_config.json");
    old("special_tokens_map.json");
}

static rf_status tokenizer_saved(rf_error *why) { return rf_tokenizer_save(tokenizer, folder, why); }

static rf_config config;

static void config_ready(void)
{
    static const char *label[] = {"a label", "another label that is longer", "third"};
    static const double shorts[] = {1.1, 1.2}, longs[] = {1.3, 1.4};
    rf_config_defaults(&config);
    config.rope_scaling = (rf_rope_scaling){.rope_type = RF_ROPE_LONGROPE,
                                            .factor = 4.0 / 3,
                                            .shorts = 2,
                                            .longs = 2,
                                            .original_max_position_embeddings = 512,
                                            .short_factor = shorts,
                                            .long_factor = longs};
    rf_config_set_head(&config, RF_HEAD_SEQUENCE);
    snprintf(config.finetuning_task, sizeof config.finetuning_task, "cls");
    config.num_labels = 3;
    config.label = label;
    old("config.json");
}

static rf_status config_written(rf_error *why) { return rf_config_write(ctx, folder, &config, why); }

static void config_waits(void)
{
    rf_error why = {0};
    config_ready();
    if (rf_config_write(ctx, folder, &config, &why)) fail_msg("%s", why.text);
}

static rf_status config_read(rf_error *why)
{
    rf_config c;
    rf_labels labels = {0};
    rf_status status = rf_config_read(ctx, folder, &c, why);
    if (!status) status = rf__labels_read(ctx, folder, &labels, why);
    if (status) return status;
    answer = mixed(1, c.rope_scaling.short_factor, (size_t)c.rope_scaling.shorts * sizeof(double));
    answer = mixed(answer, c.rope_scaling.long_factor, (size_t)c.rope_scaling.longs * sizeof(double));
    answer = mixed(answer, &c.rope_scaling.factor, sizeof c.rope_scaling.factor);
    answer = mixed(answer, &c.hidden_size, sizeof c.hidden_size);
    for (int64_t i = 0; i < labels.n; i++) answer = mixed(answer, labels.name[i], strlen(labels.name[i]));
    rf__labels_free(&labels);
    return status;
}

static void weights_ready(void) { old("model.safetensors"); }

static rf_status weights_written(rf_error *why)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const char *const metadata[] = {"a key of metadata", "its value", NULL};
    const rf_weight_out all[] = {{"encoder.layer.0.attention.self.query.weight", RF_F32, 2, {2, 3}, x},
                                 {"b", RF_BF16, 1, {2}, x}};
    return rf__weights_write(ctx, file_path("model.safetensors"), all, 2, metadata, why);
}

static void weights_wait(void)
{
    rf_error why = {0};
    assert_int_equal(weights_written(&why), RF_OK);
}

static rf_status weights_read(rf_error *why)
{
    rf_weights *w = NULL;
    const rf_status status = rf_weights_open(ctx, folder, &w, why);
    answer = 1;
    for (size_t i = 0; w && i < rf_weights_count(w); i++) {
        const rf_weight *t = rf_weights_at(w, i);
        answer = mixed(mixed(answer, t->name, strlen(t->name)), t->data, t->bytes);
    }
    if (w) answer = mixed(answer, rf__weights_metadata(w, "a key of metadata"), 3);
    if (w) rf_weights_close(w);
    return status;
}

static void state_ready(void) { old("trainer_state.json"); }

static rf_status state_saved(rf_error *why)
{
    rf__state s;
    rf_train_options o;
    rf_train_defaults(&o);
    o.texts = 1;
    o.text = (const char *const[]){"/a/path/of\xFF/text.txt"};
    rf__state_init(&s);
    s.step = 5;
    s.loss.mean = 3.1415926535897931;
    s.position = (rf__data_position){.epoch = 3, .index = 99, .waits = 2, .waiting = {{2, 7}, {3, 123456}}};
    json_t *options = rf__options_json(&o);
    const rf_status status = rf__state_save(ctx, &s, options, 1.5, file_path("trainer_state.json"), why);
    json_decref(options);
    return status;
}

static void state_waits(void)
{
    rf_error why = {0};
    assert_int_equal(state_saved(&why), RF_OK);
}

static rf_status state_loaded(rf_error *why)
{
    rf__state s;
    json_t *options = NULL;
    const rf_status status = rf__state_load(ctx, file_path("trainer_state.json"), &s, &options, why);
    if (status) return status;
    memory.fail = 0;
    char *text = json_dumps(options, JSON_SORT_KEYS);
    answer = mixed(mixed(1, &s.position, sizeof s.position), &s.loss, sizeof s.loss);
    answer = mixed(answer, text, strlen(text));
    free(text);
    json_decref(options);
    return status;
}

static void checksums_ready(void)
{
    old("a file of the folder");
    old("another file of the folder");
    old("checksums.json");
}

static rf_status checksums_written(rf_error *why)
{
    static const char *const file[] = {"a file of the folder", "another file of the folder", NULL};
    return rf__checksums_write(ctx, folder, "checksums.json", file, why);
}

static void checksums_wait(void)
{
    rf_error why = {0};
    checksums_ready();
    assert_int_equal(checksums_written(&why), RF_OK);
}

static rf_status checksums_verified(rf_error *why)
{
    return rf_checksums_verify(ctx, folder, "checksums.json", NULL, NULL, why);
}

static const struct {
    const char *name;
    void (*before)(void);
    rf_status (*call)(rf_error *why);
    bool reads;
} calls[] = {
    {"rf_tokenizer_open", tokenizer_ready, tokenizer_opened, true},
    {"rf_tokenizer_save", tokenizer_saves, tokenizer_saved, false},
    {"rf_config_write", config_ready, config_written, true},
    {"rf_config_read", config_waits, config_read, true},
    {"rf__weights_write", weights_ready, weights_written, false},
    {"rf_weights_open", weights_wait, weights_read, true},
    {"rf__state_save", state_ready, state_saved, false},
    {"rf__state_load", state_waits, state_loaded, true},
    {"rf__checksums_write", checksums_ready, checksums_written, false},
    {"rf_checksums_verify", checksums_wait, checksums_verified, true},
};

static int removed(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind;
    return ftw->level ? remove(path) : 0;
}

static void empty(const char *path) { assert_int_equal(nftw(path, removed, 8, FTW_DEPTH | FTW_PHYS), 0); }

static bool thorough(void) { return getenv("ROFORMER_SWEEP") != NULL; }

static void sweep(size_t i, bool forever, long stride)
{
    rf_error why = {0};
    empty(folder);
    calls[i].before();
    const uint64_t before = files();
    answer = 0;
    memory.reads = calls[i].reads;
    arm(0, false);
    if (calls[i].call(&why)) fail_msg("%s: %s", calls[i].name, why.text);
    const long all = memory.calls;
    const uint64_t after = files(), told = answer;
    assert_true(all > 5);
    for (long n = 1; n <= all; n += stride) {
        empty(folder);
        calls[i].before();
        answer = 0;
        why = (rf_error){0};
        arm(n, forever);
        const rf_status status = calls[i].call(&why);
        arm(0, false);
        if (status == RF_OK ? files() != after || answer != told : status != RF_ENOMEM || files() != before)
            fail_msg("%s, allocation %ld of %ld%s: status %d, \"%s\"", calls[i].name, n, all,
                     forever ? " and later" : "", (int)status, why.text);
    }
    if (!forever) print_message("           %s: %ld allocations\n", calls[i].name, all);
}

static void every_allocation(void **state)
{
    (void)state;
    ctx = t_ctx(1, NULL);
    char *own = strdup(t_folder());
    folder = own;
    for (size_t i = 0; i < RF_COUNT(calls); i++)
        for (int forever = 0; forever < 2; forever++) sweep(i, forever, forever && !thorough() ? 7 : 1);
    rf_tokenizer_free(tokenizer);
    tokenizer = NULL;
    free(own);
    rf_ctx_free(ctx);
}

/* Only escapes of U+0000 are replaced, and none if U+FFFF occurs. */
static void nul_is_hidden(void **state)
{
    static const char *const same[] = {"{\"a\": 1}", "{\"\\\\u0000\": 1}", "{\"\\u0000\": 1, \"\\uFffF\": 2}",
                                       "{\"\\u0000\": 1, \"" RF__JSON_NUL "\": 2}", "{\"\\u000", "\\",
                                       ("{\"\\u\x10" "000\": 1}")};
    char text[64] = "{\"a\\u0000\": 1, \"\\\\\\u0000\": \"\\\\u0000\"}";
    rf_error why = {0};
    (void)state;
    for (size_t i = 0; i < RF_COUNT(same); i++) {
        char own[64];
        snprintf(own, sizeof own, "%s", same[i]);
        assert_false(rf__json_hide_nul(own, strlen(own)));
        assert_string_equal(own, same[i]);
    }
    assert_true(rf__json_hide_nul(text, strlen(text)));
    json_t *all = rf__json_parse(text, strlen(text), 0, "text", &why);
    assert_non_null(all);
    assert_int_equal(json_integer_value(json_object_get(all, "a" RF__JSON_NUL)), 1);
    assert_string_equal(json_string_value(json_object_get(all, "\\" RF__JSON_NUL)), "\\u0000");
    json_decref(all);
}

/* A training run whose n-th allocation fails ends with RF_ENOMEM, or with the model of the undisturbed run. */
static void while_training(void **state)
{
    (void)state;
    memory.reads = true;
    run r = with_options(1);
    r.o.max_steps = 4;
    r.o.logging_steps = 1;
    r.o.eval_steps = r.o.save_steps = 2;
    arm(0, false);
    must(&r, RF_OK);
    const long all = memory.calls, stride = thorough() ? 1 : all / 10 + 1;
    const uint32_t model = tiny_crc(r.out, "model.safetensors");
    long points = 0, ended = 0;
    for (long n = 1; n <= all; n += stride, points++) {
        empty(r.out);
        arm(n, false);
        const rf_status status = go(&r);
        arm(0, false);
        if (status ? status != RF_ENOMEM : tiny_crc(r.out, "model.safetensors") != model)
            fail_msg("allocation %ld of %ld: status %d, \"%s\"", n, all, (int)status, r.why.text);
        ended += status != RF_OK;
    }
    print_message("           %ld of %ld allocations, %ld ended the run\n", points, all, ended);
    end(&r);
}

int main(void)
{
    json_set_alloc_funcs(counted, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_told_apart),
        cmocka_unit_test(what_is_not_whole_is_nothing),
        cmocka_unit_test(nul_is_hidden),
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(while_training),
    };
    return cmocka_run_group_tests_name("train/json", tests, NULL, NULL);
}
